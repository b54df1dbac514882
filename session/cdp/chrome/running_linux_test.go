package chrome

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAnotherUserListens: the port of a browser that has ended may be another user's by now.
func TestAnotherUserListens(t *testing.T) {
	const row = "   0: 0100007F:%04X 00000000:0000 %s 00000000:00000000 00:00000000 00000000 %5d        0 4242 1 0 100 0 0 10 0\n"
	table := filepath.Join(t.TempDir(), "tcp")
	before := tcpTables
	t.Cleanup(func() { tcpTables = before })
	tcpTables = []string{table}
	me := os.Getuid()
	for rows, want := range map[string]bool{
		"":                                  false,
		fmt.Sprintf(row, 9222, "0A", me):    false,
		fmt.Sprintf(row, 9222, "0A", me+1):  true,
		fmt.Sprintf(row, 9222, "01", me+1):  false, // a connection
		fmt.Sprintf(row, 19222, "0A", me+1): false,
		fmt.Sprintf(row, 9222, "0A", me) + fmt.Sprintf(row, 9222, "0A", me+1): true,
	} {
		if err := os.WriteFile(table, []byte("  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"+rows), 0o600); err != nil {
			t.Fatal(err)
		}
		err := Endpoint{File: "/profile/" + activePort, Port: 9222}.Foreign()
		if (err != nil) != want || want && !strings.Contains(err.Error(), "another user's") {
			t.Errorf("%q: %v", rows, err)
		}
	}
}

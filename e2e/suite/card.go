package suite

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// CardFolder has a host of MCP Apps, its sandbox and, in CardSite, a site whose tools ask a person.
const (
	CardFolder = "../testdata/card"
	CardSite   = CardFolder + "/site"
)

// cardPolicy is the strictest policy under which hosts show apps.
const cardPolicy = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; connect-src 'none'"

// CardSandbox serves the sandbox of a host, which has an origin of its own, and returns its
// address.
func CardSandbox(t *testing.T) string {
	t.Helper()
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(CardFolder, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	page := strings.NewReplacer("@SPY@", read("spy.js"), "@SANDBOX@", read("sandbox.js")).Replace(read("sandbox.html"))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Security-Policy", cardPolicy)
		_, _ = io.WriteString(w, page)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/"
}

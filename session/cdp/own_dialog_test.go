package cdp

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
)

// door stands between a browser and who connects, as its dialog does.
type door struct {
	profile string
	knocks  atomic.Int32
	opens   chan struct{} // closed when the person allows it
}

// newDoor makes a profile whose file leads to the door. The door says answer to everybody; with "" it waits.
func newDoor(t *testing.T, p *person, answer string) *door {
	t.Helper()
	d := &door{profile: folders(t), opens: make(chan struct{})}
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() { // ends with the listener
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			d.knocks.Add(1)
			go d.lead(t, c, p, answer)
		}
	}()
	file := fmt.Sprintf("%d\n%s", l.Addr().(*net.TCPAddr).Port, p.path)
	if err := os.WriteFile(filepath.Join(d.profile, "DevToolsActivePort"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	return d
}

// lead ends with the connection, or the test.
func (d *door) lead(t *testing.T, c net.Conn, p *person, answer string) {
	defer c.Close()
	if answer != "" {
		_, _ = c.Read(make([]byte, 4096))
		_, _ = io.WriteString(c, answer)
		return
	}
	select {
	case <-d.opens:
	case <-t.Context().Done():
		return
	}
	inner, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", p.host)
	if err != nil {
		return
	}
	defer inner.Close()
	go func() { _, _ = io.Copy(inner, c) }()
	_, _ = io.Copy(c, inner)
}

// TestDialogIsWaitedFor: while the browser asks its person, we wait, and say so once.
func TestDialogIsWaitedFor(t *testing.T) {
	t.Parallel()
	p, base := newPerson(t), mail(t)
	d := newDoor(t, p, "")
	told := make(chan string, 8)
	e := NewOwn(OwnOptions{Dir: d.profile, Say: func(line string) { told <- line }})
	t.Cleanup(func() { _ = e.Close() })
	opened := make(chan string, 1)
	go func() {
		_, err := e.Start(t.Context())
		opened <- reasonOf(err)
	}()
	select {
	case got := <-told:
		if got != "the browser asks whether remote debugging is allowed: choose Allow in its window (waiting 60s)" {
			t.Errorf("it said %q", got)
		}
	case got := <-opened:
		t.Fatalf("nobody was asked: %s", got)
	}
	select {
	case got := <-opened:
		t.Fatalf("nobody allowed it: %s", got)
	default:
	}
	close(d.opens)
	if got := <-opened; got != "ok" {
		t.Fatal(got)
	}
	if got := showPageWith(t, e, of(base), base+"/").must("whoami", "{}"); got != `"nobody"` || len(told) != 0 {
		t.Errorf("then the tool sees %s, and %d more lines were said", got, len(told))
	}
}

// TestDialogWithoutAnswer: nobody is asked twice, whoever calls.
func TestDialogWithoutAnswer(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	for answer, want := range map[string]string{
		"": "nobody allowed it in the browser within 0.2s. Start pagetools again, and choose Allow in the browser's dialog",
		"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n": "does not let pagetools in",
	} {
		d, said := newDoor(t, p, answer), &lines{}
		e := NewOwn(OwnOptions{Dir: d.profile, Patience: 200 * time.Millisecond, Say: said.say})
		for range 3 {
			_, err := e.Open(t.Context(), session.TabOptions{})
			failed := bridge.AsError(err)
			if reasonOf(err) != "INTERNAL_ERROR BROWSER_LOST not_run" || failed.Err == nil || !strings.Contains(failed.Err.Error(), want) {
				t.Errorf("%q: %s, %v", answer, reasonOf(err), failed.Err)
			}
			if strings.Contains(failed.Message+failed.Err.Error(), p.path) {
				t.Errorf("%q: the browser's secret is in %v", answer, failed.Err)
			}
			<-time.After(firstPause) // then the engine tries again
		}
		if n := d.knocks.Load(); n != 1 {
			t.Errorf("%q: the person was asked %d times", answer, n)
		}
		if asked := strings.Count(said.said(), "choose Allow"); (answer == "") != (asked == 1) {
			t.Errorf("%q: it said %q", answer, said.said())
		}
		_ = e.Close()
	}
}

// TestNoBrowserOfThePersons: the message says what to do.
func TestNoBrowserOfThePersons(t *testing.T) {
	t.Parallel()
	empty, stale := folders(t), folders(t)
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	file := fmt.Sprintf("%d\n/devtools/browser/0-a", port)
	if err := os.WriteFile(filepath.Join(stale, "DevToolsActivePort"), []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string][]string{
		empty: {"there is no DevToolsActivePort in " + empty, "chrome://inspect/#remote-debugging"},
		stale: {fmt.Sprintf("%s/DevToolsActivePort names port %d, where nothing listens", stale, port), "Start it", "chrome://inspect/#remote-debugging"},
	} {
		e := NewOwn(OwnOptions{Dir: dir})
		_, err := e.Open(t.Context(), session.TabOptions{})
		for _, words := range want {
			if failed := bridge.AsError(err); reasonOf(err) != "INTERNAL_ERROR BROWSER_LOST not_run" || !strings.Contains(failed.Err.Error(), words) {
				t.Errorf("%s: %s, %v", dir, reasonOf(err), failed.Err)
			}
		}
		_ = e.Close()
	}
}

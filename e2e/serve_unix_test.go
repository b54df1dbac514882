//go:build unix

package e2e_test

import (
	"net"
	"net/http"
	"os"
	"testing"

	"github.com/pagetools/pagetools/e2e"
)

const serveAt = "E2E_TEST_SERVE"

// TestServed is the app of TestServe, in a process of its own.
func TestServed(t *testing.T) {
	address := os.Getenv(serveAt)
	if address == "" {
		t.Skip("TestServe starts it")
	}
	_ = http.ListenAndServe(address, http.FileServer(http.Dir("testdata/site")))
}

// TestServe: a command serves the app; its pages have the config of the options, and its lock file
// names their addresses. Without Serve nothing is there, which is the control.
func TestServe(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	o := e2e.Options{URL: "http://" + address + "/index.html"}
	if f := try(t, func(t testing.TB) { e2e.Start(t, o) }); !f.failed {
		t.Error("something is served that nobody started")
	}
	o.Serve = serveAt + "=" + address + " " + os.Args[0] + " -test.run '^TestServed$'"
	o.Config = map[string]any{"locale": "de-DE"}
	page := e2e.Start(t, o).Open(t, "")
	page.Call(t, "openingHours", nil).Match(t, `{"language": "de-DE"}`)
	page.Goto(t, "/stamps.html")
	page.Human(e2e.Accept(""))
	page.Call(t, "buyProduct", map[string]any{"product_id": "42"}).Effects(t).
		Only(e2e.Request("post", "http://"+address+"/orders?from=stamps"))
}

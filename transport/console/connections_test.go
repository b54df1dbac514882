package console_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/console"
)

// letIn keeps connections in memory.
type letIn []bridge.Connection

func (l *letIn) All(context.Context) ([]bridge.Connection, error) { return *l, nil }

func (l *letIn) Disconnect(_ context.Context, id string) (bool, error) {
	before := len(*l)
	*l = slices.DeleteFunc(*l, func(c bridge.Connection) bool { return c.ID == id })
	return len(*l) < before, nil
}

// TestConnections: who may view all sites sees who was let in; who may answer for them ends each, once.
func TestConnections(t *testing.T) {
	b, err := bridge.New(bridgetest.NewRouter().Add("shop"), bridge.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	at := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	both := &letIn{{ID: "AAAAAAAA", Person: "ann", Client: "https://claude.ai/id", ClientName: "<b>", Redirect: "https://claude.ai/back", Resource: "https://tools.example/mcp", Since: at, Used: at},
		{ID: "BBBBBBBB", Person: "bob", Since: at, Used: at}}
	do := func(all console.Connections, as bridge.Caller, method, path string) (int, string) {
		mux := transport.NewMux(console.New(b, console.Options{Connections: all}).Routes()...)
		w := httptest.NewRecorder()
		transport.Trusted(mux, as, transport.Options{}).ServeHTTP(w, httptest.NewRequest(method, path, http.NoBody))
		return w.Code, w.Body.String()
	}
	some, viewer := person, bridge.Caller{Name: "viewer", May: []bridge.Right{bridge.MayView}}
	some.Sites = []string{"shop"}
	const first = `{"connections":[{"id":"AAAAAAAA","person":"ann","client":"https://claude.ai/id","name":"<b>","redirectUri":"https://claude.ai/back","resource":"https://tools.example/mcp","since":"2026-11-27T12:00:00Z","lastUsed":"2026-11-27T12:00:00Z"},`
	for _, x := range []struct {
		what         string
		all          console.Connections
		as           bridge.Caller
		method, path string
		status       int
		body         string
	}{
		{"without an authorization server", nil, person, "GET", "/api/connections", 200, `{"connections":[]}`},
		{"to end without one", nil, person, "DELETE", "/api/connections/AAAAAAAA", 404, "was let in"},
		{"for some sites", both, some, "GET", "/api/connections", 403, "some sites"},
		{"to end for some sites", both, some, "DELETE", "/api/connections/AAAAAAAA", 403, "some sites"},
		{"of a caller", both, bridge.Caller{Name: "agent", May: []bridge.Right{bridge.MayCall}}, "DELETE", "/api/connections/AAAAAAAA", 403, "may not answer"},
		{"the list of a viewer", both, viewer, "GET", "/api/connections", 200, first},
		{"of a caller, too", both, bridge.Caller{Name: "agent", May: []bridge.Right{bridge.MayCall}}, "GET", "/api/connections", 403, `"right":"view"`},
		{"to end, of a viewer", both, viewer, "DELETE", "/api/connections/AAAAAAAA", 403, `"right":"answer"`},
		{"the list", both, person, "GET", "/api/connections", 200, first},
		{"no GET ends one", both, person, "GET", "/api/connections/AAAAAAAA", 405, "DELETE"},
		{"one that is none", both, person, "DELETE", "/api/connections/AAAA", 404, "was let in"},
		{"one", both, person, "DELETE", "/api/connections/AAAAAAAA", 200, `{"status":"ok"}`},
		{"the same again", both, person, "DELETE", "/api/connections/AAAAAAAA", 404, "was let in"},
		{"the other stays", both, person, "GET", "/api/connections", 200, `{"connections":[{"id":"BBBBBBBB"`},
	} {
		if status, body := do(x.all, x.as, x.method, x.path); status != x.status || !strings.Contains(body, x.body) {
			t.Errorf("%s: %d %s", x.what, status, body)
		}
	}
}

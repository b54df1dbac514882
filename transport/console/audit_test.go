package console_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/console"
)

// audits is an audit whose verification goes on until it is let.
type audits struct {
	begun  atomic.Int32
	told   chan struct{}
	goOn   chan error
	health error
}

func (a *audits) options() *console.Audit {
	return &console.Audit{
		Healthy: func() error { return a.health },
		Verify: func(ctx context.Context, tell func(read, of int64)) (any, error) {
			a.begun.Add(1)
			tell(1000, 4000)
			a.told <- struct{}{}
			select {
			case err := <-a.goOn:
				return map[string]int{"records": 4000}, err
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
		Of: func(_ context.Context, call string) (any, error) {
			if call == "broken" {
				return nil, errors.New("a secret path")
			}
			return []string{"the record of " + call}, nil
		},
	}
}

// TestAudit: who sees all sites has the audit verified, one at a time, sees how far it is and what it
// found, and whether every process can write; nobody else does.
func TestAudit(t *testing.T) {
	b, err := bridge.New(bridgetest.NewRouter(), bridge.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	full := &audits{health: errors.New("the disk is full")}
	there := other{transport.Trusted(transport.NewMux(console.New(b, console.Options{Node: "there", Audit: full.options()}).Routes()...), person, transport.Options{})}
	a := &audits{told: make(chan struct{}, 1), goOn: make(chan error)}
	p := servePage(t, memory(t), console.Options{Audit: a.options(), Peers: func() map[string]http.RoundTripper { return map[string]http.RoundTripper{"there": there} }})
	get := func() string {
		t.Helper()
		_, body := p.as(t, viewing, http.MethodGet, "/api/audit", "")
		return body
	}
	if body := get(); body != `{"node":"here","kept":true,"writers":[{"node":"here","healthy":true},{"node":"there","healthy":false}],"running":null,"last":null}` {
		t.Errorf("at first it is %s", body)
	}
	for range 2 {
		if status, body := p.as(t, viewing, http.MethodPost, "/api/audit/verify", "{}"); status != http.StatusAccepted || !strings.Contains(body, `"by":"viewer"`) {
			t.Errorf("%d %s", status, body)
		}
	}
	<-a.told
	if body := get(); !strings.Contains(body, `"read":1000,"of":4000}`) || a.begun.Load() != 1 {
		t.Errorf("while it runs it is %s, begun %d times", body, a.begun.Load())
	}
	until := func(want string) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); ; {
			body := get()
			if strings.Contains(body, want) && strings.Contains(body, `"running":null`) {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("it is %s, and not %s", body, want)
			}
		}
	}
	a.goOn <- nil
	until(`"report":{"records":4000}`)
	p.as(t, viewing, http.MethodPost, "/api/audit/verify", "{}")
	<-a.told
	a.goOn <- errors.New("a secret path")
	until(`"report":null,"error":"The audit cannot be read now; the log of pagetools says why."`)

	if _, body := p.as(t, viewing, http.MethodGet, "/api/audit?call=c1", ""); body != `{"node":"here","items":["the record of c1"]}` {
		t.Errorf("a call is %s", body)
	}
	if status, body := p.as(t, viewing, http.MethodGet, "/api/audit?call=broken", ""); status != http.StatusInternalServerError || strings.Contains(body, "secret") {
		t.Errorf("what cannot be read is %d %s", status, body)
	}
	for _, x := range []struct {
		token, method, path string
		status              int
	}{
		{agent, http.MethodGet, "/api/audit", 403}, {agent, http.MethodPost, "/api/audit/verify", 403}, {shopper, http.MethodGet, "/api/audit?call=c1", 403},
		{shopper, http.MethodPost, "/api/audit/verify", 403}, {viewing, http.MethodGet, "/api/audit?call=", 400}, {viewing, http.MethodGet, "/api/audit?call=" + strings.Repeat("x", 129), 400},
	} {
		body := ""
		if x.method == http.MethodPost {
			body = "{}"
		}
		if status, body := p.as(t, x.token, x.method, x.path, body); status != x.status {
			t.Errorf("%s %s: %d %s", x.method, x.path, status, body)
		}
	}
	if a.begun.Load() != 2 {
		t.Errorf("it began %d times", a.begun.Load())
	}
	none := servePage(t, memory(t), console.Options{})
	if status, body := none.as(t, viewing, http.MethodPost, "/api/audit/verify", "{}"); status != http.StatusNotFound || !strings.Contains(body, "no data folder") {
		t.Errorf("without an audit: %d %s", status, body)
	}
}

// TestAuditEvents: the one stream tells who sees all sites when this process cannot write its records, and
// when it can again.
func TestAuditEvents(t *testing.T) {
	var broken atomic.Bool
	p := servePage(t, memory(t), console.Options{Audit: &console.Audit{Healthy: func() error {
		if broken.Load() {
			return errors.New("the disk is full")
		}
		return nil
	}}})
	stream := p.events(t, viewing, "")
	if ev := stream.next(t); ev.event != "snapshot" {
		t.Fatalf("it begins with %s", ev.event)
	}
	for _, now := range []bool{true, false} {
		broken.Store(now)
		if ev := stream.next(t); ev.event != "audit" || ev.text != fmt.Sprintf(`{"node":"here","healthy":%v}`, !now) {
			t.Errorf("it tells %s %s", ev.event, ev.text)
		}
	}
}

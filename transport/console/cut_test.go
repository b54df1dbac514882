package console_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/console"
)

// process is another process, behind a socket that can be cut.
type process struct {
	*bridge.Bridge

	server *httptest.Server
	dials  *http.Transport
}

func startProcess(t *testing.T, name string) *process {
	t.Helper()
	b, err := bridge.New(bridgetest.NewRouter().Add("of-"+name, bridgetest.Asking("buy", "")), bridge.Options{})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	face := console.New(b, console.Options{Node: name, Done: done})
	s := httptest.NewServer(transport.Trusted(transport.NewMux(face.Routes()...), person, transport.Options{}))
	t.Cleanup(func() {
		close(done)
		s.CloseClientConnections()
		s.Close()
		b.Close()
	})
	return &process{b, s, &http.Transport{DisableKeepAlives: true}}
}

// RoundTrip sends a request to the process, wherever it was meant to go.
func (p *process) RoundTrip(r *http.Request) (*http.Response, error) {
	r.URL.Scheme, r.URL.Host = "http", p.server.Listener.Addr().String()
	return p.dials.RoundTrip(r)
}

// asks opens a question, and returns its id.
func (p *process) asks(t *testing.T, site string) string {
	t.Helper()
	_, out := p.Serve(t.Context(), &bridge.Call{Site: site, Tool: "buy", Caller: bridge.Local(), Input: bridgetest.JSON(`{}`)})
	if out.Err == nil || out.Err.Code != bridge.InputRequired && out.Err.Code != bridge.ApprovalRequired {
		t.Fatalf("the call does not wait: %v", out.Err)
	}
	return out.Err.Details["question"].(*bridge.Question).ID
}

// TestStreamsThatAreCut: when the connection to one of three processes is cut, or the one of the reader, each
// question is told, and none twice; what the others said is not said again.
func TestStreamsThatAreCut(t *testing.T) {
	near, far := startProcess(t, "near"), startProcess(t, "far")
	p := servePage(t, memory(t), console.Options{Peers: func() map[string]http.RoundTripper {
		return map[string]http.RoundTripper{"near": near, "far": far}
	}})
	first := near.asks(t, "of-near")
	token := p.login(t, "ada")
	e := p.events(t, token, "")
	nodes := map[string]string{}
	var last told
	for len(nodes) < 3 {
		if last = e.next(t); last.event == "snapshot" {
			nodes[last.get("node")] = last.text
		}
	}
	if !strings.Contains(nodes["near"], first) || strings.Contains(nodes["far"], first) || strings.Contains(nodes["here"], first) {
		t.Fatalf("it begins with %v", nodes)
	}
	near.server.CloseClientConnections()
	second := near.asks(t, "of-near")
	for last = e.next(t); last.get("node") != "near" || !strings.Contains(last.text, second); last = e.next(t) {
		if last.event == "snapshot" && last.get("node") != "near" {
			t.Errorf("one that was not cut says all again: %s", last.text)
		}
	}
	if last.event != "snapshot" || !strings.Contains(last.text, first) {
		t.Errorf("behind the cut comes %s", last.text)
	}
	_ = e.body.Close()
	third, fourth := far.asks(t, "of-far"), p.asks(t)
	again := p.events(t, token, last.id)
	var heard []string
	for !slices.Contains(heard, third) || !slices.Contains(heard, fourth) {
		switch ev := again.next(t); ev.event {
		case "question.opened":
			heard = append(heard, ev.get("id"))
		case "snapshot", "node":
			t.Errorf("the reader missed nothing that is not kept, and gets %s", ev.text)
		}
	}
	if len(heard) != 2 {
		t.Errorf("the questions %v are told, want %s and %s", heard, third, fourth)
	}
}

// TestSlowReaders: one that takes nothing keeps neither calls nor other readers waiting; when it reads again
// it gets a snapshot with what is open.
func TestSlowReaders(t *testing.T) {
	p := servePage(t, memory(t), console.Options{})
	slow, quick := p.events(t, p.login(t, "ada"), ""), p.events(t, p.login(t, "bob"), "")
	slow.next(t)
	quick.next(t)
	for range 3000 { // 4 MB, which is more than a connection holds
		p.run(t, "find", `{}`)
		quick.until(t, "call.ended")
	}
	id := p.asks(t)
	if ev := quick.until(t, "question.opened"); ev.get("id") != id {
		t.Errorf("the quick reader is told %s", ev.text)
	}
	events := 0
	for ev := slow.next(t); !strings.Contains(ev.text, id); ev = slow.next(t) {
		events++
		if ev.event == "snapshot" && ev.get("reset") != "true" {
			t.Errorf("the snapshot does not say that something was missed: %.300s", ev.text)
		}
	}
	t.Logf("the slow reader got %d events", events)
	if events >= 3*3000 {
		t.Error("the slow reader missed nothing: it was not slow")
	}
}

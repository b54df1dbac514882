package mcp

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge/bridgetest"
)

// strictClient reads results as the official TypeScript SDKs do: by the list that it got
// last, a tool with an outputSchema returns structuredContent, or an error.
type strictClient struct {
	*client
	promised map[string]bool
}

func (s *strictClient) list() {
	s.t.Helper()
	var got struct {
		Result struct {
			Tools []struct {
				Name         string
				OutputSchema json.RawMessage
			}
		}
	}
	s.call(3, "tools/list", "{}").into(s.t, &got)
	s.promised = map[string]bool{}
	for _, tool := range got.Result.Tools {
		s.promised[tool.Name] = tool.OutputSchema != nil
	}
}

// run returns the result, and whether the SDKs would throw it away.
func (s *strictClient) run(name, arguments string) (r toolReply, thrown bool) {
	s.t.Helper()
	r = s.tool(name, arguments)
	return r, s.promised[name] && r.Result.Structured == nil && !r.Result.IsError
}

// TestBrokenPromises: a result that does not fit the outputSchema reaches clients that throw
// away what lacks structuredContent: as an error while they may know the schema, and as
// what it is once a session has the list without it. They are told that there is one. F6.
func TestBrokenPromises(t *testing.T) {
	every(t, nothing, func(t *testing.T, w *world, c *client) {
		w.router.Declare("shop", bridgetest.Returning(bridgetest.Tool("count", ""), `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`),
			bridgetest.Returning(bridgetest.Tool("other", ""), `{"type":"object"}`))
		late := strictClient{client: w.as(agent)} // lists once
		if c.modern {
			late.since2026(nothing)
		} else {
			late.legacy(c.version, nothing)
		}
		s := strictClient{client: c}
		s.list()
		late.list()
		if !s.promised["count"] {
			t.Fatal("the schema is not listed")
		}
		told, stop := listChanges(t, c)
		defer stop()

		w.router.Answer("shop", `{"n":1}`, nil)
		if r, thrown := s.run("count", `{}`); thrown || r.Result.IsError || r.Result.Structured == nil || w.bridge.Unkept() != 0 {
			t.Errorf("one that fits: %+v", r.Result)
		}
		w.router.Answer("shop", `{"n":"seven"}`, nil)
		r, thrown := s.run("count", `{}`)
		if thrown || !r.Result.IsError || !strings.HasPrefix(r.text(), "The tool ran, and what it returned follows.") ||
			!strings.HasSuffix(r.text(), `{"n":"seven"}`) || r.Result.Meta["pagetools/schemaViolation"] == nil {
			t.Errorf("the first: %s, %+v", r.text(), r.Result)
		}
		told()
		if r, thrown := late.run("count", `{}`); thrown || !strings.HasSuffix(r.text(), `{"n":"seven"}`) {
			t.Errorf("by who has the old list: %+v", r.Result)
		}
		s.list()
		if s.promised["count"] || !s.promised["other"] {
			t.Errorf("listed afterwards: %v", s.promised)
		}
		for _, result := range []string{`{"n":"eight"}`, `"nine"`} {
			w.router.Answer("shop", result, nil)
			if r, thrown := s.run("count", `{}`); thrown || r.Result.IsError != c.modern || !strings.HasSuffix(r.text(), strings.Trim(result, `"`)) || r.Result.Meta["pagetools/schemaViolation"] == nil {
				t.Errorf("after the list: %s, %+v", r.text(), r.Result)
			}
		}
		if r, thrown := late.run("count", `{}`); thrown {
			t.Errorf("by who has the old list: %+v", r.Result)
		}
		w.router.Declare("shop", bridgetest.Returning(bridgetest.Tool("count", ""), `{"type":"object","properties":{"n":{"type":"string"}},"required":["n"]}`))
		if s.list(); !s.promised["count"] {
			t.Error("another definition is a new promise")
		}
	})
}

// TestPromisesOfDeepResults: what is too deep for clients has no structuredContent, and is
// no broken promise: the schema stays, and so the result is an error for who may know it.
func TestPromisesOfDeepResults(t *testing.T) {
	w := newWorld(t, Options{})
	w.router.Declare("shop", bridgetest.Returning(bridgetest.Tool("count", ""), `{"type":"object"}`))
	deep := `{"n":` + strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth) + `}`
	w.router.Answer("shop", deep, nil)
	s := strictClient{client: w.as(agent).since2026(nothing)}
	s.list()
	if r, thrown := s.run("count", `{}`); thrown || !r.Result.IsError || !strings.HasSuffix(r.text(), deep) {
		t.Errorf("%+v", r.Result)
	}
	if s.list(); !s.promised["count"] {
		t.Error("the schema is gone")
	}
}

// listChanges opens a stream of a client. told waits until it says that the list is another.
func listChanges(t *testing.T, c *client) (told, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	method, body := "GET", ""
	if c.modern {
		method, body = "POST", rpc(`"sub"`, "subscriptions/listen", c.params(`{"notifications":{"toolsListChanged":true}}`))
	}
	resp := c.open(ctx, method, body)
	heard := make(chan string)
	go func() { // ends with the response
		defer close(heard)
		for e := range events(resp.Body) {
			select {
			case heard <- e:
			case <-ctx.Done():
			}
		}
	}()
	if c.modern {
		<-heard // it listens
	}
	return func() {
			t.Helper()
			for e := range heard {
				if strings.Contains(e, "list_changed") {
					return
				}
			}
			t.Error("the client is not told")
		}, func() {
			cancel()
			resp.Body.Close()
			for range heard { // until its reader has ended
			}
		}
}

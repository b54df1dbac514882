package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/mcp/toolset"
)

// TestExpiry (reach 3): what streams to a caller ends when its credential expires, and a call goes
// on to its end, also one that waits for a person: its outcome goes to whoever comes with a new
// one.
func TestExpiry(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newFace(t, Options{})
				w.sleeps()
				with := func(expires time.Time) http.Handler {
					by := agent
					by.Expires = expires
					return transport.Trusted(transport.NewMux(w.Routes()...), by, transport.Options{JSONRPCUnder: []string{"/mcp"}})
				}
				c := w.as(agent)
				h := with(time.Now().Add(10 * time.Second))
				listens, stop := context.WithTimeout(t.Context(), time.Minute) // longer than any of it
				defer stop()
				stream := func(h http.Handler, out *record) {
					if version == "2026-07-28" {
						c.start(listens, h, out, "POST", rpc(`"sub"`, "subscriptions/listen", c.params(`{"notifications":{"toolsListChanged":true}}`)))
						return
					}
					c.start(listens, h, out, "GET", "")
				}
				if version == "2026-07-28" {
					c.since2026(nothing)
				} else {
					c.begin(h, version)
				}
				began := time.Now()
				var call sync.WaitGroup
				call.Go(func() {
					r := c.do(t.Context(), h, "POST", rpc(7, "tools/call", c.params(fmt.Sprintf(`{"name":"look","arguments":{"takes":%d}}`, 20*time.Second)))).messages()
					if took := time.Since(began); took < 20*time.Second || !strings.Contains(r[len(r)-1].text, "takes") {
						t.Errorf("a call that began before the credential expired ends after %v with %v", took, r)
					}
				})
				ended := make(chan time.Duration, 1)
				go func() { stream(h, &record{header: http.Header{}}); ended <- time.Since(began) }()
				synctest.Wait()
				for _, expires := range []time.Time{{}, began.Add(2 * time.Minute)} { // the controls
					out := &record{header: http.Header{}}
					go stream(with(expires), out)
					synctest.Wait()
				}
				if took := <-ended; took != 10*time.Second {
					t.Errorf("a stream ends %v after it began, and its credential expires after 10 s", took)
				}
				w.router.Declare("shop", named("look", "more")...)
				call.Wait()
			})
		})
	}
}

// TestExpiryOfFollowedTasks (reach 3): a stream that follows nothing but tasks ends with its credential, too, and tells nothing of them
// afterwards.
func TestExpiryOfFollowedTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFace(t, Options{})
		w.sleeps()
		c := w.as(agent).since2026(takesTasks)
		following := func(expires time.Duration) (events string, took time.Duration) {
			by := agent
			by.Expires = time.Now().Add(expires)
			h := transport.Trusted(transport.NewMux(w.Routes()...), by, transport.Options{JSONRPCUnder: []string{"/mcp"}})
			var made taskReply
			call := c.do(t.Context(), h, "POST", rpc(7, "tools/call", c.params(fmt.Sprintf(`{"name":"look","arguments":{"takes":%d}}`, 20*time.Second)))).messages()
			if json.Unmarshal([]byte(call[len(call)-1].text), &made) != nil || made.Result.TaskID == "" {
				t.Fatalf("it is no task: %v", call)
			}
			began := time.Now()
			for _, m := range c.do(t.Context(), h, "POST", rpc(`"sub"`, "subscriptions/listen", c.params(fmt.Sprintf(`{"notifications":{"taskIds":[%q]}}`, made.Result.TaskID)))).messages() {
				events += m.text
			}
			return events, time.Since(began)
		}
		if events, took := following(time.Hour); !strings.Contains(events, `"status":"completed"`) || took != 18*time.Second {
			t.Errorf("the control ends after %v: %s", took, events)
		}
		if events, took := following(10 * time.Second); strings.Contains(events, `"status":"completed"`) || took != 8*time.Second {
			t.Errorf("with a credential that expires in 10 s, 2 of which the call took to become a task, the stream ends after %v: %s", took, events)
		}
	})
}

// TestToolsOfCallers (reach 3): what a caller sees of tools over MCP can differ from what others
// see, over one list.
func TestToolsOfCallers(t *testing.T) {
	w := newWorld(t, Options{ToolsOf: func(c bridge.Caller) string {
		return map[string]string{agent.Name: "hybrid", quiet.Name: "meta"}[c.Name]
	}})
	own := "pagetools_search pagetools_describe pagetools_call"
	meta := own + " pagetools_open pagetools_waiting"
	for c, want := range map[string][2]string{agent.Name: {own, own + " look"}, other.Name: {"buy look", "buy look"}, quiet.Name: {meta, meta}} {
		by := w.as(bridge.Caller{Name: c}).since2026(nothing)
		if got := by.names(); got != want[0] {
			t.Errorf("%s sees %s", c, got)
		}
		if r := by.tool("look", `{"n":1}`); c != quiet.Name && r.text() != `{"n":1}` {
			t.Errorf("%s calls a tool: %s", c, r.text())
		}
		if got := by.names(); got != want[1] {
			t.Errorf("%s sees %s after a call", c, got)
		}
	}
}

// TestScopesAreBounded (reach 3): issuers can name any number of callers; what is kept for those
// that were here is bounded, and the one goes that was here first.
func TestScopesAreBounded(t *testing.T) {
	w := newFace(t, Options{})
	first, last := scope{caller: bridge.Caller{Name: "acme:0"}}, scope{}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.usedIn(first.key())
	for n := range maxScopes + 10 {
		last = scope{caller: bridge.Caller{Name: fmt.Sprint("acme:", n)}}
		if w.used[last.key()] == nil && n < maxScopes {
			w.used[last.key()] = &used{at: time.Now()} // as usedIn does, which counts those of the caller besides
		}
		w.usedIn(last.key())
		w.lists[last.key()] = &list{past: toolset.Past{}}
		if n == 0 {
			w.used[first.key()].at = time.Now().Add(-time.Hour)
		}
	}
	if len(w.used) != maxScopes || len(w.lists) != maxScopes || w.used[first.key()] != nil || w.used[last.key()] == nil {
		t.Errorf("%d scopes and %d lists are kept; the first %v", len(w.used), len(w.lists), w.used[first.key()])
	}
}

package mcp

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/policy"
)

// TestEveryRequestCounts (B10): lists, calls of our own tools and calls that cannot run count
// against the rate of their caller, and each once.
func TestEveryRequestCounts(t *testing.T) {
	const most = 2
	for what, params := range map[string]string{
		"list": "{}", "search": `{"name":"pagetools_search","arguments":{"query":"look"}}`, "describe": `{"name":"pagetools_describe","arguments":{"name":"look"}}`,
		"waiting": `{"name":"pagetools_waiting"}`, "open": `{"name":"pagetools_open"}`, "open what": `{"name":"pagetools_open","arguments":{"site":"no"}}`,
		"missing": `{"name":"no"}`, "call of nothing": `{"name":"pagetools_call","arguments":{"name":"no"}}`, "call": `{"name":"pagetools_call","arguments":{"name":"look"}}`,
		"text": `{"name":"look","arguments":"{}"}`, "a tool": `{"name":"look"}`,
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t, Options{Tools: "meta"})
			w.bridge.SetRates(map[string]policy.Rate{agent.Name: {N: most, Per: time.Hour}})
			c := w.as(agent).since2026(nothing)
			method := "tools/call"
			if what == "list" {
				method = "tools/list"
			}
			for n := range most + 1 {
				a := c.call(1, method, params)
				refused := regexp.MustCompile(`You make too many calls. Try again in [0-9]+ seconds.`).MatchString(a.body)
				if refused != (n == most) || strings.Contains(a.body, "Wait ") { // which would say it twice
					t.Errorf("the request %d gives %d %s", n, a.status, a.body)
				}
				if refused && what == "list" && (a.status != http.StatusTooManyRequests || !strings.Contains(a.body, `"code":-31429`)) {
					t.Errorf("it is refused with %d %s", a.status, a.body)
				}
			}
		})
	}
}

// flushed is a connection whose client does something when a reply was written.
type flushed struct {
	*httptest.ResponseRecorder

	flush func() error
}

func (f *flushed) FlushError() error { return f.flush() }

// TestReplyThatNobodyGot (B10): the outcome of a call that asked a person is kept until a
// reply with it was written, also to a client that leaves as soon as it has it.
func TestReplyThatNobodyGot(t *testing.T) {
	w := newWorld(t, Options{})
	w.confirms(bridge.Confirm)
	c := w.as(agent).since2026(forms)
	state := c.tool("look", `{}`).Result.RequestState
	host := strings.TrimPrefix(w.url, "http://")
	handler := w.handler(host)
	for _, x := range []struct {
		lost bool
		want string
	}{{true, `"ok":true`}, {false, `"ok":true`}, {false, "its outcome was told"}} {
		body := rpc(1, "tools/call", c.params(fmt.Sprintf(`{"name":"look","arguments":{},"requestState":%q,"inputResponses":{"question":{"action":"accept","content":{}}}}`, state)))
		ctx, leave := context.WithCancel(t.Context())
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/mcp", strings.NewReader(body))
		r.Host = host
		c.head(r, body)
		rec := httptest.NewRecorder()
		handler.ServeHTTP(&flushed{rec, func() error {
			if x.lost {
				return fmt.Errorf("the connection is gone") // which nobody knew before
			}
			leave()
			return nil
		}}, r)
		leave()
		if got := strings.ReplaceAll(rec.Body.String(), `\`, ""); !strings.Contains(got, x.want) {
			t.Errorf("lost %v: it gives %s, want %s", x.lost, got, x.want)
		}
	}
}

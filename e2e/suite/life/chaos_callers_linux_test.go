package life_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/pagetools/pagetools/e2e/suite"
)

// call is one call of a webtool.
type call struct {
	caller, token, id, tool, session, key string
	timeout                               time.Duration
	config                                map[string]any // what is more
}

// post makes a call, and returns its outcome, which is not noted yet.
func (c *chaos) post(ctx context.Context, x call) entry {
	return postTo(ctx, c.Server, x).entry
}

// posted is a call with the error that it ended with.
type posted struct {
	entry
	failure suite.Failure
}

// postTo makes a call to a server.
func postTo(ctx context.Context, s *suite.Server, x call) posted {
	bounded, cancel := context.WithTimeout(ctx, max(x.timeout, chaosLeast)+chaosGrace)
	defer cancel()
	began := time.Now()
	r := x.send(bounded, s)
	p := posted{entry: entry{id: x.id, tool: x.tool, by: x.caller, took: time.Since(began)}}
	p.over = p.took - max(x.timeout, chaosLeast)
	p.outcome, p.why, p.failure = suite.OutcomeOf(r)
	if r.Err != nil && ctx.Err() != nil {
		p.outcome, p.why = "left", ""
	}
	return p
}

// send makes the request of a call.
func (x call) send(ctx context.Context, s *suite.Server, header ...string) suite.Reply {
	config := map[string]any{"timeout": x.timeout.Milliseconds()}
	for k, v := range x.config {
		config[k] = v
	}
	body := map[string]any{"action": x.tool, "request": map[string]string{"id": x.id}, "config": config}
	if x.session != "" {
		body["sessionId"] = x.session
	}
	text, _ := json.Marshal(body) // strings and numbers
	if x.key != "" {
		header = append(header, "Idempotency-Key", x.key)
	}
	return s.In(ctx, x.token, http.MethodPost, s.URL+"/webtools/shop", string(text), header...)
}

// victim is an honest caller with a session, which calls all the time.
func (c *chaos) victim(ctx context.Context) {
	for i := 0; pause(ctx, 50*time.Millisecond); i++ {
		c.note(c.post(context.WithoutCancel(ctx), call{caller: "honest", token: chaosToken("honest"), id: fmt.Sprintf("honest-%d", i), tool: "work", session: "mine", timeout: chaosCall}))
	}
}

// chaosTools lists the tools that callers draw from: some break their own page, some take
// their time.
var chaosTools = []string{"work", "work", "work", "slow", "never", "spin", "huge", "fail", "alerts", "ask", "leave", "loop", "change"}

// web is a caller of webtools. It makes its calls to their end, but for those that it leaves.
func (c *chaos) web(ctx context.Context, name string, d *rand.Rand) {
	running := context.WithoutCancel(ctx)
	for i := 0; pause(ctx, time.Duration(d.IntN(300))*time.Millisecond); i++ {
		x := call{caller: name, token: chaosToken(name), id: fmt.Sprintf("%s-%d", name, i), tool: chaosTools[d.IntN(len(chaosTools))], timeout: chaosCall}
		if x.tool == "never" || x.tool == "spin" {
			x.timeout = time.Duration(200+d.IntN(800)) * time.Millisecond
		}
		if d.IntN(2) == 0 {
			x.session = fmt.Sprint("s", d.IntN(3))
		}
		if d.IntN(3) == 0 {
			x.key = "key-" + x.id
		}
		leaves, after, answers := d.IntN(5) == 0, time.Duration(d.IntN(600))*time.Millisecond, d.IntN(4)
		switch {
		case leaves:
			c.note(c.leave(running, x, after))
		default:
			p := postTo(running, c.Server, x)
			if p.outcome == "unknown" && p.failure.Code == "INPUT_REQUIRED" && answers > 0 {
				p = c.answer(running, x, p, answers > 1)
			}
			if x.key != "" && p.outcome == "not_run" { // safe to repeat, and bound to run once at most
				p = postTo(running, c.Server, x)
			}
			c.note(p.entry)
		}
	}
}

// leave begins a call and goes away; with a key, it asks for the outcome later.
func (c *chaos) leave(ctx context.Context, x call, after time.Duration) entry {
	gone, cancel := context.WithTimeout(ctx, after)
	defer cancel()
	e := c.post(gone, x)
	if e.outcome != "left" || x.key == "" {
		return e
	}
	again := c.post(ctx, x)
	if again.outcome == "not_run" { // of the second request: the first may run still
		return e
	}
	return again
}

// answer says yes or no to the question of a call, and returns the outcome of the call.
func (c *chaos) answer(ctx context.Context, x call, p posted, yes bool) posted {
	question, _ := p.failure.Details["question"].(map[string]any)
	x.key = ""
	x.config = map[string]any{"resume": p.failure.Details["resume"], "wait": 3000, "answer": map[string]any{"question": question["id"], "ok": yes}}
	next := postTo(ctx, c.Server, x)
	if next.outcome == "not_run" { // of this request; nobody reports the outcome of the call any more
		p.why += ", then " + next.why
		return p
	}
	return next
}

// elicitor answers what its agent is asked.
type elicitor struct{ d *rand.Rand }

// Elicit implements client.ElicitationHandler.
func (e elicitor) Elicit(context.Context, mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	r := &mcp.ElicitationResult{}
	r.Action = []mcp.ElicitationResponseAction{mcp.ElicitationResponseActionAccept, mcp.ElicitationResponseActionDecline, mcp.ElicitationResponseActionCancel}[e.d.IntN(3)]
	if r.Action == mcp.ElicitationResponseActionAccept {
		r.Content = map[string]any{}
	}
	return r, nil
}

// mcp is an agent that connects, makes some calls, and connects anew with another version.
func (c *chaos) mcp(ctx context.Context, name string, d *rand.Rand) {
	running := context.WithoutCancel(ctx)
	for i := 0; pause(ctx, time.Duration(d.IntN(300))*time.Millisecond); i++ {
		a := suite.MCPAgent{Version: suite.MCPVersions[(i+int(d.Uint64()%5))%len(suite.MCPVersions)]}
		if d.IntN(2) == 0 {
			a.Elicits = elicitor{dice(d.Uint64(), name)}
		}
		meeting, cancel := context.WithTimeout(running, chaosGrace)
		if err := a.OverHTTP(meeting, c.URL+"/mcp/shop?session="+fmt.Sprint("m", d.IntN(2)), chaosToken(name)); err != nil {
			c.t.Errorf("%s cannot connect with %s: %v", name, a.Version, err)
			cancel()
			return
		}
		for n, calls := 0, 2+d.IntN(6); n < calls && ctx.Err() == nil; n++ {
			leave := max(c.patience, chaosLeast) + chaosGrace
			if d.IntN(6) == 0 {
				leave = time.Duration(d.IntN(600)) * time.Millisecond
			}
			c.note(c.callMCP(running, &a, entry{id: fmt.Sprintf("%s-%d-%d", name, i, n), tool: chaosTools[d.IntN(len(chaosTools))], by: name + " " + a.Version}, leave))
		}
		_ = a.Close() // what is open on the other side ends with the session
		cancel()
	}
}

// callMCP makes one call, and leaves it when it takes too long.
func (c *chaos) callMCP(ctx context.Context, a *suite.MCPAgent, e entry, leave time.Duration) entry {
	bounded, cancel := context.WithTimeout(ctx, leave)
	defer cancel()
	began := time.Now()
	got, err := a.Client.CallTool(bounded, mcp.CallToolRequest{Params: mcp.CallToolParams{Name: e.tool, Arguments: map[string]string{"id": e.id}}})
	e.took = time.Since(began)
	e.over = e.took - max(c.patience, chaosLeast)
	switch {
	case err != nil && bounded.Err() != nil && leave < c.patience:
		e.outcome = "left"
	case err != nil:
		e.outcome, e.why = "none", err.Error()
	case !got.IsError:
		e.outcome = "ok"
	default:
		e.outcome, e.why = "none", "an error without its _meta"
		if got.Meta != nil {
			if said, ok := got.Meta.AdditionalFields["pagetools/error"].(map[string]any); ok {
				e.outcome = fmt.Sprint(said["outcome"])
				e.why = fmt.Sprint(said["code"])
				if said["reason"] != nil {
					e.why += fmt.Sprint(" ", said["reason"])
				}
			}
		}
	}
	return e
}

package life_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"
)

// tasked holds what a result of MCP says of a call that may become a task.
type tasked struct {
	ResultType, TaskID, Status, RequestState string
	IsError                                  bool
	InputRequests                            map[string]json.RawMessage
	Result                                   *tasked
	Meta                                     map[string]json.RawMessage `json:"_meta"`
	StructuredContent                        json.RawMessage
	Contents                                 []struct{ Text string }
}

// task is a client of MCP that takes tasks: it looks how they are, answers or cancels them, and
// leaves some calls before they are tasks.
func (c *chaos) task(ctx context.Context, name string, d *rand.Rand) {
	running := context.WithoutCancel(ctx)
	for i := 0; pause(ctx, time.Duration(d.IntN(300))*time.Millisecond); i++ {
		x := call{caller: name, token: chaosToken(name), id: fmt.Sprintf("%s-%d", name, i), tool: chaosTools[d.IntN(len(chaosTools))], timeout: chaosCall}
		c.note(c.taskCall(running, x, plan{leaves: d.IntN(5) == 0, cancels: d.IntN(4) == 0, yes: d.IntN(2) == 0, after: time.Duration(d.IntN(600)) * time.Millisecond}))
	}
}

// taskCall makes a call, and returns its outcome.
func (c *chaos) taskCall(ctx context.Context, x call, p plan) (e entry) {
	e = entry{id: x.id, tool: x.tool, by: x.caller}
	limit := max(x.timeout, chaosLeast)
	bounded, cancel := context.WithTimeout(ctx, limit+chaosGrace)
	defer cancel()
	began := time.Now()
	defer func() { e.took = time.Since(began); e.over = e.took - limit }()
	first := bounded
	if p.leaves {
		gone, leave := context.WithTimeout(bounded, p.after)
		defer leave()
		first = gone
	}
	params := map[string]any{"name": x.tool, "arguments": map[string]string{"id": x.id}}
	got, err := c.askMCP(first, x.token, "tools/call", x.tool, params)
	for err == nil && got.ResultType == "input_required" { // asked within its request
		params["requestState"], params["inputResponses"] = got.RequestState, answers(got, p.yes)
		got, err = c.askMCP(first, x.token, "tools/call", x.tool, params)
	}
	if err == nil && got.ResultType == "task" {
		c.tasks.Add(1)
		got, err = c.followTask(bounded, x.token, got, p)
	}
	switch {
	case first.Err() != nil && bounded.Err() == nil, err == nil && got.Status == "cancelled":
		e.outcome = "left"
	case err != nil:
		e.outcome, e.why = "none", err.Error()
	default:
		e.cameTo(got)
	}
	return e
}

// cameTo notes the result of a call.
func (e *entry) cameTo(got *tasked) {
	if !got.IsError {
		e.outcome = "ok"
		return
	}
	var said struct{ Outcome, Code, Reason string }
	_ = json.Unmarshal(got.Meta["pagetools/error"], &said) // without it there is no outcome
	e.outcome, e.why = said.Outcome, said.Code+" "+said.Reason
}

// followTask looks at a task until it is over, and returns its result.
func (c *chaos) followTask(ctx context.Context, token string, got *tasked, p plan) (*tasked, error) {
	id := got.TaskID
	about := func(method string, more map[string]any) (*tasked, error) {
		params := map[string]any{"taskId": id}
		for k, v := range more {
			params[k] = v
		}
		return c.askMCP(ctx, token, method, id, params)
	}
	if p.cancels {
		pause(ctx, p.after)
		if _, err := about("tasks/cancel", nil); err != nil {
			return nil, err
		}
	}
	for {
		got, err := about("tasks/get", nil)
		switch {
		case err != nil:
			return nil, err
		case got.Status == "completed":
			return got.Result, nil
		case got.Status != "working" && got.Status != "input_required":
			return got, nil
		case got.Status == "input_required":
			if _, err := about("tasks/update", map[string]any{"inputResponses": answers(got, p.yes)}); err != nil {
				return nil, err
			}
		}
		if !pause(ctx, 100*time.Millisecond) {
			return nil, ctx.Err()
		}
	}
}

// answers says yes or no to each request for input.
func answers(got *tasked, yes bool) map[string]any {
	all := map[string]any{}
	for key := range got.InputRequests {
		all[key] = map[string]any{"action": "decline"}
		if yes {
			all[key] = map[string]any{"action": "accept", "content": map[string]any{}}
		}
	}
	return all
}

// withTasks is a client that takes tasks, and asks its person.
var withTasks = map[string]any{"elicitation": map[string]any{"form": map[string]any{}}, "extensions": map[string]any{"io.modelcontextprotocol/tasks": map[string]any{}}}

// askMCP makes a request of 2026-07-28 as a client that takes tasks, and returns its result.
func (c *chaos) askMCP(ctx context.Context, token, method, name string, params map[string]any) (*tasked, error) {
	return c.askMCPAs(ctx, withTasks, token, method, name, params)
}

// askMCPAs makes a request of 2026-07-28 as a client with capabilities, and returns its result.
func (c *chaos) askMCPAs(ctx context.Context, capabilities map[string]any, token, method, name string, params map[string]any) (*tasked, error) {
	const version = "2026-07-28"
	params["_meta"] = map[string]any{"io.modelcontextprotocol/protocolVersion": version, "io.modelcontextprotocol/clientInfo": map[string]string{"name": "chaos", "version": "1"},
		"io.modelcontextprotocol/clientCapabilities": capabilities}
	body, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) // strings and numbers
	r := c.In(ctx, token, http.MethodPost, c.URL+"/mcp/shop", string(body), "Accept", "application/json, text/event-stream",
		"MCP-Protocol-Version", version, "Mcp-Method", method, "Mcp-Name", name)
	if r.Err != nil {
		return nil, r.Err
	}
	text := r.Body
	for _, line := range slices.Backward(bytes.Split(r.Body, []byte("\n"))) { // the reply is the last event of a stream
		if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
			text = data
			break
		}
	}
	var read struct{ Result *tasked }
	if json.Unmarshal(text, &read) != nil || read.Result == nil {
		return nil, fmt.Errorf("%s: %d %s", method, r.Status, text)
	}
	return read.Result, nil
}

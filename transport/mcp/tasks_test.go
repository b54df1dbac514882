package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
)

const (
	takesTasks = `{"elicitation":{"form":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}`
	tasksOnly  = `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`
)

// taskReply is a reply about a task.
type taskReply struct {
	Result struct {
		ResultType, TaskID, Status, StatusMessage string
		CreatedAt, LastUpdatedAt                  time.Time
		TTL                                       *int64 `json:"ttlMs"`
		Poll                                      int    `json:"pollIntervalMs"`
		Result                                    json.RawMessage
		InputRequests                             map[string]struct{ Method string }
		Meta                                      map[string]json.RawMessage `json:"_meta"`
	}
	Error *struct {
		Code    int
		Message string
		Data    json.RawMessage
	}
	status int
	body   string
}

func (c *client) task(method, id, more string) taskReply {
	c.t.Helper()
	a := c.call(9, method, fmt.Sprintf(`{"taskId":%q%s}`, id, more))
	var r taskReply
	a.into(c.t, &r)
	r.status, r.body = a.status, a.body
	return r
}

// makesTask calls the tool look, which becomes a task, and returns its id.
func (c *client) makesTask() string {
	c.t.Helper()
	a := c.call(7, "tools/call", `{"name":"look","arguments":{"n":1}}`)
	var r taskReply
	a.into(c.t, &r)
	if r.Result.ResultType != "task" || r.Result.TaskID == "" || r.Result.Status != "working" || r.Result.TTL == nil || r.Result.Poll != 1000 ||
		r.Result.CreatedAt.IsZero() || r.Result.LastUpdatedAt.Before(r.Result.CreatedAt) || r.Result.StatusMessage == "" {
		c.t.Fatalf("it is %s", a.body)
	}
	return r.Result.TaskID
}

// until waits until a task has a status.
func (c *client) until(id, status string) taskReply {
	c.t.Helper()
	long, err := c.bridge.LongCall(agent, id)
	if err != nil {
		c.t.Fatal(err)
	}
	for {
		_, changed := long.State()
		if r := c.task("tasks/get", id, ""); r.Result.Status == status {
			return r
		}
		select {
		case <-changed:
		case <-time.After(hang):
			c.t.Fatalf("the task never is %s", status)
		}
	}
}

// steps makes the tools of the shop do what the test says next; a call ends when its context does.
func (w *world) steps() func(bridge.Step) {
	w.t.Helper()
	next := make(chan bridge.Step)
	w.router.Handle("shop", func(ctx context.Context, _ bridge.Invocation) bridge.Step {
		select {
		case s := <-next:
			return s
		case <-ctx.Done():
			e := *bridge.AsError(context.Cause(ctx))
			e.Outcome = bridge.Unknown
			return e.Step()
		}
	})
	return func(s bridge.Step) {
		select {
		case next <- s:
		case <-time.After(hang):
			w.t.Error("no call takes the step")
		}
	}
}

// TestTasks: a call that takes long becomes a task for a client that takes tasks, and for no other;
// it has the result that the call would have got. It is a long call, too.
func TestTasks(t *testing.T) {
	w := newWorld(t, Options{TaskAfter: time.Millisecond})
	next := w.steps()
	c := w.as(agent).since2026(takesTasks)
	id := c.makesTask()
	r := c.task("tasks/get", id, "")
	if r.Result.ResultType != "complete" || r.Result.Status != "working" || r.Result.Result != nil {
		t.Errorf("it is %s", r.body)
	}
	if long, err := w.bridge.LongCall(agent, id); err != nil {
		t.Error(err)
	} else if s, _ := long.State(); s.Tool != "look" || s.Form != "mcp:look" {
		t.Errorf("as a long call it is %+v", s)
	}
	next(bridge.Step{Data: json.RawMessage(`{"n":1}`)})
	for range 2 { // readable more than once
		r = c.until(id, "completed")
		if result := string(r.Result.Result); !strings.Contains(result, `"structuredContent":{"n":1}`) || !strings.Contains(result, `"resultType":"complete"`) {
			t.Errorf("it came to %s", r.body)
		}
	}
	id = c.makesTask()
	next(bridge.Errorf(bridge.ToolError, "", bridge.Failed, "Not today.").Step())
	if r = c.until(id, "completed"); !strings.Contains(string(r.Result.Result), `"isError":true`) || !strings.Contains(string(r.Result.Result), "Not today.") {
		t.Errorf("a tool that throws is %s", r.body)
	}
	if n := len(w.router.Calls()); n != 2 {
		t.Errorf("%d calls ran", n)
	}
	go next(bridge.Step{Data: json.RawMessage(`"quick"`)})
	if r := w.as(agent).since2026(forms).tool("look", `{}`); r.text() != "quick" {
		t.Errorf("a client without tasks gets %s", r.text())
	}
}

// TestQuickCallIsNoTask: what ends in time is answered as ever, and nothing of it is kept. Equal
// calls at once are two.
func TestQuickCallIsNoTask(t *testing.T) {
	w := newWorld(t, Options{TaskAfter: hang})
	next := w.steps()
	c := w.as(agent).since2026(takesTasks)
	replies := make(chan toolReply, 2)
	for range 2 {
		go func() { replies <- c.tool("look", `{"n":1}`) }()
	}
	for range 2 {
		next(bridge.Step{Data: json.RawMessage(`"done"`)})
	}
	for range 2 {
		if r := <-replies; r.Result.ResultType != "complete" || r.text() != "done" {
			t.Errorf("it is %s", r.text())
		}
	}
	if n := len(w.router.Calls()); n != 2 {
		t.Errorf("%d calls ran", n)
	}
}

// TestTaskThatNobodyGets: a client that goes away before it has the id of a task aborts the call.
func TestTaskThatNobodyGets(t *testing.T) {
	w := newWorld(t, Options{TaskAfter: hang})
	runs, aborted := make(chan struct{}, 1), make(chan struct{}, 1)
	w.router.Handle("shop", func(ctx context.Context, _ bridge.Invocation) bridge.Step {
		runs <- struct{}{}
		<-ctx.Done()
		aborted <- struct{}{}
		return bridge.GaveUp(bridge.Unknown).Step()
	})
	c := w.as(agent).since2026(takesTasks)
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		r, _ := http.NewRequestWithContext(ctx, http.MethodPost, c.url+c.path, strings.NewReader(rpc(7, "tools/call", c.params(`{"name":"look","arguments":{}}`))))
		c.head(r, rpc(7, "tools/call", c.params(`{"name":"look","arguments":{}}`)))
		if res, err := http.DefaultClient.Do(r); err == nil {
			_ = res.Body.Close()
		}
	}()
	<-runs
	leave()
	select {
	case <-aborted:
	case <-time.After(hang):
		t.Error("the call goes on")
	}
	<-gone
}

// TestTaskIsCancelled: its page hears of it; what is over stays so.
func TestTaskIsCancelled(t *testing.T) {
	w := newWorld(t, Options{TaskAfter: time.Millisecond})
	next := w.steps()
	c := w.as(agent).since2026(takesTasks)
	id := c.makesTask()
	if r := c.task("tasks/cancel", id, ""); r.Error != nil || r.Result.ResultType != "complete" || r.Result.TaskID != "" {
		t.Errorf("it is %s", r.body)
	}
	if r := c.until(id, "cancelled"); r.Result.Result != nil || r.Result.StatusMessage == "" {
		t.Errorf("it is %s", r.body)
	}
	id = c.makesTask()
	next(bridge.Step{Data: json.RawMessage(`1`)})
	c.until(id, "completed")
	if r := c.task("tasks/cancel", id, ""); r.Error != nil {
		t.Errorf("of one that is over: %s", r.body)
	}
	c.until(id, "completed")
}

// TestTaskAsks: each question of a task has a key of its own, which only an answer closes. A client
// that cannot ask reads where a person answers.
func TestTaskAsks(t *testing.T) {
	w := newWorld(t, Options{TaskAfter: time.Millisecond, Operators: func(bool) string { return "https://operators.example" }})
	next := w.steps()
	c := w.as(agent).since2026(takesTasks)
	id := c.makesTask()
	sure := bridge.Question{Kind: bridge.Confirm, Title: "The page asks.", Detail: "Sure?"}
	next(bridgetest.Asks(sure, func(a *bridge.Answer) bridge.Step {
		return bridgetest.Asks(sure, func(b *bridge.Answer) bridge.Step {
			return bridge.Step{Data: json.RawMessage(fmt.Sprintf(`"%t %t"`, a.OK, b.OK))}
		})
	}))
	first := c.until(id, "input_required")
	if len(first.Result.InputRequests) != 1 || first.Result.InputRequests["question-1"].Method != "elicitation/create" {
		t.Fatalf("it asks %s", first.body)
	}
	mute := w.as(agent).since2026(tasksOnly)
	if r := mute.task("tasks/get", id, ""); r.Result.Status != "working" || r.Result.InputRequests != nil || !strings.Contains(r.Result.StatusMessage, "https://operators.example") {
		t.Errorf("a client that cannot ask reads %s", r.body)
	}
	long, err := w.bridge.LongCall(agent, id)
	if err != nil {
		t.Fatal(err)
	}
	if s, _ := long.State(); strings.Contains(first.body, s.Question.ID) {
		t.Errorf("a client reads the id of a question: %s", first.body)
	}
	answer := func(c *client, key, action string) {
		t.Helper()
		if r := c.task("tasks/update", id, fmt.Sprintf(`,"inputResponses":{%q:{"action":%q,"content":{}},"other":{"action":"accept"}}`, key, action)); r.Error != nil || r.Result.ResultType != "complete" {
			t.Errorf("%s gives %s", action, r.body)
		}
	}
	answer(mute, "question-1", "accept")
	answer(c, "question-2", "accept")
	answer(c, "question-1", "cancel")
	if r := c.task("tasks/get", id, ""); r.Result.InputRequests["question-1"].Method == "" {
		t.Errorf("what is no answer left %s", r.body)
	}
	answer(c, "question-1", "accept")
	answer(c, "question-1", "accept") // it is answered
	for c.until(id, "input_required").Result.InputRequests["question-2"].Method == "" {
		t.Fatal("the second question has the key of the first")
	}
	answer(c, "question-2", "decline")
	if r := c.until(id, "completed"); !strings.Contains(string(r.Result.Result), "true false") {
		t.Errorf("it came to %s", r.body)
	}
}

// TestConsentThenTask: consent is asked as ever, and the retry may become a task.
func TestConsentThenTask(t *testing.T) {
	w := newWorld(t, Options{TaskAfter: time.Millisecond})
	next := w.steps()
	c := w.as(agent).since2026(takesTasks)
	asked := c.tool("buy", `{"n":1}`)
	if asked.Result.ResultType != "input_required" || asked.Result.RequestState == "" {
		t.Fatalf("it is %+v", asked)
	}
	r := c.retry("buy", `{"n":1}`, asked, "accept", `{}`)
	if r.Result.ResultType != "task" {
		t.Fatalf("the retry is %+v", r)
	}
	next(bridge.Step{Data: json.RawMessage(`1`)})
	runs := bridgetest.Questions(w.bridge, operator)
	if len(runs) != 0 || len(w.router.Calls()) != 1 {
		t.Errorf("%d questions are open, %d calls ran", len(runs), len(w.router.Calls()))
	}
}

// TestTaskRefused: without the capability, for another caller, with another name in the header, and
// over older versions. Rule 3.
func TestTaskRefused(t *testing.T) {
	w := newWorld(t, Options{TaskAfter: time.Millisecond})
	next := w.steps()
	c := w.as(agent).since2026(takesTasks)
	id := c.makesTask()
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		const more = `,"inputResponses":{}`
		r := w.as(agent).since2026(forms).task(method, id, more)
		if r.Error == nil || r.Error.Code != -32021 || string(r.Error.Data) == "" || !strings.Contains(string(r.Error.Data), `"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}`) {
			t.Errorf("%s without the capability: %s", method, r.body)
		}
		foreign, never := w.as(other).since2026(takesTasks).task(method, id, more), c.task(method, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", more)
		if foreign.Error == nil || foreign.Error.Code != -32602 || never.Error == nil || foreign.Error.Message != never.Error.Message {
			t.Errorf("%s of another caller: %s, of none: %s", method, foreign.body, never.body)
		}
		misnamed := w.as(agent).since2026(takesTasks)
		misnamed.header.Set("Mcp-Name", "another")
		if r := misnamed.task(method, id, more); r.Error == nil || r.Error.Code != -32020 {
			t.Errorf("%s under another name: %s", method, r.body)
		}
		misnamed.header["Mcp-Name"] = []string{""}
		if r := misnamed.task(method, id, more); r.Error == nil || r.Error.Code != -32020 {
			t.Errorf("%s without a name: %s", method, r.body)
		}
		if r := w.as(agent).legacy("2025-11-25", takesTasks).task(method, id, more); r.Error == nil || r.Error.Code != -32601 {
			t.Errorf("%s of an older version: %s", method, r.body)
		}
	}
	for _, method := range []string{"tasks/result", "tasks/list"} {
		unnamed := w.as(agent).since2026(takesTasks)
		unnamed.header["Mcp-Name"] = []string{""}
		if r := unnamed.task(method, id, ""); r.Error == nil || r.Error.Code != -32601 {
			t.Errorf("%s: %s", method, r.body)
		}
	}
	elsewhere := w.as(agent).since2026(takesTasks)
	elsewhere.path = "/mcp/shop"
	if r := elsewhere.task("tasks/get", id, ""); r.Error != nil {
		t.Errorf("on its site's endpoint: %s", r.body)
	}
	if r := c.task("tasks/update", id, `,"inputResponses":[]`); r.Error == nil || r.Error.Code != -32602 {
		t.Errorf("responses that are no object: %s", r.body)
	}
	if a := c.call(1, "server/discover", `{}`); !strings.Contains(a.body, `"extensions":{"io.modelcontextprotocol/tasks":{}}`) {
		t.Errorf("discover is %s", a.body)
	}
	next(bridge.Step{Data: json.RawMessage(`1`)})
	c.until(id, "completed")
}

// TestTasksAreFollowed: a stream has each change of the tasks that are the caller's own, and ends
// with them.
func TestTasksAreFollowed(t *testing.T) {
	w := newWorld(t, Options{TaskAfter: time.Millisecond})
	next := w.steps()
	c := w.as(agent).since2026(takesTasks)
	id := c.makesTask()
	listen := fmt.Sprintf(`{"notifications":{"taskIds":[%q,"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"]}}`, id)
	if a := w.as(agent).since2026(forms).call(5, "subscriptions/listen", listen); !strings.Contains(a.body, "-32021") {
		t.Errorf("without the capability: %s", a.body)
	}
	many := strings.Repeat(fmt.Sprintf("%q,", id), maxTasks) + fmt.Sprintf("%q", id)
	if a := c.call(5, "subscriptions/listen", `{"notifications":{"taskIds":[`+many+`]}}`); !strings.Contains(a.body, "-32602") {
		t.Errorf("one more than a stream follows: %s", a.body)
	}
	ended := make(chan answer, 1)
	go func() { ended <- c.call(`"sub"`, "subscriptions/listen", listen) }()
	next(bridge.Step{Data: json.RawMessage(`{"n":1}`)})
	a := <-ended
	if len(a.events) < 3 || !strings.Contains(a.events[0], fmt.Sprintf(`"notifications":{"taskIds":[%q]}`, id)) {
		t.Fatalf("it hears %q", a.events)
	}
	last := a.events[len(a.events)-2]
	if !strings.Contains(last, `"method":"notifications/tasks"`) || !strings.Contains(last, `"status":"completed"`) || !strings.Contains(last, `"structuredContent":{"n":1}`) ||
		!strings.Contains(last, `"io.modelcontextprotocol/subscriptionId":"sub"`) || strings.Contains(last, `"resultType":"task"`) {
		t.Errorf("the last change is %s", last)
	}
	if !strings.Contains(a.body, `"resultType":"complete"`) {
		t.Errorf("the stream ends with %s", a.body)
	}
}

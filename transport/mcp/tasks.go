package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport/mcp/toolset"
)

// This file serves the extension of tasks of 2026-07-28 (SEP-2663). A task is a long call of the
// bridge: its id is the token of the call, and the extension is another way to read it.

// tasksExtension is the key of the extension in capabilities.
const tasksExtension = "io.modelcontextprotocol/tasks"

const (
	methodTasksGet    = "tasks/get"
	methodTasksUpdate = "tasks/update"
	methodTasksCancel = "tasks/cancel"
	methodTasksChange = "notifications/tasks"

	resultTypeTask mcpgo.ResultType = "task"
)

// ofTasks reports whether a method is one of the extension.
func ofTasks(method string) bool {
	return method == methodTasksGet || method == methodTasksUpdate || method == methodTasksCancel
}

// defaultTaskAfter says how long a call is waited for before it becomes a task, and pollEvery how
// often a client should look for it.
const defaultTaskAfter, pollEvery = 2 * time.Second, time.Second

// maxTasks bounds the tasks that one stream follows.
const maxTasks = 32

// task is a task as clients get it, flat.
type task struct {
	ResultType    mcpgo.ResultType    `json:"resultType,omitempty"`
	TaskID        string              `json:"taskId"`
	Status        bridge.Status       `json:"status"`
	StatusMessage string              `json:"statusMessage,omitempty"`
	CreatedAt     time.Time           `json:"createdAt"`
	LastUpdatedAt time.Time           `json:"lastUpdatedAt"`
	TTL           int64               `json:"ttlMs"`
	Poll          int64               `json:"pollIntervalMs"`
	InputRequests mcpgo.InputRequests `json:"inputRequests,omitempty"`
	Result        json.RawMessage     `json:"result,omitempty"`
	Meta          *mcpgo.Meta         `json:"_meta,omitempty"`
}

// takesTasks reports whether a call of this request may become a task.
func (x *exchange) takesTasks() bool { return x.can.tasks && x.protocol.Modern() }

// next is Run.Next, and became is true when the call goes on as a task.
func (x *exchange) next(ctx context.Context, run *bridge.Run) (q *bridge.Question, end bridge.Step, became bool) {
	long, err := x.face.b.LongCall(x.scope.caller, run.Token())
	if !x.takesTasks() || err != nil {
		q, end = run.Next(ctx)
		return q, end, false
	}
	bounded, stop := context.WithCancel(ctx)
	defer stop()
	var kept atomic.Bool
	timer := time.AfterFunc(x.face.o.TaskAfter, func() {
		if long.Keep() {
			kept.Store(true)
			stop()
		}
	})
	defer timer.Stop()
	q, end = run.Next(bounded)
	if kept.Load() && ctx.Err() != nil { // nobody gets its id
		long.Cancel(x.scope.caller)
	}
	return q, end, kept.Load()
}

// created is the result of a call that became a task.
func (x *exchange) created(run *bridge.Run) json.RawMessage {
	long, err := x.face.b.LongCall(x.scope.caller, run.Token())
	if err != nil { // its caller was revoked meanwhile
		return x.end(failure(bridge.AsError(err)))
	}
	s, _ := long.State()
	t := x.task(long, &s)
	t.Status, t.InputRequests, t.Result = bridge.Working, nil, nil // the rest is for tasks/get
	t.StatusMessage = "The tool still runs."
	var r mcpgo.Result
	r.ResultType = resultTypeTask
	x.complete(&r)
	t.ResultType, t.Meta = r.ResultType, r.Meta
	return encode(t)
}

// task is a long call as a task.
func (x *exchange) task(long *bridge.LongCall, s *bridge.State) task {
	t := task{TaskID: s.ID, Status: s.Status, CreatedAt: s.Created.UTC(), LastUpdatedAt: s.Updated.UTC(),
		TTL: s.Expires.Sub(s.Created).Milliseconds(), Poll: pollEvery.Milliseconds()}
	switch s.Status {
	case bridge.Working:
		if s.Progress != nil {
			t.StatusMessage = s.Progress.Told().Message
		}
	case bridge.InputAwaited:
		params, _, ok := x.elicitation(s.Question)
		if ok {
			t.InputRequests = mcpgo.InputRequests{questionKey(s): mcpgo.NewElicitationInputRequest(params)}
		} else {
			t.Status, t.StatusMessage = bridge.Working, askedOf(x, s.Question, false)
		}
	case bridge.Completed:
		t.Result = x.end(outcome(x, long.Run(), s))
	case bridge.CancelledCall:
		t.StatusMessage = s.End.Err.Message
	}
	return t
}

// questionKey names the open question of a task: no two of them have one key.
func questionKey(s *bridge.State) string { return fmt.Sprintf("question-%d", s.Asked) }

// formPrefix begins the form of calls over MCP; the name follows by which the client called the
// tool, when that is its name in the list.
const formPrefix = "mcp:"

// outcome is the result that the request of a call would have got.
func outcome(x *exchange, run *bridge.Run, s *bridge.State) *mcpgo.CallToolResult {
	name, _ := strings.CutPrefix(s.Form, formPrefix)
	to := toolset.Target{Site: s.Site, Tool: run.Tool(), Name: name}
	if s.End.Err != nil {
		return x.withFiles(failed(s.End.Err, to, x.protocol), s.End.Files)
	}
	if to.Tool == nil { // a batch of webtools: clients of MCP have none, and know its id all the same
		return textResult(string(s.End.Data))
	}
	return x.withFiles(x.excused(result(s.End, to.Tool, x.protocol), s.End.Violation, to, name), s.End.Files)
}

// tasks serves the methods of the extension.
func (x *exchange) tasks() (json.RawMessage, *rpcError) {
	if e := needsTasks(x); e != nil {
		return nil, e
	}
	long, s, e := x.taskOf(x.message.params.Get("taskId"))
	if e != nil {
		return nil, e
	}
	t := task{}
	switch x.message.method {
	case methodTasksGet:
		t = x.task(long, &s)
	case methodTasksCancel:
		long.Cancel(x.scope.caller)
	case methodTasksUpdate:
		responses := x.message.params.Get("inputResponses")
		if !responses.IsObject() {
			return nil, badParams("inputResponses must be an object, such as {}.")
		}
		x.update(long.Run(), &s, responses)
	}
	var r mcpgo.Result
	x.complete(&r)
	if x.message.method != methodTasksGet {
		return encode(r), nil
	}
	t.ResultType, t.Meta = r.ResultType, r.Meta
	return encode(t), nil
}

// needsTasks refuses a client that did not declare the extension.
func needsTasks(x *exchange) *rpcError {
	if x.can.tasks {
		return nil
	}
	e := rpcErrorf(mcpgo.MISSING_REQUIRED_CLIENT_CAPABILITY, "Tasks need the capability %s of the client: declare it in _meta.", tasksExtension)
	e.Data = map[string]any{"requiredCapabilities": map[string]any{"extensions": map[string]any{tasksExtension: struct{}{}}}}
	return e
}

// taskOf finds a task of the caller.
func (x *exchange) taskOf(id bridge.Value) (*bridge.LongCall, bridge.State, *rpcError) {
	if !id.IsString() || id.String() == "" {
		return nil, bridge.State{}, badParams("taskId must be the id of a task.")
	}
	long, err := x.face.b.LongCall(x.scope.caller, id.String())
	if err == nil {
		if s, _ := long.State(); x.scope.site == "" || s.Site == x.scope.site {
			return long, s, nil
		}
	}
	return nil, bridge.State{}, badParams("There is no task with this id: it is not yours, its outcome is not kept any more, or its process has ended. " +
		"Its tool may have run: look at the page before you call it again.")
}

// update takes what the client brings to the open question of a task. Anything else is ignored.
func (x *exchange) update(run *bridge.Run, s *bridge.State, responses bridge.Value) {
	if s.Question == nil {
		return
	}
	said := responses.Get(questionKey(s))
	_, elsewhere, ok := x.elicitation(s.Question)
	done := mcpgo.ElicitationResponseAction(said.Get("action").String()) == mcpgo.ElicitationResponseActionAccept
	if ok && said.IsObject() && (!elsewhere || !done) { // what is done in the page, the page says
		x.answered(context.Background(), run, s.Question.ID, false, said)
	}
}

// followed finds the tasks that a stream shall follow. Those that are not there are left out.
func (x *exchange) followed(ids bridge.Value) (all []*bridge.LongCall, e *rpcError) {
	if !ids.Exists() || ids.IsNull() {
		return nil, nil
	}
	if !ids.IsArray() || ids.Len() > maxTasks {
		return nil, badParams("taskIds must be a list of at most %d ids of tasks.", maxTasks)
	}
	if e := needsTasks(x); e != nil {
		return nil, e
	}
	for id := range ids.Elements() {
		if long, _, e := x.taskOf(id); e == nil {
			all = append(all, long)
		}
	}
	return all, nil
}

// follow tells of each change of tasks, until all are over or ctx ends. The channel is closed then.
func (x *exchange) follow(ctx context.Context, all []*bridge.LongCall, tell func(method string, params map[string]any) error) <-chan struct{} {
	var wait sync.WaitGroup
	for _, long := range all {
		wait.Go(func() { followOne(ctx, x, long, tell) })
	}
	done := make(chan struct{})
	go func() { // ends with those
		wait.Wait()
		close(done)
	}()
	return done
}

func followOne(ctx context.Context, x *exchange, long *bridge.LongCall, tell func(method string, params map[string]any) error) {
	for told := int64(0); ; {
		s, changed := long.State()
		if s.Version != told {
			var members map[string]json.RawMessage
			_ = json.Unmarshal(encode(x.task(long, &s)), &members) // ours
			params := make(map[string]any, len(members)+1)
			for name, value := range members {
				params[name] = value
			}
			if tell(methodTasksChange, params) != nil || s.IsOver() {
				return
			}
			told = s.Version
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

package webtool

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/transport"
)

// maxSteps and maxBatch bound the steps of a batch and the bytes of its body, maxStepID the
// characters of the id of a step.
const maxSteps, maxBatch, maxStepID = 32, 256 << 10, 64

// batch is the body of a POST to a batch: calls that run one after the other, in one page.
type batch struct {
	session, version string
	config           json.RawMessage // of every step
	goOn             bool            // after an error that says what ran
	steps            []step
}

// step is one call of a batch.
type step struct {
	id, action string
	config     json.RawMessage
	request    bridge.Value
}

// batch runs the steps of a batch.
func (f *Face) batch(w http.ResponseWriter, r *http.Request) {
	body, err := transport.ReadBody(r)
	if err == nil && len(body) > maxBatch {
		err = transport.TooLarge(maxBatch)
	}
	if err != nil {
		transport.WriteError(w, r, bridge.AsError(err))
		return
	}
	call, e := f.batchCall(r, body)
	if e != nil {
		transport.WriteError(w, r, e)
		return
	}
	transport.Serve(w, r, f.b, call, func(end bridge.Step) {
		if end.Err != nil {
			fail(w, r, end.Err, false)
			return
		}
		status, reply := batchForm(r, end)
		w.Header().Set("Cache-Control", "no-store")
		transport.WriteBytes(w, r, status, reply)
	})
}

// batchForm writes the outcome of a batch: its data is the list of its steps.
func batchForm(_ *http.Request, end bridge.Step) (status int, reply []byte) {
	if end.Err != nil {
		return transport.Status(end.Err), transport.ErrorText(named(end.Err))
	}
	return http.StatusOK, slices.Concat([]byte(`{"status":"ok","steps":`), end.Data, []byte("}"))
}

// batchCall makes the call around the steps of a batch.
func (f *Face) batchCall(r *http.Request, body []byte) (*bridge.Call, *bridge.Error) {
	raw, err := bridge.ReadValue("The body", body)
	if err != nil {
		return nil, bridge.AsError(err)
	}
	b, e := readBatch(raw)
	if e != nil {
		return nil, e
	}
	key, e := transport.KeyOf(r.Header)
	if e != nil {
		return nil, e
	}
	if token, e := transport.ResumeOf(r.Header); e != nil || token != "" {
		return nil, transport.Malformed("The header " + transport.ResumeHeader +
			" resumes one call: send it with that call, to its webtool, and not with a batch.")
	}
	around := &bridge.Call{Site: r.PathValue("site"), Session: b.session, Caller: transport.CallerOf(r.Context()), Tool: "batch",
		Input: raw, ID: transport.RequestID(r.Context()), Form: formBatch}
	if transport.PrefersAsync(r.Header) {
		around.Key = key // the same key is the same handle; of a batch in one request, the steps have keys alone
	}
	run := batchRun{face: f, r: r, batch: b, around: around, key: key}
	calls := run.calls()
	took, err := bridge.StepsTime(f.b, calls)
	if err != nil {
		if limited := f.b.Count(bridge.Ref{Site: around.Site, Caller: around.Caller}); limited != nil {
			return nil, limited
		}
		return nil, bridge.AsError(err)
	}
	around.Config = fmt.Appendf(nil, `{"timeout":%d}`, took.Milliseconds())
	around.Steps = func(ctx context.Context, do func(*bridge.Call) bridge.Step) bridge.Step {
		return run.all(ctx, calls, do)
	}
	return around, nil
}

// batchRun runs a batch.
type batchRun struct {
	*batch

	face   *Face
	r      *http.Request
	around *bridge.Call
	key    string
	own    string // the session that the batch makes for itself; "" is none
	until  chan struct{}
}

// calls makes the calls of the steps, without their arguments. Without a session of the caller's,
// and where calls without one get a page each, the steps have a session of their own.
func (run *batchRun) calls() []*bridge.Call {
	session, c := run.session, run.around
	shares := slices.ContainsFunc(run.face.b.Sites(c.Caller), func(s bridge.Site) bool { return s.Name == c.Site && (s.Shared || s.API) })
	if run.until = make(chan struct{}); session == "" && !shares {
		if run.own = transport.BatchSession(run.key); run.key == "" {
			run.own = bridge.NodeOf(run.face.b) + "batch-" + rand.Text()
		}
		session = run.own
	}
	calls := make([]*bridge.Call, len(run.steps))
	for i, s := range run.steps {
		calls[i] = &bridge.Call{Site: c.Site, Tool: s.action, Session: session, Caller: c.Caller, Version: run.version,
			Config: merged(run.config, s.config), TellsChanges: true, ID: c.ID + "-" + strconv.Itoa(i+1),
			TraceParent: transport.TraceParent(run.r.Header.Values("Traceparent")...)}
		if run.own != "" {
			calls[i].Until = run.until
		}
		if run.key != "" {
			calls[i].Key = run.key + "/" + s.id
		}
	}
	return calls
}

// merged is the config of a step: its own members, and else those of the batch.
func merged(all, own json.RawMessage) json.RawMessage {
	if all == nil || own == nil {
		return slices.Concat(all, own)
	}
	config, _ := asObject(all)
	mine, ok := asObject(own)
	if !ok {
		return own // the bridge says what is wrong with it
	}
	for name, value := range mine {
		config[name] = value
	}
	return schema.MustEncode(config)
}

// all runs the steps until one stops the batch, or ctx ends: then what ran is in the error.
func (run *batchRun) all(ctx context.Context, calls []*bridge.Call, do func(*bridge.Call) bridge.Step) bridge.Step {
	var entries [][]byte
	results, failed, ran := map[string][]byte{}, false, false
	for i, s := range run.steps {
		if ctx.Err() != nil {
			failed, run.goOn = true, false
		}
		if failed && !run.goOn {
			entries = append(entries, stepReply(s.id, []byte(`{"status":"skipped"}`)))
			continue
		}
		end := run.one(s, calls[i], results, do)
		ran = ran || end.Err == nil || end.Err.Outcome != bridge.NotRun
		switch {
		case end.Err == nil:
			results[s.id] = end.Data
			entries = append(entries, stepReply(s.id, succeeded(run.r, end)))
			continue
		case end.Err.Details["resume"] != nil:
			return run.stopped(end.Err, s.id, calls[i].Session, entries).Step()
		}
		entries = append(entries, stepReply(s.id, transport.ErrorText(named(transport.WithFiles(run.r, end)))))
		failed = true
		run.goOn = run.goOn && end.Err.Outcome != bridge.Unknown
	}
	if !failed || run.key == "" { // else the same batch again goes on in the page
		close(run.until)
	}
	if failed && ctx.Err() != nil {
		return gaveUp(ctx, ran, entries).Step()
	}
	return bridge.Step{Data: list(entries)}
}

// one runs a step, once its references have their values.
func (run *batchRun) one(s step, call *bridge.Call, results map[string][]byte, do func(*bridge.Call) bridge.Step) bridge.Step {
	refs := references{results: results}
	var e *bridge.Error
	if call.Input, e = refs.resolve(s.request); e == nil {
		return do(call)
	}
	if limited := run.face.b.Count(bridge.Ref{Site: call.Site, Caller: call.Caller}); limited != nil { // nonsense counts, too
		e = limited
	}
	return e.Step()
}

// stopped is the error of a batch whose step waits for a person. The page stays, for whoever goes
// on with it under its sessionId.
func (run *batchRun) stopped(e *bridge.Error, id, session string, ended [][]byte) *bridge.Error {
	e = e.Detail("step", id).Detail("steps", json.RawMessage(list(ended)))
	if session != "" {
		e = e.Detail("sessionId", session)
	}
	return e
}

// gaveUp is the error of a batch that ended early, because its caller went away or cancelled it, or
// because pagetools ends.
func gaveUp(ctx context.Context, ran bool, ended [][]byte) *bridge.Error {
	outcome := bridge.NotRun
	if ran {
		outcome = bridge.Unknown
	}
	e := bridge.GaveUp(outcome).With(context.Cause(ctx))
	if cause, ok := errors.AsType[*bridge.Error](context.Cause(ctx)); ok {
		own := *cause
		own.Details, own.Outcome, e = maps.Clone(cause.Details), outcome, &own
	}
	return e.Detail("steps", json.RawMessage(list(ended)))
}

// stepReply is a step in the reply: the reply of its call, with the id of the step.
func stepReply(id string, reply []byte) []byte {
	return slices.Concat([]byte(`{"id":`), schema.MustEncode(id), []byte(","), reply[1:])
}

func list(entries [][]byte) []byte {
	return slices.Concat([]byte("["), bytes.Join(entries, []byte(",")), []byte("]"))
}

// readBatch reads the body of a batch. Every key must be known: one that is not would be lost for
// all of its steps.
func readBatch(raw bridge.Value) (*batch, *bridge.Error) {
	if !raw.IsObject() {
		return nil, transport.Malformed("The body must be a JSON object.")
	}
	b := &batch{config: raw.Get("config").Text()}
	if e := known(raw, "The body", "sessionId", "version", "config", "steps", "onError"); e != nil {
		return nil, e
	}
	onError := ""
	for name, into := range map[string]*string{"sessionId": &b.session, "version": &b.version, "onError": &onError} {
		v := raw.Get(name)
		if v.Exists() && !v.IsString() {
			return nil, transport.Malformed(name + " must be a string.")
		}
		*into = v.String()
	}
	steps := raw.Get("steps")
	switch {
	case raw.Get("sessionId").Exists() && !transport.ValidSession(b.session):
		return nil, transport.BadSession()
	case raw.Get("onError").Exists() && onError != "stop" && onError != "continue":
		return nil, transport.Malformed(fmt.Sprintf("invalid value %s for onError: must be stop or continue.", text.Quote(onError)))
	case b.config != nil && !raw.Get("config").IsObject():
		return nil, transport.Malformed("config must be a JSON object, such as {}.")
	case raw.Get("config").Get("resume").Exists():
		return nil, transport.Malformed("config.resume resumes one call: send it in the config of that step.")
	case !steps.IsArray() || steps.Len() == 0 || steps.Len() > maxSteps:
		return nil, transport.Malformed(fmt.Sprintf(`steps must be a list of 1 to %d steps, such as {"id":"a","action":"search","request":{}}.`, maxSteps))
	}
	b.goOn = onError == "continue"
	ids := map[string]bool{}
	for i, v := range steps.Items() {
		s, e := readStep(i, v)
		if e == nil && ids[s.id] {
			e = transport.Malformed(fmt.Sprintf("steps/%d: the id %s is that of an earlier step. Each step needs its own.", i, text.Quote(s.id)))
		}
		if e != nil {
			return nil, e
		}
		ids[s.id] = true
		b.steps = append(b.steps, s)
	}
	return b, nil
}

func readStep(i int, v bridge.Value) (s step, e *bridge.Error) {
	where := fmt.Sprintf("steps/%d", i)
	if !v.IsObject() {
		return s, transport.Malformed(where + ": a step must be a JSON object.")
	}
	if e := known(v, where, "id", "action", "config", "request"); e != nil {
		return s, e
	}
	s = step{v.Get("id").String(), v.Get("action").String(), v.Get("config").Text(), v.Get("request")}
	switch action := v.Get("action"); {
	case s.id == "" || len(s.id) > maxStepID || strings.ContainsFunc(s.id, func(r rune) bool { return r <= ' ' || r > '~' }):
		return s, transport.Malformed(fmt.Sprintf("%s: id must be 1 to %d visible characters of ASCII.", where, maxStepID))
	case action.Exists() && !action.IsString():
		return s, transport.Malformed(where + ": action must be a string.")
	case !s.request.Exists():
		return s, transport.Malformed(where + ": request is missing: it must have the arguments, as a JSON object.")
	}
	return s, nil
}

// known refuses an object with other members than these.
func known(v bridge.Value, where string, names ...string) *bridge.Error {
	for name := range v.Members() {
		if !slices.Contains(names, name) {
			return transport.Malformed(fmt.Sprintf("%s has %s, which means nothing in a batch. It may have %s.", where,
				text.Quote(text.Brief(name, transport.MaxSession)), text.List(names, "and")))
		}
	}
	return nil
}

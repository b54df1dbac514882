package run

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/e2e/effects"
	"github.com/pagetools/pagetools/e2e/hosts"
	"github.com/pagetools/pagetools/e2e/scenario"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/transport"
)

// door is a way to the tools of one page, for one attempt. An error is trouble with the way, not
// of the tool.
type door interface {
	call(ctx context.Context, tool string, with json.RawMessage) (result, error)
	names(ctx context.Context) ([]string, error)
	close()
}

// stateName is the name of the caller's state through every door.
const stateName = "case"

// mostAsked bounds the questions of one call: a page that asks without end does not end the run.
const mostAsked = 20

// webtoolDoor speaks HTTP as agents do.
type webtoolDoor struct {
	base       string // of the webtool
	credential transport.Credential
	person     *person
	http       *http.Client
}

func (on *Stand) webtool(c transport.Credential, p *person) *webtoolDoor {
	return &webtoolDoor{base: on.base + "/webtools/" + on.site, credential: c, person: p,
		http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4}}}
}

func (d *webtoolDoor) close() { d.http.CloseIdleConnections() }

func (d *webtoolDoor) do(ctx context.Context, method, address string, body []byte) (schema.Value, error) {
	r, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return schema.Value{}, err
	}
	r.Header.Set("Authorization", "Bearer "+d.credential.Token)
	r.Header.Set("Content-Type", "application/json")
	reply, err := d.http.Do(r)
	if err != nil {
		return schema.Value{}, fmt.Errorf("calling the webtool: %w", err)
	}
	defer func() { _ = reply.Body.Close() }()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		return schema.Value{}, fmt.Errorf("reading the reply of the webtool: %w", err)
	}
	v, err := schema.Read(text, 0)
	if err != nil {
		return v, fmt.Errorf("the reply of the webtool is not JSON: %w", err)
	}
	return v, nil
}

func (d *webtoolDoor) names(ctx context.Context) ([]string, error) {
	address := d.base + "?" + url.Values{"sessionId": {stateName}}.Encode()
	document, err := d.do(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	if e := document.Get("error"); e.Exists() {
		return nil, fmt.Errorf("listing the tools: %s", errorText(e.Text()))
	}
	var names []string
	for action := range document.Get("actions").Elements() {
		names = append(names, action.Get("name").String())
	}
	return names, nil
}

func (d *webtoolDoor) call(ctx context.Context, tool string, with json.RawMessage) (result, error) {
	config := map[string]any{}
	for range mostAsked {
		reply, err := d.do(ctx, http.MethodPost, d.base, schema.MustEncode(map[string]any{
			"sessionId": stateName, "action": tool, "request": with, "config": config}))
		if err != nil {
			return result{}, err
		}
		if e := reply.Get("error"); !e.Exists() {
			return result{forms: []json.RawMessage{reply.Get("data").Text()}}, nil
		} else if stops := code(e.Text()); stops != bridge.InputRequired &&
			stops != bridge.ApprovalRequired {
			return result{err: e.Text()}, nil
		}
		details := reply.Get("error").Get("details")
		var q bridge.Question
		token := details.Get("resume").String()
		if token == "" || !details.Get("question").Exists() {
			return result{err: reply.Get("error").Text()}, nil
		}
		if err := json.Unmarshal(details.Get("question").Text(), &q); err != nil {
			return result{}, fmt.Errorf("reading a question of the webtool: %w", err)
		}
		config = d.answer(ctx, &q)
		config["resume"] = token
	}
	return result{}, fmt.Errorf("the call asked more than %d times", mostAsked)
}

// answer asks the person, and returns what the caller sends for that.
func (d *webtoolDoor) answer(ctx context.Context, q *bridge.Question) map[string]any {
	a, left := d.person.respond(ctx, q)
	switch {
	case !left:
	case silent(&a):
		d.person.outlast(ctx, q, a)
	case a.From != "" || a.Act == scenario.Twice:
		d.person.operate(q, a)
	default:
		said := answerTo(q, &a)
		answer := map[string]any{"question": q.ID, "ok": said.OK}
		if len(said.Value) > 0 {
			answer["value"] = said.Value
		}
		return map[string]any{"answer": answer}
	}
	return map[string]any{}
}

// hostDoor is a door as it is under a host: what the host would not have of the page at that
// moment is neither listed nor called.
type hostDoor struct {
	door
	t    *attempt
	host hosts.Host
}

// underHost lets the page meet the interface of the host, and calls end in its time.
func (r *runner) underHost(o *app.Options) {
	h := r.o.Host
	if h == nil {
		return
	}
	if s := h.Surface; s != nil {
		o.Sites[0].Page.Tab.Surface = &session.Surface{Objects: s.Objects,
			Methods: append([]string{}, s.Methods...), Frozen: s.Frozen}
	}
	if t := h.Limits.CallTime; t != nil {
		o.Limits.CallTimeout = min(o.Limits.WithDefaults().CallTimeout, t.Max)
		o.Sites[0].Tools.CallTimeout = o.Limits.CallTimeout
	}
}

// row returns what becomes of the page's tools in the host.
func (d *hostDoor) row(ctx context.Context) (hosts.Row, error) {
	page, err := effects.At(ctx, d.t.on.app, d.t.ref)
	if err != nil {
		return hosts.Row{}, err
	}
	row := hosts.Matrix(page.Tools, hosts.Facts(page), []hosts.Host{d.host}).Rows[0]
	for _, reason := range row.Reasons {
		d.t.on.runner.note("%s: %s.", d.host.Name, reason.Text)
	}
	return row, nil
}

func (d *hostDoor) names(ctx context.Context) ([]string, error) {
	row, err := d.row(ctx)
	if err != nil {
		return nil, err
	}
	names, err := d.door.names(ctx)
	return slices.DeleteFunc(names, func(name string) bool { return row.Lost(name) != "" }), err
}

// call calls what the host has. What it does not have is not found, with the host's reason.
func (d *hostDoor) call(ctx context.Context, tool string, with json.RawMessage) (result, error) {
	row, err := d.row(ctx)
	if err != nil {
		return result{}, err
	}
	if why := row.Lost(tool); why != "" {
		return result{err: schema.MustEncode(map[string]any{"code": bridge.WebtoolNotFound,
			"message": why, "outcome": bridge.NotRun})}, nil
	}
	r, err := d.door.call(ctx, tool, with)
	if err != nil {
		return r, err // there is no result
	}
	if l := d.host.Limits.Result; l != nil && l.Max > 0 && r.err == nil && len(r.forms[0]) > l.Max {
		d.t.person.complain("the result has %d bytes; %s takes %d", len(r.forms[0]), d.host.Name, l.Max)
	}
	return r, nil
}

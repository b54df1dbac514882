package scenario

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/schema"
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

func (on *opened) webtool(c transport.Credential, p *person) *webtoolDoor {
	return &webtoolDoor{base: on.base + "/webtools/" + on.site, credential: c, person: p,
		http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4}}}
}

func (d *webtoolDoor) close() { d.http.CloseIdleConnections() }

// do sends a request and returns the JSON of the reply.
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
	a := d.person.decide(ctx, q)
	switch {
	case a.silent():
		d.person.outlast(ctx, q, a)
	case a.From != "" || a.Act == Twice:
		d.person.operate(q, a)
	default:
		said := a.of(q)
		answer := map[string]any{"question": q.ID, "ok": said.OK}
		if len(said.Value) > 0 {
			answer["value"] = said.Value
		}
		return map[string]any{"answer": answer}
	}
	return map[string]any{}
}

package opentools

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

// level is the least consent that the site wants (O9, B3). What it says nothing of is for the user.
func (t *Tool) level() policy.Level {
	switch {
	case !t.Marked || t.Terms.Approval == Auto:
		return policy.Auto
	case t.Terms.BlanketApprovalAllowed && !t.destroys():
		return policy.Once
	}
	return policy.Ask
}

func (t *Tool) destroys() bool { return t.Terms.Destructive || t.Method == http.MethodDelete }

// costs are words for what a call costs, by the indicator of x-llm.
var costs = map[string]string{"": "", "free": "", "credits": "credits", "paid": "money"}

// cost says what a call costs; "" is nothing. What the site says in words of its own is not nothing
// (B4).
func (t *Tool) cost() string {
	if said, known := costs[t.Terms.Cost]; known {
		return said
	}
	return cmp.Or(text.Line(text.Short(t.Terms.Cost, maxShown)), "something")
}

// CostIndicator returns the costIndicator of x-llm for an operation's cost in words, or "".
func CostIndicator(o *bridge.Operation) string {
	switch o.Cost {
	case costs["free"]:
		return ""
	case costs["credits"]:
		return "credits"
	}
	return "paid"
}

// annotations are the hints of MCP for what the document says. That an operation needs no consent
// counts only where its method says that it changes nothing: the site may lie (B4).
func (t *Tool) annotations() json.RawMessage {
	hints := map[string]bool{"openWorldHint": true}
	safe := isSafe(t.Method)
	if t.Marked && safe && t.Terms.Approval == Auto && !t.Terms.Destructive {
		hints["readOnlyHint"] = true
	}
	if t.destroys() {
		hints["destructiveHint"] = true
	}
	if t.cost() != "" {
		hints["consequentialHint"] = true
	}
	if t.Terms.Untrusted {
		hints["untrustedContentHint"] = true
	}
	if safe || t.Method == http.MethodPut || t.Method == http.MethodDelete {
		hints["idempotentHint"] = true
	}
	return schema.MustEncode(hints)
}

// declaration is the tool as the gate of the bridge takes it.
func (t *Tool) declaration(origin string, server *url.URL, api string) bridge.Declaration {
	return bridge.Declaration{Origin: origin, Own: true, Name: t.Name, Title: t.Title, Description: t.described(),
		Input: t.Input, Output: t.Output, Annotations: t.annotations(),
		Operation: &bridge.Operation{Method: t.Method, URL: strings.TrimSuffix(server.String(), "/") + t.Path, API: text.Short(text.Line(api), 120),
			Cost: t.cost(), Level: t.level()}}
}

// described is never empty, because a model needs some words.
func (t *Tool) described() string {
	if t.Description != "" {
		return t.Description
	}
	return t.Method + " " + t.Path
}

// terms reads the terms of an operation; marked is true when it has x-llm.
func (d *Document) terms(o *operationObject) (x Operation, marked bool, err error) {
	x = Operation{Enabled: true, Approval: PerCall}
	if d.Root != nil {
		x.Approval = d.Root.DefaultApproval
	}
	if len(o.XLLM) == 0 {
		return x, false, nil
	}
	said := struct {
		Enabled     *bool
		Approval    *Approval
		Blanket     bool `json:"blanketApprovalAllowed"`
		Destructive bool
		Cost        string          `json:"costIndicator"`
		Limit       json.RawMessage `json:"rateLimit"` // it has two forms
		Hint        string
		Rendering   json.RawMessage
		Chaining    json.RawMessage
		Untrusted   bool `json:"x-untrusted-content"`
	}{Enabled: &x.Enabled, Approval: &x.Approval}
	wrong, err := take(o.XLLM, &said)
	if err != nil {
		return x, true, err
	}
	for _, w := range wrong {
		if !strings.HasPrefix(w, "hint ") && !strings.HasPrefix(w, "blanketApprovalAllowed ") {
			return x, true, errors.New(w) // what decides on consent is not guessed
		}
		o.wrong = append(o.wrong, "x-llm: "+w)
	}
	x = Operation{Enabled: *cmp.Or(said.Enabled, &x.Enabled), Approval: *cmp.Or(said.Approval, &x.Approval), BlanketApprovalAllowed: said.Blanket,
		Destructive: said.Destructive, Cost: said.Cost, Hint: said.Hint, Rendering: said.Rendering, Chaining: said.Chaining,
		Untrusted: said.Untrusted}
	if x.Approval != Auto && x.Approval != PerCall {
		return x, true, fmt.Errorf("approval %.20q is neither auto nor per-call", x.Approval)
	}
	x.RateLimit, err = readRate(said.Limit)
	return x, true, err
}

func readRate(text json.RawMessage) (*RateLimit, error) {
	if len(text) == 0 || string(text) == "null" {
		return nil, nil //nolint:nilnil // no limit is no error
	}
	var perMinute float64
	if json.Unmarshal(text, &perMinute) == nil {
		if perMinute <= 0 || perMinute > 1e6 {
			return nil, fmt.Errorf("rateLimit %s must be above 0", text)
		}
		if perMinute < 1 {
			return &RateLimit{1, fmt.Sprintf("%ds", int(60/perMinute))}, nil
		}
		return &RateLimit{int(perMinute), "1m"}, nil
	}
	var r RateLimit
	if err := json.Unmarshal(text, &r); err != nil || r.Max < 1 || r.Max > 1e6 || r.Per() == 0 {
		return nil, fmt.Errorf("rateLimit %.60s must be {max, window}, with a window such as 1m", text)
	}
	return &r, nil
}

package opentools

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/bridge/schema"
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

// cost says what a call costs; "" is nothing. What the site says in words of its own is not nothing (B4).
func (t *Tool) cost() string {
	if said, known := costs[t.Terms.Cost]; known {
		return said
	}
	return cmp.Or(bridge.OneLine(bridge.Clip(t.Terms.Cost, maxShown)), "something")
}

// CostIndicator is that of x-llm for what an operation costs in words; "" is none.
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
		Operation: &bridge.Operation{Method: t.Method, URL: strings.TrimSuffix(server.String(), "/") + t.Path, API: bridge.Clip(bridge.OneLine(api), 120),
			Cost: t.cost(), Level: t.level()}}
}

// described is never empty, because a model needs some words.
func (t *Tool) described() string {
	if t.Description != "" {
		return t.Description
	}
	return t.Method + " " + t.Path
}

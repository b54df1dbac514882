package bridge_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/schema"
)

// TestSecretsAreMasked (U1): whoever reads a question does not read the arguments that the tool
// marks as secret, at any depth; the page gets them.
func TestSecretsAreMasked(t *testing.T) {
	const password = `{"type":"string","format":"password"}`
	for _, x := range []struct{ properties, input, shown, secrets string }{
		{`"user":{"type":"string"},"pw":` + password, `{"user":"ann","pw":"baker"}`, `{"user":"ann","pw":"***"}`, "/pw"},
		{`"pin":{"type":"integer","writeOnly":true}`, `{"pin":1234}`, `{"pin":"***"}`, "/pin"},
		{`"login":{"type":"object","properties":{"pw":` + password + `}}`, `{"login":{"pw":"baker","a":1}}`, `{"login":{"pw":"***","a":1}}`, "/login/pw"},
		{`"all":{"type":"array","items":` + password + `}`, `{"all":["one","two"]}`, `{"all":["***","***"]}`, "/all/0 /all/1"},
		{`"a~/b":` + password, `{"a~/b":"x"}`, `{"a~/b":"***"}`, "/a~0~1b"},
		{`"a":{"anyOf":[{"type":"integer"},` + password + `]}`, `{"a":"x"}`, `{"a":"***"}`, "/a"},
		{`"a":{"type":"string"}`, `{"a":"baker"}`, `{"a":"baker"}`, ""},
	} {
		tool := bridgetest.Asking("log-in", `{"type":"object","properties":{`+x.properties+`}}`)
		r := bridgetest.NewRouter().Add("shop", tool)
		b := open(t, r, bridge.SiteOptions{})
		asked := b.Start(t.Context(), &bridge.Call{Site: "shop", Tool: "log-in", Caller: bridge.Local(), Input: bridgetest.JSON(x.input)})
		q, end := asked.Next(t.Context())
		if q == nil {
			t.Fatalf("%s: nobody is asked: %v", x.input, end.Err)
		}
		whole, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		if string(q.Input) != x.shown || strings.Join(q.Secrets, " ") != x.secrets || x.secrets != "" && strings.Contains(string(whole), "baker") {
			t.Errorf("%s: %s", x.input, whole)
		}
		if e := asked.Elicited(q.ID, bridge.Answer{OK: true}, bridge.Local()); e != nil {
			t.Fatal(e)
		}
		if _, end = asked.Next(t.Context()); end.Err != nil {
			t.Fatal(end.Err)
		}
		calls := r.Calls()
		if last := calls[len(calls)-1]; last.Input != x.input {
			t.Errorf("%s: the page got %s", x.input, last.Input)
		}
	}
}

// TestSecretsInWhatPagesSay (U1): nor does anybody read them where the page repeats them in its
// question, in whatever form; what else it says stays.
func TestSecretsInWhatPagesSay(t *testing.T) {
	c, findings := bridge.NewCatalog(nil, []bridge.Declaration{{Name: "log-in", Description: "Logs in.", Input: json.RawMessage(
		`{"type":"object","properties":{"user":{"type":"string"},"pw":{"type":"string","format":"password"},"card":{"type":"number","writeOnly":true}}}`)}}, bridge.Limits{})
	tool := c.Tool("log-in")
	if tool == nil {
		t.Fatal(findings)
	}
	asked := bridge.Invocation{Tool: tool, Input: json.RawMessage(`{"user":"ann","pw":"bak&er","card":4111111111111111}`)}
	for _, x := range []struct{ detail, schema, shown string }{
		{"Log in as ann with bak&er?", "", `"Log in as ann with ***?"`},
		{"Send /in?pw=bak%26er to ann?", "", `"Send /in?pw=*** to ann?"`},
		{"Show <b>bak&amp;er</b>?", "", `"Show <b>***</b>?"`},
		{"Authorization: Basic YW5uOmJhayZlcg==", "", `"Authorization: Basic YW5uOm***g=="`},
		{"Pay with 4111 1111 1111 1111?", "", `"Pay with ***?"`},
		{"Pay with 4111-1111-1111-1111?", "", `"Pay with ***?"`},
		{`{"pw":"bak\u0026er"}`, "", `"{\"pw\":\"***\"}"`},
		{"Which password?", `{"type":"string","default":"bak&er"}`, `"Which password?" {"type":"string"}`},
		{"Which password?", `{"type":"string","title":"not bak&er","default":"x"}`, `"Which password?"`},
		{"Which name?", `{"type":"string","default":"ann"}`, `"Which name?" {"type":"string","default":"ann"}`},
		{"Nothing of bakers, 4111 times", "", `"Nothing of bakers, 4111 times"`},
	} {
		q := asked.Complete(bridge.Question{Kind: bridge.Confirm, Detail: x.detail, Schema: json.RawMessage(x.schema),
			Page: &bridge.ConfiguredPage{URL: "https://shop.example/?pw=bak%26er", Title: "bak&er"}})
		if got := strings.TrimSpace(string(schema.MustEncode(q.Detail)) + " " + string(q.Schema)); got != x.shown {
			t.Errorf("%s %s: %s, want %s", x.detail, x.schema, got, x.shown)
		}
		if q.Page.URL != "https://shop.example/?pw=***" || q.Page.Title != "***" {
			t.Errorf("the page is %+v", q.Page)
		}
	}
}

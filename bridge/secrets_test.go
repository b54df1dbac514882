package bridge_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
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

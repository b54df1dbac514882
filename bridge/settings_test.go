package bridge_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/schema"
)

func TestConfigIsChecked(t *testing.T) {
	b := open(t, bridgetest.NewRouter().Add("shop", bridgetest.Tool("a", "")), bridge.SiteOptions{})
	for _, config := range []string{
		`{"timeout":300001}`, `{"timeout":0}`, `{"timeout":"1s"}`, `{"wait":-1}`, `{"output":"html"}`, `{"maxOutputBytes":0}`,
		`{"approval":"yes"}`, `{"tiemout":5}`, `{"units":"metric"}`, `{"viewport":{"width":1}}`, `[]`, `1`, `{"resume":""}`,
	} {
		_, e := do(t, b, "a", `{}`, config)
		want(t, e, bridge.ConfigError, "", bridge.NotRun)
	}
	_, e := do(t, b, "a", `{}`, `{"units":"metric","tiemout":5}`)
	if !strings.Contains(e.Message, `"tiemout" is unknown, did you mean timeout?`) || !strings.Contains(e.Message, `"units" is unknown, it may have`) {
		t.Errorf("the message does not name the keys: %s", e.Message)
	}
	for _, config := range []string{`{}`, `{"timeout":300000}`, `{"timeout":1}`, `{"timeout":null}`, `{"wait":0}`, `{"output":"raw"}`, `{"maxOutputBytes":1048576}`} {
		if _, e := do(t, b, "a", `{}`, config); e != nil {
			t.Errorf("%s: %v", config, e)
		}
	}
}

func TestResumeAndAnswer(t *testing.T) {
	b := open(t, bridgetest.NewRouter().Add("shop", bridgetest.Tool("a", "")), bridge.SiteOptions{})
	_, e := do(t, b, "a", `{}`, `{"resume":"token"}`)
	want(t, e, bridge.ResumeNotFound, "", bridge.NotRun)
	_, e = do(t, b, "a", `{}`, `{"resume":"token","answer":{"question":"q","ok":true}}`)
	want(t, e, bridge.Forbidden, "", bridge.NotRun)
	may := bridge.Caller{Name: "person", May: []bridge.Right{bridge.MayCall, bridge.MayAnswer}}
	for config, code := range map[string]bridge.Code{
		`{"answer":{"question":"q","ok":true}}`:                  bridge.ConfigError,
		`{"resume":"token","answer":{"question":"q","ok":true}}`: bridge.ResumeNotFound,
		`{"resume":"token","answer":{"ok":true}}`:                bridge.ConfigError,
	} {
		_, e := run(t, b, &bridge.Call{Site: "shop", Tool: "a", Caller: may, Input: bridgetest.JSON(`{}`), Config: json.RawMessage(config)})
		want(t, e, code, "", bridge.NotRun)
	}
}

func TestParameterDefaults(t *testing.T) {
	openSchema := `{"type":"object","properties":{"location":{"type":"string"}}}`
	r := bridgetest.NewRouter().Add("shop",
		bridgetest.Tool("declared", `{"type":"object","properties":{"units":{"type":"string"}},"additionalProperties":false}`),
		bridgetest.Tool("open", openSchema), bridgetest.Tool("closed", `{"type":"object","properties":{},"additionalProperties":false}`))
	b := open(t, r, bridge.SiteOptions{Params: map[string]json.RawMessage{
		"units": json.RawMessage(`{"enum":["metric","imperial"]}`), "lang": json.RawMessage(`{"type":"string","default":"en"}`)}})
	for _, c := range []struct{ tool, input, config, want string }{
		{"declared", `{}`, `{"units":"metric"}`, `{"units":"metric"}`},
		{"declared", `{"units":"imperial"}`, `{"units":"metric"}`, `{"units":"imperial"}`},
		{"open", `{}`, `{"units":"metric"}`, `{"lang":"en","units":"metric"}`},
		{"open", `{}`, ``, `{"lang":"en"}`},
		{"open", `{}`, `{"lang":null}`, `{}`},
		{"closed", `{}`, `{"units":"metric"}`, `{}`},
	} {
		res, e := do(t, b, c.tool, c.input, c.config)
		if e != nil || string(res) != c.want {
			t.Errorf("%s %s %s: got %v, %v, want %s", c.tool, c.input, c.config, res, e, c.want)
		}
	}
	_, e := do(t, b, "open", `{}`, `{"units":"kelvin"}`)
	want(t, e, bridge.ConfigError, "", bridge.NotRun)
}

func TestDefaultConfigFitsItsSchema(t *testing.T) {
	b := open(t, bridgetest.NewRouter().Add("shop", bridgetest.Tool("a", "")), bridge.SiteOptions{
		Params: map[string]json.RawMessage{"lang": json.RawMessage(`{"type":"string","default":"en"}`)}})
	d, err := b.Webtool(context.Background(), bridge.Ref{Site: "shop", Caller: bridge.Local()}, "", "")
	if err != nil {
		t.Fatal(err)
	}
	s, err := schema.Compile(d.ConfigSchema, schema.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(d.DefaultConfig); err != nil {
		t.Errorf("%s: %v", d.DefaultConfig, err)
	}
	// A client of the older dialect echoes it back with every call.
	if _, e := do(t, b, "a", `{}`, string(d.DefaultConfig)); e != nil {
		t.Error(e)
	}
}

func TestAnOperatorsMistakeIsAnError(t *testing.T) {
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("a", ""))
	for _, params := range []string{`{"type":"strin"}`, `{"type":"string","default":1}`} {
		_, err := bridge.New(r, bridge.Options{Sites: map[string]bridge.SiteOptions{"shop": {Params: map[string]json.RawMessage{"p": json.RawMessage(params)}}}})
		if err == nil {
			t.Errorf("%s was accepted", params)
		}
	}
	if _, err := bridge.New(r, bridge.Options{Sites: map[string]bridge.SiteOptions{"shop": {Params: map[string]json.RawMessage{"timeout": json.RawMessage(`{}`)}}}}); err == nil {
		t.Error("a parameter took the place of a key of ours")
	}
}

// TestARepeatedActionIsDropped: a client of the first published guide repeats the action's name
// among the arguments.
func TestARepeatedActionIsDropped(t *testing.T) {
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("go", `{"type":"object","properties":{},"additionalProperties":false}`),
		bridgetest.Tool("act", `{"type":"object","properties":{"action":{"type":"string"}}}`))
	b := open(t, r, bridge.SiteOptions{})
	if res, e := do(t, b, "go", `{"action":"go"}`, ""); e != nil || string(res) != `{}` {
		t.Errorf("got %v, %v", res, e)
	}
	_, e := do(t, b, "go", `{"action":"other"}`, "")
	want(t, e, bridge.SchemaError, "", bridge.NotRun)
	if res, e := do(t, b, "act", `{"action":"act"}`, ""); e != nil || string(res) != `{"action":"act"}` {
		t.Errorf("a tool's own parameter was dropped: %v, %v", res, e)
	}
}

// TestPageConfig (A10): what the operator allows goes to the page, and nothing else.
func TestPageConfig(t *testing.T) {
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("read", ""))
	b := open(t, r, bridge.SiteOptions{AllowConfig: []string{"locale", "headers", "path"}})
	for config, page := range map[string]string{
		"":                "",
		`{"timeout":100}`: "",
		`{"locale":"de"}`: `{"locale":"de"}`,
		`{"locale":null}`: "",
		`{"timeout":100,"path":"/x?y=z","locale":"de","headers":{"X":"y"}}`: `{"headers":{"X":"y"},"locale":"de","path":"/x?y=z"}`,
	} {
		if _, e := do(t, b, "read", `{}`, config); e != nil {
			t.Errorf("%s: %v", config, e)
			continue
		}
		calls := r.Calls()
		if got := calls[len(calls)-1].Ref.Page; got != page {
			t.Errorf("%s: the page gets %s, want %s", config, got, page)
		}
	}
	for _, config := range []string{`{"cookies":[]}`, `{"bearer":"x"}`, `{"locale":1}`, `{"headers":{"X":1}}`, `{"path":"//evil.example"}`, `{"path":"https://evil.example"}`, `{"path":"/\\evil.example"}`} {
		_, e := do(t, b, "read", `{}`, config)
		want(t, e, bridge.ConfigError, "", bridge.NotRun)
	}
	d, e := described(t, b, "", "")
	if e != nil || !strings.Contains(string(d.ConfigSchema), `"writeOnly":true`) || strings.Contains(string(d.ConfigSchema), "bearer") {
		t.Errorf("%s, %v", d.ConfigSchema, e)
	}
	if _, err := bridge.New(r, bridge.Options{Sites: map[string]bridge.SiteOptions{"shop": {AllowConfig: []string{"proxy"}}}}); err == nil {
		t.Error("a key that there is not is allowed")
	}
}

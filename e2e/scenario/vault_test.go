package scenario_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/e2e/scenario"
)

// toolOf admits a tool with these schemas.
func toolOf(t *testing.T, input, output string) *bridge.Tool {
	t.Helper()
	c, findings := bridge.NewCatalog(nil, []bridge.Declaration{{Name: "log-in", Description: "Logs in.",
		Input: json.RawMessage(input), Output: json.RawMessage(output)}}, bridge.Limits{})
	if c.Tool("log-in") == nil {
		t.Fatalf("%v", findings)
	}
	return c.Tool("log-in")
}

// TestRecordedSecrets holds S2: what a schema marks is not in the file. A reference to the
// environment stands for it where it is sent, also again, and a matcher where a result repeats it.
func TestRecordedSecrets(t *testing.T) {
	t.Parallel()
	login := toolOf(t, `{"type":"object","properties":{"user":{"type":"string"},"password":{"type":"string","format":"password"},"code":{"type":"integer","writeOnly":true},
		"keys":{"type":"array","items":{"type":"object","properties":{"pin":{"type":"string","writeOnly":true}}}}}}`,
		`{"type":"object","properties":{"session":{"type":"string","writeOnly":true}}}`)
	var r scenario.Recorder
	observe := func(input, data string, e *bridge.Error) {
		end := bridge.Step{Err: e}
		if e == nil {
			end.Data = json.RawMessage(data)
		}
		call := &bridge.Call{ID: "1", Session: "s", Caller: bridge.Local(), Tool: "log-in"}
		var err error
		if call.Input, err = bridge.ReadValue("The input", []byte(input)); err != nil {
			t.Fatal(err)
		}
		r.Observe(bridge.Observed{Call: call, Tool: login, End: end})
	}
	observe(`{"user":"anna","password":"hunter2 \"${x}\"","code":8642,"keys":[{"pin":"90210"},{"pin":"31337"},{"pin":"7"}]}`,
		`{"said":"your password is hunter2 \"${x}\"!","session":"s-4711","pin":"90210","hunter2 \"${x}\"":1,"total":3,"accessToken":"eyJ-not-marked"}`, nil)
	observe(`{"user":"31337 is my pin","password":"other-secret"}`, `{"ok":true}`, nil)
	observe(`{"user":"bob","password":"gr\u00fc\u00df&gott"}`, `{"link":"/in?key=gr%C3%BC%C3%9F%26gott","html":"<b>gr\u00fc\u00df&amp;gott</b>","basic":"Basic Ym9iOmdyw7zDnyZnb3R0",
		"hex":"6772c3bcc39f26676f7474","code":"8,642","ascii":"{\"a\":\"gr\\\\u00fc\\\\u00df&gott\"}","twice":"gr%25C3%25BC%25C3%259F%2526gott","deep":[{"gr%C3%BC%C3%9F%26gott":2}]}`, nil)
	observe(`{"user":"Ym9iOmdyw7zDnyZnb3R0"}`, `{"ok":true}`, nil)
	observe(`{"user":"bob"}`, "", bridge.Errorf(bridge.ToolError, "", bridge.Failed, "%s", "No other-secret here"))
	recording, _ := r.Recording("a")
	recording.URL = "https://shop.example/"
	text, err := recording.Text()
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"hunter2", "90210", "31337", "other-secret", "s-4711", "eyJ-not-marked", "8642",
		"gott", "yw7zDnyZnb3R0", "c3bcc39f26676f", "8,642"} {
		if strings.Contains(string(text), secret) {
			t.Errorf("%s is in the file", secret)
		}
	}
	for _, want := range []string{"anna", "total: 3", "${env.LOG_IN_PASSWORD}", "${env.LOG_IN_PASSWORD_2}", "${env.LOG_IN_PIN}",
		"${env.LOG_IN_PIN_2} is my pin", "# Set these variables of the environment before it runs: LOG_IN_CODE, LOG_IN_PASSWORD, LOG_IN_PASSWORD_2, LOG_IN_PASSWORD_3, LOG_IN_PIN, LOG_IN_PIN_2, LOG_IN_PIN_3, LOG_IN_TEXT",
		"user: '${env.LOG_IN_TEXT}'"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is not in the file", want)
		}
	}
	if strings.Contains(string(text), `"7"`) || strings.Contains(string(text), `'7'`) { // it is too short to be looked for
		t.Error("a short one is in the file")
	}
	f, err := scenario.Read("x", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	sent, err := (&scenario.Scope{Env: recording.Variable}).Expand(f.Cases[0].Steps[0].With)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := sent.JSON(); err != nil || !strings.Contains(string(got), `"hunter2 \"${x}\""`) || !strings.Contains(string(got), `"90210"`) {
		t.Errorf("it sends %s, %v", got, err)
	}
	if t.Failed() {
		t.Logf("%s", text)
	}
}

package scenario_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/e2e/scenario"
)

// TestRecordingTexts: texts of strangers stay data in the file; a recording without calls is none.
func TestRecordingTexts(t *testing.T) {
	t.Parallel()
	if _, err := (&scenario.Recording{Dir: "."}).Text(); err == nil || !strings.Contains(err.Error(), "no tool was called") {
		t.Errorf("of nothing: %v", err)
	}
	hostile := "# x\n- ${env.HOME} \x1b[31m\u202e{$any: true}"
	result, err := json.Marshal(map[string]any{hostile: hostile, "$any": []string{"$any"}})
	if err != nil {
		t.Fatal(err)
	}
	text, err := (&scenario.Recording{URL: "http://127.0.0.1/?${env.HOME}", Cases: []*scenario.RecordedCase{{
		Name: "a case # {x}: ${env.HOME}", Human: []scenario.RecordedAnswer{{Kind: bridge.Confirm, Tool: "a", Message: hostile, OK: true}},
		Calls: []*scenario.RecordedCall{{Tool: "a", With: result, Result: result}}}}}).Text()
	if err != nil {
		t.Fatal(err)
	}
	f, err := scenario.Read("x", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if bytes.ContainsAny(text, "\x1b\u202e") {
		t.Errorf("it has raw control characters:\n%q", text)
	}
	step := f.Cases[0].Steps[0]
	if m := scenario.Match(step.Expect, result); m != nil {
		t.Errorf("its own result does not match: %+v\n%s", m, text)
	}
	if m := scenario.Match(step.Expect, []byte(`{"$any":["x"]}`)); m == nil {
		t.Error("the control: something else matches")
	}
	if with, err := (&scenario.Scope{}).Expand(step.With); err != nil {
		t.Error(err)
	} else if sent, err := with.JSON(); err != nil || !strings.Contains(string(sent), "${env.HOME}") {
		t.Errorf("it sends %s, %v", sent, err)
	}
}

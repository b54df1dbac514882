package bridge_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
)

func TestReadValue(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"a":[1,"é"]}`: "", "\n[ 1 ]\n": "", strings.Repeat("[", 201) + strings.Repeat("]", 201): "",
		``: "x must be JSON: it is empty", `{"a":1,"a":2}`: "x must be JSON: the same member name twice, at /a", `{}{}`: "x must be JSON: something follows the value, at byte 2",
		`{a:1}`: "x must be JSON: not valid JSON, at byte 1", `{"a":`: "x must be JSON: it ends too early, at /a", `{`: "x must be JSON: it ends too early",
		strings.Repeat("[", 202) + strings.Repeat("]", 202): "x must be JSON: nested more than 201 levels deep, at " + strings.Repeat("/0", 30) + "/…",
	} {
		v, err := bridge.ReadValue("x", json.RawMessage(text))
		if want == "" && string(v.Text()) != strings.TrimSpace(text) {
			t.Errorf("%q became %q", text, v.Text())
		}
		if want == "" && err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if want != "" && (err == nil || bridge.AsError(err).Message != want || bridge.AsError(err).Code != bridge.SchemaError) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

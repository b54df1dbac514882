package opentools_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge/opentools"
	"github.com/pagetools/pagetools/bridge/schema"
)

// compiled is one of the schemas that are published.
func compiled(t *testing.T, name string) *schema.Schema {
	t.Helper()
	var all map[string]json.RawMessage
	if err := json.Unmarshal(opentools.Schema, &all); err != nil {
		t.Fatal(err)
	}
	s, err := schema.Compile([]byte(`{"$ref":"#/$defs/`+name+`","$defs":`+string(all["$defs"])+`}`), schema.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSchema (O3, O4, O7, O18): what is written fits the schema that is published, which refuses
// what is wrong.
func TestSchema(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]any{
		"root": opentools.Root{Version: opentools.Version, Name: "shop", DefaultApproval: opentools.PerCall},
		"operation": opentools.Operation{Enabled: true, Approval: opentools.Auto, Hint: "Use it.",
			RateLimit: &opentools.RateLimit{Max: 30, Window: opentools.Window(time.Minute)}},
		"discovery": opentools.Discovery{OpenAPI: "/openapi.json", Auth: "none"},
	} {
		if err := compiled(t, name).Validate(schema.MustEncode(v)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, x := range [][2]string{ // every member, in each of its forms
		{"root", `{"version":"0.1","name":"RecipeApp","description":"Recipes.","defaultApproval":"per-call","x-more":1}`},
		{"operation", `{}`},
		{"operation", `{"enabled":true,"approval":"auto","rateLimit":{"max":30,"window":"1m"},"hint":"To find recipes."}`},
		{"operation", `{"approval":"per-call","blanketApprovalAllowed":false,"destructive":true,"rateLimit":0.5,"costIndicator":"credits"}`},
		{"operation", `{"rendering":{"as":"card","dataPath":"/items","columns":["name"]},"chaining":[{"operationId":"save","when":"after","params":{"id":"$response.body#/id"}}]}`},
		{"discovery", `{"openapi":"/openapi.json","auth":"oauth2"}`},
		{"discovery", `{"openapi":"https://api.example/openapi.json","auth":{"type":"oauth2"}}`},
		{"discovery", `{"openapi":"openapi.json"}`},
	} {
		if err := compiled(t, x[0]).Validate([]byte(x[1])); err != nil {
			t.Errorf("%s does not take %s: %v", x[0], x[1], err)
		}
	}
	for _, x := range [][2]string{
		{"root", `{"version":"one","name":"shop"}`},
		{"root", `{"version":"0.1"}`},
		{"root", `{"version":"0.1","name":"shop","defaultApproval":"always"}`},
		{"operation", `{"approval":"never"}`},
		{"operation", `{"enabled":"yes"}`},
		{"operation", `{"rateLimit":{"max":1,"window":"1 minute"}}`},
		{"operation", `{"rateLimit":0}`},
		{"operation", `{"costIndicator":"cheap"}`},
		{"operation", `{"rendering":{"as":"video"}}`},
		{"operation", `{"chaining":[{"when":"after"}]}`},
		{"discovery", `{"auth":"none"}`},
		{"discovery", `{"openapi":"/openapi.json","auth":"magic"}`},
	} {
		if compiled(t, x[0]).Validate([]byte(x[1])) == nil {
			t.Errorf("%s takes %s", x[0], x[1])
		}
	}
}

// TestWindow (B6): a window is a whole number with its unit.
func TestWindow(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		time.Minute: "1m", 90 * time.Second: "90s", 2 * time.Hour: "2h", 48 * time.Hour: "2d", 1500 * time.Millisecond: "1500ms",
		time.Microsecond: "1ms", 0: "1ms", 1500 * time.Microsecond: "2ms",
	} {
		if got := opentools.Window(d); got != want || strings.TrimLeft(got, "0123456789") == got {
			t.Errorf("%s is %s, want %s", d, got, want)
		}
	}
}

package bridge_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
)

//go:generate go test . -count=1 -run TestConfigTable -update

const (
	agentPage  = "../docs/agent.md"
	tableBegin = "<!-- From here on made by go generate from bridge. -->\n"
	tableEnd   = "<!-- Until here. -->\n"
)

// configKey is a member of configSchema.
type configKey struct {
	Type        string                     `json:"type"`
	Description string                     `json:"description"`
	Enum        []string                   `json:"enum"`
	Properties  map[string]json.RawMessage `json:"properties"`
}

// value says what a key takes.
func (k configKey) value() string {
	switch {
	case len(k.Enum) > 0:
		return "`" + strings.Join(k.Enum, "`, `") + "`"
	case k.Type == "object" && len(k.Properties) > 0:
		return "an object: `" + strings.Join(slices.Sorted(maps.Keys(k.Properties)), "`, `") + "`"
	}
	return map[string]string{"integer": "a number", "string": "a text", "array": "a list", "object": "an object of texts"}[k.Type]
}

// TestConfigTable (U7): the keys of config are in one table of the documentation, made from what
// the bridge takes.
func TestConfigTable(t *testing.T) {
	b := open(t, bridgetest.NewRouter().Add("shop", bridgetest.Tool("a", "")), bridge.SiteOptions{AllowConfig: bridge.PageKeys()})
	d, err := b.Webtool(t.Context(), bridge.Ref{Site: "shop", Caller: bridge.Local()}, "", "")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Config  struct{ Properties map[string]configKey } `json:"configSchema"`
		Default map[string]any                            `json:"defaultConfig"`
	}
	if err := json.Unmarshal(text, &doc); err != nil || len(doc.Config.Properties) < len(bridge.PageKeys()) {
		t.Fatalf("%v: %s", err, text)
	}
	names := slices.SortedFunc(maps.Keys(doc.Config.Properties), func(a, b string) int {
		return cmp.Or(cmp.Compare(ofPage(a), ofPage(b)), cmp.Compare(a, b))
	})
	table := "| key | value | by default | what |\n|---|---|---|---|\n"
	for _, name := range names {
		key, usual := doc.Config.Properties[name], ""
		if v, ok := doc.Default[name]; ok {
			usual = fmt.Sprintf("`%v`", v)
		}
		when := ""
		if ofPage(name) > 0 {
			when = " *"
		}
		table += fmt.Sprintf("| `%s`%s | %s | %s | %s |\n", name, when, key.value(), usual, key.Description)
	}
	old, err := os.ReadFile(agentPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(old), tableBegin)
	_, after, ended := strings.Cut(rest, tableEnd)
	if !found || !ended {
		t.Fatalf("%s has no place for the table", agentPage)
	}
	now := before + tableBegin + "\n" + table + "\n" + tableEnd + after
	if bridgetest.Update() {
		if err := os.WriteFile(agentPage, []byte(now), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if now != string(old) {
		t.Errorf("%s is not current: go generate ./bridge", agentPage)
	}
}

// ofPage is 1 for a key that the operator has to allow.
func ofPage(key string) int {
	if slices.Contains(bridge.PageKeys(), key) {
		return 1
	}
	return 0
}

package config

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/policy"
)

//go:generate go test . -count=1 -run TestReference -update

var update = flag.Bool("update", false, "write docs/configuration.md anew")

const page = "../../../../docs/configuration.md"

// TestReference (D10): the page of all settings is made from the structs and their tags.
// What is above its first table is written by hand.
func TestReference(t *testing.T) {
	t.Parallel()
	old, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	byHand, _, found := strings.Cut(string(old), begin)
	if !found {
		t.Fatalf("%s has no line %q", page, begin)
	}
	now := byHand + begin + reference()
	if *update {
		if err := os.WriteFile(page, []byte(now), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if now != string(old) {
		t.Errorf("%s is not current: go generate ./cmd/pagetools/internal/config", page)
	}
}

// TestEverySettingIsDescribed: `config schema` says of each key what it is.
func TestEverySettingIsDescribed(t *testing.T) {
	t.Parallel()
	n := 0
	var look func(path string, s object)
	look = func(path string, s object) {
		n++
		if s["description"] == nil && path != "" {
			t.Errorf("%s has no description", path)
		}
		for _, part := range []object{s, item(s), section(s)} {
			properties, _ := part["properties"].(object)
			for key, p := range properties {
				look(path+"."+key, p.(object))
			}
		}
	}
	look("", Schema())
	if n < 80 {
		t.Errorf("there are %d settings", n)
	}
}

func item(s object) object { i, _ := s["items"].(object); return i }

// section is the longer form of a setting that is a word, or a mapping.
func section(s object) object {
	forms, _ := s["anyOf"].([]any)
	for _, form := range forms {
		if o, _ := form.(object); o["properties"] != nil {
			return o
		}
	}
	return nil
}

const begin = "<!-- From here on made by go generate from cmd/pagetools/internal/config. -->\n"

// groups are the headings of the settings that are flags, in their order.
var groups = [][2]string{
	{"serving", "Serving"}, {"pages", "Pages"}, {"consent", "Consent and questions"},
	{"browser", "Browser"}, {"records", "Records"}, {"output", "Settings and output"},
}

// reference writes the tables.
func reference() string {
	var b strings.Builder
	settings := defaults()
	for _, g := range groups {
		fmt.Fprintf(&b, "\n## %s\n\n| flag | variable | takes | default | what it is |\n|---|---|---|---|---|\n", g[1])
		for _, f := range fieldsOf(reflect.ValueOf(&settings).Elem()) {
			if f.tag.Get("group") != g[0] {
				continue
			}
			name := "`--" + f.key + "`"
			if short := f.tag.Get("short"); short != "" {
				name += ", `-" + short + "`"
			}
			fmt.Fprintf(&b, "| %s | `%s` | %s | %s | %s |\n", name, EnvName(f.key), takes(f), standard(f), cell(f.tag.Get("help")))
		}
	}
	for _, s := range []struct {
		title, words string
		of           any
	}{
		{"sites", "A list. What a site leaves out is as the flags and variables have it.", &Site{}},
		{"sites: adapters", "A list of files, or of mappings with these keys; 8 at most.", &Adapter{}},
		{"sites: auth", "A mapping.", &Auth{}},
		{"sites: approval", "A word, or a mapping with these keys.", &Approval{}},
		{"sites: profiles", "A list.", &Profile{}},
		{"sites: wait-for", "A mapping with at least one of these keys.", &WaitFor{}},
		{"results", "A mapping, of the file for all sites, or of a site for itself alone: a site's own takes the place of the other as a whole.", &Results{}},
		{"results: redact", "A list. Each rule has one of these keys.", &Redaction{}},
		{"callers", "A list.", &Caller{}},
		{"browsers", "A list. Each has one of `url`, `ws`, `webdriver` and `command`.", &Browser{}},
		{"oauth", "A mapping.", &OAuth{}},
		{"oauth: built-in", "A mapping.", &BuiltIn{}},
		{"oauth: people", "A list.", &Person{}},
		{"oauth: issuers", "A list.", &Issuer{}},
		{"oauth: scope", "A mapping.", &OAuthScope{}},
		{"oauth: introspection", "A mapping.", &Introspection{}},
		{"oauth: grants", "A list.", &OAuthGrant{}},
		{"limits", "A mapping. `call-timeout` and `max-sessions` can be here, too.", &Limits{}},
	} {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| key | takes | default | what it is |\n|---|---|---|---|\n", s.title, s.words)
		for _, f := range fieldsOf(reflect.ValueOf(s.of).Elem()) {
			name := "`" + f.key + "`"
			if f.tag.Get("required") != "" {
				name += ", required"
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", name, takes(f), standard(f), cell(f.tag.Get("help")))
		}
	}
	return b.String()
}

// standard is the value of a setting that nobody set.
func standard(f field) string {
	text, _ := f.tag.Lookup("default")
	if most, ok := strings.CutPrefix(f.tag.Get("unnamed"), "most "); ok && text == "" && f.tag.Get("also") == "" {
		text = most // an unnamed file may lower the default
	}
	if text == "" && f.value.Kind() == reflect.Bool {
		text = "false"
	}
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

// types are the words for what settings take.
var types = map[reflect.Type]string{
	reflect.TypeFor[bool](): "true or false", reflect.TypeFor[int](): "a number", reflect.TypeFor[string](): "text",
	reflect.TypeFor[time.Duration](): "a duration", reflect.TypeFor[policy.Rate](): "a rate", reflect.TypeFor[bridge.Right](): "rights",
	reflect.TypeFor[Viewport](): "a size", reflect.TypeFor[Origin](): "an origin", reflect.TypeFor[PublicURL](): "an origin with https", reflect.TypeFor[Network](): "a network", reflect.TypeFor[Wait](): "`tool:NAME`, `selector:CSS` or `idle`", reflect.TypeFor[*int](): "a number",
	reflect.TypeFor[Approval](): "[a word or a mapping](#sites-approval)", reflect.TypeFor[WaitFor](): "[a mapping](#sites-wait-for)",
	reflect.TypeFor[Auth](): "[a mapping](#sites-auth)", reflect.TypeFor[[]Adapter](): "[a list](#sites-adapters)", reflect.TypeFor[[]Profile](): "[a list](#sites-profiles)", reflect.TypeFor[Rules](): "levels by pattern: `auto`, `ask-once`, `ask`, `never`",
	reflect.TypeFor[Rates](): "rates by pattern", reflect.TypeFor[Params](): "JSON Schemas by name", reflect.TypeFor[Idle](): "true, or a duration of up to 10s",
	reflect.TypeFor[[]Issuer](): "[a list](#oauth-issuers)", reflect.TypeFor[OAuthScope](): "[a mapping](#oauth-scope)", reflect.TypeFor[Introspection](): "[a mapping](#oauth-introspection)",
	reflect.TypeFor[BuiltIn](): "[a mapping](#oauth-built-in)", reflect.TypeFor[[]Person](): "[a list](#oauth-people)",
	reflect.TypeFor[[]OAuthGrant](): "[a list](#oauth-grants)", reflect.TypeFor[Patterns](): "patterns by name", reflect.TypeFor[Headers](): "texts by name", reflect.TypeFor[Results](): "[a mapping](#results)", reflect.TypeFor[[]Redaction](): "[a list](#results-redact)",
	reflect.TypeFor[*string](): "text", reflect.TypeFor[*bool](): "true or false", reflect.TypeFor[*regexp.Regexp](): "a regular expression", reflect.TypeFor[policy.Pointer](): "a JSON Pointer",
	reflect.TypeFor[[]PageKey](): "a list of `" + strings.Join(bridge.PageKeys(), "`, `") + "`",
}

// takes says what a setting takes.
func takes(f field) string {
	of := f.value.Type()
	if enum := f.tag.Get("enum"); enum != "" {
		words := "`" + strings.ReplaceAll(enum, ",", "`, `") + "`"
		if of.Kind() == reflect.Slice {
			words = "a list of " + words
		}
		return words
	}
	if words, ok := types[of]; ok {
		return words
	}
	if of.Kind() == reflect.Slice && types[of.Elem()] != "" {
		return "a list: " + types[of.Elem()]
	}
	panic(f.key + ": what does it take?") // for who adds a type
}

// cell is text in a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", "\\|") }

package check

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// wellMade is the tool of examples that are about something else.
const wellMade = goodTool

// example reads the example of a rule: a declaration, a list of them, or a part of a snapshot.
func example(t *testing.T, text string) (*Snapshot, Options) {
	t.Helper()
	var x struct {
		Page
		Pages    []Page
		API      *API
		Adapters []Script
		Locked   map[string]Tool
		Calls    []Call
		Hosts    string
	}
	text = durations(t, text)
	switch {
	case strings.HasPrefix(text, `[`):
		text = `{"tools":` + text + `}`
	case strings.HasPrefix(text, `{"name":`), strings.Contains(text, `"inputSchema"`) && !strings.Contains(text, `"tools"`) &&
		!strings.Contains(text, `"pages"`):
		text = `{"tools":[` + text + `]}`
	}
	if err := json.Unmarshal([]byte(text), &x); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if x.URL == "" {
		x.URL = "https://shop.example/"
	}
	if x.Tools == nil {
		x.Tools = []Tool{{}}
		if err := json.Unmarshal([]byte(wellMade), &x.Tools[0]); err != nil {
			t.Fatal(err)
		}
	}
	pages := x.Pages
	if pages == nil {
		pages = []Page{x.Page}
	}
	s := &Snapshot{Target: "shop", Pages: pages, API: x.API, Adapters: x.Adapters, Locked: x.Locked, Calls: x.Calls, Live: true}
	o := Options{}
	if x.Hosts != "" {
		o.Hosts = func(*Snapshot) []Finding { return []Finding{{Message: x.Hosts}} }
	}
	return s, o
}

// durations writes the times of an example as nanoseconds.
func durations(t *testing.T, text string) string {
	t.Helper()
	var tree any
	if err := json.Unmarshal([]byte(text), &tree); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	var convert func(any)
	convert = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, item := range v {
				convert(item)
			}
		case map[string]any:
			for key, held := range v {
				if word, ok := held.(string); ok && (key == "at" || key == "took") {
					d, err := time.ParseDuration(word)
					if err != nil {
						t.Fatal(err)
					}
					v[key] = int64(d)
				}
				convert(held)
			}
		}
	}
	convert(tree)
	if !strings.Contains(text, `"at":`) && !strings.Contains(text, `"took":`) {
		return text
	}
	b, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestExamples: each bad example has findings of its rule only, at its place, and each good one
// has none of any rule that is on by default, or of its own.
func TestExamples(t *testing.T) {
	t.Parallel()
	for _, rule := range Rules() {
		t.Run(rule.ID, func(t *testing.T) {
			t.Parallel()
			on := map[string]Setting{rule.ID: {Severity: rule.Severity}}
			s, o := example(t, rule.Bad)
			o.Rules = on
			bad, err := Judge(s, o)
			if err != nil {
				t.Fatal(err)
			}
			if len(bad) == 0 {
				t.Fatal("nothing was found in the bad example")
			}
			for _, f := range bad {
				if f.Rule == beside[rule.ID] {
					continue
				}
				if f.Rule != rule.ID || f.Where.Pointer != rule.At || f.Severity != rule.Severity || f.Where.Target != "shop" {
					t.Errorf("the bad example: %+v, want the pointer %q", f, rule.At)
				}
				checkFix(t, f, s)
			}
			s, o = example(t, rule.Good)
			o.Rules = on
			good, err := Judge(s, o)
			if err != nil || len(good) > 0 {
				t.Errorf("the good example: %+v, %v", good, err)
			}
		})
	}
}

// beside are rules that find something in the bad example of another one, too.
var beside = map[string]string{"register-unhandled": "tool-refused"}

// checkFix holds a correction to what it promises: the rule finds nothing in it any more.
func checkFix(t *testing.T, f Finding, s *Snapshot) {
	t.Helper()
	if f.Fix == "" {
		return
	}
	var fixed Tool
	if err := json.Unmarshal([]byte(f.Fix), &fixed); err != nil {
		t.Fatalf("the fix %s: %v", f.Fix, err)
	}
	found, err := Judge(&Snapshot{Pages: []Page{{URL: s.Pages[0].URL, Tools: []Tool{fixed}}}, Live: true}, Options{})
	if err != nil || len(found) > 0 {
		t.Errorf("the fix %s has findings: %+v, %v", f.Fix, found, err)
	}
}

// TestFixes: rules whose correction is certain have one.
func TestFixes(t *testing.T) {
	t.Parallel()
	want := []string{"annotations-literal", "exposed-to-origin-only", "member-misnamed", "required-unknown", "schema-bare-map", "schema-malformed-keyword",
		"schema-no-null-literals", "schema-shape", "schema-unknown-keyword", "tool-name-valid", "unicode-smuggling"}
	var have []string
	for _, rule := range Rules() {
		s, o := example(t, rule.Bad)
		o.Rules = map[string]Setting{rule.ID: {Severity: rule.Severity}}
		found, err := Judge(s, o)
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(found, func(f Finding) bool { return f.Fix != "" }) {
			have = append(have, rule.ID)
		}
	}
	slices.Sort(have)
	if !slices.Equal(have, want) {
		t.Errorf("rules with a fix: %q, want %q", have, want)
	}
}

// specified lists the ids of the specification, by family; "off" lists the rules off by
// default.
var specified = map[string]string{
	"declaration": "tool-name-valid tool-name-style tool-name-budget duplicate-tool-name tool-shadowing tool-title-missing description-missing " +
		"description-length description-vague description-when-to-use similar-descriptions member-misnamed naming-consistency too-many-tools list-budget tool-tokens",
	"page": "no-tools tool-refused http-status uncaught-error unhandled-rejection console-error script-missing content-security-policy network-refused " +
		"page-server wait-for-unmet otherwise-offered",
	"schema": "schema-shape schema-uncompilable schema-malformed-keyword schema-unknown-keyword schema-bare-map remote-ref schema-unsupported-keywords schema-no-null-literals schema-depth required-unknown " +
		"enum-empty param-type-missing param-description-missing param-description-length param-name-budget string-unconstrained sensitive-params " +
		"arbitrary-exec schema-description-drift output-schema-missing output-schema-invalid x-mcp-header-invalid",
	"trust": "annotations-explicit annotations-literal mutating-name-readonly read-named-not-readonly consequential-missing " +
		"navigation-consequential untrusted-hint-missing debugging-exposed capability-trifecta",
	"injection": "description-injection unicode-smuggling encoded-payload split-payload",
	"exposure":  "exposed-to-secure-origins exposed-to-origin-only exposed-to-wildcard iframe-allow-tools third-party-registration insecure-origin",
	"forms": "declarative-name declarative-description declarative-field-name declarative-field-description declarative-autosubmit-sensitive " +
		"form-schema-mismatch form-coverage",
	"lifecycle": "registers-late churn register-unhandled deprecated-surface cross-page-drift unstable-version contract-changed",
	"smoke": "throws-on-valid accepts-invalid result-missing result-not-serialisable result-too-large slow output-schema-mismatch " +
		"suspicious-result non-deterministic cancel-ignored dialog-blocks interaction-without-agent",
	"effects":  "effect-readonly effect-undeclared not-idempotent confirmation-mismatch egress-outside-policy",
	"reach":    "host-off",
	"adapters": "adapter-error adapter-key-unknown adapter-eval adapter-foreign-address adapter-annotations adapter-too-many-tools",
	"opentools": "api-unreadable api-unmarked api-operation-unusable api-ref-unusable api-oversize api-operation-id-missing api-operation-id-duplicate " +
		"api-text-missing api-auto-changes api-auto-no-blanket api-blanket-destructive api-rate-limit api-security-undefined api-auth-disagrees " +
		"api-server-elsewhere api-xllm-unknown api-xllm-version",
}

const (
	specifiedOff    = " tool-name-style description-when-to-use string-unconstrained output-schema-missing annotations-explicit non-deterministic "
	specifiedErrors = " no-tools tool-refused http-status tool-name-valid member-misnamed duplicate-tool-name tool-shadowing description-missing schema-shape schema-uncompilable " +
		"schema-malformed-keyword schema-bare-map remote-ref " +
		"schema-no-null-literals required-unknown enum-empty arbitrary-exec output-schema-invalid x-mcp-header-invalid annotations-literal " +
		"mutating-name-readonly description-injection unicode-smuggling exposed-to-secure-origins declarative-name declarative-description " +
		"declarative-autosubmit-sensitive form-schema-mismatch contract-changed throws-on-valid " +
		"result-not-serialisable output-schema-mismatch effect-readonly confirmation-mismatch host-off " +
		"api-unreadable api-operation-unusable api-operation-id-duplicate api-blanket-destructive api-rate-limit api-security-undefined api-xllm-version adapter-error adapter-eval "
	specifiedInfo = " tool-title-missing description-when-to-use string-unconstrained output-schema-missing form-coverage non-deterministic api-unmarked page-server "
)

func TestRulesAreComplete(t *testing.T) {
	t.Parallel()
	have := map[string][]string{}
	for _, r := range Rules() {
		have[r.Family] = append(have[r.Family], r.ID)
		in := func(list string) bool { return strings.Contains(list, " "+r.ID+" ") }
		want := Warning
		switch {
		case in(specifiedErrors):
			want = Error
		case in(specifiedInfo):
			want = Info
		}
		if r.Severity != want || r.Off != in(specifiedOff) {
			t.Errorf("%s is %s, off %v", r.ID, r.Severity, r.Off)
		}
		for name, text := range map[string]string{"What": r.What, "Why": r.Why, "Source": r.Source, "Bad": r.Bad, "Good": r.Good} {
			if text == "" {
				t.Errorf("%s has no %s", r.ID, name)
			}
		}
		for _, o := range r.Options {
			if o.Name == "" || o.What == "" {
				t.Errorf("%s has an option without words: %+v", r.ID, o)
			}
		}
		for _, sentence := range []string{r.What, r.Why} {
			if !strings.HasSuffix(sentence, ".") {
				t.Errorf("%s: %q is not a sentence", r.ID, sentence)
			}
		}
	}
	for _, family := range slices.Sorted(maps.Keys(specified)) {
		want := strings.Fields(specified[family])
		slices.Sort(want)
		slices.Sort(have[family])
		if !slices.Equal(have[family], want) {
			t.Errorf("%s: have %q, want %q", family, have[family], want)
		}
	}
}

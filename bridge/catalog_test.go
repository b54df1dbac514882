package bridge_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/schema"
)

func TestMain(m *testing.M) { exit(bridgetest.Main(m, stderr)) }

// admit runs the gate on declarations and returns the names that it admitted.
func admit(l bridge.Limits, decls ...bridge.Declaration) (*bridge.Catalog, []bridge.Finding, string) {
	c, findings := bridge.NewCatalog(nil, decls, l)
	var names []string
	for _, t := range c.Tools() {
		names = append(names, t.Name())
	}
	return c, findings, strings.Join(names, " ")
}

// TestAdmission is one row for each reason to refuse a tool, with what is just
// within the limit as its positive control. A good tool beside the bad one is
// admitted always.
func TestAdmission(t *testing.T) {
	limits := bridge.Limits{ForbidParams: []string{"password", "*card*"}, Description: 100, Schema: schema.Limits{Bytes: 400, Depth: 4, Subschemas: 6, Expansions: 20, Pattern: 10}}
	with := func(change func(*bridge.Declaration)) bridge.Declaration {
		d := bridgetest.Tool("it", "")
		change(&d)
		return d
	}
	input := func(s string) bridge.Declaration {
		return with(func(d *bridge.Declaration) { d.Input = json.RawMessage(s) })
	}
	nested := func(n int) string { return strings.Repeat(`{"properties":{"a":`, n) + "{}" + strings.Repeat("}}", n) }
	for _, c := range []struct {
		rule      string
		good, bad bridge.Declaration
	}{
		{"name-missing", with(func(d *bridge.Declaration) { d.Name = "x" }), with(func(d *bridge.Declaration) { d.Name = "" })},
		{"name-too-long", with(func(d *bridge.Declaration) { d.Name = strings.Repeat("n", 128) }), with(func(d *bridge.Declaration) { d.Name = strings.Repeat("n", 129) })},
		{"name-illegal", with(func(d *bridge.Declaration) { d.Name = "__proto__" }), with(func(d *bridge.Declaration) { d.Name = "a b" })},
		{"name-illegal", with(func(d *bridge.Declaration) { d.Name = "a.b-c" }), with(func(d *bridge.Declaration) { d.Name = "a/../b" })},
		{"name-illegal", with(func(d *bridge.Declaration) { d.Name = "e" }), with(func(d *bridge.Declaration) { d.Name = "é" })},
		{"name-illegal", with(func(d *bridge.Declaration) { d.Name = "a" }), with(func(d *bridge.Declaration) { d.Name = "a\r\nb" })},
		{"description-missing", with(func(d *bridge.Declaration) { d.Description = "x" }), with(func(d *bridge.Declaration) { d.Description = " " })},
		{"description-missing", with(func(d *bridge.Declaration) { d.Description = "x\u200b" }), with(func(d *bridge.Declaration) { d.Description = "\u200b" })},
		{"description-too-long", with(func(d *bridge.Declaration) { d.Description = strings.Repeat("x", 100) }), with(func(d *bridge.Declaration) { d.Description = strings.Repeat("x", 101) })},
		{"annotations-invalid", with(func(d *bridge.Declaration) { d.Annotations = json.RawMessage(`{}`) }), with(func(d *bridge.Declaration) { d.Annotations = json.RawMessage(`{"a":`) })},
		{schema.RuleTooLarge, input(`{"title":"` + strings.Repeat("x", 388) + `"}`), input(`{"title":"` + strings.Repeat("x", 389) + `"}`)},
		{schema.RuleTooDeep, input(nested(3)), input(nested(5))},
		{schema.RulePattern, input(`{"properties":{"a":{"pattern":"aaaaaaaaaa"}}}`), input(`{"properties":{"a":{"pattern":"aaaaaaaaaaa"}}}`)},
		{"parameter-forbidden", input(`{"properties":{"passwords":{},"title":{"const":"password"}}}`), input(`{"properties":{"a":{"properties":{"PassWord":{}}}}}`)},
		{"parameter-forbidden", input(`{"properties":{"car":{}}}`), input(`{"properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"properties":{"card_no":{}}}}}`)},
		{schema.RuleRootNotObject, input(`{"type":["object","null"]}`), input(`{"type":"string"}`)},
		{schema.RuleRemoteRef, input(`{"properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{}}}`), input(`{"properties":{"a":{"$ref":"http://127.0.0.2/a"}}}`)},
		{schema.RuleNotJSON, input(`{}`), input(`{`)},
	} {
		_, findings, names := admit(limits, bridgetest.Tool("aaa", ""), c.bad, bridgetest.Tool("zzz", ""))
		if names != "aaa zzz" {
			t.Errorf("%s: admitted %q", c.rule, names)
		}
		if len(findings) == 0 || findings[len(findings)-1].Rule != c.rule || !findings[len(findings)-1].Refused {
			t.Errorf("%s: findings %+v", c.rule, findings)
		}
		if _, findings, names := admit(limits, c.good); names != c.good.Name {
			t.Errorf("%s: the positive control was refused: %+v", c.rule, findings)
		}
	}
}

// TestAnOutputSchemaOfAnyKindKeepsTheTool: results are any JSON value, and so are their
// schemas; what is none is left out. One that cannot be checked loses its tool still.
func TestAnOutputSchemaOfAnyKindKeepsTheTool(t *testing.T) {
	for output, kept := range map[string]string{
		`{"type":"array"}`: `{"type":"array"}`, `{"type":"string"}`: `{"type":"string"}`, `{"type":["object","null"]}`: `{"type":["object","null"]}`,
		`{"anyOf":[{"type":"array"},{}]}`: `{"anyOf":[{"type":"array"},{}]}`, `true`: `{}`, `[]`: ``, `"x"`: ``, `null`: ``,
	} {
		c, findings, names := admit(bridge.Limits{}, bridgetest.Returning(bridgetest.Tool("a", ""), output))
		if names != "a" || string(c.Tool("a").OutputSchema()) != kept {
			t.Errorf("%s: admitted %q with %s", output, names, c.Tool("a").OutputSchema())
		}
		told := output == `[]` || output == `"x"`
		if (len(findings) == 1) != told || told && (findings[0].Refused || findings[0].Rule != schema.RuleRootNotObject) {
			t.Errorf("%s: findings %+v", output, findings)
		}
	}
	if _, _, names := admit(bridge.Limits{}, bridgetest.Returning(bridgetest.Tool("a", ""), `{"$ref":"#/nowhere"}`)); names != "" {
		t.Error("a schema that cannot be checked was admitted")
	}
}

func TestAdmissionCountsTools(t *testing.T) {
	var decls []bridge.Declaration
	for i := range 257 {
		decls = append(decls, bridgetest.Tool(fmt.Sprintf("t%03d", i), ""))
	}
	if c, findings, _ := admit(bridge.Limits{}, decls[:256]...); len(c.Tools()) != 256 || len(findings) != 0 {
		t.Errorf("256 tools: %d admitted, %v", len(c.Tools()), findings)
	}
	c, findings, _ := admit(bridge.Limits{}, decls...)
	if len(c.Tools()) != 256 || c.Tool("t256") != nil || len(findings) != 1 || findings[0].Rule != "too-many-tools" {
		t.Errorf("257 tools: %d admitted, %v", len(c.Tools()), findings)
	}
}

func TestAdmissionKeepsTheFirstOfAName(t *testing.T) {
	second := bridgetest.Tool("a", "")
	second.Description = "another"
	c, findings, _ := admit(bridge.Limits{}, bridgetest.Tool("a", ""), second)
	if len(c.Tools()) != 1 || c.Tool("a").Description() != "The tool a." || len(findings) != 1 || findings[0].Rule != "duplicate-name" {
		t.Errorf("%d tools, %v", len(c.Tools()), findings)
	}
}

func TestHiddenCharactersAreTakenOutAndReported(t *testing.T) {
	d := bridgetest.Tool("a", "")
	d.Description = "pay\u202e less\U000E0041\x1b[31m"
	d.Title = "T\u200bt"
	c, findings, _ := admit(bridge.Limits{}, d)
	if got := c.Tool("a"); got.Description() != "pay less[31m" || got.Title() != "Tt" {
		t.Errorf("got %q, %q", got.Description(), got.Title())
	}
	if len(findings) != 1 || findings[0].Rule != "hidden-characters" || findings[0].Refused {
		t.Errorf("findings %+v", findings)
	}
	clean := d
	clean.Description, clean.Title = "pay less[31m", "Tt"
	other, _, _ := admit(bridge.Limits{}, clean)
	if other.Tool("a").Digest() == c.Tool("a").Digest() {
		t.Error("the digest does not see what was taken out")
	}
}

func TestDigestSeesEveryPartAndNoOrder(t *testing.T) {
	base := bridgetest.Tool("a", `{"type":"object","properties":{"x":{"type":"string"}}}`)
	digest := func(change func(*bridge.Declaration)) string {
		d := base
		change(&d)
		c, findings, _ := admit(bridge.Limits{}, d)
		if len(c.Tools()) != 1 {
			t.Fatalf("refused: %v", findings)
		}
		return c.Tools()[0].Digest()
	}
	same := digest(func(*bridge.Declaration) {})
	if got := digest(func(d *bridge.Declaration) {
		d.Input = json.RawMessage(` {"properties":{"x":{"type":"string"}},"type":"object"}`)
		d.ID, d.Document = 7, "d9"
	}); got != same {
		t.Error("order, spaces or registration changed the digest")
	}
	for name, change := range map[string]func(*bridge.Declaration){
		"name":        func(d *bridge.Declaration) { d.Name = "b" },
		"title":       func(d *bridge.Declaration) { d.Title = "b" },
		"description": func(d *bridge.Declaration) { d.Description = "b" },
		"origin":      func(d *bridge.Declaration) { d.Origin = "https://b.example" },
		"input":       func(d *bridge.Declaration) { d.Input = nil },
		"output":      func(d *bridge.Declaration) { d.Output = json.RawMessage(`{"type":"object"}`) },
		"annotations": func(d *bridge.Declaration) { d.Annotations = nil },
	} {
		if digest(change) == same {
			t.Errorf("%s does not change the digest", name)
		}
	}
}

// TestUnchangedToolsAreTakenOver proves that a page which registers its tools
// again costs no compilation, and that registrations are told apart all the
// same.
func TestUnchangedToolsAreTakenOver(t *testing.T) {
	d := bridgetest.Tool("a", `{"properties":{"x":{"type":"string"}}}`)
	first, _ := bridge.NewCatalog(nil, []bridge.Declaration{d}, bridge.Limits{})
	d.ID = 2
	compiles := testing.AllocsPerRun(10, func() { bridge.NewCatalog(nil, []bridge.Declaration{d}, bridge.Limits{}) })
	taken := testing.AllocsPerRun(10, func() { bridge.NewCatalog(first, []bridge.Declaration{d}, bridge.Limits{}) })
	if taken > compiles/2 {
		t.Errorf("taking over costs %v allocations, compiling %v", taken, compiles)
	}
	second, _ := bridge.NewCatalog(first, []bridge.Declaration{d}, bridge.Limits{})
	if a, b := first.Tool("a"), second.Tool("a"); a.Digest() != b.Digest() || a.Registration() != 1 || b.Registration() != 2 {
		t.Errorf("registrations %d and %d", a.Registration(), b.Registration())
	}
}

func FuzzNewCatalog(f *testing.F) {
	f.Add("a", "d", `{"type":"object"}`, `{"readOnlyHint":true}`)
	f.Add("__proto__", "\x00", `{"$ref":"#"}`, `[`)
	f.Fuzz(func(t *testing.T, name, description, input, annotations string) {
		d := bridge.Declaration{Name: name, Description: description, Input: json.RawMessage(input), Annotations: json.RawMessage(annotations)}
		c, findings := bridge.NewCatalog(nil, []bridge.Declaration{d}, bridge.Limits{})
		if len(c.Tools()) == 0 && len(findings) == 0 {
			t.Error("refused without a finding")
		}
		for _, tool := range c.Tools() {
			if !json.Valid(tool.InputSchema()) {
				t.Errorf("admitted a schema that is not JSON: %q", tool.InputSchema())
			}
		}
	})
}

// TestNamesOfFrames (P4): no frame shadows the page or another frame; the same
// frame has the same name again, and its definition is another one.
func TestNamesOfFrames(t *testing.T) {
	in := func(name, document, frame string) bridge.Declaration {
		d := bridgetest.Tool(name, "")
		d.Document, d.Frame, d.Origin = document, frame, "https://shop.test"
		return d
	}
	long := strings.Repeat("n", 128)
	decls := []bridge.Declaration{in("pay", "top", ""), in("pay", "top", ""), in(long, "top", ""), in("pay", "one", "a"), in("pay", "two", "b"),
		in("only", "two", "b"), in(long, "two", "b")}
	c, findings, names := admit(bridge.Limits{}, decls...)
	if len(c.Tools()) != 6 || c.Tool("pay").Document() != "top" || c.Tool("only").Document() != "two" {
		t.Fatalf("offered are %s", names)
	}
	rules := map[string]int{}
	for _, f := range findings {
		rules[f.Rule]++
	}
	if rules["duplicate-name"] != 1 || rules["frame-name-taken"] != 3 {
		t.Errorf("findings: %+v", findings)
	}
	digests := map[string]bool{}
	for _, x := range c.Tools() {
		if !strings.HasPrefix(x.Name(), "pay") && !strings.HasPrefix(x.Name(), "n") && x.Name() != "only" || len(x.Name()) > 128 || digests[x.Digest()] {
			t.Errorf("%q of %q", x.Name(), x.Frame())
		}
		digests[x.Digest()] = true
	}
	if _, _, again := admit(bridge.Limits{}, decls...); again != names {
		t.Errorf("the names are %s, then %s", names, again)
	}
	if _, _, alone := admit(bridge.Limits{}, in("pay", "one", "a")); alone != "pay" {
		t.Errorf("without the page's tool the frame's is %s", alone)
	}
}

// TestManyDocuments: each document may have as many tools as the limit says, the
// page as many as four of them.
func TestManyDocuments(t *testing.T) {
	var decls []bridge.Declaration
	for document := range 6 {
		for i := range 4 {
			d := bridgetest.Tool(fmt.Sprintf("t%d_%d", document, i), "")
			d.Document = fmt.Sprint(document)
			decls = append(decls, d)
		}
	}
	_, findings, names := admit(bridge.Limits{Tools: 3}, decls...)
	if want := "t0_0 t0_1 t0_2 t1_0 t1_1 t1_2 t2_0 t2_1 t2_2 t3_0 t3_1 t3_2"; names != want || len(findings) == 0 {
		t.Errorf("offered are %s, want %s; findings %+v", names, want, findings)
	}
}

// TestASlipKeepsTheTool (L8, L7, O2): what is wrong in a schema and refuses nothing else is a
// finding beside the tool, which is offered without it.
func TestASlipKeepsTheTool(t *testing.T) {
	declared := func(input, output string) bridge.Declaration {
		d := bridgetest.Tool("it", "")
		d.Input = json.RawMessage(input)
		if output != "" {
			d.Output = json.RawMessage(output)
		}
		return d
	}
	for _, c := range []struct {
		decl     bridge.Declaration
		rule, at string
	}{
		{declared(`{"type":"object","properties":{"title":{"type":"string","required":true}}}`, ""), schema.RuleKeyword, "inputSchema/properties/title/required: "},
		{declared(`{"type":"object","properties":{"title":{"type":"any"}}}`, ""), schema.RuleKeyword, "inputSchema/properties/title/type: "},
		{declared(`{"signature":{"type":"string"}}`, ""), schema.RuleMap, "inputSchema: "},
		{declared(`{}`, `{"type":"object","properties":{"a":{"minimum":"1"}}}`), schema.RuleKeyword, "outputSchema/properties/a/minimum: "},
	} {
		catalog, findings, names := admit(bridge.Limits{}, c.decl)
		if names != "it" || len(findings) != 1 || findings[0].Rule != c.rule || findings[0].Refused || findings[0].Tool != "it" ||
			!strings.HasPrefix(findings[0].Message, c.at) {
			t.Errorf("%s: admitted %q, findings %+v", c.decl.Input, names, findings)
		}
		if again, more := bridge.NewCatalog(catalog, []bridge.Declaration{c.decl}, bridge.Limits{}); again.Tool("it") == nil || len(more) != 1 {
			t.Errorf("%s: a tool that is known already is told differently: %+v", c.decl.Input, more)
		}
	}
	many := make([]string, 30)
	for i := range many {
		many[i] = fmt.Sprintf(`"p%d":{"type":"any"}`, i)
	}
	_, findings, names := admit(bridge.Limits{}, declared(`{"properties":{`+strings.Join(many, ",")+`}}`, ""))
	if names != "it" || len(findings) != 6 || !strings.Contains(findings[5].Message, "25 more") {
		t.Errorf("many slips: %q, %+v", names, findings)
	}
	if _, _, names := admit(bridge.Limits{ForbidParams: []string{"password"}}, declared(`{"password":{"type":"string"}}`, "")); names != "" {
		t.Error("a map of parameters hides one that the operator forbids")
	}
}

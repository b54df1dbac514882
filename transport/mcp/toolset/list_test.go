package toolset

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/bridge/schema"
)

const (
	legacy Protocol = "2025-11-25"
	modern Protocol = "2026-07-28"
)

func TestWhatAListSaysOfATool(t *testing.T) {
	d := bridgetest.Returning(bridgetest.Tool("cart.add", `{"properties":{"id":{"type":"string"}}}`), `{"type":["object"],"minProperties":1,"dependentRequired":{}}`)
	d.Annotations = json.RawMessage(`{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":"yes","consequentialHint":true,"title":"Ad\u202ed"}`)
	shop := siteOf("shop", d)
	x := New([]Source{shop}, Options{})
	name := findExposed(x, "cart.add")
	want := map[string]any{
		"name": name, "title": "Add", "description": "The tool cart.add.",
		"inputSchema": map[string]any{"type": "object", "properties": map[string]any{"id": map[string]any{"type": "string"}}},
		"annotations": map[string]any{"title": "Add", "readOnlyHint": true, "destructiveHint": false, "openWorldHint": true},
		"_meta": map[string]any{"pagetools/tool": map[string]any{"site": "shop", "origin": "https://site.example", "name": "cart.add",
			"version": "1.0.0", "digest": shop.Tools[0].Digest()}},
	}
	if got := whole(t, x, legacy)[0]; asJSON(t, got) != asJSON(t, want) {
		t.Errorf("got  %s\nwant %s", asJSON(t, got), asJSON(t, want))
	}
	want["outputSchema"] = map[string]any{"type": "object", "minProperties": 1, "dependentRequired": map[string]any{}}
	if got := whole(t, x, modern)[0]; asJSON(t, got) != asJSON(t, want) {
		t.Errorf("got  %s\nwant %s", asJSON(t, got), asJSON(t, want))
	}
	if rules := rulesOf(x.Findings()); rules != "mcp-name-changed mcp-output-schema" {
		t.Errorf("findings: %s", rules)
	}
}

func TestTitles(t *testing.T) {
	titled := func(name, title, annotations string) bridge.Declaration {
		d := bridgetest.Tool(name, "")
		d.Title, d.Annotations = title, json.RawMessage(annotations)
		return d
	}
	x := New([]Source{siteOf("shop", titled("a", "", ""), titled("b", "The title", `{"title":"Other"}`), titled("c", "", `{"title":7,"openWorldHint":false}`), titled("d.e", "", ""))}, Options{})
	var got []string
	for _, e := range x.entries {
		got = append(got, e.shown.Title)
	}
	if want := []string{"", "The title", "", "d.e"}; !slices.Equal(got, want) {
		t.Errorf("titles %q, want %q", got, want)
	}
	if x.entries[1].shown.Annotations.Title != "Other" || *x.entries[2].shown.Annotations.OpenWorldHint {
		t.Error("the page's annotations were not passed on")
	}
}

// TestFramesAreNamed: a model sees which words come from a stranger in a frame.
func TestFramesAreNamed(t *testing.T) {
	d := bridgetest.Tool("pay", "")
	d.Frame, d.Document, d.Origin = "ads", "d2", "https://ads.example"
	own := bridgetest.Tool("add", "")
	own.Frame, own.Origin = "inner", "https://shop.example"
	x := New([]Source{siteOf("shop", d, own)}, Options{})
	tools := []definition{x.entries[0].shown, x.entries[1].shown}
	if !strings.HasSuffix(tools[1].Description, "(Offered by a frame of the page, from https://ads.example.)") || tools[0].Description != "The tool add." {
		t.Errorf("%q, %q", tools[0].Description, tools[1].Description)
	}
}

func TestModes(t *testing.T) {
	var many []bridge.Declaration
	for i := range hybridAbove + 1 {
		many = append(many, bridgetest.Tool(fmt.Sprintf("t%02d", i), ""))
	}
	own := "pagetools_search pagetools_describe pagetools_call"
	for _, c := range []struct {
		mode  Mode
		tools int
		want  string
	}{
		{Auto, 1, "t00"}, {Auto, hybridAbove, "t00"}, {Auto, hybridAbove + 1, own},
		{Direct, hybridAbove + 1, "t00"}, {Hybrid, 1, own}, {Meta, 1, own}, {Meta, 0, own}, {Auto, 0, Open},
	} {
		x := New([]Source{siteOf("shop", many[:c.tools]...)}, Options{Mode: c.mode})
		got := namesOf(whole(t, x, legacy))
		if !strings.HasPrefix(got, c.want) || c.mode == Meta && got != own+" "+Open+" "+Waiting || c.want == own && c.mode != Meta && got != own {
			t.Errorf("mode %d with %d tools: %s", c.mode, c.tools, got)
		}
		if _, ok := x.Find("t00"); ok != (c.tools > 0) {
			t.Errorf("mode %d with %d tools: t00 is found: %v", c.mode, c.tools, ok)
		}
		if target, ok := x.Find(Call); ok != strings.Contains(c.want, Call) || ok && target.Own != Call {
			t.Errorf("mode %d with %d tools: %s is %+v", c.mode, c.tools, Call, target)
		}
	}
}

func TestFind(t *testing.T) {
	shop := siteOf("shop", named("add", "cart.list", "pagetools_search", "both")...)
	mail := siteOf("mail", named("send", "both")...)
	x := New([]Source{shop, mail}, Options{Prefixed: true, Mode: Hybrid})
	for _, c := range []struct{ name, site, tool string }{
		{"shop_add", "shop", "add"}, {"add", "shop", "add"}, {"cart.list", "shop", "cart.list"}, {"shop_cart.list", "shop", "cart.list"},
		{findExposed(x, "cart.list"), "shop", "cart.list"}, {"send", "mail", "send"}, {"shop_both", "shop", "both"}, {"mail_both", "mail", "both"},
		{"shop_pagetools_search", "shop", "pagetools_search"}, {"both", "", ""}, {"mail_add", "", ""}, {"", "", ""}, {"shop_", "", ""},
	} {
		got, ok := x.Find(c.name)
		if ok != (c.tool != "") || ok && (got.Site != c.site || got.Tool.Name() != c.tool) {
			t.Errorf("%q is %+v", c.name, got)
		}
	}
	if got, _ := x.Find("pagetools_search"); got.Own != Search || got.Tool != nil {
		t.Errorf("a page shadows our own tool: %+v", got)
	}
	direct := New([]Source{shop}, Options{Mode: Direct})
	if got, ok := direct.Find("pagetools_search"); ok {
		t.Errorf("a page has our name where we have no tool: %+v", got)
	}
}

func TestPages(t *testing.T) {
	gatetest.NoRace(t)
	var decls []bridge.Declaration
	for i := range 640 {
		d := bridgetest.Tool(fmt.Sprintf("t%04d", i), "")
		d.Document = fmt.Sprint(i / 200)
		decls = append(decls, d)
	}
	x := New([]Source{siteOf("shop", decls...)}, Options{Mode: Direct})
	first, next, _ := x.Page(legacy, "")
	if n := strings.Count(string(first), `"inputSchema"`); n != pageTools || next == "" {
		t.Errorf("the first page has %d tools", n)
	}
	all := whole(t, x, legacy)
	if names := namesOf(all); len(all) != 640 || !strings.HasPrefix(names, "t0000 ") || !strings.HasSuffix(names, " t0639") {
		t.Errorf("%d tools in all pages", len(all))
	}
	seen := map[string]bool{}
	for _, tool := range all {
		seen[fmt.Sprint(tool["name"])] = true
	}
	if len(seen) != 640 {
		t.Errorf("%d different tools in all pages", len(seen))
	}
	// The list loses the tool that the cursor names, and what comes behind it is still found.
	shorter := New([]Source{siteOf("shop", slices.DeleteFunc(decls, func(d bridge.Declaration) bool { return d.Name == "t0296" })...)}, Options{Mode: Direct})
	list, _, ok := shorter.Page(legacy, base64.RawURLEncoding.EncodeToString([]byte("t0296")))
	if !ok || !strings.HasPrefix(string(list), `[{"name":"t0297"`) {
		t.Errorf("behind a tool that is gone comes %.40s", list)
	}
	hybrid := New([]Source{siteOf("shop", decls...)}, Options{}).Showing([]string{"t0001"})
	if list, _, ok := hybrid.Page(legacy, base64.RawURLEncoding.EncodeToString([]byte(Describe))); !ok || !strings.HasPrefix(string(list), `[{"name":"`+Call+`"`) {
		t.Errorf("behind our own tool comes %.40s", list)
	}
	for _, cursor := range []string{"?", "AA", base64.RawURLEncoding.EncodeToString([]byte("a b"))} {
		if _, _, ok := x.Page(legacy, cursor); ok {
			t.Errorf("the cursor %q was taken", cursor)
		}
	}
}

// TestPagesAreBounded: large schemas make short pages, and none is empty.
func TestPagesAreBounded(t *testing.T) {
	gatetest.NoRace(t)
	var decls []bridge.Declaration
	for i := range 100 {
		decls = append(decls, bridgetest.Tool(fmt.Sprintf("t%04d", i), `{"description":"`+strings.Repeat("x", 60<<10)+`"}`))
	}
	x := New([]Source{siteOf("shop", decls...)}, Options{Mode: Direct})
	cursor, pages := "", 0
	for more := true; more; more = cursor != "" {
		list, next, ok := x.Page(modern, cursor)
		if !ok || len(list) > pageBytes || len(list) < 60<<10 {
			t.Fatalf("a page of %d bytes", len(list))
		}
		cursor, pages = next, pages+1
	}
	if pages < 3 || len(whole(t, x, modern)) != 100 {
		t.Errorf("%d pages", pages)
	}
}

// someTools draws tools from a small world, so that lists are often the same.
func someTools(t *rapid.T, label string) []bridge.Declaration {
	name := rapid.SampledFrom([]string{"a", "b", "a.b", "a_b", "pagetools_call", strings.Repeat("l", 70)})
	schema := rapid.SampledFrom([]string{"", `{"type":"object","properties":{}}`, `{"properties":{"x":true}}`})
	output := rapid.SampledFrom([]string{"", `{"type":"object","dependentRequired":{}}`, `{"type":"object"}`})
	return rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) bridge.Declaration {
		d := bridgetest.Tool(name.Draw(t, "name"), schema.Draw(t, "schema"))
		if out := output.Draw(t, "output"); out != "" {
			d = bridgetest.Returning(d, out)
		}
		return d
	}), 0, 3, func(d bridge.Declaration) string { return d.Name }).Draw(t, label)
}

// TestExposureHolds: any tools are found by their names, and two lists have one
// digest exactly when a client sees the same.
func TestExposureHolds(t *testing.T) {
	gatetest.NoRace(t)
	rapid.Check(t, func(t *rapid.T) {
		o := Options{Prefixed: rapid.Bool().Draw(t, "prefixed"), Mode: rapid.SampledFrom([]Mode{Auto, Direct, Hybrid, Meta}).Draw(t, "mode")}
		draw := func(label string) ([]Source, *List) {
			sources := []Source{siteOf("s", someTools(t, label)...)}
			if o.Prefixed {
				sources = append(sources, siteOf("s_a", someTools(t, label+" of another")...))
			}
			return sources, New(sources, o)
		}
		sources, x := draw("one")
		for _, s := range sources {
			for _, tool := range s.Tools {
				name := ""
				for _, e := range x.entries {
					if e.Tool == tool {
						name = e.Name
					}
				}
				if got, ok := x.Find(name); !ok || got.Tool != tool || got.Site != s.Site.Name || got.Name != name {
					t.Fatalf("%q of %s is found as %+v", name, s.Site.Name, got)
				}
				if got, ok := x.Find(tool.Name()); ok && got.Own == "" && got.Tool.Name() != tool.Name() && got.Name != tool.Name() {
					t.Fatalf("%q finds %q", tool.Name(), got.Name)
				}
			}
		}
		slices.Reverse(sources)
		for i := range sources {
			sources[i].Tools = slices.Clone(sources[i].Tools)
			slices.Reverse(sources[i].Tools)
		}
		mixed := New(sources, o)
		_, other := draw("two")
		for _, e := range []Protocol{legacy, modern} {
			mine := asJSON(t, whole(t, x, e))
			if asJSON(t, whole(t, mixed, e)) != mine || mixed.Digest(e) != x.Digest(e) {
				t.Fatalf("the order changes the list")
			}
			if same := asJSON(t, whole(t, other, e)) == mine; same != (other.Digest(e) == x.Digest(e)) {
				t.Fatalf("same list: %v; digests %s and %s", same, x.Digest(e), other.Digest(e))
			}
		}
		if asJSON(t, mixed.Findings()) != asJSON(t, x.Findings()) {
			t.Fatalf("the order changes the findings")
		}
	})
}

// TestDigestSeesAVersion: it is in the list, so a client sees another list.
func TestDigestSeesAVersion(t *testing.T) {
	s := siteOf("shop", named("a")...)
	before := New([]Source{s}, Options{})
	s.Version = "1.0.1"
	after := New([]Source{s}, Options{})
	if before.Digest(legacy) == after.Digest(legacy) {
		t.Error("the digest is the same")
	}
	hidden := Options{Mode: Meta}
	if New([]Source{s}, hidden).Digest(legacy) != New([]Source{siteOf("shop", named("other")...)}, hidden).Digest(legacy) {
		t.Error("tools that the list does not have change its digest")
	}
}

func benchmarkSource(n int) []Source {
	var decls []bridge.Declaration
	for i := range n {
		decls = append(decls, bridgetest.Tool(fmt.Sprintf("tool_%03d", i), `{"type":"object","properties":{"location":{"type":"string","description":"A city.","examples":["Paris"]},`+
			`"units":{"type":"string","enum":["metric","imperial"]}},"required":["location"],"additionalProperties":false}`))
	}
	return []Source{siteOf("shop", decls...)}
}

func BenchmarkExpose(b *testing.B) {
	for _, n := range []int{50, 256} {
		sources := benchmarkSource(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				New(sources, Options{})
			}
		})
	}
}

func BenchmarkList(b *testing.B) {
	for _, n := range []int{50, 256} {
		x := New(benchmarkSource(n), Options{})
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				x.Page(legacy, "")
			}
		})
	}
}

func BenchmarkSearch(b *testing.B) {
	x := New(benchmarkSource(256), Options{})
	x.search("", 1)
	for b.Loop() {
		x.search("weather in a city", 10)
	}
}

// TestNamesOfFoldersAreStable: a folder is served at another port by each process, and the names of
// its tools stay. Those of another origin's frames are apart. C4.
func TestNamesOfFoldersAreStable(t *testing.T) {
	long := strings.Repeat("n", 50)
	at := func(origin string, local bool) string {
		c, _ := bridge.NewCatalog(nil, []bridge.Declaration{{Name: long, Description: "d", Origin: origin, Own: true}}, bridge.Limits{})
		site := bridge.Site{Name: "shop", Origin: "http://127.0.0.1:" + origin[len(origin)-4:], Local: local}
		return namesOf(whole(t, New([]Source{{Site: site, Version: "1.0.0", Tools: c.Tools()}}, Options{Mode: Direct}), legacy))
	}
	first := at("http://127.0.0.1:4001", true)
	if first == "" || first != at("http://127.0.0.1:4002", true) {
		t.Errorf("%q becomes %q", first, at("http://127.0.0.1:4002", true))
	}
	if first == at("https://frame.example:4001", true) {
		t.Error("a frame has the name of the folder's own tool")
	}
	if at("http://127.0.0.1:4001", false) == at("http://127.0.0.1:4002", false) {
		t.Error("two sites share a name")
	}
}

// TestEveryListedSchemaIsStrict: every known subset takes every schema of a list, also those of our
// own tools. C1.
func TestEveryListedSchemaIsStrict(t *testing.T) {
	shop := siteOf("shop", bridgetest.Tool("odd", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"tags":{"type":["array","null"]},"to string":{"enum":[1,null]}}}`))
	for mode, n := range map[Mode]int{Direct: 1, Hybrid: 5, Meta: 5} {
		mail := siteOf("mail")
		list := New([]Source{shop, mail}, Options{Mode: mode, Prefixed: true, Waiting: true}).Showing([]string{"shop_odd"})
		for _, tool := range whole(t, list, "2025-11-25") {
			n--
			for _, subset := range schema.Subsets() {
				if refused := subset.Check(json.RawMessage(asJSON(t, tool["inputSchema"]))); len(refused) > 0 {
					t.Errorf("%s refuses %s: %q", subset.Name, tool["name"], refused)
				}
			}
		}
		if n > 0 {
			t.Errorf("mode %d lacks %d tools", mode, n)
		}
	}
}

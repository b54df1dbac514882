package mcp

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"pgregory.net/rapid"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
)

const (
	legacy era = mcpgo.ProtocolVersion20251125
	modern era = mcpgo.ProtocolVersion20260728
)

func TestWhatAListSaysOfATool(t *testing.T) {
	d := bridgetest.Returning(bridgetest.Tool("cart.add", `{"properties":{"id":{"type":"string"}}}`), `{"type":["object","null"],"minProperties":1,"dependentRequired":{}}`)
	d.Annotations = json.RawMessage(`{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":"yes","consequentialHint":true,"title":"Ad\u202ed"}`)
	shop := siteOf("shop", d)
	x := expose([]source{shop}, exposeOptions{})
	name := findExposed(x, "cart.add")
	want := map[string]any{
		"name": name, "title": "Add", "description": "The tool cart.add.",
		"inputSchema": map[string]any{"type": "object", "properties": map[string]any{"id": map[string]any{"type": "string"}}},
		"annotations": map[string]any{"title": "Add", "readOnlyHint": true, "destructiveHint": false, "openWorldHint": true},
		"_meta": map[string]any{"pagetools/tool": map[string]any{"site": "shop", "origin": "https://site.example", "name": "cart.add",
			"version": "1.0.0", "digest": shop.tools[0].Digest()}},
	}
	if got := whole(t, x, legacy)[0]; asJSON(t, got) != asJSON(t, want) {
		t.Errorf("got  %s\nwant %s", asJSON(t, got), asJSON(t, want))
	}
	want["outputSchema"] = map[string]any{"type": "object", "minProperties": 1, "dependentRequired": map[string]any{}}
	if got := whole(t, x, modern)[0]; asJSON(t, got) != asJSON(t, want) {
		t.Errorf("got  %s\nwant %s", asJSON(t, got), asJSON(t, want))
	}
	if rules := rulesOf(x.findings()); rules != "mcp-name-changed mcp-output-schema" {
		t.Errorf("findings: %s", rules)
	}
}

func TestTitles(t *testing.T) {
	titled := func(name, title, annotations string) bridge.Declaration {
		d := bridgetest.Tool(name, "")
		d.Title, d.Annotations = title, json.RawMessage(annotations)
		return d
	}
	x := expose([]source{siteOf("shop", titled("a", "", ""), titled("b", "The title", `{"title":"Other"}`), titled("c", "", `{"title":7,"openWorldHint":false}`), titled("d.e", "", ""))}, exposeOptions{})
	var got []string
	for _, tool := range x.tools(legacy) {
		got = append(got, tool.Title)
	}
	if want := []string{"", "The title", "", "d.e"}; !slices.Equal(got, want) {
		t.Errorf("titles %q, want %q", got, want)
	}
	if x.tools(legacy)[1].Annotations.Title != "Other" || *x.tools(legacy)[2].Annotations.OpenWorldHint {
		t.Error("the page's annotations were not passed on")
	}
}

// TestFramesAreNamed: a model sees which words are those of a stranger in a frame.
func TestFramesAreNamed(t *testing.T) {
	d := bridgetest.Tool("pay", "")
	d.Frame, d.Document, d.Origin = "ads", "d2", "https://ads.example"
	own := bridgetest.Tool("add", "")
	own.Frame, own.Origin = "inner", "https://shop.example"
	x := expose([]source{siteOf("shop", d, own)}, exposeOptions{})
	tools := x.tools(legacy)
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
		mode  toolMode
		tools int
		want  string
	}{
		{modeAuto, 1, "t00"}, {modeAuto, hybridAbove, "t00"}, {modeAuto, hybridAbove + 1, own + " t00"},
		{modeDirect, hybridAbove + 1, "t00"}, {modeHybrid, 1, own + " t00"}, {modeMeta, 1, own}, {modeMeta, 0, own}, {modeAuto, 0, ""},
	} {
		x := expose([]source{siteOf("shop", many[:c.tools]...)}, exposeOptions{mode: c.mode})
		got := namesOf(whole(t, x, legacy))
		if !strings.HasPrefix(got, c.want) || c.mode == modeMeta && got != own {
			t.Errorf("mode %d with %d tools: %s", c.mode, c.tools, got)
		}
		if _, ok := x.find("t00"); ok != (c.tools > 0) {
			t.Errorf("mode %d with %d tools: t00 is found: %v", c.mode, c.tools, ok)
		}
		if target, ok := x.find(toolCall); ok != strings.Contains(c.want, toolCall) || ok && target.static != toolCall {
			t.Errorf("mode %d with %d tools: %s is %+v", c.mode, c.tools, toolCall, target)
		}
		checkList(t, x, legacy)
	}
}

func TestFind(t *testing.T) {
	shop := siteOf("shop", named("add", "cart.list", "pagetools_search", "both")...)
	mail := siteOf("mail", named("send", "both")...)
	x := expose([]source{shop, mail}, exposeOptions{prefixed: true, mode: modeHybrid})
	for _, c := range []struct{ name, site, tool string }{
		{"shop_add", "shop", "add"}, {"add", "shop", "add"}, {"cart.list", "shop", "cart.list"}, {"shop_cart.list", "shop", "cart.list"},
		{findExposed(x, "cart.list"), "shop", "cart.list"}, {"send", "mail", "send"}, {"shop_both", "shop", "both"}, {"mail_both", "mail", "both"},
		{"shop_pagetools_search", "shop", "pagetools_search"}, {"both", "", ""}, {"mail_add", "", ""}, {"", "", ""}, {"shop_", "", ""},
	} {
		got, ok := x.find(c.name)
		if ok != (c.tool != "") || ok && (got.site != c.site || got.tool.Name() != c.tool) {
			t.Errorf("%q is %+v", c.name, got)
		}
	}
	if got, _ := x.find("pagetools_search"); got.static != toolSearch || got.tool != nil {
		t.Errorf("a page shadows our own tool: %+v", got)
	}
	direct := expose([]source{shop}, exposeOptions{mode: modeDirect})
	if got, ok := direct.find("pagetools_search"); ok {
		t.Errorf("a page has our name where we have no tool: %+v", got)
	}
}

// TestRendering: what is written is what the library would write, and the library
// can write the list itself.
func TestRendering(t *testing.T) {
	x := expose([]source{siteOf("shop", append(named("a<b", "x.y"), bridgetest.Returning(bridgetest.Tool("r", ""), `{"type":"object","properties":{"a":true}}`))...)}, exposeOptions{mode: modeHybrid})
	for _, e := range []era{legacy, modern} {
		list, next, ok := x.page(e, "")
		theirs, err := json.Marshal(x.tools(e))
		if err != nil || !ok || next != "" || asJSON(t, list) != asJSON(t, json.RawMessage(theirs)) {
			t.Errorf("%s: %v\nours   %s\ntheirs %s", e, err, list, theirs)
		}
	}
}

func TestPages(t *testing.T) {
	var decls []bridge.Declaration
	for i := range 640 {
		d := bridgetest.Tool(fmt.Sprintf("t%04d", i), "")
		d.Document = fmt.Sprint(i / 200)
		decls = append(decls, d)
	}
	x := expose([]source{siteOf("shop", decls...)}, exposeOptions{})
	first, next, _ := x.page(legacy, "")
	if n := strings.Count(string(first), `"inputSchema"`); n != pageTools || next == "" {
		t.Errorf("the first page has %d tools", n)
	}
	all := whole(t, x, legacy)
	if names := namesOf(all); len(all) != 643 || !strings.HasPrefix(names, toolSearch+" ") || !strings.HasSuffix(names, " t0639") {
		t.Errorf("%d tools in all pages", len(all))
	}
	seen := map[string]bool{}
	for _, tool := range all {
		seen[fmt.Sprint(tool["name"])] = true
	}
	if len(seen) != 643 {
		t.Errorf("%d different tools in all pages", len(seen))
	}
	// The list loses the tool that the cursor names, and what comes behind it is still found.
	shorter := expose([]source{siteOf("shop", slices.DeleteFunc(decls, func(d bridge.Declaration) bool { return d.Name == "t0296" })...)}, exposeOptions{})
	list, _, ok := shorter.page(legacy, base64.RawURLEncoding.EncodeToString([]byte("t0296")))
	if !ok || !strings.HasPrefix(string(list), `[{"name":"t0297"`) {
		t.Errorf("behind a tool that is gone comes %.40s", list)
	}
	if list, _, ok := x.page(legacy, base64.RawURLEncoding.EncodeToString([]byte(toolDescribe))); !ok || !strings.HasPrefix(string(list), `[{"name":"`+toolCall+`"`) {
		t.Errorf("behind our own tool comes %.40s", list)
	}
	for _, cursor := range []string{"?", "AA", base64.RawURLEncoding.EncodeToString([]byte("a b"))} {
		if _, _, ok := x.page(legacy, cursor); ok {
			t.Errorf("the cursor %q was taken", cursor)
		}
	}
}

// TestPagesAreBounded: large schemas make short pages, and none is empty.
func TestPagesAreBounded(t *testing.T) {
	var decls []bridge.Declaration
	for i := range 100 {
		decls = append(decls, bridgetest.Tool(fmt.Sprintf("t%04d", i), `{"description":"`+strings.Repeat("x", 60<<10)+`"}`))
	}
	x := expose([]source{siteOf("shop", decls...)}, exposeOptions{mode: modeDirect})
	cursor, pages := "", 0
	for more := true; more; more = cursor != "" {
		list, next, ok := x.page(modern, cursor)
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
	rapid.Check(t, func(t *rapid.T) {
		o := exposeOptions{prefixed: rapid.Bool().Draw(t, "prefixed"), mode: rapid.SampledFrom([]toolMode{modeAuto, modeDirect, modeHybrid, modeMeta}).Draw(t, "mode")}
		draw := func(label string) ([]source, *exposure) {
			sources := []source{siteOf("s", someTools(t, label)...)}
			if o.prefixed {
				sources = append(sources, siteOf("s_a", someTools(t, label+" of another")...))
			}
			return sources, expose(sources, o)
		}
		sources, x := draw("one")
		for _, s := range sources {
			for _, tool := range s.tools {
				name := ""
				for _, e := range x.entries {
					if e.tool == tool {
						name = e.name
					}
				}
				if got, ok := x.find(name); !ok || got.tool != tool || got.site != s.site.Name || got.name != name {
					t.Fatalf("%q of %s is found as %+v", name, s.site.Name, got)
				}
				if got, ok := x.find(tool.Name()); ok && got.static == "" && got.tool.Name() != tool.Name() && got.name != tool.Name() {
					t.Fatalf("%q finds %q", tool.Name(), got.name)
				}
			}
		}
		slices.Reverse(sources)
		for i := range sources {
			sources[i].tools = slices.Clone(sources[i].tools)
			slices.Reverse(sources[i].tools)
		}
		mixed := expose(sources, o)
		_, other := draw("two")
		for _, e := range []era{legacy, modern} {
			mine := asJSON(t, whole(t, x, e))
			if asJSON(t, whole(t, mixed, e)) != mine || mixed.digest(e) != x.digest(e) {
				t.Fatalf("the order changes the list")
			}
			if same := asJSON(t, whole(t, other, e)) == mine; same != (other.digest(e) == x.digest(e)) {
				t.Fatalf("same list: %v; digests %s and %s", same, x.digest(e), other.digest(e))
			}
		}
		if asJSON(t, mixed.findings()) != asJSON(t, x.findings()) {
			t.Fatalf("the order changes the findings")
		}
	})
}

// TestDigestSeesAVersion: it is in the list, so a client sees another list.
func TestDigestSeesAVersion(t *testing.T) {
	s := siteOf("shop", named("a")...)
	before := expose([]source{s}, exposeOptions{})
	s.version = "1.0.1"
	after := expose([]source{s}, exposeOptions{})
	if before.digest(legacy) == after.digest(legacy) {
		t.Error("the digest is the same")
	}
	hidden := exposeOptions{mode: modeMeta}
	if expose([]source{s}, hidden).digest(legacy) != expose([]source{siteOf("shop", named("other")...)}, hidden).digest(legacy) {
		t.Error("tools that the list does not have change its digest")
	}
}

func benchmarkSource(n int) []source {
	var decls []bridge.Declaration
	for i := range n {
		decls = append(decls, bridgetest.Tool(fmt.Sprintf("tool_%03d", i), `{"type":"object","properties":{"location":{"type":"string","description":"A city.","examples":["Paris"]},`+
			`"units":{"type":"string","enum":["metric","imperial"]}},"required":["location"],"additionalProperties":false}`))
	}
	return []source{siteOf("shop", decls...)}
}

func BenchmarkExpose(b *testing.B) {
	for _, n := range []int{50, 256} {
		sources := benchmarkSource(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				expose(sources, exposeOptions{})
			}
		})
	}
}

func BenchmarkList(b *testing.B) {
	for _, n := range []int{50, 256} {
		x := expose(benchmarkSource(n), exposeOptions{})
		b.Run(fmt.Sprintf("page/%d", n), func(b *testing.B) {
			for b.Loop() {
				x.page(legacy, "")
			}
		})
		b.Run(fmt.Sprintf("library/%d", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := json.Marshal(x.tools(legacy)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSearch(b *testing.B) {
	x := expose(benchmarkSource(256), exposeOptions{})
	search(x, "", 1)
	for b.Loop() {
		search(x, "weather in a city", 10)
	}
}

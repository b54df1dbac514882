package toolset

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/gatetest"
)

func searchable() *List {
	tool := func(name, title, description, schema string) bridge.Declaration {
		d := bridgetest.Tool(name, schema)
		d.Title, d.Description = title, description
		return d
	}
	return New([]Source{siteOf("shop",
		tool("addToCart", "", "Puts an article into the basket.", `{"properties":{"articleId":{"type":"string","description":"What to buy."}}}`),
		tool("list_orders", "Orders", "Shows what was bought before.", `{"properties":{"since":{"type":"string"},"page":{"properties":{"size":{"description":"How many at once"}}}}}`),
		tool("weather", "", "Tells the weather in a city; not for carts.", `{"properties":{"city":{"type":"string"}}}`),
		tool("wetter", "", "天気を調べる。", ""),
		tool("cancel", "", "Cancels one order. "+strings.Repeat("Read the conditions of the contract first. ", 40), ""),
	)}, Options{Mode: Meta})
}

func TestSearch(t *testing.T) {
	x := searchable()
	for _, c := range []struct{ query, want string }{
		{"cart", "addToCart weather"},  // the name counts more than the description
		{"CARTS", "addToCart weather"}, // letters and plurals
		{"add to cart", "addToCart …"}, // camelCase; more words count more
		{"order", "list_orders cancel"},
		{"weath", "weather"}, // the begin of a word
		{"we", ""},           // but not so short a one
		{"articleId", "addToCart"},
		{"size", "list_orders"}, // parameters inside of parameters
		{"at once", "list_orders"},
		{"buy", "addToCart"},
		{"天気", "wetter"},
		{"shop.example", ""},
		{"nothing alike", ""},
		{"", "addToCart cancel list_orders weather wetter"},
		{"!?", "addToCart cancel list_orders weather wetter"},
	} {
		got := x.search(c.query, 50)
		var names []string
		for _, m := range got.Tools {
			names = append(names, m.Name)
		}
		if first, more := strings.CutSuffix(c.want, " …"); more { // the rest does not matter
			names, c.want = names[:min(1, len(names))], first
		}
		if strings.Join(names, " ") != c.want || got.Total != 5 || got.Matched < len(names) {
			t.Errorf("%q finds %q of %+v, want %s", c.query, names, got.Matched, c.want)
		}
	}
	if got := x.search("", 2); len(got.Tools) != 2 || got.Matched != 5 {
		t.Errorf("at most two: %+v", got)
	}
	m := x.search("cancel", 1).Tools[0]
	if len(m.Description) > maxSummary+len("…") || !strings.HasSuffix(m.Description, "…") || m.Site != "shop" {
		t.Errorf("got %+v", m)
	}
	if got := New(nil, Options{Mode: Meta}).search("x", 5); got.Tools == nil || got.Total != 0 {
		t.Errorf("without tools: %+v", got)
	}
}

// TestSearchHolds: every tool is found by its own name, first or tied, and no query
// makes trouble.
func TestSearchHolds(t *testing.T) {
	gatetest.NoRace(t)
	x := searchable()
	for _, e := range x.entries[x.own:] {
		if got := x.search(e.Name, 1); len(got.Tools) != 1 || got.Tools[0].Name != e.Name {
			t.Errorf("%q finds %+v", e.Name, got.Tools)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, maxMatches).Draw(t, "limit")
		query := rapid.OneOf(rapid.String(), rapid.StringMatching(`(add|car|ord|con|the|buy)[a-z]? ?(art|wea|how)`)).Draw(t, "query")
		got := x.search(query, limit)
		if len(got.Tools) > limit || got.Matched > got.Total {
			t.Fatalf("%+v", got)
		}
		if again := searchable().search(query, limit); asJSON(t, again) != asJSON(t, got) {
			t.Fatalf("%+v, then %+v", got, again)
		}
	})
}

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"addToCart": "add to cart", "list_orders-v2": "list order v2", "HTTPServer": "httpserver", "Été, glass boss is": "été glass boss is", "purchases purchasing": "purchas purchas", "東京 tower": "東 京 tower", "": "",
	} {
		if got := strings.Join(words(text), " "); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func TestOwnTools(t *testing.T) {
	x := searchable()
	var found matches
	data, names, e := x.Answer(legacy, Search, read(t, `{"query":"cart","limit":1}`))
	if err := json.Unmarshal(data, &found); e != nil || err != nil || len(found.Tools) != 1 || found.Matched != 2 ||
		!slices.Equal(found.Tools[0].Parameters, []string{"articleId"}) || !slices.Equal(names, []string{"addToCart"}) {
		t.Errorf("%v, %v: %s", e, err, data)
	}
	data, names, e = x.Answer(modern, Describe, read(t, `{"name":"addToCart"}`))
	if e != nil || !slices.Equal(names, []string{"addToCart"}) || string(data) != string(x.entries[x.byName["addToCart"]].json(1)) {
		t.Errorf("described as %s, %v", data, e)
	}
	target, input, err := x.Called(read(t, `{"name":"addToCart","arguments":{"articleId":12345678901234567890}}`))
	if err != nil || target.Tool.Name() != "addToCart" || string(input.Text()) != `{"articleId":12345678901234567890}` {
		t.Errorf("%+v, %s, %v", target, input, err)
	}
	if _, input, err := x.Called(read(t, `{"name":"weather"}`)); err != nil || string(input.Text()) != "{}" {
		t.Errorf("without arguments: %s, %v", input, err)
	}
	// What is in arguments is checked like any call's, so it passes as it is.
	if _, input, err := x.Called(read(t, `{"name":"weather","arguments":[]}`)); err != nil || string(input.Text()) != "[]" {
		t.Errorf("arguments that are a list: %s, %v", input, err)
	}
	for _, c := range []struct {
		tool, arguments string
		code            bridge.Code
		told            string
	}{
		{Search, ``, bridge.SchemaError, `"query" is required`},
		{Search, `null`, bridge.SchemaError, `"query" is required`},
		{Search, `[]`, bridge.SchemaError, "must be an object"},
		{Search, `{"query":7}`, bridge.SchemaError, `"query" is required`},
		{Search, `{"query":"x","limit":0}`, bridge.SchemaError, "from 1 to 50"},
		{Search, `{"query":"x","limit":51}`, bridge.SchemaError, "from 1 to 50"},
		{Search, `{"query":"x","limit":null}`, bridge.SchemaError, "from 1 to 50"},
		{Search, `{"query":"x","limit":1.5}`, bridge.SchemaError, "from 1 to 50"},
		{Search, `{"query":"x","all":1}`, bridge.SchemaError, `no argument "all"`},
		{Describe, `{"name":"cart"}`, bridge.WebtoolNotFound, "Similar ones are: addToCart"},
		{Describe, `{"name":"zzz"}`, bridge.WebtoolNotFound, `There is no tool "zzz" here.`},
		{Describe, `{"name":"pagetools_search"}`, bridge.WebtoolNotFound, ""},
		{Describe, `{"name":"x","arguments":{}}`, bridge.SchemaError, `no argument "arguments"`},
		{Call, `{"name":"pagetools_call"}`, bridge.WebtoolNotFound, ""},
		{Call, `{"name":"zzz","arguments":{}}`, bridge.WebtoolNotFound, ""},
		{Call, `{"arguments":{}}`, bridge.SchemaError, `"name" is required`},
	} {
		var err *bridge.Error
		if c.tool == Call {
			_, _, err = x.Called(read(t, c.arguments))
		} else {
			_, _, err = x.Answer(legacy, c.tool, read(t, c.arguments))
		}
		if err == nil || err.Code != c.code || !strings.Contains(err.Message, c.told) {
			t.Errorf("%s %s: %v", c.tool, c.arguments, err)
		}
	}
}

// TestInstructions: they fit in what clients keep, name the sites, and tell how to
// find tools just where our own tools are.
func TestInstructions(t *testing.T) {
	var many []bridge.Site
	for i := range 40 {
		many = append(many, bridge.Site{Name: fmt.Sprintf("site%d", i), Origin: "https://" + strings.Repeat("x", 300)})
	}
	two := []bridge.Site{{Name: "shop", Origin: "https://shop.example"}, {Name: "demo", Origin: "http://127.0.0.1:9", Local: true}}
	for _, mode := range []Mode{Auto, Direct, Hybrid, Meta} {
		got := Instructions(mode, two, true)
		for word, want := range map[string]bool{"shop (https://shop.example), demo (a local folder)": true, Search: mode != Direct, Call: mode != Direct,
			"begins with the name of its site": true, "not as orders": true, "not in the list": mode == Meta} {
			if strings.Contains(got, word) != want {
				t.Errorf("mode %d: %q is in it: %v\n%s", mode, word, !want, got)
			}
		}
		if got := Instructions(mode, many, false); len(got) > 2048 || !strings.Contains(got, "and 30 more") || strings.Contains(got, "begins with") {
			t.Errorf("mode %d: %d bytes: %s", mode, len(got), got)
		}
		trouble := "The site \"shop\": What went wrong at the site: " + strings.Repeat("x", 300) + "."
		if got := Instructions(mode, two, false, trouble, trouble, trouble, trouble, trouble, trouble); len(got) > 2048 ||
			!strings.Contains(got, trouble) || !strings.HasSuffix(got, "not as orders.") {
			t.Errorf("mode %d, with trouble: %d bytes: %s", mode, len(got), got)
		}
	}
}

// TestAPIs: a site without pages has no page to open, and nothing is said of one.
func TestAPIs(t *testing.T) {
	api := bridge.Site{Name: "words", Origin: "https://words.example", API: true}
	page := bridge.Site{Name: "shop", Origin: "https://shop.example"}
	if got := Instructions(Auto, []bridge.Site{api}, false); strings.Contains(got, "page ") || strings.Contains(got, "ages ") ||
		!strings.Contains(got, "operations of the APIs of web applications: words (https://words.example)") {
		t.Errorf("of an API: %s", got)
	}
	if got := Instructions(Auto, []bridge.Site{api, page}, true); !strings.Contains(got, "in a browser here, or operations of the APIs") {
		t.Errorf("of both: %s", got)
	}
	opens := func(l *List) bool {
		return slices.ContainsFunc(l.entries, func(e entry) bool { return e.Name == Open })
	}
	for _, mode := range []Mode{Auto, Direct, Hybrid, Meta} {
		alone := New([]Source{{Site: api}}, Options{Mode: mode})
		if opens(alone) || alone.told() != "There are no tools now." {
			t.Errorf("mode %d: a page can be opened: %v, %s", mode, opens(alone), alone.told())
		}
		both := New([]Source{{Site: api}, {Site: page}}, Options{Mode: mode, Prefixed: true})
		if !opens(both) {
			t.Errorf("mode %d: the page beside an API cannot be opened", mode)
		}
		if site, _, err := both.Opened(read(t, `{}`)); err != nil || site != "shop" {
			t.Errorf("mode %d: %q is opened, %v", mode, site, err)
		}
	}
}

// read returns arguments as a message brings them.
func read(t *testing.T, text string) bridge.Value {
	t.Helper()
	if text == "" {
		return bridge.Value{}
	}
	v, err := bridge.ReadValue("the arguments", json.RawMessage(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

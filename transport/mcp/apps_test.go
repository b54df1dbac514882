package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/transport/mcp/toolset"
)

// apps are the capabilities of a client that draws apps, and asks in no other way; formsAndApps
// those of one that has forms, too.
const (
	apps         = `{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}`
	formsAndApps = `{"elicitation":{"form":{},"url":{}},"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/x","text/html;profile=mcp-app"]}}}`
	otherApps    = `{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html"]}}}`
)

// serverCan asks what the server can do for a client of these capabilities.
func (c *client) serverCan(capabilities string) map[string]json.RawMessage {
	c.t.Helper()
	a := c.call(1, "server/discover", "{}")
	if !c.modern {
		a = c.send("POST", rpc(1, "initialize", fmt.Sprintf(`{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":"t","version":"1"}}`, c.version, capabilities)))
	}
	var got struct {
		Result struct {
			Capabilities map[string]json.RawMessage
		}
	}
	a.into(c.t, &got)
	return got.Result.Capabilities
}

// listedTool is a tool of a list, as far as the card is concerned.
type listedTool struct {
	Name         string
	OutputSchema json.RawMessage
	Meta         struct {
		Tool json.RawMessage `json:"pagetools/tool"`
		UI   struct {
			ResourceURI string
			Visibility  []string
		}
	} `json:"_meta"`
}

func (c *client) listedTools() map[string]listedTool {
	c.t.Helper()
	var got struct {
		Result struct{ Tools []listedTool }
	}
	c.call(3, "tools/list", "{}").into(c.t, &got)
	all := map[string]listedTool{}
	for _, tool := range got.Result.Tools {
		all[tool.Name] = tool
	}
	return all
}

// TestCardIsOffered: a client that declares MCP Apps gets the card: as a capability, as a resource,
// on the tools that are asked about and on no other, and with the tool that the card calls. No
// other client does, and what it gets is as ever.
func TestCardIsOffered(t *testing.T) {
	for _, files := range []bool{false, true} {
		for _, version := range []string{"2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28"} {
			for capabilities, card := range map[string]bool{apps: true, formsAndApps: true, forms: false, nothing: false, otherApps: false} {
				w := newWorld(t, Options{Files: files})
				w.router.Declare("shop", bridgetest.Tool("look", ""), bridgetest.Returning(bridgetest.Asking("buy", ""), `{"type":"object"}`))
				c := w.as(agent)
				if version == "2026-07-28" {
					c.since2026(capabilities)
				} else {
					c.legacy(version, capabilities)
				}
				offered(t, c, capabilities, card, files)
			}
		}
	}
}

func offered(t *testing.T, c *client, capabilities string, card, files bool) {
	t.Helper()
	can := c.serverCan(capabilities)
	var extensions map[string]json.RawMessage
	_ = json.Unmarshal(can["extensions"], &extensions)
	if got := string(extensions["io.modelcontextprotocol/ui"]); (got == "{}") != card || (can["resources"] != nil) != (card || files) {
		t.Errorf("%s %s: the server can %s", c.version, capabilities, can)
	}
	tools := c.listedTools()
	look, buy := tools["look"], tools["buy"]
	names := []string{"buy", "look"}
	if card {
		names = append(names, "pagetools_card", "pagetools_waiting")
	}
	uri := map[bool]string{true: "ui://pagetools/card"}[card]
	if got := slices.Sorted(maps.Keys(tools)); !slices.Equal(got, names) || buy.Meta.UI.ResourceURI != uri || look.Meta.UI.ResourceURI != "" ||
		look.Meta.Tool == nil || buy.Meta.Tool == nil || (buy.OutputSchema == nil) != card || tools["pagetools_waiting"].Meta.UI.ResourceURI != uri {
		t.Errorf("%s %s: the tools are %+v", c.version, capabilities, tools)
	}
	if own := tools["pagetools_card"]; card && (!slices.Equal(own.Meta.UI.Visibility, []string{"app"}) || own.Meta.UI.ResourceURI != "" || own.Meta.Tool != nil) {
		t.Errorf("%s: %+v", c.version, own)
	}
	list := c.call(3, "resources/list", "{}")
	templates := c.call(3, "resources/templates/list", "{}")
	if listed := strings.Contains(list.body, `{"uri":"ui://pagetools/card","name":"card","title":"A question to you","mimeType":"text/html;profile=mcp-app"}`); listed != card ||
		strings.Contains(templates.body, `"resourceTemplates":[]`) != (card || files) || strings.Contains(list.body, `"error"`) == (card || files) {
		t.Errorf("%s %s: the resources are %s, %s", c.version, capabilities, list.body, templates.body)
	}
	for what, x := range map[string]struct {
		body string
		ttl  int
	}{"templates": {templates.body, 3_600_000}, "files come and go": {list.body, map[bool]int{false: 3_600_000}[files]}} {
		hints := strings.Contains(x.body, fmt.Sprintf(`"ttlMs":%d}`, x.ttl)) && strings.Contains(x.body, `"cacheScope":"private"`)
		if hints != (c.modern && (card || files)) {
			t.Errorf("%s %s, %s: it can be kept as %s says", c.version, capabilities, what, x.body)
		}
	}
	read := c.read("ui://pagetools/card")
	if card {
		isCard(t, c, read)
	} else if code := read.tool(t).Error; code == nil || files && code.Code != map[bool]int{true: -32602, false: -32002}[c.modern] {
		t.Errorf("%s %s reads %s", c.version, capabilities, read.body)
	}
	other := c.read("ui://pagetools/other").tool(t).Error
	if other == nil || (card || files) && other.Code != map[bool]int{true: -32602, false: -32002}[c.modern] {
		t.Errorf("%s: another one is %+v", c.version, other)
	}
}

// read reads a resource.
func (c *client) read(uri string) answer {
	c.header = http.Header{}
	if c.modern {
		c.header.Set("Mcp-Name", uri)
	}
	defer func() { c.header = http.Header{} }()
	return c.call(3, "resources/read", fmt.Sprintf(`{"uri":%q}`, uri))
}

// isCard holds what is read to what hosts of MCP Apps take.
func isCard(t *testing.T, c *client, a answer) {
	t.Helper()
	var got struct {
		Result struct {
			Contents []struct {
				URI, MimeType, Text string
				Meta                json.RawMessage `json:"_meta"`
			}
			TTL   *int64 `json:"ttlMs"`
			Scope string `json:"cacheScope"`
		}
	}
	a.into(t, &got)
	if len(got.Result.Contents) != 1 || c.modern != (got.Result.TTL != nil) || c.modern && (*got.Result.TTL != 3_600_000 || got.Result.Scope != "private") {
		t.Fatalf("%s: the card is %.300s", c.version, a.body)
	}
	page := got.Result.Contents[0]
	if page.URI != "ui://pagetools/card" || page.MimeType != "text/html;profile=mcp-app" || string(page.Meta) != `{"ui":{"prefersBorder":true}}` ||
		!strings.HasPrefix(page.Text, "<!doctype html>") || len(page.Text) > 40<<10 || cardKey(t, page.Text) == "" {
		t.Errorf("%s: the card is %.300s", c.version, a.body)
	}
}

var keyInPage = regexp.MustCompile(`(?:^|[^A-Za-z0-9_-])([A-Za-z0-9_-]{43})(?:[^A-Za-z0-9_-]|$)`)

// cardKey returns the key that the page has.
func cardKey(t testing.TB, page string) string {
	t.Helper()
	found := keyInPage.FindAllStringSubmatch(page, -1)
	if len(found) != 1 {
		t.Fatalf("the card has %d keys: %q", len(found), found)
	}
	return found[0][1]
}

// TestCardIsForSome: who gets the card is the operator's to say, for all and for one caller; nobody
// gets it without the right to elicit.
func TestCardIsForSome(t *testing.T) {
	for _, x := range []struct {
		all, own     string
		caller       bridge.Caller
		capabilities string
		want         bool
		code         string
	}{
		{"", "", agent, apps, true, "FORBIDDEN"}, {"auto", "", agent, apps, true, "FORBIDDEN"}, {"auto", "", agent, nothing, false, "WEBTOOL_NOT_FOUND"}, {"on", "", agent, nothing, true, "FORBIDDEN"},
		{"off", "", agent, apps, false, "WEBTOOL_NOT_FOUND"}, {"off", "on", agent, nothing, true, "FORBIDDEN"}, {"on", "off", agent, apps, false, "WEBTOOL_NOT_FOUND"}, {"off", "auto", agent, apps, true, "FORBIDDEN"},
		{"", "", quiet, apps, false, "FORBIDDEN"}, {"on", "", quiet, nothing, false, "FORBIDDEN"}, {"off", "on", quiet, nothing, false, "FORBIDDEN"},
		{"", "", quiet, nothing, false, "WEBTOOL_NOT_FOUND"}, {"off", "", quiet, apps, false, "WEBTOOL_NOT_FOUND"},
	} {
		w := newWorld(t, Options{Apps: x.all, AppsOf: func(c bridge.Caller) string {
			if c.Name != x.caller.Name {
				t.Errorf("it asks of %q", c.Name)
			}
			return x.own
		}})
		for _, c := range []*client{w.as(x.caller).since2026(x.capabilities), w.as(x.caller).legacy("2025-11-25", x.capabilities)} {
			_, listed := c.listedTools()["pagetools_card"]
			read := c.read("ui://pagetools/card")
			called := c.tool("pagetools_card", `{"ticket":"t","op":"state","proof":"p"}`)
			if listed != x.want || strings.Contains(read.body, "<!doctype") != x.want || called.code() != x.code {
				t.Errorf("%+v: listed %v, read %.80s, called %s %s", x, listed, read.body, called.code(), called.text())
			}
		}
	}
	if _, err := New(nil, Options{Apps: "always"}); err == nil || !strings.Contains(err.Error(), `"always"`) {
		t.Errorf("an unknown word: %v", err)
	}
}

// TestListsOfTheCard: the list has two forms, each with a digest of its own, and a client is told
// of a change of its own form. A session that is taken up again has the form of its handshake.
func TestListsOfTheCard(t *testing.T) {
	key := make([]byte, KeySize)
	w := newWorld(t, Options{Key: key})
	plain, card := w.listed(t.Context(), scope{caller: agent}, false), w.listed(t.Context(), scope{caller: agent}, true)
	for _, p := range []protocol{"2025-11-25", "2026-07-28"} {
		if plain.Digest(p) == card.Digest(p) || card.Digest(p) != w.listed(t.Context(), scope{caller: agent}, true).Digest(p) {
			t.Errorf("%s: the digests are %s and %s", p, plain.Digest(p), card.Digest(p))
		}
	}
	c := w.as(agent).legacy("2025-11-25", apps)
	if !strings.Contains(c.names(), "pagetools_card") {
		t.Errorf("it lists %s", c.names())
	}
	again := newWorld(t, Options{Key: key}).as(agent) // another process
	again.version, again.session = c.version, c.session
	if !strings.Contains(again.names(), "pagetools_card") {
		t.Errorf("taken up again, it lists %s", again.names())
	}
}

// TestCardOfHybrid: with tools that are found first, only those that are listed and asked about
// have the card; pagetools_call and its like never do.
func TestCardOfHybrid(t *testing.T) {
	w := newWorld(t, Options{Tools: "hybrid"})
	c := w.as(agent).since2026(apps)
	with := func() string {
		var names []string
		for name, tool := range c.listedTools() {
			if tool.Meta.UI.ResourceURI != "" {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return strings.Join(names, " ")
	}
	if got := with(); got != "pagetools_waiting" {
		t.Errorf("before anything was found, %s have the card", got)
	}
	r := c.tool("pagetools_call", `{"name":"buy","arguments":{"n":1}}`)
	if r.Result.IsError || !strings.Contains(r.text(), "Call pagetools_waiting now") || ticketIn(r) == "" {
		t.Errorf("the call waits with %s", r.text())
	}
	if got := with(); got != "buy pagetools_waiting" {
		t.Errorf("after it was called, %s have the card", got)
	}
	if r := c.tool("pagetools_call", `{"name":"pagetools_card","arguments":{}}`); r.code() != "WEBTOOL_NOT_FOUND" {
		t.Errorf("pagetools_call reaches the tool of the card: %s", r.text())
	}
}

// TestWaitsOnTheCard: a call that waits for a person is no error for a client with the card: the
// text has the question, and nothing to answer it with; the ticket is in _meta.
func TestWaitsOnTheCard(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		w := newWorld(t, Options{Operators: func(bool) string { return "http://127.0.0.1:7301/" }})
		c := w.as(agent).since2026(apps)
		if version != "2026-07-28" {
			c = w.as(agent).legacy(version, apps)
		}
		r := c.tool("buy", `{"n":1}`)
		want := `"buy" waits for the user. Run buy on shop? A card shows the question to the user, who answers there until 00:00 UTC. You cannot answer it. ` +
			"When the user says that it is answered, call the tool again with the same arguments: it does not run twice."
		if got := regexp.MustCompile(`\d\d:\d\d UTC`).ReplaceAllString(r.text(), "00:00 UTC"); got != want || r.Result.IsError || r.Result.Structured != nil || ticketIn(r) == "" {
			t.Errorf("%s: %q %+v", version, got, r.Result.Meta)
		}
		if again := c.tool("buy", `{"n":1}`); ticketIn(again) == "" || again.text() != r.text() || len(w.router.Calls()) != 0 {
			t.Errorf("%s: called again: %s", version, again.text())
		}
		if one := c.tool("buy", `{"n":2}`); ticketIn(one) == "" {
			t.Errorf("%s: another call: %s", version, one.text())
		}
		list := c.tool(toolset.Waiting, `{}`)
		var of struct{ Tickets []string }
		_ = json.Unmarshal(list.Result.Meta[metaCard], &of)
		if ticketIn(list) == "" || len(of.Tickets) != 2 || of.Tickets[0] != ticketIn(list) || strings.Contains(list.text(), "7301") || !strings.Contains(list.text(), "A card shows the question") {
			t.Errorf("%s: %s has %s %s", version, toolset.Waiting, list.text(), list.Result.Meta[metaCard])
		}
	}
}

// TestWhoIsAskedWhere: elicitation comes first where a client has it, and the card before it for
// what a person does in the page; a question that may be another caller's is never on a card.
func TestWhoIsAskedWhere(t *testing.T) {
	for _, x := range []struct {
		capabilities string
		kind         bridge.Kind
		foreign      bool
		elicits      bool
		card         bool
	}{
		{formsAndApps, bridge.Confirm, false, true, false}, {formsAndApps, bridge.Interact, false, false, true}, {apps, bridge.Confirm, false, false, true},
		{apps, bridge.Prompt, false, false, true}, {apps, bridge.Interact, false, false, true}, {forms, bridge.Confirm, false, true, false},
		{nothing, bridge.Confirm, false, false, false}, {apps, bridge.Confirm, true, false, false}, {formsAndApps, bridge.Interact, true, false, false},
	} {
		w := newWorld(t, Options{Operators: func(bool) string { return "http://127.0.0.1:7301/" }})
		w.asking(bridge.Question{Kind: x.kind, Title: "The page asks.", Detail: "Sure?", Foreign: x.foreign})
		c := w.as(agent).since2026(x.capabilities)
		r := c.tool("look", `{}`)
		if elicits := r.Result.ResultType == "input_required"; elicits != x.elicits || (ticketIn(r) != "") != x.card || r.Result.IsError == (x.card || x.elicits) {
			t.Errorf("%+v: %s", x, r.text())
		}
		if x.card && !strings.Contains(r.text(), "Call pagetools_waiting now") { // it runs at once, so that its calls draw no card
			t.Errorf("%+v: %s", x, r.text())
		}
	}
}

// TestPromisesOfWhatWaits: a client that knows an outputSchema of a tool takes no result without
// that shape; that a call of such a tool waits is an error for it, with its ticket.
func TestPromisesOfWhatWaits(t *testing.T) {
	w := newWorld(t, Options{})
	w.router.Declare("shop", bridgetest.Returning(bridgetest.Tool("look", ""), `{"type":"object"}`), bridgetest.Returning(bridgetest.Asking("buy", ""), `{"type":"object"}`))
	w.asking(bridge.Question{Kind: bridge.Confirm, Title: "The page asks."})
	c := w.as(agent).since2026(apps)
	if r := c.tool("look", `{}`); !r.Result.IsError || ticketIn(r) == "" || c.listedTools()["look"].OutputSchema == nil {
		t.Errorf("a tool that promises a shape: %s", r.text())
	}
	if r := c.tool("buy", `{}`); r.Result.IsError || ticketIn(r) == "" || c.listedTools()["buy"].OutputSchema != nil {
		t.Errorf("one that is asked about, and therefore promises none: %s", r.text())
	}
}

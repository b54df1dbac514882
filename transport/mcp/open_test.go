package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
)

// TestBackToTheStart: where the caller's page has no tools there is a tool that goes back
// to the site's start, and it is named where a tool is missing. E6.
func TestBackToTheStart(t *testing.T) {
	every(t, nothing, func(t *testing.T, w *world, c *client) {
		if got := c.names(); got != "buy look" { // the control
			t.Errorf("a page with tools: %s", got)
		}
		w.router.DeclareIn("shop", "mcp")
		w.router.Show("shop", "mcp", "https://shop.example/thanks?order=7")
		list := c.call(3, "tools/list", "{}").body
		if c.names() != "pagetools_open" || !strings.Contains(list, `\"shop\" shows https://shop.example/thanks, which has no tools.`) ||
			strings.Contains(list, "order=7") || strings.Contains(list, `"path"`) || strings.Contains(list, `"site":{`) {
			t.Errorf("the list is %s", list)
		}
		if r := c.tool("look", `{}`); !strings.Contains(r.text(), "pagetools_open goes back to the start") {
			t.Errorf("a tool that is gone: %s", r.text())
		}
		for _, bad := range []string{`{"site":"bank"}`, `{"path":7}`, `{"url":"https://evil.example"}`, `[]`} {
			if r := c.tool("pagetools_open", bad); r.code() != "SCHEMA_ERROR" {
				t.Errorf("%s: %s", bad, r.text())
			}
		}
		if r := c.tool("pagetools_open", `{"path":"/x"}`); r.code() != "CONFIG_ERROR" {
			t.Errorf("a path that the operator did not allow: %s", r.text())
		}
		if n := len(w.router.Calls()); n != 0 {
			t.Errorf("the page was reached %d times", n)
		}
		if r := c.tool("pagetools_open", `{}`); r.Result.IsError || !strings.Contains(r.text(), "There are: buy, look.") || c.names() != "buy look" {
			t.Errorf("it opens: %s", r.text())
		}
		if calls := w.router.Calls(); len(calls) != 1 || calls[0].Input != "" || calls[0].Ref.Session != "mcp" || calls[0].Ref.Beside || w.router.Leases() != 0 {
			t.Errorf("the page got %+v", calls)
		}
		down := bridge.Errorf(bridge.InternalError, bridge.Unreachable, bridge.NotRun, "Nobody listens there.")
		w.router.Declare("shop")
		c.names()
		w.router.Fail("shop", down)
		w.router.FailAcquire("shop", down)
		if list := c.call(3, "tools/list", "{}").body; !strings.Contains(list, `\"shop\" cannot be reached now: Nobody listens there.`) {
			t.Errorf("a site that is down: %s", list)
		}
		if r := c.tool("pagetools_open", `{}`); r.code() != "INTERNAL_ERROR" || !strings.Contains(r.text(), "Nobody listens there.") {
			t.Errorf("a site that is down: %s", r.text())
		}
	})
}

// TestOpenAPath: where the operator lets config have path, a caller may go there; and with
// several sites it says which.
func TestOpenAPath(t *testing.T) {
	w := newWorld(t, Options{})
	w.router.Add("mail", named("send")...)
	b, err := bridge.New(w.router, bridge.Options{Sites: map[string]bridge.SiteOptions{"shop": {AllowConfig: []string{"path"}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	w.b = b
	c := w.as(agent).since2026(nothing)
	w.router.DeclareIn("shop", "mcp")
	var got struct {
		Result struct {
			Tools []struct {
				Name        string
				InputSchema struct{ Properties map[string]any }
			}
		}
	}
	c.call(3, "tools/list", "{}").into(t, &got)
	if open := got.Result.Tools[0]; open.Name != "pagetools_open" || len(open.InputSchema.Properties) != 2 {
		t.Errorf("listed is %+v", got)
	}
	if r := c.tool("pagetools_open", `{"path":"/cart"}`); r.code() != "SCHEMA_ERROR" {
		t.Errorf("of which site: %s", r.text())
	}
	if r := c.tool("pagetools_open", `{"site":"shop","path":"//evil.example/"}`); r.code() != "CONFIG_ERROR" {
		t.Errorf("another host: %s", r.text())
	}
	if r := c.tool("pagetools_open", `{"site":"mail","path":"/cart"}`); r.code() != "CONFIG_ERROR" {
		t.Errorf("a site whose operator allows none: %s", r.text())
	}
	if r := c.tool("pagetools_open", `{"site":"shop","path":"/cart"}`); r.Result.IsError || len(w.router.Calls()) != 1 || w.router.Calls()[0].Input != `{"path":"/cart"}` {
		t.Errorf("%s, %+v", r.text(), w.router.Calls())
	}
}

// TestServerTitle: where a client is given one site, it is told the title of its page, which
// cannot pass for more than that, and its address. E11.
func TestServerTitle(t *testing.T) {
	title, icon := "", ""
	w := newWorld(t, Options{Version: "1", Page: func(string) (string, string) { return title, icon }})
	about := func(c *client, method string) (info string) {
		c.path = "/mcp/shop"
		a := c.call(1, method, `{"protocolVersion":"2025-11-25"}`)
		var got struct {
			Result struct {
				ServerInfo json.RawMessage
				Meta       map[string]json.RawMessage `json:"_meta"`
			}
		}
		a.into(t, &got)
		return string(got.Result.ServerInfo) + string(got.Result.Meta["io.modelcontextprotocol/serverInfo"])
	}
	for given, want := range map[string]string{
		"":                           `{"name":"pagetools","version":"1","websiteUrl":"https://site.example"}`,
		" Stamps\n and \u202ecoins ": `{"name":"pagetools","version":"1","title":"Stamps and coins (shop)","websiteUrl":"https://site.example"}`,
		strings.Repeat("long", 100):  `{"name":"pagetools","version":"1","title":"` + strings.Repeat("long", 20) + `… (shop)","websiteUrl":"https://site.example"}`,
	} {
		title = given
		for method, c := range map[string]*client{"initialize": w.as(agent), "server/discover": w.as(agent).since2026(nothing)} {
			if got := about(c, method); got != want {
				t.Errorf("%s: %q gives %s, want %s", method, title, got, want)
			}
		}
	}
	for icon = range map[string]bool{"https://site.example/i.svg": true, "https://site.example.evil/i.svg": false, "": false} {
		shown := strings.Contains(about(w.as(agent), "initialize"), `"icons":[{"src":"`+icon+`"}]`)
		if shown != (icon == "https://site.example/i.svg") {
			t.Errorf("that the icon %q is told is %t", icon, shown)
		}
	}
	set, err := w.bridge.PrepareSites(map[string]bridge.SiteOptions{"shop": {}, "other": {}})
	if err != nil {
		t.Fatal(err)
	}
	set(func() { w.router.Add("other") })
	c := w.as(agent).since2026(nothing)
	if a := c.call(1, "server/discover", "{}"); strings.Contains(a.body, "websiteUrl") || strings.Contains(a.body, `"title"`) {
		t.Errorf("of several sites it says %s", a.body)
	}
}

// TestWordsOfErrors: a client is told what is wrong in our words and with the field, and a
// stream that it cannot take is refused as such. E11.
func TestWordsOfErrors(t *testing.T) {
	w := newWorld(t, Options{Tools: "meta"})
	w.router.Declare("shop", bridgetest.Returning(bridgetest.Tool("count", ""), `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`))
	c := w.as(agent).since2026(nothing)
	if r := c.tool("pagetools_call", `{"name":"count","arguments":"{\"a\":1}"}`); r.code() != "SCHEMA_ERROR" || !strings.Contains(r.text(), `They must be a JSON object: write {"a": 1}`) {
		t.Errorf("arguments as a text: %s", r.text())
	}
	w.router.Answer("shop", `{"n":"seven"}`, nil)
	if r := c.tool("pagetools_call", `{"name":"count"}`); r.Result.IsError || !strings.Contains(string(r.Result.Meta["pagetools/schemaViolation"]), `"pointer":"/n"`) {
		t.Errorf("a result that does not fit: %s, %s", r.text(), r.Result.Meta)
	}
	c.header.Set("Accept", "application/json")
	if a := c.call(`"sub"`, "subscriptions/listen", `{"notifications":{"toolsListChanged":true}}`); a.status != 406 || !strings.Contains(a.body, `"id":"sub"`) {
		t.Errorf("a stream for who takes none: %d %s", a.status, a.body)
	}
	if a := c.call(1, "tools/list", "{}"); a.status != 200 { // the control
		t.Errorf("a list for the same: %d %s", a.status, a.body)
	}
	c.header.Set("Mcp-Name", "other")
	if a := c.call(2, "tools/call", `{"name":"count"}`); a.status != 400 || !strings.Contains(a.body, "The header Mcp-Name is missing, or is not what the body says: send the same in both.") {
		t.Errorf("another name: %d %s", a.status, a.body)
	}
}

package mcp

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
)

// TestMissingTools: a call of a tool that is not there is a tool error that says why, what
// there is, and what sounds like it. E5, D9.
func TestMissingTools(t *testing.T) {
	every(t, nothing, func(t *testing.T, w *world, c *client) {
		says := func(name, why string, wants ...string) {
			t.Helper()
			r := c.tool(name, `{}`)
			for _, want := range append(wants, why) {
				if r.Error != nil || !r.Result.IsError || r.code() != "WEBTOOL_NOT_FOUND" || !strings.Contains(r.text(), want) {
					t.Errorf("%q: %s; want %q", name, r.text(), want)
				}
			}
		}
		w.router.Declare("shop", named("find_stamps", "buy_stamp", "map")...)
		c.names()
		says("find_stamp", `There is no tool "find_stamp" here.`, "Similar ones are: find_stamps", "There are: buy_stamp, find_stamps, map.")
		says("findStamps", "Similar ones are: find_stamps")
		says("shop.find-stamps", "Similar ones are: find_stamps")
		if r := c.tool("zzz", `{}`); strings.Contains(r.text(), "Similar") {
			t.Errorf("zzz is like %s", r.text())
		}
		w.router.DeclareIn("shop", "mcp", named("pay", "find_stamps")...)
		says("map", "which does not offer it", "There are: find_stamps, pay.")
		w.router.DeclareIn("shop", "mcp")
		says("find_stamps", `took it away since`, "There are no tools of pages now.")
		says("map", "which does not offer it") // still known
		w.router.DeclareIn("shop", "mcp", named("map")...)
		if r := c.tool("map", `{}`); r.Result.IsError {
			t.Errorf("it is back: %s", r.text())
		}
		down := bridge.Errorf(bridge.InternalError, bridge.Unreachable, bridge.NotRun, "Nobody listens there.")
		down.Retry = 3 * time.Second
		w.router.Fail("shop", down)
		says("pay", `The site "shop" cannot be reached now: Nobody listens there.`, "its last list", "There are: map.", "Wait 3 seconds")
		w.router.Fail("shop", nil)
		if r := c.tool("pay", `{}`); strings.Contains(r.text(), "cannot be reached") {
			t.Errorf("it is reached again: %s", r.text())
		}
		if r := c.call(9, "tools/call", `{}`); r.status != 400 && !strings.Contains(r.body, "-32602") {
			t.Errorf("without a name: %d %s", r.status, r.body)
		}
	})
}

// TestPagesThatWentAway: what a page shows is told without what may be secret.
func TestPagesThatWentAway(t *testing.T) {
	w := newWorld(t, Options{})
	c := w.as(agent).since2026(nothing)
	w.router.DeclareIn("shop", "mcp", named("map")...)
	w.router.Show("shop", "mcp", "https://shop.example/cart?token=1#x")
	c.names()
	w.router.DeclareIn("shop", "mcp", named("pay")...)
	w.router.Show("shop", "mcp", "https://shop.example/\u202epay?token=2")
	r := c.tool("map", `{}`)
	if want := "It was a tool of https://shop.example/cart; the page went to https://shop.example/%E2%80%AEpay since."; !strings.Contains(r.text(), want) || strings.Contains(r.text(), "token") {
		t.Errorf("%s", r.text())
	}
}

// TestManyToolsAreTold: the names in a text are bounded.
func TestManyToolsAreTold(t *testing.T) {
	w := newWorld(t, Options{})
	w.router.Declare("shop", named(manyNames("t%03d", 200)...)...)
	r := w.as(agent).legacy("2025-11-25", nothing).tool(strings.Repeat("\u202ex", 9000), `{}`)
	if text, _ := json.Marshal(r.text()); len(text) > 3000 || !strings.Contains(r.text(), "t059, and 140 more.") {
		t.Errorf("%d bytes: %s", len(text), text)
	}
}

// TestOutcomesOfToolsThatWent: a call that stopped is gone on with by the name that its tool had,
// also when the page has navigated since and has other tools: the client gets its outcome, and
// never hears that nothing ran.
func TestOutcomesOfToolsThatWent(t *testing.T) {
	for name, test := range map[string]struct {
		capabilities string
		call, other  [2]string // name and arguments
		modern       bool
	}{
		"with its state":               {forms, [2]string{"look", `{"a":1}`}, [2]string{"look", `{"a":2}`}, true},
		"once more":                    {nothing, [2]string{"look", `{"a":1}`}, [2]string{"look", `{"a":2}`}, true},
		"once more, in a session":      {nothing, [2]string{"look", `{"a":1}`}, [2]string{"map", `{"a":1}`}, false},
		"through a tool of ours":       {nothing, [2]string{"pagetools_call", `{"name":"look","arguments":{"a":1}}`}, [2]string{"pagetools_call", `{"name":"look","arguments":{"a":2}}`}, false},
		"through ours, with its state": {forms, [2]string{"pagetools_call", `{"name":"look","arguments":{"a":1}}`}, [2]string{"pagetools_call", `{"name":"map","arguments":{"a":1}}`}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, Options{Tools: "hybrid"})
			w.router.DeclareIn("shop", "mcp", named("look", "map")...)
			w.router.Handle("shop", func(context.Context, bridge.Invocation) bridge.Step {
				return bridgetest.Asks(bridge.Question{Kind: bridge.Confirm, Title: "The page asks."}, func(*bridge.Answer) bridge.Step {
					return bridge.Errorf(bridge.InternalError, bridge.PageNavigated, bridge.Unknown, "The page went on.").Step()
				})
			})
			c := w.as(agent).legacy("2025-11-25", test.capabilities)
			if test.modern {
				c = w.as(agent).since2026(test.capabilities)
			}
			c.names()
			first := c.tool(test.call[0], test.call[1])
			for _, q := range bridgetest.Questions(w.bridge, operator) {
				if err := w.bridge.Answer(operator, q.ID, bridge.Answer{OK: true}); err != nil {
					t.Fatal(err)
				}
			}
			w.router.DeclareIn("shop", "mcp", named("pay")...)
			if r := c.tool(test.other[0], test.other[1]); r.code() != "WEBTOOL_NOT_FOUND" {
				t.Errorf("another call: %s", r.text())
			}
			again := c.tool
			if first.Result.RequestState != "" {
				again = func(tool, arguments string) toolReply { return c.retry(tool, arguments, first, "accept", `{}`) }
			}
			if r := again(test.call[0], test.call[1]); r.code() != "INTERNAL_ERROR" || !strings.Contains(r.text(), "The page went on.") {
				t.Errorf("its outcome: %s", r.text())
			}
			if r := c.tool(test.call[0], test.call[1]); r.code() != "WEBTOOL_NOT_FOUND" {
				t.Errorf("when it was told: %s", r.text())
			}
		})
	}
}

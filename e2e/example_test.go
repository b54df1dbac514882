package e2e_test

import (
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/e2e"
	"github.com/pagetools/pagetools/e2e/check"
)

// The documentation shows the tests of this file.

func TestStamps(t *testing.T) {
	t.Parallel()
	app := e2e.Start(t, e2e.Options{Dir: "testdata/site"})
	page := app.Open(t, "/stamps.html")
	page.MatchLock(t, "testdata/stamps.lock")
	page.Check(t, e2e.FailOn(check.Warning),
		e2e.Rule("consequential-missing", check.Setting{Severity: check.Off})) // the page asks itself
	page.Human(e2e.Accept("Buy product 42?"))
	got := page.Call(t, "buyProduct", map[string]any{"product_id": "42"})
	got.Match(t, `{"content": [{"text": {"$contains": "purchased"}}]}`)
	got.Effects(t).Only(e2e.POST("/orders"))
}

func TestScenarios(t *testing.T) { e2e.Run(t, "testdata/*.webtool.yaml") }

func TestPurchaseDeclined(t *testing.T) {
	t.Parallel()
	page := e2e.Start(t, e2e.Options{Dir: "testdata/site"}).Open(t, "/stamps.html")
	page.Human(e2e.Decline("").To(bridge.Confirm))
	got := page.CallError(t, "buyProduct", map[string]any{"product_id": "42"})
	got.Match(t, `{"code": "TOOL_ERROR", "message": {"$contains": "said no"}}`)
	got.Effects(t).None()
}

func TestAdapter(t *testing.T) {
	t.Parallel()
	app := e2e.Start(t, e2e.Options{Dir: "testdata/plain"}, e2e.WithAdapter("testdata/plain.js"))
	page := app.Open(t, "")
	page.Call(t, "heading", nil).Match(t, `"A page without tools"`)
}

package session_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/sessiontest"
)

// A Manager opens sites with an engine, and is the router of a bridge. With package
// session/cdp in the place of the fake engine, the pages are real.
func ExampleManager() {
	engine := sessiontest.NewEngine()
	engine.Handle("https://shop.test/", func(d *sessiontest.Document) {
		d.Register(sessiontest.Tool{Name: "hours", Run: func(*sessiontest.Call) (json.RawMessage, error) {
			return json.RawMessage(`"9 to 5"`), nil
		}})
	})
	m := session.New(session.Options{Engine: engine, Sites: []session.SiteOptions{{
		Site: bridge.Site{Name: "shop", Origin: "https://shop.test"}, URL: "https://shop.test/",
	}}})
	defer func() { _ = m.Close() }()

	ctx, ref := context.Background(), bridge.Ref{Site: "shop", Caller: bridge.Local()}
	catalog, err := m.Await(ctx, ref)
	if err != nil {
		fmt.Println(err)
		return
	}
	page, err := m.Acquire(ctx, ref)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer page.Release()
	step := page.Invoke(ctx, bridge.Invocation{Tool: catalog.Tool("hours"), Input: json.RawMessage(`{}`)})
	fmt.Println(string(step.Data))
	// Output: "9 to 5"
}

package cdp_test

import (
	"context"
	"fmt"

	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp"
)

// A browser that is started here opens a page and reports the tools that it registers. It
// needs a browser, so it is compiled and not run.
func ExampleNewLocal() {
	engine, err := cdp.NewLocal(cdp.LocalOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = engine.Close() }()
	ctx := context.Background()
	tab, err := engine.Open(ctx, session.TabOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = tab.Close(ctx) }()
	if err := tab.Load(ctx, "https://shop.example/"); err != nil {
		fmt.Println(err)
		return
	}
	for event := range tab.Events() {
		if change, ok := event.(session.ToolsChanged); ok {
			fmt.Println(len(change.Tools))
			return
		}
	}
}

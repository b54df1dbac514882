package app_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/e2e/app"
)

// A folder with a web application is opened in a browser, and a tool of its page is
// called. It needs a browser, so it is compiled and not run.
func ExampleStart() {
	target, err := app.ParseTarget("./shop")
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	a, err := app.Start(ctx, app.Options{Sites: []app.Site{{Target: target}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = a.Close() }()
	in, err := bridge.ReadValue("arguments", json.RawMessage(`{"query":"tea"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	data, err := a.Bridge.Do(ctx, &bridge.Call{Site: target.Name, Tool: "search", Caller: bridge.Local(), Input: in})
	fmt.Println(string(data), err)
}

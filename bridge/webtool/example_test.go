package webtool_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/pagetools/pagetools/bridge/webtool"
)

// A webtool gets a number for each set of actions, and the old one back for a set that
// was there before.
func ExampleHistory() {
	h := webtool.NewHistory("shop", webtool.Options{})
	object := json.RawMessage(`{"type":"object"}`)
	search := webtool.NewAction(webtool.Action{Name: "search", Description: "Finds things."}, object, nil)
	buy := webtool.NewAction(webtool.Action{Name: "buy", Description: "Buys one."}, object, nil)
	config := webtool.Config{Schema: object, Default: json.RawMessage(`{}`)}
	for catalog, actions := range [][]webtool.Action{{search}, {search, buy}, {buy}, {search}} {
		d, err := h.Observe(context.Background(), catalog, func() *webtool.Document { return webtool.Draft("shop", "A shop.", actions, config) })
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(d.Version)
	}
	// Output:
	// 1.0.0
	// 1.1.0
	// 2.0.0
	// 1.0.0
}

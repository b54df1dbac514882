package toolset_test

import (
	"fmt"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/transport/mcp/toolset"
)

// The list of a site for MCP clients. A name that some client refuses is replaced, and the
// page's own name is still found.
func ExampleNew() {
	catalog, _ := bridge.NewCatalog(nil, []bridge.Declaration{
		bridgetest.Tool("search", ""), bridgetest.Tool("shop.buy", ""),
	}, bridge.Limits{})
	list := toolset.New([]toolset.Source{{
		Site: bridge.Site{Name: "shop", Origin: "https://site.example"}, Version: "1.0.0", Tools: catalog.Tools(),
	}}, toolset.Options{})
	for _, name := range []string{"search", "shop.buy", "sell"} {
		target, found := list.Find(name)
		fmt.Println(name, found, target.Name)
	}
	// Output:
	// search true search
	// shop.buy true shop_buy_51e79e
	// sell false
}

package mcp_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/transport/mcp"
)

// A site as an MCP server on standard input and output. Any bridge.Router takes the place
// of the scripted one.
func ExampleFace_ServeStdio() {
	b, err := bridge.New(bridgetest.NewRouter().Add("shop", bridgetest.Tool("echo", "")), bridge.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Close()
	face, err := mcp.New(b, mcp.Options{Version: "1.0.0"})
	if err != nil {
		fmt.Println(err)
		return
	}
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":1},` +
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}` + "\n")
	if err := face.ServeStdio(context.Background(), in, os.Stdout, bridge.Local(), "shop"); err != nil {
		fmt.Println(err)
	}
	// Output: {"jsonrpc":"2.0","id":1,"result":{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"pagetools","version":"1.0.0"}},"content":[{"type":"text","text":"{\"a\":1}"}],"resultType":"complete","structuredContent":{"a":1}}}
}

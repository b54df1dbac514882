package mcp

import (
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
)

// BenchmarkCall makes calls of a tool that answers at once: from the text of the message
// to that of the reply, without HTTP.
func BenchmarkCall(b *testing.B) {
	router := bridgetest.NewRouter().Add("shop", bridgetest.Tool("look", ""))
	br, err := bridge.New(router, bridge.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer br.Close()
	f, err := New(br, Options{})
	if err != nil {
		b.Fatal(err)
	}
	for e, meta := range map[protocol]string{legacy: "", modern: modernMeta + ","} {
		text := []byte(rpc(1, "tools/call", `{`+meta+`"name":"look","arguments":{"n":"`+strings.Repeat("x", 200)+`"}}`))
		b.Run(string(e), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				m, failed := readMessage(text)
				if failed != nil {
					b.Fatal(failed.Message)
				}
				x := &exchange{face: f, scope: scope{caller: agent, session: defaultSession}, message: m, protocol: e, id: "x"}
				if _, failed = x.serve(b.Context()); failed != nil {
					b.Fatal(failed.Message)
				}
			}
		})
	}
}

// modernMeta is the _meta of a request of 2026-07-28.
const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

package mcp

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
)

// BenchmarkCall makes calls of a tool that answers at once.
func BenchmarkCall(b *testing.B) {
	for e, meta := range map[protocol]string{legacy: "", modern: modernMeta + ","} {
		b.Run(string(e), func(b *testing.B) {
			ask(b, e, rpc(1, "tools/call", `{`+meta+`"name":"look","arguments":{"n":"`+strings.Repeat("x", 200)+`"}}`),
				bridgetest.NewRouter().Add("shop", bridgetest.Tool("look", "")))
		})
	}
}

// BenchmarkList lists the tools of a page with many.
func BenchmarkList(b *testing.B) {
	var tools []bridge.Declaration
	for i := range 256 {
		tools = append(tools, bridgetest.Tool(fmt.Sprint("look", i), ""))
	}
	ask(b, legacy, rpc(1, "tools/list", `{}`), bridgetest.NewRouter().Add("shop", tools...))
}

// BenchmarkLarge takes results of 900 kB: one text in the words of MCP, and data.
func BenchmarkLarge(b *testing.B) {
	text := strings.Repeat("x", 900_000)
	for name, result := range map[string]string{
		"text": `{"content":[{"type":"text","text":"` + text + `"}]}`,
		"data": `{"rows":[` + strings.Repeat(`{"id":12,"name":"a row of a table"},`, 25_000) + `{}]}`,
	} {
		b.Run(name, func(b *testing.B) {
			router := bridgetest.NewRouter().Add("shop", bridgetest.Tool("look", ""))
			router.Answer("shop", result, nil)
			ask(b, legacy, rpc(1, "tools/call", `{"name":"look","arguments":{}}`), router)
		})
	}
}

// BenchmarkTask asks over HTTP what became of a task that still runs.
func BenchmarkTask(b *testing.B) {
	w := newWorld(b, Options{TaskAfter: time.Millisecond})
	w.steps()
	c := w.as(agent).since2026(takesTasks)
	id := c.makesTask()
	for b.Loop() {
		if r := c.task("tasks/get", id, ""); r.Result.Status != "working" {
			b.Fatal(r.body)
		}
	}
}

// ask sends one message again and again: from its text to that of the reply, without HTTP.
func ask(b *testing.B, e protocol, message string, router *bridgetest.Router) {
	br, err := bridge.New(router, bridge.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer br.Close()
	f, err := New(br, Options{Tools: "direct"})
	if err != nil {
		b.Fatal(err)
	}
	text := []byte(message)
	b.ReportAllocs()
	for b.Loop() {
		m, failed := readMessage(text)
		if failed != nil {
			b.Fatal(failed.Message)
		}
		x := &exchange{face: f, scope: scope{caller: agent, session: defaultSession}, message: m, protocol: e, id: "x"}
		reply, failed := x.serve(b.Context())
		if failed != nil {
			b.Fatal(failed.Message)
		}
		b.SetBytes(int64(len(reply)))
	}
}

// modernMeta is the _meta of a request of 2026-07-28.
const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

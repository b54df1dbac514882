package mcp

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/transport/mcp/toolset"
)

// TestTranscripts holds the wire to what clients have seen: each file in testdata is
// a conversation. A line with ">" is sent, one with "<" comes back, and one with "!" is a step of
// the test (see transcript.do). Everything else is for readers. Each "-- section --" begins with a
// new process and a new client. With -update the answers are written anew.
func TestTranscripts(t *testing.T) {
	bridgetest.Transcripts(t, replay)
}

// replay speaks as a file says, and returns the file with what came back.
func replay(t *testing.T, text string) string {
	var out strings.Builder
	var tr *transcript
	over, version := "", ""
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "< ") || line == "<\n" {
			continue
		}
		out.WriteString(line)
		if rest, ok := strings.CutPrefix(line, "over "); ok {
			over, version, _ = strings.Cut(strings.TrimSpace(rest), " ")
		}
		if strings.HasPrefix(line, "-- ") {
			tr = newTranscript(t, &out, over, version)
		}
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch kind {
		case ">":
			tr.send(rest)
		case "!":
			name, arguments, _ := strings.Cut(rest, " ")
			tr.do(name, arguments)
		}
	}
	return out.String()
}

// transcript is one section on its way.
type transcript struct {
	*client

	out    *strings.Builder
	pipe   *pipe          // of stdio; nil over HTTP
	stream *bufio.Scanner // of an HTTP response that goes on
	close  func()
	state  string // the last requestState
}

func newTranscript(t *testing.T, out *strings.Builder, over, version string) *transcript {
	w := newWorld(t, Options{Version: "1.2.3", Operators: func(bool) string { return "http://127.0.0.1:7301/" }})
	w.router.Declare("shop", shopTools()...)
	w.router.Handle("shop", shopCalls)
	tr := &transcript{client: w.as(agent), out: out, close: func() {}}
	if tr.version = version; version == "2026-07-28" {
		tr.since2026(forms)
	}
	if over == "stdio" {
		tr.pipe = w.stdio(agent)
	}
	return tr
}

// shopTools are the declarations of the transcripts: each kind of list entry once.
func shopTools() []bridge.Declaration {
	odd := bridgetest.Returning(bridgetest.Tool("blau grün", `{"type":["object","null"],"properties":{"a":true,"b":{"x-mcp-header":"B"}},`+
		`"required":["a"],"Properties":{}}`), `{"type":"object","properties":{"n":{"type":"number"}},"required":["n"]}`)
	odd.Title, odd.Annotations = "Blue & green", json.RawMessage(`{"readOnlyHint":true,"idempotentHint":"yes"}`)
	frame := bridgetest.Returning(bridgetest.Tool("pagetools_search", ""), `{"type":"array","prefixItems":[{"type":"string"}]}`)
	frame.Own, frame.Frame, frame.Origin = false, "f1", "https://ads.example"
	return []bridge.Declaration{bridgetest.Tool("look", `{"properties":{"n":{"type":"integer"}},"additionalProperties":false}`),
		bridgetest.Asking("buy", ""), bridgetest.Tool("fail", ""), bridgetest.Tool("blocks", ""), bridgetest.Tool("ask", ""), odd, frame}
}

// shopCalls returns their outcomes.
func shopCalls(_ context.Context, inv bridge.Invocation) bridge.Step {
	switch inv.Tool.Name() {
	case "fail":
		return bridge.Errorf(bridge.ToolError, "", bridge.Failed, "Out of <stock>.").Step()
	case "blocks":
		return bridge.Step{Data: json.RawMessage(`{"content":[{"type":"text","text":"one"},{"type":"image","data":"AA==","mimeType":"image/png"}],"more":1}`)}
	case "ask":
		q := bridge.Question{Kind: bridge.Prompt, Title: "Your name?", Detail: "two\nlines", Schema: json.RawMessage(`{"type":"string","default":"Ada"}`)}
		return bridgetest.Asks(q, func(a *bridge.Answer) bridge.Step { return bridge.Step{Data: encode(a)} })
	case "look":
		return bridge.Step{Data: inv.Input}
	default:
		return bridge.Step{Data: json.RawMessage(`"done"`)}
	}
}

// do makes a step that is no message.
func (tr *transcript) do(name, arguments string) {
	switch name {
	case "begin": // the handshake, which is not written down
		tr.begin(arguments)
	case "declare": // the page changes its tools, and the client hears of it
		tr.router.Declare("shop", named(strings.Fields(arguments)...)...)
		tr.more()
	case "mode": // as --mcp-tools
		tr.mode, _ = toolset.ParseMode(arguments)
	case "many": // the page has so many tools now, before anybody looks
		n, _ := strconv.Atoi(arguments)
		var decls []bridge.Declaration
		for i := range n {
			d := bridgetest.Tool(fmt.Sprintf("t%04d", i), "")
			d.Document = fmt.Sprint(i / 200)
			decls = append(decls, d)
		}
		tr.router.Declare("shop", decls...)
	case "more": // one more message
		tr.more()
	case "end": // the client closes the stream
		tr.close()
		tr.stream, tr.close = nil, func() {}
	case "header": // from now on; without a value it is not sent
		key, value, _ := strings.Cut(arguments, ": ")
		tr.header[http.CanonicalHeaderKey(key)] = nil
		if value != "" {
			tr.header[http.CanonicalHeaderKey(key)] = []string{value}
		}
	case "capabilities": // of the requests that follow
		tr.caps = arguments
	case "GET", "DELETE":
		tr.http(name, "")
	default:
		tr.t.Fatalf("there is no step %q", name)
	}
}

func (tr *transcript) begin(capabilities string) {
	if tr.pipe == nil {
		tr.legacy(tr.version, capabilities)
		return
	}
	tr.pipe.send(rpc(1, "initialize", fmt.Sprintf(`{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":"t","version":"1"}}`, tr.version, capabilities)))
	tr.pipe.next()
	tr.pipe.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// send sends a message, and writes down what comes next.
func (tr *transcript) send(text string) {
	text = strings.ReplaceAll(text, "STATE", tr.state)
	if tr.modern {
		meta := tr.params("{}")
		text = strings.ReplaceAll(text, "META", meta[1:len(meta)-1])
	}
	if tr.pipe == nil {
		tr.http(http.MethodPost, text)
		return
	}
	tr.pipe.send(text)
	var m struct{ ID, Method, Result json.RawMessage }
	if json.Unmarshal([]byte(text), &m) != nil || m.ID != nil || m.Method == nil {
		next := tr.pipe.next()
		for strings.Contains(next, mcpgo.MethodNotificationToolsListChanged) {
			next = tr.pipe.next() // while a call waits, the list has pagetools_waiting: a slow machine tells so
		}
		tr.write(next)
	}
}

// http sends one request. While a stream is open, its next event follows.
func (tr *transcript) http(method, body string) {
	ctx, cancel := context.WithTimeout(tr.t.Context(), hang)
	resp := tr.open(ctx, method, body)
	end := func() {
		cancel()
		_ = resp.Body.Close()
	}
	tr.t.Cleanup(end)
	status := strconv.Itoa(resp.StatusCode)
	for _, name := range []string{"Allow", "Mcp-Session-Id"} {
		if v := resp.Header.Get(name); v != "" {
			status += " " + name + ": " + v
		}
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		tr.write(status + " " + resp.Header.Get("Content-Type"))
		tr.stream, tr.close = bufio.NewScanner(resp.Body), end
		tr.stream.Buffer(nil, 8<<20)
		if method == http.MethodPost {
			tr.more()
		}
		return
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		tr.t.Fatal(err)
	}
	end()
	tr.write(strings.TrimSpace(status + " " + string(text)))
	if tr.stream != nil {
		tr.more()
	}
}

// more writes down the next message.
func (tr *transcript) more() {
	if tr.pipe != nil {
		tr.write(tr.pipe.next())
		return
	}
	for tr.stream != nil && tr.stream.Scan() {
		if data, ok := strings.CutPrefix(tr.stream.Text(), "data: "); ok {
			tr.write(data)
			if !strings.Contains(data, `"method":`) {
				tr.stream = nil // that was the reply
			}
			return
		}
	}
	tr.write("the stream ends")
}

// masks replaces texts that differ from run to run.
var masks = []struct {
	find *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`"requestState":"[^"]*"`), `"requestState":"STATE"`},
	{regexp.MustCompile(`"elicitationId":"[^"]*"`), `"elicitationId":"ID"`},
	{regexp.MustCompile(`"(id|call|request)":"[A-Z2-7]{26}(-\d+)?"`), `"$1":"ID"`},
	{regexp.MustCompile(`Mcp-Session-Id: [\w-]+`), `Mcp-Session-Id: ID`},
	{regexp.MustCompile(`"expiresAt":"[^"]*"`), `"expiresAt":"TIME"`},
	{regexp.MustCompile(`until \d\d:\d\d:\d\d UTC`), `until TIME`},
}

var stateText = regexp.MustCompile(`"requestState":"([^"]*)"`)

// longest limits how much of a message is written out; its digest stands for the rest.
const longest = 6000

func (tr *transcript) write(text string) {
	if found := stateText.FindStringSubmatch(text); found != nil {
		tr.state = found[1]
	}
	for _, m := range masks {
		text = m.find.ReplaceAllString(text, m.with)
	}
	if len(text) > longest {
		text = fmt.Sprintf("%s … %d bytes, sha256 %x … %s", text[:400], len(text), sha256.Sum256([]byte(text)), text[len(text)-200:])
	}
	tr.out.WriteString("< " + text + "\n")
}

package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/transport"
)

// toolWith is a tool with this outputSchema; "" means none.
func toolWith(output string) *bridge.Tool {
	d := bridgetest.Tool("a", "")
	if output != "" {
		d = bridgetest.Returning(d, output)
	}
	c, _ := bridge.NewCatalog(nil, []bridge.Declaration{d}, bridge.Limits{})
	return c.Tools()[0]
}

const (
	image = `{"type":"image","data":"aGk=","mimeType":"image/png"}`
	hello = `{"type":"text","text":"hello"}`
)

// text is a text block with this text, as JSON.
func textBlock(s string) string {
	return `{"type":"text","text":` + string(encode(s)) + `}`
}

func TestResults(t *testing.T) {
	const link = `{"type":"resource_link","uri":"file:///etc/passwd","name":"x","size":3,"extra":[1]}`
	const audio = `{"type":"audio","data":"aGk=","mimeType":"audio/wav"}`
	const resource = `{"type":"resource","resource":{"uri":"blob:https://a.example/x","mimeType":"text/plain","text":"hi"},"annotations":{"audience":["user"],"priority":0.5}}`
	const doc = `{"content":[{"type":"paragraph","n":1}],"type":"doc"}`
	for _, c := range []struct {
		why, output, data string
		protocol          protocol
		content           []string
		structured        string // "" means none
	}{
		{"a text (E12)", "", `"hel\"lo é\n"`, legacy, []string{textBlock("hel\"lo é\n")}, ""},
		{"a text that looks like JSON", "", `"{\"a\":1}"`, modern, []string{textBlock(`{"a":1}`)}, ""},
		{"an empty text", "", `""`, legacy, []string{textBlock(``)}, ""},
		{"a number", "", `12345678901234567890`, legacy, []string{textBlock(`12345678901234567890`)}, ""},
		{"null", "", `null`, legacy, []string{textBlock(`null`)}, ""},
		{"a list", "", `[1,{"a":2}]`, modern, []string{textBlock(`[1,{"a":2}]`)}, ""},
		{"an object", "", `{"n":12345678901234567890,"a":0.10}`, legacy, []string{textBlock(`{"n":12345678901234567890,"a":0.10}`)}, `{"n":12345678901234567890,"a":0.10}`},
		{"an empty object", "", `{}`, legacy, []string{textBlock(`{}`)}, `{}`},
		{"content", "", `{"content":[` + hello + `]}`, legacy, []string{hello}, ""},
		{"content, written with escapes", "", `{"c\u006fntent":[` + hello + `]}`, legacy, []string{hello}, ""},
		{"texts that end in backslashes", "", `{"a":"\\","b":"\\\"","c":` + strings.Repeat(`[`, maxDepth) + strings.Repeat(`]`, maxDepth) + `}`, legacy, []string{textBlock(`{"a":"\\","b":"\\\"","c":` + strings.Repeat(`[`, maxDepth) + strings.Repeat(`]`, maxDepth) + `}`)}, ""},
		{"no content", "", `{"content":[]}`, legacy, nil, ""},
		{"all that MCP has", "", `{"content":[` + hello + `,` + image + `,` + audio + `,` + resource + `,` + link + `]}`, legacy, []string{hello, image, audio, resource, link}, ""},
		{"words and members of the page's own", "", `{"content":[{"type":"text","text":"é <b>","x":1.50,"annotations":{"priority":1}}]}`, legacy, []string{`{"type":"text","text":"é <b>","x":1.50,"annotations":{"priority":1}}`}, ""},
		{"content and the same structured", "", `{"content":[` + textBlock(`{ "a": 1 }`) + `],"structuredContent":{"a":1}}`, legacy, []string{textBlock(`{ "a": 1 }`)}, `{"a":1}`},
		{"content and other structured", "", `{"content":[` + hello + `],"structuredContent":{"a":1}}`, legacy, []string{hello, textBlock(`{"a":1}`)}, `{"a":1}`},
		{"structured without content", "", `{"content":[],"structuredContent":{"a":1}}`, legacy, []string{textBlock(`{"a":1}`)}, `{"a":1}`},
		{"numbers that only a float takes for the same", "", `{"content":[` + textBlock(`{"a":9007199254740993}`) + `],"structuredContent":{"a":9007199254740992}}`, legacy, []string{textBlock(`{"a":9007199254740993}`), textBlock(`{"a":9007199254740992}`)}, `{"a":9007199254740992}`},
		{"a structured list, older", "", `{"content":[` + hello + `],"structuredContent":[1]}`, legacy, []string{hello, textBlock(`[1]`)}, ""},
		{"a structured list", "", `{"content":[` + hello + `],"structuredContent":[1]}`, modern, []string{hello, textBlock(`[1]`)}, `[1]`},
		{"a text and the same text structured", "", `{"content":[` + hello + `],"structuredContent":"hello"}`, modern, []string{hello}, `"hello"`},
		{"structured null", "", `{"content":[` + hello + `],"structuredContent":null}`, modern, []string{hello}, ""},
		{"a picture and structured", "", `{"content":[` + image + `],"structuredContent":{"a":1}}`, modern, []string{image, textBlock(`{"a":1}`)}, ""},
		{"a picture and structured, promised", `{"type":"object","required":["a"]}`, `{"content":[` + image + `],"structuredContent":{"a":1}}`, modern, []string{image, textBlock(`{"a":1}`)}, `{"a":1}`},
		{"promised in the only text", `{"type":"object","properties":{"content":{}},"minProperties":1}`, `{"content":[` + textBlock(`{"a":1}`) + `]}`, legacy, []string{textBlock(`{"a":1}`)}, `{"a":1}`},
		{"promised as a whole", `{"type":"object","required":["content"]}`, `{"content":[` + hello + `],"structuredContent":{"a":1}}`, legacy, []string{hello, textBlock(`{"a":1}`)}, `{"content":[` + hello + `],"structuredContent":{"a":1}}`},
		{"promised and plain", `{"type":"object","required":["a"]}`, `{"a":1}`, legacy, []string{textBlock(`{"a":1}`)}, `{"a":1}`},
		{"a promised list, before lists", `{"type":"array"}`, `[1]`, legacy, []string{textBlock(`[1]`)}, ""},
		{"a promised list", `{"type":"array"}`, `[1]`, modern, []string{textBlock(`[1]`)}, `[1]`},
		{"a promised text", `{"type":"string"}`, `"a"`, modern, []string{textBlock(`a`)}, `"a"`},
		{"a promised list in the only text", `{"type":"array"}`, `{"content":[` + textBlock(`[1]`) + `]}`, modern, []string{textBlock(`[1]`)}, `[1]`},
		{"a promised list, structured, before lists", `{"type":"array"}`, `{"content":[` + hello + `],"structuredContent":[1]}`, legacy, []string{hello, textBlock(`[1]`)}, ""},
		{"more than MCP has", "", `{"content":[` + image + `],"page":2,"_meta":{"x":1}}`, legacy, []string{image, textBlock(`{"page":2}`)}, ""},
		{"a document of an editor", "", doc, legacy, []string{textBlock(doc)}, doc},
		{"a list called content", "", `{"content":["a"]}`, legacy, []string{textBlock(`{"content":["a"]}`)}, `{"content":["a"]}`},
		{"a text called content", "", `{"content":"a"}`, legacy, []string{textBlock(`{"content":"a"}`)}, `{"content":"a"}`},
		{"unknown blocks only", "", `{"content":[{"type":"video","src":"x"}]}`, legacy, []string{textBlock(`{"type":"video","src":"x"}`)}, ""},
		{"an unknown block", "", `{"content":[` + hello + `,{"type":"video","src":"x"}]}`, legacy, []string{hello, textBlock(`{"type":"video","src":"x"}`)}, ""},
		{"a block of a request", "", `{"content":[` + hello + `,{"type":"tool_use","id":"1","name":"x","input":{}}]}`, modern, []string{hello, textBlock(`{"type":"tool_use","id":"1","name":"x","input":{}}`)}, ""},
		{"audio, before there was audio", "", `{"content":[` + audio + `]}`, mcpgo.ProtocolVersion20241105, []string{textBlock(audio)}, ""},
		{"a link, before there were links", "", `{"content":[` + link + `]}`, mcpgo.ProtocolVersion20250326, []string{textBlock(link)}, ""},
		{"a link, to whom we do not know", "", `{"content":[` + link + `]}`, "", []string{link}, ""},
		{"annotations that nobody can read", "", `{"content":[{"type":"image","data":"","mimeType":"image/png","annotations":{"audience":"me"},"_meta":7,"z":1}]}`, legacy, []string{`{"type":"image","data":"","mimeType":"image/png","z":1}`}, ""},
		{"too deep", "", strings.Repeat(`{"a":`, maxDepth+1) + "1" + strings.Repeat("}", maxDepth+1), legacy, []string{textBlock(strings.Repeat(`{"a":`, maxDepth+1) + "1" + strings.Repeat("}", maxDepth+1))}, ""},
		{"just not too deep", "", strings.Repeat(`{"a":`, maxDepth) + `"]]\"{"` + strings.Repeat("}", maxDepth), legacy, []string{textBlock(strings.Repeat(`{"a":`, maxDepth) + `"]]\"{"` + strings.Repeat("}", maxDepth))}, strings.Repeat(`{"a":`, maxDepth) + `"]]\"{"` + strings.Repeat("}", maxDepth)},
	} {
		got := result(bridge.Step{Data: json.RawMessage(c.data)}, toolWith(c.output), c.protocol)
		want := `{"content":[` + strings.Join(c.content, ",") + `]`
		if c.structured != "" {
			want += `,"structuredContent":` + c.structured
		}
		if g, w := exact(t, got), exact(t, json.RawMessage(want+"}")); g != w {
			t.Errorf("%s\ngot  %s\nwant %s", c.why, g, w)
		}
		if (got.StructuredContent != nil) != (c.structured != "") || got.IsError {
			t.Errorf("%s: structured %v, error %v", c.why, got.StructuredContent, got.IsError)
		}
	}
}

// TestResultsThatBreakTheirPromise: all that the page returned is text, and there is no
// structuredContent, which clients would refuse; _meta says what is wrong.
func TestResultsThatBreakTheirPromise(t *testing.T) {
	broken := &bridge.Violation{Message: "x", Errors: []schema.Violation{{Pointer: "/a", Message: "\"a\" is required"}}}
	tool := toolWith(`{"type":"object","required":["a"]}`)
	for data, content := range map[string][]string{
		`{"b":1}`: {textBlock(`{"b":1}`)}, `"b"`: {textBlock(`b`)}, `[1]`: {textBlock(`[1]`)},
		`{"content":[` + hello + `],"structuredContent":{"b":1}}`: {hello, textBlock(`{"b":1}`)},
	} {
		for _, e := range []protocol{legacy, modern} {
			got := result(bridge.Step{Data: json.RawMessage(data), Violation: broken}, tool, e)
			want := `{"content":[` + strings.Join(content, ",") + `],"_meta":{"pagetools/schemaViolation":{"message":"x","errors":[{"pointer":"/a","message":"\"a\" is required"}]}}}`
			if g, w := exact(t, got), exact(t, json.RawMessage(want)); g != w {
				t.Errorf("%s\ngot  %s\nwant %s", data, g, w)
			}
		}
		if got := result(bridge.Step{Data: json.RawMessage(`{"a":1}`)}, tool, legacy); got.StructuredContent == nil || got.Meta != nil {
			t.Errorf("one that fits: %s", exact(t, got))
		}
	}
}

// exact is v as JSON with its keys in order and its numbers as they were written.
func exact(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var x any
	if err := dec.Decode(&x); err != nil {
		t.Fatalf("not JSON: %s", b)
	}
	b, err = json.Marshal(x)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestBadBlocks: a block that a client could not read is a text, and the others are
// not lost with it. Each has a good one beside it, as its control.
func TestBadBlocks(t *testing.T) {
	for _, c := range []struct{ why, bad, good string }{
		{"text", `{"type":"text","text":7,"x":1}`, `{"type":"text","text":"7","x":1}`},
		{"no data", `{"type":"image","mimeType":"image/png"}`, image},
		{"data that is not base64", `{"type":"image","data":"?","mimeType":"image/png"}`, image},
		{"data with line ends", `{"type":"image","data":"aG\nk=","mimeType":"image/png"}`, image},
		{"no media type", `{"type":"audio","data":"aGk="}`, `{"type":"audio","data":"aGk=","mimeType":"audio/wav"}`},
		{"no resource", `{"type":"resource"}`, `{"type":"resource","resource":{"uri":"a:b","text":""}}`},
		{"no address", `{"type":"resource","resource":{"text":"x"}}`, `{"type":"resource","resource":{"uri":"https://a.example","blob":"aGk="}}`},
		{"an address without a scheme", `{"type":"resource","resource":{"uri":"/a","text":"x"}}`, `{"type":"resource","resource":{"uri":"blob:x/a","text":"x"}}`},
		{"text and bytes", `{"type":"resource","resource":{"uri":"a:b","text":"x","blob":"aGk="}}`, `{"type":"resource","resource":{"uri":"a:b","text":"x"}}`},
		{"a media type that is no text", `{"type":"resource","resource":{"uri":"a:b","text":"x","mimeType":1}}`, `{"type":"resource","resource":{"uri":"a:b","text":"x","mimeType":"a/b"}}`},
		{"inner _meta", `{"type":"resource","resource":{"uri":"a:b","text":"x","_meta":1}}`, `{"type":"resource","resource":{"uri":"a:b","text":"x","_meta":{}}}`},
		{"a link without a name", `{"type":"resource_link","uri":"a:b"}`, `{"type":"resource_link","uri":"a:b","name":""}`},
	} {
		data := `{"content":[` + hello + `,` + c.bad + `,` + c.good + `]}`
		got := result(bridge.Step{Data: json.RawMessage(data)}, toolWith(""), modern)
		if g, w := exact(t, got), exact(t, json.RawMessage(`{"content":[`+hello+`,`+textBlock(c.bad)+`,`+c.good+`]}`)); g != w {
			t.Errorf("%s\ngot  %s\nwant %s", c.why, g, w)
		}
	}
	// Optional members that cannot be read are dropped, and the block stays.
	for _, c := range []struct{ bad, good string }{
		{`"annotations":[]`, `"annotations":{}`},
		{`"annotations":{"audience":["god"]}`, `"annotations":{"audience":["assistant","user"]}`},
		{`"annotations":{"audience":null}`, `"annotations":{"audience":[]}`},
		{`"annotations":{"priority":2}`, `"annotations":{"priority":1}`},
		{`"annotations":{"lastModified":1}`, `"annotations":{"lastModified":"2026-11-21"}`},
		{`"size":-1`, `"size":0`}, {`"size":null`, `"size":1`}, {`"title":null`, `"title":""`},
		{`"icons":[{}]`, `"icons":[{"src":"data:,"}]`}, {`"icons":{}`, `"icons":[]`}, {`"_meta":null`, `"_meta":{"a":1}`},
	} {
		const head = `{"type":"resource_link","uri":"a:b","name":"x"`
		data := `{"content":[` + head + `,` + c.bad + `},` + head + `,` + c.good + `}]}`
		got := result(bridge.Step{Data: json.RawMessage(data)}, nil, modern)
		if g, w := exact(t, got), exact(t, json.RawMessage(`{"content":[`+head+`},`+head+`,`+c.good+`}]}`)); g != w {
			t.Errorf("%s\ngot  %s\nwant %s", c.bad, g, w)
		}
	}
}

// TestFailures is complete: every code and every reason says what to do, the error
// object is whole, and nothing internal is told.
func TestFailures(t *testing.T) {
	for _, code := range bridge.Codes() {
		for _, outcome := range []bridge.Outcome{bridge.NotRun, bridge.Failed, bridge.Unknown} {
			e := bridge.Errorf(code, "", outcome, "It is so.").With(fmt.Errorf("secret"))
			e.Retry = 1500 * time.Millisecond
			r := failure(e)
			told := r.Content[0].(mcpgo.TextContent).Text
			if !r.IsError || !strings.HasPrefix(told, "It is so.\n") || !strings.HasSuffix(told, "Wait 2 seconds before you try again.") || strings.Contains(exact(t, r), "secret") {
				t.Errorf("%s: %s", code, exact(t, r))
			}
			if got, want := exact(t, r.Meta), exact(t, map[string]any{metaError: transport.NewErrorBody(e)}); got != want {
				t.Errorf("%s: _meta is %s, want %s", code, got, want)
			}
			silent := []bridge.Code{bridge.ToolError, bridge.Cancelled, bridge.MethodNotAllowed, bridge.InternalError}
			if byCode[code] == "" && !slices.Contains(silent, code) {
				t.Errorf("%s: nobody says what to do", code)
			}
			mayHaveRun := outcome == bridge.Unknown && code != bridge.InputRequired && code != bridge.ResumeNotFound
			if strings.Contains(told, "It may have run") != mayHaveRun {
				t.Errorf("%s, %s: %q", code, outcome, told)
			}
		}
	}
	for _, reason := range bridge.Reasons() {
		told := failure(bridge.Errorf(bridge.InternalError, reason, bridge.NotRun, "It is so.")).Content[0].(mcpgo.TextContent).Text
		if strings.Contains(told, "so it can be called again") == needsOperator[reason] || !strings.Contains(told, "Nothing ran") || !strings.Contains(told, byReason[reason]) {
			t.Errorf("%s: %q", reason, told)
		}
	}
	refused := failure(bridge.Errorf(bridge.ToolError, "", bridge.Failed, "Sold out."))
	if got := exact(t, refused.Content); got != `[{"text":"Sold out.","type":"text"}]` {
		t.Errorf("a tool's own words became %s", got)
	}
}

func TestFailureTellsWhatDoesNotFit(t *testing.T) {
	e := bridge.Errorf(bridge.SchemaError, "", bridge.NotRun, "The request does not fit.").
		Detail("errors", []map[string]string{{"pointer": "/a", "message": "\"a\" is required"}, {"pointer": "", "message": "too many members"}})
	want := "The request does not fit.\n- /a: \"a\" is required\n- the arguments: too many members\nCorrect the arguments by the tool's inputSchema, and call it again."
	if got := failure(e).Content[0].(mcpgo.TextContent).Text; got != want {
		t.Errorf("got %q", got)
	}
	// Details that cannot be encoded must not lose the whole reply.
	broken := failure(bridge.Errorf(bridge.InternalError, "", bridge.NotRun, "a\xff").Detail("f", func() {}))
	if got := exact(t, broken); !strings.Contains(got, `"isError":true`) || strings.Contains(got, "details") {
		t.Errorf("got %s", got)
	}
}

func FuzzResult(f *testing.F) {
	for _, s := range []string{`"a"`, `{"content":[` + hello + `,` + image + `]}`, `{"content":[{"type":"resource","resource":{"uri":"a:b","text":"x"}}],"structuredContent":{"a":1},"b":"\ud800"}`, `[[`, `{"content":[{"type":"text","text":"\ud83d","annotations":{"priority":2}}]}`} {
		f.Add(s, true)
	}
	tools := []*bridge.Tool{toolWith(""), toolWith(`{"type":"object"}`)}
	f.Fuzz(func(t *testing.T, data string, promises bool) {
		value, err := schema.WellFormed([]byte(data))
		if err != nil {
			return // the bridge returns none such
		}
		tool := tools[0]
		if promises {
			tool = tools[1]
		}
		for _, e := range []protocol{mcpgo.ProtocolVersion20241105, legacy, modern} {
			r := result(bridge.Step{Data: value}, tool, e)
			b, err := json.Marshal(r)
			if err != nil || unreadable(b) && !unreadable(json.RawMessage(data)) {
				t.Fatalf("%v: %s", err, b)
			}
			var client mcpgo.CallToolResult
			if err := json.Unmarshal(b, &client); err != nil {
				t.Fatalf("the library's client: %v: %s", err, b)
			}
			if r.IsError {
				t.Fatalf("an error for %q", data)
			}
			if r.StructuredContent == nil {
				continue
			}
			for _, c := range client.Content {
				if _, ok := c.(mcpgo.TextContent); !ok && !promises {
					t.Fatalf("structuredContent beside %T: %s", c, b)
				}
			}
		}
	})
}

func unreadable(text json.RawMessage) bool {
	_, err := bridge.ReadValue("x", text)
	return err != nil
}

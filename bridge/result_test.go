package bridge_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
)

func TestOutput(t *testing.T) {
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("a", ""))
	b := open(t, r, bridge.SiteOptions{})
	text := `{"content":[{"type":"text","text":"one"},{"type":"image","data":"x"},{"type":"text","text":"two"}]}`
	for _, c := range []struct{ result, output, want string }{
		{text, "raw", text},
		{text, "text", `"one\ntwo"`},
		{text, "structured", text},
		{`"hi"`, "text", `"hi"`},
		{`{"a":1}`, "text", `"{\"a\":1}"`},
		{`{"a":1}`, "structured", `{"a":1}`},
		{`{"content":[{"type":"text","text":"x"}],"structuredContent":{"a":1}}`, "structured", `{"a":1}`},
		{`{"content":[{"type":"text","text":"{\"a\":9007199254740993}"}]}`, "structured", `{"a":9007199254740993}`},
		{`{"content":[{"type":"text","text":"no json"}]}`, "structured", `{"content":[{"type":"text","text":"no json"}]}`},
		{`null`, "raw", `null`},
	} {
		r.Answer("shop", c.result, nil)
		res, e := do(t, b, "a", `{}`, `{"output":"`+c.output+`"}`)
		if e != nil || string(res) != c.want {
			t.Errorf("%s as %s: got %v, %v, want %s", c.result, c.output, res, e, c.want)
		}
	}
}

// TestOneReading (F9): what readers of JSON disagree on has one reading before any face gets it,
// and pictures and sounds are as MCP has them.
func TestOneReading(t *testing.T) {
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("a", ""))
	b := open(t, r, bridge.SiteOptions{})
	const png, sent = "iVBORw0KGgo=", `{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}`
	for given, shown := range map[string]string{
		`"a\ud800b"`: "\"a\uFFFDb\"", `"\uD83Da"`: "\"\uFFFDa\"", `{"a\uDC00":"\ud83d\ude00"}`: "{\"a\uFFFD\":\"\U0001F600\"}", "\"a\xff\"": "\"a\uFFFD\"",
		`{"content":[{"type":"text","text":"a\ud83d"}]}`: "{\"content\":[{\"type\":\"text\",\"text\":\"a\uFFFD\"}]}",
		`"\\ud800"`: `"\\ud800"`, ` {"n": 1.50} `: `{"n": 1.50}`,

		`{"content":[` + sent + `]}`: `{"content":[` + sent + `]}`,
		`{"content":[{"type":"image","data":"data:image/png;base64,` + png + `","mimeType":"image/png"}]}`:                      `{"content":[` + sent + `]}`,
		`{"content":[{"type":"image","data":"DATA:image/png;charset=x;BASE64,iVBORw0KGgo%3D"}]}`:                                `{"content":[` + sent + `]}`,
		`{"content":[{"type":"image","url":"data:image/png;base64,iVBORw0KGgo"}],"x":1}`:                                        `{"x":1,"content":[` + sent + `]}`,
		`{"content":[{"type":"image","data":"iVBO\nRw0KGgo","mimeType":"image/png"}]}`:                                          `{"content":[` + sent + `]}`,
		`{"content":[{"type":"image","data":"` + png + `"}]}`:                                                                   `{"content":[` + sent + `]}`,
		`{"content":[{"type":"image","data":"_9j_","title":"t"}]}`:                                                              `{"content":[{"type":"image","title":"t","data":"/9j/","mimeType":"image/jpeg"}]}`,
		`{"content":[{"type":"image","data":"data:image/svg+xml,%3Csvg%2F%3E"}]}`:                                               `{"content":[{"type":"image","data":"PHN2Zy8+","mimeType":"image/svg+xml"}]}`,
		`{"content":[{"type":"audio","data":"data:audio/ogg;base64,T2dnUw"},{"type":"text","text":"data:image/png;base64,A"}]}`: `{"content":[{"type":"audio","data":"T2dnUw==","mimeType":"audio/ogg"},{"type":"text","text":"data:image/png;base64,A"}]}`,

		`{"content":[{"type":"image","data":"data:nothing","mimeType":"image/png"}]}`: `{"content":[{"type":"image","data":"data:nothing","mimeType":"image/png"}]}`,
		`{"content":[{"type":"image","data":"aGk="}]}`:                                `{"content":[{"type":"image","data":"aGk="}]}`,
		`{"type":"image","data":"data:image/png;base64,A"}`:                           `{"type":"image","data":"data:image/png;base64,A"}`,
	} {
		r.Answer("shop", given, nil)
		res, e := do(t, b, "a", `{}`, "")
		if e != nil || string(res) != shown {
			t.Errorf("%s: got %s, %v, want %s", given, res, e, shown)
		}
	}
	r.Answer("shop", `{`, nil)
	_, e := do(t, b, "a", `{}`, "")
	want(t, e, bridge.ToolError, bridge.ResultInvalid, bridge.Unknown)
	for _, twice := range []string{`{"a\ud800":1,"a\udbff":2}`, `[{"x":{"\ud800":1,"\udfff":{}}}]`, "{\"\uFFFD\":1,\"\\ud800\":2}", `{"content":[{"type":"text","text":"t","_meta":{"\ud801":1,"\ud802":2}}]}`} {
		r.Answer("shop", twice, nil)
		_, e := do(t, b, "a", `{}`, "")
		want(t, e, bridge.ToolError, bridge.ResultInvalid, bridge.Unknown)
		if !strings.Contains(e.Message, "half characters") {
			t.Errorf("%s: %s", twice, e.Message)
		}
	}
}

func TestAResultThatSaysItIsAnError(t *testing.T) {
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("a", ""))
	b := open(t, r, bridge.SiteOptions{})
	for result, says := range map[string]string{
		`{"isError":true,"content":[{"type":"text","text":"No such stamp."}]}`:                                "No such stamp.",
		`{"isError":true,"content":[{"type":"text","text":"No such stamp."}],"structuredContent":{"code":7}}`: "No such stamp.",
		`{"isError":true,"structuredContent":{"message":"No such stamp."}}`:                                   `{"message":"No such stamp."}`,
		`{"isError":true,"content":[],"structuredContent":null}`:                                              "The tool says that it failed.",
	} {
		r.Answer("shop", result, nil)
		_, e := do(t, b, "a", `{}`, "")
		want(t, e, bridge.ToolError, "", bridge.Failed)
		if e.Message != says || e.Details["untrusted"] != true {
			t.Errorf("%s: %q, %v", result, e.Message, e.Details)
		}
	}
}

func TestAPagesErrorTextIsBounded(t *testing.T) {
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("a", ""))
	r.Answer("shop", "", bridge.Errorf(bridge.ToolError, "", bridge.Failed, "%s", strings.Repeat("é", 4000)))
	_, e := do(t, open(t, r, bridge.SiteOptions{}), "a", `{}`, "")
	want(t, e, bridge.ToolError, "", bridge.Failed)
	if len(e.Message) > 4100 || !strings.HasSuffix(e.Message, "…") {
		t.Errorf("%d bytes", len(e.Message))
	}
}

// TestAPromiseOfAPageIsChecked: a result that breaks it is delivered, with a word about it;
// strict-output refuses it, as something that ran.
func TestAPromiseOfAPageIsChecked(t *testing.T) {
	declared := bridgetest.Returning(bridgetest.Tool("a", ""), `{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}`)
	const fits, root = "it fits", ""
	for result, where := range map[string]string{
		`{"n":1}`: fits, `{"n":"1"}`: "/n", `{}`: "/n", `"n"`: root,
		`{"content":[],"structuredContent":{"n":1}}`: fits, `{"content":[],"structuredContent":{"n":"1"}}`: "/n",
		`{"content":[{"type":"text","text":"{\"n\":1}"}]}`: fits, `{"content":[{"type":"text","text":"{\"n\":\"1\"}"}]}`: "/n",
		`{"content":[{"type":"text","text":"no JSON"}]}`: "/n",
	} {
		for _, strict := range []bool{false, true} {
			r := bridgetest.NewRouter().Add("shop", declared)
			r.Answer("shop", result, nil)
			run := open(t, r, bridge.SiteOptions{StrictOutput: strict}).Start(t.Context(), &bridge.Call{Site: "shop", Tool: "a", Caller: bridge.Local(), Input: bridgetest.JSON(`{}`)})
			_, end := run.Next(t.Context())
			switch {
			case where == fits || !strict:
				if end.Err != nil || string(end.Data) != result || (end.Violation == nil) != (where == fits) {
					t.Errorf("%s, strict %v: %s, %+v, %v", result, strict, end.Data, end.Violation, end.Err)
				}
			default:
				want(t, end.Err, bridge.ToolError, bridge.ResultInvalid, bridge.Unknown)
				end.Violation, _ = end.Err.Details["schemaViolation"].(*bridge.Violation)
			}
			if end.Violation != nil && (len(end.Violation.Errors) != 1 || end.Violation.Errors[0].Pointer != where || !strings.Contains(end.Violation.Message, "outputSchema")) {
				t.Errorf("%s, strict %v: %+v", result, strict, end.Violation)
			}
		}
	}
}

// TestFits: transports that give a part of the result can ask whether it keeps the
// page's promise.
func TestFits(t *testing.T) {
	c, _, _ := admit(bridge.Limits{}, bridgetest.Tool("silent", ""), bridgetest.Returning(bridgetest.Tool("count", ""), `{"type":"object","required":["n"]}`))
	for _, x := range []struct {
		tool, value string
		want        bool
	}{{"silent", `{}`, true}, {"silent", `7`, true}, {"count", `{"n":1}`, true}, {"count", `{}`, false}, {"count", `[1]`, false}, {"count", `{`, false}} {
		if got := c.Tool(x.tool).Fits([]byte(x.value)); got != x.want {
			t.Errorf("%s, %s: %v", x.tool, x.value, got)
		}
	}
}

// TestAResultThatSaysItIsAnErrorInAnyLetters: names are read as encoding/json does.
func TestAResultThatSaysItIsAnErrorInAnyLetters(t *testing.T) {
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("a", ""))
	b := open(t, r, bridge.SiteOptions{})
	for _, result := range []string{`{"IsError":true}`, `{"ISERROR":true}`, `{"iſError":true}`, `{"i\u0073Error":true}`, `{"isError":true}`} {
		r.Answer("shop", result, nil)
		_, e := do(t, b, "a", `{}`, "")
		if e == nil || e.Code != bridge.ToolError || e.Outcome != bridge.Failed {
			t.Errorf("%s: %v", result, e)
		}
	}
	r.Answer("shop", `{"CONTENT":[{"type":"text","text":"x"}]}`, nil)
	if got, e := do(t, b, "a", `{}`, `{"output":"text"}`); e != nil || string(got) != `"x"` {
		t.Errorf("got %s, %v", got, e)
	}
}

// TestUnkept: a listing names the definitions that broke their promise, once each, and no
// more of them than are remembered.
func TestUnkept(t *testing.T) {
	r := bridgetest.NewRouter().Add("shop")
	r.Answer("shop", `"no"`, nil)
	b := open(t, r, bridge.SiteOptions{})
	const kept = 1024
	for n := range kept + 1 {
		for range 2 { // one definition
			r.Declare("shop", bridgetest.Returning(bridgetest.Tool("a", ""), fmt.Sprintf(`{"type":"object","title":"%d"}`, n)))
			if _, e := do(t, b, "a", `{}`, ""); e != nil {
				t.Fatal(e)
			}
		}
		l, err := b.ToolsNow(t.Context(), bridge.Ref{Site: "shop", Caller: bridge.Local()})
		if err != nil || len(l.Unkept) != n%kept+1 || l.Unkept[l.Tools[0].Digest()] != int64(n+1) || b.Unkept() != int64(n+1) {
			t.Fatalf("%d: %d, %v, %d, %v", n, len(l.Unkept), l.Unkept[l.Tools[0].Digest()], b.Unkept(), err)
		}
	}
}

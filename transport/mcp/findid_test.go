package mcp

import (
	"bufio"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/iotest"
)

// TestIDsAreFound: a message that is refused is answered under its id, wherever that
// stands in it, so that its client does not wait. E4.
func TestIDsAreFound(t *testing.T) {
	deep := strings.Repeat("[", 300) + strings.Repeat("]", 300)
	long := strings.Repeat("x", maxLine)
	p := newFace(t, Options{}).stdio(agent)
	for _, c := range []struct{ why, id, line string }{
		{"a member twice", `7`, `{"jsonrpc":"2.0","id":7,"method":"ping","method":"ping"}`},
		{"twice in the arguments", `"a\"\\"`, `{"method":"tools/call","params":{"name":"look","arguments":{"id":3,"n":1,"n":2}},"jsonrpc":"2.0", "id" : "a\"\\" }`},
		{"too deep", `7`, `{"jsonrpc":"2.0","method":"ping","params":{"id":` + deep + `},"id":7}`},
		{"a number beyond all", `7`, `{"jsonrpc":"2.0","id":7,"method":"ping","params":{"n":1e99999}}`},
		{"too long, behind", `8`, `{"jsonrpc":"2.0","method":"ping","params":{"id":"` + long + `"},"id":8}`},
		{"too long, before", `8`, `{"jsonrpc":"2.0","id":8,"method":"ping","params":{"n":"` + long + `"}}`},
		{"cut off", `9`, `{"jsonrpc":"2.0","id":9,"method":"pi`},
		{"two ids", `null`, `{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`},
		{"an id inside", `null`, `{"jsonrpc":"2.0","method":"ping","params":{"id":1,"a":1,"a":1}}`},
		{"an object", `null`, `{"jsonrpc":"2.0","id":{"a":1},"method":"ping","method":"ping"}`},
		{"half a surrogate", `null`, `{"jsonrpc":"2.0","id":"\ud800","method":"ping","method":"ping"}`},
		{"a text", `null`, `"id"`},
		{"a list", `null`, `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`},
		{"a long id", `null`, `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 2000) + `","method":"ping","method":"ping"}`},
	} {
		p.send(c.line)
		var got struct {
			ID    json.RawMessage
			Error *struct{ Code int }
		}
		reply := p.next()
		if err := json.Unmarshal([]byte(reply), &got); err != nil || string(got.ID) != c.id || got.Error == nil {
			t.Errorf("%s: %s; want the id %s", c.why, reply, c.id)
		}
	}
}

// TestHalfSurrogates: the tool gets U+FFFD.
func TestHalfSurrogates(t *testing.T) {
	want := "{\"a\":\"x\uFFFDy\",\"\uFFFD\":\"\U0001F600\",\"n\":1.50}"
	given := `{"a":"x\uD83Dy","\udE00":"\ud83d\ude00","n":1.50}`
	w := newFace(t, Options{})
	p := w.stdio(agent)
	p.send(rpc(1, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{}}`))
	p.next()
	p.send(rpc(2, "tools/call", fmt.Sprintf(`{"name":"look","arguments":%s}`, given)))
	reply := p.next()
	if calls := w.router.Calls(); len(calls) != 1 || calls[0].Input != want {
		t.Errorf("%s; the page got %+v", reply, calls)
	}
}

func FuzzFindID(f *testing.F) {
	f.Add(`{"id":1,"a":{"id":2},"b":"}\"id\":3"}`)
	f.Add(` {"x":[{"id":"q"}],"id":"a\u0062"}`)
	f.Fuzz(func(t *testing.T, text string) {
		var parts idFinder
		r := bufio.NewReader(iotest.OneByteReader(strings.NewReader(text)))
		_, _ = r.WriteTo(&parts)
		found := findID([]byte(text))
		if string(found) != string(parts.found()) {
			t.Fatalf("%s, in parts %s", found, parts.found())
		}
		if m, e := readMessage([]byte(text)); e == nil && m.id != nil && isScalar(m.id) && len(m.id) <= maxID && !strings.Contains(text, `\u`) && string(found) != string(m.id) {
			t.Fatalf("%s is not %s", found, m.id)
		}
	})
}

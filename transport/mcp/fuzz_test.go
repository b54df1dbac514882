package mcp

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// FuzzMessage: whatever a client sends, what it is answered is JSON-RPC under its id, and a
// message that is taken is exactly one of request, notification and reply.
func FuzzMessage(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{},"_meta":{"progressToken":"p","traceparent":7}}}`,
		`{"jsonrpc":"2.0","id":null,"method":"ping","params":null}`, `{"jsonrpc":"2.0","id":"a\ud800","result":{}}`,
		`{"jsonrpc":"2.0","id":1.50e0,"error":{"code":1,"message":""}}`, `[{"jsonrpc":"2.0"}]`, `{"jsonrpc":"2.0","method":"a","id":[1]}`, "{\"id\":\"\xff\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, e := readMessage(text)
		if e != nil {
			if e.Message == "" || e.Code >= 0 {
				t.Errorf("it is refused as %+v", e)
			}
			checkReply(t, m.id, errorText(m.id, e))
			return
		}
		if m.isReply() && m.id == nil || m.params.Exists() && !m.params.IsObject() {
			t.Errorf("%s is taken as %+v", text, m)
		}
		if m.meta.progress != nil && !isScalar(m.meta.progress) {
			t.Errorf("progress is %s", m.meta.progress)
		}
		if can, ok := readElicits(m.meta.capabilities); !ok && m.meta.capabilities.IsObject() && can != (elicits{}) {
			t.Errorf("it may ask as %+v though it does not say how", can)
		}
		if m.id != nil {
			checkReply(t, m.id, replyText(m.id, json.RawMessage(`{"a":1}`)))
		}
	})
}

// checkReply holds that a text is one reply under an id.
func checkReply(t *testing.T, id json.RawMessage, text []byte) {
	t.Helper()
	v, err := bridge.ReadValue("The reply", text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if id == nil {
		id = json.RawMessage("null")
	}
	if string(v.Get("id").Text()) != string(id) || v.Get("result").Exists() == v.Get("error").Exists() {
		t.Errorf("%s replies to %s", text, id)
	}
}

// FuzzState: only a state that we sealed opens, and only whole.
func FuzzState(f *testing.F) {
	s, err := newSeal(make([]byte, KeySize), alone)
	if err != nil {
		f.Fatal(err)
	}
	other, err := newSeal(nil, alone)
	if err != nil {
		f.Fatal(err)
	}
	f.Add("", "t", "q", "c")
	f.Add(other.close(forState, carried{Token: "t"}), "", "\x00", "é")
	f.Add("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "t", "q", "c")
	f.Fuzz(func(t *testing.T, text, token, question, caller string) {
		var given, got, none carried // given is as it is after JSON, which has no broken UTF-8
		if s.open(forState, text, &none) == nil {
			t.Fatalf("nobody closed %q, which is %+v", text, none)
		}
		if json.Unmarshal(encode(carried{Token: token, Question: question, Caller: caller, Until: time.Unix(1, 2).UTC()}), &given) != nil {
			t.Fatal("it cannot be written")
		}
		closed := s.close(forState, given)
		if err := s.open(forState, closed, &got); err != nil || !reflect.DeepEqual(got, given) {
			t.Errorf("%+v became %+v (%v)", given, got, err)
		}
		if other.open(forState, closed, &none) == nil {
			t.Error("another process opened it")
		}
		if s.open(forSession, closed, &none) == nil {
			t.Error("it is good for another purpose")
		}
		i := len(text) % len(closed) // one letter changed
		changed := closed[:i] + string(closed[i]^1) + closed[i+1:]
		if s.open(forState, changed, &none) == nil {
			t.Errorf("with another letter %d it opens", i)
		}
	})
}

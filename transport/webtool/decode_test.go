package webtool

import (
	"bytes"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport"
)

// TestDecode is N14 and the rules of the dialects.
func TestDecode(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return `{"request":` + strings.Repeat("[", n) + strings.Repeat("]", n) + `}` }
	type want struct {
		older bool
		fails string // part of the message; empty: accepted
	}
	for body, w := range map[string]want{
		`{"request":{}}`:                              {},
		" \n{\"request\" : {} }\t":                    {},
		`{"payload":{}}`:                              {older: true},
		`{"payload":{},"session_id":"s"}`:             {older: true},
		`{"request":{},"version":"1.0.0"}`:            {},
		`{"request":{},"sessionId":"s"}`:              {},
		`{"request":null}`:                            {}, // the bridge says that it must be an object
		`{"request":{},"extra":1,"":2}`:               {},
		`{"request":{},"context":{"a":[]}}`:           {},
		`{"payload":{},"sessionId":5}`:                {older: true}, // not a key of that dialect
		`{"session_id":"s","request":{}}`:             {older: true, fails: "payload is missing"},
		`{"session_id":"s"}`:                          {older: true, fails: "payload is missing"},
		`{"session_id":1,"payload":{}}`:               {older: true, fails: "session_id must be a string"},
		`{"action":1,"payload":{}}`:                   {older: true, fails: "action must be a string"},
		`{"payload":{},"request":{}}`:                 {fails: "both"},
		`{"payload":1,"request":null,"session_id":1}`: {fails: "both"},
		``:                                  {fails: "empty"},
		` `:                                 {fails: "empty"},
		`{`:                                 {fails: "ends too early"},
		`null`:                              {fails: "must be a JSON object"},
		`[]`:                                {fails: "must be a JSON object"},
		`"x"`:                               {fails: "must be a JSON object"},
		`{}`:                                {fails: "request is missing"},
		`{"action":"a"}`:                    {fails: "request is missing"},
		`{"request":{}}x`:                   {fails: "The body must be JSON:"},
		`{"request":{}}{"request":{}}`:      {fails: "something follows"},
		`{"request":{}}` + "\x00":           {fails: "The body must be JSON:"},
		`{"request":{},}`:                   {fails: "The body must be JSON:"},
		`{'request':{}}`:                    {fails: "The body must be JSON:"},
		`{"request":{},"request":{}}`:       {fails: "twice"},
		`{"request":{},"requ\u0065st":1}`:   {fails: "twice"},
		`{"request":{"a":1,"a":2}}`:         {fails: "twice"},
		`{"request":{"a":[{"b":1,"b":1}]}}`: {fails: "twice"},
		`{"request":{},"x":{"a":1,"a":1}}`:  {fails: "twice"},
		`{"Request":{}}`:                    {fails: "differs"},
		`{"request":{},"ACTION":"a"}`:       {fails: "differs"},
		`{"request":{},"Config":{}}`:        {fails: "differs"},
		`{"request":{},"sessionid":"s"}`:    {fails: "differs"},
		`{"request":{},"action\u0000":"a"}`: {fails: "differs"},
		`{"request":{},"con\u200bfig":{}}`:  {fails: "differs"},
		`{"payload":{},"Session_ID":"s"}`:   {older: true, fails: "differs"},
		"{\"request\":{\"a\":\"\xff\"}}":    {fails: "UTF-8"},
		"{\"request\":{},\"\xc0\xaf\":1}":   {fails: "UTF-8"},
		`{"request":{"a":"\ud800"}}`:        {fails: "The body must be JSON:"},
		"\xef\xbb\xbf" + `{"request":{}}`:   {fails: "The body must be JSON:"},
		`{"request":{"a":1e999999}}`:        {fails: "exponent"},
		`{"request":{"a":` + strings.Repeat("9", 500) + `}}`: {fails: "digits"},
		`{"request":{"a":NaN}}`:                              {fails: "The body must be JSON:"},
		deep(200):                                            {},
		deep(201):                                            {fails: "deep"},
		deep(10000):                                          {fails: "deep"},
		`{"request":{},"sessionId":""}`:                      {fails: "1 to 256"},
		`{"request":{},"sessionId":null}`:                    {fails: "must be a string"},
		`{"request":{},"sessionId":"` + strings.Repeat("é", 256) + `"}`: {},
		`{"request":{},"sessionId":"` + strings.Repeat("é", 257) + `"}`: {fails: "1 to 256"},
		`{"request":{},"action":["a"]}`:                                 {fails: "must be a string"},
		`{"request":{},"version":1}`:                                    {fails: "must be a string"},
		`{"request":{},"version":""}`:                                   {fails: "empty version"},
	} {
		m, e := decode([]byte(body))
		short := body[:min(len(body), 80)]
		switch {
		case w.fails == "" && e != nil:
			t.Errorf("%s: %v", short, e)
		case w.fails != "" && (e == nil || !strings.Contains(e.Message, w.fails)):
			t.Errorf("%s: %v, want %q", short, e, w.fails)
		case m.older != w.older:
			t.Errorf("%s: older %v", short, m.older)
		case e != nil && e.Outcome != bridge.NotRun:
			t.Errorf("%s: outcome %s", short, e.Outcome)
		}
	}
}

// TestDecodeKeepsBytes: policy and the page see the bytes that were sent.
func TestDecodeKeepsBytes(t *testing.T) {
	t.Parallel()
	const args = `{ "b":1.0, "a" : -0 , "n":9007199254740993,"s":"\u00e9\/" }`
	for _, key := range []string{"request", "payload"} {
		m, e := decode([]byte(`{"action":"x","config":{ "a" :1},"` + key + `": ` + args + ` }`))
		if e != nil || string(m.request.Text()) != args || string(m.config) != `{ "a" :1}` || m.action != "x" {
			t.Errorf("%+v %v", m, e)
		}
	}
}

func TestAddResume(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		config string
		header []string
		want   string // config afterwards
		fails  string
	}{
		{``, nil, ``, ""},
		{`{"timeout":1}`, nil, `{"timeout":1}`, ""},
		{``, []string{"t"}, `{"resume":"t"}`, ""},
		{`{"wait":1.0}`, []string{"t"}, `{"resume":"t","wait":1.0}`, ""},
		{`{"resume":"t"}`, []string{"t"}, `{"resume":"t"}`, ""},
		{`{"resume":"other"}`, []string{"t"}, "", "different calls"},
		{`{"resume":null}`, []string{"t"}, "", "different calls"},
		{`[]`, []string{"t"}, `[]`, ""},
		{`null`, []string{"t"}, `null`, ""},
		{``, []string{""}, "", "one token"},
		{``, []string{"a b"}, "", "one token"},
		{``, []string{"é"}, "", "one token"},
		{``, []string{"a", "b"}, "", "one token"},
	} {
		m := message{}
		if test.config != "" {
			m.config = json.RawMessage(test.config)
		}
		h := http.Header{}
		for _, v := range test.header {
			h.Add(transport.ResumeHeader, v)
		}
		e := m.addResume(h)
		if test.fails != "" {
			if e == nil || !strings.Contains(e.Message, test.fails) {
				t.Errorf("%s %q: %v", test.config, test.header, e)
			}
			continue
		}
		if e != nil || string(m.config) != test.want {
			t.Errorf("%s %q: %s %v, want %s", test.config, test.header, m.config, e, test.want)
		}
	}
}

// TestOlderIsComplete fails when a new code has no place in the older dialect.
func TestOlderIsComplete(t *testing.T) {
	t.Parallel()
	for _, c := range bridge.Codes() {
		if _, ok := older[c]; !ok {
			t.Errorf("%s has no status in the older dialect", c)
		}
	}
	if len(older) != len(bridge.Codes()) {
		t.Error("the table has a code that the bridge does not have")
	}
}

// encode is the other direction of decode, for the fuzzer.
func encode(m message) []byte {
	o := map[string]any{}
	session, data := "sessionId", "request"
	if m.older {
		session, data = "session_id", "payload"
	}
	for key, s := range map[string]string{session: m.session + m.correlation, "version": m.version, "action": m.action} {
		if s != "" {
			o[key] = s
		}
	}
	if m.config != nil {
		o["config"] = m.config
	}
	o[data] = m.request.Text()
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(o); err != nil {
		panic(err)
	}
	return buf.Bytes()
}

// FuzzDecode: no body makes the decoder panic, and each one that it accepts
// means one call, whoever writes it down.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"sessionId":"s","version":"1.0.0","action":"a","config":{"timeout":1},"request":{"a":[1.0,-0,"\u00e9"]}}`,
		`{"session_id":"s","action":"a","config":{},"payload":{}}`, `{"request":{},"payload":{}}`, `{"REQUEST":{}}`, `[]`, `{"request":{"a":1,"a":2}}`, `{"request":"<&>"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		m, e := decode(body)
		if e != nil {
			if e.Message == "" || e.Outcome != bridge.NotRun || e.Code != bridge.SchemaError && e.Code != bridge.WebtoolNotFound {
				t.Fatalf("refused as %+v", e)
			}
			return
		}
		if !json.Valid(m.request.Text()) || m.config != nil && !json.Valid(m.config) {
			t.Fatalf("accepted what is not JSON: %+v", m)
		}
		again, e := decode(encode(m))
		if e != nil {
			t.Fatalf("%s\nbecame %s\nwhich is refused: %v", body, encode(m), e)
		}
		compact(t, &m)
		compact(t, &again)
		if !reflect.DeepEqual(m, again) {
			t.Fatalf("%+v\nbecame %+v", m, again)
		}
	})
}

// compact takes white space out, which the encoder does not keep.
func compact(t *testing.T, m *message) {
	t.Helper()
	short := func(text json.RawMessage) json.RawMessage {
		var buf bytes.Buffer
		if err := json.Compact(&buf, text); err != nil {
			t.Fatal(err)
		}
		return buf.Bytes()
	}
	if m.config != nil {
		m.config = short(m.config)
	}
	var err error
	if m.request, err = bridge.ReadValue("request", short(m.request.Text())); err != nil {
		t.Fatal(err)
	}
}

package har_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/e2e/har"
)

// devtools is a file as browsers write it, with members that HAR does not have.
const devtools = `{"log": {"version": "1.2", "creator": {"name": "WebInspector", "version": "537.36"},
 "pages": [{"startedDateTime": "2026-11-20T10:00:00.000Z", "id": "page_1", "title": "https://shop.example/",
  "pageTimings": {"onContentLoad": 12.5, "onLoad": 20.1}}],
 "entries": [{"_initiator": {"type": "script"}, "_priority": "High", "_resourceType": "fetch", "cache": {},
  "connection": "443", "pageref": "page_1",
  "request": {"method": "GET", "url": "https://shop.example/api#x", "httpVersion": "http/2.0",
   "headers": [{"name": ":authority", "value": "shop.example"}], "queryString": [], "cookies": [],
   "headersSize": -1, "bodySize": 0},
  "response": {"status": 200, "statusText": "", "httpVersion": "http/2.0", "headers": [
    {"name": "content-encoding", "value": "br"}, {"name": "set-cookie", "value": "a=b"},
    {"name": "content-type", "value": "application/json"}], "cookies": [],
   "content": {"size": 2, "mimeType": "application/json", "text": "e30=", "encoding": "base64"},
   "redirectURL": "", "headersSize": -1, "bodySize": -1, "_transferSize": 120, "_error": null,
   "_fetchedViaServiceWorker": false},
  "serverIPAddress": "192.0.2.1", "startedDateTime": "2026-11-20T10:00:00.100Z", "time": 33.1,
  "timings": {"blocked": 1, "dns": -1, "ssl": -1, "connect": -1, "send": 0.1, "wait": 30, "receive": 2}}]}}`

// TestRead: a file of a browser answers; what is wrong in a file is named, with its place.
func TestRead(t *testing.T) {
	t.Parallel()
	f, err := har.Read([]byte("\ufeff" + devtools))
	if err != nil {
		t.Fatal(err)
	}
	e := f.Player("a test").Next("GET", "https://shop.example/api", nil, nil)
	if e == nil {
		t.Fatal("it does not answer")
	}
	if body, ok := e.Response.Body(); !ok || string(body) != "{}" {
		t.Errorf("it answers %q", body)
	}
	if h := e.Answer(""); len(h) != 1 || h.Get("Content-Type") != "application/json" {
		t.Errorf("it answers with the headers %v", h)
	}
	for _, c := range [][3]string{
		{"{}", "[]", "line 1, column 1: it is not JSON: unexpected end"},
		{`"entries": [`, "\n\t\x01", "line 5, column 2: it is not JSON: invalid character"},
		{`"status": 200`, `"status": "200"`, "invalid value for log/entries/response/status: it must not be of the kind string"},
		{`"status": 200`, `"status": 20`, "/log/entries/0/response/status: invalid value 20"},
		{`"GET"`, `""`, "/log/entries/0/request/method: it is missing"},
		{`"https://shop.example/api#x"`, `"shop \u001b"`, `/log/entries/0/request/url: invalid value "shop \x1b"`},
		{`"encoding": "base64"`, `"encoding": "rot13"`, `/log/entries/0/response/content: invalid value "rot13"`},
		{`"e30="`, `"{}"`, "/log/entries/0/response/content: its text is not base64"},
	} {
		text := strings.Replace(devtools, c[0], c[1], 1)
		if c[1] == "[]" {
			text = "{"
		}
		if _, err := har.Read([]byte(text)); err == nil || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("with %s it says: %v", c[1], err)
		}
	}
}

func entry(page, method, address, body, answer string) har.Entry {
	e := har.Entry{Page: page, Started: "2026-11-20T10:00:00.000Z"}
	e.Request = har.Request{Method: method, URL: address, Headers: []har.Pair{{"Origin", "http://127.0.0.1:1"}}}
	e.Request.SetBody([]byte(body), "text/plain")
	e.Response.Status = 200
	e.Response.Headers = []har.Pair{{"Access-Control-Allow-Origin", "http://127.0.0.1:1"}}
	e.Response.SetBody([]byte(answer))
	return e
}

// TestPlayer: which entry answers which request.
func TestPlayer(t *testing.T) {
	t.Parallel()
	const at = "http://shop.example/"
	f := &har.File{}
	f.Log.Pages = []har.Page{{ID: "1", Title: "one"}, {ID: "2", Title: "two"}}
	f.Log.Entries = []har.Entry{
		entry("", "GET", at, "", "shared"), entry("1", "GET", at, "", "one-a"), entry("1", "GET", at, "", "one-b"),
		entry("2", "POST", at, "x", "two"), entry("", "POST", at, "\xff", "binary"),
		entry("", "GET", at+"?q=1", "", "query"),
	}
	next := func(p *har.Player, method, address, body string) string {
		e := p.Next(method, address, nil, []byte(body))
		if e == nil {
			return "lacks"
		}
		text, _ := e.Response.Body()
		return string(text)
	}
	one, two := f.Player("one"), f.Player("two")
	for _, c := range []struct {
		player                      *har.Player
		method, address, body, want string
	}{
		{one, "GET", at + "#x", "", "one-a"}, {two, "GET", at, "", "shared"}, {one, "GET", at, "", "one-b"},
		{one, "GET", at, "", "one-b"}, {one, "POST", at, "x", "two"}, {one, "POST", at, "y", "lacks"},
		{one, "PUT", at, "x", "lacks"}, {two, "POST", at, "\xff", "binary"}, {two, "GET", at + "?q=1", "", "query"},
		{two, "GET", at + "?q=2", "", "lacks"}, {f.Player("one"), "GET", at, "", "one-a"},
	} {
		if got := next(c.player, c.method, c.address, c.body); got != c.want {
			t.Errorf("%s %s %q: %s, not %s", c.method, c.address, c.body, got, c.want)
		}
	}
	form := func(boundary string) (http.Header, []byte) {
		return http.Header{"Content-Type": {"multipart/form-data; boundary=" + boundary}},
			[]byte("--" + boundary + "\r\nx\r\n--" + boundary + "--")
	}
	header, body := form("abc")
	sent := entry("", "POST", at+"form", string(body), "form")
	sent.Request.Headers = har.Headers(header)
	f.Log.Entries = append(f.Log.Entries, sent)
	header, body = form("def")
	if e := f.Player("").Next("POST", at+"form", header, body); e == nil {
		t.Error("a form with another boundary is lacking")
	}
	if got := f.Log.Entries[0].Answer("http://127.0.0.1:2").Get("Access-Control-Allow-Origin"); got != "http://127.0.0.1:2" {
		t.Errorf("a page elsewhere may not read it: %s", got)
	}
}

// required are the members that HAR 1.2 wants, by where they are.
var required = map[string][]string{
	"log":                            {"version", "creator", "entries", "pages"},
	"log/creator":                    {"name", "version"},
	"log/pages/0":                    {"startedDateTime", "id", "title", "pageTimings"},
	"log/entries/0":                  {"startedDateTime", "time", "request", "response", "cache", "timings"},
	"log/entries/0/request":          {"method", "url", "httpVersion", "cookies", "headers", "queryString", "headersSize", "bodySize"},
	"log/entries/0/request/postData": {"mimeType", "text"},
	"log/entries/0/response":         {"status", "statusText", "httpVersion", "cookies", "headers", "content", "redirectURL", "headersSize", "bodySize"},
	"log/entries/0/response/content": {"size", "mimeType"},
	"log/entries/0/timings":          {"send", "wait", "receive"},
}

// missing lists the required members that a text lacks.
func missing(t *testing.T, text []byte) (all []string) {
	t.Helper()
	var whole any
	if err := json.Unmarshal(text, &whole); err != nil {
		t.Fatal(err)
	}
	for at, names := range required {
		v := whole
		for part := range strings.SplitSeq(at, "/") {
			if list, is := v.([]any); is {
				v = list[0]
			} else {
				v = v.(map[string]any)[part]
			}
		}
		for _, name := range names {
			if _, there := v.(map[string]any)[name]; !there {
				all = append(all, at+"/"+name)
			}
		}
	}
	return all
}

// TestText: what is written has all that HAR wants, and is read; secrets are not in it.
func TestText(t *testing.T) {
	t.Parallel()
	f := &har.File{}
	f.Log.Pages = []har.Page{{ID: "1", Title: "one"}}
	e := entry("1", "POST", "http://shop.example/?a=b%20c&d", "x\xff", "<b>")
	e.Request.Headers = har.Headers(http.Header{"authorization": {"Bearer s"}, "Cookie": {"s"}, "Accept": {"*/*"},
		"Proxy-Authorization": {"s"}})
	e.Request.QueryString = har.Query(e.Request.URL)
	f.Log.Entries = []har.Entry{e}
	text, err := f.Text()
	if err != nil {
		t.Fatal(err)
	}
	if lacks := missing(t, text); lacks != nil {
		t.Errorf("it lacks %v:\n%s", lacks, text)
	}
	without := strings.Replace(string(text), `"httpVersion"`, `"other"`, 1)
	if lacks := missing(t, []byte(without)); len(lacks) != 1 {
		t.Errorf("the control lacks %v", lacks)
	}
	again, err := har.Read(text)
	if err != nil {
		t.Fatal(err)
	}
	got := again.Log.Entries[0].Request
	if string(got.Body()) != "x\xff" || len(got.Headers) != 1 || len(got.QueryString) != 2 ||
		got.QueryString[0] != (har.Pair{"a", "b c"}) {
		t.Errorf("it is read as %+v", got)
	}
	left := &har.Response{}
	left.LeaveOut(7, "too long")
	if _, ok := left.Body(); ok {
		t.Error("a body that was left out is there")
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(devtools))
	f.Add([]byte(`{"log":{"entries":[{"request":{"method":"GET","url":"x:"}}]}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := har.Read(text)
		if err != nil {
			return
		}
		again, err := file.Text()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := har.Read(again); err != nil {
			t.Errorf("what was written cannot be read: %v\n%s", err, again)
		}
	})
}

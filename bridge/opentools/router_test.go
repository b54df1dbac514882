package opentools_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/bridge/opentools"
	"github.com/pagetools/pagetools/bridge/policy"
)

func TestMain(m *testing.M) { os.Exit(bridgetest.Main(m, os.Stderr)) }

// served is an API whose document and answers a test chooses.
type served struct {
	*httptest.Server

	clock    atomic.Int64 // what it is later than it is
	homes    bridge.Homes // of its routers; nil: there is one process
	mu       sync.Mutex
	document string
	header   http.Header // of the document
	status   int         // of the document; 0 is 200
	paths    map[string]http.HandlerFunc
	asked    []string
}

// document is one of these operations, by path and method.
func documentOf(paths string) string {
	return `{"openapi":"3.1.0","info":{"title":"Pets","version":"1"},"x-llm":{"version":"0.1","name":"Pet\u202e shop"},"paths":{` + paths + `}}`
}

// operation is one that takes n and note.
func operation(path, method, id, terms string) string {
	return fmt.Sprintf(`%q:{%q:{"operationId":%q,"summary":"Does %[3]s.","x-llm":%s,"parameters":[{"name":"n","in":"query","schema":{"type":"number"}}]}}`,
		path, method, id, terms)
}

func serve(t *testing.T, paths string) *served {
	t.Helper()
	s := &served{document: documentOf(paths), header: http.Header{}, paths: map[string]http.HandlerFunc{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *served) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked = append(s.asked, r.Method+" "+r.URL.RequestURI())
	document, header, status, answer := s.document, s.header.Clone(), s.status, s.paths[r.URL.Path]
	s.mu.Unlock()
	switch {
	case r.URL.Path == "/openapi.json":
		maps.Copy(w.Header(), header)
		if status != 0 {
			w.WriteHeader(status)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, document)
	case r.URL.Path == "/.well-known/llm.json":
		_, _ = io.WriteString(w, `{"openapi":"/openapi.json","auth":"none"}`)
	case answer != nil:
		answer(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (s *served) change(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// count returns how often something was asked.
func (s *served) count(what string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.asked {
		if a == what {
			n++
		}
	}
	return n
}

// on answers a path.
func (s *served) on(path string, h http.HandlerFunc) { s.change(func() { s.paths[path] = h }) }

func answers(status int, media, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", media)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func direct(*tls.Certificate) http.RoundTripper {
	return &http.Transport{DisableKeepAlives: true}
}

// attach makes a bridge with the API as the site "api".
func attach(t *testing.T, s *served, change func(*opentools.SiteOptions, *bridge.SiteOptions)) (*bridge.Bridge, *opentools.Router) {
	t.Helper()
	site := opentools.SiteOptions{Site: bridge.Site{Name: "api", Target: s.URL, Origin: s.URL}, URL: s.URL + "/openapi.json", Transport: direct}
	var o bridge.SiteOptions
	if change != nil {
		change(&site, &o)
	}
	return attachBeside(t, s, site, o, nil)
}

func attachBeside(t *testing.T, s *served, site opentools.SiteOptions, o bridge.SiteOptions, pages bridge.Router) (*bridge.Bridge, *opentools.Router) {
	t.Helper()
	r := opentools.NewRouter(opentools.RouterOptions{Pages: pages, Sites: []opentools.SiteOptions{site}, Homes: s.homes,
		Now: func() time.Time { return time.Now().Add(time.Duration(s.clock.Load())) }})
	t.Cleanup(r.Close)
	b, err := bridge.New(r, bridge.Options{Sites: map[string]bridge.SiteOptions{"api": o}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b, r
}

func ref() bridge.Ref { return bridge.Ref{Site: "api", Caller: bridge.Local()} }

// call runs a tool as local.
func call(t *testing.T, b *bridge.Bridge, tool, input string) bridge.Step {
	t.Helper()
	return b.Complete(t.Context(), &bridge.Call{Site: "api", Tool: tool, Caller: bridge.Local(), Input: bridgetest.JSON(input)})
}

// told is a step in one line.
func told(s bridge.Step) string {
	if s.Err != nil {
		return fmt.Sprintf("%s %s %s: %s", s.Err.Code, s.Err.Reason, s.Err.Outcome, s.Err.Message)
	}
	return string(s.Data)
}

const free = `{"approval":"auto"}`

// TestAnswers: what an API answers is the result, or an error that says what is known.
func TestAnswers(t *testing.T) {
	t.Parallel()
	s := serve(t, operation("/get", "get", "get", free))
	b, _ := attach(t, s, nil)
	big := strings.Repeat("x", 2<<20)
	for name, x := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"object":    {answers(200, "application/json", `{"a":1}`), `{"a":1}`},
		"list":      {answers(200, "application/vnd.api+json; charset=utf-8", `[1,2]`), `[1,2]`},
		"literal":   {answers(200, "application/json", `12345678901234567890`), `12345678901234567890`},
		"not JSON":  {answers(200, "application/json", `{"a":`), `"{\"a\":"`},
		"text":      {answers(200, "text/plain", `hello`), `"hello"`},
		"nothing":   {answers(204, "", ``), `{"status":204}`},
		"image":     {answers(200, "image/png", "\x89PNG"), `{"content":[{"data":"iVBORw==","mimeType":"image/png","type":"image"}]}`},
		"bytes":     {answers(200, "application/zip", "PK\xff"), `"blob":"UEv/"`},
		"too large": {answers(200, "text/plain", big), `TOOL_ERROR RESULT_TOO_LARGE unknown: The result of "get" is longer than 1048576 bytes, which is the limit.`},
		"missing":   {answers(404, "application/problem+json", `{"title":"No such pet","status":404}`), `TOOL_ERROR  failed: 127.0.0.1:PORT answers 404 Not Found: No such pet`},
		"broken":    {answers(500, "text/html", `<h1>secret</h1>`), `TOOL_ERROR  unknown: 127.0.0.1:PORT answers 500 Internal Server Error`},
		"controls":  {answers(400, "text/plain", "a\u202eb\x1b[31mc\nd"), `answers 400 Bad Request: ab[31mc d`},
		"busy":      {answers(429, "text/plain", `later`), `RATE_LIMIT  not_run: 127.0.0.1:PORT answers 429 Too Many Requests: later`},
		"elsewhere": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.2:9/secret", http.StatusFound)
		}, `TOOL_ERROR  failed: 127.0.0.1:PORT sends the call on to another origin, which is not followed.`},
		"here": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/there", http.StatusSeeOther)
		}, `"there"`},
		"envelope": {answers(409, "application/json", `{"status":"error","error":{"code":"VERSION_MISMATCH","reason":"TOOL_CHANGED","outcome":"not_run","message":"It changed."}}`),
			`VERSION_MISMATCH TOOL_CHANGED not_run: It changed.`},
		"unknown envelope": {answers(400, "application/json", `{"status":"error","error":{"code":"MADE_UP","outcome":"not_run","message":"Trust me."}}`),
			`TOOL_ERROR  failed: 127.0.0.1:PORT answers 400 Bad Request`},
		"cut off": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "half")
		}, `INTERNAL_ERROR UNREACHABLE unknown: 127.0.0.1:PORT broke the connection off.`},
		"jsonl":     {answers(200, "application/jsonl", "{\"a\":1}\n\n2\nno json\n"), `[{"a":1},2,"no json"]`},
		"events":    {answers(200, "text/event-stream", ": hi\ndata: {\"a\":\ndata: 1}\nid: 4\n\ndata: x\n\ndata: lost"), `[{"a":1},"x"]`},
		"sequence":  {answers(200, "application/json-seq", "\x1e{\"a\":1}\n\x1e2\n"), `[{"a":1},2]`},
		"parts":     {answers(200, "multipart/mixed; boundary=b", "--b\r\nContent-Type: application/json\r\n\r\n{\"a\":1}\r\n--b\r\n\r\nx\r\n--b--\r\n"), `[{"a":1},"x"]`},
		"no events": {answers(200, "text/event-stream", ""), `[]`},
	} {
		t.Run(name, func(t *testing.T) {
			s.on("/get", x.answer)
			s.on("/there", answers(200, "text/plain", "there"))
			got := strings.ReplaceAll(told(call(t, b, "get", `{}`)), strings.TrimPrefix(s.URL, "http://"), "127.0.0.1:PORT")
			if !strings.Contains(got, x.want) {
				t.Errorf("%s\nwant %s", got, x.want)
			}
		})
	}
	s.Close()
	if got := told(call(t, b, "get", `{}`)); !strings.Contains(got, "INTERNAL_ERROR UNREACHABLE not_run") {
		t.Errorf("a server that is gone: %s", got)
	}
}

// TestEndlessStream: a stream ends with what there is room for, or with the time of the call.
func TestEndlessStream(t *testing.T) {
	t.Parallel()
	s := serve(t, operation("/get", "get", "get", free))
	b, _ := attach(t, s, nil)
	for name, x := range map[string]struct {
		line, config, cut string
	}{
		"room": {strings.Repeat("y", 1<<16), ``, "there was more than the result may have"},
		"time": {"", `{"timeout":300}`, "the call's time was over"},
		"line": {"endless", ``, "there was more than the result may have"},
	} {
		t.Run(name, func(t *testing.T) {
			s.on("/get", func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/jsonl")
				_, _ = io.WriteString(w, "1\n")
				_ = http.NewResponseController(w).Flush()
				for r.Context().Err() == nil {
					switch x.line {
					case "":
						<-r.Context().Done()
					case "endless":
						if _, err := io.WriteString(w, strings.Repeat("z", 1<<16)); err != nil {
							return
						}
					default:
						if _, err := fmt.Fprintf(w, "%q\n", x.line); err != nil {
							return
						}
					}
				}
			})
			end := b.Complete(t.Context(), &bridge.Call{Site: "api", Tool: "get", Caller: bridge.Local(), Input: bridgetest.JSON(`{}`), Config: json.RawMessage(x.config)})
			var got struct {
				Result []any
				Cut    string
			}
			if err := json.Unmarshal(end.Data, &got); err != nil || got.Cut != x.cut || len(got.Result) == 0 {
				t.Errorf("%.200s", told(end))
			}
		})
	}
}

// TestTerms: the site says the least that is asked, and what changes something is asked about
// whatever the site says of it (O9-O12, B3, B4).
func TestTerms(t *testing.T) {
	t.Parallel()
	s := serve(t, strings.Join([]string{
		operation("/a", "get", "reads", free),
		operation("/b", "post", "writes", free),
		operation("/c", "get", "asks", `{"approval":"per-call"}`),
		operation("/d", "get", "says_nothing", `{}`),
		operation("/e", "get", "blanket", `{"approval":"per-call","blanketApprovalAllowed":true}`),
		operation("/f", "get", "destroys", `{"approval":"auto","destructive":true,"blanketApprovalAllowed":true}`),
		operation("/g", "delete", "deletes", free),
		operation("/h", "get", "costs", `{"approval":"auto","costIndicator":"paid"}`),
		operation("/j", "get", "costs_more", `{"approval":"auto","costIndicator":"a lot"}`),
		operation("/i", "get", "off", `{"enabled":false}`),
	}, ","))
	for _, path := range []string{"/a", "/b", "/c", "/d", "/e", "/f", "/g", "/h", "/j"} {
		s.on(path, answers(200, "application/json", "true"))
	}
	for mode, want := range map[string]map[string]policy.Level{
		policy.ModeAsk: {"reads": policy.Auto, "writes": policy.Ask, "asks": policy.Ask, "says_nothing": policy.Ask, "blanket": policy.Ask,
			"destroys": policy.Ask, "deletes": policy.Ask, "costs": policy.Ask, "costs_more": policy.Ask},
		policy.ModeAuto: {"reads": policy.Auto, "writes": policy.Auto, "asks": policy.Ask, "says_nothing": policy.Ask, "blanket": policy.Once,
			"destroys": policy.Ask, "deletes": policy.Ask, "costs": policy.Ask, "costs_more": policy.Ask},
		policy.ModeAskOnce: {"reads": policy.Auto, "writes": policy.Once, "asks": policy.Ask, "blanket": policy.Once, "destroys": policy.Ask},
		policy.ModeStrict:  {"reads": policy.Ask},
	} {
		b, _ := attach(t, s, func(_ *opentools.SiteOptions, o *bridge.SiteOptions) { o.Approval.Mode = mode })
		l, err := b.Tools(t.Context(), ref())
		if err != nil {
			t.Fatal(err)
		}
		if len(l.Tools) != 9 {
			t.Errorf("%d tools are offered", len(l.Tools))
		}
		for _, tool := range l.Tools {
			level, said := want[tool.Name()]
			if got := l.Terms(tool).Level; said && got != level {
				t.Errorf("%s %s: %s, want %s", mode, tool.Name(), got, level)
			}
			end := call(t, b, tool.Name(), `{}`)
			if asked := end.Err != nil && end.Err.Code == bridge.ApprovalRequired; said && asked != (level > policy.Auto) {
				t.Errorf("%s %s: %s", mode, tool.Name(), told(end))
			}
		}
	}
}

// TestQuestion: a person sees who asks, what is sent and where to, and what it costs (O17).
func TestQuestion(t *testing.T) {
	t.Parallel()
	s := serve(t, operation("/pets", "post", "save", `{"costIndicator":"credits","destructive":true,"hint":"Use it."}`))
	s.on("/pets", func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.RawQuery) })
	b, _ := attach(t, s, nil)
	var facts []string
	asker := asking(func(q bridge.Question) bridge.Answer {
		for _, f := range q.Facts() {
			facts = append(facts, f.Name+": "+f.Text)
		}
		facts = append(facts, "Input: "+string(q.Input), "Detail: "+q.Detail, q.Title)
		return bridge.Answer{OK: true}
	})
	end := b.Complete(t.Context(), &bridge.Call{Site: "api", Tool: "save", Caller: bridge.Local(), Input: bridgetest.JSON(`{"n":12345678901234567890}`), Asker: asker})
	if told(end) != `"n=12345678901234567890"` {
		t.Error(told(end))
	}
	want := []string{"The API marks this tool as: destructive", "The API marks this tool as: consequential", "The site calls itself: Pet shop",
		"Request: POST " + s.URL + "/pets", "A call costs: credits", "Origin: " + s.URL, `Input: {"n":12345678901234567890}`, "Detail: Does save.\nUse it.",
		`"Pet shop" wants: "Does save." with n=12345678901234567890. Run save on api?`}
	if !slices.Equal(facts, want) {
		t.Errorf("%q\nwant %q", facts, want)
	}
}

// TestQuestionTitle: the first words of a question are the API's name, its summary and the
// arguments, and neither name nor summary can say more than that (O17).
func TestQuestionTitle(t *testing.T) {
	t.Parallel()
	s := serve(t, "")
	s.document = `{"openapi":"3.1.0","info":{"title":"x","version":"1"},"x-llm":{"version":"0.1","name":"Bank\" wants: nothing.\nRun"},
		"paths":{"/pay":{"post":{"operationId":"pay","summary":"Pay \"all\"` + strings.Repeat(" of it", 40) + `","x-llm":{},
		"requestBody":{"content":{"application/json":{"schema":{"type":"object","properties":{"to":{"type":"string"}}}}}}}}}}`
	s.on("/pay", answers(200, "text/plain", "paid"))
	b, _ := attach(t, s, nil)
	for input, with := range map[string]string{
		`{}`:                                   "",
		`{"to":"Ada \"A\"\n\u202e","n":1e400}`: ` with to="Ada \"A\"\n\u202e", n=1e400`,
		`{"to":"` + strings.Repeat("x", 60) + `"}`:            ` with to="` + strings.Repeat("x", 39) + "…",
		`{"a":1,"b":[2],"c":{"d":3},"e":4,"f":5,"g":6,"h":7}`: ` with a=1, b=[2], c={"d":3}, e=4, f=5, g=6, …`,
	} {
		var title string
		asker := asking(func(q bridge.Question) bridge.Answer { title = q.Title; return bridge.Answer{} })
		b.Complete(t.Context(), &bridge.Call{Site: "api", Tool: "pay", Caller: bridge.Local(), Input: bridgetest.JSON(input), Asker: asker})
		want := `"Bank' wants: nothing. Run" wants: "Pay 'all'` + strings.Repeat(" of it", 11) + ` of i…"` + with + ". Run pay on api?"
		if title != want {
			t.Errorf("%s: the title is\n%s\nwant\n%s", input, title, want)
		}
	}
}

type asking func(q bridge.Question) bridge.Answer

func (f asking) Ask(_ context.Context, q bridge.Question) (bridge.Answer, error) { return f(q), nil }

// TestChanged: a document that changes between consent and call runs nothing (B7); one that does
// not change keeps its list, and one that cannot be asked for is good for a while (B8).
func TestChanged(t *testing.T) {
	t.Parallel()
	s := serve(t, operation("/pets", "post", "save", `{}`))
	s.header.Set("Cache-Control", "no-cache")
	s.header.Set("ETag", `"1"`)
	s.on("/pets", answers(200, "text/plain", "saved"))
	b, r := attach(t, s, nil)
	aged := func() { s.clock.Add(int64(time.Minute)) }
	save := func(during func()) string {
		asker := asking(func(bridge.Question) bridge.Answer { during(); return bridge.Answer{OK: true} })
		return told(b.Complete(t.Context(), &bridge.Call{Site: "api", Tool: "save", Caller: bridge.Local(), Input: bridgetest.JSON(`{}`), Asker: asker}))
	}
	if got := save(func() {}); got != `"saved"` {
		t.Fatal(got)
	}
	before, err := r.Catalog(ref())
	if err != nil {
		t.Fatal(err)
	}
	aged()
	s.change(func() { s.status = http.StatusBadGateway })
	if got := save(aged); got != `"saved"` {
		t.Errorf("while the document cannot be asked for: %s", got)
	}
	s.change(func() { s.status = 0; s.document = documentOf(operation("/pets", "delete", "save", `{}`)) })
	if got := save(aged); !strings.HasPrefix(got, "VERSION_MISMATCH TOOL_CHANGED not_run") {
		t.Errorf("a document that changed: %s", got)
	}
	if after, err := r.Catalog(ref()); err != nil || after.Digest() == before.Digest() {
		t.Errorf("the list is the one of before: %v", err)
	}
	s.change(func() { s.document = documentOf(operation("/pets", "post", "save", `{}`)) })
	aged()
	if got := save(func() {}); !strings.HasPrefix(got, "VERSION_MISMATCH") { // the list is read again before the call
		t.Errorf("a document that changed back: %s", got)
	}
	if got := save(func() {}); got != `"saved"` {
		t.Errorf("after it was read: %s", got)
	}
	sent := s.count("POST /pets")
	s.change(func() { s.document = strings.Replace(s.document, `"in":"query"`, `"in":"header"`, 1) })
	if got := save(aged); !strings.HasPrefix(got, "VERSION_MISMATCH TOOL_CHANGED not_run") || s.count("POST /pets") != sent {
		t.Errorf("a call that would be sent in another way: %s", got)
	}
	if s.count("DELETE /pets") > 0 {
		t.Error("it ran")
	}
	s.change(func() { s.status = http.StatusBadGateway })
	for _, c := range []struct {
		after time.Duration
		want  string
	}{{23 * time.Hour, `"saved"`}, {2 * time.Hour, "INTERNAL_ERROR UNREACHABLE not_run"}} {
		s.clock.Add(int64(c.after))
		save(func() {}) // is given what there was, and begins a look
		if got := save(func() {}); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s after the document could not be asked for: %s", c.after, got)
		}
	}
}

// TestDocumentIsGone: a document is not held once its tools are made, whatever they have of it.
func TestDocumentIsGone(t *testing.T) { // not beside others: it looks at the heap
	gatetest.NoRace(t)
	const size = 16 << 20
	s := serve(t, "")
	s.document = documentOf(`"/{id}":{"servers":[{"url":"/v2"}],"put":{"operationId":"put","x-llm":{"chaining":{"nextSteps":[{"operationId":"x","hint":"y"}]}},
		"security":[{"key":[]},{}],"parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"string"},"explode":true}],
		"requestBody":{"required":true,"content":{"application/json":{"schema":{"type":"object","properties":{"a":{"type":"string"}},"minProperties":1}}}},
		"responses":{"200":{"description":"","content":{"application/json":{"schema":{"type":"object"}}}}}}}`)
	s.document = strings.TrimSuffix(s.document, "}") + `,"components":{"securitySchemes":{"key":{"type":"apiKey","in":"header","name":"k"}}},"x-much":"` +
		strings.Repeat("x", size) + `"}`
	held := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := held()
	r := opentools.NewRouter(opentools.RouterOptions{Sites: []opentools.SiteOptions{{Site: bridge.Site{Name: "api", Target: s.URL, Origin: s.URL},
		URL: s.URL + "/openapi.json", Transport: direct}}})
	defer r.Close()
	about, c, err := r.About(t.Context(), "api")
	if err != nil || c.Tool("put") == nil || len(about.Logins) != 1 {
		t.Fatalf("%+v, %v", about, err)
	}
	if more := held() - before; more > size/2 {
		t.Errorf("%d bytes are held of it", more)
	}
	found, err := (&opentools.Discoverer{Client: http.DefaultClient}).Discover(t.Context(), s.URL+"/openapi.json")
	if more := held() - before; err != nil || more < size {
		t.Errorf("a document that is held takes %d bytes (%v)", more, err)
	}
	runtime.KeepAlive(found)
}

package serve_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/websocket"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp"
	"github.com/pagetools/pagetools/session/cdp/chrome"
	"github.com/pagetools/pagetools/session/cdp/endpoint"

	"github.com/pagetools/pagetools/e2e/suite"
	"github.com/pagetools/pagetools/e2e/suite/docs"
)

// operatorsBrowser opens pages in the browser that the tests share.
func operatorsBrowser(t *testing.T) *cdp.Engine {
	t.Helper()
	e, err := cdp.NewRemote(cdp.RemoteOptions{Endpoints: []endpoint.Endpoint{{URL: os.Getenv("PAGETOOLS_BROWSER_URL")}}})
	return closed(t, e, err)
}

// browserOf is a browser with viewports of a size in CSS pixels.
func browserOf(t *testing.T, width, height int, args ...string) *cdp.Engine {
	t.Helper()
	e, err := cdp.NewLocal(cdp.LocalOptions{Options: chrome.Options{
		Path: os.Getenv("PAGETOOLS_EXECUTABLE_PATH"), NoSandbox: os.Getenv("PAGETOOLS_NO_SANDBOX") == "1",
		Width: width, Height: height, Args: args,
	}})
	return closed(t, e, err)
}

// closed closes the engine when the test ends.
func closed(t *testing.T, e *cdp.Engine, err error) *cdp.Engine {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// shownPage is a page in the operators' browser. Scripts that must not run there would
// register its tools.
type shownPage struct {
	session.Tab
	bridge.View

	ready chan struct{}
	tools chan string
}

// Close ends the view; the tab ends with the test.
func (p *shownPage) Close() { p.View.Close() }

// showInBrowser opens a page, and waits until it has an element.
func showInBrowser(t *testing.T, e *cdp.Engine, url, selector string) *shownPage {
	t.Helper()
	tab, err := e.Open(t.Context(), session.TabOptions{Await: session.Await{Selector: selector}})
	if err != nil {
		t.Fatal(err)
	}
	p := &shownPage{Tab: tab, ready: make(chan struct{}), tools: make(chan string, 100)}
	go p.read()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), suite.StopWithin)
		defer cancel()
		if err := tab.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	if err := tab.Load(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.ready:
	case <-time.After(suite.ReadyWithin):
		t.Fatalf("%s shows no %s", url, selector)
	}
	if p.View, err = tab.(session.Watchable).View(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// read takes the tab's events until it is closed.
func (p *shownPage) read() {
	ready := sync.OnceFunc(func() { close(p.ready) }) // a page that is loaded anew is ready anew
	for ev := range p.Events() {
		switch ev := ev.(type) {
		case session.Ready:
			ready()
		case session.ToolsChanged:
			for _, tool := range ev.Tools {
				p.tools <- tool.Name
			}
		}
	}
}

// press presses keys, by their names; a key of one letter writes it.
func (p *shownPage) press(t *testing.T, keys ...string) {
	t.Helper()
	for _, key := range keys {
		in := bridge.Input{Type: bridge.KeyDown, Key: key, Code: key}
		if len(key) == 1 {
			in.Text = key
		}
		for _, in.Type = range []bridge.InputType{bridge.KeyDown, bridge.KeyUp} {
			if err := p.Act(t.Context(), in); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// allow presses the button that says yes, when it can be pressed.
func (p *shownPage) allow(t *testing.T) {
	t.Helper()
	suite.Eventually(t, suite.ReplyWithin, "a button that can be pressed", func() bool {
		ripe, err := cdp.Evaluate(t.Context(), p.Tab, "String(document.querySelector('.card button.yes')?.ariaDisabled)")
		return err == nil && ripe == "false"
	})
	p.press(t, "a", "Enter")
}

// take takes the pen of a live view. Its button has the focus when the page is shown,
// whenever that is.
func (p *shownPage) take(t *testing.T, watching *websocket.Conn) {
	t.Helper()
	stop, pressed := make(chan struct{}), make(chan struct{})
	go func() { // ends when it is stopped, or with the page
		defer close(pressed)
		ticker := time.NewTicker(100 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				if p.Act(t.Context(), bridge.Input{Type: bridge.KeyDown, Key: "Enter", Code: "Enter"}) != nil {
					return
				}
			case <-stop:
				return
			}
		}
	}()
	hears(t, watching, "the pen in the operators' page", func(s liveState) bool { return s.Pen == "console" })
	close(stop)
	<-pressed
}

// operators serves a site with a console, and returns the address of its page.
func operators(t *testing.T, target string, more ...string) (s *suite.Server, page string) {
	t.Helper()
	s = suite.Serve(t, append([]string{"site=" + target, "--console-listen", "127.0.0.1:0", "--warm", "0"}, more...)...)
	return s, s.Ready.Console.URL + "/#" + s.Ready.Console.Token
}

// waits sends a call that waits for a person, and returns its reply.
func waits(s *suite.Server, action, request string) <-chan suite.Reply {
	return s.Later("/webtools/site", fmt.Sprintf(`{"sessionId":"me","action":%q,"request":%s,"config":{"wait":60000}}`, action, request))
}

// liveState is a message to a viewer.
type liveState struct {
	Type     string
	Question *struct{ ID, Kind string }
	Pen      string
	Over     bool
	Error    struct{ Code, Message string }
}

// viewer opens a live view of the only question, as a program does.
func viewer(t *testing.T, s *suite.Server) *websocket.Conn {
	t.Helper()
	var list struct{ Questions []struct{ ID string } }
	if r := s.As(t, s.Ready.Console.Token, http.MethodGet, s.Ready.Console.URL+"/api/questions", ""); json.Unmarshal(r.Body, &list) != nil || len(list.Questions) != 1 {
		t.Fatalf("the questions are %s", r.Body)
	}
	return viewOf(t, s, "questions/"+list.Questions[0].ID)
}

// viewOf opens a live view. The path may have a query.
func viewOf(t *testing.T, s *suite.Server, path string) *websocket.Conn {
	t.Helper()
	path, query, _ := strings.Cut(path, "?")
	config, err := websocket.NewConfig(strings.Replace(s.Ready.Console.URL, "http", "ws", 1)+"/api/"+path+"/live?"+query, s.Ready.Console.URL)
	if err != nil {
		t.Fatal(err)
	}
	config.Protocol = []string{"pagetools.live.v1", "pagetools.bearer." + base64.RawURLEncoding.EncodeToString([]byte(s.Ready.Console.Token))}
	conn, err := config.DialContext(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// hears reads the messages to a viewer until one is right.
func hears(t *testing.T, conn *websocket.Conn, what string, right func(liveState) bool) {
	t.Helper()
	_ = conn.SetReadDeadline(time.Now().Add(suite.ReplyWithin))
	for {
		var data []byte
		if err := websocket.Message.Receive(conn, &data); err != nil {
			t.Fatalf("waiting for %s: %v", what, err)
		}
		var s liveState
		if json.Unmarshal(data, &s) == nil && right(s) {
			return
		}
	}
}

// TestWizard: a person takes the pen in the operators' page, picks a seat and signs
// in the page behind it, and the call has their booking.
func TestWizard(t *testing.T) {
	t.Parallel()
	s, address := operators(t, filepath.Join(docs.Root(t), "examples", "wizard"), "--approval", "auto")
	booked := waits(s, "book-seat", `{"play":"tempest"}`)
	page := showInBrowser(t, operatorsBrowser(t), address, "article[data-id]")
	watching := viewer(t, s)
	for path, want := range map[string]string{"/api/sessions": `"site":"site","session":"me"`, "/api/browsers": `"state":"running"`} {
		r := s.As(t, s.Ready.Console.Token, http.MethodGet, s.Ready.Console.URL+path, "")
		if !strings.Contains(string(r.Body), want) {
			t.Errorf("%s is %d %s", path, r.Status, r.Body)
		}
	}
	seen := sessionViewer(t, s)
	hears(t, seen, "the call that waits, in the view of its session", func(s liveState) bool { return s.Question != nil && s.Question.Kind == "interact" })
	page.press(t, "l")
	page.take(t, watching)
	hears(t, seen, "who holds the pen, in the view of its session", func(s liveState) bool { return s.Pen == "console" })
	page.until(t, "[...document.querySelectorAll('.page .tools button')].filter((b) => !b.hidden).map((b) => b.textContent).join() === 'Give the pen away,Back,Reload,Copy text'")
	page.eval(t, `(navigator.clipboard.writeText = async (text) => { window.copied = text; }, [...document.querySelectorAll('.page .tools button')].at(-1).click(), '')`)
	page.until(t, "window.copied?.includes('A1') && document.querySelector('.page').innerText.includes('characters of the page.')")
	// The first free seat has the focus; then the name, the rules, and Enter.
	page.press(t, " ", "Enter", "A", "d", "a", "Tab", " ", "Enter")
	r := <-booked
	var booking struct{ Play, Seat, Signed string }
	if r.Status != http.StatusOK || json.Unmarshal(r.Data(t), &booking) != nil || booking.Seat != "A1" || booking.Signed != "Ada" {
		t.Errorf("the call gave %d %s", r.Status, r.Body)
	}
	hears(t, watching, "the end", func(s liveState) bool { return s.Over })
	hears(t, seen, "no call, in the view of its session", func(s liveState) bool { return s.Question == nil && !s.Over })
	if r := s.As(t, s.Ready.Console.Token, http.MethodGet, s.Ready.Console.URL+"/api/sessions/"+sessionOf(t, s)+"/picture", ""); r.Status != http.StatusOK || !bytes.HasPrefix(r.Body, []byte("\x89PNG")) {
		t.Errorf("its picture is %d", r.Status)
	}
	if r := s.As(t, s.Ready.Console.Token, http.MethodDelete, s.Ready.Console.URL+"/api/sessions/"+sessionOf(t, s), ""); r.Status != http.StatusOK {
		t.Errorf("closing it: %d %s", r.Status, r.Body)
	}
	hears(t, seen, "the end of the session", func(s liveState) bool { return s.Over })
	if r := <-waits(s, "book-seat", `{"play":"tempest"}`); r.Status != http.StatusGone {
		t.Errorf("the next call: %d %s", r.Status, r.Body)
	}
}

// sessionOf returns the id of the only session.
func sessionOf(t *testing.T, s *suite.Server) string {
	t.Helper()
	var list struct{ Items []struct{ ID string } }
	if r := s.As(t, s.Ready.Console.Token, http.MethodGet, s.Ready.Console.URL+"/api/sessions", ""); json.Unmarshal(r.Body, &list) != nil || len(list.Items) != 1 {
		t.Fatalf("the sessions are %s", r.Body)
	}
	return list.Items[0].ID
}

// sessionViewer opens a live view of the only session, as a program does.
func sessionViewer(t *testing.T, s *suite.Server) *websocket.Conn {
	t.Helper()
	return viewOf(t, s, "sessions/"+sessionOf(t, s))
}

// TestFocusStays (U3): who answers by keyboard is at the next question afterwards, and at the
// heading when there is none.
func TestFocusStays(t *testing.T) {
	t.Parallel()
	s, address := operators(t, filepath.Join(docs.Root(t), "examples", "stampdb"))
	var replies []<-chan suite.Reply
	for _, name := range []string{"One", "Two"} {
		replies = append(replies, s.Later("/webtools/site", fmt.Sprintf(`{"action":"add-stamp","request":{"name":%q,"description":"d","year":1900},"config":{"wait":60000}}`, name)))
		suite.Eventually(t, suite.ReplyWithin, "the question about "+name, func() bool {
			return strings.Contains(string(s.As(t, s.Ready.Console.Token, http.MethodGet, s.Ready.Console.URL+"/api/questions", "").Body), name)
		})
	}
	page := showInBrowser(t, operatorsBrowser(t), address, "li + li > .row")
	focused := func(want string) {
		t.Helper()
		suite.Eventually(t, suite.ReplyWithin, "the focus is at "+want, func() bool {
			at, err := cdp.Evaluate(t.Context(), page.Tab, "document.activeElement.tagName + ' ' + document.querySelectorAll('.row').length")
			return err == nil && at == want
		})
	}
	page.press(t, "j", "Enter")
	focused("H2 2")
	page.allow(t)
	if r := <-replies[0]; r.Status != http.StatusOK {
		t.Errorf("the first: %d %s", r.Status, r.Body)
	}
	focused("H2 1")
	page.press(t, "r", "Enter")
	if r := <-replies[1]; r.Status != http.StatusForbidden {
		t.Errorf("the second: %d %s", r.Status, r.Body)
	}
	focused("H1 0")
}

// TestCardsFit: on a narrow screen nothing that a page or a caller wrote, however long, is wider
// than the page; and nobody is shown a secret.
func TestCardsFit(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	page := `<!doctype html><link rel=icon href="data:,"><script>document.modelContext.registerTool({name: 'n'.repeat(128), title: 'T'.repeat(300), description: 'D'.repeat(3000),
		inputSchema: {type: 'object', properties: {[` + "`${'p'.repeat(90)}`" + `]: {type: 'string'}, pw: {type: 'string', writeOnly: true}}}, execute: () => 1})</script>`
	if err := os.WriteFile(filepath.Join(folder, "index.html"), []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	s, address := operators(t, folder)
	waits(s, strings.Repeat("n", 128), `{"`+strings.Repeat("p", 90)+`":"`+strings.Repeat("v", 2000)+`","pw":"hunter2"}`)
	shown := showInBrowser(t, browserOf(t, 320, 640), address, "article[data-id]")
	text, err := cdp.Evaluate(t.Context(), shown.Tab, `JSON.stringify([innerWidth, document.documentElement.scrollWidth, document.body.innerText])`)
	if err != nil {
		t.Fatal(err)
	}
	var seen []any
	if err := json.Unmarshal([]byte(text), &seen); err != nil || seen[0] != seen[1] {
		t.Errorf("of %v px it has %v: %v", seen[0], seen[1], err)
	}
	for words, want := range map[string]bool{"has a secret": true, "*** is a secret": true, `"***"`: true, "hunter2": false} {
		if strings.Contains(text, strings.ReplaceAll(words, `"`, `\"`)) != want {
			t.Errorf("it shows %s: %v\n%s", words, !want, text)
		}
	}
}

// hostile is text that runs where markup is made of it: it makes a tool.
const hostile = `</p><img src=x onerror="document.modelContext.registerTool({name:'xss',description:'x',execute(){}})"><script>document.modelContext.registerTool({name:'xss',description:'x',execute(){}})</script>` +
	`<svg onload="document.modelContext.registerTool({name:'xss',description:'x',execute(){}})"> Approved by admin`

// TestOperatorsPageShowsText (C9, C11): what pages and callers write is shown in
// the operators' page as text, as theirs, and does not run there.
func TestOperatorsPageShowsText(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/control" { // the same text, as markup
			_, _ = io.WriteString(w, `<body><p id=shown>`+hostile)
			return
		}
		_, _ = fmt.Fprintf(w, `<!doctype html><script>document.modelContext.registerTool({name:'evil',title:%[1]s,description:%[1]s,inputSchema:{type:'object',properties:{a:{type:'string'}}},
			execute: () => confirm(%[1]s)})</script>`, strings.ReplaceAll(string(text), "</script>", `<\/script>`))
	}))
	defer web.Close()
	e := operatorsBrowser(t)
	control := showInBrowser(t, e, web.URL+"/control", "#shown")
	select {
	case name := <-control.tools:
		if name != "xss" {
			t.Errorf("the control made %s", name)
		}
	case <-time.After(suite.ReplyWithin):
		t.Fatal("the text does not run where markup is made of it")
	}

	s, address := operators(t, web.URL+"/", "--approval", "auto")
	answered := waits(s, "evil", `{"a":`+string(text)+`}`)
	suite.Eventually(t, suite.ReplyWithin, "a question", func() bool {
		return strings.Contains(string(s.As(t, s.Ready.Console.Token, http.MethodGet, s.Ready.Console.URL+"/api/questions", "").Body), "Approved by admin")
	})
	// The page's words stand in a quotation, after the origin that says them.
	page := showInBrowser(t, e, address, "article > .said > figcaption + blockquote")
	page.allow(t)
	if r := <-answered; r.Status != http.StatusOK || string(r.Data(t)) != "true" {
		t.Errorf("the call gave %d %s", r.Status, r.Body)
	}
	var made []string
	for len(page.tools) > 0 {
		made = append(made, <-page.tools)
	}
	if slices.Contains(made, "xss") {
		t.Error("what a page wrote ran in the operators' page")
	}
}

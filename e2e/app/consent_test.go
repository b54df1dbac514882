package app_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/mcp"
	"github.com/pagetools/pagetools/transport/webtool"
)

var (
	interleavings = flag.Int("interleavings", 100, "how many random interleavings TestNothingRunsUnagreed plays on the fake engine")
	interleaving  = flag.Uint64("interleaving", 0, "plays the interleaving of this seed only, and says what happens")
)

// A play is one random interleaving of what callers, persons, operators and pages do about
// consent, with a ledger of what ran. docs/internal/consent.md has the invariant.
type play struct {
	t       *testing.T
	dice    *rand.Rand
	faces   http.Handler
	bridge  *bridge.Bridge
	manager *session.Manager
	creds   *transport.Credentials
	grants  *grantBook
	shared  bool
	settle  func() // until nothing happens by itself any more
	// inBrowser has things happen at once, and leaves out what a ledger cannot place in time.
	inBrowser bool
	release   func(call string)

	mu     sync.Mutex
	clock  int
	loads  map[string]int // when each document was loaded, by title
	ledger []execution
	calls  []*askedCall
	byID   map[string]*askedCall
	asked  map[string]*asking // by the question's id
	tokens map[string]int     // the credential of each caller
	// rotated says when each caller got another one.
	rotated map[string][]int
	held    []string
	all     sync.WaitGroup
}

// execution holds a page's report of a run of its tool.
type execution struct {
	Call, Title, Version, Origin, Start string
	at                                  int
}

// askedCall is a call of the tool that needs consent.
type askedCall struct {
	id, caller, session, path string
	overMCP                   bool
	mu                        sync.Mutex
	token                     string
	busy                      bool
}

// asking records a question and the person's answer.
type asking struct {
	q     bridge.OpenQuestion
	call  string
	said  string // "", yes, no or always
	at    int
	ended int // when standing consent was revoked; 0: it was not
}

// The origins of the site, and one that the operator named besides.
const shopOrigin, alsoOrigin = "https://shop.test", "https://also.test"

var buyers = []string{"ann", "bob"}

func newPlay(t *testing.T, seed uint64) *play {
	t.Helper()
	p := &play{t: t, dice: rand.New(rand.NewPCG(seed, 7)), creds: &transport.Credentials{}, grants: &grantBook{},
		loads: map[string]int{}, byID: map[string]*askedCall{}, asked: map[string]*asking{}, tokens: map[string]int{}, rotated: map[string][]int{}}
	p.shared = p.dice.IntN(3) == 0
	return p
}

// open opens the site, whose documents engine shows.
func (p *play) open(engine session.Engine, origin, also string) {
	t := p.t
	t.Helper()
	site := session.SiteOptions{Site: bridge.Site{Name: "shop", Target: origin + "/", Origin: origin}, URL: origin + "/", Shared: p.shared, Origins: []string{also}}
	p.manager = session.New(session.Options{Engine: engine, MaxSessions: 6, Sites: []session.SiteOptions{site}})
	level := []policy.Level{policy.Once, policy.Ask}[p.dice.IntN(2)]
	b, err := bridge.New(p.manager, bridge.Options{Memory: bridge.Memory{Grants: p.grants}, Sites: map[string]bridge.SiteOptions{"shop": {
		Approval: policy.Operator{Tools: []policy.Rule{{Pattern: "buy", Level: level}}}, AllowConfig: []string{"path"}}}})
	if err != nil {
		t.Fatal(err)
	}
	p.bridge = b
	t.Cleanup(func() {
		b.Close()
		if err := p.manager.Close(); err != nil {
			t.Error(err)
		}
	})
	face, err := mcp.New(b, mcp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	mux := transport.NewMux(webtool.New(b, webtool.Options{}).Routes()...)
	mux.Add(face.Routes()...)
	p.faces = transport.Guard(mux, transport.Options{Listen: "127.0.0.1:80", JSONRPCUnder: []string{"/mcp"}, Callers: p.callers(), Credentials: p.creds})
	if err := p.manager.WaitOpened(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (p *play) callers() []transport.Credential {
	var all []transport.Credential
	for _, name := range buyers {
		all = append(all, transport.Credential{Token: p.credential(name),
			Caller: bridge.Caller{Name: name, May: []bridge.Right{bridge.MayCall, bridge.MayElicit}}})
	}
	return all
}

// credential is the caller's own now. Called with p.mu held, or alone.
func (p *play) credential(caller string) string {
	return fmt.Sprintf("%s-token-%d", caller, p.tokens[caller])
}

// tick is the next moment.
func (p *play) tick() int {
	p.clock++
	return p.clock
}

// loaded notes a document, and names it.
func (p *play) loaded() (title string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	title = fmt.Sprint("document ", len(p.loads))
	p.loads[title] = p.tick()
	return title
}

func (p *play) ran(e execution) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e.at = p.tick()
	p.ledger = append(p.ledger, e)
}

func described(version int) string { return fmt.Sprintf("Buys. Version %d.", version) }

// post sends a request of a caller, and returns its reply.
func (p *play) post(caller, path, body string) string {
	p.mu.Lock()
	token := p.credential(caller)
	p.mu.Unlock()
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	r.Host = "127.0.0.1:80"
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if strings.HasPrefix(path, "/mcp") {
		r.Header.Set("MCP-Protocol-Version", "2026-07-28")
		r.Header.Set("Mcp-Method", "tools/call")
		r.Header.Set("Mcp-Name", "buy")
	}
	w := httptest.NewRecorder()
	p.faces.ServeHTTP(w, r)
	return w.Body.String()
}

// later does something that takes its time.
func (p *play) later(f func()) {
	done := make(chan struct{})
	p.all.Go(func() {
		defer close(done)
		f()
	})
	if !p.inBrowser {
		p.settle()
		return
	}
	select { // some moment: any will do
	case <-done:
	case <-time.After(time.Duration(p.dice.IntN(200)) * time.Millisecond):
	}
}

// send sends a call, or resumes it. wrong changes what a request to resume says.
func (p *play) send(c *askedCall, wrong string) {
	c.mu.Lock()
	if c.busy {
		c.mu.Unlock()
		return
	}
	c.busy = true
	token := c.token
	c.mu.Unlock()
	if token == "" { // nothing waits that could be resumed: it would be another call
		wrong = ""
	}
	p.later(func() {
		defer func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.busy = false
		}()
		caller, id := c.caller, c.id
		switch wrong {
		case "caller":
			caller = buyers[1-slices.Index(buyers, caller)]
		case "arguments":
			id += "-changed"
		}
		if c.overMCP {
			p.post(caller, "/mcp/shop?session="+c.session, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}},"name":"buy","arguments":{"call":%q}}}`, id))
			return
		}
		config := map[string]any{}
		if c.path != "" {
			config["path"] = c.path
		}
		if token != "" {
			config["resume"] = token
		}
		body := map[string]any{"action": "buy", "request": map[string]string{"call": id}, "config": config}
		if c.session != "" {
			body["sessionId"] = c.session
		}
		text, _ := json.Marshal(body)
		var reply struct {
			Error struct {
				Code    string
				Details struct{ Resume string }
			}
		}
		_ = json.Unmarshal([]byte(p.post(caller, "/webtools/shop", string(text))), &reply)
		c.mu.Lock()
		defer c.mu.Unlock()
		switch {
		case wrong != "":
		case reply.Error.Details.Resume != "":
			c.token = reply.Error.Details.Resume
		default:
			c.token = "" // it has ended: another request is another call
		}
	})
	p.look()
}

// look notes new questions, as a person sees them.
func (p *play) look() {
	for _, q := range bridgetest.Questions(p.bridge, bridge.Caller{Name: "operator", May: []bridge.Right{bridge.MayAnswer}}) {
		var in struct{ Call string }
		_ = json.Unmarshal(q.Input, &in)
		p.mu.Lock()
		if p.asked[q.ID] == nil {
			p.asked[q.ID] = &asking{q: q, call: in.Call}
		}
		p.mu.Unlock()
	}
}

func pick[T any](p *play, of []T) (x T, ok bool) {
	if len(of) == 0 {
		return x, false
	}
	return of[p.dice.IntN(len(of))], true
}

// act does one random thing, and says what.
func (p *play) act() string {
	sessions := []string{"one", "two"}
	if p.shared {
		sessions = append(sessions, "", "")
	}
	roll := p.dice.IntN(100)
	if p.inBrowser {
		roll %= 94
	}
	switch {
	case roll < 28:
		c := &askedCall{id: fmt.Sprint("c", len(p.calls)), caller: buyers[p.dice.IntN(2)], overMCP: p.dice.IntN(4) == 0}
		c.session = append(sessions, "", "three")[p.dice.IntN(len(sessions)+2)]
		if c.overMCP && c.session == "" {
			c.session = "one"
		}
		if !c.overMCP && p.dice.IntN(4) == 0 && (!p.shared || c.session != "") {
			c.path = "/a"
		}
		p.calls, p.byID[c.id] = append(p.calls, c), c
		p.send(c, "")
		return fmt.Sprintf("%s calls %s in %q with path %q, MCP %v", c.caller, c.id, c.session, c.path, c.overMCP)
	case roll < 50:
		return p.answer()
	case roll < 72:
		if c, ok := pick(p, p.calls); ok {
			wrong := []string{"", "", "", "", "caller", "arguments"}[p.dice.IntN(6)]
			p.send(c, wrong)
			return fmt.Sprintf("%s is sent again, with another %q", c.id, wrong)
		}
	case roll < 88:
		tool, input := []string{"go", "go", "change", "hold"}[p.dice.IntN(4)], "{}"
		caller := buyers[p.dice.IntN(2)]
		switch tool {
		case "go":
			if p.dice.IntN(4) == 0 {
				input = `{"to":"also"}`
			}
		case "hold":
			p.mu.Lock()
			id := fmt.Sprint("h", p.tick())
			p.mu.Unlock()
			p.held = append(p.held, id)
			input = fmt.Sprintf(`{"id":%q,"go":%v}`, id, p.dice.IntN(2) == 0)
		}
		s, _ := pick(p, sessions)
		body := fmt.Sprintf(`{"sessionId":%q,"action":%q,"request":%s}`, s, tool, input)
		if s == "" {
			body = fmt.Sprintf(`{"action":%q,"request":%s}`, tool, input)
		}
		p.later(func() { p.post(caller, "/webtools/shop", body) })
		return fmt.Sprintf("%s runs %s %s in %q", caller, tool, input, s)
	case roll < 94:
		if len(p.held) > 0 {
			id := p.held[0]
			p.held = p.held[1:]
			p.release(id)
			if !p.inBrowser {
				p.settle()
			}
			return id + " is released"
		}
	case roll < 97:
		caller := buyers[p.dice.IntN(2)]
		p.mu.Lock()
		p.tokens[caller]++
		next := p.callers()
		p.mu.Unlock()
		p.creds.Replace(next)
		p.bridge.Revoke()
		p.manager.Revoke()
		p.mu.Lock()
		p.rotated[caller] = append(p.rotated[caller], p.tick())
		p.mu.Unlock()
		return caller + " gets another credential"
	default:
		caller := buyers[p.dice.IntN(2)]
		all, _ := p.grants.All(p.t.Context())
		for _, g := range all {
			if g.Caller == caller {
				_, _ = p.grants.Revoke(p.t.Context(), g.ID)
			}
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, a := range p.asked {
			if a.said == "always" && a.ended == 0 && a.q.Caller == caller {
				a.ended = p.tick()
			}
		}
		return "what " + caller + " may do for good is revoked"
	}
	return "nothing"
}

// answer answers a question as a person does.
func (p *play) answer() string {
	var open []*asking
	p.look()
	p.mu.Lock()
	for _, q := range bridgetest.Questions(p.bridge, bridge.Caller{Name: "operator", May: []bridge.Right{bridge.MayAnswer}}) {
		if a := p.asked[q.ID]; a != nil {
			open = append(open, a)
		}
	}
	p.mu.Unlock()
	a, ok := pick(p, open)
	if !ok {
		return "nothing"
	}
	said := []string{"yes", "yes", "yes", "no", "always"}[p.dice.IntN(5)]
	if said == "always" && !a.q.Always {
		said = "yes"
	}
	p.mu.Lock()
	a.said, a.at = said, p.tick() // before it is given: what follows comes later
	p.mu.Unlock()
	if err := p.bridge.Answer(bridge.Caller{Name: "operator", May: []bridge.Right{bridge.MayAnswer}}, a.q.ID,
		bridge.Answer{OK: said != "no", Always: said == "always"}); err != nil {
		p.mu.Lock()
		a.said = ""
		p.mu.Unlock()
	}
	if !p.inBrowser {
		p.settle()
	}
	return fmt.Sprintf("a person says %s to %s", said, a.call)
}

// check compares what ran with what was agreed to.
func (p *play) check() {
	p.mu.Lock()
	defer p.mu.Unlock()
	ran := map[string]int{}
	for _, e := range p.ledger {
		ran[e.Call]++
		if p.byID[e.Call] == nil {
			p.t.Errorf("%+v is of nobody's call", e)
			continue
		}
		if !p.agreed(e) {
			p.t.Errorf("nobody agreed to %+v", e)
		}
	}
	for call, n := range ran {
		yes, standing := 0, false
		for _, a := range p.asked {
			if a.call == call && a.said != "" && a.said != "no" {
				yes++
			}
			standing = standing || a.said == "always" && p.byID[call] != nil && a.q.Caller == p.byID[call].caller
		}
		if n > yes && !standing {
			p.t.Errorf("%s ran %d times, and was agreed to %d times", call, n, yes)
		}
	}
}

// agreed reports whether a person agreed to what ran: to this call in the page that they
// were shown, or for good to such calls.
func (p *play) agreed(e execution) bool {
	caller := p.byID[e.Call].caller
	for _, a := range p.asked {
		if a.said == "" || a.said == "no" || a.at > e.at || a.q.Caller != caller ||
			a.q.Detail != e.Version || a.q.Origin != e.Origin || startOf(a.q) != e.Start {
			continue
		}
		if a.call == e.Call && (a.q.Page != nil && a.q.Page.Title == e.Title || (a.q.Page == nil || a.q.Page.Title == "") && p.loads[e.Title] > a.at) {
			return true
		}
		rotated := slices.ContainsFunc(p.rotated[caller], func(at int) bool { return a.at < at && at < e.at })
		if a.said == "always" && (a.ended == 0 || a.ended > e.at) && !rotated {
			return true
		}
	}
	return false
}

// startOf is the path that a person was shown.
func startOf(q bridge.OpenQuestion) string {
	if q.Page == nil || q.Page.Config == nil {
		return ""
	}
	var c struct{ Path string }
	_ = json.Unmarshal(q.Page.Config, &c)
	return c.Path
}

package app_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp"
	"github.com/pagetools/pagetools/session/cdp/chrome"
	"github.com/pagetools/pagetools/session/sessiontest"
)

// grantBook keeps standing consent. What is revoked is noted with its time.
type grantBook struct {
	mu  sync.Mutex
	all []bridge.Grant
}

func (g *grantBook) Put(_ context.Context, x bridge.Grant) (bridge.Grant, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	x.ID = fmt.Sprint("g", len(g.all))
	g.all = append(g.all, x)
	return x, nil
}

func (g *grantBook) All(context.Context) ([]bridge.Grant, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.all), nil
}

func (g *grantBook) Find(_ context.Context, u bridge.GrantUse) (bridge.Grant, bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.IndexFunc(g.all, func(x bridge.Grant) bool { return x.GrantUse == u })
	if i < 0 {
		return bridge.Grant{}, false, nil
	}
	return g.all[i], true, nil
}

func (g *grantBook) Revoke(_ context.Context, id string) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := len(g.all)
	g.all = slices.DeleteFunc(g.all, func(x bridge.Grant) bool { return x.ID == id })
	return len(g.all) < n, nil
}

// document is the page on the fake engine. start is the path that the tab was opened with.
func (p *play) document(e *sessiontest.Engine, start string, held *sync.Map) sessiontest.Script {
	leave := func(d *sessiontest.Document, origin string) {
		p.mu.Lock()
		address := fmt.Sprintf("%s/next/%d%s", origin, p.tick(), start)
		p.mu.Unlock()
		e.Handle(address, p.document(e, start, held))
		d.Navigate(address)
	}
	return func(d *sessiontest.Document) {
		title, version := p.loaded(), 0
		d.Title(title)
		reads := json.RawMessage(`{"readOnlyHint":true}`)
		buy := func() sessiontest.Tool {
			said := described(version)
			return sessiontest.Tool{Name: "buy", Description: said, Input: json.RawMessage(`{"type":"object","properties":{"call":{"type":"string"}},"required":["call"]}`),
				Run: func(c *sessiontest.Call) (json.RawMessage, error) {
					var in struct{ Call string }
					_ = json.Unmarshal(c.Input, &in)
					p.ran(execution{Call: in.Call, Title: title, Version: said, Origin: c.Document.Origin(), Start: start})
					return json.RawMessage(`"bought"`), nil
				}}
		}
		d.Register(buy(),
			sessiontest.Tool{Name: "go", Annotations: reads, Run: func(c *sessiontest.Call) (json.RawMessage, error) {
				leave(d, map[bool]string{true: alsoOrigin, false: shopOrigin}[strings.Contains(string(c.Input), "also")])
				return json.RawMessage("1"), nil
			}},
			sessiontest.Tool{Name: "change", Annotations: reads, Run: func(*sessiontest.Call) (json.RawMessage, error) {
				version++
				d.Register(buy())
				return json.RawMessage("1"), nil
			}},
			sessiontest.Tool{Name: "hold", Annotations: reads, Run: func(c *sessiontest.Call) (json.RawMessage, error) {
				var in struct {
					ID string
					Go bool
				}
				_ = json.Unmarshal(c.Input, &in)
				free, _ := held.LoadOrStore(in.ID, make(chan struct{}))
				select {
				case <-free.(chan struct{}):
				case <-c.Over():
					return nil, nil
				}
				if in.Go {
					leave(d, shopOrigin)
				}
				return json.RawMessage("1"), nil
			}})
	}
}

// TestNothingRunsUnagreed: whatever callers, persons, operators and pages do in whatever
// order, nothing runs that nobody agreed to.
//
// It runs beside no other test: the clock of the library for patterns is one for all of the
// process, and a bubble's time is not the others'.
func TestNothingRunsUnagreed(t *testing.T) {
	seeds := make([]uint64, *interleavings)
	for i := range seeds {
		seeds[i] = uint64(i)
	}
	if *interleaving > 0 {
		seeds = []uint64{*interleaving}
	}
	runs := 0
	for _, seed := range seeds {
		ok := t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { runs += playOnFake(t, seed) })
		})
		if !ok {
			t.Fatalf("go test ./e2e/app -run TestNothingRunsUnagreed -interleaving %d repeats it", seed)
		}
	}
	if *interleaving == 0 && runs < len(seeds) {
		t.Errorf("in %d interleavings only %d calls ran", len(seeds), runs)
	}
}

func playOnFake(t *testing.T, seed uint64) (ran int) {
	e := sessiontest.NewEngine()
	var held sync.Map
	p := newPlay(t, seed)
	e.Handle(shopOrigin+"/", p.document(e, "", &held))
	e.Handle(shopOrigin+"/a", p.document(e, "/a", &held))
	p.settle = func() { // longer than a page takes to be opened, shorter than a call may take
		<-time.After(6 * time.Second)
		synctest.Wait()
	}
	p.release = func(id string) {
		free, _ := held.LoadOrStore(id, make(chan struct{}))
		close(free.(chan struct{}))
	}
	p.open(e, shopOrigin, alsoOrigin)
	p.perform()
	<-time.After(time.Hour) // of the bubble: clocks of libraries end
	return len(p.ledger)
}

// perform acts, and ends what is left.
func (p *play) perform() {
	for range 10 + p.dice.IntN(30) {
		did := p.act()
		if *interleaving > 0 {
			p.t.Log(did)
		}
	}
	for _, id := range p.held {
		p.release(id)
	}
	for _, c := range p.calls { // what was agreed to and not fetched
		p.send(c, "")
	}
	p.bridge.StopAsking()
	p.all.Wait()
	p.check()
}

// browserPlays sets how many interleavings are played in a browser.
var browserPlays = flag.Int("browser-interleavings", 2, "how many random interleavings TestNothingRunsUnagreedInBrowser plays")

// consentPage is document, for a browser. START, TITLE and ALSO are filled in.
const consentPage = `<!doctype html><title>TITLE</title><script>
const title = document.title, start = 'START', also = 'ALSO', home = 'HOME';
let version = 0;
const tell = (path, body) => fetch(home + path, { method: 'POST', mode: 'no-cors', body: JSON.stringify(body) });
const schema = { type: 'object', properties: { call: { type: 'string' }, to: { type: 'string' }, id: { type: 'string' }, go: { type: 'boolean' } } };
const tool = (name, description, execute, annotations) => document.modelContext.registerTool({ name, description, inputSchema: schema, execute, annotations });
const leave = (to) => { location.href = (to === 'also' ? also : home) + '/next' + start + '?' + Math.random(); };
const buy = () => {
  const said = 'Buys. Version ' + version + '.';
  tool('buy', said, async ({ call }) => { await tell('/ledger', { Call: call, Title: title, Version: said, Origin: location.origin, Start: start }); return 'bought'; });
};
buy();
const reads = { readOnlyHint: true };
tool('go', 'Goes elsewhere.', ({ to }) => { leave(to); return 1; }, reads);
tool('change', 'Changes a tool.', () => { version++; document.modelContext.unregisterTool?.('buy'); buy(); return 1; }, reads);
tool('hold', 'Takes its time.', async ({ id, go }) => { await fetch(home + '/hold?' + id, { mode: 'no-cors' }); if (go) leave(); return 1; }, reads);
</script>`

// browserSite serves the page of a play at two origins.
type browserSite struct {
	p     *play
	held  sync.Map
	sites [2]*httptest.Server
}

func (s *browserSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/ledger":
		var e execution
		if json.NewDecoder(r.Body).Decode(&e) == nil {
			s.p.ran(e)
		}
	case "/hold":
		free, _ := s.held.LoadOrStore(r.URL.RawQuery, make(chan struct{}))
		select {
		case <-free.(chan struct{}):
		case <-r.Context().Done():
		}
	case "/favicon.ico":
	default:
		start := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/next"), "/")
		w.Header().Set("Content-Type", "text/html")
		_, _ = strings.NewReplacer("TITLE", s.p.loaded(), "START", start, "ALSO", s.sites[1].URL, "HOME", s.sites[0].URL).WriteString(w, consentPage)
	}
}

// TestNothingRunsUnagreedInBrowser is the same in Chromium, where nothing waits for anything
// else.
func TestNothingRunsUnagreedInBrowser(t *testing.T) {
	engine, err := cdp.NewLocal(cdp.LocalOptions{Options: chrome.Options{NoSandbox: os.Getenv("PAGETOOLS_NO_SANDBOX") != "", Path: os.Getenv("PAGETOOLS_EXECUTABLE_PATH")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close() })
	runs := 0
	for seed := range uint64(*browserPlays) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			p := newPlay(t, seed+1_000_000)
			site := &browserSite{p: p}
			for i := range site.sites {
				site.sites[i] = httptest.NewServer(site)
				t.Cleanup(site.sites[i].Close)
			}
			p.release = func(id string) {
				free, _ := site.held.LoadOrStore(id, make(chan struct{}))
				close(free.(chan struct{}))
			}
			p.inBrowser = true
			p.open(borrowed{engine}, site.sites[0].URL, site.sites[1].URL)
			p.perform()
			runs += len(p.ledger)
		})
	}
	t.Logf("%d calls ran in %d interleavings", runs, *browserPlays)
	if runs == 0 {
		t.Errorf("in %d interleavings nothing ran", *browserPlays)
	}
}

// borrowed is an engine that outlives a play.
type borrowed struct{ session.Engine }

func (borrowed) Close() error { return nil }

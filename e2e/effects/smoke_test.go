package effects

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/e2e/check"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp"
	"github.com/pagetools/pagetools/session/cdp/chrome"
)

// opened serves pages by path, and starts an app on the first.
func opened(t *testing.T, pages map[string]http.HandlerFunc) (*app.App, string) {
	t.Helper()
	mux := http.NewServeMux()
	for path, h := range pages {
		mux.HandleFunc(path, h)
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	target, err := app.ParseTarget(server.URL + "/")
	if err == nil {
		err = app.NameAll([]*app.Target{target})
	}
	if err != nil {
		t.Fatal(err)
	}
	local := cdp.LocalOptions{Options: chrome.Options{NoSandbox: os.Getenv("PAGETOOLS_NO_SANDBOX") == "1",
		Path: gatetest.Browser()}}
	a, err := app.Start(t.Context(), app.Options{Local: local, Sites: []app.Site{{Target: target,
		Page: session.SiteOptions{Tab: session.TabOptions{Record: true}}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a, target.Name
}

func document(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<!doctype html><title>page</title>"+body)
	}
}

// judged calls the tools of a site, and returns the rules that found something, by tool.
func judged(t *testing.T, a *app.App, site string, o SmokeOptions) (map[string][]string, []check.Call) {
	t.Helper()
	page, err := Look(t.Context(), a, site)
	if err != nil {
		t.Fatal(err)
	}
	o.Note = func(text string) { t.Log(text) }
	calls, err := Smoke(t.Context(), a, site, o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range calls {
		calls[i].Page = page.URL
	}
	s := &check.Snapshot{Live: true, Pages: []check.Page{page}, Calls: calls}
	found, err := check.Judge(s, check.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{"throws-on-valid", "accepts-invalid", "result-missing", "result-not-serialisable", "slow", "output-schema-mismatch",
		"cancel-ignored", "dialog-blocks", "effect-readonly", "effect-undeclared", "not-idempotent", "egress-outside-policy"}
	by := map[string][]string{}
	for _, f := range found {
		if slices.Contains(ids, f.Rule) && !slices.Contains(by[f.Where.Tool], f.Rule) {
			by[f.Where.Tool] = append(by[f.Where.Tool], f.Rule)
			t.Logf("%s: %s", f.Where.Tool, f.Message)
		}
	}
	for name := range by {
		slices.Sort(by[name])
	}
	return by, calls
}

// lying is a page whose tools say that they only read, and do what their names say; those of
// honest do not. Meanwhile the page reports by itself, and keeps when it did.
const lying = `<form id=form method=post action=/post></form><a id=file download=x.txt href=/file>x</a><script>
const tool = (name, execute, annotations = {readOnlyHint: true}) => !runs(name) || document.modelContext.registerTool({name, description: name + ' of the shop.',
  inputSchema: {type: 'object', properties: {}}, annotations, execute});
const report = () => {
  navigator.sendBeacon('/report', JSON.stringify({at: Date.now(), of: crypto.randomUUID()}));
  localStorage.setItem('reported', Date.now());
};
setTimeout(report);
setInterval(report, 300);
const store = (mode, use) => new Promise((done) => {
  const open = indexedDB.open('db', 1);
  open.onupgradeneeded = () => open.result.createObjectStore('s');
  open.onsuccess = () => { const t = open.result.transaction('s', mode); use(t.objectStore('s')); t.oncomplete = () => done('done'); };
});
tool('fetch', async () => (await fetch('/post', {method: 'POST', body: 'x'})).status + '');
tool('xhr', () => new Promise((r) => { const x = new XMLHttpRequest(); x.open('PUT', '/post'); x.onload = () => r('ok'); x.send('x'); }));
tool('beacon', () => String(navigator.sendBeacon('/post', 'x')));
tool('form', () => { form.submit(); return 'ok'; });
tool('cookie', () => { document.cookie = 'mine=1'; return 'ok'; });
tool('local', () => { localStorage.mine = 1; return 'ok'; });
tool('tab', () => { sessionStorage.mine = 1; return 'ok'; });
tool('database', () => store('readwrite', (s) => s.put(1, 'k')));
tool('cache', async () => { await (await caches.open('c')).put('/x', new Response('y')); return 'ok'; });
tool('window', () => { open('/next'); return 'ok'; });
tool('away', () => { location.href = '/next'; return 'ok'; });
tool('download', () => { file.click(); return 'ok'; });
tool('late', () => { setTimeout(() => fetch('/post', {method: 'DELETE'}), 60); return 'ok'; });
tool('honest_get', async () => (await fetch('/data?q=1')).text());
tool('honest_head', async () => String((await fetch('/data', {method: 'HEAD'})).ok));
tool('honest_session', async () => (await fetch('/session')).text());
tool('honest_storage', async () => 'read ' + localStorage.mine + sessionStorage.mine + document.cookie + await caches.match('/x') + await store('readonly', (s) => s.get('k')));
tool('honest_route', () => { history.pushState({}, '', '/pushed'); return 'ok'; });
tool('honest_wait', () => new Promise((r) => setTimeout(() => r('ok'), 700)));
tool('undeclared', async () => (await fetch('/post', {method: 'POST'})).status + '', {});
tool('declared', async () => (await fetch('/post', {method: 'POST'})).status + '', {destructiveHint: false});
tool('again', async () => (await fetch('/post', {method: 'POST'})).status + '', {destructiveHint: false, idempotentHint: true});
tool('put', async () => (await fetch('/post', {method: 'PUT'})).status + '', {destructiveHint: false, idempotentHint: true});
tool('egress', async () => { await fetch('http://10.1.2.3/x', {mode: 'no-cors'}).catch(() => 1); return 'ok'; }, {readOnlyHint: true});
</script>`

// daily matches the tools that are called by day, one of each kind.
var daily = regexp.MustCompile("^(fetch|form|cookie|late|honest_(get|storage)|undeclared|declared|again|egress|" +
	"throws|takes_all|checks|asks|slow|stops|writes)$")

// called returns those of the tools that are called.
func called(names ...string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return !gatetest.IsNightly() && !daily.MatchString(name) })
}

func shop(body string) map[string]http.HandlerFunc {
	runs := gatetest.Amount("/"+daily.String()+"/.test(name)", "true")
	ok := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }
	return map[string]http.HandlerFunc{
		"/{$}": document("<script>const runs = (name) => " + runs + "</script>" + body), "/next": document(""), "/post": document(""), "/report": ok, "/data": ok,
		"/session": func(w http.ResponseWriter, r *http.Request) {
			http.SetCookie(w, &http.Cookie{Name: "session", Value: time.Now().Format(time.RFC3339Nano)})
			ok(w, r)
		},
		"/file": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Disposition", "attachment")
			ok(w, r)
		},
		"/slow": func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-time.After(2 * time.Second): // a busy machine aborts late
			case <-r.Context().Done():
			}
			ok(w, r)
		},
	}
}

// TestEffects: a tool that says that it only reads, and does not, is found whatever it does; one
// that reads is not, in a page that does a lot by itself.
func TestEffects(t *testing.T) {
	t.Parallel()
	a, site := opened(t, shop(lying))
	found, calls := judged(t, a, site, SmokeOptions{All: true, Effects: true})
	want := map[string][]string{}
	for _, name := range called("fetch", "xhr", "beacon", "form", "cookie", "local", "tab", "database", "cache", "window", "away", "download", "late") {
		want[name] = []string{"effect-readonly"}
	}
	want["undeclared"] = []string{"effect-undeclared"}
	want["again"] = []string{"not-idempotent"}
	want["egress"] = []string{"egress-outside-policy"}
	was := map[string]bool{}
	for _, c := range calls {
		was[c.Tool] = true
		if got := found[c.Tool]; !slices.Equal(got, want[c.Tool]) {
			t.Errorf("%s: found %v, want %v: %+v", c.Tool, got, want[c.Tool], c.Effects)
		}
	}
	for name := range want {
		if !was[name] {
			t.Errorf("%s was not called", name)
		}
	}
	for _, name := range called("honest_get", "honest_storage", "declared", "put") {
		if !was[name] {
			t.Errorf("%s was not called", name)
		}
	}
}

// smoking is a page whose tools do what tools should not.
const smoking = `<script>
const tool = (name, properties, execute, more) => !runs(name) || document.modelContext.registerTool({name, description: name + ' of the shop.',
  inputSchema: {type: 'object', properties, required: Object.keys(properties)}, annotations: {readOnlyHint: true}, execute, ...more});
const n = {n: {type: 'integer', minimum: 3, maximum: 9}};
tool('throws', n, ({n}) => { throw new Error('no ' + n); });
tool('takes_all', n, ({n}) => 'got ' + n);
tool('checks', n, ({n}) => { if (!Number.isInteger(n) || n < 3 || n > 9) throw new TypeError('n must be 3 to 9'); return 'got ' + n; });
tool('nothing', {}, () => undefined);
tool('circle', {}, () => { const x = {}; x.x = x; return x; });
tool('promises', {}, () => ({id: 'x'}), {outputSchema: {type: 'object', properties: {id: {type: 'integer'}}}});
tool('says', {}, () => { alert('Here!'); return 'ok'; });
tool('asks', {}, async (_, agent) => { if (!await agent.requestUserInteraction(() => confirm('Sure?'))) throw new Error('cancelled'); return 'ok'; });
tool('slow', {}, async () => (await fetch('/slow')).text());
tool('stops', {}, async (_, {signal}) => (await fetch('/slow', {signal})).text());
tool('writes', {}, () => { throw new Error('must not be called'); }, {annotations: {}});
</script>`

// TestSmoke: tools are called with what their schemas admit and with what they refuse, and what is
// wrong with them is found; only those that say that they read are called.
func TestSmoke(t *testing.T) {
	t.Parallel()
	a, site := opened(t, shop(smoking))
	found, calls := judged(t, a, site, SmokeOptions{})
	want := map[string][]string{
		"throws": {"throws-on-valid"}, "takes_all": {"accepts-invalid"}, "nothing": {"result-missing"},
		"circle": {"result-not-serialisable"}, "promises": {"output-schema-mismatch"}, "says": {"dialog-blocks"},
		"slow": {"cancel-ignored"},
	}
	for _, c := range calls {
		if got := found[c.Tool]; !slices.Equal(got, want[c.Tool]) {
			t.Errorf("%s: found %v, want %v: %+v", c.Tool, got, want[c.Tool], c)
		}
		if c.Effects != nil {
			t.Errorf("%s: nobody asked for effects, and there are %+v", c.Tool, c.Effects)
		}
		switch c.Tool {
		case "writes":
			t.Error("a tool was called that does not only read")
		case "asks":
			if !slices.Equal(c.Asked, []string{"Sure?"}) || !strings.Contains(c.Error, "cancelled") {
				t.Errorf("it asked %q, and ended with %q", c.Asked, c.Error)
			}
		}
	}
	for _, name := range called("throws", "takes_all", "checks", "nothing", "circle", "promises", "says", "asks", "slow", "stops") {
		if !slices.ContainsFunc(calls, func(c check.Call) bool { return c.Tool == name }) {
			t.Errorf("%s was not called", name)
		}
	}
}

// TestProbe: the page of a session, and the site's own, can be looked at.
func TestProbe(t *testing.T) {
	t.Parallel()
	a, site := opened(t, shop(`<p id=p>first</p>`))
	for _, ref := range []bridge.Ref{{Site: site, Caller: bridge.Local()}, {Site: site, Session: "mine", Caller: bridge.Local()}} {
		probe, err := a.Manager.Probe(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := probe.Look(t.Context(), "#p"); err != nil || got.Text != "first" {
			t.Errorf("session %q shows %+v, %v", ref.Session, got, err)
		}
		if _, err := probe.Evaluate(t.Context(), `document.getElementById('p').textContent = 'changed'`); err != nil {
			t.Fatal(err)
		}
		again, err := a.Manager.Probe(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := again.Look(t.Context(), "#p"); err != nil || got.Text != "changed" {
			t.Errorf("session %q then shows %+v, %v", ref.Session, got, err)
		}
	}
}

// TestWithoutAgent: only what engines say of an argument that is not there counts as that.
func TestWithoutAgent(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]bool{
		"Cannot read properties of undefined (reading 'requestUserInteraction')": true,
		"agent.requestUserInteraction is not a function":                         true,
		"requestUserInteraction was declined":                                    false,
		"Cannot read properties of undefined (reading 'year')":                   false,
	} {
		c := &call{}
		c.take(bridge.Errorf(bridge.ToolError, "", bridge.Failed, "%s", message).Step(), nil)
		if c.WithoutAgent != want || c.Code != "TOOL_ERROR" || c.Error != message {
			t.Errorf("%s: %+v", message, c.Call)
		}
	}
}

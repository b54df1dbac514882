package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp"
	"github.com/pagetools/pagetools/session/cdp/chrome"
	"github.com/pagetools/pagetools/session/cdp/endpoint"
	"github.com/pagetools/pagetools/transport"
)

// page declares one tool.
const page = `<!doctype html><title>greeter</title><script>
navigator.modelContext.provideContext({tools: [{name: "greet", description: "Greets.",
	inputSchema: {type: "object", properties: {who: {type: "string"}}},
	execute: async ({who}) => "Hello " + who}]});
</script>`

// folder returns a target that is a folder with the page.
func folder(t *testing.T) *Target {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "greeter")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "index.html"), []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	target, err := ParseTarget(dir)
	if err == nil {
		err = NameAll([]*Target{target})
	}
	if err != nil {
		t.Fatal(err)
	}
	return target
}

// browser says which browser tests start.
func browser() cdp.LocalOptions {
	return cdp.LocalOptions{Options: chrome.Options{Path: gatetest.Browser(), NoSandbox: os.Getenv("PAGETOOLS_NO_SANDBOX") == "1"}}
}

// TestPlacesOfBrowsers: a node says that it has free what its browsers have: nothing, when none can be
// reached. One engine has their places.
func TestPlacesOfBrowsers(t *testing.T) {
	t.Parallel()
	all := []endpoint.Endpoint{{Name: "a", URL: "http://127.0.0.1:1", Max: 3}, {Name: "b", URL: "http://127.0.0.1:1", Max: 4}}
	start := func(sites ...Site) (*App, error) {
		return Start(t.Context(), Options{Remote: cdp.RemoteOptions{Endpoints: all}, Manager: session.Options{MaxSessions: 5}, Sites: sites})
	}
	a, err := start()
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if p := a.Pool(); p.Limit != 5 {
		t.Errorf("before they are asked, there is room for %d", p.Limit)
	}
	if _, free := a.room(); free != 5 {
		t.Errorf("and %d are free", free)
	}
	if _, err := a.StartBrowser(t.Context()); err == nil {
		t.Error("a browser is there")
	}
	if _, free := a.room(); free != 0 {
		t.Errorf("without a browser %d are free", free)
	}
	if states := a.load().Endpoints; len(states) != 2 || states["a"] != "down" || states["b"] != "down" {
		t.Errorf("they are %v", states)
	}
	one, two := Site{Target: folder(t)}, Site{Target: folder(t), Engine: Native}
	two.Name = "other"
	if b, err := start(one, two); err == nil {
		_ = b.Close()
		t.Error("two engines have the places of one")
	}
}

// TestStart serves a folder, opens it and calls its tool, as the command and the test
// kit do.
func TestStart(t *testing.T) {
	t.Parallel()
	target := folder(t)
	allowed := bridge.SiteOptions{Approval: policy.Operator{Mode: policy.ModeAuto}}
	a, err := Start(t.Context(), Options{Sites: []Site{{Target: target, Tools: allowed}}, Local: browser()})
	if err != nil {
		t.Fatal(err)
	}
	if target.Name != "greeter" || !strings.HasPrefix(target.Origin, "http://127.0.0.1:") {
		t.Errorf("the folder is served as %+v", target)
	}
	input, err := bridge.ReadValue("the arguments", []byte(`{"who": "you"}`))
	if err != nil {
		t.Fatal(err)
	}
	res, err := a.Bridge.Do(t.Context(), &bridge.Call{Site: target.Name, Tool: "greet", Caller: bridge.Local(), Input: input})
	if err != nil || string(res) != `"Hello you"` {
		t.Errorf("the tool returns %s (%v)", res, err)
	}
	if r := a.readiness(); !r.Ready || r.Sites[target.Name] != "open" {
		t.Errorf("it is ready: %+v", r)
	}
	if l := a.load().Browsers; l != (transport.Browsers{Started: 1}) {
		t.Errorf("browsers: %+v", l)
	}
	a.Drain(t.Context())
	if r := a.readiness(); !r.Draining {
		t.Errorf("it drains, and says %+v", r)
	}
	if err := a.Close(); err != nil {
		t.Errorf("closing: %v", err)
	}
}

// TestStartRefuses: two kinds of engines cannot have one profile.
func TestStartRefuses(t *testing.T) {
	t.Parallel()
	local := browser()
	local.UserDataDir = t.TempDir()
	sites := []Site{{Target: folder(t)}, {Target: folder(t), Engine: Native}}
	sites[1].Name = "other"
	a, err := Start(t.Context(), Options{Sites: sites, Local: local})
	if err == nil || a != nil || !strings.Contains(err.Error(), "one engine for all of them") {
		t.Errorf("two engines with one profile: %v", err)
	}
}

// TestNoBrowser: a browser that cannot be started is said in a safe sentence, and no more
// when one can.
func TestNoBrowser(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	local := browser()
	real := local.Path
	local.Path = filepath.Join(dir, "headless-shell")
	if chrome.KindOf(real) != chrome.Shell {
		local.Path = filepath.Join(dir, "chromium")
	}
	write := func(script string) {
		next := local.Path + ".next"
		if err := os.WriteFile(next, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, local.Path); err != nil { // never half of it
			t.Fatal(err)
		}
	}
	write("echo secret >&2; exit 3\n")
	a, err := Start(t.Context(), Options{Sites: []Site{{Target: folder(t)}}, Local: local})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := a.Manager.WaitOpened(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := a.readiness()
	if r.Browser != "The browser cannot be started; the log of pagetools says why." || a.load().Browsers.Failed == 0 {
		t.Errorf("it says %+v, and counts %+v", r, a.load().Browsers)
	}
	write("exec " + real + ` "$@"` + "\n")
	deadline := time.Now().Add(time.Minute)
	for r = a.readiness(); r.Browser != "" || !r.Ready; r = a.readiness() {
		if time.Now().After(deadline) {
			t.Fatalf("with a browser it says %+v", r)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// TestBrowsers: apps that come one after another use one browser, which ends with nobody but
// its owner.
func TestBrowsers(t *testing.T) {
	t.Parallel()
	var kept Browsers
	for n := range 3 {
		a, err := Start(t.Context(), Options{Sites: []Site{{Target: folder(t)}}, Local: browser(), Browsers: &kept})
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Manager.WaitOpened(t.Context()); err != nil {
			t.Fatal(err)
		}
		if l := a.load().Browsers; l.Started != 1 || l.Ended != 0 {
			t.Errorf("app %d: browsers %+v", n+1, l)
		}
		if err := a.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	}
	engine := kept.engines[Shim]
	if engine.Down() != nil || engine.Version() == "" {
		t.Error("the browser is gone with an app")
	}
	if err := kept.Close(); err != nil {
		t.Errorf("closing: %v", err)
	}
	if _, err := engine.Open(t.Context(), session.TabOptions{}); err == nil {
		t.Error("the browser is there after its owner closed it")
	}
}

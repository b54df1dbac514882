package app

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/session"
)

// greeter is a site of a folder, as a configuration file has it: read anew each time.
func greeter(name string, of *Target) Site {
	t := &Target{Name: name, Text: of.Text, Folder: of.Folder}
	return Site{Target: t, Tools: bridge.SiteOptions{Approval: policy.Operator{Mode: policy.ModeAuto}}, Page: session.SiteOptions{Warm: 1}}
}

// TestChangeSites: a site that is named again as it is keeps its pages and its address, a folder that
// stays keeps its address, and nothing is left of sites that went. What cannot be served changes
// nothing.
func TestChangeSites(t *testing.T) {
	t.Parallel()
	one, two := folder(t), folder(t)
	a, err := Start(t.Context(), Options{Sites: []Site{greeter("one", one)}, Changes: true, Local: browser()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Close() }()
	put := func(sites ...Site) *Change {
		t.Helper()
		c, err := a.PrepareSites(t.Context(), sites)
		if err != nil {
			t.Fatal(err)
		}
		c.Apply()
		if err := a.WaitOpened(t.Context()); err != nil {
			t.Fatal(err)
		}
		return c
	}
	greet := func(site string) *bridge.Error {
		_, err := a.Bridge.Do(t.Context(), &bridge.Call{Site: site, Tool: "greet", Session: "s", Caller: bridge.Local(), Input: bridgetest.JSON(`{}`)})
		return bridge.AsError(err)
	}
	origin := func(site string) string {
		i := slices.IndexFunc(a.Router.Sites(), func(s bridge.Site) bool { return s.Name == site })
		return a.Router.Sites()[i].Origin
	}
	if err := a.WaitOpened(t.Context()); err != nil {
		t.Fatal(err)
	}
	if e := greet("one"); e != nil {
		t.Fatal(e)
	}
	first := origin("one")
	if c := put(greeter("one", one)); len(c.Added)+len(c.Changed)+len(c.Removed) > 0 {
		t.Errorf("the same site changes %+v", c)
	}
	if e := greet("one"); e != nil || origin("one") != first {
		t.Errorf("the same site: %v, at %s", e, origin("one"))
	}
	strict := greeter("one", one)
	strict.Tools.StrictOutput = true
	if c := put(strict, greeter("two", two)); !slices.Equal(c.Changed, []string{"one"}) || !slices.Equal(c.Added, []string{"two"}) {
		t.Errorf("it changed %+v", c)
	}
	if e := greet("one"); e == nil || e.Code != bridge.SessionExpired || origin("one") != first || origin("two") == first {
		t.Errorf("a site that was changed: %v, at %s", e, origin("one"))
	}

	gone, windows := greeter("gone", one), greeter("windows", one)
	gone.Folder += "-gone"
	windows.Page.Tab.Windows = session.BridgeWindows
	for says, wrong := range map[string]Site{"opening": gone, "start pagetools anew": windows} {
		if _, err := a.PrepareSites(t.Context(), []Site{greeter("three", two), wrong}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", wrong.Name, err)
		}
	}
	if e := greet("one"); e != nil || len(a.Router.Sites()) != 2 {
		t.Errorf("after what cannot be served: %v, %v", e, a.Router.Sites())
	}

	put(greeter("one", one))
	until := func(what string, ok func() bool) {
		t.Helper()
		for tries := 0; !ok(); tries++ { // pages that close
			if tries > 1e7 {
				t.Fatal(what)
			}
			runtime.Gosched()
		}
	}
	folders := func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return len(a.folders) == 1
	}
	until("a folder is served that no site names", folders)
	before := runtime.NumGoroutine()
	for range 50 { // renamed to and fro
		c, err := a.PrepareSites(t.Context(), []Site{greeter("one", one), greeter("back", two)})
		if err != nil {
			t.Fatal(err)
		}
		c.Apply()
		put(greeter("one", one))
	}
	until("after all changes, folders are served that no site names", folders)
	until("goroutines are left", func() bool { return runtime.NumGoroutine() <= before+20 })
	if held, _, queued := a.Manager.Pages(); held > 1 || queued > 0 {
		t.Errorf("%d pages are held, and %d wait", held, queued)
	}
	if e := greet("back"); e == nil || e.Code != bridge.WebtoolNotFound {
		t.Errorf("the site that went: %v", e)
	}
}

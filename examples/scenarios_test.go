package examples_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/e2e"
	"github.com/pagetools/pagetools/e2e/check"
)

func TestMain(m *testing.M) {
	gatetest.TakeBrowser()
	if err := flag.Set("test.parallel", "4"); err != nil { // pages wait more than they work
		panic(err)
	}
	e2e.Main(m)
}

// TestScenarios runs what the examples say about themselves.
func TestScenarios(t *testing.T) {
	gatetest.Landing(t)
	e2e.Run(t, "*/*.webtool.yaml")
}

// TestExamplesHaveScenarios: an example that is a site is tested.
func TestExamplesHaveScenarios(t *testing.T) {
	t.Parallel()
	sites, err := filepath.Glob("*/index.html")
	if err != nil || len(sites) < 8 {
		t.Fatalf("the examples are %v (%v)", sites, err)
	}
	for _, page := range sites {
		name := filepath.Dir(page)
		if _, err := os.Stat(filepath.Join(name, name+".webtool.yaml")); err != nil {
			t.Errorf("the example has no scenarios: %v", err)
		}
	}
}

// TestTodayInEachPhase checks declarations that a fresh page does not have.
func TestTodayInEachPhase(t *testing.T) {
	gatetest.Landing(t)
	t.Parallel()
	page := e2e.Start(t, e2e.Options{Dir: "today"}).Open(t, "")
	page.Human(e2e.Accept("").To(bridge.Approve))
	for _, step := range []struct {
		tool  string
		with  map[string]any
		tools int
	}{
		{"add-to-cart", map[string]any{"product": "rye", "quantity": 2}, 6},
		{"add-gift-card", nil, 7},
		{"check-out", map[string]any{"name": "Ada"}, 3},
	} {
		page.Call(t, step.tool, step.with)
		if names := page.Tools(t); len(names) != step.tools {
			t.Errorf("after %s the tools are %q", step.tool, names)
		}
		page.Check(t, e2e.FailOn(check.Warning))
	}
}

// TestWeather checks the page that the dashboard has in a frame under another host name.
func TestWeather(t *testing.T) {
	gatetest.Landing(t)
	t.Parallel()
	page := e2e.Start(t, e2e.Options{Dir: "dashboard"}).Open(t, "/weather.html")
	page.Check(t, e2e.FailOn(check.Warning))
	page.Call(t, "wind", nil).Match(t, `"West, force 4"`)
}

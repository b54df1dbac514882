package openapi

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/gatetest"
)

// TestSitesAreApart: what documents have of a site is made while others have theirs.
func TestSitesAreApart(t *testing.T) {
	t.Parallel()
	b, err := bridge.New(bridgetest.NewRouter().Add("slow", bridgetest.Tool("a", "{}")).Add("shop", bridgetest.Tool("b", "{}")), bridge.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	f := New(b, Options{})
	of := func(site string) <-chan error {
		over := make(chan error, 1)
		go func() {
			_, err := f.part(t.Context(), bridge.Ref{Site: site, Caller: bridge.Local()})
			over <- err
		}()
		return over
	}
	slow := f.heldOf("slow")
	slow.mu.Lock() // as while it is made
	waiting := of("slow")
	select {
	case err := <-of("shop"):
		if err != nil {
			t.Error(err)
		}
	case <-waiting:
		t.Error("it did not wait for its own")
	case <-time.After(time.Minute):
		t.Error("it waits for another site")
	}
	slow.mu.Unlock()
	if err := <-waiting; err != nil {
		t.Error(err)
	}
}

// TestManyLargeSchemas: what there is no room for is not made.
func TestManyLargeSchemas(t *testing.T) { //nolint:paralleltest // it counts allocations
	gatetest.NoRace(t)
	properties := make([]string, 20)
	for i := range properties {
		properties[i] = fmt.Sprintf(`"p%d":{"description":%q}`, i, strings.Repeat("d", 1500))
	}
	declared := make([]bridge.Declaration, 250)
	for i := range declared {
		declared[i] = bridgetest.Tool(fmt.Sprintf("t%d", i), fmt.Sprintf(`{"type":"object","properties":{%s}}`, strings.Join(properties, ",")))
	}
	b, err := bridge.New(bridgetest.NewRouter().Add("shop", declared...), bridge.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	l, err := b.Tools(t.Context(), bridge.Ref{Site: "shop", Caller: bridge.Local()})
	if err != nil || len(l.Tools) != len(declared) {
		t.Fatal(len(l.Tools), err)
	}
	made := func(n int) float64 {
		some := l
		some.Tools = l.Tools[:n]
		return testing.AllocsPerRun(1, func() { newPart(&some) })
	}
	half, few, many := made(60), made(120), made(250)
	if few < 1.8*half || many > 1.5*few {
		t.Errorf("%v allocations for 60 tools, %v for 120, and %v for 250", half, few, many)
	}
}

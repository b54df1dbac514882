package mcp

import (
	"fmt"
	"strings"
	"testing"
)

// TestHybridListsWhatWasUsed: a long list has our tools and those that the caller found or
// called, and the client is told when there are others; another caller's list stays. E10.
func TestHybridListsWhatWasUsed(t *testing.T) {
	w := newWorld(t, Options{})
	many := manyNames("tool_%02d", 100)
	w.router.Declare("shop", named(many...)...)
	c, stranger := w.as(agent).since2026(nothing), w.as(other).since2026(nothing)
	own := "pagetools_search pagetools_describe pagetools_call"
	resp := c.open(t.Context(), "POST", rpc(`"sub"`, "subscriptions/listen", c.params(`{"notifications":{"toolsListChanged":true}}`)))
	defer resp.Body.Close()
	told := make(chan string)
	go func() { // ends with the response
		defer close(told)
		for e := range events(resp.Body) {
			told <- e
		}
	}()
	<-told // it listens
	if got := c.names(); got != own {
		t.Fatalf("the list is %s", got)
	}
	c.tool("pagetools_search", `{"query":"tool_07","limit":1}`)
	if e := <-told; !strings.Contains(e, "list_changed") || c.names() != own+" tool_07" {
		t.Errorf("found: %s, %s", e, c.names())
	}
	if r := c.tool("tool_42", `{"n":1}`); r.text() != `{"n":1}` { // also where it is not listed
		t.Errorf("called: %s", r.text())
	}
	if e := <-told; !strings.Contains(e, "list_changed") || c.names() != own+" tool_07 tool_42" || stranger.names() != own {
		t.Errorf("called: %s, %s", e, c.names())
	}
	for _, name := range many {
		c.tool("pagetools_call", fmt.Sprintf(`{"name":%q}`, name))
	}
	if got := strings.Fields(c.names()); len(got) != 3+maxUsed || got[len(got)-1] != "tool_99" {
		t.Errorf("after all were called: %s", got)
	}
	resp.Body.Close()
	for range told { // until its reader has ended
	}
}

// TestStatesAreBoundedPerCaller (B10): a caller that names state after state loses what was
// kept for its own, and nobody else does.
func TestStatesAreBoundedPerCaller(t *testing.T) {
	w := newWorld(t, Options{})
	w.router.Declare("shop", named(manyNames("tool_%02d", 100)...)...)
	flood, bystander := w.as(agent).since2026(nothing), w.as(other).since2026(nothing)
	bystander.tool("tool_42", `{}`)
	before := bystander.names()
	for i := range 2*maxStates + 1 {
		flood.path = fmt.Sprintf("/mcp?session=s%d", i)
		flood.tool("tool_07", `{}`)
	}
	if got := bystander.names(); got != before || !strings.HasSuffix(got, " tool_42") {
		t.Errorf("the list was %s, and is %s", before, got)
	}
	if got := flood.names(); !strings.HasSuffix(got, " tool_07") { // its newest state is there
		t.Errorf("the list of the caller is %s", got)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if u, l := len(w.used), len(w.lists); u > maxStates+1 || l > maxStates+1 {
		t.Errorf("it keeps %d states and %d lists", u, l)
	}
}

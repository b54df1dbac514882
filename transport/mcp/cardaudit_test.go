package mcp

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/store"
)

// TestCardIsAudited: the audit says that it was a card on which the person answered, or acted in the
// page whoever answered then, and who acted in a live view; its hashes cover that. Where nobody used
// the card, it has none.
func TestCardIsAudited(t *testing.T) {
	const act = `{"inputs":[{"button":"left","clicks":1,"type":"mousedown","x":10,"y":20}]}`
	for name, x := range map[string]struct {
		does func(w *world, c *cardOf, ticket, id string) bool // reports whether that answers, too
		want string
	}{
		"an answer": {func(_ *world, c *cardOf, ticket, _ string) bool {
			return !c.do(ticket, "answer", `{"ok":true}`).Result.IsError
		}, "agent via card"},
		"an act": {func(_ *world, c *cardOf, ticket, _ string) bool {
			return c.do(ticket, "act", act).Result.IsError
		}, "agent via card, person"},
		"an act in a live view": {func(w *world, _ *cardOf, _, id string) bool {
			live, err := w.bridge.Live(t.Context(), bridge.Caller{Name: "ada", May: operator.May}, id)
			if err != nil {
				t.Fatal(err)
			}
			defer live.Close()
			live.Take()
			return live.Act(t.Context(), bridge.Input{Type: bridge.Text, Text: "x"}) != nil
		}, "ada, person"},
		"a picture": {func(_ *world, c *cardOf, ticket, _ string) bool { return c.do(ticket, "picture", "{}").Result.IsError }, "person"},
		"a forged act": {func(_ *world, c *cardOf, ticket, _ string) bool {
			return !c.raw(ticket, "act", "AAAA", act).Result.IsError
		}, "person"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			kept, err := store.Open(t.Context(), store.Options{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			defer kept.Close()
			w := newFaceOf(t, bridge.Options{Memory: kept.Memory}, Options{}).listen()
			w.asking(bridge.Question{Kind: bridge.Interact, Title: "The page waits."})
			c := w.as(agent).since2026(apps).card()
			ticket, id := ticketIn(c.tool("look", `{"n":1}`)), w.open1(t).ID
			answered := x.does(w, c, ticket, id)
			err = w.bridge.Answer(operator, id, bridge.Answer{})
			if e := bridge.AsError(err); answered != (e != nil) || answered && e.Details["answeredBy"] != "agent via card" {
				t.Errorf("it is answered: %v, %v", answered, err)
			}
			if r := c.tool("look", `{"n":1}`); r.Result.IsError {
				t.Fatalf("the call came to %s", r.text())
			}
			if err := kept.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			all, err := kept.Records(t.Context(), bridge.CallFilter{})
			if err != nil || len(all) != 2 || all[0].Kind != "outcome" || all[0].Persons != x.want || all[1].Persons != "" || all[0].Call != all[1].Call {
				t.Errorf("the audit has %+v, %v", all, err)
			}
			forgedPersons(t, kept, dir, x.want)
		})
	}
}

// forgedPersons checks that the audit verifies as it is, and not with another person in it.
func forgedPersons(t *testing.T, kept *store.Store, dir, persons string) {
	t.Helper()
	if r, err := kept.Verify(t.Context()); err != nil || r.Bad != nil || r.Records != 2 {
		t.Errorf("as it is: %+v, %v", r, err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "audit", "*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	content, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	was := []byte(`"persons":"` + persons + `"`)
	if n := bytes.Count(content, was); n != 1 || strings.Contains(string(content), "via card") != strings.Contains(persons, "via card") {
		t.Fatalf("the file names %s %d times", persons, n)
	}
	if err := os.WriteFile(files[0], bytes.Replace(content, was, []byte(`"persons":"nobody"`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err := kept.Verify(t.Context()); err != nil || len(r.Bad) != 1 {
		t.Errorf("with another person: %+v, %v", r, err)
	}
}

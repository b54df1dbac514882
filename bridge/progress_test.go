package bridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/schema"
)

// said returns what a part tells as "progress/total message".
func said(p bridge.Progress) string {
	told := p.Told()
	at, total := "-", "-"
	if told.At != nil {
		at = fmt.Sprint(*told.At)
	}
	if told.Total != nil {
		total = fmt.Sprint(*told.Total)
	}
	return at + "/" + total + " " + told.Message
}

// TestToldOfAPart (anyone 6): a string is the message, an object of nothing but message, progress
// and total says them, and anything else is its JSON. All of it is one line of at most 1 KiB.
func TestToldOfAPart(t *testing.T) {
	for part, want := range map[string]string{
		`"a"`: "-/- a", `""`: "-/- ", `"a\nb\u0007\u202e"`: "-/- a b", `"a\ud83d"`: "-/- a",
		`{"message":"m"}`: "-/- m", `{"progress":1}`: "1/- ", `{"progress":0.5,"total":2,"message":"m"}`: "0.5/2 m", `{"total":3}`: "-/3 ",
		`{"progress":-1e-9}`: "-1e-09/- ",
		`{}`:                 "-/- {}", `{"message":1}`: `-/- {"message":1}`, `{"progress":"1"}`: `-/- {"progress":"1"}`, `{"progress":null,"message":"m"}`: `-/- {"progress":null,"message":"m"}`,
		`{"message":"m","more":1}`: `-/- {"message":"m","more":1}`, `{"progress":1e99}`: `-/- {"progress":1e99}`, `{"progress":true}`: `-/- {"progress":true}`,
		`null`: "-/- null", `7`: "-/- 7", `["a"]`: `-/- ["a"]`, `false`: "-/- false",
	} {
		if got := said(bridge.Progress{Parts: 1, Last: json.RawMessage(part)}); got != want {
			t.Errorf("%s tells %q, want %q", part, got, want)
		}
	}
	for _, unit := range []string{"x", "é", "世", "😀", "x😀"} {
		long := strings.Repeat(unit, 3000)
		for _, value := range []any{long, []string{long}, map[string]any{"message": long, "total": 2}} {
			got := bridge.Progress{Last: schema.MustEncode(value)}.Told().Message
			if len(got) > 1<<10 || len(got) < 1<<10-7 || !utf8.ValidString(got) || !strings.HasSuffix(got, "…") || strings.ContainsRune(got, utf8.RuneError) {
				t.Errorf("of %.20q it tells %d bytes, ending with %q", value, len(got), got[max(0, len(got)-9):])
			}
		}
	}
}

// TestLongParts: of a part that is longer than what is held of one, the call tells the same as of
// the whole, also when it is over.
func TestLongParts(t *testing.T) {
	long := strings.Repeat("é", 9000)
	for _, part := range []any{long, map[string]any{"message": long, "progress": 4}, map[string]any{"message": long, "id": 4}, []string{long}, map[string]any{"total": 5}, "short"} {
		whole := bridge.Progress{Parts: 3, Last: schema.MustEncode(part)}
		check := func(p *bridge.Progress, most int) {
			if p == nil || p.Parts != 3 || said(*p) != said(whole) || len(p.Last) > most || !json.Valid(p.Last) {
				t.Errorf("of %.30q it tells %.60v", part, p)
			}
		}
		r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("look", ""))
		var run *bridge.Run
		r.Handle("shop", func(_ context.Context, inv bridge.Invocation) bridge.Step {
			inv.Progress(whole)
			p, _ := run.Progress()
			check(p, 8<<10)
			return bridge.Step{Data: json.RawMessage(`1`)}
		})
		b := open(t, r, bridge.SiteOptions{})
		serve(t.Context(), b, &bridge.Call{Site: "shop", Tool: "look", Caller: bridge.Local(), Input: bridgetest.JSON(`{}`), Key: "k",
			Started: func(r *bridge.Run) { run = r }}).told()
		p, _ := run.Progress()
		check(p, 2<<10)
		b.Close()
	}
}

package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// TestProgressOfParts (B9; anyone 6): a client that waits for a result which arrives in parts hears
// each of them in the words of the site, cleaned and cut; the progress is their count, or the
// number of a page whose numbers grow. It always grows.
func TestProgressOfParts(t *testing.T) {
	long := strings.Repeat("x", 4000)
	for name, x := range map[string]struct {
		every time.Duration
		parts []string
		want  []string // progress/total message
	}{
		"words": {300 * time.Millisecond, []string{"\"a\u202eb\\n c\"", `{"message":"m"}`, `{"item":1}`, `7`, `{"message":"m","item":1}`, `{"total":null}`}, []string{
			"0.001/0 The tool still runs.", "1/0 ab c", "2/0 m", `3/0 {"item":1}`, "4/0 7", `5/0 {"message":"m","item":1}`, `6/0 {"total":null}`}},
		"cut": {300 * time.Millisecond, []string{`"` + long + `"`, `{"message":"` + long + `","progress":5}`, `["` + long + long + long + `"]`}, []string{
			"0.001/0 The tool still runs.", "1/0 " + long[:1021] + "…", "5/0 " + long[:1021] + "…", "5.001/0 [\"" + long[:1019] + "…"}},
		"numbers": {300 * time.Millisecond, []string{`{"progress":0,"total":1}`, `{"progress":0.5}`, `"x"`, `{"progress":1,"total":1,"message":"done"}`, `{"progress":1}`, `{"progress":-3}`, `{"progress":1e300}`}, []string{
			"0.001/0 The tool still runs.", "0.002/1 ", "0.5/0 ", "0.501/0 x", "1/1 done", "5/0 ", "6/0 ", `6.001/0 {"progress":1e300}`}},
		"at once":  {30 * time.Millisecond, []string{`{"progress":0,"total":100}`, `{"progress":50,"total":100}`, `{"progress":100,"total":100}`}, []string{"0/100 ", "50/100 ", "100/100 "}},
		"totals":   {30 * time.Millisecond, []string{`{"progress":0.5,"total":1}`, `{"progress":0.5,"total":1}`, `{"total":1}`, `{"message":"m","total":9}`, `{"progress":2,"total":1}`}, []string{"0.5/1 ", "0.501/1 ", "0.502/1 ", "0.503/9 m", "2/1 "}},
		"together": {0, []string{`1`, `2`, `3`}, []string{"3/0 3"}}, // those before it may be heard, or not
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newFace(t, Options{})
				w.router.Handle("shop", func(_ context.Context, inv bridge.Invocation) bridge.Step {
					for i, part := range x.parts {
						<-time.After(x.every)
						inv.Progress(bridge.Progress{Parts: i + 1, Last: json.RawMessage(part)})
					}
					return bridge.Step{Data: json.RawMessage(`[1,2]`)}
				})
				got := progressHeard(t, w)
				if x.every == 0 {
					got = got[max(0, len(got)-1):]
				}
				if !slices.Equal(got, x.want) {
					t.Errorf("it hears %q, want %q", got, x.want)
				}
			})
		})
	}
}

// progressHeard calls a tool and returns its progress as "progress/total message". It grows, at
// most maxProgress times in a second, and the reply is the last thing that the client hears.
func progressHeard(t *testing.T, w *world) (all []string) {
	t.Helper()
	c := w.as(agent)
	c.since2026(`{}`)
	at := 0.0
	heard := c.do(t.Context(), w.handler(stillListens), "POST", rpc("1", "tools/call", c.params(`{"name":"look","arguments":{},"_meta":{"progressToken":"t"}}`))).messages()
	for i, piece := range heard {
		var m about
		if err := json.Unmarshal([]byte(piece.text), &m); err != nil {
			t.Fatal(err)
		}
		if last := i == len(heard)-1; last != strings.Contains(piece.text, `"result"`) || last && i > 0 && piece.at.Sub(heard[i-1].at) < breath {
			t.Errorf("at %d of %d: %s", i, len(heard), piece.text)
		}
		if m.Method == "" {
			continue
		}
		if i >= maxProgress && piece.at.Sub(heard[i-maxProgress].at) < time.Second {
			t.Errorf("%d reports within a second, at %d", maxProgress+1, i)
		}
		if m.Params.Progress <= at && i > 0 {
			t.Errorf("the progress does not grow: %s", piece.text)
		}
		at = m.Params.Progress
		all = append(all, fmt.Sprintf("%v/%v %s", m.Params.Progress, m.Params.Total, m.Params.Message))
	}
	return all
}

// TestProgressIsBounded: of parts that come faster than clients are told, ten a second are, and the
// newest wins: the last of them comes before the reply.
func TestProgressIsBounded(t *testing.T) {
	for _, after := range []time.Duration{0, time.Second} {
		synctest.Test(t, func(t *testing.T) {
			w := newFace(t, Options{})
			w.router.Handle("shop", func(_ context.Context, inv bridge.Invocation) bridge.Step {
				for i := range 1995 {
					<-time.After(time.Millisecond)
					inv.Progress(bridge.Progress{Parts: i + 1, Last: json.RawMessage(strconv.Itoa(i + 1))})
				}
				<-time.After(after)
				return bridge.Step{Data: json.RawMessage(`1`)}
			})
			got := progressHeard(t, w)
			if len(got) < 18 || len(got) > 21 || got[0] != "1/0 1" || !slices.Contains(got, "1995/0 1995") {
				t.Errorf("%d reports: %q", len(got), got)
			}
		})
	}
}

// TestProgressEndsWithTheCall: parts that a source tells after the end of its call reach nobody.
func TestProgressEndsWithTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFace(t, Options{})
		w.router.Handle("shop", func(ctx context.Context, inv bridge.Invocation) bridge.Step {
			inv.Progress(bridge.Progress{Parts: 1, Last: json.RawMessage(`1`)})
			go func() {
				<-time.After(time.Second)
				inv.Progress(bridge.Progress{Parts: 2, Last: json.RawMessage(`2`)})
			}()
			<-time.After(300 * time.Millisecond)
			return bridge.Step{Data: json.RawMessage(`1`)}
		})
		if got := progressHeard(t, w); !slices.Equal(got, []string{"1/0 1"}) {
			t.Errorf("it hears %q", got)
		}
		<-time.After(2 * time.Second)
	})
}

package cdp

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
)

// yieldingPage has tools whose results arrive in parts. What they close they tell /closed, a while
// after they were told to.
const yieldingPage = `<script>
	const after = (ms) => new Promise((r) => setTimeout(r, ms));
	const closes = async function* () { try { for (let i = 1; ; i++) { yield i; await after(20) } } finally { await after(100); await fetch('/closed') } };
	tool('words', async function* () { for (const word of ['a', 'b', 'c']) { yield word; await after(120) } });
	tool('stream', () => new Response('streamed').body.pipeThrough(new TextDecoderStream()));
	tool('returns', async function* () { yield {progress: 1, total: 2}; await after(20); return {n: 1} });
	tool('throws', async function* () { yield 'before'; await after(20); throw new Error('broke') });
	tool('asks', async function* () { yield 'before'; await after(60); yield confirm('sure?'); return 'end' });
	tool('picture', async function* () { const c = document.createElement('canvas'); c.width = c.height = 1; yield c; yield c });
	tool('endless', closes);
	tool('handmade', () => ({[Symbol.asyncIterator]() { return this }, next: () => after(20).then(() => ({value: 1})), return: () => after(50).then(() => fetch('/closed'))}));
	tool('many', async function* () { for (let i = 0; i <= 10000; i++) yield i });
	tool('refused', async function* () { try { yield () => 1 } finally { await after(100); await fetch('/closed') } });
	tool('stuck', async function* () { try { for (;;) { yield 1; await after(20) } } finally { await new Promise(() => {}) } });
	let release;
	tool('waits', async function* () { const got = new Promise((r) => { release = r }); try { yield 1; yield await got } finally { await fetch('/closed') } });
	tool('release', () => release('released'));
	tool('fast', async function* () { for (let i = 0; i < 9999; i++) yield i; return 'all' });
	tool('much', async function* () { for (;;) yield 'x'.repeat(1 << 16) });
</script>`

// follows runs a tool and returns its end, and what is told of its parts. heard is called with
// each.
func (s *shown) follows(ctx context.Context, name string, heard func(bridge.Progress)) (bridge.Step, []bridge.Progress) {
	s.t.Helper()
	d := s.find(name)
	var mu sync.Mutex
	var all []bridge.Progress
	step := s.Invoke(ctx, session.Invocation{Document: d.Document, Tool: d.ID, Input: json.RawMessage("{}"), MaxBytes: 1 << 20, Progress: func(p bridge.Progress) {
		mu.Lock()
		all = append(all, p)
		mu.Unlock()
		if heard != nil {
			heard(p)
		}
	}})
	mu.Lock()
	defer mu.Unlock()
	return step, all
}

// TestYieldedParts (anyone 6): what a tool yields is told while it runs, and it returns its
// result, or all of that is the result. A part is never a question.
func TestYieldedParts(t *testing.T) {
	t.Parallel()
	p := showPage(t, shared, site(t, map[string]http.HandlerFunc{"/": html(yieldingPage)})+"/")
	for tool, want := range map[string]struct{ data, last string }{
		"words": {`"abc"`, `"c"`}, "stream": {`"streamed"`, `"streamed"`}, "returns": {`{"n":1}`, `{"progress":1,"total":2}`}, "fast": {`"all"`, `9998`},
	} {
		step, told := p.follows(t.Context(), tool, nil)
		switch {
		case step.Err != nil || string(step.Data) != want.data:
			t.Errorf("%s: %s, %v", tool, step.Data, step.Err)
		case len(told) == 0 || string(told[len(told)-1].Last) != want.last:
			t.Errorf("%s tells %v", tool, told)
		case tool == "words" && (len(told) != 3 || told[0].Parts != 1 || told[2].Parts != 3):
			t.Errorf("%s tells %v", tool, told)
		case len(told) > 100:
			t.Errorf("%s tells %d times", tool, len(told))
		}
	}
	for tool, want := range map[string]string{"throws": "TOOL_ERROR  failed", "much": "TOOL_ERROR RESULT_TOO_LARGE unknown", "many": "TOOL_ERROR RESULT_TOO_LARGE unknown"} {
		step, told := p.follows(t.Context(), tool, nil)
		if got := reasonOf(step.Err); got != want || len(told) == 0 {
			t.Errorf("%s: %s, want %s; it tells %v", tool, got, want, told)
		}
	}
	step, told := p.follows(t.Context(), "asks", nil)
	if step.Pause == nil || len(told) != 1 || string(told[0].Last) != `"before"` {
		t.Fatalf("it comes to %+v, and tells %v", step, told)
	}
	if got, err := answered(t, step.Pause, yes); got != `"end"` || err != nil {
		t.Errorf("answered, it ends with %s, %v", got, err)
	}
	var seen struct {
		Content []struct{ Type, MimeType string }
	}
	if step, _ = p.follows(t.Context(), "picture", nil); json.Unmarshal(step.Data, &seen) != nil || len(seen.Content) != 2 || seen.Content[1].MimeType != "image/png" {
		t.Errorf("pictures are %.100s, %v", step.Data, step.Err)
	}
}

// TestCancelledParts (anyone 6): a caller that leaves, and a deadline, which no part moves, close
// the iterator once. It has time for that, also when the page is closed right after.
func TestCancelledParts(t *testing.T) {
	t.Parallel()
	closed := make(chan struct{}, 10)
	base := site(t, map[string]http.HandlerFunc{"/": html(yieldingPage), "/closed": func(http.ResponseWriter, *http.Request) { closed <- struct{}{} }})
	p := showPage(t, shared, base+"/")
	for _, late := range []bool{false, true} {
		ctx, cancel := context.WithCancelCause(t.Context())
		want := "CANCELLED  unknown"
		if late {
			want = "INTERNAL_ERROR TIMEOUT unknown"
			bounded, end := context.WithTimeoutCause(ctx, 200*time.Millisecond, bridge.TimedOut(200*time.Millisecond))
			defer end()
			ctx = bounded
		}
		step, _ := p.follows(ctx, "endless", func(p bridge.Progress) {
			if p.Parts > 2 && !late {
				cancel(bridge.GaveUp(bridge.Unknown))
			}
		})
		cancel(nil)
		if got := reasonOf(step.Err); got != want {
			t.Errorf("it ends with %s, want %s", got, want)
		}
		if late { // and the page is closed at once
			if err := p.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			select {
			case <-closed:
			default:
				t.Error("the page was closed before its iterator was")
			}
			if n := len(closed); n > 0 {
				t.Errorf("%d iterators were closed twice", n)
			}
			return
		}
		select {
		case <-closed:
		case <-time.After(hang):
			t.Fatal("nobody closed the iterator")
		}
	}
}

// TestClosedParts (anyone 6): whatever ends a page while its tool yields, the iterator is closed
// once before the page goes, and the call says what happened. What does not close keeps nobody.
func TestClosedParts(t *testing.T) {
	t.Parallel()
	own, err := NewLocal(localOptions())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = own.Close() })
	for name, x := range map[string]struct {
		engine *Engine
		tool   string
		end    func(*shown, string) error
		want   string
		closed int
	}{
		"handmade":  {shared, "handmade", func(s *shown, _ string) error { return s.Close(t.Context()) }, "INTERNAL_ERROR DRAINING unknown", 1},
		"closed":    {shared, "endless", func(s *shown, _ string) error { return s.Close(t.Context()) }, "INTERNAL_ERROR DRAINING unknown", 1},
		"browser":   {own, "endless", func(*shown, string) error { return own.Close() }, "INTERNAL_ERROR DRAINING unknown", 1},
		"navigated": {shared, "endless", func(s *shown, to string) error { return s.Load(t.Context(), to) }, "CANCELLED  unknown", 1},
		"stuck":     {shared, "stuck", func(s *shown, _ string) error { return s.Close(t.Context()) }, "INTERNAL_ERROR DRAINING unknown", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			closed := make(chan struct{}, 10)
			base := site(t, map[string]http.HandlerFunc{"/": html(yieldingPage), "/closed": func(http.ResponseWriter, *http.Request) { closed <- struct{}{} }})
			p := showPage(t, x.engine, base+"/")
			began, ended := make(chan struct{}), make(chan bridge.Step, 1)
			var once sync.Once
			go func() {
				step, _ := p.follows(t.Context(), x.tool, func(bridge.Progress) { once.Do(func() { close(began) }) })
				ended <- step
			}()
			<-began
			if err := x.end(p, base+"/?next"); err != nil {
				t.Fatal(err)
			}
			if n := len(closed); n != x.closed {
				t.Errorf("%d iterators were closed, want %d", n, x.closed)
			}
			if got := reasonOf((<-ended).Err); got != x.want {
				t.Errorf("it ends with %s, want %s", got, x.want)
			}
		})
	}
}

// TestRefusedParts (anyone 6): a part that has no JSON ends the call, and then the page has time to
// close the iterator.
func TestRefusedParts(t *testing.T) {
	t.Parallel()
	closed := make(chan struct{}, 10)
	base := site(t, map[string]http.HandlerFunc{"/": html(yieldingPage), "/closed": func(http.ResponseWriter, *http.Request) { closed <- struct{}{} }})
	p := showPage(t, shared, base+"/")
	step, _ := p.follows(t.Context(), "refused", nil)
	if got := reasonOf(step.Err); got != "TOOL_ERROR RESULT_INVALID unknown" {
		t.Errorf("it ends with %s", got)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(closed); n != 1 {
		t.Errorf("%d iterators were closed", n)
	}
}

// TestPartsBesideCalls: while a tool yields, the page takes other calls, and a part that comes
// after one of them is told.
func TestPartsBesideCalls(t *testing.T) {
	t.Parallel()
	base := site(t, map[string]http.HandlerFunc{"/": html(yieldingPage), "/closed": func(http.ResponseWriter, *http.Request) {}})
	p := showPage(t, shared, base+"/")
	released := make(chan error, 1)
	step, told := p.follows(t.Context(), "waits", func(at bridge.Progress) {
		if at.Parts == 1 {
			go func() {
				_, err := p.call("release", "{}")
				released <- err
			}()
		}
	})
	if err := <-released; err != nil {
		t.Error(err)
	}
	if string(step.Data) != `[1,"released"]` || len(told) != 2 || string(told[1].Last) != `"released"` {
		t.Errorf("it comes to %s, %v, and tells %v", step.Data, step.Err, told)
	}
}

// TestNativeParts (anyone 6): the browser's own WebMCP tells of no parts. The result is the same.
func TestNativeParts(t *testing.T) {
	t.Parallel()
	needsWhole(t)
	p := showPage(t, native1(t), site(t, map[string]http.HandlerFunc{"/": html(yieldingPage)})+"/")
	step, told := p.follows(t.Context(), "words", nil)
	if string(step.Data) != `"abc"` || len(told) > 0 {
		t.Errorf("it comes to %s, %v, and tells %v", step.Data, step.Err, told)
	}
}

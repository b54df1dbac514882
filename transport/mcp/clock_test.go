package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/gatetest"
)

// What follows runs on a clock that goes on only when nothing else does, so that it
// can look at times without waiting for them.

// record is a response, with the time of each piece.
type record struct {
	header http.Header

	mu     sync.Mutex
	pieces []written
}

func (r *record) Header() http.Header { return r.header }
func (*record) WriteHeader(int)       {}
func (*record) Flush()                {}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pieces = append(r.pieces, written{time.Now(), string(p)})
	return len(p), nil
}

// count returns how many pieces have a text.
func (r *record) count(text string) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.pieces {
		n += strings.Count(p.text, text)
	}
	return n
}

// messages are the pieces with their JSON only.
func (r *record) messages() (list []written) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.pieces {
		_, data, _ := strings.Cut(p.text, "data: ")
		if data == "" && strings.HasPrefix(p.text, "{") {
			data = p.text
		}
		if data != "" {
			list = append(list, written{p.at, data})
		}
	}
	return list
}

const stillListens = "127.0.0.1:7300"

// do serves one request, until it is answered or ctx ends.
func (c *client) do(ctx context.Context, h http.Handler, method, body string) *record {
	out := &record{header: http.Header{}}
	c.start(ctx, h, out, method, body)
	return out
}

func (c *client) start(ctx context.Context, h http.Handler, out *record, method, body string) {
	r := httptest.NewRequestWithContext(ctx, method, c.path, strings.NewReader(body))
	r.Host = stillListens
	c.head(r, body)
	h.ServeHTTP(out, r)
}

// sleeps makes the tool "look" take as many milliseconds as its argument says.
func (w *world) sleeps() {
	w.router.Handle("shop", func(ctx context.Context, inv bridge.Invocation) bridge.Step {
		var in struct{ Takes time.Duration }
		if err := json.Unmarshal(inv.Input, &in); err != nil {
			return bridge.AsError(err).Step()
		}
		select {
		case <-time.After(in.Takes):
			return bridge.Step{Data: inv.Input}
		case <-ctx.Done():
			return bridge.AsError(context.Cause(ctx)).Step()
		}
	})
}

// about is one message about a call.
type about struct {
	ID     json.RawMessage
	Method string
	Params struct {
		ProgressToken string
		Progress      float64
		Message       string
		Total         float64
	}
}

// checkProgress holds what a client heard about a call that it began at a time: every
// progress of it, at its time, and the reply as the last thing, when the tool ended.
func checkProgress(t *testing.T, token string, began time.Time, took time.Duration, heard []written) {
	t.Helper()
	if len(heard) == 0 {
		t.Fatalf("%s: nothing was heard", token)
	}
	var last time.Time
	for i, piece := range heard[:len(heard)-1] {
		var m about
		if err := json.Unmarshal([]byte(piece.text), &m); err != nil {
			t.Fatalf("%s: %q: %v", token, piece.text, err)
		}
		last = began.Add(dueProgress(i))
		if m.Method != "notifications/progress" || m.Params.ProgressToken != token || m.Params.Progress != float64(i+1)/1000 || !piece.at.Equal(last) {
			t.Errorf("%s: after %v it hears %s", token, piece.at.Sub(began), piece.text)
		}
	}
	reply := heard[len(heard)-1]
	if !strings.Contains(reply.text, `"result"`) || strings.Contains(reply.text, `"isError":true`) {
		t.Errorf("%s: it ends with %s", token, reply.text)
	}
	most := 0
	for dueProgress(most) <= took {
		most++
	}
	least := most
	if most > 0 && dueProgress(most-1) == took { // both at one moment
		least--
	}
	if n := len(heard) - 1; n < least || n > most {
		t.Errorf("%s: %d of %d to %d reports of progress", token, n, least, most)
	}
	if late := reply.at.Sub(began.Add(took)); late < 0 || late > breath {
		t.Errorf("%s: the reply comes %v after the tool has ended", token, late)
	}
	if gap := reply.at.Sub(last); gap < breath {
		t.Errorf("%s: the reply comes %v after the last progress", token, gap)
	}
}

// dueProgress returns when the progress i is due: 0.1 s, 1 s, 2 s and so on to 10 s, 15 s, 20 s.
func dueProgress(i int) time.Duration {
	switch {
	case i == 0:
		return 100 * time.Millisecond
	case i <= 10:
		return time.Duration(i) * time.Second
	}
	return 10*time.Second + time.Duration(i-10)*5*time.Second
}

// progressCalls are calls of the tool "look" of every length up to 25 seconds, among
// them such that end when a progress is due.
func progressCalls(began time.Time, do func(token, params string, took time.Duration)) (wait func()) {
	var all sync.WaitGroup
	for i := range 90 {
		took := time.Duration(i) * 250 * time.Millisecond
		if i%3 == 1 {
			took += 31 * time.Millisecond
		}
		all.Go(func() {
			token := fmt.Sprintf("token-%d", i)
			do(token, fmt.Sprintf(`{"name":"look","arguments":{"takes":%d},"_meta":{"progressToken":%q}}`, took, token), took)
		})
	}
	return all.Wait
}

// TestProgress (defects 1, 2 and 3): every progress comes, when it is due, on the
// stream of its own call, before the reply and never right before it.
func TestProgress(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newFace(t, Options{})
				w.sleeps()
				h, c := w.handler(stillListens), w.as(agent)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				beside := &record{header: http.Header{}}
				var listening sync.WaitGroup
				if version == "2026-07-28" {
					c.since2026(`{}`)
					listening.Go(func() {
						c.start(ctx, h, beside, "POST", rpc(`"sub"`, "subscriptions/listen", c.params(`{"notifications":{"toolsListChanged":true}}`)))
					})
				} else {
					c.begin(h, version)
					listening.Go(func() { c.start(ctx, h, beside, "GET", "") })
				}
				began := time.Now()
				progressCalls(began, func(token, params string, took time.Duration) {
					heard := c.do(t.Context(), h, "POST", rpc(fmt.Sprintf("%q", token), "tools/call", c.params(params)))
					checkProgress(t, token, began, took, heard.messages())
				})()
				cancel()
				listening.Wait()
				if n := beside.count("progress"); n != 0 {
					t.Errorf("another stream has %d reports of progress", n)
				}
			})
		})
	}
	t.Run("stdio", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newFace(t, Options{})
			w.sleeps()
			p := w.stdio(bridge.Local())
			began := time.Now()
			lengths := map[string]time.Duration{}
			var mu sync.Mutex
			progressCalls(began, func(token, params string, took time.Duration) {
				mu.Lock()
				defer mu.Unlock()
				lengths[token] = took
				p.send(rpc(fmt.Sprintf("%q", token), "tools/call", params))
			})()
			heard := map[string][]written{}
			for replies := 0; replies < len(lengths); {
				line := <-p.lines
				var m about
				if err := json.Unmarshal([]byte(line.text), &m); err != nil {
					t.Fatal(err)
				}
				token := m.Params.ProgressToken
				if m.ID != nil {
					replies++
					token = strings.Trim(string(m.ID), `"`)
				}
				heard[token] = append(heard[token], line)
			}
			for token, took := range lengths {
				checkProgress(t, token, began, took, heard[token])
			}
		})
	})
}

// TestFinish: what still runs when stdin closes has 2.5 seconds, or as long as who serves it says.
// What is cancelled then still says so.
func TestFinish(t *testing.T) {
	for finish, cancelled := range map[time.Duration]bool{0: true, 10 * time.Second: false} {
		synctest.Test(t, func(t *testing.T) {
			w := newFace(t, Options{Finish: finish})
			w.sleeps()
			p := w.stdio(bridge.Local())
			p.send(rpc("1", "tools/call", fmt.Sprintf(`{"name":"look","arguments":{"takes":%d}}`, 5*time.Second)))
			synctest.Wait() // it runs
			_ = p.in.Close()
			if err := <-p.ended; err != nil {
				t.Error(err)
			}
			synctest.Wait() // all is read
			if n := len(p.lines); n != 1 {
				t.Fatalf("with %v: %d replies", finish, n)
			}
			if got := (<-p.lines).text; strings.Contains(got, `"isError":true`) != cancelled {
				t.Errorf("with %v: %s", finish, got)
			}
		})
	}
}

// TestStdioGoroutines: a request runs on a goroutine that waits for one, when there is
// one; few of them wait, and none when the client has gone.
func TestStdioGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFace(t, Options{})
		w.sleeps()
		p := w.stdio(bridge.Local())
		waiting := func(after string, want int) {
			t.Helper()
			synctest.Wait()
			stacks := make([]byte, 1<<20)
			if n := strings.Count(string(stacks[:runtime.Stack(stacks, true)]), "(*stdio).work("); n != want {
				t.Errorf("after %s %d goroutines wait for a request, want %d", after, n, want)
			}
		}
		for _, x := range []struct{ calls, want int }{{1, 1}, {1, 1}, {3, 3}, {2, 3}, {100, maxKept}, {1, maxKept}} {
			for i := range x.calls {
				p.send(rpc(i, "tools/call", `{"name":"look","arguments":{"takes":1000}}`))
			}
			waiting(fmt.Sprintf("%d calls began", x.calls), max(x.calls, x.want))
			for range x.calls {
				if line := <-p.lines; !strings.Contains(line.text, "takes") {
					t.Fatal(line.text)
				}
			}
			waiting(fmt.Sprintf("%d calls", x.calls), x.want)
		}
		_ = p.in.Close()
		if err := <-p.ended; err != nil {
			t.Error(err)
		}
		waiting("the end", 0)
	})
}

// TestStreamsLive (defect 17): a stream without news shows every 15 seconds that it
// lives, and tells of a burst of changes once.
func TestStreamsLive(t *testing.T) {
	for _, version := range []string{"2024-11-05", "2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newFace(t, Options{})
				h, c := w.handler(stillListens), w.as(agent)
				method, body, first := "GET", "", 1 // the comment that says that it listens
				if version == "2026-07-28" {
					c.since2026(`{}`)
					method, body, first = "POST", rpc(`"sub"`, "subscriptions/listen", c.params(`{"notifications":{"toolsListChanged":true}}`)), 0
				} else {
					c.begin(h, version)
				}
				ctx, cancel := context.WithCancel(t.Context())
				out := &record{header: http.Header{}}
				var listening sync.WaitGroup
				listening.Go(func() { c.start(ctx, h, out, method, body) })
				<-time.After(61 * time.Second)
				if n := out.count(": still here"); n != first+4 {
					t.Errorf("in 61 s it shows %d times that it lives", n)
				}
				for burst := range 3 {
					for i := range 20 {
						w.router.Declare("shop", bridgetest.Tool(fmt.Sprintf("t%d-%d", burst, i), ""))
						<-time.After(time.Millisecond)
					}
					<-time.After(time.Second)
					if n := out.count("list_changed"); n != burst+1 {
						t.Errorf("after %d bursts it has told %d times", burst+1, n)
					}
				}
				cancel()
				listening.Wait()
			})
		})
	}
}

// TestSessionsExpire (defect 5): a session that nobody uses ends, and nothing of it is
// left in memory; one that is used, or listens, goes on.
func TestSessionsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFace(t, Options{})
		h := w.handler(stillListens)
		n := gatetest.Amount(297, 2997)
		for i := range n {
			w.as([]bridge.Caller{agent, other, quiet}[i%3]).begin(h, "2025-11-25")
		}
		all := w.sessions.weakly()
		if kept := alive(all); kept != n { // the control
			t.Fatalf("%d of %d sessions are there", kept, n)
		}
		used, listens := w.as(agent), w.as(agent)
		used.begin(h, "2025-11-25")
		listens.begin(h, "2025-11-25")
		ctx, cancel := context.WithCancel(t.Context())
		var listening sync.WaitGroup
		listening.Go(func() { listens.do(ctx, h, "GET", "") })
		for range 4 {
			<-time.After(10 * time.Minute)
			used.do(t.Context(), h, "POST", rpc(2, "ping", "{}"))
		}
		if kept := w.sessions.count(); kept != 2 {
			t.Errorf("%d sessions are there, want the one that is used and the one that listens", kept)
		}
		if kept := alive(all); kept != 0 {
			t.Errorf("of %d sessions that expired %d are in memory", n, kept)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.lists) > 3 { // one for each caller
			t.Errorf("%d lists are kept", len(w.lists))
		}
		cancel()
		listening.Wait()
	})
}

// weakly returns the sessions in a way that does not keep them.
func (s *sessions) weakly() (all []weak.Pointer[httpSession]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.byID {
		all = append(all, weak.Make(x))
	}
	return all
}

// alive returns how many of them are in memory.
func alive(all []weak.Pointer[httpSession]) (n int) {
	runtime.GC()
	runtime.GC() // what the first one finalised
	for _, p := range all {
		if p.Value() != nil {
			n++
		}
	}
	return n
}

// begin makes a session over a handler.
func (c *client) begin(h http.Handler, version string) {
	c.t.Helper()
	c.version = version
	got := c.do(c.t.Context(), h, "POST", rpc(1, "initialize", fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"t","version":"1"}}`, version)))
	if c.session = got.header.Get("Mcp-Session-Id"); c.session == "" {
		c.t.Fatalf("initialize gives %v", got.pieces)
	}
}

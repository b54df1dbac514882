package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/sessiontest"
)

// reading is a call that may run beside others that are made with it.
func reading(session string) bridge.Ref {
	r := ref(session)
	r.Beside = true
	return r
}

// runs notes when calls begin and end, and how many run.
type runs struct {
	mu      sync.Mutex
	order   []string
	running map[string]<-chan struct{} // closed when a call was given up
	most    int
}

// tool takes as many milliseconds as its argument says, under a name.
func (r *runs) tool() sessiontest.Tool {
	return sessiontest.Tool{Name: "note", Run: func(c *sessiontest.Call) (json.RawMessage, error) {
		var in struct {
			Name  string
			Takes time.Duration
		}
		if err := json.Unmarshal(c.Input, &in); err != nil {
			return nil, err
		}
		r.mu.Lock()
		r.order = append(r.order, in.Name)
		r.running[in.Name] = c.Context().Done()
		r.most = max(r.most, len(r.running))
		for name, over := range r.running {
			if name == in.Name || !strings.HasPrefix(name, "write") && !strings.HasPrefix(in.Name, "write") {
				continue
			}
			select {
			case <-over:
			default:
				r.order = append(r.order, "together with "+name)
			}
		}
		r.mu.Unlock()
		err := sessiontest.Wait(c.Context(), in.Takes*time.Millisecond)
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.running, in.Name)
		return json.RawMessage(`null`), err
	}}
}

func newRuns() *runs { return &runs{running: map[string]<-chan struct{}{}} }

func (r *runs) page(d *sessiontest.Document) { d.Register(r.tool(), named("where")) }

func note(name string, takes int) string { return fmt.Sprintf(`{"name":%q,"takes":%d}`, name, takes) }

// TestReadsRunBeside: calls that only read run beside each other on their session's
// page; one that does not runs alone, after those before it and before those after.
func TestReadsRunBeside(t *testing.T) {
	r := newRuns()
	inWorld(t, r.page, nil, func(t *testing.T, w *world) {
		w.warm("s", "where")
		began := time.Now()
		calls := []string{"read0", "read1", "read2", "write3", "read4", "read5", "write6", "write7", "read8"}
		for _, err := range together(len(calls), func(i int) error {
			how := reading("s")
			if strings.HasPrefix(calls[i], "write") {
				how = ref("s")
			}
			_, err := w.call(t.Context(), how, "note", note(calls[i], 1000))
			return err
		}) {
			succeeds(t, err)
		}
		lasts(t, time.Since(began), 6*time.Second)
		slices.Sort(r.order[4:6]) // both began in one moment
		if got := fmt.Sprint(r.order); got != fmt.Sprint(calls) {
			t.Errorf("they ran as %s", got)
		}
		if c := w.Counts(); c != (session.Counts{Live: 1}) {
			t.Errorf("afterwards there are %+v", c)
		}
	})
}

// TestReadsAreBounded: so many at once, and the rest waits; more than may wait are
// refused.
func TestReadsAreBounded(t *testing.T) {
	r := newRuns()
	inWorld(t, r.page, nil, func(t *testing.T, w *world) {
		w.warm("s", "where")
		began := time.Now()
		refused := 0
		for i, err := range together(170, func(i int) error {
			_, err := w.call(t.Context(), reading("s"), "note", note(fmt.Sprint("read", i), 1000))
			return err
		}) {
			if err != nil {
				refused++
				if e := fails(t, err, bridge.RateLimit, "", bridge.NotRun); e.Retry <= 0 || i < 160 {
					t.Errorf("call %d: %v, again in %v", i, err, e.Retry)
				}
			}
		}
		lasts(t, time.Since(began), 5*time.Second)
		if r.most != 32 || refused != 10 {
			t.Errorf("%d ran at once, %d were refused", r.most, refused)
		}
	})
}

// TestReadsLoseTheirPage: all who had it are told, and nobody is told again.
func TestReadsLoseTheirPage(t *testing.T) {
	inWorld(t, shop, nil, func(t *testing.T, w *world) {
		w.warm("s", "where")
		page := w.must(reading("s"), "where")
		tools := []string{"slow", "slow", "crash"}
		for _, err := range together(len(tools), func(i int) error {
			_, err := w.call(t.Context(), reading("s"), tools[i], "{}")
			return err
		}) {
			fails(t, err, bridge.InternalError, bridge.PageCrashed, bridge.Unknown)
		}
		if again := w.must(reading("s"), "where"); again == page {
			t.Error("the page lived on")
		}
		if c := w.Counts(); c.Leased != 0 || c.Live != 1 {
			t.Errorf("afterwards there are %+v", c)
		}
	})
}

// TestReadsWhoseCallerIsRevoked: the page ends under all of them, once.
func TestReadsWhoseCallerIsRevoked(t *testing.T) {
	inWorld(t, shop, nil, func(t *testing.T, w *world) {
		w.warm("s", "where")
		r := reading("t")
		taken := make(chan struct{})
		r.Caller = bridge.Caller{Name: "taken", Revoked: taken}
		if _, err := w.call(t.Context(), r, "where", "{}"); err != nil {
			t.Fatal(err)
		}
		later(500*time.Millisecond, func() { close(taken); w.Revoke() })
		for _, err := range together(3, func(int) error {
			_, err := w.call(t.Context(), r, "slow", "{}")
			return err
		}) {
			if err == nil {
				t.Error("a call of a caller that was revoked went on")
			}
		}
		synctest.Wait()
		if c := w.Counts(); c.Leased != 0 || c.Live != 1 {
			t.Errorf("afterwards there are %+v", c)
		}
	})
}

// TestReadsThatAsk: while one of them waits for a person, the page takes no further
// call, whatever becomes of the others.
func TestReadsThatAsk(t *testing.T) {
	page := func(d *sessiontest.Document) {
		shop(d)
		d.Register(sessiontest.Tool{Name: "ask", Run: func(c *sessiontest.Call) (json.RawMessage, error) {
			for _, kind := range []bridge.Kind{bridge.Confirm, bridge.Prompt} {
				c.Ask(kind, string(c.Input), nil)
			}
			return json.RawMessage("1"), nil
		}})
	}
	inWorld(t, page, nil, func(t *testing.T, w *world) {
		w.warm("s", "where")
		catalog, err := w.Await(t.Context(), ref("s"))
		succeeds(t, err)
		var leases [2]bridge.Source
		for i := range leases {
			leases[i], err = w.Acquire(t.Context(), reading("s"))
			succeeds(t, err)
			defer leases[i].Release()
		}
		var pauses [2]*bridge.Pause
		for i, l := range leases {
			s := l.Invoke(t.Context(), bridge.Invocation{Tool: catalog.Tool("ask"), Caller: "local", Input: json.RawMessage(fmt.Sprintf(`{"n":%d}`, i)), Answer: time.Minute})
			if pauses[i] = s.Pause; s.Pause == nil {
				t.Fatal(s.Err)
			}
		}
		takes := func() error {
			l, err := w.Acquire(t.Context(), reading("s"))
			if err == nil {
				l.Release()
			}
			return err
		}
		next := func(i int) {
			pauses[i].Take()
			pauses[i] = pauses[i].Continue(t.Context(), &bridge.Answer{OK: true}).Pause
		}
		next(1) // the second asks again
		fails(t, takes(), bridge.Conflict, "", bridge.NotRun)
		next(1)
		e := fails(t, takes(), bridge.Conflict, "", bridge.NotRun)
		if q := e.Details["question"].(*bridge.Question); q.ID != pauses[0].Question.ID || q.Tool != "ask" || string(q.Input) != `{"n":0}` {
			t.Errorf("it says that the page waits for %+v", q)
		}
		next(0)
		fails(t, takes(), bridge.Conflict, "", bridge.NotRun)
		next(0)
		succeeds(t, takes())
	})
}

// TestReadsThatGiveUp: who leaves while it waits takes nobody's turn.
func TestReadsThatGiveUp(t *testing.T) {
	r := newRuns()
	inWorld(t, r.page, nil, func(t *testing.T, w *world) {
		w.warm("s", "where")
		ctx, cancel := context.WithCancel(t.Context())
		later(500*time.Millisecond, cancel)
		began := time.Now()
		together(3, func(i int) error {
			var err error
			switch i {
			case 0:
				_, err = w.call(t.Context(), reading("s"), "note", note("read0", 1000))
			case 1:
				_, err = w.call(ctx, ref("s"), "note", note("write1", 1000))
			default:
				_, err = w.call(t.Context(), reading("s"), "note", note("read2", 1000))
			}
			return err
		})
		lasts(t, time.Since(began), 2*time.Second)
		if got := fmt.Sprint(r.order); got != "[read0 read2]" {
			t.Errorf("they ran as %s", got)
		}
	})
}

// TestReadsAndWrites: whatever comes in whatever order and goes away: who writes is
// alone, nobody overtakes who writes, and in the end nothing is held.
func TestReadsAndWrites(t *testing.T) {
	for seed := range uint64(20) {
		r := newRuns()
		inWorld(t, r.page, nil, func(t *testing.T, w *world) {
			w.warm("s", "where")
			dice := rand.New(rand.NewPCG(seed, 1))
			var all sync.WaitGroup
			var came []string
			for i := range 100 {
				name, how := fmt.Sprint("read", i), reading("s")
				if dice.IntN(4) == 0 {
					name, how = fmt.Sprint("write", i), ref("s")
				}
				ctx, cancel := t.Context(), func() {}
				if dice.IntN(5) == 0 {
					ctx, cancel = context.WithTimeout(ctx, time.Duration(dice.IntN(3000))*time.Millisecond)
				}
				takes := dice.IntN(300)
				came = append(came, name)
				all.Go(func() {
					defer cancel()
					_, _ = w.call(ctx, how, "note", note(name, takes)) // some give up
				})
				synctest.Wait()
				if dice.IntN(3) == 0 {
					_ = sessiontest.Wait(t.Context(), time.Duration(dice.IntN(200))*time.Millisecond)
				}
			}
			all.Wait()
			written, last := -1, -1 // the last call that wrote, and the newest of all
			for _, name := range r.order {
				now, writes := slices.Index(came, name), strings.HasPrefix(name, "write")
				if now < written || writes && now < last {
					t.Fatalf("seed %d: %s is overtaken in %v", seed, name, r.order)
				}
				if last = max(last, now); writes {
					written = now
				}
			}
			if c := w.Counts(); c != (session.Counts{Live: 1}) {
				t.Errorf("seed %d: afterwards there are %+v", seed, c)
			}
		})
	}
}

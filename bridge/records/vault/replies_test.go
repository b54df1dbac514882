package vault_test

import (
	"context"
	"encoding/base32"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/bridge/records"
	"github.com/pagetools/pagetools/bridge/records/recordstest"
	"github.com/pagetools/pagetools/bridge/records/vault"
)

func TestMain(m *testing.M) { os.Exit(bridgetest.Main(m, os.Stderr)) }

// name hides of names their letters only.
func name(parts ...string) string {
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString([]byte(strings.Join(parts, "/")))
}

// world has records, who is dead, and the faults of nodes.
type world struct {
	memory *records.Memory

	mu    sync.Mutex
	dead  map[string]bool
	fault func(node string, op recordstest.Op) recordstest.Fault
	after func(node string, op recordstest.Op)
}

func newWorld() *world {
	return &world{memory: records.NewMemory(), dead: map[string]bool{}}
}

func (w *world) kill(id string) { w.mu.Lock(); defer w.mu.Unlock(); w.dead[id] = true }

func (w *world) fails(fault func(node string, op recordstest.Op) recordstest.Fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fault = fault
}

// once has another node do something after an operation of A, which ends so.
func (w *world) once(fault recordstest.Fault, name, prefix string, do func()) {
	done := false
	is := func(node string, op recordstest.Op) bool {
		return !done && node == "A" && op.Name == name && strings.HasPrefix(op.Key, prefix)
	}
	w.fails(func(node string, op recordstest.Op) recordstest.Fault {
		if is(node, op) {
			return fault
		}
		return recordstest.None
	})
	w.after = func(node string, op recordstest.Op) {
		if is(node, op) {
			done = true
			do()
		}
	}
}

// options returns the options of a node.
func (w *world) options(id string) vault.Options {
	o := vault.Options{Name: name, Sealer: recordstest.Sealer{}, Self: func() string { return id }, Dead: func(_ context.Context, id string) (bool, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if id == "NOBODY" {
			return false, errors.New("nobody knows")
		}
		return w.dead[id], nil
	}}
	o.Records = &recordstest.Faulty{Records: w.memory, Fault: func(op recordstest.Op) recordstest.Fault {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.fault == nil {
			return recordstest.None
		}
		return w.fault(id, op)
	}, After: func(op recordstest.Op) {
		w.mu.Lock()
		after := w.after
		w.mu.Unlock()
		if after != nil {
			after(id, op)
		}
	}}
	return o
}

func (w *world) node(id string) *vault.Replies { return vault.NewReplies(w.options(id)) }

func begin(t *testing.T, r *vault.Replies, key, digest string) bridge.ReplyState {
	t.Helper()
	s, err := r.Begin(t.Context(), "agent", key, digest)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func wants(t *testing.T, why string, r *vault.Replies, key string, want bridge.ReplyStatus) bridge.ReplyState {
	t.Helper()
	s := begin(t, r, key, "d")
	if s.Status != want {
		t.Errorf("%s: %s, want %s", why, s.Status, want)
	}
	return s
}

func no(t *testing.T, why string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", why, err)
	}
}

// lostKey checks that an error says that nothing ran, and why.
func lostKey(t *testing.T, why string, err, want error) {
	t.Helper()
	e, ok := errors.AsType[*bridge.Error](err)
	if !ok || e.Reason != bridge.NoQuorum || e.Outcome != bridge.NotRun || e.Retry == 0 || !errors.Is(err, want) {
		t.Errorf("%s: %v", why, err)
	}
}

// TestConformance: over records, the parts of a bridge.Memory keep what they promise.
func TestConformance(t *testing.T) {
	t.Parallel()
	open := func(_ *testing.T, m bridgetest.MemoryOptions) bridge.Memory {
		o := newWorld().options("NODE")
		o.MaxKeys, o.MaxReplyBytes, o.MaxVersionBytes = m.MaxKeys, m.MaxReplyBytes, m.MaxVersionBytes
		return bridge.Memory{Replies: vault.NewReplies(o), Grants: vault.NewGrants(o), KnownTools: vault.NewKnown(o), Versions: vault.NewVersions(o)}
	}
	bridgetest.CheckReplies(t, open)
	bridgetest.CheckGrants(t, open)
	bridgetest.CheckVersions(t, open)
}

// TestNodes: a key that one node has is no other's while it lives. When it has ended, one that had not
// begun is taken over, and one that had is lost for good; a reply that was kept is everybody's.
func TestNodes(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	w := newWorld()
	a, b := w.node("A"), w.node("B")
	for _, key := range []string{"claimed", "begun", "done", "late"} {
		wants(t, key, a, key, bridge.ReplyClaimed)
	}
	no(t, "begun", a.Begun(ctx, begin(t, a, "begun", "d").Claim))
	done := begin(t, a, "done", "d").Claim
	no(t, "done", errors.Join(a.Begun(ctx, done), a.Finish(ctx, done, []byte("reply"))))
	for _, key := range []string{"claimed", "begun"} {
		wants(t, key+", and its node lives", b, key, bridge.ReplyInFlight)
		if home, err := b.Home(ctx, "agent", key); home != "A" || err != nil {
			t.Errorf("%s is at %q, %v", key, home, err)
		}
	}
	if s := begin(t, b, "begun", "other"); s.Status != bridge.ReplyOtherBody {
		t.Errorf("another call: %s", s.Status)
	}
	if s := wants(t, "done", b, "done", bridge.ReplyFinished); string(s.Reply) != "reply" {
		t.Errorf("the reply is %q", s.Reply)
	}
	if home, err := b.Home(ctx, "agent", "done"); home != "" || err != nil {
		t.Errorf("a call that is over is at %q, %v", home, err)
	}

	late := begin(t, a, "late", "d").Claim
	w.kill("A")
	wants(t, "done, and its node has ended", b, "done", bridge.ReplyFinished)
	for range 2 {
		wants(t, "begun, and its node has ended", b, "begun", bridge.ReplyNodeLost)
	}
	mine := wants(t, "claimed, and its node has ended", b, "claimed", bridge.ReplyClaimed)
	wants(t, "taken over", w.node("C"), "claimed", bridge.ReplyInFlight)
	no(t, "taken over", b.Begun(ctx, mine.Claim))
	if s := begin(t, b, "late", "other"); s.Status != bridge.ReplyClaimed {
		t.Errorf("another call of a key that is free: %s", s.Status)
	}
	lostKey(t, "it begins after its key was taken over", a.Begun(ctx, late), bridge.ErrClaimLost)
	for why, err := range map[string]error{"it ends": a.Finish(ctx, late, nil), "it gives up": a.Abandon(ctx, late)} {
		if !errors.Is(err, bridge.ErrClaimLost) {
			t.Errorf("%s after its key was taken over: %v", why, err)
		}
	}
	wants(t, "and that changed nothing", w.node("C"), "late", bridge.ReplyOtherBody)
}

// TestUnknowable: while nobody can know whether a node lives, its keys are nobody's, and nothing runs.
func TestUnknowable(t *testing.T) {
	t.Parallel()
	w := newWorld()
	wants(t, "first", w.node("NOBODY"), "k", bridge.ReplyClaimed)
	_, err := w.node("B").Begin(t.Context(), "agent", "k", "d")
	lostKey(t, "nobody knows", err, err)
}

// TestAway: without the engine no key is claimed, and no call that has one begins. What was given up then
// is free when the engine is back, and a reply that could not be kept is not taken for a call that runs.
func TestAway(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]recordstest.Fault{"fails": recordstest.Fail, "hangs": recordstest.Hang} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, w := t.Context(), newWorld()
				a, b := w.node("A"), w.node("B")
				given, ran := wants(t, "before", a, "given", bridge.ReplyClaimed), wants(t, "before", a, "ran", bridge.ReplyClaimed)
				no(t, "before", a.Begun(ctx, ran.Claim))
				w.fails(func(string, recordstest.Op) recordstest.Fault { return fault })
				began := time.Now()
				_, err := a.Begin(ctx, "agent", "new", "d")
				lostKey(t, "a new key", err, err)
				err = a.Begun(ctx, given.Claim)
				lostKey(t, "it begins", err, err)
				if a.Abandon(ctx, given.Claim) == nil || a.Finish(ctx, ran.Claim, []byte("reply")) == nil {
					t.Error("an end is kept without an engine")
				}
				if took := time.Since(began); took > 10*time.Second {
					t.Errorf("that took %v", took)
				}
				if home, err := a.Home(ctx, "agent", "given"); err == nil {
					t.Errorf("the home is %q", home)
				}
				w.fails(nil)
				for key, want := range map[string]string{"given": "A", "ran": "A", "new": ""} {
					if home, err := b.Home(ctx, "agent", key); home != want || err != nil {
						t.Errorf("%s is at %q, %v", key, home, err)
					}
				}
				wants(t, "given up, at the other node", b, "given", bridge.ReplyInFlight)
				wants(t, "given up", a, "given", bridge.ReplyClaimed)
				wants(t, "its reply was not kept", a, "ran", bridge.ReplyUnknown)
			})
		})
	}
}

// TestLostAnswers: an operation whose answer is lost counts as what it did.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	long := []byte(strings.Repeat("x", 200_000))
	for _, fault := range []recordstest.Fault{recordstest.Fail, recordstest.Lose} {
		for at := range 20 {
			synctest.Test(t, func(t *testing.T) {
				ctx, w, n := t.Context(), newWorld(), 0
				a, b := w.node("A"), w.node("B")
				w.fails(func(node string, _ recordstest.Op) recordstest.Fault {
					if n++; node == "A" && n-1 == at {
						return fault
					}
					return recordstest.None
				})
				s := wants(t, fmt.Sprintf("fault %d at %d", fault, at), a, "k", bridge.ReplyClaimed)
				no(t, "begun", a.Begun(ctx, s.Claim))
				wants(t, "meanwhile", b, "k", bridge.ReplyInFlight)
				no(t, "finish", a.Finish(ctx, s.Claim, long))
				if got := wants(t, fmt.Sprintf("fault %d at %d", fault, at), b, "k", bridge.ReplyFinished); string(got.Reply) != string(long) {
					t.Errorf("the reply has %d bytes", len(got.Reply))
				}
				s = wants(t, "another", a, "other", bridge.ReplyClaimed)
				no(t, "begun", a.Begun(ctx, s.Claim))
				no(t, "abandon", a.Abandon(ctx, s.Claim))
				wants(t, "abandoned", b, "other", bridge.ReplyClaimed)
			})
		}
	}
}

// TestTorn: a reply of which a part is gone is lost, and its call does not run again.
func TestTorn(t *testing.T) {
	t.Parallel()
	w := newWorld()
	a := w.node("A")
	s := wants(t, "first", a, "k", bridge.ReplyClaimed)
	no(t, "finish", a.Finish(t.Context(), s.Claim, []byte(strings.Repeat("x", 200_000))))
	watching, stop := context.WithCancel(t.Context())
	defer stop()
	all, err := w.memory.Watch(watching, "k."+name("key", "agent", "k")+".")
	no(t, "watch", err)
	parts := 0
	for r := range all {
		if r.IsMark() {
			break
		}
		if parts++; parts == 1 {
			w.memory.Expire(r.Key)
		}
		if strings.Contains(string(r.Value), "xxxx") {
			t.Error("a part can be read")
		}
	}
	if parts != 4 {
		t.Errorf("%d parts", parts)
	}
	wants(t, "torn", w.node("B"), "k", bridge.ReplyUnknown)
}

// TestBounds: what one caller keeps at a node costs another one nothing, and of all replies the oldest go.
// Nothing of a reply that went stays in the engine but its key.
func TestBounds(t *testing.T) {
	t.Parallel()
	ctx, w := t.Context(), newWorld()
	o := w.options("A")
	o.MaxReplyBytes, o.MaxAllBytes, o.MaxKeys = 300_000, 500_000, 20
	a, b := vault.NewReplies(o), w.node("B")
	reply := []byte(strings.Repeat("x", 100_000))
	finish := func(caller string, i int) {
		t.Helper()
		s, err := a.Begin(ctx, caller, fmt.Sprint(i), "d")
		no(t, "begin", err)
		no(t, "finish", a.Finish(ctx, s.Claim, reply))
	}
	is := func(caller string, want ...bridge.ReplyStatus) {
		t.Helper()
		for i, want := range want {
			if s, err := b.Begin(ctx, caller, fmt.Sprint(i), "d"); s.Status != want || err != nil {
				t.Errorf("key %d of %s: %s, %v", i, caller, s.Status, err)
			}
		}
	}
	finish("quiet", 0)
	for i := range 4 {
		finish("loud", i)
	}
	lost, kept := bridge.ReplyUnknown, bridge.ReplyFinished
	is("quiet", kept)
	is("loud", lost, lost, kept, kept)
	finish("third", 0)
	finish("third", 1)
	is("quiet", lost)
	is("loud", lost, lost, kept, kept)
	is("third", kept, kept)
	for i := 4; i < 20; i++ {
		finish("loud", i)
	}
	if _, err := a.Begin(ctx, "loud", "20", "d"); !errors.Is(err, bridge.ErrTooManyKeys) {
		t.Errorf("one key too many: %v", err)
	}
	if s, err := a.Begin(ctx, "loud", "0", "other"); s.Status != bridge.ReplyOtherBody || err != nil {
		t.Errorf("one of many that is there: %v, %v", s, err)
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	all, err := w.memory.Watch(watching, "k.")
	no(t, "watch", err)
	parts := 0
	for r := range all {
		if r.IsMark() {
			break
		}
		if strings.Count(r.Key, ".") > 1 {
			parts++
		}
	}
	if parts > 2*4 { // 2 of each of the replies that are left
		t.Errorf("%d parts are left", parts)
	}
}

// TestDay: what a caller has in use is free again after a day.
func TestDay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newWorld().options("A")
		o.MaxKeys = 2
		a := vault.NewReplies(o)
		for _, key := range []string{"1", "2"} {
			no(t, "finish", a.Finish(t.Context(), wants(t, "first", a, key, bridge.ReplyClaimed).Claim, nil))
		}
		if _, err := a.Begin(t.Context(), "agent", "3", "d"); !errors.Is(err, bridge.ErrTooManyKeys) {
			t.Errorf("one key too many: %v", err)
		}
		<-time.After(records.DayAge) // of the bubble
		wants(t, "after a day", a, "3", bridge.ReplyClaimed)
	})
}

// TestOnce: clients repeat keys at any node, while answers are lost and nodes end, or are only taken for
// dead and go on. No call runs twice, none runs that is said not to have run, and a reply comes from the
// call that ran. A node that forgets to note that a call begins shows calls that ran twice.
func TestOnce(t *testing.T) {
	t.Parallel()
	harm := 0
	for seed := range gatetest.Amount(uint64(12), 1000) {
		for _, careless := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				if got := once(t, seed, careless); got != 0 && !careless {
					t.Errorf("seed %d: %d keys were harmed", seed, got)
				} else {
					harm += got
				}
			})
		}
	}
	if harm == 0 {
		t.Error("a careless node harms nothing: the test shows nothing")
	}
}

func once(t *testing.T, seed uint64, careless bool) (harm int) {
	t.Helper()
	w := newWorld()
	var mu sync.Mutex
	r := rand.New(rand.NewPCG(seed, 1))
	roll := func(n int) int { mu.Lock(); defer mu.Unlock(); return r.IntN(n) }
	w.fails(func(string, recordstest.Op) recordstest.Fault {
		switch roll(30) {
		case 0:
			return recordstest.Fail
		case 1:
			return recordstest.Lose
		}
		return recordstest.None
	})
	const keys = 6
	var ran [keys]atomic.Int64
	var wrong atomic.Int64
	nodes := make([]atomic.Pointer[vault.Replies], 3)
	ids := make([]string, 3)
	born := func(i, n int) {
		ids[i] = fmt.Sprintf("NODE%d%03d", i, n)
		nodes[i].Store(w.node(ids[i]))
	}
	for i := range nodes {
		born(i, 0)
	}
	call := func(client int) {
		key := roll(keys)
		at := nodes[roll(3)].Load()
		s, err := at.Begin(t.Context(), "agent", fmt.Sprint(key), "d")
		if err != nil {
			return
		}
		switch s.Status {
		case bridge.ReplyFinished:
			if ran[key].Load() != 1 || !strings.HasPrefix(string(s.Reply), fmt.Sprint(key, " by ")) {
				wrong.Add(1)
			}
		case bridge.ReplyClaimed:
			pause(roll(40))
			if !careless {
				if err := at.Begun(t.Context(), s.Claim); err != nil || roll(10) == 0 {
					_ = at.Abandon(t.Context(), s.Claim)
					return
				}
			}
			ran[key].Add(1)
			pause(roll(40))
			_ = at.Finish(t.Context(), s.Claim, fmt.Appendf(nil, "%d by %d", key, client))
		case bridge.ReplyInFlight, bridge.ReplyUnknown, bridge.ReplyNodeLost, bridge.ReplyOtherBody:
		}
	}
	var all sync.WaitGroup
	for client := range 6 {
		all.Go(func() {
			for range 20 {
				call(client)
				pause(roll(20))
			}
		})
	}
	all.Go(func() {
		for n := range 8 {
			pause(roll(100))
			i := roll(3)
			w.kill(ids[i]) // its calls go on
			born(i, n+1)
		}
	})
	all.Wait()
	for key := range ran {
		if ran[key].Load() > 1 {
			wrong.Add(1)
		}
	}
	return int(wrong.Load())
}

func pause(ms int) { <-time.After(time.Duration(ms) * time.Millisecond) }

package session_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/sessiontest"
)

// shared runs a test in two worlds of one folder.
func shared(t *testing.T, test func(t *testing.T, f *bridgetest.Folder, one, two *world)) {
	t.Helper()
	f := &bridgetest.Folder{}
	inWorld(t, shop, func(o *session.Options, _ *sessiontest.Engine) { o.Homes = f.Process("ONE45672") }, func(t *testing.T, one *world) {
		engine := sessiontest.NewEngine()
		engine.Handle(address, shop)
		two := &world{t: t, engine: engine, began: time.Now()}
		two.Manager = session.New(session.Options{Engine: engine, MaxSessions: 4, Homes: f.Process("TWO45672"),
			Sites: []session.SiteOptions{site("shop", address)}})
		defer func() {
			if err := two.Close(); err != nil {
				t.Error(err)
			}
			if n := f.Open(); n != 0 && one.Counts() == (session.Counts{}) {
				t.Errorf("%d sessions are nobody's and not free", n)
			}
		}()
		_, _ = one.WaitOpened(t.Context()), two.WaitOpened(t.Context())
		test(t, f, one, two)
	})
}

// ofToken is a reference of the caller of a credential.
func ofToken(caller, session string) bridge.Ref {
	r := ref(session)
	r.Caller = bridge.Caller{Name: caller, Credential: "c-" + caller, May: []bridge.Right{bridge.MayCall}}
	return r
}

// TestSessionsOfTwoProcesses (N3): a session that a caller with a token named is one page for all
// processes of a folder. Others are each process's own.
func TestSessionsOfTwoProcesses(t *testing.T) {
	local := ref("s")
	for why, x := range map[string]struct {
		first, second bridge.Ref
		refused       bool
	}{
		"the same":                        {ofToken("agent", "s"), ofToken("agent", "s"), true},
		"a name of many bytes":            {ofToken("agent", "\x00'; s/%"), ofToken("agent", "\x00'; s/%"), true},
		"a new credential of its caller":  {ofToken("agent", "s"), func() bridge.Ref { r := ofToken("agent", "s"); r.Caller.Credential = "new"; return r }(), true},
		"for a call that only reads":      {ofToken("agent", "s"), func() bridge.Ref { r := ofToken("agent", "s"); r.Beside = true; return r }(), true},
		"another caller":                  {ofToken("agent", "s"), ofToken("other", "s"), false},
		"another name":                    {ofToken("agent", "s"), ofToken("agent", "S"), false},
		"no name":                         {ofToken("agent", ""), ofToken("agent", ""), false},
		"a client of MCP that names none": {ofToken("agent", bridge.Unnamed), ofToken("agent", bridge.Unnamed), false},
		"local":                           {local, local, false},
		"local, beside who has a token":   {ofToken("local", "s"), local, false},
	} {
		t.Run(why, func(t *testing.T) {
			shared(t, func(t *testing.T, f *bridgetest.Folder, one, two *world) {
				one.must(x.first, "where")
				_, err := two.call(t.Context(), x.second, "where", "{}")
				if !x.refused {
					if err != nil {
						t.Error(err)
					}
					return
				}
				e := fails(t, err, bridge.Conflict, bridge.Elsewhere, bridge.NotRun)
				if !errors.Is(e, bridge.ErrElsewhere) {
					t.Errorf("its cause is %v", e.Err)
				}
				if c := two.Counts(); c.Live != 0 {
					t.Errorf("there are %+v", c)
				}
				was := one.must(x.first, "where")
				if got := one.must(x.first, "where"); got != was {
					t.Error("it is another page now")
				}
			})
		})
	}
}

// TestSessionsAreFreed (N3): a session that ended in one process, however, opens in another.
func TestSessionsAreFreed(t *testing.T) {
	for why, end := range map[string]func(f *bridgetest.Folder, one *world, revoke func()){
		"idle":   func(*bridgetest.Folder, *world, func()) { <-time.After(61 * time.Second) },
		"killed": func(f *bridgetest.Folder, _ *world, _ func()) { f.Kill("ONE45672") },
		"its page died": func(_ *bridgetest.Folder, one *world, _ func()) {
			for _, tab := range one.engine.Tabs() {
				tab.Crash()
			}
		},
		"its credential was revoked": func(_ *bridgetest.Folder, one *world, revoke func()) { revoke(); one.Revoke() },
		"others need its place": func(_ *bridgetest.Folder, one *world, _ func()) {
			<-time.After(time.Second) // the oldest goes first
			for _, name := range []string{"a", "b", "c", "d"} {
				one.must(ofToken("agent", name), "where")
			}
		},
	} {
		t.Run(why, func(t *testing.T) {
			shared(t, func(t *testing.T, f *bridgetest.Folder, one, two *world) {
				r := ofToken("agent", "s")
				revoked := make(chan struct{})
				r.Caller.Revoked = revoked
				one.must(r, "where")
				_, err := two.call(t.Context(), ofToken("agent", "s"), "where", "{}")
				fails(t, err, bridge.Conflict, bridge.Elsewhere, bridge.NotRun)
				end(f, one, func() { close(revoked) })
				synctest.Wait()
				two.must(ofToken("agent", "s"), "where")
			})
		})
	}
}

// routed has every request reach the home of its session.
type routed struct{ *bridgetest.Process }

// Routed makes it so.
func (routed) Routed() bool { return true }

// TestEndsAreTold: where requests are routed to the home of their session, one that ended keeps its home until
// its caller was told there, once. Otherwise another process would begin it anew, and nobody were told.
func TestEndsAreTold(t *testing.T) {
	for why, end := range map[string]func(one *world){
		"idle": func(*world) { <-time.After(61 * time.Second) },
		"its page died": func(one *world) {
			for _, tab := range one.engine.Tabs() {
				tab.Crash()
			}
		},
		"others need its place": func(one *world) {
			<-time.After(time.Second) // the oldest goes first
			for _, name := range []string{"a", "b", "c", "d"} {
				one.must(ofToken("agent", name), "where")
			}
		},
	} {
		t.Run(why, func(t *testing.T) {
			f := &bridgetest.Folder{}
			inWorld(t, shop, func(o *session.Options, _ *sessiontest.Engine) { o.Homes = routed{f.Process("ONE45672")} }, func(t *testing.T, one *world) {
				two, r := f.Process("TWO45672"), ofToken("agent", "s")
				_ = one.WaitOpened(t.Context())
				one.must(r, "where")
				end(one)
				synctest.Wait()
				name := bridge.SessionName{Caller: "agent", Site: "shop", ID: "s"}
				if is, err := two.Elsewhere(t.Context(), name); !is || err != nil {
					t.Errorf("before its caller was told, another process may have it: %v, %v", is, err)
				}
				_, err := one.call(t.Context(), r, "where", "{}")
				fails(t, err, bridge.SessionExpired, "", bridge.NotRun)
				synctest.Wait()
				if is, err := two.Elsewhere(t.Context(), name); is || err != nil {
					t.Errorf("after that, no other process may have it: %v, %v", is, err)
				}
				one.must(r, "where")
			})
			if n := f.Open(); n != 0 {
				t.Errorf("%d sessions are nobody's and not free", n)
			}
		})
	}
}

// TestOneOpens: a session that opens is its process's own from its first moment; where the page
// cannot be opened, it is free again. Who waited for it at the other process is refused, each.
func TestOneOpens(t *testing.T) {
	shared(t, func(t *testing.T, f *bridgetest.Folder, one, two *world) {
		may := make(chan struct{})
		one.engine.Arrive(address, func(context.Context) error { <-may; return errors.New("it does not answer") })
		ended := make(chan error, 3)
		go func() { _, err := one.call(t.Context(), ofToken("agent", "s"), "where", "{}"); ended <- err }()
		synctest.Wait()
		for range 2 {
			go func() { _, err := two.call(t.Context(), ofToken("agent", "s"), "where", "{}"); ended <- err }()
		}
		for range 2 {
			fails(t, <-ended, bridge.Conflict, bridge.Elsewhere, bridge.NotRun)
		}
		close(may)
		if err := <-ended; err == nil {
			t.Error("it opened")
		}
		synctest.Wait()
		if n := f.Open(); n != 0 {
			t.Errorf("%d sessions are not free", n)
		}
		two.must(ofToken("agent", "s"), "where")
	})
}

// TestHomesAreRarelyAsked: calls without a name ask nothing of the store, and those of a session
// that is open neither.
func TestHomesAreRarelyAsked(t *testing.T) {
	shared(t, func(t *testing.T, f *bridgetest.Folder, one, _ *world) {
		for range 10 {
			one.must(ofToken("agent", ""), "where")
			one.must(ref("s"), "where")
		}
		if n := f.Calls(); n != 0 {
			t.Errorf("the store was asked %d times", n)
		}
		for range 10 {
			one.must(ofToken("agent", "s"), "where")
		}
		if n := f.Calls(); n != 1 {
			t.Errorf("one session asked %d times", n)
		}
	})
}

// TestNoStoreNoSession: where the store fails, no session opens that another process may have.
func TestNoStoreNoSession(t *testing.T) {
	inWorld(t, shop, func(o *session.Options, _ *sessiontest.Engine) {
		o.Homes = broken{(&bridgetest.Folder{}).Process("ONE45672")}
	}, func(t *testing.T, w *world) {
		_ = w.WaitOpened(t.Context())
		_, err := w.call(t.Context(), ofToken("agent", "s"), "where", "{}")
		fails(t, err, bridge.InternalError, bridge.Internal, bridge.NotRun)
		w.must(ofToken("agent", ""), "where")
	})
}

type broken struct{ bridge.Homes }

func (broken) Open(context.Context, bridge.SessionName) (int64, error) {
	return 0, errors.New("the disk is full")
}

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

// TestTakeover: the session of a node that was killed goes on in its page at another, whatever the node that
// was killed still does; when its last node ends it, the page is closed.
func TestTakeover(t *testing.T) {
	inCluster(t, func(t *testing.T, c *cluster, a *world) {
		b := c.start(t, "b", a.engine, nil)
		_, err := b.call(t.Context(), agents(), "count", "{}") // the control
		fails(t, err, bridge.Conflict, bridge.Elsewhere, bridge.NotRun)
		c.kill(a, "a")
		b.counts("3")
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		b.counts("4")
		<-time.After(20 * time.Minute) // it was not used
		_, err = b.call(t.Context(), agents(), "count", "{}")
		fails(t, err, bridge.SessionExpired, "", bridge.NotRun)
		b.counts("1")
	})
}

// held makes a node hold what it attaches to until the function is called with how that ends.
func held(b *world) (came <-chan struct{}, end func(error)) {
	begun, ended := make(chan struct{}, 10), make(chan struct{})
	var how error
	b.engine.OnOpen(func(ctx context.Context) error {
		begun <- struct{}{}
		select {
		case <-ended:
			return how
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	return begun, func(err error) { b.engine.OnOpen(nil); how = err; close(ended) }
}

// calling calls a tool in the background.
func (w *world) calling(ctx context.Context, r bridge.Ref, tool string) <-chan result {
	done := make(chan result, 1)
	go func() {
		got, err := w.call(ctx, r, tool, "{}")
		done <- result{got, err}
	}()
	return done
}

type result struct {
	got string
	err error
}

// TestTakeoverForNobody: a page that was attached to for a call that cannot have it goes on for others: those that
// wait for it, and later ones.
func TestTakeoverForNobody(t *testing.T) {
	for why, x := range map[string]struct {
		page   string // of the call for which it is attached to
		leaves bool
		code   bridge.Code
	}{
		"its caller left":            {leaves: true, code: bridge.Cancelled},
		"its caller wants another":   {page: `{"locale":"fr-FR"}`, code: bridge.ConfigError},
		"its caller wants that page": {page: `{"locale":"de-DE"}`},
	} {
		t.Run(why, func(t *testing.T) {
			inCluster(t, func(t *testing.T, c *cluster, a *world) {
				r := agents()
				r.Session, r.Page = "configured", `{"locale":"de-DE"}`
				a.must(r, "count")
				b := c.start(t, "b", a.engine, nil)
				c.kill(a, "a")
				began, end := held(b)
				opened := b.engine.Opened()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				first := r
				first.Page = x.page
				one := b.calling(ctx, first, "count")
				<-began
				second := r
				second.Page = ""
				two := b.calling(t.Context(), second, "count")
				synctest.Wait()
				if x.leaves {
					cancel()
				}
				synctest.Wait()
				end(nil)
				want := "3"
				if is := <-one; x.code == "" && is.err != nil {
					t.Error(is.err)
				} else if x.code != "" {
					fails(t, is.err, x.code, "", bridge.NotRun)
					want = "2"
				}
				if is := <-two; is.err != nil || is.got != want {
					t.Errorf("who waited got %s, %v", is.got, is.err)
				}
				b.must(r, "count")
				if n := b.engine.Opened() - opened; n != 1 {
					t.Errorf("it was attached to %d times", n)
				}
				b.counts("3") // the other session of the caller
			})
		})
	}
}

// TestTakeoverFails: where a page cannot be attached to it is closed, and of all who ask for the session one is told
// that it has ended; the others get a fresh page.
func TestTakeoverFails(t *testing.T) {
	for why, breaks := range map[string]func(c *cluster, b *world) (while, after func()){
		"the browser is gone": func(c *cluster, b *world) (func(), func()) {
			b.engine.Lose()
			return func() {}, func() {}
		},
		"half way": func(c *cluster, b *world) (func(), func()) {
			began, end := held(b)
			return func() { <-began; synctest.Wait() }, func() { end(errors.New("it broke")) }
		},
		"what was kept cannot be read": func(c *cluster, b *world) (func(), func()) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.all["agent s"].pages["shop"] = []byte(`{"tab":`)
			return func() {}, b.engine.Lose
		},
	} {
		t.Run(why, func(t *testing.T) {
			inCluster(t, func(t *testing.T, c *cluster, a *world) {
				b := c.start(t, "b", a.engine, nil)
				c.kill(a, "a")
				while, after := breaks(c, b)
				var all []<-chan result
				for range 3 {
					all = append(all, b.calling(t.Context(), agents(), "count"))
				}
				while()
				after()
				told := 0
				for _, ends := range all {
					if is := <-ends; is.err != nil {
						fails(t, is.err, bridge.SessionExpired, "", bridge.NotRun)
						told++
					}
				}
				if told != 1 {
					t.Errorf("%d were told that it ended", told)
				}
				b.counts("3")
			})
		})
	}
}

// TestTakeoverNotKept: a page that was attached to and cannot be kept is left as it is: it goes on later, or with the
// node that has it by then.
func TestTakeoverNotKept(t *testing.T) {
	inCluster(t, func(t *testing.T, c *cluster, a *world) {
		b, d := c.start(t, "b", a.engine, nil), c.start(t, "d", a.engine, nil)
		c.kill(a, "a")
		c.breaks(errors.New("the records are gone"))
		for range 2 {
			_, err := b.call(t.Context(), agents(), "count", "{}")
			fails(t, err, bridge.InternalError, bridge.Internal, bridge.NotRun)
		}
		c.breaks(nil)
		b.counts("3")

		c.kill(b, "b")
		began, end := held(d)
		late := d.calling(t.Context(), agents(), "count")
		<-began
		c.lose("d")
		e := c.start(t, "e", a.engine, nil)
		e.counts("4")
		end(nil)
		fails(t, (<-late).err, bridge.InternalError, bridge.NoQuorum, bridge.NotRun)
		e.counts("5")
	})
}

// TestTakeoverRace: of nodes that ask for a session at once one goes on with it; the others say who has it.
func TestTakeoverRace(t *testing.T) {
	inCluster(t, func(t *testing.T, c *cluster, a *world) {
		nodes := []*world{c.start(t, "b", a.engine, nil), c.start(t, "d", a.engine, nil)}
		c.kill(a, "a")
		won := 0
		for _, is := range []<-chan result{nodes[0].calling(t.Context(), agents(), "count"), nodes[1].calling(t.Context(), agents(), "count")} {
			switch is := <-is; {
			case is.err != nil:
				fails(t, is.err, bridge.Conflict, bridge.Elsewhere, bridge.NotRun)
			case is.got != "3":
				t.Errorf("it counts %s", is.got)
			default:
				won++
			}
		}
		if won != 1 {
			t.Errorf("%d nodes have it", won)
		}
	})
}

// seen is an engine whose tabs can be seen.
type seen struct{ *sessiontest.Engine }

type seenTab struct {
	*sessiontest.Tab
	view *bridgetest.View
}

func (seenTab) Screenshot(context.Context) ([]byte, error)  { return []byte("a picture"), nil }
func (t seenTab) View(context.Context) (bridge.View, error) { return t.view, nil }

func (e seen) Open(ctx context.Context, o session.TabOptions) (session.Tab, error) {
	t, err := e.Engine.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	return seenTab{t.(*sessiontest.Tab), bridgetest.NewView()}, nil
}

// TestLostPage: a node that has lost a session navigates its page no more, and neither shows it nor acts in it; it asks
// nobody about that.
func TestLostPage(t *testing.T) {
	inCluster(t, func(t *testing.T, c *cluster, a *world) {
		b := c.start(t, "b", a.engine, func(o *session.Options) { o.Engine = seen{o.Engine.(*sessiontest.Engine)} })
		r := ofToken("agent", "seen")
		b.must(r, "count")
		source, err := b.Acquire(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		defer source.Release()
		page := source.(bridge.Page)
		view, err := page.View(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer view.Close()
		b.calls(t, page, view, func(what string, err error) { // the control
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
		})
		c.kill(a, "a")
		c.lose("b")
		document := b.shown()
		b.calls(t, page, view, func(what string, err error) {
			if e := fails(t, err, bridge.InternalError, bridge.NoQuorum, bridge.NotRun); e.Retry == 0 {
				t.Errorf("%s: it does not say when to ask again", what)
			}
		})
		if b.shown() != document {
			t.Error("it navigated")
		}
		c.node("b") // so that its page is closed
		c.start(t, "d", b.engine, nil).counts("3")
	})
}

// shown lists the documents of the tabs of the world.
func (w *world) shown() (ids string) {
	for _, tab := range w.engine.Tabs() {
		ids += tab.Document().ID() + " "
	}
	return ids
}

// calls does all that is not a call of a tool with a page.
func (w *world) calls(t *testing.T, page bridge.Page, view bridge.View, is func(what string, err error)) {
	t.Helper()
	is("open", page.(bridge.Opener).Open(t.Context(), `{"path":"/"}`))
	_, err := page.Screenshot(t.Context())
	is("a screenshot", err)
	is("input", view.Act(t.Context(), bridge.Input{Type: bridge.Reload}))
	_, err = view.Text(t.Context())
	is("text", err)
	all := session.SessionsOf(w.Manager)
	another, err := page.View(t.Context())
	is("a view", err)
	if err == nil {
		another.Close()
	}
	for _, s := range all.All() {
		if s.Session != "seen" {
			continue
		}
		_, err = all.PictureOne(t.Context(), s.ID)
		is("an operator's picture", err)
		another, err = all.ViewOne(t.Context(), s.ID)
		is("an operator's view", err)
		if err == nil {
			another.Close()
		}
	}
}

// TestTakeoverWaits: a node that has no room takes no session over: it waits for a page as any other, and
// goes on with it later.
func TestTakeoverWaits(t *testing.T) {
	inCluster(t, func(t *testing.T, c *cluster, a *world) {
		b := c.start(t, "b", a.engine, func(o *session.Options) { o.MaxSessions = 1 })
		c.kill(a, "a")
		busy := b.calling(t.Context(), ofToken("agent", ""), "slow")
		synctest.Wait()
		r := agents()
		r.Patience = time.Millisecond
		_, err := b.call(t.Context(), r, "count", "{}")
		fails(t, err, bridge.InternalError, bridge.Overload, bridge.NotRun)
		b.counts("3")
		if is := <-busy; is.err != nil {
			t.Error(is.err)
		}
	})
}

// TestTakeoverOfSites: the pages of a session on two sites go on, whichever is asked for first, and both at once.
func TestTakeoverOfSites(t *testing.T) {
	inCluster(t, func(t *testing.T, c *cluster, a *world) {
		mail := agents()
		mail.Site = "mail"
		a.must(mail, "count")
		b := c.start(t, "b", a.engine, nil)
		c.kill(a, "a")
		began, end := held(b)
		shop := b.calling(t.Context(), agents(), "count")
		<-began
		other := b.calling(t.Context(), mail, "count")
		<-began
		end(nil)
		for _, x := range []struct {
			is   <-chan result
			want string
		}{{shop, "3"}, {other, "2"}} {
			if is := <-x.is; is.err != nil || is.got != x.want {
				t.Errorf("got %s, %v, want %s", is.got, is.err, x.want)
			}
		}
	})
}

// TestTakeoverWhileEnding: a node that ends in order while it attaches to a page leaves it to the next one; one
// that closes at once has it told that the session has ended.
func TestTakeoverWhileEnding(t *testing.T) {
	for why, x := range map[string]struct {
		end  func(b *world, attached func(error))
		lost bool
	}{
		"in order": {func(b *world, attached func(error)) {
			drained := make(chan struct{})
			go func() { b.Drain(b.t.Context()); close(drained) }()
			synctest.Wait()
			session.SessionsOf(b.Manager).Leave()
			attached(nil)
			<-drained
		}, false},
		"at once": {func(*world, func(error)) {}, true},
	} {
		t.Run(why, func(t *testing.T) {
			inCluster(t, func(t *testing.T, c *cluster, a *world) {
				b := c.start(t, "b", a.engine, nil)
				c.kill(a, "a")
				began, attached := held(b)
				late := b.calling(t.Context(), agents(), "count")
				<-began
				x.end(b, attached)
				if err := b.Close(); err != nil {
					t.Error(err)
				}
				want := "3"
				switch is := <-late; {
				case x.lost:
					fails(t, is.err, bridge.InternalError, bridge.Draining, bridge.NotRun)
				case is.err != nil:
					t.Error(is.err)
				default:
					want = "4"
				}
				d := c.start(t, "d", a.engine, nil)
				if x.lost {
					want = "1"
				}
				d.counts(want)
			})
		})
	}
}

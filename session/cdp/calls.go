package cdp

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto/runtime"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp/wire"
	"github.com/pagetools/pagetools/shim"
)

// times limits how long things may take. Tests shorten them.
type times struct {
	// A page that said nothing for silence is asked whether it lives before a
	// call is dispatched to it, so that a call to a hung page is known not to
	// have run. It gets pulse to answer.
	silence, pulse time.Duration
	// A browser is asked every pingEvery, and taken for frozen when it does not
	// answer within pingPatience.
	pingEvery, pingPatience time.Duration
	// A page waits for a place in a full browser for at most place: another one may be on its way out.
	place time.Duration
}

var usualTimes = times{silence: 2 * time.Second, pulse: 5 * time.Second, pingEvery: 5 * time.Second,
	pingPatience: 10 * time.Second, place: 5 * time.Second}

// Steps after a deadline, all within a second: the call is aborted; a page that
// does not react is interrupted; one that still does not is closed.
const (
	abortPatience     = 300 * time.Millisecond
	terminatePatience = 400 * time.Millisecond
)

// callIDs are the ids of a document's calls, each random. One is used again when
// the page answered its call: then an equal call is the same text, which the
// browser has compiled already. The id of a call that was given up is not, so
// that a late abort meets nobody else's.
type callIDs struct {
	mu   sync.Mutex
	free []string
}

func (c *callIDs) take() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.free); n > 0 {
		id := c.free[n-1]
		c.free = c.free[:n-1]
		return id
	}
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

func (c *callIDs) put(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.free = append(c.free, id)
}

// calls holds the calls of a tab, in the order of their dispatch. It is safe for
// concurrent use.
type calls struct {
	name        string // of the page script
	times       times
	tasks       tasks
	watcher     *watcher     // the owner's
	traffic     *traffic     // the owner's
	submissions *submissions // the owner's
	closing     atomic.Bool  // we close the page
	owner       session.Owner

	mu    sync.Mutex
	list  []*call
	count int // those that have not ended, with those that are given up
	// leaving are replies to aborts: each comes when the page has closed what it was at work with.
	leaving []<-chan wire.Reply
}

// leaves takes the reply to an abort.
func (cs *calls) leaves(aborted <-chan wire.Reply) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.leaving = append(cs.unread(), aborted)
}

// unread returns the replies that have not come. Called with cs.mu held.
func (cs *calls) unread() []<-chan wire.Reply {
	return slices.DeleteFunc(cs.leaving, func(ch <-chan wire.Reply) bool {
		select {
		case <-ch:
			return true
		default:
			return false
		}
	})
}

// atWork reports whether the page runs calls, or closes what they were at work with.
func (cs *calls) atWork() bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.leaving = cs.unread()
	return cs.count > 0 || len(cs.leaving) > 0
}

// closePatience limits how long a page may take to close the iterators of calls that are over,
// which its script gives a second each, before it is left.
const closePatience = 1200 * time.Millisecond

// left waits until the page has closed what the aborted calls were at work with, for closePatience
// at most.
func (cs *calls) left(ctx context.Context) {
	cs.mu.Lock()
	all := cs.leaving
	cs.leaving = nil
	cs.mu.Unlock()
	bounded, cancel := context.WithTimeout(ctx, closePatience)
	defer cancel()
	for _, ch := range all {
		select {
		case <-ch:
		case <-bounded.Done():
			return
		}
	}
}

func (cs *calls) begin(d *document, inv *session.Invocation) *call {
	c := &call{of: cs, doc: d, id: d.ids.take(), caller: inv.Caller, maxBytes: inv.MaxBytes,
		progress: inv.Progress, dialogs: make(chan *dialog, 1)}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.count++
	cs.list = append(cs.list, c)
	return c
}

func (cs *calls) inFlight() int {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	return cs.count
}

// cancel ends the calls that the page script does not know.
func (cs *calls) cancel(ctx context.Context) {
	cs.mu.Lock()
	all := slices.Clone(cs.list)
	cs.mu.Unlock()
	for _, c := range all {
		if cancel := c.cancel.Load(); cancel != nil {
			(*cancel)(ctx)
		}
	}
}

// placed takes the text of a dialog by which the page script says where a call is. It reports
// whether it is one of a call here.
func (cs *calls) placed(message string) bool {
	id, place, ok := shim.Placed(message)
	if !ok {
		return false
	}
	cs.mu.Lock()
	defer cs.mu.Unlock()
	known := false
	for _, c := range cs.list {
		switch {
		case c.id == id:
			c.place, known = place, true
		case place == shim.Inside && c.place == shim.Inside:
			c.place = shim.Nowhere
		}
	}
	return known
}

// opener returns the calls among which a dialog is: the one whose code runs, if it is known.
// Otherwise those that wait for a person in an interaction, where all are of one caller; or all.
func opener(all []*call) (some []*call, certain bool) {
	var asking []*call
	for _, c := range all {
		switch {
		case c.place == shim.Inside:
			return []*call{c}, true
		case c.caller != all[0].caller:
			asking = all
		case c.place == shim.Waiting && len(asking) < len(all):
			asking = append(asking, c)
		}
	}
	if len(asking) == 0 {
		asking = all
	}
	return asking, len(all) == 1
}

// hand passes a dialog to the calls that it may be of: those that were dispatched to the
// documents of its target, or else all of the page. The browser does not say which of
// them opened it, and none of them goes on while it is open; the page script may. It
// reports whether there is one.
func (cs *calls) hand(d *dialog) bool {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	to := slices.DeleteFunc(slices.Clone(cs.list), func(c *call) bool { return c.doc.target != d.target })
	if len(to) == 0 {
		to = slices.Clone(cs.list)
	}
	to = slices.DeleteFunc(to, func(c *call) bool { return len(c.dialogs) > 0 }) // only we send there
	n := len(to)
	to, certain := opener(to)
	if !certain && n > 1 {
		d.among = n
	}
	d.waiting.Store(int32(len(to)))
	for _, c := range to {
		d.foreign = d.foreign || c.caller != to[0].caller
	}
	for _, c := range to {
		c.dialogs <- d
	}
	return len(to) > 0
}

// owns reports whether the page is still this process's: where it is not, its scripts are left alone.
func (cs *calls) owns() bool { return cs.owner.Holds == nil || cs.owner.Holds() }

// pulse asks a page that was silent, or that never had a call, whether it lives.
func (cs *calls) pulse(ctx context.Context, d *document) *bridge.Error {
	if d.target.Lively(cs.times.silence) {
		return nil
	}
	bounded, cancel := awake(ctx, cs.times.pulse)
	defer cancel()
	err := react(bounded, d.target)
	switch {
	case err == nil:
		return nil
	case d.target.Reason() != nil:
		return d.lost(bridge.NotRun)
	case ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded):
		return session.Stopped(ctx, bridge.NotRun)
	case bounded.Err() != nil:
		if ctx.Err() == nil && cs.inFlight() == 0 && cs.owns() { // else another call may be at work, and has its own deadline
			revive(d.target)
		}
		return bridge.Errorf(bridge.InternalError, bridge.PageHung, bridge.NotRun,
			"The page does not react. The call did not reach it.")
	}
	return nil // between documents: the dispatch will tell
}

// awake returns a context that ends after a time, of which a tenth at most is one in which this process stood
// still, as in a container that is paused or a machine that moves: what could not answer then is not hung.
func awake(ctx context.Context, within time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		tick := time.NewTicker(within / 10) // it drops what nobody received
		defer tick.Stop()
		for range 10 {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, cancel
}

// nothing is an expression that a page answers as soon as it can.
var nothing = runtime.EvaluateParams{Expression: `""`, ReturnByValue: new(true), Silent: new(true)}

// react waits until a target ran an empty expression.
func react(ctx context.Context, in *wire.Session) error {
	return in.Call(ctx, runtime.CommandEvaluate, nothing, nil)
}

// revive interrupts what runs in a target, and closes the page when that does not
// help.
func revive(in *wire.Session) {
	bounded, cancel := context.WithTimeout(context.Background(), terminatePatience)
	defer cancel()
	if err := in.Call(bounded, runtime.CommandTerminateExecution, nil, nil); err == nil {
		if err := react(bounded, in); err == nil {
			return
		}
	}
	if in.Reason() == nil {
		in.Page().Fail(errKilled)
	}
}

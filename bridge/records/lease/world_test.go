package lease_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pagetools/pagetools/bridge/records"
	"github.com/pagetools/pagetools/bridge/records/directory"
	"github.com/pagetools/pagetools/bridge/records/lease"
	"github.com/pagetools/pagetools/bridge/records/recordstest"
	"github.com/pagetools/pagetools/bridge/records/ticket"
)

// rules say what of the design holds in a run of the model. The zero value has all of it.
type rules struct {
	// gap lets a process be stopped between its last look at the lease and the dispatch, where only the
	// page's own epoch helps.
	gap bool
	// The controls: without these the harm must show.
	repeats bool // a call that does not answer in time is repeated elsewhere
	silence bool // a node that was not heard of for a lease counts as dead
}

// world is three nodes, the pages of their sessions, and the calls of their clients.
type world struct {
	rules

	memory  *records.Memory
	now     time.Duration
	draw    func(n int) int // from 0 to n-1
	nodes   []*process
	actors  []*actor
	running *actor
	pages   map[string]*page
	ran     map[string]int // effects by call
	ended   map[string]string
	calls   int
	wrong   []string
	counts  map[string]int
}

// page is a page that outlives the processes that drive it.
type page struct {
	highest int64
	epochs  []int64 // of its effects
}

// process is a run of a node.
type process struct {
	w         *world
	name      string
	node      *lease.Node // nil until it joined
	directory *directory.Directory
	sessions  map[string]held
	frozen    bool
	cut       bool // from the engine
	killed    bool
	wall      time.Duration
	heard     map[string]time.Duration // when each life was heard of
	revisions map[string]uint64
	renewer   *actor
	ids       []string
}

type held struct {
	life  *lease.Life
	epoch int64
}

// request is a call that was passed on.
type request struct{ reply string }

const (
	modelSpan = lease.MinLease
	patient   = 15 * modelSpan // how long a caller waits
)

func (p *process) clocks() lease.Instant {
	return lease.Instant{Mono: p.w.now, Boot: p.w.now, Wall: p.w.now + p.wall}
}

// start begins a process, after one that has ended.
func (w *world) start(name string, before *process) *process {
	p := &process{w: w, name: name, sessions: map[string]held{}, heard: map[string]time.Duration{}, revisions: map[string]uint64{}}
	r := gated{w, p}
	p.directory = directory.New(directory.Options{Records: r, Sealer: open{}, Dead: p.isDead})
	o := lease.Options{
		Records: r, Lease: modelSpan, Clocks: p.clocks, About: func() lease.Facts { return lease.Facts{Node: name} },
		Reborn: func(*lease.Life) { clear(p.sessions) },
	}
	if before != nil {
		o.Earlier = before.ids
	}
	p.renewer = w.act(p, func(a *actor) {
		node, err := lease.Join(context.Background(), o)
		if err != nil {
			panic(err)
		}
		p.node = node
		for {
			p.ids = append(p.ids, node.Life().ID)
			a.gate()
			node.RenewStep(context.Background())
		}
	})
	w.act(p, func(a *actor) {
		for {
			if a.gate(); p.node != nil {
				p.look()
			}
		}
	})
	return p
}

func (w *world) act(p *process, do func(a *actor)) *actor {
	a := begin(p, do)
	w.actors = append(w.actors, a)
	return a
}

// look shows the process the lives that there are, and lets it judge them.
func (p *process) look() {
	ctx, stop := context.WithCancel(context.Background())
	all, err := p.w.memory.Watch(ctx, "n.")
	if err != nil {
		panic(err)
	}
	for r := range all {
		if r.IsMark() {
			break
		}
		if p.revisions[r.Key] != r.Revision {
			p.revisions[r.Key], p.heard[r.Key] = r.Revision, p.w.now
		}
		p.node.SeeStep(r)
	}
	stop()
	p.node.JudgeStep(context.Background())
}

func (p *process) isDead(ctx context.Context, id string) (bool, error) {
	if p.w.silence {
		at, ok := p.heard["n."+id]
		return ok && p.w.now-at > modelSpan, nil
	}
	s, err := p.node.Ask(ctx, id)
	return s == lease.Dead, err
}

// call is a caller's call, which reaches a process.
func (w *world) call(p *process, id, session string) {
	w.act(p, func(a *actor) {
		outcome := p.serve(a, id, session)
		w.ended[id] = outcome
		w.counts[outcome]++
	}).caller = true
}

// serve finds the home of a session, and runs the call there.
func (p *process) serve(a *actor, id, session string) (outcome string) {
	until := p.w.now + patient
	for attempt := 1; p.w.now < until; attempt++ {
		a.gate()
		c := ticket.Call{ID: id, Attempt: attempt}
		home, epoch, err := p.home(session)
		switch {
		case err != nil:
			p.directory.Forget(session)
			continue
		case home == p.node.Life().ID:
			switch reply := p.run(a, c, session, epoch, false); reply {
			case "421":
				p.directory.Forget(session)
				continue
			default:
				return reply
			}
		}
		again, outcome := p.pass(a, c, session, home, epoch, until)
		if !again {
			return outcome
		}
		p.directory.Forget(session)
	}
	return "not run"
}

// home returns where a session is, after it was opened or taken over.
func (p *process) home(session string) (home string, epoch int64, err error) {
	ctx, life := context.Background(), p.node.Life()
	home, epoch, err = p.directory.Home(ctx, session)
	if errors.Is(err, records.ErrNone) && life.Holds() {
		e, err := p.directory.Open(ctx, session, life.ID, []byte("page"))
		if err != nil {
			return "", 0, err
		}
		p.own(life, session, e.Epoch)
		return life.ID, e.Epoch, nil
	}
	if err != nil || home == life.ID {
		return home, epoch, err
	}
	switch dead, err := p.isDead(ctx, home); {
	case err != nil:
		return "", 0, err
	case !dead:
		return home, epoch, nil
	}
	e, err := p.directory.Find(ctx, session)
	if err != nil {
		return "", 0, err
	}
	if e.Home == life.ID {
		return e.Home, e.Epoch, nil
	}
	e, err = p.directory.Take(ctx, e, life.ID)
	if err != nil {
		return "", 0, err
	}
	p.w.counts["taken over"]++
	p.own(life, session, e.Epoch)
	return life.ID, e.Epoch, nil
}

// own attaches the process to a session's page.
func (p *process) own(life *lease.Life, session string, epoch int64) {
	pg := p.w.pages[session]
	if pg == nil {
		pg = &page{}
		p.w.pages[session] = pg
	}
	if p.node.Life() == life {
		p.sessions[session] = held{life, epoch}
	}
	pg.highest = max(pg.highest, epoch)
}

// pass passes a call on to its home, and says whether to try again.
func (p *process) pass(a *actor, c ticket.Call, session, home string, epoch int64, until time.Duration) (again bool, outcome string) {
	w, sent := p.w, p.clocks()
	req := &request{}
	for _, other := range w.nodes {
		if other.node == nil || other.killed || other == p {
			continue
		}
		if other.node.Life().ID == home {
			w.act(other, func(b *actor) { req.reply = other.run(b, c, session, epoch, true) })
		} else if slices.Contains(other.ids, home) {
			req.reply = "421" // another life of that node answers
		}
	}
	began := w.now
	for w.now < until && req.reply == "" {
		if dead, _ := p.isDead(context.Background(), home); dead {
			break
		}
		if w.repeats && w.now-began > modelSpan/2 {
			w.effect(c.ID, session+" elsewhere", 1)
			return false, "ok"
		}
		a.gate()
	}
	switch req.reply {
	case "":
	case "421":
		return true, ""
	default:
		return false, req.reply
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	notRun, _ := ticket.Void(ctx, gated{w, p}, p.node.Life().ID, c, sent, p.clocks)
	w.counts["void"]++
	if notRun {
		w.counts["void, not run"]++
		return true, ""
	}
	return false, "unknown"
}

// run runs a call at its home.
func (p *process) run(a *actor, c ticket.Call, session string, epoch int64, passed bool) (reply string) {
	if _, ok := p.sessions[session]; !ok { // it won the session, and was not told
		life := p.node.Life()
		e, err := p.directory.Find(context.Background(), session)
		if err != nil || e.Home != life.ID || !life.Holds() {
			return "421"
		}
		p.own(life, session, e.Epoch)
	}
	has, ok := p.sessions[session]
	if !ok || has.epoch != epoch {
		return "421"
	}
	if passed {
		switch err := ticket.Begin(context.Background(), gated{p.w, p}, has.life, c); {
		case errors.Is(err, ticket.ErrBegun):
			return "unknown"
		case err != nil:
			return "421"
		}
	}
	a.gate()
	if !has.life.Holds() {
		return "421"
	}
	if p.w.gap {
		a.gate()
		if epoch < p.w.pages[session].highest {
			p.w.counts["gone"]++
			return "421" // the page says that it belongs to another one, before anything runs
		}
	}
	p.w.effect(c.ID, session, epoch)
	a.gate() // the answer is on its way
	return "ok"
}

func (w *world) effect(call, session string, epoch int64) {
	if w.pages[session] == nil {
		w.pages[session] = &page{}
	}
	w.ran[call]++
	w.pages[session].epochs = append(w.pages[session].epochs, epoch)
}

// open seals nothing.
type open struct{}

func (open) Seal(_, _ string, value []byte) []byte           { return value }
func (open) Open(_, _ string, sealed []byte) ([]byte, error) { return sealed, nil }

// check notes what must not be, when all has come to its end.
func (w *world) check() {
	for call, n := range w.ran {
		if n > 1 {
			w.wrong = append(w.wrong, fmt.Sprintf("call %s had %d effects", call, n))
		}
	}
	for call, outcome := range w.ended {
		if n := w.ran[call]; outcome == "not run" && n > 0 || outcome == "ok" && n == 0 {
			w.wrong = append(w.wrong, fmt.Sprintf("call %s is %s, and had %d effects", call, outcome, n))
		}
	}
	for session, p := range w.pages {
		if !slices.IsSorted(p.epochs) {
			w.wrong = append(w.wrong, fmt.Sprintf("an older epoch after a newer one in %s: %v", session, p.epochs))
		}
	}
	slices.Sort(w.wrong)
}

// faultOf draws what becomes of the next operation.
func (w *world) faultOf() recordstest.Fault {
	switch w.draw(16) {
	case 0:
		return recordstest.Fail
	case 1:
		return recordstest.Lose
	default:
		return recordstest.None
	}
}

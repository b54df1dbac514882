package bridge

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge/policy"
)

const (
	// maxRuns bounds the calls that wait for a person or whose outcome is kept,
	// and maxOfCaller those of one caller: a caller that asks without end tires people.
	maxRuns, maxOfCaller = 10_000, 2000
	// keepFor sets how long the outcome of a run is kept for its token, and how
	// long it is known who answered.
	keepFor = 15 * time.Minute
	// keyAge sets how long a key is remembered.
	keyAge = 24 * time.Hour
	// maxKeys bounds the keys that one caller has in use, and maxAllKeys those of all. A key is
	// never forgotten early: its call would run again.
	maxKeys, maxAllKeys = 10_000, 100_000
	// maxAnswered bounds the questions of which it is known who answered.
	maxAnswered = 10_000
)

// handle is a way to find a call again.
type handle struct {
	by handleKind
	// caller is set where the name is not a secret of its own.
	caller, name string
}

type handleKind byte

const (
	byToken    handleKind = iota // to resume it, from when it stopped first, or was detached
	byQuestion                   // to answer it, while it asks
	byKey                        // its caller's own name for it
	byDigest                     // an equal call of its caller, for Call.Again
)

// registry holds every call from its first moment until nobody can ask for it any
// more. It is safe for concurrent use. Its lock is taken while that of a Run is
// held, never the other way round.
type registry struct {
	mu       sync.Mutex
	all      map[*Run]struct{}
	found    [byDigest + 1]map[handle]*Run // by kind
	stopped  map[string]int                // calls with a token, by caller
	keys     map[string]*callerKeys
	mostKeys int                // of all callers
	answered map[string]closing // how a question was closed
	order    []string           // of those, the oldest first
	// accounts count what callers make us hold: calls that wait and outcomes that are kept.
	accounts *policy.Accounts
	numbers  int64
	closed   bool
}

// callerKeys are the keys that one caller has in use.
type callerKeys struct {
	n     int
	until []time.Time // when those go whose calls ended, the first one first
}

func newRegistry(most int64, above *policy.Account) registry {
	return registry{
		accounts: policy.NewAccounts(most, above), all: map[*Run]struct{}{}, found: [byDigest + 1]map[handle]*Run{{}, {}, {}, {}},
		stopped: map[string]int{}, keys: map[string]*callerKeys{}, mostKeys: maxAllKeys, answered: map[string]closing{},
	}
}

func (g *registry) add(r *Run) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.numbers++
	r.number = g.numbers
	g.all[r] = struct{}{}
}

func (g *registry) find(h handle) *Run {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.found[h.by][h]
}

// name makes a call known under a name. Another one under that name loses it.
func (g *registry) name(r *Run, h handle) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.nameIt(r, h)
}

func (g *registry) nameIt(r *Run, h handle) {
	if before := g.found[h.by][h]; before == r {
		return
	} else if before != nil {
		g.dropIt(h, before)
	}
	g.found[h.by][h] = r
	r.names = append(r.names, h)
	g.count(h, r, 1)
}

func (g *registry) drop(h handle, r *Run) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.dropIt(h, r)
}

func (g *registry) dropIt(h handle, r *Run) {
	if g.found[h.by][h] != r {
		return
	}
	delete(g.found[h.by], h)
	r.names = slices.DeleteFunc(r.names, func(n handle) bool { return n == h })
	g.count(h, r, -1)
	if h.by == byToken {
		g.forgetAgain(r)
		if r.forget != nil {
			r.forget.Stop()
		}
		if r.keyGoes {
			g.dropIt(keyHandle(r), r)
		}
	}
	if len(r.names) == 0 && r.over {
		g.forgetRun(r)
	}
}

// forgetRun forgets a call that has no name any more.
func (g *registry) forgetRun(r *Run) {
	delete(g.all, r)
	if r.held > 0 {
		g.charge(r, -r.held)
		r.held = 0
	}
}

// slim drops the arguments of a call that is over. The digest that a token's next request is
// compared with stays.
func (g *registry) slim(r *Run) {
	r.mu.Lock()
	n := r.pass.call.Input.Bytes()
	if r.token != "" {
		r.arguments = digestOf(r.pass.call.Input.Canonical())
	}
	r.pass.call.Input, r.pass.input = Value{}, Value{}
	r.pass.consent = r.pass.consent.slim()
	r.mu.Unlock()
	g.mu.Lock()
	defer g.mu.Unlock()
	n = min(n, r.held)
	g.charge(r, -n)
	r.held -= n
}

// charge counts bytes for the caller of a call; see policy.Accounts.
func (g *registry) charge(r *Run, n int64) bool {
	return g.accounts.Charge(r.pass.call.Caller.Name, n)
}

// hold counts bytes that are kept for a call, and reports false when they are too many.
func (g *registry) hold(r *Run, n int64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.holdIt(r, n)
}

func (g *registry) holdIt(r *Run, n int64) bool {
	if !g.charge(r, n) {
		return false
	}
	r.held += n
	return true
}

// count keeps the counters of what is bounded.
func (g *registry) count(h handle, r *Run, n int) {
	caller := r.pass.call.Caller.Name
	switch h.by {
	case byToken:
		if g.stopped[caller] += n; g.stopped[caller] == 0 {
			delete(g.stopped, caller)
		}
	case byKey:
		if g.keys[caller] == nil {
			g.keys[caller] = &callerKeys{}
		}
		if g.keys[caller].n += n; g.keys[caller].n == 0 {
			delete(g.keys, caller)
		}
	case byQuestion, byDigest:
	}
}

func keyHandle(r *Run) handle {
	return handle{by: byKey, caller: r.pass.call.Caller.Name, name: r.pass.call.Key}
}

// claim makes a call the one of its key, or returns the one that is there.
func (g *registry) claim(r *Run) (known *Run, e *Error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	h := keyHandle(r)
	known = g.found[byKey][h]
	mine := g.keys[h.caller]
	switch {
	case known != nil:
	case mine != nil && mine.n >= maxKeys, len(g.found[byKey]) >= g.mostKeys:
		e = tooManyKeys()
		if mine != nil && len(mine.until) > 0 {
			e.Retry = max(time.Second, mine.until[0].Sub(r.pass.bridge.pipe.now()))
		}
	default:
		g.nameIt(r, h)
		return nil, nil
	}
	g.forgetRun(r)
	return known, e
}

// keepKey keeps the outcome of a call for its key.
func (g *registry) keepKey(r *Run) {
	g.mu.Lock()
	defer g.mu.Unlock()
	h := keyHandle(r)
	mine := g.keys[h.caller]
	mine.until = append(mine.until, r.pass.bridge.pipe.now().Add(keyAge))
	time.AfterFunc(keyAge, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		mine.until = mine.until[1:]
		g.dropIt(h, r)
	})
}

// freeKey forgets the key of a call that is over: at once, or with its token.
func (g *registry) freeKey(r *Run, withToken bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if withToken && slices.ContainsFunc(r.names, func(h handle) bool { return h.by == byToken }) {
		r.keyGoes = true
		return
	}
	g.dropIt(keyHandle(r), r)
}

// remove forgets a call under all of its names.
func (g *registry) remove(r *Run) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r.over = true
	for _, h := range slices.Clone(r.names) {
		g.dropIt(h, r)
	}
	g.forgetRun(r)
}

// keep makes a call that stopped, or that is detached, known under its token, unless its caller or
// all of them have too many such calls: then it says when there is room.
func (g *registry) keep(r *Run, token string, expires time.Time, stopped bool) *Error {
	var again handle // made outside of the lock: arguments can be long
	if r.pass.call.Again && stopped {
		again = againHandle(&r.pass.call)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	caller, h := r.pass.call.Caller.Name, handle{by: byToken, name: token}
	switch {
	case g.found[byToken][h] == r:
	case r.pass.call.Caller.IsRevoked():
		return Revoked()
	case g.closed:
		e := draining()
		e.Outcome = NotRun
		return e
	case g.stopped[caller] >= maxOfCaller:
		return g.full(r.pass.bridge.pipe.now(),
			func(o *Run) bool { return o.pass.call.Caller.Name == caller })
	case len(g.found[byToken]) >= maxRuns:
		return g.full(r.pass.bridge.pipe.now(), func(*Run) bool { return true })
	case !g.holdIt(r, r.bytes()):
		return g.full(r.pass.bridge.pipe.now(),
			func(o *Run) bool { return o.pass.call.Caller.Name == caller })
	}
	r.until = expires.Add(keepFor)
	g.nameIt(r, h)
	if again.name != "" {
		g.nameIt(r, again)
	}
	return nil
}

func againHandle(c *Call) handle {
	return handle{by: byDigest, caller: c.Caller.Name, name: c.Digest()}
}

// full refuses one more call that stops. It says when the first of those that count
// goes by itself: nobody answers, and nobody fetches the outcome.
func (g *registry) full(now time.Time, counts func(*Run) bool) *Error {
	var first time.Time
	for _, r := range g.found[byToken] {
		if counts(r) && (first.IsZero() || r.until.Before(first)) {
			first = r.until
		}
	}
	e := Errorf(RateLimit, "", NotRun,
		"Too many calls go on by themselves, wait for a person, or are kept. Answer them, fetch or forget "+
			"their outcomes, or try again later.")
	e.Retry = max(time.Second, first.Sub(now))
	return e
}

// ended notes that a call is over. One that stopped is kept until its outcome is fetched.
func (g *registry) ended(r *Run, token string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r.over = true
	h := handle{by: byToken, name: token}
	switch {
	case len(r.names) == 0:
		g.forgetRun(r)
	case g.found[byToken][h] == r:
		r.until = r.pass.bridge.pipe.now().Add(keepFor)
		r.forget = time.AfterFunc(keepFor, func() { g.drop(h, r) })
	}
}

// again returns the call that an equal one of its caller means, or nil.
func (g *registry) again(c *Call) *Run {
	g.mu.Lock()
	none := len(g.found[byDigest]) == 0
	g.mu.Unlock()
	if none { // the usual case
		return nil
	}
	return g.find(againHandle(c))
}

// fetched forgets that an equal call means this one.
func (g *registry) fetched(r *Run) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.forgetAgain(r)
}

func (g *registry) forgetAgain(r *Run) {
	for _, h := range r.names {
		if h.by == byDigest {
			g.dropIt(h, r)
			return
		}
	}
}

// mayAsk refuses a question that was opened a moment too late.
func (g *registry) mayAsk(r *Run) *Error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
		return draining()
	case r.pass.call.Caller.IsRevoked(): // Revoke was there a moment before
		return Revoked()
	}
	return nil
}

// closing says who answered a question, and what they said; nil is neither yes nor no.
type closing struct {
	by string
	ok *bool
}

// okOf returns what somebody said; nil where they acted in the page, or nobody answered.
func okOf(a *Answer, by string) *bool {
	if a == nil || by == nobody {
		return nil
	}
	ok := a.OK
	return &ok
}

// answeredBy notes that a question is not open any more.
func (g *registry) answeredBy(id string, how closing, r *Run) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.dropIt(handle{by: byQuestion, name: id}, r)
	g.answered[id] = how
	g.order = append(g.order, id)
	if len(g.order) > maxAnswered {
		g.forgetAnswer()
	}
	time.AfterFunc(keepFor, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.answered, id)
		for len(g.order) > 0 {
			if _, there := g.answered[g.order[0]]; there {
				break
			}
			g.order = g.order[1:]
		}
	})
}

// forgetAnswer forgets who answered the question that was answered first.
func (g *registry) forgetAnswer() {
	delete(g.answered, g.order[0])
	g.order = g.order[1:]
}

// asking returns the call that asks a question, or who answered it.
func (g *registry) asking(id string) (r *Run, by string, known bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	how, known := g.answered[id]
	return g.found[byQuestion][handle{by: byQuestion, name: id}], how.by, known
}

// under returns the calls that have a name of a kind.
func (g *registry) under(kind handleKind) []*Run {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Collect(maps.Values(g.found[kind]))
}

// every returns all calls that are known.
func (g *registry) every() []*Run {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Collect(maps.Keys(g.all))
}

// close takes no more questions.
func (g *registry) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

// questions counts the calls that wait for a person.
func (g *registry) questions() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.found[byQuestion])
}

func draining() *Error {
	return Errorf(InternalError, Draining, Unknown, "pagetools is shutting down.")
}

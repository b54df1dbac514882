package rate

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/bridge/records"
)

const (
	// span is the time whose calls a node takes at once.
	span = 100 * time.Millisecond
	// keeps sets for how long a node keeps calls that it does not use.
	keeps = time.Second
	// rest is waited before the engine is asked again that had too few.
	rest = 50 * time.Millisecond
	// patience limits how long a call waits for the engine, and apart sets for how long it is not asked
	// again when it did not answer.
	patience = 500 * time.Millisecond
	apart    = time.Second
	// maxRules bounds the rates that a node knows. Beyond it, it asks the engine again.
	maxRules = 10_000
	// ahead sets by how much more than it can be a record may be ahead of our clock: more is another
	// node's clock, and not its calls.
	ahead = 2 * time.Second
	// refresh sets how often records are written again that the engine would forget too early.
	refresh = records.ShortAge / 4
)

// Options say where the records are.
type Options struct {
	Records records.Records
	// Name hides names of sites, tools and callers: letters and digits, the same on all nodes.
	Name func(parts ...string) string
	// Nodes returns how many nodes live, this one included.
	Nodes func() int
	// Taken hears of each batch; nil does nothing.
	Taken func()
	Log   *slog.Logger // nil is silent
}

// Rates counts calls for all nodes. Safe for concurrent use. Make one with New.
type Rates struct {
	o Options

	mu    sync.Mutex
	rules map[policy.Use]*rule
}

var _ bridge.Rates = (*Rates)(nil)

// New returns the rates of the cluster.
func New(o Options) *Rates {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &Rates{o: o, rules: map[policy.Use]*rule{}}
}

// rule holds what this node knows of a rate.
type rule struct {
	key  string
	rate policy.Rate
	turn chan struct{} // 1: who asks the engine, and changes what follows

	left  int       // calls that were taken and not used
	until time.Time // when they are given up
	short time.Time // when the engine may be asked again
	wait  time.Duration
	calls [2]int // asked for in this span, and in the one before
	began time.Time

	revision uint64
	full     int64 // when nothing of the rate is used, as known last; ns since 1970

	alone time.Time // until when the engine is not asked
	own   int64     // as full, of this node's part
	owed  int       // calls of that, which the record does not know
}

// form is the record of a rate: its theoretical arrival time, in ns since 1970.
type form struct {
	TAT int64 `json:"tat"`
}

// ruleOf returns the rule of a use. The rates of sites and tools are one for all callers.
func (r *Rates) ruleOf(u policy.Use, now time.Time) *rule {
	if u.Limit != policy.LimitCaller {
		u.Caller = ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	of := r.rules[u]
	if of == nil {
		if len(r.rules) >= maxRules {
			r.makeRoom(now)
		}
		key := "r." + r.o.Name("rate", string(u.Limit), u.Of, u.Caller, u.Rate.String())
		of = &rule{key: key, rate: u.Rate, turn: make(chan struct{}, 1)}
		r.rules[u] = of
	}
	return of
}

// makeRoom forgets the rates of which the engine knows as much: the records have what was used. Called
// with mu held.
func (r *Rates) makeRoom(now time.Time) {
	most := maxRules / 10
	for key, of := range r.rules {
		select {
		case of.turn <- struct{}{}:
			if most > 0 && now.After(of.alone) {
				delete(r.rules, key)
				most--
			}
			<-of.turn
		default:
		}
	}
}

// Take implements bridge.Rates: one call at a time, of those that this node has taken.
func (r *Rates) Take(ctx context.Context, u policy.Use, _ int, now time.Time) (got int, wait time.Duration, err error) {
	of := r.ruleOf(u, now)
	select {
	case of.turn <- struct{}{}:
	case <-ctx.Done():
		return 0, 0, context.Cause(ctx)
	}
	defer func() { <-of.turn }()
	of.count(now)
	if of.left > 0 && now.Before(of.until) {
		of.left--
		return 1, 0, nil
	}
	of.left = 0
	if now.Before(of.alone) {
		return of.takeOwn(r.o.Nodes(), now)
	}
	if now.Before(of.short) {
		return 0, max(of.short.Sub(now), of.wait), nil
	}
	want := of.batch(r.o.Nodes())
	taken, wait, err := r.lease(ctx, of, want, now)
	if err != nil {
		if !now.Before(of.alone.Add(apart)) {
			r.o.Log.WarnContext(ctx, "rates: the engine does not answer; this node lets its part of them through", slog.Any("error", err))
		}
		of.alone = now.Add(apart)
		of.own = max(of.own, of.full)
		return of.takeOwn(r.o.Nodes(), now)
	}
	if taken < want {
		of.short, of.wait = now.Add(rest), wait
	}
	if taken == 0 {
		return 0, max(wait, rest), nil
	}
	of.left, of.until = taken-1, now.Add(keeps)
	return 1, 0, nil
}

// count counts a call that was asked for.
func (of *rule) count(now time.Time) {
	if since := now.Sub(of.began); since >= span || since < 0 {
		if of.calls[1] = 0; since < 2*span {
			of.calls[1] = of.calls[0]
		}
		of.calls[0], of.began = 0, now
	}
	of.calls[0]++
}

// batch returns how many calls are taken at once: as many as came of late, and a tenth of this node's
// part of the rate at most.
func (of *rule) batch(nodes int) int {
	return max(1, min(max(of.calls[0], of.calls[1]), of.rate.N/10/max(1, nodes)))
}

// interval is the time in which one call comes back.
func (of *rule) interval() int64 { return max(1, of.rate.Per.Nanoseconds()/int64(of.rate.N)) }

// lease takes up to n calls from the record, and returns how many; of none, when there is one.
func (r *Rates) lease(ctx context.Context, of *rule, n int, now time.Time) (got int, wait time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if of.revision == 0 {
		if err := r.read(ctx, of); err != nil {
			return 0, 0, err
		}
	}
	owed := of.debt(r.o.Nodes(), now)
	for {
		full, got, wait := of.spend(n, owed, now) // what is known may be old: then there is less
		if got == 0 && full == of.full {
			return 0, wait, nil
		}
		done, err := r.write(ctx, of, full)
		switch {
		case err != nil:
			of.revision = 0 // it may be written or not: read it again
			return 0, 0, err
		case done:
			if r.o.Taken != nil {
				r.o.Taken()
			}
			of.owed = 0
			return got, wait, nil
		}
		if err := r.read(ctx, of); err != nil {
			return 0, 0, err
		}
	}
}

// debt returns how many of the calls that were let through without the engine still count.
func (of *rule) debt(nodes int, now time.Time) int {
	interval := of.interval() * int64(max(1, nodes))
	return int(min(int64(of.owed), max(0, of.own-now.UnixNano()+interval-1)/interval))
}

// spend returns when the rate is unused again after those that are owed and up to n calls now, and how
// many these are; of none, after which time there is one.
func (of *rule) spend(n, owed int, now time.Time) (full int64, got int, wait time.Duration) {
	at, interval := now.UnixNano(), of.interval()
	most := int64(of.rate.N) * interval
	known := of.full
	if known-at > most+ahead.Nanoseconds() {
		known = at + most
	}
	full = known
	if owed > 0 {
		full = min(max(full, at)+int64(owed)*interval, at+most)
	}
	known, full = full, max(full, at)
	if got = int(min(int64(n), (at+most-full)/interval)); got <= 0 {
		return known, 0, max(time.Duration(full+interval-most-at), time.Millisecond)
	}
	return full + int64(got)*interval, got, 0
}

// read reads the record. Where there is none, what this node knows of it stays: the engine has
// forgotten it.
func (r *Rates) read(ctx context.Context, of *rule) error {
	is, err := r.o.Records.Get(ctx, of.key)
	if errors.Is(err, records.ErrNone) {
		of.revision = 0
		return nil
	}
	if err != nil {
		return err
	}
	var f form
	if err := records.Decode(is.Value, &f); err != nil {
		return err
	}
	of.revision, of.full = is.Revision, f.TAT
	return nil
}

// write writes the record, and reports whether nobody else did meanwhile.
func (r *Rates) write(ctx context.Context, of *rule, full int64) (done bool, err error) {
	revision, err := records.Put(ctx, r.o.Records, of.key, form{full}, of.revision)
	if errors.Is(err, records.ErrChanged) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	of.revision, of.full = revision, full
	return true, nil
}

// takeOwn takes one call of this node's part of the rate, which the nodes divide equally.
func (of *rule) takeOwn(nodes int, now time.Time) (got int, wait time.Duration, err error) {
	at, interval := now.UnixNano(), of.interval()*int64(max(1, nodes))
	most := max(int64(of.rate.N)*of.interval(), interval)
	full := min(max(of.own, at), at+most) + interval
	if full > at+most {
		return 0, max(time.Duration(full-most-at), time.Millisecond), nil
	}
	of.own = full
	of.owed++
	return 1, 0, nil
}

// Run writes the records of long rates again, until ctx ends: an engine forgets those that do not change.
func (r *Rates) Run(ctx context.Context) {
	again := time.NewTicker(refresh)
	defer again.Stop()
	for {
		select {
		case now := <-again.C:
			r.refresh(ctx, now)
		case <-ctx.Done():
			return
		}
	}
}

func (r *Rates) refresh(ctx context.Context, now time.Time) {
	r.mu.Lock()
	var all []*rule
	for _, of := range r.rules {
		all = append(all, of)
	}
	r.mu.Unlock()
	for _, of := range all {
		select {
		case of.turn <- struct{}{}:
		default: // it is in use
			continue
		}
		if of.full > now.Add(2*refresh).UnixNano() {
			r.renew(ctx, of)
		}
		<-of.turn
	}
}

// renew writes a record as it is.
func (r *Rates) renew(ctx context.Context, of *rule) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	known := of.full
	err := r.read(ctx, of)
	if err == nil {
		of.full = max(of.full, known)
		_, err = r.write(ctx, of, of.full)
	}
	if err != nil {
		of.revision = 0
		r.o.Log.DebugContext(ctx, "rates: a record could not be renewed", slog.Any("error", err))
	}
}

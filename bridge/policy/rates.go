package policy

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// RateRule is a rate for the tools that a pattern names, all of them together. Patterns work as in
// Rule.
type RateRule struct {
	Pattern string
	Rate    Rate
}

// SiteRates are the rates of one site, of all callers together.
type SiteRates struct {
	// Rate is of all its tools; the zero value limits nothing.
	Rate Rate
	// Tools are of single tools, besides. A tool is held to one of them: the most specific pattern
	// that matches it, as Operator.Match has it; where that is even, the rate that lets less
	// through, and after that the earlier rule.
	Tools []RateRule
}

// RatesOptions holds the limits of Rates by name. A caller that is missing has no limit.
type RatesOptions struct {
	Callers map[string]Rate
	Sites   map[string]SiteRates
}

// Limit says which of the rates refused a call.
type Limit string

// The limits.
const (
	LimitCaller Limit = "caller"
	LimitSite   Limit = "site"
	LimitTool   Limit = "tool"
)

// Rates hold calls to the rates of callers, sites and tools. N calls may come at once, and N come
// back per period. The rates of sites and tools are divided equally among the callers of late, so
// that a caller that floods refuses nobody else. They are of one process, and start full. Safe for
// concurrent use; the memory is bounded by the number of rates and 10,000 callers each.
type Rates struct {
	mu      sync.Mutex
	sites   map[string]*siteBuckets
	callers map[string]rated
	own     map[Rate]*shared // of callers that come with a rate
}

// rated is the rate of a caller, and what of it is used.
type rated struct {
	Rate

	bucket *rate.Limiter
}

type siteBuckets struct {
	of    SiteRates
	all   *shared // nil: no limit
	rules []RateRule
	tools []*shared // of rules
}

// NewRates makes the rates.
func NewRates(o RatesOptions) *Rates {
	r := &Rates{own: map[Rate]*shared{}}
	r.SetCallers(o.Callers)
	r.SetSites(o.Sites)
	return r
}

// SetSites holds sites to these rates, in place of those until now. A site whose rates are
// unchanged keeps its usage.
func (r *Rates) SetSites(sites map[string]SiteRates) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := map[string]*siteBuckets{}
	for name, site := range sites {
		if was := r.sites[name]; was != nil && was.of.Rate == site.Rate && slices.Equal(was.of.Tools, site.Tools) {
			next[name] = was
			continue
		}
		s := &siteBuckets{of: site, all: newShared(site.Rate)}
		for _, rule := range site.Tools {
			if b := newShared(rule.Rate); b != nil {
				s.rules, s.tools = append(s.rules, rule), append(s.tools, b)
			}
		}
		if s.all != nil || len(s.tools) > 0 {
			next[name] = s
		}
	}
	r.sites = next
}

// SetCallers holds callers to these rates, in place of those until now. A caller whose
// rate is unchanged keeps its usage.
func (r *Rates) SetCallers(callers map[string]Rate) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := make(map[string]rated, len(callers))
	for name, of := range callers {
		was := r.callers[name]
		if was.bucket == nil || was.Rate != of {
			was = rated{of, newBucket(of, 1)}
		}
		if of.limits() {
			next[name] = was
		}
	}
	r.callers = next
}

// rounding is a wait that means none: the library counts in fractions of a call.
const rounding = time.Microsecond

// Take takes one call from each rate that is the call's, at the time now. When one of them has none
// left it takes nothing, and returns the limit that has to be waited for longest and how long,
// which is more than 0: after that time the call is let through if nobody else calls meanwhile. The
// empty Limit means that the call may run.
func (r *Rates) Take(caller, site, tool string, now time.Time) (refused Limit, wait time.Duration) {
	return r.TakeOwn(Rate{}, caller, site, tool, now)
}

// TakeOwn is Take for a caller that comes with a rate of its own, in place of the one that it has
// by name. A rate that limits nothing is none.
func (r *Rates) TakeOwn(own Rate, caller, site, tool string, now time.Time) (refused Limit, wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	buckets := [...]*rate.Limiter{r.callers[caller].bucket, nil, nil}
	if own.limits() {
		buckets[0] = r.ownOf(own, now).of(caller, now)
	}
	if s := r.sites[site]; s != nil {
		buckets[1], buckets[2] = s.all.of(caller, now), s.match(tool).of(caller, now)
	}
	var taken [len(buckets)]*rate.Reservation
	for i, b := range buckets {
		if b == nil {
			continue
		}
		taken[i] = b.ReserveN(now, 1)
		if d := taken[i].DelayFrom(now); d > max(wait, rounding) {
			refused, wait = [...]Limit{LimitCaller, LimitSite, LimitTool}[i], d
		}
	}
	if wait > 0 {
		for _, t := range taken {
			if t != nil {
				t.CancelAt(now)
			}
		}
	}
	return refused, wait
}

// ownOf returns the callers that come with a rate, each with all of it. A rate that nobody came
// with of late is forgotten: the operator chose another one. Called with mu held.
func (r *Rates) ownOf(own Rate, now time.Time) *shared {
	s := r.own[own]
	if s == nil {
		maps.DeleteFunc(r.own, func(_ Rate, s *shared) bool { return s.idle(now) })
		s = newShared(own)
		s.whole = true
		r.own[own] = s
	}
	return s
}

// Use is a rate that a call is held to, and whose call it is, as every process with the same
// configuration names it.
type Use struct {
	Limit  Limit
	Of     string // "" for a caller; the site, or the site and the pattern of its tools
	Caller string
	Rate   Rate
}

// Uses returns the rates that a call is held to which TakeOwn let through.
func (r *Rates) Uses(own Rate, caller, site, tool string) (all []Use) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.own[own]; s != nil {
		all = append(all, Use{LimitCaller, "", s.named(caller), own})
	} else if of := r.callers[caller].Rate; of.limits() {
		all = append(all, Use{LimitCaller, "", caller, of})
	}
	s := r.sites[site]
	if s == nil {
		return all
	}
	if s.all != nil {
		all = append(all, Use{LimitSite, site, caller, s.all.rate})
	}
	if best := ruleOf(s.rules, tool); best >= 0 {
		all = append(all, Use{LimitTool, site + " " + s.rules[best].Pattern, caller, s.rules[best].Rate})
	}
	return all
}

func (s *siteBuckets) match(tool string) *shared {
	if best := ruleOf(s.rules, tool); best >= 0 {
		return s.tools[best]
	}
	return nil
}

// ruleOf is the index of the rule that holds for a tool, or -1.
func ruleOf(rules []RateRule, tool string) int {
	return best(rules, func(r RateRule) bool { return Matches(r.Pattern, tool) },
		func(a, b RateRule) int {
			return cmp.Or(bySpecific(a.Pattern, b.Pattern), strictness(a.Rate, b.Rate))
		})
}

// Of is the rate that a tool is held to: its own or that of the site, whichever lets less through.
func (s SiteRates) Of(tool string) Rate {
	best := ruleOf(s.Tools, tool)
	switch {
	case best < 0:
		return s.Rate
	case s.Rate != Rate{} && strictness(s.Rate, s.Tools[best].Rate) > 0:
		return s.Rate
	}
	return s.Tools[best].Rate
}

// strictness is more than 0 when a lets less through than b, and less than 0 when it lets more.
func strictness(a, b Rate) int {
	return cmp.Or(cmp.Compare(b.perSecond(), a.perSecond()), cmp.Compare(b.N, a.N))
}

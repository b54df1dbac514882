package policy

import (
	"sync"
	"time"
)

// RateRule is a rate for the tools that a pattern names, all of them together. Patterns are those of Rule.
type RateRule struct {
	Pattern string
	Rate    Rate
}

// SiteRates are the rates of one site, of all callers together.
type SiteRates struct {
	// Rate is of all its tools; the zero value limits nothing.
	Rate Rate
	// Tools are of single tools, besides. A tool is held to one of them: the most specific pattern that matches it, as
	// Operator.Match has it; where that is even, the rate that lets less through, and after that the earlier rule.
	Tools []RateRule
}

// RatesOptions are what Rates hold callers to, by name. Who is missing has no limit.
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

// Rates hold calls to the rates of callers, sites and tools. N calls may come at once, and N come back per period. The
// rates of sites and tools are fair: callers share them equally, and what one does not need others may have. They are
// of one process, and start full. Safe for concurrent use; the memory is bounded by the number of rates and 10,000
// callers each.
type Rates struct {
	sites map[string]*siteBuckets

	mu      sync.Mutex
	callers map[string]rated
}

// rated is the rate of a caller, and what of it is used.
type rated struct {
	Rate

	bucket *bucket
}

type siteBuckets struct {
	all   *bucket // nil: no limit
	rules []RateRule
	tools []*bucket // of rules
}

// NewRates makes the rates.
func NewRates(o RatesOptions) *Rates {
	r := &Rates{sites: map[string]*siteBuckets{}}
	r.SetCallers(o.Callers)
	for name, site := range o.Sites {
		s := &siteBuckets{all: newBucket(site.Rate)}
		for _, rule := range site.Tools {
			if b := newBucket(rule.Rate); b != nil {
				s.rules, s.tools = append(s.rules, rule), append(s.tools, b)
			}
		}
		if s.all != nil || len(s.tools) > 0 {
			r.sites[name] = s
		}
	}
	return r
}

// SetCallers holds callers to these rates, in place of those until now. Who keeps
// their rate keeps what they used of it.
func (r *Rates) SetCallers(callers map[string]Rate) {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := make(map[string]rated, len(callers))
	for name, rate := range callers {
		was := r.callers[name]
		if was.bucket == nil || was.Rate != rate {
			was = rated{rate, newBucket(rate)}
		}
		if was.bucket != nil {
			next[name] = was
		}
	}
	r.callers = next
}

// Take takes one call from each rate that is the call's, at the time now. When one of them has none left it takes
// nothing, and gives the limit that has to be waited for longest and how long, which is more than 0: after that time
// the call is let through if nobody else calls meanwhile. The empty Limit means that the call may run.
func (r *Rates) Take(caller, site, tool string, now time.Time) (refused Limit, wait time.Duration) {
	asked := [...]struct {
		limit   Limit
		bucket  *bucket
		account int
	}{{limit: LimitCaller}, {limit: LimitSite}, {limit: LimitTool}}
	if s := r.sites[site]; s != nil {
		asked[1].bucket, asked[2].bucket = s.all, s.match(tool)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	asked[0].bucket = r.callers[caller].bucket
	for i := range asked {
		a := &asked[i]
		if a.bucket == nil {
			continue
		}
		var w time.Duration
		if w, a.account = a.bucket.ask(caller, now); w > wait {
			refused, wait = a.limit, w
		}
	}
	if wait > 0 {
		return refused, wait
	}
	for _, a := range asked {
		if a.bucket != nil {
			a.bucket.take(a.account)
		}
	}
	return "", 0
}

// match finds the bucket of a tool, or nil.
func (s *siteBuckets) match(tool string) *bucket {
	best := -1
	for i, rule := range s.rules {
		if !glob(rule.Pattern, tool) {
			continue
		}
		if best >= 0 {
			if d := bySpecific(rule.Pattern, s.rules[best].Pattern); d < 0 || d == 0 && !stricter(rule.Rate, s.rules[best].Rate) {
				continue
			}
		}
		best = i
	}
	if best < 0 {
		return nil
	}
	return s.tools[best]
}

// stricter reports whether a lets less through than b.
func stricter(a, b Rate) bool {
	if x, y := a.perSecond(), b.perSecond(); x != y {
		return x < y
	}
	return a.N < b.N
}

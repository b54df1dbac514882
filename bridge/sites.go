package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/bridge/webtool"
)

// siteStates are the sites of a bridge at one moment, in the operator's order. They are immutable.
type siteStates struct {
	list  []*siteState
	named map[string]*siteState
}

// past outlives a change of a site: it belongs to the name of the site.
type past struct {
	mu        sync.Mutex
	histories map[string]*webtool.History // by action; "" is the site's own webtool
	forgets   bool                        // soon
	closed    bool                        // the site was removed
}

// close gives back what the histories hold.
func (p *past) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, h := range p.histories {
		h.Close()
	}
	p.histories = map[string]*webtool.History{}
}

// firstSites makes those of the router the sites.
func firstSites(b *Bridge, of map[string]SiteOptions) error {
	all := map[string]SiteOptions{} // those that are there
	for _, site := range b.pipe.router.Sites() {
		all[site.Name] = of[site.Name]
	}
	set, err := b.PrepareSites(all)
	if err == nil {
		set(func() {})
	}
	return err
}

// PrepareSites checks what the operator wrote for the sites, by name. What it returns makes them
// the sites of the bridge: it calls swap, with which the router gets the sites, and then takes over
// what is changed, by Site.Generation. Calls of a site that is not there any more and that wait for
// a person end; of a site that was changed, a call that waits for consent goes on, and is checked
// anew when there is an answer. The error is about a parameter default that is not a schema;
// nothing is changed then. Only one change may go on at a time.
func (b *Bridge) PrepareSites(of map[string]SiteOptions) (set func(swap func()), err error) {
	made := make(map[string]*siteState, len(of))
	for name, o := range of {
		if made[name], err = newSiteState(b, o); err != nil {
			return nil, fmt.Errorf("site %s: %w", name, err)
		}
	}
	return func(swap func()) { setSites(b, made, swap) }, nil
}

func setSites(b *Bridge, made map[string]*siteState, swap func()) {
	swap()
	was, now := b.pipe.sites.Load(), &siteStates{named: map[string]*siteState{}}
	rates := map[string]policy.SiteRates{}
	var changed []string
	for _, site := range b.pipe.router.Sites() {
		s, before := made[site.Name], was.named[site.Name]
		switch {
		case s == nil: // nobody said anything of it
			continue
		case before != nil && before.site.Generation == site.Generation:
			s = before
		default:
			s.site = site
			if before != nil {
				s.past = before.past
				s.unkept.Store(before.unkept.Load())
			}
			changed = append(changed, site.Name)
		}
		now.list, now.named[site.Name] = append(now.list, s), s
		rates[site.Name] = policy.SiteRates{Rate: s.options.Rate, Tools: s.options.Rates}
	}
	b.pipe.rates.SetSites(rates)
	b.pipe.sites.Store(now)
	for _, s := range was.list {
		if now.named[s.site.Name] == nil {
			s.close()
			changed = append(changed, s.site.Name)
		}
	}
	for _, r := range b.runs.under(byQuestion) {
		if now.named[r.pass.call.Site] != nil {
			continue
		}
		if rest := r.halt(Replaced(r.outcomeNow())); rest != nil {
			b.background.Go(rest) // ends when the page lets go
		}
	}
	for _, site := range changed {
		toolsChanged(b, site)
	}
}

// outcomeNow is how the call ends when it ends at its open question.
func (r *Run) outcomeNow() Outcome {
	if q := r.Asks(); q != nil && q.Kind == Approve {
		return NotRun
	}
	return Unknown
}

// gone refuses a question about a call whose site was removed a moment before.
func (pl *pipeline) gone(r *Run, p *Pause) *Error {
	switch {
	case pl.sites.Load().named[r.pass.call.Site] != nil:
		return nil
	case p.Question.Kind == Approve:
		return Replaced(NotRun)
	}
	return Replaced(Unknown)
}

// resumes returns the token that the call's config names, or "".
func (c *Call) resumes() string {
	var config struct {
		Resume string `json:"resume"`
	}
	if len(c.Config) == 0 || json.Unmarshal(c.Config, &config) != nil {
		return ""
	}
	return config.Resume
}

// formerly resumes a call of a site that is not there any more: its caller still gets what it came
// to. Without such a call it refuses with e, and does not say of what a token stands for that it did
// not run.
func formerly(ctx context.Context, b *Bridge, in *Call, token string, e *Error) (r *Run) {
	r = b.runs.find(handle{by: byToken, name: token})
	known := r != nil && r.pass.site != nil && r.pass.call.Caller.Name == in.Caller.Name && in.Caller.Sees(in.Site)
	if known {
		if found, err := b.Resume(ctx, in, token); err == nil {
			return found
		}
	}
	if isToken(token) {
		own := *e
		own.Outcome = Unknown
		e = &own
	}
	return b.refused(ctx, in, e)
}

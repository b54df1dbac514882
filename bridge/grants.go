package bridge

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge/policy"
)

// consents keeps consent that outlives one call. Without its stores it keeps nothing.
type consents struct {
	memory *Memory
	log    *slog.Logger
	now    func() time.Time
}

// mayAlways reports whether consent to this call may be kept for further ones: only
// where the level is ask-once (security reference, C7).
func mayAlways(r *Run) bool {
	b := r.pass.bridge
	return b.pipe.memory.Grants != nil && r.pass.decision.Level == policy.Once
}

// granted reports whether a person has agreed to such calls for good. What cannot
// be looked up is asked again.
func (c *consents) granted(ctx context.Context, r *Run) bool {
	if !mayAlways(r) {
		return false
	}
	now, _ := r.pass.where(false)
	r.pass.shown = &Agreed{Config: now.Config}
	r.pass.standing = c.stands(ctx, r)
	return r.pass.standing
}

// stands reports whether consent stands for the call, in such a page as it was shown: before
// it waits for its page, and after.
func (c *consents) stands(ctx context.Context, r *Run) bool {
	ctx, end := r.pass.bridge.pipe.names.while(ctx, &r.pass.call)
	defer end()
	g, ok, err := c.memory.Grants.Find(ctx, r.pass.grantUse(r.pass.shown))
	if err != nil {
		c.log.WarnContext(ctx, "grants: they cannot be read", slog.Any("error", err))
	}
	if err != nil || !ok {
		return false
	}
	r.pass.approval, r.pass.approver = g.ID, g.GivenBy
	return true
}

// grantUse returns what standing consent to the call covers when it runs in such a page.
func (r *passage) grantUse(page *Agreed) GrantUse {
	u := GrantUse{Caller: r.call.Caller.Name, Credential: r.call.Caller.Credential, Site: r.call.Site,
		Tool: r.tool.name, Digest: r.tool.digest}
	if page.Config != "" {
		u.Config = digestOf([]byte(page.Config))
	}
	return u
}

// keep keeps what a person agreed to beyond this call: a grant, when they
// said "always", and that they have seen the tool. A call whose grant cannot be
// kept does not run: the person believes that it was kept.
func (c *consents) keep(ctx context.Context, r *Run) *Error {
	ctx, end := r.pass.bridge.pipe.names.while(ctx, &r.pass.call)
	defer end()
	a := r.pass.consent
	if a.Always && mayAlways(r) && !r.pass.kept {
		if e := knowAll(ctx, r); e != nil {
			return e
		}
		g, err := c.memory.Grants.Put(ctx, Grant{GrantUse: r.pass.grantUse(r.pass.shown), GivenBy: a.by, GivenAt: c.now()})
		if err != nil {
			return notKept("This consent cannot be kept now. Nothing ran.", err)
		}
		r.pass.kept = true
		r.pass.approval = g.ID
	}
	if r.pass.unseen {
		if err := c.memory.KnownTools.SetKnown(ctx, r.pass.call.Site,
			[]KnownTool{known(r.pass.tool, c.now())}); err != nil {
			return notKept("It cannot be kept now that this tool was seen. Nothing ran.", err)
		}
		r.pass.site.seen.forget()
	}
	return nil
}

func known(t *Tool, at time.Time) KnownTool { return KnownTool{Tool: t.name, SeenAt: at} }

// knowAll notes all tools that the site has now, when the first consent is kept
// there: later ones are new.
func knowAll(ctx context.Context, r *Run) *Error {
	b := r.pass.bridge
	if b.pipe.memory.KnownTools == nil {
		return nil
	}
	there, err := b.pipe.memory.KnownTools.Known(ctx, r.pass.call.Site)
	if err != nil {
		return notKept("What a person has seen cannot be read now. Nothing ran.", err)
	}
	if len(there) > 0 {
		return nil
	}
	catalog, err := b.pipe.router.Await(ctx, r.pass.ref())
	if err != nil {
		return nothingRan(ctx, err)
	}
	all := []KnownTool{known(r.pass.tool, b.pipe.now())}
	for _, t := range catalog.Tools() {
		if t.name != r.pass.tool.name {
			all = append(all, known(t, b.pipe.now()))
		}
	}
	if err := b.pipe.memory.KnownTools.SetKnown(ctx, r.pass.call.Site, all); err != nil {
		return notKept("What a person has seen cannot be kept now. Nothing ran.", err)
	}
	r.pass.site.seen.forget()
	return nil
}

// seenFor limits how long the bridge goes by what it read of grants and seen tools:
// another process may change them.
const seenFor = time.Second

// seen caches the known tools of a site.
type seen struct {
	mu     sync.Mutex
	read   bool // the store was read once
	until  time.Time
	grants bool            // somebody has standing consent here
	tools  map[string]bool // which tools a person has seen
}

func (s *seen) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.until = time.Time{}
}

// unseen reports whether the tool came, or got its name, after a person gave standing
// consent on its site, and no person has seen it since. While that cannot be
// read, what was read last counts; before anything was, all tools are unseen.
func (c *consents) unseen(ctx context.Context, of *siteState, tool string) bool {
	if c.memory.Grants == nil || c.memory.KnownTools == nil {
		return false
	}
	s := &of.seen
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := c.now(); now.After(s.until) {
		if err := c.readSeen(ctx, of.site.Name, s); err != nil {
			c.log.WarnContext(ctx, "grants: they cannot be read", slog.Any("error", err))
			now = c.now() // it may have taken long, and the next call need not
		} else {
			s.read = true
		}
		s.until = now.Add(seenFor)
	}
	return !s.read || s.grants && !s.tools[tool]
}

func (c *consents) readSeen(ctx context.Context, site string, s *seen) error {
	grants, err := c.memory.Grants.All(ctx)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(grants, func(g Grant) bool { return g.Site == site }) {
		s.grants, s.tools = false, nil
		return nil
	}
	tools, err := c.memory.KnownTools.Known(ctx, site)
	if err != nil {
		return err
	}
	s.grants = true
	s.tools = make(map[string]bool, len(tools))
	for _, t := range tools {
		s.tools[t.Tool] = true
	}
	return nil
}

package bridge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/bridge/webtool"
)

// asAction is a tool as the webtools documents describe it. The site's own origin is
// not in it: a folder is served at another one each time.
func (s *siteState) asAction(t *Tool) webtool.Action {
	a := webtool.Action{Name: t.name, Title: t.title, Description: t.description,
		Annotations: t.Annotations(), Frame: t.frame, Adapter: t.adapter}
	if a.Frame != "" || t.origin != s.site.Origin {
		a.Origin = t.origin
	}
	return webtool.NewAction(a, t.InputSchema(), t.OutputSchema())
}

func (s *siteState) lockDigest(t *Tool) string { return s.asAction(t).Digest() }

// Webtool returns the document of a site (action "") or of one of its tools, at a
// version ("" and "latest" mean what is current). With ref.Session it describes
// what that session's page offers now, which mints no version. A site that cannot
// be reached is described as it was last, if it ever was. Errors are *Error.
func (b *Bridge) Webtool(ctx context.Context, ref Ref, action,
	version string) (*webtool.Document, error) {
	s, err := b.pipe.siteFor(ref.Site, ref.Caller)
	if err != nil {
		return nil, err
	}
	ref.Generation = s.site.Generation
	pinned := version != "" && version != "latest"
	if pinned {
		// A version that was current once is served also when the site is down.
		if d, err := s.history(action).Version(ctx, version); err != nil {
			return nil, noHistory(err)
		} else if d != nil {
			return d, nil
		}
	}
	catalog, err := b.pipe.router.Await(ctx, ref)
	if err != nil {
		if d := s.history(action).Stale(ctx); d != nil && ref.Session == "" {
			return d, nil
		}
		return nil, nothingRan(ctx, err)
	}
	if ref.Session != "" && !pinned {
		return s.sessionDocument(catalog, action, b.current(ctx, ref, s))
	}
	current, err := s.observe(ctx, catalog, action)
	if err != nil {
		return nil, err
	}
	if pinned {
		if current != nil && current.Version == version {
			return current, nil
		}
		return nil, Errorf(WebtoolNotFound, "", NotRun, "There is no version %s of this webtool; leave it out for the latest one.",
			text.Brief(version, 64)).Detail("version", text.Brief(version, 64))
	}
	if current != nil {
		return current, nil
	}
	return nil, s.unknownAction(action, catalog)
}

// current is the version of the catalog page's webtool, for documents of
// sessions.
func (b *Bridge) current(ctx context.Context, ref Ref, s *siteState) string {
	ref.Session = ""
	if c, err := b.pipe.router.Catalog(ref); err == nil {
		if d, err := s.observe(ctx, c, ""); d != nil && err == nil {
			return d.Version
		}
	}
	return webtool.FirstVersion
}

func (s *siteState) sessionDocument(c *Catalog, action, version string) (*webtool.Document, error) {
	name, description, tools := s.describe(c, action)
	if tools == nil {
		return nil, s.unknownAction(action, c)
	}
	return s.draft(name, description, tools, s.asAction).Finish(version), nil
}

// describe returns name, description and tools of a webtool; no tools when the
// action does not exist.
func (s *siteState) describe(c *Catalog, action string) (name, description string, tools []*Tool) {
	if action == "" {
		tools = s.offered(c)
		if tools == nil {
			tools = []*Tool{}
		}
		return s.site.Name, s.description(), tools
	}
	t := c.Tool(action)
	if t == nil || !s.offers(t) {
		return "", "", nil
	}
	return s.site.Name + "_" + action, t.Description(), []*Tool{t}
}

func (s *siteState) description() string {
	if s.site.API {
		return fmt.Sprintf("Tools that the API of %s (%s) offers.", s.site.Name, s.site.Origin)
	}
	if s.site.Local {
		return fmt.Sprintf("Tools that the web application %s declares through WebMCP.",
			s.site.Name)
	}
	return fmt.Sprintf("Tools that the web application %s (%s) declares through WebMCP.",
		s.site.Name, s.site.Origin)
}

func (s *siteState) unknownAction(action string, c *Catalog) *Error {
	offered := s.offered(c)
	names := make([]string, 0, len(offered))
	for _, t := range offered {
		names = append(names, t.Name())
	}
	words := fmt.Sprintf("There is no action %q here.", text.Brief(action, 64))
	if trouble := c.Trouble(action); trouble != "" {
		words += " " + trouble
	}
	return Errorf(WebtoolNotFound, "", NotRun, "%s", words).
		Detail("reason", "action").Detail("actions", names)
}

// draft makes the document of a webtool, without a version.
func (s *siteState) draft(name, description string, tools []*Tool, action func(*Tool) webtool.Action) *webtool.Document {
	actions := make([]webtool.Action, len(tools))
	for i, t := range tools {
		actions[i] = action(t)
	}
	return webtool.Draft(name, description, actions, s.config)
}

// history returns the history of a webtool: of the site's own (action ""), or of one
// of its tools. One that was not observed yet is made anew each time.
func (s *siteState) history(action string) *webtool.History {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.histories[action]; h != nil {
		return h
	}
	return s.newHistory(action)
}

func (s *siteState) newHistory(action string) *webtool.History {
	name := s.site.Name
	if action != "" {
		name += "/" + action // a site's name has no slash
	}
	own, bytes := policy.Burst(versionsAtOnce, versionEvery), s.bytes
	if s.closed { // nobody gives back what it takes
		bytes = nil
	}
	return webtool.NewHistory(name, webtool.Options{Store: s.versions, Clock: s.clock,
		Account: policy.NewAccount(s.historyBytes, bytes),
		Mint:    func(now time.Time) bool { return own(now) && s.minting(now) }})
}

// A webtool gets at most so many new versions at once, and then one in each interval; so do
// all webtools of a site together, because a page can invent as many names as it likes.
const (
	versionsAtOnce, versionEvery         = 64, time.Minute
	siteVersionsAtOnce, siteVersionEvery = 2048, time.Second
)

// maxHistories bounds the webtools that a page can make us remember by inventing
// names. Beyond it only those of its present tools are kept.
const maxHistories = 2048

// observe makes the catalog current: for the site's own webtool, and for the
// webtool of every tool in it and of every tool that was in one before. It returns
// the document of one of them, nil when that does not exist in this catalog.
func (s *siteState) observe(ctx context.Context, c *Catalog,
	wanted string) (*webtool.Document, error) {
	if d, ok := s.history(wanted).Known(c); ok {
		return d, nil
	}
	s.mu.Lock()
	for _, name := range append(c.names(), "") {
		if s.histories[name] == nil {
			s.histories[name] = s.newHistory(name)
		}
	}
	if s.versions != nil || len(s.histories) > maxHistories { // what is gone is in the store
		maps.DeleteFunc(s.histories, func(name string, h *webtool.History) bool {
			gone := name != "" && c.byName[name] == nil
			if gone {
				h.Close()
			}
			return gone
		})
	}
	all := maps.Clone(s.histories)
	s.mu.Unlock()
	var sealed map[*Tool]webtool.Action // each is in two documents
	if _, ok := all[""].Known(c); !ok {
		sealed = s.sealed(s.offered(c))
	}
	asAction := func(t *Tool) webtool.Action {
		if a, ok := sealed[t]; ok {
			return a
		}
		return s.asAction(t)
	}
	var found *webtool.Document
	for action, h := range all {
		d, err := h.Observe(ctx, c, func() *webtool.Document {
			name, description, tools := s.describe(c, action)
			if tools == nil {
				return nil
			}
			return s.draft(name, description, tools, asAction)
		})
		if err != nil {
			return nil, noHistory(err)
		}
		if action == wanted {
			found = d
		}
	}
	return found, nil
}

// sealed are the actions of tools.
func (s *siteState) sealed(tools []*Tool) map[*Tool]webtool.Action {
	actions := make([]webtool.Action, len(tools))
	onAllCores(len(tools), func(i int) { actions[i] = s.asAction(tools[i]).Sealed() })
	byTool := make(map[*Tool]webtool.Action, len(tools))
	for i, t := range tools {
		byTool[t] = actions[i]
	}
	return byTool
}

// forgetAfter limits how long outdated documents are held, unless somebody looks at the site again.
const forgetAfter = 15 * time.Second

// forgetLater lets the histories drop what the page declared before: it may be large, and
// nobody may ever ask for it.
func (s *siteState) forgetLater(r Router) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.forgets {
		return
	}
	s.forgets = true
	time.AfterFunc(forgetAfter, func() {
		now, err := r.Catalog(Ref{Site: s.site.Name})
		s.mu.Lock()
		defer s.mu.Unlock()
		s.forgets = false
		for _, h := range s.histories {
			if err == nil {
				h.Forget(now)
			}
		}
	})
}

// Findings returns the findings for the author of a site's tools, besides those of its catalog.
func (b *Bridge) Findings(site string) []Finding {
	s := b.pipe.sites.Load().named[site]
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.histories {
		if h.Wild() {
			return []Finding{{Rule: "changes-too-often", Message: "The tools change so often that not each of their versions is kept. " +
				"What is there now can be called as latest."}}
		}
	}
	return nil
}

// noHistory is the error of a history that cannot be read or kept: a number that might
// be used twice is not used at all.
func noHistory(err error) *Error {
	return notKept("The history of this webtool is not available now.", err)
}

// notKept is the error of what cannot be remembered.
func notKept(message string, err error) *Error {
	if errors.Is(err, ErrStoreClosed) {
		e := draining()
		e.Outcome = NotRun
		return e.With(err)
	}
	return Errorf(InternalError, Internal, NotRun, "%s", message).With(err)
}

// checkPin holds the version that a call pinned against what would run. It returns the
// schema to validate with besides the tool's own, or nil.
func (s *siteState) checkPin(ctx context.Context, r *Run) (*schema.Schema, error) {
	action, version := "", text.Brief(r.pass.call.Version, 64)
	if r.pass.call.Single {
		action = r.pass.tool.name
	}
	pinned, problem, err := s.history(action).Pin(ctx, r.pass.call.Version, s.asAction(r.pass.tool),
		s.schemaLimits)
	if err != nil {
		return nil, noHistory(err)
	}
	switch problem {
	case webtool.PinFits:
		return pinned, nil
	case webtool.PinUnknown:
		return nil, Errorf(WebtoolNotFound, "", NotRun,
			"There is no version %s of this webtool; leave it out for the latest one.", version).Detail("version", version)
	case webtool.PinWithout:
		return nil, Errorf(WebtoolNotFound, "", NotRun,
			"Version %s has no action %q.", version, r.pass.tool.name).Detail("reason", "action")
	case webtool.PinOutdated:
		return nil, Errorf(VersionMismatch, "", NotRun,
			"Version %s of %q is no longer what would run. Read the current version, and pin that.", version, r.pass.tool.name)
	case webtool.PinUncheckable:
	}
	return nil, Errorf(VersionMismatch, "", NotRun, "Version %s can no longer be checked; leave it out for the latest one.", version)
}

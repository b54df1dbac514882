package bridge

import (
	"cmp"
	"context"
	"errors"
	"strings"
)

// resolve finds the site, the tool and the settings, and compares a pinned version with
// the tool that would run.
func (pl *pipeline) resolve(ctx context.Context, r *Run, next handler) Step {
	err := pl.find(ctx, r)
	defer r.pass.leave()
	if err == nil {
		return next(ctx, r)
	}
	e := AsError(err)
	if e.Code == WebtoolNotFound || e.Code == ConfigError { // nonsense counts, too
		if limited := pl.count(ctx, r); limited != nil {
			e = limited
		}
	}
	return e.Step()
}

func (pl *pipeline) find(ctx context.Context, r *Run) error {
	var err error
	if !r.pass.call.Caller.Can(MayCall) {
		return mayNotCall()
	}
	if r.pass.call.Caller.IsRevoked() { // after the guards let it in
		return Revoked()
	}
	if r.pass.site, r.pass.settings, err = pl.configured(&r.pass.call); err != nil {
		return err
	}
	ref := r.pass.ref()
	if e := pl.elsewhere(ctx, ref); e != nil {
		return cmp.Or(pl.count(ctx, r), e)
	}
	ref.Patience = r.pass.left()
	catalog, err := pl.router.Await(ctx, ref)
	if err != nil {
		return nothingRan(ctx, err)
	}
	if catalog, err = pl.configuredList(ctx, r, catalog); err != nil {
		return err
	}
	if r.pass.tool, err = r.pass.site.pick(catalog, r.pass.call.Tool); err != nil {
		return err
	}
	if r.pass.tool.operation != nil && r.pass.settings.page != "" {
		return Errorf(ConfigError, "", NotRun,
			"config has keys that change a page, and %q needs none: it is an operation of the site's API. Leave them out.", r.pass.tool.name)
	}
	if r.pass.call.Version == "" || r.pass.call.Version == "latest" {
		return nil
	}
	if base, err := pl.router.Catalog(Ref{Site: r.pass.call.Site, Caller: r.pass.call.Caller}); err == nil {
		if _, err := r.pass.site.observe(ctx, base, ""); err != nil {
			return err
		}
	}
	r.pass.pinned, err = r.pass.site.checkPin(ctx, r)
	return err
}

// configuredList returns the list of the page that the call will run in: where config changes that
// page, and there is none yet, it is opened. Known is the list of the site's page. The call counts
// before.
func (pl *pipeline) configuredList(ctx context.Context, r *Run, known *Catalog) (*Catalog, error) {
	if r.pass.settings.page == "" {
		return known, nil
	}
	name := r.pass.call.Tool
	if name == "" {
		only, err := r.pass.site.pick(known, "")
		if err != nil {
			return nil, err
		}
		name = only.name
	}
	ref := r.pass.pageRef()
	if t := known.Tool(name); t != nil && t.operation != nil || pl.router.Shows(ref) != nil {
		return known, nil
	}
	if e := pl.count(ctx, r); e != nil {
		return nil, e
	}
	defer pl.step(ctx, "acquire")()
	source, err := pl.router.Acquire(ctx, ref)
	if err != nil {
		return nil, nothingRan(ctx, err)
	}
	r.pass.found = source
	lister, ok := source.(Lister)
	if !ok {
		return known, nil
	}
	waiting, cancel := context.WithTimeout(ctx, r.pass.left())
	defer cancel()
	list, err := lister.List(waiting, name)
	if err != nil {
		return nil, nothingRan(ctx, err)
	}
	return list, nil
}

// leave gives back a page in which the tool was looked for, and that the call did not run in:
// before a person is asked, too.
func (r *passage) leave() {
	if found := r.found; found != nil {
		r.found = nil
		found.Release()
	}
}

// configured finds the site of a call, and reads what its config says.
func (pl *pipeline) configured(in *Call) (*siteState, settings, error) {
	site, err := pl.siteFor(in.Site, in.Caller)
	if err != nil {
		return nil, settings{}, err
	}
	set, err := site.readSettings(in)
	return site, set, err
}

func (r *passage) ref() Ref {
	ref := Ref{Site: r.call.Site, Session: r.call.Session, Caller: r.call.Caller,
		API: r.tool != nil && r.tool.operation != nil}
	if r.site != nil {
		ref.Generation = r.site.site.Generation
	}
	return ref
}

// pageRef is ref for Acquire.
func (r *passage) pageRef() Ref {
	ref := r.ref()
	ref.Patience, ref.Turn, ref.Page, ref.Until = r.left(), r.settings.timeout, r.settings.page, r.call.Until
	return ref
}

func mayNotAnswer() *Error {
	return Errorf(Forbidden, "", NotRun, "This credential may not answer questions: its caller needs the right \"answer\".")
}

func mayNotCall() *Error {
	return Errorf(Forbidden, "", NotRun, "This credential may not call tools: its caller needs the right \"call\".")
}

// nothingRan returns the *Error for a failure before the dispatch of a call. An err of
// another type means that a context ended, or that there is a bug.
func nothingRan(ctx context.Context, err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if ctx.Err() != nil {
		return GaveUp(NotRun).With(err)
	}
	e := AsError(err)
	e.Outcome = NotRun
	return e
}

// pick finds the tool. Without a name the only one is meant: a published client
// never sends one.
func (s *siteState) pick(catalog *Catalog, name string) (*Tool, error) {
	if name != "" {
		t := catalog.Tool(name)
		if t == nil {
			return nil, s.unknownAction(name, catalog)
		}
		return t, asPlain(s.checkLock(catalog, t))
	}
	offered := s.offered(catalog)
	if len(offered) == 1 {
		return offered[0], nil
	}
	e := s.unknownAction("", catalog)
	e.Code, e.Message = SchemaError, "action is missing, and this webtool has not exactly one."
	if names, _ := e.Details["actions"].([]string); len(names) > 0 {
		e.Message = "action is missing. It is one of: " + strings.Join(names, ", ") + "."
	}
	delete(e.Details, "reason")
	return nil, e
}

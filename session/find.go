package session

import (
	"context"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// findWithin returns the page's own registration of the tool, at once when it is
// there; late says that it waited.
func (p *Page) findWithin(ctx context.Context,
	inv bridge.Invocation) (t *bridge.Tool, late bool, err error) {
	t = p.view.Load().catalog.Tool(inv.Tool.Name())
	if t == nil || t.Digest() != inv.Tool.Digest() || p.isDead() {
		waiting, cancel := bound(ctx, inv.Patience, nil)
		defer cancel()
		late = true
		if t, err = p.find(waiting, inv.Tool); err != nil {
			return nil, late, err
		}
	}
	if a := inv.Agreed; a != nil && a.Document != "" && a.Document != bridge.NewPage && a.Document != t.Document() {
		return nil, late, otherDocument(t)
	}
	return t, late, nil
}

// otherDocument refuses a call whose page is another than a person agreed to.
func otherDocument(t *bridge.Tool) *bridge.Error {
	return bridge.Errorf(bridge.VersionMismatch, bridge.ToolChanged, bridge.NotRun,
		"The page navigated, or was opened, after a person agreed to run %q. Nothing ran.", t.Name())
}

// find returns the page's own registration of the tool. A fresh page may still
// register it; another definition under its name is refused.
func (p *Page) find(ctx context.Context, want *bridge.Tool) (*bridge.Tool, error) {
	var found *bridge.Tool
	v, err := p.awaitTool(ctx, func(v *view) bool {
		found = v.catalog.Tool(want.Name())
		return found != nil && (v.settled || found.Digest() == want.Digest())
	})
	switch {
	case err == nil && found.Digest() == want.Digest():
		return found, nil
	case v == nil: // the page died: nothing was sent
		return nil, notRun(p.died)
	case ctx.Err() != nil:
		return nil, waitEnded(ctx)
	case found != nil:
		return nil, bridge.Errorf(bridge.VersionMismatch, bridge.ToolChanged, bridge.NotRun,
			"The page changed %q between the check of this call and its run. Read the list again.", want.Name())
	}
	names := []string{}
	for _, t := range v.catalog.Tools() {
		names = append(names, t.Name())
	}
	return nil, bridge.Errorf(bridge.WebtoolNotFound, "", bridge.NotRun,
		"The page does not offer %q now.", want.Name()).
		Detail("reason", "action").Detail("actions", names)
}

// awaitTool is await for as long as a call waits for a tool of a fresh page.
func (p *Page) awaitTool(ctx context.Context, ok func(*view) bool) (*view, error) {
	patience, cancel := context.WithCancel(ctx)
	defer cancel()
	if used := p.used.Load(); used != nil && *used == p.view.Load().document {
		cancel()
	}
	var late *time.Timer
	v, err := p.await(patience, func(v *view) bool {
		if late == nil && v.loaded {
			late = time.AfterFunc(max(quietTime, lateTool-time.Since(v.since)), cancel)
		}
		return ok(v)
	})
	if late != nil {
		late.Stop()
	}
	return v, err
}

// List returns the tools that the page has once it is opened, and the one of that name is there or
// was waited for.
func (p *Page) List(ctx context.Context, tool string) (*bridge.Catalog, error) {
	v, err := p.awaitTool(ctx, func(v *view) bool { return v.settled && v.catalog.Tool(tool) != nil })
	switch {
	case err == nil:
		return v.catalog, nil
	case v == nil:
		return nil, notRun(p.died)
	case ctx.Err() != nil:
		return nil, waitEnded(ctx)
	}
	return v.catalog, nil
}

// awaitChange waits until the page does not show the registration t any more.
func (p *Page) awaitChange(ctx context.Context, t *bridge.Tool) error {
	bounded, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err := p.await(bounded, func(v *view) bool {
		now := v.catalog.Tool(t.Name())
		return now == nil || now.Registration() != t.Registration() ||
			now.Document() != t.Document()
	})
	if p.isDead() {
		return notRun(p.died)
	}
	if ctx.Err() != nil {
		return waitEnded(ctx)
	}
	if err != nil {
		return bridge.Errorf(bridge.InternalError, bridge.PageHung, bridge.NotRun,
			"The page does not say what became of %q.", t.Name()).With(err)
	}
	return nil
}

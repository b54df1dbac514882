package session

import (
	"context"
	"encoding/json"

	"github.com/pagetools/pagetools/bridge"
)

// Probe looks at a page for those who test it. Tabs that were opened with TabOptions.Record have
// one. It is safe for concurrent use, and disturbs no call that runs in the page. Errors are
// *bridge.Error.
type Probe interface {
	Photographer
	Recorder
	// Evaluate runs an expression in the document at the top, awaits it, and returns the JSON of
	// its value, "null" for undefined. An exception is a TOOL_ERROR with its message.
	Evaluate(ctx context.Context, expression string) (json string, err error)
	// Look returns what the elements that match a CSS selector show. A selector that is not one
	// is a SCHEMA_ERROR.
	Look(ctx context.Context, selector string) (Element, error)
	// Names lists the tools that the page itself can run.
	Names(ctx context.Context) ([]string, error)
	// Execute runs a tool by the page's own executeTool. The result is the string that the page
	// gets, as JSON, or null. Dialogs meanwhile are pauses, as in Tab.Invoke. What the tool says
	// when it fails is not in the error, because pages are not told either.
	Execute(ctx context.Context, tool string, input json.RawMessage) bridge.Step
	// Reload loads the document again, as a person does. It does not wait for it.
	Reload(ctx context.Context) error
}

// Element is what a person sees of the first element that matches a selector.
type Element struct {
	// Text is its text as it is rendered, and Value the value of a field, each of at most 65,536
	// characters.
	Text  string `json:"text"`
	Value string `json:"value"`
	// Count is how many elements match; with zero of them the other fields are empty.
	Count int `json:"count"`
	// Visible is true when it is rendered, and neither hidden nor transparent.
	Visible bool `json:"visible"`
}

// Prober is a Tab that can be looked at.
type Prober interface {
	// Probe returns what looks at the tab; nil when it was not opened for that.
	Probe() Probe
}

// Probe returns what looks at the page of the caller's session, which is opened when it is not
// there, or at the site's own page when ref names no session. It waits until the page counts as
// opened. The pages of the site must record.
func (m *Manager) Probe(ctx context.Context, ref bridge.Ref) (Probe, error) {
	s, err := m.site(ref.Site)
	if err != nil {
		return nil, err
	}
	page, err := m.probed(ctx, s, ref)
	if err != nil {
		return nil, err
	}
	if v, err := page.opened(ctx); err != nil {
		return nil, page.notOpened(ctx, v)
	}
	return page.probe(s.Name)
}

// probed returns the page that ref names. A session that has a page is not waited for: a call may
// be at work there.
func (m *Manager) probed(ctx context.Context, s *site, ref bridge.Ref) (*Page, error) {
	if ref.Session == "" {
		return m.catalogPage(ctx, s)
	}
	if page, _ := m.sessionPage(ref); page != nil && !page.isDead() {
		return page, nil
	}
	options, err := readPageOptions(s, ref)
	if err != nil {
		return nil, err
	}
	l, err := m.acquire(ctx, s, ref, options)
	if err != nil {
		return nil, err
	}
	defer l.Release()
	return l.Page, nil
}

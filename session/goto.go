package session

import (
	"context"
	"net/url"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/bridge/text"
)

// Goto sends the page that ref names, as in Probe, to an address of its site, relative to the one
// that it shows; "" loads that one again. It returns once the page counts as opened. Calls in
// flight are aborted. The pages of the site must record.
func (m *Manager) Goto(ctx context.Context, ref bridge.Ref, address string) error {
	s, page, err := m.probed(ctx, ref)
	if err != nil {
		return err
	}
	before, err := page.opened(ctx)
	if err != nil {
		return page.notOpened(ctx, before)
	}
	arriving := ctx
	if address == "" {
		var probe *Probe
		if probe, err = page.probe(s.Name); err == nil {
			err = probe.Reload(ctx)
		}
	} else {
		var cancel context.CancelFunc
		arriving, cancel = context.WithTimeout(ctx, arrival)
		defer cancel()
		err = page.load(ctx, s, before.url, address)
	}
	if err != nil {
		return err
	}
	_, _ = page.await(arriving, func(v *view) bool { return v.document != before.document })
	v, err := page.opened(ctx)
	if err != nil {
		return page.notOpened(ctx, v)
	}
	return nil
}

// Arrived waits until the page that ref names, as in Probe, counts as opened where a step of its
// Driver left it: in another document, or at another address of its own.
func (m *Manager) Arrived(ctx context.Context, ref bridge.Ref, step bridge.Step) error {
	_, page, err := m.probed(ctx, ref)
	if err != nil {
		return err
	}
	page.awaitRevision(ctx, step)
	if v, err := page.opened(ctx); err != nil {
		return page.notOpened(ctx, v)
	}
	return nil
}

// load opens an address that is relative to the one that the page shows.
func (p *Page) load(ctx context.Context, s *site, shown, address string) error {
	there, err := url.Parse(shown)
	if err == nil {
		there, err = there.Parse(address)
	}
	home, e := url.Parse(s.URL)
	if err != nil || e != nil || !origin.SameURL(there, home) {
		return bridge.Errorf(bridge.ConfigError, "", bridge.NotRun,
			"%q is not an address of the site: write a path, or an address of %s.",
			text.Brief(address, 200), s.Origin)
	}
	return p.tab.Load(ctx, there.String())
}

// notOpened says why a page does not count as opened: v is nil when it died.
func (p *Page) notOpened(ctx context.Context, v *view) error {
	if v == nil {
		return notRun(bridge.AsError(p.died))
	}
	return waitEnded(ctx)
}

func (p *Page) probe(site string) (*Probe, error) {
	if tab, ok := p.tab.(Prober); ok {
		if probe := tab.Probe(); probe != nil {
			return probe, nil
		}
	}
	return nil, bridge.Errorf(bridge.ConfigError, "", bridge.NotRun,
		"The pages of %q are not recorded.", site)
}

package session

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session/pageconfig"
)

// Profile is a stored login of a site, under a name that the operator chose.
type Profile struct {
	// Login is for the origin of the site.
	Login *pageconfig.Stored
	// Callers are the names of the callers that may use it; empty means only
	// bridge.Local.
	Callers []string
}

func (p Profile) isFor(c bridge.Caller) bool {
	if len(p.Callers) == 0 {
		return c.Name == bridge.Local().Name
	}
	return slices.Contains(p.Callers, c.Name)
}

// login returns the stored login of a profile. A profile that is not there and one
// that the caller may not use are refused with the same words.
func (s *site) login(profile string, c bridge.Caller) (*pageconfig.Stored, error) {
	p, there := s.Profiles[profile]
	if !there || !p.isFor(c) {
		return nil, bridge.Errorf(bridge.ConfigError, "", bridge.NotRun,
			"config.profile is not one that you may use here.")
	}
	return p.Login, nil
}

// CatalogPage waits for the site's catalog page, within ctx. Where calls share one page,
// it returns that page. Errors are *bridge.Error.
func (m *Manager) CatalogPage(ctx context.Context, name string) (*Page, error) {
	s, err := m.sites.Load().of(bridge.Ref{Site: name})
	if err != nil {
		return nil, err
	}
	return m.catalogPage(ctx, s)
}

// Gone is closed when the page is gone for good, with what it held.
func (p *Page) Gone() <-chan struct{} { return p.dead }

// StorageState returns the login that the page holds, as StorageExporter does. It is
// secret. Errors are *bridge.Error.
func (p *Page) StorageState(ctx context.Context) (json.RawMessage, error) {
	if e, ok := p.tab.(StorageExporter); ok {
		return e.StorageState(ctx)
	}
	return nil, bridge.Errorf(bridge.InternalError, bridge.Internal, bridge.NotRun,
		"The login of this page cannot be read.")
}

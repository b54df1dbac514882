package session

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/pagetools/pagetools/bridge"
)

// Profile is a stored login of a site, under a name that the operator gave it.
type Profile struct {
	// StorageState is the login, as Settings.StorageState takes it. It passes
	// CheckStorageState for the origin of the site.
	StorageState json.RawMessage
	// Callers name who may use it; empty means only the caller bridge.Local.
	Callers []string
}

// isFor reports whether the caller may use the profile.
func (p Profile) isFor(c bridge.Caller) bool {
	if len(p.Callers) == 0 {
		return c.Name == bridge.Local().Name
	}
	return slices.Contains(p.Callers, c.Name)
}

// login gives the stored login of a profile. Whether there is one that the caller
// may not use is not told: both are refused with the same words.
func (s *site) login(profile string, c bridge.Caller) (json.RawMessage, error) {
	p, there := s.Profiles[profile]
	if !there || !p.isFor(c) {
		return nil, bridge.Errorf(bridge.ConfigError, "", bridge.NotRun, "config.profile is not one that you may use here.")
	}
	return p.StorageState, nil
}

// CheckStorageState says why a text is no login of the site of an origin, in words
// that show nothing of what is in it.
func CheckStorageState(state json.RawMessage, origin string) error {
	u, err := siteURL(origin)
	if err != nil {
		return err
	}
	if len(state) == 0 {
		return errNotStored
	}
	_, err = Settings{StorageState: state}.stored(u)
	return err
}

// IsStorageState reports whether a text has the form of a login of whatever site.
func IsStorageState(text json.RawMessage) bool {
	var state storageState
	return json.Unmarshal(text, &state) == nil && !state.none()
}

// errNotStored shows nothing of the text: it could be a secret.
var errNotStored = errors.New("what is stored is not a storage state")

// CataloguePage waits for the site's catalogue page, within ctx. Where calls share
// one page, it is that. Errors are *bridge.Error.
func (m *Manager) CataloguePage(ctx context.Context, name string) (*Page, error) {
	s, err := m.site(name)
	if err != nil {
		return nil, err
	}
	return m.cataloguePage(ctx, s)
}

// Gone is closed when the page is gone for good, with what it held.
func (p *Page) Gone() <-chan struct{} { return p.dead }

// StorageState gives the login that the page holds, as StorageExporter does. It is
// secret. Errors are *bridge.Error.
func (p *Page) StorageState(ctx context.Context) (json.RawMessage, error) {
	if e, ok := p.tab.(StorageExporter); ok {
		return e.StorageState(ctx)
	}
	return nil, bridge.Errorf(bridge.InternalError, bridge.Internal, bridge.NotRun, "The login of this page cannot be read.")
}

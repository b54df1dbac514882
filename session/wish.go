package session

import (
	"encoding/json"
	"net/url"

	"github.com/pagetools/pagetools/bridge"
)

// wish is how a call wants its page to be. Nil means: as the site is.
type wish struct {
	settings Settings
	url      string
	digest   string
}

// wishOf reads what config changes about the page.
func wishOf(s *site, ref bridge.Ref) (*wish, error) {
	if ref.Page == "" {
		return nil, nil //nolint:nilnil // no wish is a wish
	}
	var in struct {
		Settings

		Path    string  `json:"path"`
		Profile *string `json:"profile"`
	}
	if err := json.Unmarshal([]byte(ref.Page), &in); err != nil {
		return nil, bridge.Errorf(bridge.ConfigError, "", bridge.NotRun, "config cannot be read.").With(err)
	}
	w := &wish{settings: in.Settings, url: s.URL}
	if in.Profile != nil {
		var err error
		if w.settings.StorageState, err = s.login(*in.Profile, ref.Caller); err != nil {
			return nil, err
		}
	}
	if in.Path != "" {
		base, err := url.Parse(s.URL)
		if err != nil {
			return nil, err
		}
		there, err := base.Parse(in.Path)
		if err != nil || there.Scheme != base.Scheme || there.Host != base.Host {
			return nil, bridge.Errorf(bridge.ConfigError, "", bridge.NotRun, "config.path is no path of the site.").With(err)
		}
		w.url = there.String()
	}
	if err := w.settings.Check(s.Origin); err != nil {
		return nil, bridge.Errorf(bridge.ConfigError, "", bridge.NotRun, "%s.", err.Error()).With(err)
	}
	w.digest = w.settings.Digest() + " " + w.url
	return w, nil
}

// fits reports whether a page that was opened for one wish is one for another:
// who wishes nothing takes what their session has.
func (w *wish) fits(there *wish) bool {
	return w == nil || there != nil && w.digest == there.digest
}

// otherPage refuses a call whose session's page is not what it wishes.
func otherPage() *bridge.Error {
	return bridge.Errorf(bridge.ConfigError, "", bridge.NotRun,
		"The page of this session was opened with other config. Use the same, none, or another sessionId.")
}

package pageconfig

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"

	"github.com/pagetools/pagetools/bridge/origin"
)

// Request holds a call's config of its page.
type Request struct {
	Settings

	// Path is the page of the site that is opened; empty means the site's own.
	Path string `json:"path"`
	// Profile names a login that the operator stored; nil means the site's own.
	Profile *string `json:"profile"`
}

// Parse reads the part of config that is about the page: a JSON object that passed
// the configSchema of the site. Empty means that nothing is asked.
func Parse(text string) (r Request, err error) {
	if text == "" {
		return r, nil
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return r, fmt.Errorf("config cannot be read: %w", err)
	}
	return r, nil
}

// Address returns the URL of the page that the request asks for on a site.
func (r Request) Address(site string) (string, error) {
	if r.Path == "" {
		return site, nil
	}
	base, err := url.Parse(site)
	if err != nil {
		return "", fmt.Errorf("reading the address of the site: %w", err)
	}
	there, err := base.Parse(r.Path)
	if err != nil || !origin.SameURL(there, base) {
		return "", errors.New("config.path is not a path of the site")
	}
	return there.String(), nil
}

// Config is settings that can be used for one site. Check makes it; nothing checks it
// again, and nothing changes it.
type Config struct{ Settings }

// Check makes the settings usable for the site of an origin, such as
// "https://shop.example"; nil when they change nothing. The error says which key of
// config cannot be, in words for a person.
//
// Kinds and ranges that a JSON Schema can say are checked where config comes in, with
// the site's configSchema. Here is the rest.
func (s Settings) Check(origin string) (*Config, error) {
	if s.IsZero() {
		return nil, nil //nolint:nilnil // nothing to change is a config
	}
	site, err := siteURL(origin)
	if err != nil {
		return nil, err
	}
	if err := s.check(site); err != nil {
		return nil, err
	}
	return &Config{s}, nil
}

// Stored returns what the browser context holds when the page opens: the login, and
// what the call set instead.
func (c *Config) Stored() Stored {
	all := Stored{LocalStorage: map[string]Secret{}}
	if c == nil {
		return all
	}
	if c.Login != nil {
		all.Cookies = slices.Clone(c.Login.Cookies)
		maps.Copy(all.LocalStorage, c.Login.LocalStorage)
	}
	all.Cookies = append(all.Cookies, c.Cookies...) // later ones replace earlier ones in the browser, too
	maps.Copy(all.LocalStorage, c.LocalStorage)
	return all
}

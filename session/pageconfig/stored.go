package pageconfig

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge/origin"
)

// Stored holds what a browser keeps for a site's host and origin.
type Stored struct {
	Cookies      []Cookie
	LocalStorage map[string]Secret
}

// storageState is the form that is in wide use, known from Playwright's
// storageState: {cookies:[…],origins:[{origin,localStorage:[{name,value}]}]}.
type storageState struct {
	Cookies []storedCookie  `json:"cookies"`
	Origins []storageOrigin `json:"origins"`
}

// none reports whether the text had neither list, so that it is not a storage state.
func (s storageState) none() bool { return s.Cookies == nil && s.Origins == nil }

// storedCookie is Cookie with its value.
type storedCookie struct {
	Cookie
	Value string `json:"value"`
	// PartitionKey names the embedding site of a cookie that only it sees.
	PartitionKey json.RawMessage `json:"partitionKey,omitempty"`
}

type storageOrigin struct {
	Origin       string       `json:"origin"`
	LocalStorage []storedItem `json:"localStorage"`
}

type storedItem struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Encode returns the storage state of a site.
func (s Stored) Encode(origin string) (json.RawMessage, error) {
	u, err := siteURL(origin)
	if err != nil {
		return nil, fmt.Errorf("encoding the storage state: %w", err)
	}
	state := storageState{Cookies: []storedCookie{}, Origins: []storageOrigin{}}
	for _, c := range s.Cookies {
		c.Domain, c.Path = cmp.Or(c.Domain, u.Hostname()), cmp.Or(c.Path, "/")
		state.Cookies = append(state.Cookies, storedCookie{Cookie: c, Value: string(c.Value)})
	}
	if len(s.LocalStorage) > 0 {
		o := storageOrigin{Origin: origin}
		for _, k := range slices.Sorted(maps.Keys(s.LocalStorage)) {
			o.LocalStorage = append(o.LocalStorage, storedItem{k, string(s.LocalStorage[k])})
		}
		state.Origins = append(state.Origins, o)
	}
	text, err := json.Marshal(state)
	if err != nil {
		return nil, fmt.Errorf("encoding the storage state: %w", err)
	}
	return text, nil
}

// errNotStored shows nothing of the text: it could be a secret.
var errNotStored = errors.New("what is stored is not a storage state")

// IsStored reports whether a text has the form of a login of any site.
func IsStored(text json.RawMessage) bool {
	var state storageState
	return json.Unmarshal(text, &state) == nil && !state.none()
}

// ParseStored reads a storage state, checks it, and leaves out what does not belong
// to the site of the origin. No error shows what is in it.
func ParseStored(text json.RawMessage, from string) (*Stored, error) {
	site, err := siteURL(from)
	if err != nil {
		return nil, err
	}
	var state storageState
	if err := json.Unmarshal(text, &state); err != nil || state.none() {
		return nil, errNotStored
	}
	all := &Stored{LocalStorage: map[string]Secret{}}
	for i, c := range state.Cookies {
		if !gets(site.Hostname(), c.Domain) || len(c.PartitionKey) > 0 {
			continue
		}
		c.Cookie.Value = Secret(c.Value)
		if err := c.check(); err != nil {
			return nil, fmt.Errorf("cookie %d of what is stored: %w", i+1, err)
		}
		all.Cookies = append(all.Cookies, c.Cookie)
	}
	for _, o := range state.Origins {
		u, err := siteURL(o.Origin)
		if err != nil || !origin.SameURL(u, site) {
			continue
		}
		for _, item := range o.LocalStorage {
			all.LocalStorage[item.Name] = Secret(item.Value)
		}
	}
	switch {
	case len(all.Cookies) > maxCookies:
		return nil, fmt.Errorf("what is stored has more than %d cookies", maxCookies)
	case len(all.Cookies) == 0 && len(all.LocalStorage) == 0 &&
		len(state.Cookies)+len(state.Origins) > 0:
		return nil, fmt.Errorf("what is stored holds nothing for %s", site.Host)
	}
	return all, checkItems(all.LocalStorage)
}

// gets reports whether a host gets the cookies of a domain (RFC 6265, 5.1.3): its
// own, and those of a domain with a dot in front that it is below.
func gets(host, domain string) bool {
	host, domain = strings.ToLower(host), strings.ToLower(domain)
	if host == domain {
		return true
	}
	_, notIP := netip.ParseAddr(host)
	return notIP != nil && strings.HasPrefix(domain, ".") && strings.HasSuffix("."+host, domain)
}

// Gets reports whether the site of an origin gets the cookies of a domain.
func Gets(origin, domain string) bool {
	u, err := siteURL(origin)
	return err == nil && gets(u.Hostname(), domain)
}

package opentools

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// Login is a security scheme that tools of a document need.
type Login struct {
	// Name is that of the scheme, and Object its Security Scheme Object (OpenAPI 4.8.27), which is no
	// reference.
	Name   string
	Object json.RawMessage
	// Scopes are those that the tools need.
	Scopes []string
	// Servers are those of the tools.
	Servers []*url.URL
}

// Logins returns the security schemes that some tools of the document need, by name. Servers of
// other origins than the document's and those that are allowed are left out, and so is what the
// document names and does not have.
func (f *Found) Logins(tools []*Tool, allowed []string) []Login {
	all := map[string]*Login{}
	for _, t := range tools {
		server := f.loginServer(t, allowed)
		if server == nil {
			continue
		}
		for name, scopes := range f.loginSchemes(t) {
			object, err := f.resolved(f.components["securitySchemes"][name])
			if err != nil {
				continue
			}
			l := all[name]
			if l == nil {
				l = &Login{Name: name, Object: object}
				all[name] = l
			}
			for _, s := range scopes {
				if !slices.Contains(l.Scopes, s) {
					l.Scopes = append(l.Scopes, s)
				}
			}
			same := func(u *url.URL) bool { return u.String() == server.String() }
			if !slices.ContainsFunc(l.Servers, same) {
				l.Servers = append(l.Servers, server)
			}
		}
	}
	logins := make([]Login, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		// What is above another one comes first: its login may be good for both.
		slices.SortFunc(all[name].Servers, func(a, b *url.URL) int {
			return cmp.Compare(len(a.Path), len(b.Path))
		})
		logins = append(logins, *all[name])
	}
	return logins
}

// loginSchemes are the schemes of all alternatives of a tool, with their scopes.
func (f *Found) loginSchemes(t *Tool) map[string][]string {
	text := t.security
	if len(text) == 0 {
		text = f.security
	}
	var alternatives []map[string][]string
	if len(text) == 0 || json.Unmarshal(text, &alternatives) != nil {
		return nil
	}
	all := map[string][]string{}
	for _, one := range alternatives {
		for name, scopes := range one {
			all[name] = append(all[name], scopes...)
		}
	}
	return all
}

// loginServer is the first server of those origins (B12); nil is none.
func (f *Found) loginServer(t *Tool, allowed []string) *url.URL {
	text := t.servers
	if len(text) == 0 {
		text = f.servers
	}
	var servers []struct {
		URL       string
		Variables map[string]struct{ Default string }
	}
	if len(text) > 0 && json.Unmarshal(text, &servers) != nil {
		return nil
	}
	if len(servers) == 0 {
		root, _ := f.URL.Parse("/") // it always can be read
		return root
	}
	for _, s := range servers {
		for name, v := range s.Variables {
			s.URL = strings.ReplaceAll(s.URL, "{"+name+"}", v.Default)
		}
		u, err := f.URL.Parse(s.URL)
		if err == nil && (sameOrigin(u, f.URL) || slices.ContainsFunc(allowed, func(origin string) bool {
			o, err := url.Parse(origin)
			return err == nil && sameOrigin(u, o)
		})) {
			u.RawQuery, u.Fragment, u.User = "", "", nil
			return u
		}
	}
	return nil
}

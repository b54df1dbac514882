package opentools

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// About holds an API's description of itself, without its tools and its document, which may be
// large.
type About struct {
	Location
	// Title and Version come from info.
	Title, Version string
	// Root is x-llm at the root; nil when the document has none.
	Root *Root
	// Operations counts those of the document, and Omitted those that are no tools.
	Operations int
	Omitted    Omitted
	// Logins are the security schemes that its tools need.
	Logins []Login
}

func aboutOf(f *Found) About {
	return About{Location: f.Location, Title: f.Title, Version: f.Version, Root: f.Root, Operations: len(f.Operations)}
}

// Omitted counts operations of a document that are no tools, by the reason.
type Omitted struct {
	Unmarked  int // they have no x-llm, and are not exposed
	Disabled  int // their x-llm says enabled: false
	Elsewhere int // their server is of an origin that is not allowed
	Unusable  int // they cannot be read, or are over a limit
}

// Reasons says how many operations are no tools, and why.
func (o Omitted) Reasons() (all []string) {
	for _, r := range []struct {
		n         int
		one, more string
	}{
		{o.Unmarked, "has no x-llm", "have no x-llm"},
		{o.Disabled, "has x-llm with enabled: false", "have x-llm with enabled: false"},
		{o.Elsewhere, "has a server of another origin", "have servers of other origins"},
		{o.Unusable, "cannot be used", "cannot be used"},
	} {
		switch r.n {
		case 0:
		case 1:
			all = append(all, "1 "+r.one)
		default:
			all = append(all, fmt.Sprintf("%d %s", r.n, r.more))
		}
	}
	return all
}

// Empty says why no operation is a tool.
func (a *About) Empty() string {
	switch reasons := a.Omitted.Reasons(); {
	case a.Operations == 0:
		return "its document has no operations"
	case a.Operations == 1 && len(reasons) == 1:
		return "its only operation " + strings.TrimPrefix(reasons[0], "1 ")
	case a.Omitted.Unmarked == a.Operations:
		return fmt.Sprintf("none of its %d operations has x-llm", a.Operations)
	default:
		return fmt.Sprintf("of %d operations, %s", a.Operations, strings.Join(reasons, ", "))
	}
}

// Name returns the API's own name.
func (a *About) Name() string {
	if a.Root != nil && a.Root.Name != "" {
		return a.Root.Name
	}
	return a.Title
}

// Login is a security scheme that tools of a document need.
type Login struct {
	// Name and Object are the scheme's name and its Security Scheme Object (OpenAPI 4.8.27), never
	// a reference.
	Name   string
	Object json.RawMessage
	// Scopes lists the scopes that the tools need.
	Scopes []string
	// Servers lists the servers of the tools.
	Servers []*url.URL
}

// Logins returns the security schemes that some tools of the document need, by name. It leaves out
// servers of origins that are neither the document's nor allowed, and schemes that the document
// names and does not define.
func (f *Found) Logins(tools []*Tool, allowed []string) []Login {
	var here []offered
	for _, t := range tools {
		if server, err := t.serverOf(f.Document, f.URL, allowed, nil); err == nil {
			here = append(here, offered{t, server, f.alternatives(t)})
		}
	}
	return loginsOf(here)
}

func loginsOf(tools []offered) []Login {
	all := map[string]*Login{}
	for _, t := range tools {
		for _, scheme := range slices.Concat(t.alternatives...) {
			l := all[scheme.Name]
			if l == nil {
				l = &Login{Name: scheme.Name, Object: scheme.Object}
				all[scheme.Name] = l
			}
			for _, s := range scheme.Scopes {
				if !slices.Contains(l.Scopes, s) {
					l.Scopes = append(l.Scopes, s)
				}
			}
			same := func(u *url.URL) bool { return u.String() == t.server.String() }
			if !slices.ContainsFunc(l.Servers, same) {
				l.Servers = append(l.Servers, t.server)
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

package transport

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pagetools/pagetools/bridge"
)

// Route is a path and what answers there.
type Route struct {
	// Pattern is a path of literal and {named} segments, such as
	// "/webtools/{site}". It has no trailing slash, and matches with and
	// without one. A handler finds named segments with r.PathValue.
	Pattern string
	// Methods are the handlers. GET answers HEAD too; OPTIONS is answered by
	// the Mux.
	Methods map[string]http.HandlerFunc
	// When narrows what named segments match; a name that is missing matches
	// anything.
	When map[string]func(segment string) bool
}

// Mux finds the handler of a path exactly: it never cleans a path, never
// redirects, and answers unknown paths and methods in JSON. The first route
// that matches counts. Routes are added before it serves.
type Mux struct{ routes []route }

type route struct {
	Route
	segments []segment
	allow    string
}

type segment struct {
	text string // literal, or the name
	name bool
}

// NewMux makes a Mux with these routes.
func NewMux(routes ...Route) *Mux {
	m := &Mux{}
	m.Add(routes...)
	return m
}

// Add adds routes. It panics on a pattern that cannot be read.
func (m *Mux) Add(routes ...Route) {
	for _, one := range routes {
		rt := route{Route: one, allow: allowed(one.Methods)}
		if !strings.HasPrefix(one.Pattern, "/") || len(one.Methods) == 0 {
			panic("transport: not a route: " + one.Pattern)
		}
		for s := range strings.SplitSeq(strings.Trim(one.Pattern, "/"), "/") {
			name := strings.HasPrefix(s, "{") && strings.HasSuffix(s, "}")
			rt.segments = append(rt.segments, segment{strings.Trim(s, "{}"), name})
		}
		if one.Pattern == "/" {
			rt.segments = nil
		}
		m.routes = append(m.routes, rt)
	}
}

// allowed is the Allow header of the methods, in alphabetical order.
func allowed(methods map[string]http.HandlerFunc) string {
	names := []string{http.MethodOptions}
	for name := range methods {
		names = append(names, name)
		if name == http.MethodGet {
			names = append(names, http.MethodHead)
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

// ServeHTTP answers from the route of the path.
func (m *Mux) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	segments, known := split(r.URL.EscapedPath())
	if !known {
		notFound(w, r)
		return
	}
	for i := range m.routes {
		if rt := &m.routes[i]; rt.matches(segments) {
			rt.serve(w, r, segments)
			return
		}
	}
	notFound(w, r)
}

func (rt *route) serve(w http.ResponseWriter, r *http.Request, segments []string) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	h := rt.Methods[method]
	switch {
	case h != nil:
		for i, s := range rt.segments {
			if s.name {
				r.SetPathValue(s.text, segments[i])
			}
		}
		h(w, r)
	case method == http.MethodOptions:
		w.Header().Set("Allow", rt.allow)
		w.WriteHeader(http.StatusNoContent)
	default:
		w.Header().Set("Allow", rt.allow)
		WriteError(w, r, bridge.Errorf(bridge.MethodNotAllowed, "", bridge.NotRun, "This path answers only %s.", rt.allow))
	}
}

func (rt *route) matches(segments []string) bool {
	if len(segments) != len(rt.segments) {
		return false
	}
	for i, s := range rt.segments {
		if !s.name {
			if s.text != segments[i] {
				return false
			}
		} else if when := rt.When[s.text]; when != nil && !when(segments[i]) {
			return false
		}
	}
	return true
}

func notFound(w http.ResponseWriter, r *http.Request) {
	WriteError(w, r, bridge.Errorf(bridge.WebtoolNotFound, "", bridge.NotRun, "There is nothing at this path."))
}

// split takes a path apart and decodes each segment once, so that an encoded
// slash stays in its segment. One trailing slash does not count. Paths that
// other programs may read in another way are not known: dot segments, empty
// segments, control characters, and what is not UTF-8.
func split(escaped string) (segments []string, known bool) {
	path, ok := strings.CutPrefix(escaped, "/")
	if !ok {
		return nil, false
	}
	if path == "" {
		return nil, true
	}
	segments = strings.Split(strings.TrimSuffix(path, "/"), "/")
	for i, s := range segments {
		if strings.Contains(s, "%") {
			var err error
			if s, err = url.PathUnescape(s); err != nil {
				return nil, false
			}
			segments[i] = s
		}
		if s == "" || s == "." || s == ".." || !utf8.ValidString(s) || strings.ContainsFunc(s, isControl) {
			return nil, false
		}
	}
	return segments, true
}

func isControl(c rune) bool { return c < ' ' || c == 0x7f }

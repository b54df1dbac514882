package transport

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
)

// Route is a path and what answers there.
type Route struct {
	// Pattern is a path as http.ServeMux has it, such as "/webtools/{site}". It has
	// neither a method nor a trailing slash, and matches with and without one. A
	// handler finds named segments with r.PathValue.
	Pattern string
	// Methods are the handlers. GET answers HEAD too; OPTIONS is answered by
	// the Mux.
	Methods map[string]http.HandlerFunc
	// When narrows what named segments may be; a name that is missing takes anything.
	// A path that does not fit is not found.
	When map[string]func(segment string) bool
}

// Get returns the route of a path that answers GET only.
func Get(pattern string, h http.HandlerFunc) Route {
	return Route{Pattern: pattern, Methods: map[string]http.HandlerFunc{http.MethodGet: h}}
}

// Mux is http.ServeMux for paths that mean one thing to everybody: it never redirects,
// answers unknown paths and methods in JSON, and takes one trailing slash for none.
// Routes are added before it serves.
type Mux struct {
	mux   *http.ServeMux
	roots []string // the paths that are whole, for those who are lost
}

type route struct {
	Route

	mux   *Mux
	allow string
}

// NewMux makes a Mux with these routes.
func NewMux(routes ...Route) *Mux {
	m := &Mux{mux: http.NewServeMux()}
	m.mux.HandleFunc("/", m.notFound)
	m.Add(routes...)
	return m
}

// Add adds routes. It panics on a pattern that cannot be read.
func (m *Mux) Add(routes ...Route) {
	for _, one := range routes {
		if !strings.HasPrefix(one.Pattern, "/") || len(one.Methods) == 0 {
			panic("transport: not a route: " + one.Pattern)
		}
		pattern := one.Pattern
		if pattern == "/" {
			pattern = "/{$}"
		}
		m.mux.Handle(pattern, &route{one, m, allowed(one.Methods)})
		if !strings.Contains(one.Pattern, "{") && !slices.Contains(m.roots, one.Pattern) {
			m.roots = append(m.roots, one.Pattern)
		}
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
	path := r.URL.EscapedPath()
	if !plain(path) {
		m.notFound(w, r)
		return
	}
	if strings.HasSuffix(path, "/") && path != "/" {
		again, address := *r, *r.URL
		address.Path, address.RawPath = strings.TrimSuffix(address.Path,
			"/"), strings.TrimSuffix(address.RawPath, "/")
		again.URL = &address
		r = &again
	}
	m.mux.ServeHTTP(w, r)
}

// ServeHTTP answers a request to the route's path.
func (rt *route) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name, fits := range rt.When {
		if !fits(r.PathValue(name)) {
			rt.mux.notFound(w, r)
			return
		}
	}
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	h := rt.Methods[method]
	switch {
	case h != nil:
		h(w, r)
	case method == http.MethodOptions:
		w.Header().Set("Allow", rt.allow)
		w.WriteHeader(http.StatusNoContent)
	default:
		w.Header().Set("Allow", rt.allow)
		WriteError(w, r, bridge.Errorf(bridge.MethodNotAllowed, "", bridge.NotRun,
			"%s is not for this path: it answers only %s.", text.Brief(r.Method, maxShown), rt.allow))
	}
}

func (m *Mux) notFound(w http.ResponseWriter, r *http.Request) {
	WriteError(w, r, bridge.Errorf(bridge.WebtoolNotFound, "", bridge.NotRun,
		"There is nothing at %q. Available: %s.", text.Brief(r.URL.Path, maxShown), strings.Join(m.roots, ", ")))
}

// plain refuses paths that other programs may read in another way, and that
// http.ServeMux would redirect: dot segments, empty segments, control characters, and
// what is not UTF-8. An encoded slash stays in its segment; alone there, http.ServeMux
// would take it for the end of the path. One trailing slash does not count.
func plain(escaped string) bool {
	path, ok := strings.CutPrefix(escaped, "/")
	if !ok {
		return false
	}
	if path == "" {
		return true
	}
	for s := range strings.SplitSeq(strings.TrimSuffix(path, "/"), "/") {
		if strings.Contains(s, "%") {
			var err error
			if s, err = url.PathUnescape(s); err != nil {
				return false
			}
		}
		if s == "" || s == "/" || s == "." || s == ".." || !utf8.ValidString(s) ||
			strings.ContainsFunc(s, isControl) {
			return false
		}
	}
	return true
}

func isControl(c rune) bool { return c < ' ' || c == 0x7f }

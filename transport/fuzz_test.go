package transport

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// FuzzPath: a path that is plain has no segment that another program could read in
// another way, and is answered, never redirected.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{"/", "/a/b/", "/a%2Fb", "//", "/a/../b", "/%00", "/%zz", "/é", "/%c3%a9", "a"} {
		f.Add(seed)
	}
	mux := NewMux(Route{Pattern: "/a/{b}", Methods: map[string]http.HandlerFunc{http.MethodGet: func(http.ResponseWriter, *http.Request) {}}})
	f.Fuzz(func(t *testing.T, path string) {
		u, err := url.ParseRequestURI(path)
		if err != nil || !plain(u.EscapedPath()) {
			return
		}
		for s := range strings.SplitSeq(strings.Trim(u.EscapedPath(), "/"), "/") {
			s, err := url.PathUnescape(s)
			if err != nil || s == "" && u.EscapedPath() != "/" || s == "." || s == ".." || strings.ContainsFunc(s, isControl) {
				t.Fatalf("%q has the segment %q", path, s)
			}
		}
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, &http.Request{Method: http.MethodGet, URL: u, Header: http.Header{}})
		if w.Code != http.StatusOK && w.Code != http.StatusNotFound {
			t.Fatalf("%q is answered with %d", path, w.Code)
		}
	})
}

// FuzzHost: a host that is accepted has no character that could end it in a
// URL.
func FuzzHost(f *testing.F) {
	for _, seed := range []string{"a", "a:1", "[::1]:80", "a@b", "a/b", "a:", ":1", "[a", "a:99999", "A.b-c_d"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		h, ok := parseHost(s)
		if !ok {
			return
		}
		u, err := url.Parse("http://" + s + "/x")
		if h.name == "" || strings.ContainsAny(s, "/@?#\\ \r\n\x00,%") || err == nil && u.Path != "/x" {
			t.Fatalf("%q is %+v", s, h)
		}
	})
}

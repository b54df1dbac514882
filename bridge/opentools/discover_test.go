package opentools_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/bridge/opentools"
)

// TestDiscover (O1, O7, O8, B2): whatever a site says of its document, it is found, by the first of
// the ways.
func TestDiscover(t *testing.T) {
	t.Parallel()
	const marked, plain = `{"openapi":"3.1.0","info":{"title":"Marked","version":"1"},"x-llm":{"version":"0.1","name":"M"},"paths":{}}`,
		`{"openapi":"3.0.0","info":{"title":"Plain","version":"1"},"paths":{}}`
	for name, x := range map[string]struct {
		site  map[string]string // bodies by path; a path with "Link: " has that header
		from  string
		guess bool
		route opentools.Route
		at    string
		title string
		auth  string
		not   string // what is said of the address
	}{
		"a document that is not there": {site: map[string]string{"/.well-known/llm.json": `{"openapi":"/openapi.json"}`, "/openapi.json": marked}, from: "/a.json", route: opentools.WellKnown, at: "/openapi.json", title: "Marked", not: "/a.json: it answers 404"},
		"a document that is a page":    {site: map[string]string{"/a.json": "<p>Hello", "/.well-known/llm.json": `{"openapi":"/openapi.json"}`, "/openapi.json": marked}, from: "/a.json", route: opentools.WellKnown, at: "/openapi.json", title: "Marked", not: "/a.json: it is a page"},
		"a document that is cut":       {site: map[string]string{"/a.json": `{"openapi":"3.1.0",`, "/.well-known/llm.json": `{"openapi":"/openapi.json"}`, "/openapi.json": marked}, from: "/a.json", route: opentools.WellKnown, at: "/openapi.json", title: "Marked", not: "/a.json: it is not an OpenAPI document"},
		"the document itself":          {site: map[string]string{"/a.json": plain}, from: "/a.json", route: opentools.Given, at: "/a.json", title: "Plain"},
		"in YAML":                      {site: map[string]string{"/a.yaml": "openapi: 3.0.0\ninfo: {title: Plain, version: '1'}\npaths: {}\n"}, from: "/a.yaml", route: opentools.Given, at: "/a.yaml", title: "Plain"},
		"a version without quotes":     {site: map[string]string{"/a.json": strings.Replace(plain, `"3.0.0"`, "3.0", 1)}, from: "/a.json", route: opentools.Given, at: "/a.json", title: "Plain"},
		"a version with a v":           {site: map[string]string{"/a.json": strings.Replace(plain, `"3.0.0"`, `" v3.1.0"`, 1)}, from: "/a.json", route: opentools.Given, at: "/a.json", title: "Plain"},
		"YAML without quotes":          {site: map[string]string{"/a.yaml": "openapi: 3.1\ninfo: {title: Plain, version: 1}\npaths: {}\n"}, from: "/a.yaml", route: opentools.Given, at: "/a.yaml", title: "Plain"},
		"YAML of 3.0":                  {site: map[string]string{"/a.yaml": "openapi: 3.0\ninfo: {title: Plain, version: 1}\npaths: {}\n"}, from: "/a.yaml", route: opentools.Given, at: "/a.yaml", title: "Plain"},
		"a number that only counts":    {site: map[string]string{"/a.json": `{"openapi":3.1,"models":[]}`, "/.well-known/openapi.json": marked}, from: "/a.json", route: opentools.Convention, at: "/.well-known/openapi.json", title: "Marked", not: "/a.json: it is not an OpenAPI document"},
		"llm.json itself":              {site: map[string]string{"/x/llm.json": `{"openapi":"doc.json"}`, "/x/doc.json": marked}, from: "/x/llm.json", route: opentools.Given, at: "/x/doc.json", title: "Marked"},
		"well-known":                   {site: map[string]string{"/": "<p>Hello", "/.well-known/llm.json": `{"openapi":"/openapi.json","auth":"oauth2"}`, "/openapi.json": marked, "/.well-known/openapi.json": plain}, from: "/", route: opentools.WellKnown, at: "/openapi.json", title: "Marked", auth: "oauth2"},
		"auth as an object":            {site: map[string]string{"/.well-known/llm.json": `{"openapi":"/openapi.json","auth":{"type":"bearer"}}`, "/openapi.json": marked}, from: "/page", route: opentools.WellKnown, at: "/openapi.json", title: "Marked", auth: "bearer"},
		"another llm.json":             {site: map[string]string{"/.well-known/llm.json": `{"models":["a"],"openapi":3}`, "/.well-known/openapi.json": marked}, from: "/", route: opentools.Convention, at: "/.well-known/openapi.json", title: "Marked"},
		"llm.json is a document":       {site: map[string]string{"/.well-known/llm.json": plain, "/.well-known/openapi.json": marked}, from: "/", route: opentools.Convention, at: "/.well-known/openapi.json", title: "Marked"},
		"beside":                       {site: map[string]string{"/sites/shop/.well-known/llm.json": `{"openapi":"/sites/shop/openapi.json"}`, "/sites/shop/openapi.json": marked}, from: "/sites/shop?x=1", route: opentools.Beside, at: "/sites/shop/openapi.json", title: "Marked"},
		"without x-llm":                {site: map[string]string{"/.well-known/openapi.json": plain}, from: "/"},
		"a header":                     {site: map[string]string{"/ Link: </other>; rel=next, </docs/api>; rel=\"help service-desc\"; type=\"application/json\"": "hello", "/docs/api": plain}, from: "/", route: opentools.Linked, at: "/docs/api", title: "Plain"},
		"a link of the page":           {site: map[string]string{"/app/": `<html><head><link rel="icon" href="/i"><LINK REL=service-desc HREF="api.json">`, "/app/api.json": plain}, from: "/app/", route: opentools.Linked, at: "/app/api.json", title: "Plain"},
		"a catalogue":                  {site: map[string]string{"/.well-known/api-catalog": `{"linkset":[{"anchor":"/","service-desc":[{"href":"/api.json"}]}]}`, "/api.json": plain}, from: "/", route: opentools.Catalog, at: "/api.json", title: "Plain"},
		"a list of resources":          {site: map[string]string{"/.well-known/ard.json": `{"resources":[{"type":"mcp","url":"/mcp"},{"type":"application/vnd.oai.openapi+json","url":"/api.json"}]}`, "/api.json": plain}, from: "/", route: opentools.Resources, at: "/api.json", title: "Plain"},
		"a guess":                      {site: map[string]string{"/v3/api-docs": plain}, from: "/", guess: true, route: opentools.Guessed, at: "/v3/api-docs", title: "Plain"},
		"no guess":                     {site: map[string]string{"/v3/api-docs": plain}, from: "/"},
		"elsewhere":                    {site: map[string]string{"/.well-known/llm.json": `{"openapi":"https://other.example/openapi.json"}`}, from: "/"},
		"a redirect elsewhere":         {site: map[string]string{"/.well-known/llm.json": `{"openapi":"/away"}`, "/away": "Location: https://other.example/openapi.json"}, from: "/"},
		"a redirect within":            {site: map[string]string{"/.well-known/llm.json": `{"openapi":"/moved"}`, "/moved": "Location: /openapi.json", "/openapi.json": marked}, from: "/", route: opentools.WellKnown, at: "/openapi.json", title: "Marked"},
		"redirects for ever":           {site: map[string]string{"/.well-known/llm.json": `{"openapi":"/moved"}`, "/moved": "Location: /moved"}, from: "/"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				for key, body := range x.site {
					path, link, linked := strings.Cut(key, " Link: ")
					if r.URL.Path != path {
						continue
					}
					if to, ok := strings.CutPrefix(body, "Location: "); ok {
						http.Redirect(w, r, to, http.StatusFound)
						return
					}
					if linked {
						w.Header().Set("Link", link)
					}
					_, _ = w.Write([]byte(body))
					return
				}
				http.NotFound(w, r)
			}))
			defer server.Close()
			d := opentools.Discoverer{Client: server.Client(), Guess: x.guess}
			found, err := d.Discover(t.Context(), server.URL+x.from)
			if x.route == "" {
				if !errors.Is(err, opentools.ErrNotFound) || !strings.Contains(err.Error(), ": ") {
					t.Errorf("%+v, %v", found, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if x.not != "" {
				x.not = server.URL + x.not
			}
			if found.Instead != x.not || found.Route != x.route || found.URL.Path != x.at || found.Title != x.title || found.Auth != x.auth || len(found.Title) == 0 {
				t.Errorf("found by %s at %s: %s (%s), instead: %q", found.Route, found.URL, found.Title, found.Auth, found.Instead)
			}
		})
	}
}

// TestDiscoverBad: what is found and cannot be read is said; nothing is asked of what is no web
// address.
func TestDiscoverBad(t *testing.T) {
	gatetest.NoRace(t)
	t.Parallel()
	for body, want := range map[string]string{
		`{"swagger":"2.0","paths":{}}`:                            "Swagger 2",
		`{"openapi":"4.0.0"}`:                                     "3.0, 3.1 and 3.2 are known",
		`{"openapi":"3.1.0","x-llm":{"version":"2.0"}}`:           `version "2.0" is not known`,
		"openapi: 4.1.0\na: &a [1,1]\nb: &b [*a,*a]\npaths: []\n": "3.0, 3.1 and 3.2 are known",
		"a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\nopenapi: 3.1.0\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n": "no OpenTools document was found",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/doc" {
				_, _ = w.Write([]byte(body))
				return
			}
			http.NotFound(w, r)
		}))
		d := opentools.Discoverer{Client: server.Client()}
		if found, err := d.Discover(t.Context(), server.URL+"/doc"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, %v", body, found, err)
		}
		server.Close()
	}
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	d := opentools.Discoverer{Client: http.DefaultClient}
	if _, err := d.Discover(t.Context(), "https"+strings.TrimPrefix(plain.URL, "http")+"/openapi.json"); err == nil ||
		strings.Count(err.Error(), "HTTP response to HTTPS client") != 1 {
		t.Errorf("https where there is http: %v", err)
	}
	for _, address := range []string{"", "shop.example", "file:///etc/passwd", "https://", "ftp://x/"} {
		if _, err := d.Discover(t.Context(), address); err == nil || !strings.Contains(err.Error(), "is not a web address") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

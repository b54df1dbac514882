package serve_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/pagetools/pagetools/e2e/suite"
)

// configuredSite is a site whose pages offer other tools, as their address, the request and the
// browser have it.
func configuredSite(t *testing.T) string {
	t.Helper()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		offered := r.URL.Path[1:]
		if offered == "" {
			offered = "home"
		}
		if r.Header.Get("X-Plan") != "" {
			offered = "planned"
		}
		if c, err := r.Cookie("user"); err == nil {
			offered = "of_" + c.Value
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, `<!doctype html><meta charset=utf-8><link rel=icon href=data:,><title>Configured</title><script>
const add = (name) => document.modelContext.registerTool({name, description: 'Says its name.', annotations: {readOnlyHint: name !== 'writes'},
  execute: () => [name, location.pathname].join(' ')});
let name = %q;
if (matchMedia('(prefers-color-scheme: dark)').matches) name = 'dark';
if (innerWidth === 321) name = 'narrow';
if (navigator.language === 'eo') name = 'esperanto';
if (localStorage.getItem('beta')) name = 'beta';
if (name === 'late') setTimeout(add, 700, name); else add(name);
</script>`, offered)
	}))
	t.Cleanup(site.Close)
	return site.URL + "/"
}

// TestConfiguredPages (F6): a tool is looked for in the page that the call will run in, whatever in
// config makes that another one.
func TestConfiguredPages(t *testing.T) {
	t.Parallel()
	config := suite.WriteFile(t, "x.yaml", fmt.Sprintf(`sites: [{name: site, target: %q, rates: {"writ*": 2/1h},
  allow-config: [path, cookies, headers, localStorage, colorScheme, viewport, locale]}]`, configuredSite(t)))
	s := suite.Serve(t, "--config", config)
	for _, x := range []struct{ config, tool, says string }{
		{"{}", "home", "home /"},
		{`{"path":"/other"}`, "other", "other /other"},
		{`{"path":"/late?x=1"}`, "late", "late /late"},
		{`{"cookies":[{"name":"user","value":"anna"}]}`, "of_anna", "of_anna /"},
		{`{"headers":{"X-Plan":"b"}}`, "planned", "planned /"},
		{`{"localStorage":{"beta":"1"}}`, "beta", "beta /"},
		{`{"colorScheme":"dark"}`, "dark", "dark /"},
		{`{"viewport":{"width":321,"height":500}}`, "narrow", "narrow /"},
		{`{"locale":"eo"}`, "esperanto", "esperanto /"},
	} {
		for _, session := range []string{"", x.tool} {
			if got := suite.AsksFor(t, s, "", "site", session, x.tool, x.config).OK(t); got != x.says {
				t.Errorf("%s, %s in session %q: %v", x.config, x.tool, session, got)
			}
			if session == "" {
				continue // a fresh page is given time
			}
			f := suite.AsksFor(t, s, "", "site", session, "absent", x.config).Failed(t)
			if names, _ := f.Details["actions"].([]any); f.Code != "WEBTOOL_NOT_FOUND" || !slices.Equal(names, []any{x.tool}) {
				t.Errorf("%s: %+v", x.config, f)
			}
		}
		if r := suite.AsksFor(t, s, "", "site", x.tool, x.tool, "{}"); r.OK(t) != x.says {
			t.Errorf("%s: the session has another page: %s", x.config, r.Body)
		}
	}
	if r := suite.AsksFor(t, s, "", "site", "", "home", `{"path":"/other"}`); r.Status != http.StatusNotFound {
		t.Errorf("a tool of the start page runs in another: %s", r.Body)
	}
	// Nobody is there to ask: the person would be asked about the tool of that page, and no page is
	// held.
	for _, session := range []string{"", "asks"} {
		r := suite.AsksFor(t, s, "", "site", session, "writes", `{"path":"/writes"}`)
		if q, _ := r.Waiting(t, http.StatusForbidden, "APPROVAL_REQUIRED"); q["tool"] != "writes" {
			t.Errorf("the question is %v", q)
		}
	}
	if r := suite.AsksFor(t, s, "", "site", "", "writes", `{"path":"/writes"}`); r.Status != http.StatusTooManyRequests {
		t.Errorf("the rate of the tool does not count in its page: %s", r.Body)
	}
}

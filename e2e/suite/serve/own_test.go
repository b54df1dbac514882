package serve_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/e2e/suite"
)

const mailPage = `<!doctype html><title>mail</title><script>
	document.modelContext?.registerTool({name: 'whoami', description: 'Says who is logged in.', inputSchema: {type: 'object'},
		annotations: {readOnlyHint: true}, execute: async () => (await fetch('/me')).text()});
	document.modelContext?.registerTool({name: 'count', description: 'Counts.', inputSchema: {type: 'object'},
		execute: () => globalThis.n = (globalThis.n ?? 0) + 1});
</script>`

// mailSite is a site behind a login: /login logs Ada in.
func mailSite(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/me":
			name := "nobody"
			if c, err := r.Cookie("login"); err == nil {
				name = c.Value
			}
			_, _ = io.WriteString(w, name)
			return
		case "/login":
			http.SetCookie(w, &http.Cookie{Name: "login", Value: "Ada", HttpOnly: true})
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, mailPage)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// openTabs lists the ids of the tabs of a browser, by address.
func openTabs(t *testing.T, browser string) map[string]string {
	t.Helper()
	resp, err := http.Get(browser + "/json/list")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var all []struct{ Type, URL, ID string }
	if err := json.NewDecoder(resp.Body).Decode(&all); err != nil {
		t.Fatal(err)
	}
	tabs := map[string]string{}
	for _, x := range all {
		if x.Type == "page" {
			tabs[x.URL] = x.ID
		}
	}
	return tabs
}

// TestAutoConnect: the tools of a site have the login of the browser that a person uses, in one tab of its own.
// Every call asks first; nothing of the page is changed; the tab comes again when the person closes it,
// and goes at the end.
func TestAutoConnect(t *testing.T) {
	t.Parallel()
	mail := mailSite(t)
	browser, profile := suite.UsersBrowser(t, mail+"/login")
	suite.Eventually(t, suite.ReplyWithin, "the person's tab", func() bool { return openTabs(t, browser)[mail+"/login"] != "" })
	before := openTabs(t, browser)
	own := []string{suite.OwnBrowser, "--auto-connect", "--user-data-dir", profile}

	asking := suite.Serve(t, append([]string{"mail=" + mail}, own...)...)
	asking.Ask("/webtools/mail", `{"action":"whoami","request":{}}`).Refused(t, http.StatusForbidden, "APPROVAL_REQUIRED")
	if said := asking.Stderr.String(); !strings.Contains(said, "pages act as you, with the logins of your browser") {
		t.Errorf("it does not warn: %s", said)
	}
	s := suite.Serve(t, append([]string{"mail=" + mail, "--approval", "auto"}, own...)...)
	if got := s.Ask("/webtools/mail", `{"action":"whoami","request":{}}`).OK(t); got != "Ada" {
		t.Errorf("the tool sees %v", got)
	}
	for i, session := range []string{``, `"sessionId":"a",`, `"sessionId":"b",`} {
		if got := s.Ask("/webtools/mail", `{`+session+`"action":"count","request":{}}`).OK(t); got != float64(i+1) {
			t.Errorf("call %d of the tab counts %v", i+1, got)
		}
	}
	s.Ask("/webtools/mail", `{"action":"whoami","config":{"locale":"de-DE"},"request":{}}`).Refused(t, http.StatusBadRequest, "CONFIG_ERROR")
	if err := asking.Stop(); err != nil {
		t.Error(err)
	}
	suite.Eventually(t, suite.ReplyWithin, "one tab besides the person's", func() bool { return len(openTabs(t, browser)) == len(before)+1 })

	first := openTabs(t, browser)[mail+"/"]
	if resp, err := http.Get(browser + "/json/close/" + first); err == nil { // the person closes it
		_ = resp.Body.Close()
	}
	suite.Eventually(t, suite.ReplyWithin, "another tab", func() bool {
		now := openTabs(t, browser)[mail+"/"]
		return now != "" && now != first
	})
	if got := s.Ask("/webtools/mail", `{"action":"count","request":{}}`).OK(t); got != float64(1) {
		t.Errorf("the other tab counts %v", got)
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	if after := openTabs(t, browser); len(after) != len(before) || after[mail+"/login"] != before[mail+"/login"] {
		t.Errorf("the tabs were %v and are %v", before, after)
	}
}

// TestAutoConnectVerbs: the verbs that open one page use the person's browser, over MCP, too; those that need
// more say so.
func TestAutoConnectVerbs(t *testing.T) {
	t.Parallel()
	mail := mailSite(t)
	browser, profile := suite.UsersBrowser(t, mail+"/login")
	suite.Eventually(t, suite.ReplyWithin, "the person's tab", func() bool { return openTabs(t, browser)[mail+"/login"] != "" })
	before := openTabs(t, browser)
	run := func(code int, args ...string) string {
		t.Helper()
		return suite.PagetoolsRun(t, code, append(args, suite.OwnBrowser, "--auto-connect", "--user-data-dir", profile)...)
	}
	for want, got := range map[string]string{
		"whoami": run(0, "tools", mail+"/"),
		"\nAda":  run(0, "call", mail+"/", "whoami", "--approval", "auto"),
		"reloading your open tab " + mail + "/login, so that its tools can be called\nAda": run(0, "call", mail+"/", "whoami", "--approval", "auto",
			"--attach", mail+"/log*"),
		"needs a person's consent":                             run(6, "call", mail+"/", "whoami"),
		"No open tab of " + mail + " has":                      run(4, "tools", mail+"/", "--attach", mail+"/none"),
		"yours: " + profile + "/DevToolsActivePort names port": run(0, "doctor", mail+"/"),
		"a test needs pages of its own":                        run(2, "check", mail+"/"),
		"log in in your browser":                               run(2, "login", mail+"/", "--save-storage-state", "x.json", "--headless=false"),
		"leave out --viewport":                                 run(2, "tools", mail+"/", "--viewport", "800x600"),
	} {
		if !strings.Contains(got, want) {
			t.Errorf("it does not say %q: %s", want, got)
		}
	}
	c := suite.StartMCP(t, mail+"/", suite.OwnBrowser, "--auto-connect", "--user-data-dir", profile, "--approval", "auto")
	c.Send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	c.Next()
	c.Send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	c.Send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"whoami","arguments":{}}}`)
	if got := c.Next(); !strings.Contains(got, `"text":"Ada"`) {
		t.Errorf("over MCP: %s", got)
	}
	c.Close()
	if after := openTabs(t, browser); len(after) != len(before) || after[mail+"/login"] != before[mail+"/login"] {
		t.Errorf("the tabs were %v and are %v", before, after)
	}
}

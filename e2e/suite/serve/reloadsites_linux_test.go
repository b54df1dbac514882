package serve_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/e2e/suite"
	"github.com/pagetools/pagetools/e2e/suite/docs"
)

// callersOfSites may call, and answer.
const callersOfSites = `callers:
  - {name: agent, token: agent-token-of-the-tests, may: [call]}
  - {name: person, token: person-token-of-the-tests, may: [call, answer]}
  - {name: narrow, token: narrow-token-of-the-tests, may: [call], sites: [shop]}
`

// siteLine is a line of sites.
func siteLine(name, target, more string) string {
	return fmt.Sprintf("  - {name: %s, target: %q%s}\n", name, target, more)
}

// looks counts the looks at a page of a session.
type looks struct {
	r          *reloading
	site, name string
	n          int
}

// goOn checks that the session goes on.
func (l *looks) goOn(when string) {
	l.r.t.Helper()
	l.n++
	if got := string(suite.AsksFor(l.r.t, l.r.Server, suite.AgentToken, l.site, l.name, "look", "{}").Data(l.r.t)); !strings.Contains(got, fmt.Sprintf(`"looks":%d`, l.n)) {
		l.r.t.Errorf("%s: the session of %s has %s, want %d looks", when, l.site, got, l.n)
	}
}

// beginAnew checks that the session is gone, which is said once.
func (l *looks) beginAnew(when string) {
	l.r.t.Helper()
	if f := suite.AsksFor(l.r.t, l.r.Server, suite.AgentToken, l.site, l.name, "look", "{}").Failed(l.r.t); f.Code != "SESSION_EXPIRED" || f.Outcome != "not_run" {
		l.r.t.Errorf("%s: the session of %s is %+v", when, l.site, f)
	}
	l.n = 0
	l.goOn(when)
}

// TestReloadedSites: a reload makes the sites of the file those of the server. One that is the
// same keeps its sessions; one that is gone is one that never was; one that was changed begins anew.
// A call that runs ends by itself, and no call that ran is told not to have run.
func TestReloadedSites(t *testing.T) {
	t.Parallel()
	tea, page := filepath.Join(docs.Root(t), "examples", "buyproduct"), suite.Pages(t)
	counts, changes := page.Page("config.html"), page.Page("config.html?second")
	const before, auto = "sites:\n", ", approval: {default: auto}"
	same := siteLine("counts", counts, "")
	shops := siteLine("strict", tea, "") + siteLine("shop", tea, auto) + siteLine("runs", page.Page("good.html"), "")
	r := &reloading{t: t, config: filepath.Join(t.TempDir(), "x.yaml"), sites: before + same + siteLine("changes", changes, "") + shops}
	r.write(callersOfSites)
	r.Server = suite.Serve(t, "--config", r.config, "--console-listen", "127.0.0.1:0")
	stays, ends := &looks{r: r, site: "counts", name: "s"}, &looks{r: r, site: "changes", name: "s"}
	stays.goOn("before")
	ends.goOn("before")
	post := func(site, body string) suite.Reply {
		return r.As(t, suite.AgentToken, http.MethodPost, r.URL+"/webtools/"+site, body)
	}
	consent, consentToken := post("strict", buys("p", "")).Waiting(t, http.StatusForbidden, "APPROVAL_REQUIRED")
	_, pageToken := post("shop", buys("p", "")).Waiting(t, http.StatusConflict, "INPUT_REQUIRED")
	running := make(chan suite.Reply, 1)
	go func() { running <- post("runs", `{"action":"hold","request":{}}`) }()
	page.AwaitHeld(t)

	r.reload(callersOfSites, "there are 3")
	if strings.Contains(r.Stderr.String(), "removed:") || strings.Contains(r.Stderr.String(), "changed:") {
		t.Errorf("the same file changes something: %s", r.Stderr)
	}
	stays.goOn("after the same file")
	ends.goOn("after the same file")
	for text, says := range map[string]string{
		"sites: [": "stay as they were",
		before + same + siteLine("wrong", "/not/there", ""):                                    "there is no folder /not/there",
		before + same + siteLine("wrong", counts, ", config-params: {units: {type: nothing}}"): "config-params",
		"# none\n": "serve needs a TARGET",
	} {
		kept := r.sites
		r.sites = text
		r.reload(callersOfSites, says)
		r.sites = kept
		stays.goOn("after " + text)
		if f := post("strict", buys("p", fmt.Sprintf(`{"resume":%q}`, consentToken))).Failed(t); f.Code != "APPROVAL_REQUIRED" {
			t.Errorf("after %s the call that waits is %+v", text, f)
		}
	}

	r.sites = before + siteLine("added", page.Page("good.html"), "") + same + siteLine("changes", changes, ", warm: 1")
	r.reload(callersOfSites, "; added: added; changed: changes; removed: strict, shop, runs")
	if said := r.Stderr.String(); !strings.Contains(said, `the caller narrow names the site "shop", which is not served here`) {
		t.Errorf("it says %s", said)
	}
	for site, path := range map[string]string{"shop": "/webtools/shop", "strict": "/mcp/strict", "runs": "/sites/runs/openapi.json"} {
		if got := r.As(t, suite.AgentToken, http.MethodGet, r.URL+path, "").Status; got != http.StatusNotFound {
			t.Errorf("%s, which is gone, answers %d", site, got)
		}
	}
	answer := r.As(t, suite.PersonToken, http.MethodPost, r.Ready.Console.URL+"/api/questions/"+consent["id"].(string), `{"ok":true}`)
	if f := answer.Failed(t); f.Code != "CONFLICT" {
		t.Errorf("its question is %+v", f)
	}
	resumed := func(site, token string) suite.Failure {
		return post(site, buys("p", fmt.Sprintf(`{"resume":%q,"wait":60000}`, token))).Failed(t)
	}
	if f := resumed("strict", consentToken); f.Reason != "DRAINING" || f.Outcome != "not_run" {
		t.Errorf("the call that waited for consent is %+v", f)
	}
	if f := resumed("shop", pageToken); f.Outcome == "not_run" || f.Code == "WEBTOOL_NOT_FOUND" { // its tool may have said why it ended
		t.Errorf("the call that waited in the page is %+v", f)
	}
	page.Let()
	if got := string((<-running).Data(t)); !strings.Contains(got, "released") {
		t.Errorf("the call that ran came to %s", got)
	}
	stays.goOn("after others were changed")
	ends.beginAnew("after a change of it")

	for _, path := range []string{"/webtools", "/openapi.json", "/readyz"} {
		suite.Eventually(t, suite.ReplyWithin, path+" has the sites of the file", func() bool {
			got := string(r.As(t, suite.AgentToken, http.MethodGet, r.URL+path, "").Body)
			is := func(site string) bool {
				return strings.Contains(got, `"`+site+`"`) || strings.Contains(got, "/"+site+"/")
			}
			return is("added") && is("counts") && is("changes") && !is("shop") && !is("strict") && !is("runs")
		})
	}
	if got := string(post("added", `{"action":"echo","request":{"a":1}}`).Data(t)); !strings.Contains(got, "1") {
		t.Errorf("the new site answers %s", got)
	}
	suite.Eventually(t, suite.ReplyWithin, "it says what the new site has", func() bool { return strings.Contains(r.Stderr.String(), "pagetools: added: ") })
	metrics := string(r.As(t, suite.AgentToken, http.MethodGet, r.URL+"/metrics", "").Body)
	if strings.Contains(metrics, `site="shop"`) || !strings.Contains(metrics, `pagetools_site_up{site="added"} 1`) {
		t.Errorf("the metrics are %s", metrics)
	}
	r.sites = before + same + shops // they come back
	r.reload(callersOfSites, "; added: strict, shop, runs; removed: added, changes")
	if f := post("shop", buys("p", "")).Failed(t); f.Code != "SESSION_EXPIRED" {
		t.Errorf("the session of a site that came back is %+v", f)
	}
	post("shop", buys("p", "")).Waiting(t, http.StatusConflict, "INPUT_REQUIRED")
	stays.goOn("to the end")
}

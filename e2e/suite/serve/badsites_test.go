package serve_test

import (
	"net/http"
	"testing"

	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/e2e/suite"
)

// TestBadSites calls sites that do not open, or that open badly.
func TestBadSites(t *testing.T) {
	t.Parallel()
	s := suite.MustStart(t, badSites)
	var silent <-chan suite.Reply
	if gatetest.IsNightly() {
		silent = s.Later("/webtools/silent", `{"action":"echo","request":{}}`)
	}
	unreachable := suite.Failure{Code: "INTERNAL_ERROR", Reason: "UNREACHABLE", Outcome: "not_run"}
	tests := []struct {
		site   string
		status int // 0: its tools work
		want   suite.Failure
		once   bool // one request is enough
	}{
		{site: "unresolved", status: http.StatusBadGateway, want: unreachable},
		{site: "refused", status: http.StatusBadGateway, want: unreachable},
		{site: "certificate", status: http.StatusBadGateway, want: suite.Failure{Code: "INTERNAL_ERROR", Reason: "CERTIFICATE", Outcome: "not_run"}},
		{site: "redirects", status: http.StatusBadGateway, want: unreachable},
		{site: "reloads", status: http.StatusBadGateway, want: suite.Failure{Code: "INTERNAL_ERROR", Reason: "PAGE_NAVIGATED"}, once: true},
		{site: "notools", status: http.StatusNotFound, want: suite.Failure{Code: "WEBTOOL_NOT_FOUND", Outcome: "not_run"}},
		{site: "throws"},
		{site: "unloaded"},
		{site: "away"},
		{site: "silent", status: http.StatusBadGateway, want: unreachable, once: true},
	}
	for _, test := range tests {
		t.Run(test.site, func(t *testing.T) {
			t.Parallel()
			if slowSites[test.site] != "" {
				gatetest.Nightly(t, slowSites[test.site])
			}
			path := "/webtools/" + test.site
			if test.status == 0 {
				suite.IsGood(t, s, test.site)
				return
			}
			if test.site == "silent" {
				suite.Compare(t, <-silent, test.status, test.want)
			} else {
				suite.Compare(t, s.Ask(path, `{"action":"echo","request":{}}`), test.status, test.want)
			}
			if test.site == "notools" {
				if names := s.Ask(path, "").Actions(t); len(names) > 0 {
					t.Errorf("the document has %q", names)
				}
			} else if !test.once {
				suite.Compare(t, s.Ask(path, ""), test.status, test.want)
			}
			next := s.Ask("/webtools/good", `{"sessionId":"one","action":"echo","request":{"text":"still"}}`)
			if got := string(next.Data(t)); got != `{"text":"still"}` {
				t.Errorf("the next call of another site gave %s", got)
			}
		})
	}
	for _, one := range s.Ready.Sites {
		for _, test := range tests {
			if test.site == one.Name && (gatetest.IsNightly() || slowSites[one.Name] == "") && (test.status == http.StatusBadGateway) != (one.Error != "") {
				t.Errorf("the ready line says %+v", one)
			}
		}
	}
}

// slowSites lists the sites that use up the time for opening, with the reason.
var slowSites = map[string]string{
	"silent":  "a site that never answers is waited for as long as a page may take to open, 30 s",
	"reloads": "a page that reloads without end keeps a core busy for 30 s",
}

// badSites is one server with every site that does not open well. Opening a
// site that never answers takes 30 s, in which the tests do other things.
var badSites = suite.Starter(func() []string {
	site := suite.PageServer()
	refused, err := suite.RefusedAddress()
	if err != nil {
		refused = "127.0.0.1:1"
	}
	args := []string{
		"--warm", "0", "--max-sessions", "20",
		"unresolved=http://nowhere.invalid/", "refused=http://" + refused + "/", "certificate=" + suite.SelfSigned(), "redirects=" + site.Page("loop"),
		"notools=" + site.Page("notools.html"),
		"throws=" + site.Page("throws.html"), "unloaded=" + site.Page("unloaded.html"), "away=" + site.Page("away.html"),
		"good=" + site.Page("good.html"),
	}
	if gatetest.IsNightly() {
		args = append(args, "silent="+site.Page("never"), "reloads="+site.Page("reload.html"))
	}
	return args
})

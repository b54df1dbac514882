package suite_test

import (
	"net/http"
	"testing"
)

// badSites is one server with every site that does not open well. Opening a
// site that never answers takes 30 s, in which the tests do other things.
var badSites = starter(func() []string {
	site := pageServer()
	refused, err := refusedAddress()
	if err != nil {
		refused = "127.0.0.1:1"
	}
	return []string{
		"--warm", "0", "--max-sessions", "20",
		"unresolved=http://nowhere.invalid/", "refused=http://" + refused + "/", "certificate=" + selfSigned(), "redirects=" + site.page("loop"),
		"silent=" + site.page("never"), "reloads=" + site.page("reload.html"), "notools=" + site.page("notools.html"),
		"throws=" + site.page("throws.html"), "unloaded=" + site.page("unloaded.html"), "away=" + site.page("away.html"),
		"good=" + site.page("good.html"),
	}
})

// TestBadSites calls sites that do not open, or that open badly.
func TestBadSites(t *testing.T) {
	t.Parallel()
	s := mustStart(t, badSites)
	silent := s.later("/webtools/silent", `{"action":"echo","request":{}}`)
	unreachable := failure{Code: "INTERNAL_ERROR", Reason: "UNREACHABLE", Outcome: "not_run"}
	tests := []struct {
		site   string
		status int // 0: its tools work
		want   failure
		once   bool // one request is enough
	}{
		{site: "unresolved", status: http.StatusBadGateway, want: unreachable},
		{site: "refused", status: http.StatusBadGateway, want: unreachable},
		{site: "certificate", status: http.StatusBadGateway, want: failure{Code: "INTERNAL_ERROR", Reason: "CERTIFICATE", Outcome: "not_run"}},
		{site: "redirects", status: http.StatusBadGateway, want: unreachable},
		{site: "reloads", status: http.StatusBadGateway, want: failure{Code: "INTERNAL_ERROR", Reason: "PAGE_NAVIGATED"}, once: true},
		{site: "notools", status: http.StatusNotFound, want: failure{Code: "WEBTOOL_NOT_FOUND", Outcome: "not_run"}},
		{site: "throws"},
		{site: "unloaded"},
		{site: "away"},
		{site: "silent", status: http.StatusBadGateway, want: unreachable, once: true},
	}
	for _, test := range tests {
		t.Run(test.site, func(t *testing.T) {
			t.Parallel()
			path := "/webtools/" + test.site
			if test.status == 0 {
				isGood(t, s, test.site)
				return
			}
			if test.site == "silent" {
				compare(t, <-silent, test.status, test.want)
			} else {
				compare(t, s.ask(path, `{"action":"echo","request":{}}`), test.status, test.want)
			}
			if test.site == "notools" {
				if names := s.ask(path, "").actions(t); len(names) > 0 {
					t.Errorf("the document has %q", names)
				}
			} else if !test.once {
				compare(t, s.ask(path, ""), test.status, test.want)
			}
			isGood(t, s, "good")
		})
	}
	for _, one := range s.ready.Sites {
		for _, test := range tests {
			if test.site == one.Name && (test.status == http.StatusBadGateway) != (one.Error != "") {
				t.Errorf("the ready line says %+v", one)
			}
		}
	}
}

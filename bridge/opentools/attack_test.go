package opentools_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/opentools"
)

// TestSentOn: a site that has taken a call may send its client on to anywhere: then it is not known
// whether it did what it was asked.
func TestSentOn(t *testing.T) {
	t.Parallel()
	s := serve(t, operation("/a", "post", "post", free)+","+operation("/b", "get", "get", free))
	b, _ := attach(t, s, func(_ *opentools.SiteOptions, o *bridge.SiteOptions) { o.Approval.Mode = "auto" })
	for status, want := range map[int]string{http.StatusFound: "unknown", http.StatusSeeOther: "unknown", http.StatusTemporaryRedirect: "failed"} {
		answer := func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "https://pay.example/1", status) }
		s.on("/a", answer)
		s.on("/b", answer)
		if got := told(call(t, b, "post", `{}`)); !strings.HasPrefix(got, "TOOL_ERROR  "+want) {
			t.Errorf("POST %d: %s", status, got)
		}
		if got := told(call(t, b, "get", `{}`)); !strings.HasPrefix(got, "TOOL_ERROR  failed") {
			t.Errorf("GET %d: %s", status, got)
		}
	}
}

// TestRetryAfter: when a site wants to be asked again is told as it says, within reason.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	s := serve(t, operation("/a", "post", "post", free))
	b, _ := attach(t, s, func(_ *opentools.SiteOptions, o *bridge.SiteOptions) { o.Approval.Mode = "auto" })
	for said, want := range map[string]time.Duration{"30": 30 * time.Second, "-5": 0, "1e9": 0, "99999999999999999999": 0,
		"99999999": 24 * time.Hour, "Fri, 31 Dec 9999 23:59:59 GMT": 24 * time.Hour, "Fri, 31 Dec 1999 23:59:59 GMT": 0} {
		s.on("/a", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", said)
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		if end := call(t, b, "post", `{}`); end.Err == nil || end.Err.Retry != want {
			t.Errorf("%s: %s %s", said, told(end), end.Err.Retry)
		}
	}
}

package opentools_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/opentools"
)

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

package transport

import (
	"net/http"
	"testing"
	"time"
)

// TestPreferred (RFC 7240): what is read of the header, and what is ignored.
func TestPreferred(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]preference{
		"":                                {},
		"respond-async":                   {true, 0},
		"Respond-Async, wait=10":          {true, 10 * time.Second},
		"wait=10; foo, respond-async;x=1": {true, 10 * time.Second},
		`respond-async, wait="7"`:         {true, 7 * time.Second},
		"respond-async, wait=9999":        {true, MaxWait * time.Second},
		"respond-async, wait=3, wait=5":   {true, 3 * time.Second},
		"respond-async, wait=-1":          {true, 0},
		"respond-async, wait=soon":        {true, 0},
		"wait=5":                          {false, 5 * time.Second},
		"respond-asynchronously":          {},
		"handling=lenient":                {},
	} {
		if got := preferred(http.Header{"Prefer": {given}}); got != want {
			t.Errorf("%q is %+v, want %+v", given, got, want)
		}
	}
	if got := preferred(http.Header{"Prefer": {"wait=2", "respond-async"}}); got != (preference{true, 2 * time.Second}) {
		t.Errorf("two lines are %+v", got)
	}
}

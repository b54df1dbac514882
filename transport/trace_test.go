package transport_test

import (
	"net/http"
	"testing"

	"github.com/pagetools/pagetools/transport"
)

// TestTraceID has the examples of W3C Trace Context, section 3.2.
func TestTraceID(t *testing.T) {
	const id, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	for value, want := range map[string]string{
		"00-" + id + "-" + parent + "-01":                              id,
		" 00-" + id + "-" + parent + "-00 ":                            id,
		"01-" + id + "-" + parent + "-01-what-the-future-will-be-like": id,
		"cc-" + id + "-" + parent + "-01":                              id,
		"cc-" + id + "-" + parent + "-01.what":                         "",
		"00-" + id + "-" + parent + "-01-more":                         "",
		"ff-" + id + "-" + parent + "-01":                              "",
		"00-00000000000000000000000000000000-" + parent + "-01":        "",
		"00-" + id + "-0000000000000000-01":                            "",
		"00-4BF92F3577B34DA6A3CE929D0E0E4736-" + parent + "-01":        "",
		"00-" + id + "-" + parent:                                      "",
		"":                                                             "",
	} {
		if got := transport.TraceID(http.Header{"Traceparent": {value}}); got != want {
			t.Errorf("%q is %q, want %q", value, got, want)
		}
	}
	if got := transport.TraceID(http.Header{"Traceparent": {"00-" + id + "-" + parent + "-01", "00-" + id + "-" + parent + "-01"}}); got != "" {
		t.Errorf("two of them are %q", got)
	}
	if got := transport.TraceID(http.Header{}); got != "" {
		t.Errorf("none is %q", got)
	}
}

package transport_test

import (
	"testing"

	"github.com/pagetools/pagetools/transport"
)

// TestTraceParent has the examples of W3C Trace Context, section 3.2.
func TestTraceParent(t *testing.T) {
	const id, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	for value, want := range map[string]string{
		"00-" + id + "-" + parent + "-01":                              "00-" + id + "-" + parent + "-01",
		" 00-" + id + "-" + parent + "-00 ":                            "00-" + id + "-" + parent + "-00",
		"01-" + id + "-" + parent + "-01-what-the-future-will-be-like": "00-" + id + "-" + parent + "-01",
		"cc-" + id + "-" + parent + "-01":                              "00-" + id + "-" + parent + "-01",
		"cc-" + id + "-" + parent + "-01.what":                         "",
		"00-" + id + "-" + parent + "-01-more":                         "",
		"ff-" + id + "-" + parent + "-01":                              "",
		"00-00000000000000000000000000000000-" + parent + "-01":        "",
		"00-" + id + "-0000000000000000-01":                            "",
		"00-4BF92F3577B34DA6A3CE929D0E0E4736-" + parent + "-01":        "",
		"00-" + id + "-" + parent:                                      "",
		"":                                                             "",
	} {
		if got := transport.TraceParent(value); got != want {
			t.Errorf("%q is %q, want %q", value, got, want)
		}
	}
	if got := transport.TraceParent("00-"+id+"-"+parent+"-01", "00-"+id+"-"+parent+"-01"); got != "" {
		t.Errorf("two of them are %q", got)
	}
	if got := transport.TraceParent(); got != "" {
		t.Errorf("none is %q", got)
	}
}

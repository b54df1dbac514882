package check

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	t.Parallel()
	words := []string{"list", "json", "junit", "sarif", "tool-name-valid"}
	for typed, want := range map[string]string{
		"jsn": "json", "jsonn": "json", "JSON": "json", "jnuit": "junit", "sar": "sarif",
		"tool-name-vaild": "tool-name-valid", "xxxx": "", "": "", "l": "list", "ab": "",
		strings.Repeat("long", 1000): "",
	} {
		if got := Nearest(typed, words); got != want {
			t.Errorf("Nearest(%.20q) = %q, want %q", typed, got, want)
		}
	}
	if got := Nearest("tops", []string{"tool", "taps"}); got != "taps" {
		t.Errorf("the nearer of two is %q", got)
	}
	if got := Nearest("json", nil); got != "" {
		t.Errorf("of no words %q is near", got)
	}
}

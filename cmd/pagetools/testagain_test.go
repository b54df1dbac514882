package main

import (
	"strings"
	"testing"
)

// TestAgain: the command repeats just one case through one door, whatever its file is called.
func TestAgain(t *testing.T) {
	t.Parallel()
	c := &tester{o: &testOptions{url: "http://x/", model: "a b"}}
	want := `pagetools test --url http://x/ --model-cmd 'a b' a.webtool.yaml --run '^a\.webtool\.yaml/it'\''s one/page$'`
	if got := c.again("a.webtool.yaml", "a.webtool.yaml/it's one/page"); got != want {
		t.Errorf("again is %s", got)
	}
	got := c.again("-x\u202e\n", "-x\u202e\n/a/mcp")
	if strings.ContainsAny(got, "\n\u202e") || !strings.HasSuffix(got, ` -- '-x\u202e\n'`) {
		t.Errorf("again is %s", got)
	}
}

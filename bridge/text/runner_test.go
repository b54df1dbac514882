package text_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge/text"
)

// command matches what runners obey anywhere in a line.
var command = regexp.MustCompile(`##[A-Za-z]*\[`)

// commandsOf are the lines of an output that a runner obeys: those that begin with "::" after any
// space, and those with "##[", "##vso[" or "##teamcity[" anywhere.
func commandsOf(output string) (all []string) {
	for line := range strings.SplitSeq(strings.ReplaceAll(output, "\r", "\n"), "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "::") || command.MatchString(line) {
			all = append(all, line)
		}
	}
	return all
}

// TestRunner holds S5: no text is a command for GitHub's runner, however it is cut into parts.
func TestRunner(t *testing.T) {
	t.Parallel()
	for _, words := range []string{"::add-mask::x", "a\n::error::x", "  \t::stop-commands::y", "\u00a0::error::z",
		"\u2003\u3000::warning::z", "##[error]w", "ok ##[add-mask]y", "####[group]", "a\r::set-output name=a::b", "\r\n ::debug::x",
		":::error::", "::\n::\n::", "##[##[", "\f\v::error::x", "###[x", "\u2028::error::x",
		"##vso[task.setvariable variable=a]b", " x ##VSO[task.complete]", "##teamcity[message text='x']", "###vso[x", "##vso##[x"} {
		if len(commandsOf(words)) == 0 {
			t.Errorf("the control: %q is no command", words)
		}
		if got := commandsOf(text.ForRunner(words)); got != nil {
			t.Errorf("%q leaves %q", words, got)
		}
		for cut := range words {
			var r text.Runner
			if got := commandsOf(r.Escape(words[:cut]) + r.Escape(words[cut:])); got != nil {
				t.Errorf("%q, cut at %d, leaves %q", words, cut, got)
			}
		}
	}
	for _, words := range []string{"", "a::b", "std::vector", "a: b", "# [x]", "## [x]", ": :", "#[x]", "x\n: a::b", "[::1]:80", "## vso[x]", "#vso[x]", "##v1[x]", "##vso x"} {
		if got := text.ForRunner(words); got != words {
			t.Errorf("%q becomes %q", words, got)
		}
	}
	const value = "a ##[error]::b"
	whole, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var got string
	if err := json.Unmarshal([]byte(text.ForRunner(string(whole))), &got); err != nil || got != value {
		t.Errorf("JSON becomes %q, %v", got, err)
	}
}

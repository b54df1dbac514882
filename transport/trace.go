package transport

import (
	"regexp"
	"strings"
)

var traceParent = regexp.MustCompile(`^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}`)

// TraceParent returns where a request belongs in a trace (W3C Trace Context, 3.2), as
// bridge.Call has it: what the one value of a header says, or "" where it is not well-formed.
func TraceParent(values ...string) string {
	if len(values) != 1 {
		return ""
	}
	text := strings.TrimSpace(values[0])
	m := traceParent.FindStringSubmatch(text)
	if len(m) == 0 || m[1] == "ff" || m[1] == "00" && len(text) != len(m[0]) ||
		strings.Trim(m[2], "0") == "" || strings.Trim(m[3], "0") == "" {
		return ""
	}
	if rest := text[len(m[0]):]; rest != "" && rest[0] != '-' {
		return ""
	}
	return "00" + m[0][2:]
}

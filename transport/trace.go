package transport

import (
	"net/http"
	"regexp"
	"strings"
)

var traceParent = regexp.MustCompile(`^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}`)

// TraceID returns the trace that a request belongs to (W3C Trace Context, 3.2):
// 32 hexadecimal digits, or "" without one that is well-formed.
func TraceID(h http.Header) string {
	values := h.Values("Traceparent")
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
	return m[2]
}

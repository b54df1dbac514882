package main

import (
	"strings"
	"testing"
)

// TestTracesWanted: traces are sent when the standard variables ask for them, and only over
// the one protocol that there is.
func TestTracesWanted(t *testing.T) {
	t.Parallel()
	const endpoint, exporter, protocol = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_PROTOCOL"
	for _, c := range []struct {
		env    map[string]string
		wanted bool
		says   string
	}{
		{nil, false, ""},
		{map[string]string{endpoint: "http://c"}, true, ""},
		{map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c"}, true, ""},
		{map[string]string{exporter: "otlp"}, true, ""},
		{map[string]string{exporter: "none", endpoint: "http://c"}, false, ""},
		{map[string]string{"OTEL_SDK_DISABLED": "true", endpoint: "http://c"}, false, ""},
		{map[string]string{exporter: "console", endpoint: "http://c"}, false, `"console"`},
		{map[string]string{endpoint: "http://c", protocol: "grpc"}, false, `"grpc"`},
		{map[string]string{endpoint: "http://c", protocol: "grpc", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf"}, true, ""},
		{map[string]string{protocol: "grpc"}, false, ""},
	} {
		wanted, problem := tracesWanted(func(key string) string { return c.env[key] })
		if wanted != c.wanted || (problem == "") != (c.says == "") || !strings.Contains(problem, c.says) {
			t.Errorf("%v: %v, %q", c.env, wanted, problem)
		}
	}
}

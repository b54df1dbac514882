package serve_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/pagetools/pagetools/e2e/suite"
)

// span holds the data of a span that a collector received.
type span struct {
	name, trace, id, parent string
	attributes              map[string]string
	failed                  bool
}

// spans is a collector of traces (OTLP over HTTP).
type spans struct {
	*httptest.Server

	mu  sync.Mutex
	all []span
	raw strings.Builder
}

func newSpans(t *testing.T) *spans {
	t.Helper()
	c := &spans{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var sent collector.ExportTraceServiceRequest
		if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &sent) != nil {
			t.Errorf("%s cannot be read: %v", r.URL, err)
		}
		c.take(body, &sent)
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *spans) take(body []byte, sent *collector.ExportTraceServiceRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw.Write(body)
	for _, of := range sent.GetResourceSpans() {
		for _, scope := range of.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				got := span{s.GetName(), fmt.Sprintf("%x", s.GetTraceId()), fmt.Sprintf("%x", s.GetSpanId()), fmt.Sprintf("%x", s.GetParentSpanId()), map[string]string{}, s.GetStatus().GetCode() == 2}
				for _, a := range s.GetAttributes() {
					got.attributes[a.GetKey()] = a.GetValue().GetStringValue()
				}
				c.all = append(c.all, got)
			}
		}
	}
}

// TestTraces calls tools over both faces with a collector of traces: the spans are in the
// callers' traces, name the calls as the errors do, and hold nothing that was said.
func TestTraces(t *testing.T) {
	t.Parallel()
	c := newSpans(t)
	s := serveWeather(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "OTEL_BSP_SCHEDULE_DELAY=50")
	const (
		one, two, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "0af7651916cd43dd8448eb211c80319c", "00f067aa0ba902b7"
		call             = `{"action":"get_current","request":{"location":"Secretville"}}`
	)
	r := s.In(t.Context(), "", http.MethodPost, s.URL+"/webtools/weather", call, "Traceparent", "00-"+one+"-"+parent+"-01")
	if !strings.Contains(string(r.Data(t)), "Secretville") {
		t.Fatalf("%s", r.Body)
	}
	s.In(t.Context(), "", http.MethodPost, s.URL+"/mcp/weather", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_current","arguments":{"location":7},`+
		`"_meta":{"traceparent":"00-`+two+`-`+parent+`-01"}}}`)
	refused := s.In(t.Context(), "", http.MethodPost, s.URL+"/webtools/weather", `{"action":"Secretville","request":{}}`).Failed(t)
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	find := func(is func(span) bool) span {
		t.Helper()
		i := slices.IndexFunc(c.all, is)
		if i < 0 {
			t.Fatalf("there is no such span among %+v", c.all)
		}
		return c.all[i]
	}
	root := find(func(s span) bool { return s.trace == one && s.name == "call" })
	if a := root.attributes; root.parent != parent || root.failed || a["pagetools.site"] != "weather" || a["pagetools.tool"] != "get_current" ||
		a["pagetools.outcome"] != "ok" || a["pagetools.call"] != r.Header.Get("Pagetools-Request-Id") {
		t.Errorf("the call is %+v", root)
	}
	for _, step := range []string{"resolve", "validate", "limit", "approve", "acquire", "page"} {
		if got := find(func(s span) bool { return s.trace == one && s.name == step }); got.parent != root.id || len(got.attributes) > 0 {
			t.Errorf("the step is %+v", got)
		}
	}
	bad := find(func(s span) bool { return s.trace == two && s.name == "call" })
	if a := bad.attributes; bad.parent != parent || !bad.failed || a["pagetools.code"] != "SCHEMA_ERROR" || a["pagetools.outcome"] != "not_run" {
		t.Errorf("the refused call is %+v", bad)
	}
	unknown := find(func(s span) bool { return s.attributes["pagetools.call"] == refused.Details["call"] })
	if unknown.parent != "" || unknown.attributes["pagetools.code"] != "WEBTOOL_NOT_FOUND" || unknown.attributes["pagetools.tool"] != "" {
		t.Errorf("the call of a tool that is not there is %+v", unknown)
	}
	if said := c.raw.String(); !strings.Contains(said, "get_current") || strings.Contains(said, "Secretville") {
		t.Error("the spans hold an argument, or nothing at all")
	}
}

// serveWeather serves the weather with variables of the environment. The caller stops it.
func serveWeather(t *testing.T, env ...string) *suite.Server {
	t.Helper()
	command := append(slices.Clone(env), suite.Pagetools(t), "serve", "weather="+suite.Pages(t).Page("weather.html"), "--warm", "0")
	s, err := suite.Start("/usr/bin/env", "", suite.TempDir(t), command...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestNoTraces: nothing leaves unless the variables ask for it; what they ask for in vain is said.
func TestNoTraces(t *testing.T) {
	t.Parallel()
	for set, says := range map[string]string{
		"OTEL_SDK_DISABLED=true": "", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc": `"grpc" for the protocol`,
	} {
		t.Run(set, func(t *testing.T) {
			t.Parallel()
			collector := newSpans(t)
			s := serveWeather(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL, set)
			ctx, cancel := context.WithTimeout(context.Background(), suite.ReplyWithin)
			defer cancel()
			s.In(ctx, "", http.MethodPost, s.URL+"/webtools/weather", `{"action":"get_current","request":{"location":"a"}}`).Data(t)
			if err := s.Stop(); err != nil {
				t.Error(err)
			}
			if len(collector.all) > 0 {
				t.Errorf("%d spans were sent", len(collector.all))
			}
			if said := s.Stderr.String(); !strings.Contains(said, says) || says == "" && strings.Contains(said, "traces") {
				t.Errorf("it says %s", said)
			}
		})
	}
}

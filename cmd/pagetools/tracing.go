package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// lastSpans bounds how long the spans of the last calls may take to leave at the end.
const lastSpans = 3 * time.Second

// tracesWanted reports whether the OTEL_* variables ask for traces, and why not where they
// ask for what there is not.
func tracesWanted(env func(string) string) (wanted bool, problem string) {
	endpoint := env("OTEL_EXPORTER_OTLP_ENDPOINT") + env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	exporter := env("OTEL_TRACES_EXPORTER")
	protocol := env("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")
	if protocol == "" {
		protocol = env("OTEL_EXPORTER_OTLP_PROTOCOL")
	}
	switch {
	case env("OTEL_SDK_DISABLED") == "true", exporter == "none", exporter == "" && endpoint == "":
		return false, ""
	case exporter != "" && exporter != "otlp":
		return false, fmt.Sprintf("invalid value %q for OTEL_TRACES_EXPORTER: must be otlp or none; no traces are sent", exporter)
	case protocol != "" && protocol != "http/protobuf":
		return false, fmt.Sprintf("invalid value %q for the protocol of OTLP: must be http/protobuf; no traces are sent", protocol)
	}
	return true, ""
}

// startTracing returns a tracer when the OTEL_* variables ask for traces, and nil otherwise.
// Traces never keep a call from running: what is wrong with them is a warning.
func (p *program) startTracing(ctx context.Context) trace.Tracer {
	wanted, problem := tracesWanted(os.Getenv)
	if problem != "" {
		p.say("warning: %s", problem)
	}
	if !wanted {
		return nil
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		p.say("warning: no traces are sent: %v", err)
		return nil
	}
	// The environment comes last: it wins.
	about, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "pagetools"),
		attribute.String("service.version", ownVersion())), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		p.say("warning: OTEL_RESOURCE_ATTRIBUTES: %v", err)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { p.log.Warn("traces: spans are lost", "error", err) }))
	p.spans = sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	return p.spans.Tracer("github.com/pagetools/pagetools")
}

// endTracing sends the last spans.
func (p *program) endTracing(ctx context.Context) {
	if p.spans == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastSpans)
	defer cancel()
	if err := p.spans.Shutdown(ctx); err != nil {
		p.log.Warn("traces: the last spans are lost", "error", err)
	}
}

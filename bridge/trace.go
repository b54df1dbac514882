package bridge

import (
	"context"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// This file says in spans how a call runs: one span for each part of it between questions,
// and in that one for each stage and for the page. A span has what is bounded and nobody's
// secret: no arguments, no results, no words of a page but the names of admitted tools.

// trace is the id of the trace that the call belongs to: 32 hexadecimal digits, or "".
func (r *passage) trace() string {
	const version, id = len("00-"), 32
	if len(r.call.TraceParent) < version+id {
		return ""
	}
	return r.call.TraceParent[version : version+id]
}

// beginSpan begins the span of a part of the call; there is none without a tracer. Further
// parts have the same parent, or the first one when the caller named none.
func (pl *pipeline) beginSpan(ctx context.Context, r *Run) (context.Context, trace.Span) {
	if pl.tracer == nil {
		return ctx, nil
	}
	ctx, span := pl.tracer.Start(trace.ContextWithRemoteSpanContext(ctx, spanContext(r.pass.call.TraceParent)),
		"call", trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(attribute.String("pagetools.call", r.pass.call.ID)))
	if c := span.SpanContext(); r.pass.call.TraceParent == "" && c.IsValid() {
		r.pass.call.TraceParent = "00-" + c.TraceID().String() + "-" + c.SpanID().String() + "-" + c.TraceFlags().String()
	}
	return ctx, span
}

// spanContext reads a traceparent; the zero one means that there is none.
func spanContext(parent string) trace.SpanContext {
	const length = len("00-") + 32 + len("-") + 16 + len("-01")
	if len(parent) != length {
		return trace.SpanContext{}
	}
	id, errID := trace.TraceIDFromHex(parent[3:35])
	span, errSpan := trace.SpanIDFromHex(parent[36:52])
	flags, errFlags := strconv.ParseUint(parent[53:], 16, 8)
	if errID != nil || errSpan != nil || errFlags != nil {
		return trace.SpanContext{}
	}
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: span,
		TraceFlags: trace.TraceFlags(flags) & trace.FlagsSampled, Remote: true})
}

// endSpan says how a part of the call ended.
func (r *passage) endSpan(span trace.Span, s Step) {
	outcome := "ok"
	switch e := s.Err; {
	case s.Pause != nil:
		outcome = "waits"
	case e != nil:
		outcome = string(e.Outcome)
		span.SetAttributes(attribute.String("pagetools.code", string(e.Code)), attribute.String("pagetools.reason", string(e.Reason)))
		span.SetStatus(codes.Error, string(e.Code))
	}
	span.SetAttributes(attribute.String("pagetools.outcome", outcome))
	if r.site != nil { // else the caller made the name up
		span.SetAttributes(attribute.String("pagetools.site", r.site.site.Name))
	}
	if r.tool != nil {
		span.SetAttributes(attribute.String("pagetools.tool", r.tool.name))
	}
	span.End()
}

// traced puts a span around a stage, which ends where the next one begins.
func (pl *pipeline) traced(s stage) stage {
	run := s.run
	s.run = func(ctx context.Context, r *Run, next handler) Step {
		end := pl.step(ctx, s.name)
		defer end()
		return run(ctx, r, func(ctx context.Context, r *Run) Step {
			end()
			return next(ctx, r)
		})
	}
	return s
}

func nothing() {}

// step begins a span that has a name only. A span may be ended twice.
func (pl *pipeline) step(ctx context.Context, name string) (end func()) {
	if pl.tracer == nil {
		return nothing
	}
	_, span := pl.tracer.Start(ctx, name)
	return func() { span.End() } // a deferred End would put the text of a panic into the span
}

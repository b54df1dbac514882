package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/store"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
)

// followEvery sets how often log --follow looks for new calls.
const followEvery = 250 * time.Millisecond

func logCommand(p *program) *cobra.Command {
	var f bridge.CallFilter
	var follow bool
	var cluster string
	c := &cobra.Command{
		Use:   "log",
		Short: "List the calls of all pagetools of the data directory",
		Long: "Lists the newest calls, the newest last: when, how it ended, how long it took " +
			"without the\nwaiting for persons, the tool, who called, and the id of the call.\n" +
			"With --cluster, those of all nodes of a cluster, and which node; one that does not answer is named, and the exit code is 4.",
		Args: exactly(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case cluster != "" && follow:
				return terminal.Usage("--follow cannot be combined with --cluster: each node has its own log")
			case cluster != "":
				return clusterLog(cmd.Context(), p, f, cluster)
			}
			return listCalls(cmd.Context(), p, f, follow)
		},
	}
	filterFlags(c, &f)
	clusterFlag(c, &cluster)
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on with calls as they end")
	return c
}

// filterFlags adds the flags that select calls or records.
func filterFlags(c *cobra.Command, f *bridge.CallFilter) {
	c.Flags().StringVar(&f.Site, "site", "", "only of this `site`")
	c.Flags().StringVar(&f.Tool, "tool", "", "only of this `tool`")
	c.Flags().StringVar(&f.Caller, "caller", "", "only of this `caller`")
	c.Flags().Var(&choice{&f.Outcome, []string{"ok", "failed", "not_run", "unknown"}}, "outcome",
		"only with this outcome: ok, failed, not_run, unknown")
	c.Flags().Var(config.AtMost(&f.Limit, 1000), "limit", "how many at most, up to 1000 (default 100)")
}

// listCalls prints calls, the oldest of them first.
func listCalls(ctx context.Context, p *program, f bridge.CallFilter, follow bool) error {
	s, err := p.openRecords(ctx)
	if err != nil {
		return err
	}
	defer p.end(s)
	calls, err := s.Calls.Calls(ctx, f)
	if err != nil {
		return err
	}
	if len(calls) == 0 && !follow {
		p.say("no call matches")
	}
	last := int64(0)
	if len(calls) > 0 {
		last = calls[0].ID
	}
	if err := printCalls(p.stdout, p.conf.Format, calls); err != nil || !follow {
		return err
	}
	again := time.NewTicker(followEvery)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-again.C:
		}
		if calls, err = newCalls(ctx, s, f, last); err != nil {
			return err
		}
		if len(calls) > 0 {
			last = calls[0].ID
		}
		if err := printCalls(p.stdout, p.conf.Format, calls); err != nil {
			return err
		}
	}
}

// newCalls are the calls after one, newest first.
func newCalls(ctx context.Context, s *store.Store, f bridge.CallFilter,
	last int64) (all []bridge.CallRecord, err error) {
	f.Limit = 0
	for {
		page, err := s.Calls.Calls(ctx, f)
		if err != nil {
			return nil, err
		}
		for _, c := range page {
			if c.ID <= last {
				return all, nil
			}
			all = append(all, c)
		}
		if len(page) == 0 {
			return all, nil
		}
		f.Before = page[len(page)-1].ID
	}
}

// loggedCall is a call as log --format json prints it. Times are in seconds.
type loggedCall struct {
	Node          string    `json:"node,omitempty"` // with --cluster
	Time          time.Time `json:"time"`
	Call          string    `json:"call"`
	Trace         string    `json:"trace,omitempty"`
	Caller        string    `json:"caller"`
	Site          string    `json:"site"`
	Tool          string    `json:"tool"`
	Session       string    `json:"session,omitempty"`
	Decision      string    `json:"decision,omitempty"`
	Outcome       string    `json:"outcome"`
	Code          string    `json:"code,omitempty"`
	Reason        string    `json:"reason,omitempty"`
	Took          float64   `json:"took"`
	Waited        float64   `json:"waited"`
	ArgumentBytes int64     `json:"argumentBytes"`
	ResultBytes   int64     `json:"resultBytes"`
}

// asLogged returns a call as it is printed, of a node of a cluster or of "".
func asLogged(c *bridge.CallRecord, node string) loggedCall {
	return loggedCall{node, c.Time, c.Call, c.Trace, c.Caller, c.Site, c.Tool, c.Session, c.Decision, c.Outcome, c.Code, c.Reason,
		(c.Took - c.Waited).Seconds(), c.Waited.Seconds(), c.ArgumentBytes, c.ResultBytes}
}

// printCalls prints calls that are newest first, in the order in which they came.
func printCalls(w io.Writer, format string, calls []bridge.CallRecord) error {
	logged := make([]loggedCall, len(calls))
	for i := range calls {
		logged[i] = asLogged(&calls[i], "")
	}
	return printLogged(w, format, logged)
}

// printLogged prints calls that are newest first, in the order in which they came: one a
// line, also as JSON.
func printLogged(w io.Writer, format string, calls []loggedCall) error {
	for i := range slices.Backward(calls) {
		show := printCall
		if format != "text" {
			show = func(w io.Writer, c *loggedCall) error { return terminal.Encode(w, c) }
		}
		if err := show(w, &calls[i]); err != nil {
			return err
		}
	}
	return nil
}

func printCall(w io.Writer, c *loggedCall) error {
	at := ""
	if c.Node != "" {
		at = " at " + text.Line(c.Node)
	}
	line := fmt.Sprintf("%s  %-7s  %8s  %s on %s for %s%s  %s",
		clock(c.Time), text.Line(c.Outcome), inWords(seconds(c.Took)),
		text.Line(c.Tool), text.Line(c.Site), text.Line(c.Caller), at, text.Line(c.Call))
	if c.Code != "" {
		line += "  " + text.Line(strings.TrimSuffix(c.Code+" "+c.Reason, " "))
	}
	if c.Waited > 0 {
		line += "  (waited " + inWords(seconds(c.Waited)) + " for a person)"
	}
	_, err := fmt.Fprintln(w, line)
	return err
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// clock is a time in whole seconds, where this program runs.
func clock(t time.Time) string { return t.Local().Format(time.RFC3339) }

// inWords is a time as short as it can be read.
func inWords(d time.Duration) string {
	if d < 10*time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// personLog writes the log for a person at a terminal: a line as the rest of the program
// says things, without time and keys that only machines need.
type personLog struct {
	out   io.Writer
	level slog.Level
	with  string // attributes of all lines
}

var _ slog.Handler = (*personLog)(nil)

func (l *personLog) Enabled(_ context.Context, level slog.Level) bool { return level >= l.level }

func (l *personLog) Handle(_ context.Context, r slog.Record) error {
	word, colors := "", terminal.ColorsOf(l.out)
	switch {
	case r.Level >= slog.LevelError:
		word = colors.Alarm("error:") + " "
	case r.Level >= slog.LevelWarn:
		word = colors.Warn("warning:") + " "
	}
	words := r.Message + l.with
	r.Attrs(func(a slog.Attr) bool {
		words += shownAttr(a)
		return true
	})
	_, err := fmt.Fprintf(l.out, "pagetools: %s%s\n", word, text.Line(words))
	return err
}

func (l *personLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *l
	for _, a := range attrs {
		next.with += shownAttr(a)
	}
	return &next
}

// WithGroup implements slog.Handler. Nobody here groups.
func (l *personLog) WithGroup(string) slog.Handler { return l }

func shownAttr(a slog.Attr) string {
	value := a.Value.Resolve().String()
	if value == "" {
		return ""
	}
	return " " + a.Key + "=" + strings.TrimSpace(value)
}

// lastSpans bounds how long the spans of the last calls may take to leave at the end.
const lastSpans = 3 * time.Second

// tracesWanted reports whether the OTEL_* variables ask for traces, and why not where they
// ask for what there is not.
func tracesWanted(env func(string) string) (wanted bool, problem string) {
	endpoint := env("OTEL_EXPORTER_OTLP_ENDPOINT") + env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	exporter := env("OTEL_TRACES_EXPORTER")
	protocol := cmp.Or(env("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"), env("OTEL_EXPORTER_OTLP_PROTOCOL"))
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
	if p.spans != nil { // of the life before
		return p.spans.Tracer(tracerName)
	}
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
	return p.spans.Tracer(tracerName)
}

// tracerName names what makes the spans.
const tracerName = "github.com/pagetools/pagetools"

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

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/transport/console"
)

// program is one run of the command line.
type program struct {
	args           []string
	stdin          io.Reader
	stdout, stderr *terminal.Stream
	flags          *config.Flags
	conf           *config.Config // nil until the flags were read
	target         *target        // of a command that has one, and nil
	endsBySignal   bool           // a signal ends the command
	log            *slog.Logger
	logFile        *os.File
	hangups        hangups
	records        console.Records          // of calls, for the operators' page
	spans          *sdktrace.TracerProvider // nil: nobody asked for traces
}

// run is the whole program. It returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	p := &program{args: args, stdin: stdin, stdout: terminal.NewStream(stdout),
		stderr: terminal.NewStream(stderr),
		log:    slog.New(slog.DiscardHandler), hangups: hangups{came: make(chan struct{}, 1)}}
	ctx, stop := withSignals(ctx, &p.hangups)
	defer stop()
	root := p.command()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	p.endTracing(ctx)
	if p.logFile != nil {
		defer func() { _ = p.logFile.Close() }()
	}
	if lost := p.stdout.Err(); lost != nil && (err == nil || errors.Is(err, lost)) {
		err = fmt.Errorf("writing the output: %w", lost)
	}
	return p.finish(ctx, err)
}

// errInterrupted is the cause of a context that a signal ended.
type errInterrupted struct{ signal os.Signal }

func (e errInterrupted) Error() string { return e.signal.String() }

// withSignals ends the context at the first SIGINT, SIGTERM or SIGHUP. The
// second ends the program at once. A SIGHUP that somebody follows ends nothing, and
// neither does a reader of ours that went away: writing to it fails, and what was
// started is ended as ever.
func withSignals(parent context.Context, hangups *hangups) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		for {
			select {
			case s := <-signals:
				if s == syscall.SIGHUP && hangups.take() {
					continue
				}
				signal.Stop(signals) // from here on one has its default effect
				cancel(errInterrupted{s})
				select {
				case s := <-signals: // it came in between
					raise(s)
				default:
				}
			case <-ctx.Done():
				signal.Stop(signals)
			}
			return
		}
	}()
	return ctx, func() { cancel(nil) }
}

func raise(s os.Signal) {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Signal(s)
	}
	if number, known := s.(syscall.Signal); err != nil && known { // Windows sends itself none
		os.Exit(128 + int(number))
	}
}

func (p *program) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "pagetools",
		Short: "Tools that web pages declare through WebMCP, for any agent",
		Long: "Tools that web pages declare through WebMCP, for any agent.\nReleases, and what changed in " +
			"each: https://github.com/pagetools/pagetools/releases",
		SilenceErrors: true, SilenceUsage: true,
		Version: ownVersion(), SuggestionsMinimumDistance: 2,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(c, args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			_ = cmd.Help()
			return errUsageShown
		},
	}
	root.SetIn(p.stdin)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	root.SetFlagErrorFunc(flagError)
	p.flags = config.Register(root.PersistentFlags())
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return p.prepare(cmd) }
	root.AddCommand(serveCommand(p), mcpCommand(p), toolsCommand(p), callCommand(p), attachCommand(p),
		loginCommand(p), authCommand(p), demoCommand(p), approveCommand(p), pairCommand(p), consoleCommand(p), reloadCommand(p),
		auditCommand(p), clusterCommand(p), egressCommand(p),
		logCommand(p), doctorCommand(p), configCommand(p), versionCommand(p))
	root.AddCommand(kitCommands(p)...)
	withHelp(root)
	return root
}

// errUsageShown ends a run that printed its help because nothing was asked.
var errUsageShown = errors.New("usage")

// prepare reads the settings from their four places, and opens the log.
func (p *program) prepare(cmd *cobra.Command) error {
	if needsNoSettings(cmd) {
		return nil
	}
	sayUnknownVariables(p.stderr)
	var err error
	if p.conf, err = p.flags.Load(); err != nil {
		p.conf = nil
		return terminal.Usage("%w", err)
	}
	if p.conf.File != "" { // always: it says what is opened, and how
		fmt.Fprintf(p.stderr, "pagetools: settings read from %s\n", text.Line(p.conf.File))
	}
	warnOfFile(p.stderr, p.conf)
	return p.openLog(cmd.Name() == "serve" || cmd.Name() == "demo" || cmd.Name() == "mcp" || cmd.Name() == "record")
}

// openLog opens the log. Commands that end after one answer say what went wrong
// themselves, in one line.
func (p *program) openLog(serves bool) error {
	level := slog.LevelWarn
	switch {
	case p.conf.Verbose:
		level = slog.LevelDebug
	case !serves && p.conf.LogFile == "":
		return nil
	case p.conf.Quiet:
		level = slog.LevelError
	}
	out := io.Writer(p.stderr)
	if p.conf.LogFile != "" {
		f, err := os.OpenFile(p.conf.LogFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return terminal.Usage("--log-file: %s %w; name a file in a folder that is there",
				text.Line(p.conf.LogFile), config.Problem(err))
		}
		p.logFile, out = f, f
		level = min(level, slog.LevelInfo)
	}
	if p.conf.LogFile == "" && p.conf.LogFormat == "text" && terminal.Is(p.stderr) {
		p.log = slog.New(&personLog{out: p.stderr, level: level})
		return nil
	}
	o := &slog.HandlerOptions{Level: level}
	if p.conf.LogFormat == "json" {
		p.log = slog.New(slog.NewJSONHandler(out, o))
		return nil
	}
	p.log = slog.New(slog.NewTextHandler(out, o))
	return nil
}

// Package kit has the verbs of the test kit: check, test, diff, lock, init and record.
package kit

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/e2e/app"
)

// Program holds what the verbs of the kit share with all others. Functions are called once the
// settings are read.
type Program struct {
	Stdout, Stderr *terminal.Stream
	Version        string
	Released       bool       // the version is in the registries
	Words          text.Words // of flags and commands

	Config func() *config.Config
	// Reload reads the settings again. Those before stay where then returns an error.
	Reload func(then func() error) error
	// Say prints a line for a person, and Waiting one until done.
	Say     func(format string, args ...any)
	Waiting func(format string, args ...any) (done func())
	// About is told which target is next, for advice on what fails.
	About func(*app.Target)

	// Target reads one target, and Targets those of arguments and of the settings.
	Target  func(arg string) (*app.Target, error)
	Targets func(args []string) ([]*app.Target, error)
	// Start opens targets for a command that ends after one answer, and End closes them.
	Start func(context.Context, []*app.Target, Opening) (*app.App, error)
	End   func(io.Closer)
	// Unmet says what a page was to wait for and did not come, and what came late; NoTools returns
	// why it has none.
	Unmet   func(*app.App, *app.Target)
	NoTools func(*app.App, *app.Target) string
	// Listed returns what clients of MCP get of the tools of a site; the zero Site stands for a
	// file.
	Listed func(site bridge.Site, tools []*bridge.Tool) List
	// Serve serves a target until its callers are done or a signal comes: at --listen, or over MCP
	// on stdin and stdout.
	Serve func(ctx context.Context, t *app.Target, stdio bool, observe func(bridge.Observed)) error
	// NeedsDisplay refuses to show a browser for a verb where there is no display.
	NeedsDisplay func(verb string) error
	// Exactly checks the number of arguments.
	Exactly func(n int, what string) cobra.PositionalArgs
	// Finish prints how a run ended, and returns its exit code.
	Finish func(context.Context, error) int
}

// Opening says how targets are opened.
type Opening struct {
	// Watched pages note what they do with their tools, and have no API.
	Watched bool
	// Patient looks at pages for longer: for who lists their tools for their author.
	Patient bool
	// Complete changes the options of the app; nil leaves them.
	Complete func(*app.Options)
}

// Commands returns the verbs.
func Commands(p *Program) []*cobra.Command {
	return []*cobra.Command{lockCommand(p), checkCommand(p), testCommand(p), diffCommand(p),
		initCommand(p), recordCommand(p)}
}

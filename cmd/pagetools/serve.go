package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/kit"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/examples"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/cluster/key"
	"github.com/pagetools/pagetools/transport/mcp"
)

func serveCommand(p *program) *cobra.Command {
	var ask string
	var locked, watches bool
	c := &cobra.Command{
		Use:   "serve [NAME=]TARGET...",
		Short: "Serve the tools of web applications over HTTP",
		RunE: func(cmd *cobra.Command, args []string) error {
			targets, err := p.targetsToServe(args)
			if err != nil {
				return err
			}
			if ask != "none" && ask != "terminal" {
				return terminal.Usage("--ask must be none or terminal, not %q", text.Line(ask))
			}
			p.sayAll(callerWarnings(p.conf, targets))
			pl := serving(targets)
			pl.args, pl.watched, pl.changes = args, watches, p.conf.File != ""
			if watches && p.conf.File == "" && len(p.conf.Adapters) == 0 {
				return terminal.Usage("--watch has nothing to watch: name a configuration file with --config, or an --adapter")
			}
			if locked {
				if pl.locked, err = kit.ReadLock(); err != nil {
					return err
				}
				if err := pl.lockHas(targets); err != nil {
					return err
				}
			}
			if pl.cluster, err = nodeOptions(p, targets); err != nil {
				return err
			}
			return serve(cmd.Context(), p, pl, ask == "terminal")
		},
	}
	c.Flags().BoolVar(&locked, "locked", false,
		"offer only tools that are as pagetools.lock has them")
	c.Flags().BoolVar(&watches, watchFlag, false,
		"read adapters, and the sites and callers of the configuration file, again when their files change")
	c.Flags().StringVar(&ask, "ask", "none",
		"who answers questions here: none, or the person at this terminal (terminal)")
	return c
}

func demoCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Serve the built-in stamp collection",
		Args:  exactly(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if p.conf.IsDefault("approval") {
				p.conf.Approval = "auto" // the page is our own, and holds nothing
				p.say("note: nobody is asked before a call of the demo, whose page is our own; " +
					"--approval ask asks as serve does")
			}
			t := &target{Target: &app.Target{Name: "stampdb", Text: "the built-in stamp collection",
				Folder: "stampdb"}}
			pl := serving([]*target{t})
			pl.files = map[string]fs.FS{"stampdb": examples.StampDB()}
			pl.start = "/sites/stampdb/tools/find-stamps?in=" + url.QueryEscape(`{"query":"triangular"}`)
			return serve(cmd.Context(), p, pl, false)
		},
	}
}

// handler serves the faces, and where to log in, and operators to other nodes. done ends what waits.
func (c *callers) handler(a *app.App, face *mcp.Face, done <-chan struct{}, guards transport.Options, operators http.Handler) http.Handler {
	guards.Callers = c.served()
	guards.Metrics, guards.JSONRPCUnder, guards.MaxBodyUnder = a.Metrics, rpcPaths,
		transport.BodiesWithFiles()
	mux := a.Mux(face, done)
	if c.issuers != nil {
		mux.Add(c.issuers.Routes()...)
		c.issuers.signIn(mux, &guards)
	}
	return transport.Guard(c.plan.node.serve(a, mux, guards, operators), guards)
}

func startBrowser(ctx context.Context, p *program, a *app.App) error {
	defer p.waiting("starting a browser")()
	_, err := a.StartBrowser(ctx)
	return err
}

// openSites waits until every site was opened, or failed once. It reports false when ctx
// ended first.
func openSites(ctx context.Context, p *program, a *app.App) bool {
	defer p.waiting("opening the sites, until their tools are there")()
	return a.WaitOpened(ctx) == nil
}

// served has the JSON that serve prints when it is ready.
type served struct {
	Listening string         `json:"listening"`
	MCP       string         `json:"mcp"`
	Sites     []servedSite   `json:"sites"`
	Console   *servedConsole `json:"console,omitempty"`
}

// servedConsole says where operators answer questions, and has their credential.
type servedConsole struct {
	URL   string `json:"url"`
	Token string `json:"token"`
}

type servedSite struct {
	Name  string   `json:"name"`
	URL   string   `json:"url"`
	Tools []string `json:"tools"`
	// Adapters are the operator's scripts in its pages.
	Adapters []servedAdapter `json:"adapters,omitempty"`
	Error    string          `json:"error,omitempty"`

	why string // it has no tools
}

// welcome prints the box: what is served, and where.
func welcome(ctx context.Context, p *program, a *app.App, pl plan, base string,
	console *operators) {
	targets := pl.targets
	out := served{Listening: base, MCP: base + "/mcp"}
	if page := console.links.Page(); page != "" {
		out.Console = &servedConsole{strings.TrimSuffix(page, "/"), console.who.operator}
	}
	for _, t := range targets {
		s := servedSite{Name: t.Name, URL: base + "/webtools/" + t.Name, Tools: []string{}, Adapters: servedAdapters(t)}
		// A site that failed is not asked again: it may take its time once more.
		if status := a.Status(t.Name); status != "open" {
			s.Error = status
		} else if d, err := a.Bridge.Webtool(ctx, bridge.Ref{Site: t.Name,
			Caller: bridge.Local()}, "", ""); err != nil {
			s.Error = bridge.AsError(err).Message
		} else {
			for _, x := range d.Actions {
				s.Tools = append(s.Tools, x.Name)
			}
			s.why = whyEmpty(p, a, t)
		}
		for _, f := range a.Findings(t.Name) {
			p.say("warning: %s: %s", t.Name, findingText(f))
		}
		if pl.locked != nil {
			p.sayAll(pl.locked.Differences(ctx, a, t.Target))
		}
		out.Sites = append(out.Sites, s)
	}
	if p.conf.Format != "text" {
		_ = terminal.Encode(p.stdout, out)
	} else {
		fmt.Fprint(p.stdout, box(out.lines(a, targets, p.conf), terminal.Width(p.stdout)))
	}
	p.sayAll(servingWarnings(p.conf, targets))
}

// engineLine says what the pages are opened with.
func engineLine(a *app.App) string {
	if a.Engine == nil {
		return "no browser: the sites are APIs"
	}
	return "engine: " + a.Kind + " in " + a.Engine.Version()
}

func (out served) lines(a *app.App, targets []*target, c *config.Config) []string {
	lines := []string{"pagetools serves " + out.Listening + "/webtools", engineLine(a)}
	for i, s := range out.Sites {
		lines = append(lines, "", s.Name+"  ("+text.Line(targets[i].Text)+")", "  "+s.URL)
		switch {
		case s.Error != "":
			lines = append(lines, "  not opened: "+s.Error)
		default:
			lines = append(lines, toolsLine(s.Tools, s.why))
		}
		for _, x := range s.Adapters {
			lines = append(lines, "  "+x.String())
		}
	}
	lines = append(lines, "", "MCP: "+out.MCP)
	if page := out.Console; page != nil {
		lines = append(lines, "", "operators: "+page.URL+"/#"+page.Token)
	}
	return append(lines, "", tryIt(out.Sites[0].URL, c))
}

// whyEmpty says why an API offers no tools, and what to do; "" is that it has some, or is not all
// of its site.
func whyEmpty(p *program, a *app.App, t *target) string {
	if a.APIs == nil || !slices.ContainsFunc(a.Findings(t.Name), func(f bridge.Finding) bool {
		return f.Rule == bridge.RuleEmpty
	}) {
		return ""
	}
	known := *t
	if known.about = a.APIs.Known(t.Name); known.about == nil {
		return ""
	}
	return ": " + known.about.Empty() + ". " + apiFix(p.conf, &known)
}

// toolsLine lists the tools of a site, or says why there are none.
func toolsLine(names []string, why string) string {
	if len(names) == 0 {
		return "  no tools" + why
	}
	return "  " + text.Count(len(names), "tool") + ": " + strings.Join(names, ", ")
}

// cannotListen says what to do about an address that cannot be served.
func cannotListen(flag, address string, err error) error {
	cause := err
	if e, ok := errors.AsType[*net.OpError](err); ok {
		cause = e.Err
	}
	if origin.IsInUse(err) {
		host, _, _ := net.SplitHostPort(address)
		return terminal.Usage("%s %s is in use by another program, maybe another pagetools: stop it, or "+
			"choose another address, such as %s %s", flag, address, flag, net.JoinHostPort(host, "0"))
	}
	return terminal.Usage("%s %s cannot be listened on (%w): choose an address of this machine, such as %s "+
		"127.0.0.1:0", flag, address, cause, flag)
}

// box draws a frame around the lines, at most as wide as the terminal. Addresses are not
// broken: a person copies them.
func box(text []string, width int) string {
	longest := 0
	var lines []string
	for _, l := range text {
		if strings.Contains(l, "://") {
			lines = append(lines, l)
			continue
		}
		lines = append(lines, terminal.Wrap(l, width-4, "    ")...)
	}
	for _, l := range lines {
		longest = max(longest, utf8.RuneCountInString(l))
	}
	var b strings.Builder
	rule := strings.Repeat("─", longest+2)
	fmt.Fprintf(&b, "┌%s┐\n", rule)
	for _, l := range lines {
		fmt.Fprintf(&b, "│ %s%s │\n", l, strings.Repeat(" ", longest-utf8.RuneCountInString(l)))
	}
	fmt.Fprintf(&b, "└%s┘\n", rule)
	return b.String()
}

// mcpDrainTime limits how long calls in flight may still take after stdin closed.
const mcpDrainTime = time.Second

func mcpCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "mcp [NAME=]TARGET...",
		Short: "Serve the tools of web applications over MCP, on stdin and stdout",
		RunE: func(cmd *cobra.Command, args []string) error {
			targets, err := p.targets(args)
			if err != nil {
				return err
			}
			if len(targets) == 0 {
				return terminal.Usage("mcp needs a TARGET, or sites in the configuration file")
			}
			return serveMCP(cmd.Context(), p, speaking(targets))
		},
	}
}

// serveMCP serves the one client at stdin, until stdin closes.
func serveMCP(ctx context.Context, p *program, pl plan) error {
	page, err := listenConsole(ctx, p.conf)
	if err != nil {
		return err
	}
	defer page.close()
	a, err := p.start(ctx, pl)
	if err != nil {
		return err
	}
	defer p.end(a)
	operators := serveOperators(ctx, a, newCallers(p, pl, false), page)
	defer operators.close()
	var finish time.Duration
	if pl.observe != nil {
		finish = recordTime
	}
	face, err := mcpFace(p, a, operators, nil, false, nil, finish)
	if err != nil {
		return err
	}
	if page := operators.page(); page != "" && operators.inbox.own != "" {
		p.say("note: questions are answered at %s, which `pagetools console` opens, "+
			"and with `pagetools approve`", page)
	}
	go func() { // ends with the start, or with the engine
		if _, err := a.StartBrowser(ctx); err != nil && ctx.Err() == nil {
			p.say("%s", text.Line(err.Error()))
		}
	}()
	site := ""
	if len(pl.targets) == 1 {
		site = pl.targets[0].Name
	}
	err = face.ServeStdio(ctx, p.stdin, p.stdout, bridge.Local(), site)
	bounded, cancel := context.WithTimeout(context.Background(), mcpDrainTime)
	defer cancel()
	a.Drain(bounded)
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("speaking MCP: %w", err)
	}
	return context.Cause(ctx)
}

// recordTime limits how long calls that are recorded may take after the last of them was typed or
// piped.
const recordTime = 30 * time.Second

// mcpFace makes the face of MCP. who says what single callers get; nil is nothing of their own. asks says that the person at the terminal answers. done ends its
// streams; nil means never. finish is as in mcp.Options.
func mcpFace(p *program, a *app.App, at *operators, who *callers, asks bool,
	done <-chan struct{}, finish time.Duration) (*mcp.Face, error) {
	sealed, err := mcpKey(p.conf)
	if who != nil && who.plan.node != nil {
		sealed, err = who.plan.node.keys.Now.Subkey(key.RequestState), nil
	}
	if err != nil {
		p.say("warning: sessions of MCP clients, and questions that they carry, do not outlive this process: %v", err)
	}
	o := mcp.Options{Version: ownVersion(), Tools: p.conf.MCPTools,
		Apps: p.conf.MCPApps, CardLink: string(p.conf.ConsolePublicURL),
		Schemas: p.conf.MCPSchemas, Files: p.conf.Saves(), TaskAfter: p.conf.TaskAfter, Operators: at.linked, Key: sealed,
		Ended: a.Ended(), Done: done, Finish: finish, Log: p.log,
		Terminal: func() bool { return asks || at.inbox.own != "" }, Attended: !p.conf.Headless,
		Opens: "Started with --console-listen 127.0.0.1:7301, pagetools has a page for that.",
		Page: func(site string) (title, icon string) {
			_, title, icon = a.Manager.Page(site)
			return title, icon
		}}
	if who != nil {
		o.ToolsOf, o.AppsOf = who.toolsOf, who.appsOf
	}
	return mcp.New(a.Bridge, o)
}

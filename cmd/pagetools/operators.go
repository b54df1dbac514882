package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os/user"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/kit"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/console"
)

func consoleCommand(p *program) *cobra.Command {
	var open bool
	c := &cobra.Command{
		Use:   "console",
		Short: "Show a link to the operators' page that logs in once",
		Long: "Shows a link to the page where a person answers the questions of all pagetools " +
			"of this user.\nIt logs in once, within a minute, and is shown at the terminal only.",
		Args: exactly(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error { return openConsole(cmd.Context(), p, open) },
	}
	c.Flags().BoolVar(&open, "open", false, "open it in the browser of this desktop")
	return c
}

// openConsole shows a link to the operators' page, or opens it.
func openConsole(ctx context.Context, p *program, open bool) error {
	a := &approver{p: p}
	live, err := a.live()
	if err != nil {
		return err
	}
	_, by := console.Page(ctx, live)
	if by == nil {
		return terminal.Unreachable("no pagetools that runs serves the operators' page: " +
			"start one without --console-listen off")
	}
	tty, err := terminal.OpenOutput()
	if err != nil && !open {
		return bridge.Errorf(bridge.Forbidden, "", bridge.NotRun,
			"The link logs in, so that it is shown at a terminal only, and there is none.")
	}
	if err == nil {
		defer func() { _ = tty.Close() }()
	}
	var link struct{ URL, PublicURL string }
	if err := a.request(ctx, by, http.MethodPost, "/api/links", named{userName()}, &link); err != nil {
		return err
	}
	if !open {
		_, err = fmt.Fprintln(tty, link.URL)
		if err == nil && link.PublicURL != "" {
			_, err = fmt.Fprintln(tty, "From elsewhere:", link.PublicURL)
		}
		return err
	}
	return a.openLink(ctx, by, link.URL)
}

// factsOf returns what the operators' page shows of a site besides its tools.
func (c *callers) factsOf(a *app.App) func(site string) console.SiteFacts {
	asks := c.issuers != nil || len(c.ofFaces(c.p.conf)) > 0
	return func(site string) console.SiteFacts {
		return console.SiteFacts{State: a.Status(site), Engine: a.KindOf(site), Findings: a.Findings(site), Endpoint: c.endpoint, Token: asks}
	}
}

// compareVersions compares two versions of a site's tools for the operators' page.
func compareVersions(before, now json.RawMessage) ([]console.Change, error) {
	found, err := kit.CompareVersions(before, now)
	all := make([]console.Change, len(found))
	for i, c := range found {
		all[i] = console.Change{Tool: c.Tool, Was: c.Was, Pointer: c.Pointer, Change: c.Change, What: c.What, Reason: c.Reason}
	}
	return all, err
}

// userName returns the name of who runs this command, or "".
func userName() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username[strings.LastIndexByte(u.Username, '\\')+1:] // on Windows behind that of the machine
}

// operatorAt returns the caller of a face that only operators reach: the socket, the
// terminal of serve, the console.
func operatorAt(where string) bridge.Caller {
	return bridge.Caller{Name: where, May: []bridge.Right{bridge.MayAnswer}}
}

// operators serves the operators' API: on the socket, and, with its page, on
// --console-listen.
type operators struct {
	p       *program
	app     *app.App
	who     *callers
	inbox   inbox
	links   console.Links
	logins  *console.Logins // nil: nobody can log in by a link
	nodes   http.Handler    // serves operators to other nodes
	done    chan struct{}
	closing sync.WaitGroup

	mu      sync.Mutex
	servers []*http.Server
}

// retryConsole sets how often an address that was taken is tried again.
const retryConsole = 2 * time.Second

// serveOperators begins to serve. What cannot be served is a warning: calls need
// no console.
func serveOperators(ctx context.Context, a *app.App, who *callers,
	page consoleListener) *operators {
	p := who.p
	o := &operators{p: p, app: a, who: who, done: make(chan struct{})}
	var err error
	var l *door
	if o.inbox, err = openInbox(p.conf); err == nil {
		l, err = o.inbox.listen(ctx, doorName(who.plan.node))
	}
	o.links.Public = string(p.conf.ConsolePublicURL)
	options := console.Options{Done: o.done, Log: p.log, Words: optionWords, Links: &o.links, Node: o.inbox.node(),
		Version: ownVersion(), Start: who.plan.start, Facts: who.factsOf(a),
		Compare: compareVersions, Audit: auditOf(a.Memory()), Callers: who.faces.Callers, RuleAt: who.ruleAt, Pages: a, Traces: a.Traces, Records: &p.records,
		Scenario: func(s bridge.Site, call bridge.Observed) ([]byte, error) { return kit.ScenarioOf(s.Target, call) }}
	if n := who.plan.node; n != nil {
		options.Node = n.name
		options.Cluster = func(ctx context.Context) any { return n.cluster.Status(ctx) }
		named := options
		named.Named = true
		routes := append(console.New(a.Bridge, named).Routes(), drainRoute(n, false), logRoute(n, a, false), auditRoute(n, a, false), waysRoute(n, false))
		options.Connections = connections{n.cluster.Connections, p}
		o.links.Once, o.logins = n.cluster.Once, console.NewLogins(n.cluster.Operators)
		o.nodes = transport.Trusted(transport.NewMux(routes...), operatorOfNode(), transport.Options{Log: p.log})
	}
	if err == nil || p.conf.ConsoleListen != "off" { // somebody can read them
		options.Records.Gather(ctx, a.Bridge, options.Node)
	}
	if err != nil {
		p.say("warning: `pagetools approve` cannot reach this process: %v", err)
	} else {
		socket := options
		socket.Named = true
		if n := who.plan.node; n != nil {
			socket.Peers = n.cluster.Peers // any of them reaches all nodes
		}
		routes := slices.Concat(console.New(a.Bridge, socket).Routes(), []transport.Route{o.reloadRoute()}, o.pairRoutes(), o.clusterRoutes())
		o.serve(transport.Server(l.guard(transport.NewMux(routes...), p.log), p.log), l)
	}
	if p.conf.ConsoleListen == "off" {
		return o
	}
	options.Peers = who.plan.node.peers(o.inbox.peers)
	if kept := a.Memory(); kept != nil && o.logins == nil { // otherwise the nodes have both
		options.Connections, o.logins = connections{kept.Connections, p}, console.NewLogins(kept.Logins)
	}
	options.Logins = o.logins
	all := transport.NewMux(console.New(a.Bridge, options).Routes()...)
	if page.Listener != nil {
		o.servePage(page, all)
	} else {
		if page := o.page(); page != "" {
			a.Keep(strings.TrimSuffix(strings.TrimPrefix(page, "http://"), "/"))
			p.say("note: another pagetools serves the operators' page, %s: "+
				"it shows the questions of this one, too", page)
		} else {
			p.say("warning: no operators' page: %s is taken by another program; "+
				"--console-listen chooses another address", p.conf.ConsoleListen)
		}
		o.closing.Go(func() { o.takeOver(ctx, all) })
	}
	return o
}

// consoleListener listens for the operators' page. It has none where the page is off, or where
// the address that nobody chose is taken.
type consoleListener struct{ net.Listener }

func (l consoleListener) close() {
	if l.Listener != nil {
		_ = l.Close()
	}
}

// listenConsole listens where the operators' page is served.
func listenConsole(ctx context.Context, c *config.Config) (consoleListener, error) {
	if c.ConsoleListen == "off" {
		return consoleListener{}, nil
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", c.ConsoleListen)
	if err == nil || c.IsDefault("console-listen") && origin.IsInUse(err) {
		return consoleListener{l}, nil
	}
	return consoleListener{}, cannotListen("--console-listen", c.ConsoleListen, err)
}

// servePage serves the page for the questions of all processes.
func (o *operators) servePage(l net.Listener, mux http.Handler) {
	o.app.Keep(l.Addr().String())
	guards := transport.Options{Listen: l.Addr().String(), Hosts: o.p.conf.AllowHosts, PublicURL: string(o.p.conf.ConsolePublicURL),
		Open: console.PagePaths, Words: optionWords, Log: o.p.log, Callers: o.who.ofConsole(o.who.read()),
		Credentials: &o.who.console}
	if o.logins != nil {
		guards.Tokens = o.logins.Caller
	}
	o.links.Serve("http://" + l.Addr().String() + "/")
	o.serve(transport.Server(transport.Guard(mux, guards), o.p.log), l)
}

// takeOver serves the page when the process that did so has ended.
func (o *operators) takeOver(ctx context.Context, mux http.Handler) {
	again := time.NewTicker(retryConsole)
	defer again.Stop()
	for {
		select {
		case <-again.C:
		case <-o.done:
			return
		}
		if l, _ := listenConsole(ctx, o.p.conf); l.Listener != nil { // otherwise it is still taken
			o.servePage(l, mux)
			return
		}
	}
}

func (o *operators) serve(s *http.Server, l net.Listener) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.servers = append(o.servers, s)
	go func() { _ = s.Serve(l) }() // ends with close
}

// linked returns where a person can answer, for a caller on this machine or from elsewhere; empty
// when they cannot.
func (o *operators) linked(remote bool) string {
	page := o.page()
	if page != "" && remote {
		return string(o.p.conf.ConsolePublicURL)
	}
	return page
}

// page returns where a person can answer, here or in another process; empty without one. It has
// no credential.
func (o *operators) page() string {
	if own := o.links.Page(); own != "" {
		return own
	}
	address, _ := console.Page(context.Background(), o.inbox.peers())
	return address
}

func (o *operators) close() {
	close(o.done)
	o.closing.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range o.servers {
		_ = s.Close()
	}
}

// answerAtTerminal asks the person at the terminal of serve, one question after
// another, until ctx ends.
func (o *operators) answerAtTerminal(ctx context.Context, b *bridge.Bridge, asker bridge.Asker) {
	operator := operatorAt("terminal")
	events := b.Watch(ctx, bridge.Interest{Caller: operator, Runs: true})
	var inbox bridge.Inbox
	for {
		open := inbox.Questions()
		if len(open) == 0 {
			ev, more := <-events
			if !more {
				return
			}
			inbox.Take(ev)
			continue
		}
		answer, over, err := askWhileOpen(ctx, asker, open[0], events, &inbox)
		switch {
		case ctx.Err() != nil:
			return
		case over:
			o.p.say("question: it is not open any more")
		case err != nil:
			o.p.say("warning: the terminal gives no answers: %v", err)
			return
		default:
			if err := b.Answer(operator, open[0].ID, answer); err != nil {
				o.p.say("question: %s", text.Line(bridge.AsError(err).Message))
				continue
			}
			for ctx.Err() == nil && asks(&inbox, open[0].ID) { // until it is known to be closed
				inbox.Take(<-events)
			}
		}
	}
}

func asks(inbox *bridge.Inbox, id string) bool {
	return slices.ContainsFunc(inbox.Questions(),
		func(q bridge.OpenQuestion) bool { return q.ID == id })
}

// askWhileOpen asks until there is an answer, or the question is over.
func askWhileOpen(ctx context.Context, asker bridge.Asker, q bridge.OpenQuestion,
	events <-chan bridge.Event, inbox *bridge.Inbox) (answer bridge.Answer, over bool, err error) {
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	asked := make(chan struct{})
	go func() { // ends with the question
		defer close(asked)
		answer, err = asker.Ask(asking, q.Question)
	}()
	for {
		select {
		case <-asked:
			return answer, over || ctx.Err() != nil, err
		case ev, more := <-events:
			if !more {
				events = nil // ctx ended, and with it the question
			} else if inbox.Take(ev); !asks(inbox, q.ID) {
				over = true
				cancel()
			}
		}
	}
}

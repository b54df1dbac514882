package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/authserver"
	"github.com/pagetools/pagetools/transport/oauth"
)

// callers holds the callers of a process that serves. SIGHUP, `pagetools reload` and a change of
// the file with --watch read them again from the configuration file.
type callers struct {
	p *program
	// plan has the targets that are served; its targets are behind mu.
	plan plan
	mu   sync.Mutex
	// file has the callers as they were read last. Whoever follows the file changes it, behind mu.
	file *config.Config
	// again has who asks for it; nil where the process reads no file again.
	again chan chan<- reloaded
	// faces and console are the credentials of the two listeners.
	faces, console transport.Credentials
	// operator is the credential of the console. It is the same for all processes of a
	// data directory, and for the next ones.
	operator string
	issuers  *issuers // nil: none
	// tools has what callers see over MCP, by name; "" names all that issuers name.
	tools atomic.Pointer[map[string]string]
	// apps has who gets the card, of those callers of whom the file says it.
	apps atomic.Pointer[map[string]bool]
	// endpoint has the address at which agents reach the faces; "" where they are not served over HTTP.
	endpoint string
}

// consoleTokenName is the file of the console's credential.
const consoleTokenName = "console.token"

// newCallers returns the callers of a process that has a plan. One that follows reads its file, if
// there is one, again when it is asked to.
func newCallers(p *program, pl plan, follows bool) *callers {
	token, err := kept(p.conf, consoleTokenName, func() []byte { return []byte(rand.Text()) })
	if err != nil {
		p.say("warning: the console's credential does not outlive this process: %v", err)
	}
	if token == nil {
		token = []byte(rand.Text())
	}
	c := &callers{p: p, plan: pl, file: p.conf, operator: strings.TrimSpace(string(token))}
	c.setTools(p.conf)
	if follows && p.conf.File != "" {
		c.again = make(chan chan<- reloaded)
	}
	return c
}

// guards makes the rules in front of every face.
func (c *callers) guards(addr net.Addr) (transport.Options, error) {
	conf := c.p.conf
	if conf.NoCallers { // who removed the last one meant nobody
		return transport.Options{}, terminal.Usage("callers in %s has no entries, and without callers everybody on "+
			"this machine may call: remove the key to have it so, or add a caller", conf.File)
	}
	o := transport.Options{Listen: addr.String(), Hosts: conf.AllowHosts, Origins: conf.CORS, PublicURL: string(conf.PublicURL), Words: optionWords,
		Open: transport.AboutPaths, Log: c.p.log, Callers: c.ofFaces(c.read()), Credentials: &c.faces}
	if c.issuers != nil {
		o.Verifier = c.issuers
	}
	if err := o.Validate(); err != nil {
		return o, terminal.Usage("%s",
			strings.ReplaceAll(err.Error(), o.Listen, conf.Listen)) // as they wrote it
	}
	c.endpoint = cmp.Or(strings.TrimSuffix(o.PublicURL, "/"), "http://"+o.Listen)
	return o, nil
}

// read returns the file as it was read last.
func (c *callers) read() *config.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.file
}

// begin begins to find out who calls, by the file as it was read last.
func (c *callers) begin(ctx context.Context, a *app.App, again bool) error {
	c.issuers.begin(ctx, c.p, a, c.plan.node)
	if !again {
		return nil
	}
	file := c.read()
	a.Bridge.SetRates(file.Rates())
	if c.issuers == nil {
		return nil
	}
	all, err := issuersOf(file)
	if err == nil {
		c.issuers.replace(c.p, all, peopleOf(file))
	}
	return err
}

// setTools takes over the modes in which the callers of a file see tools over MCP, and who of them
// get the card. A host keeps the list that it read first, for days: through an issuer, only hybrid
// lets it reach the tools of today.
func (c *callers) setTools(f *config.Config) {
	tools, apps := map[string]string{"": f.OAuth.MCPTools}, map[string]bool{}
	if tools[""] == "" && c.p.conf.MCPTools == "auto" {
		tools[""] = "hybrid"
	}
	for i := range f.Callers {
		tools[f.Callers[i].Name] = f.Callers[i].MCPTools
		if own := f.Callers[i].Apps; own != nil {
			apps[f.Callers[i].Name] = *own
		}
	}
	c.tools.Store(&tools)
	c.apps.Store(&apps)
}

// appsOf says whether a caller gets the card; "" leaves it to --mcp-apps.
func (c *callers) appsOf(caller bridge.Caller) string {
	switch on, said := (*c.apps.Load())[caller.Name]; {
	case !said:
		return ""
	case on:
		return "on"
	default:
		return "off"
	}
}

// toolsOf returns the mode in which a caller sees tools over MCP; "" leaves it to --mcp-tools.
func (c *callers) toolsOf(caller bridge.Caller) string {
	tools := *c.tools.Load()
	if _, _, byIssuer := strings.Cut(caller.Name, ":"); byIssuer {
		return tools[""]
	}
	return tools[caller.Name]
}

// tokenCaller is the name of the caller with --token.
const tokenCaller = "token"

// ofFaces lists the callers of a file that may call.
func (c *callers) ofFaces(f *config.Config) []transport.Credential {
	return c.plan.node.unrevoked(c.named(f))
}

// named lists the callers of a file, those that were revoked at another node, too.
func (c *callers) named(f *config.Config) []transport.Credential {
	var all []transport.Credential
	if c.p.conf.Token != "" {
		all = append(all, transport.Credential{
			Caller: bridge.Caller{Name: tokenCaller,
				May: []bridge.Right{bridge.MayCall, bridge.MayElicit}}, Token: c.p.conf.Token})
	}
	for i := range f.Callers {
		all = append(all, credential(&f.Callers[i]))
	}
	return all
}

// ofConsole lists the callers of a file that may see the operators' page, after the local operator, who may do
// everything there.
func (c *callers) ofConsole(f *config.Config) []transport.Credential {
	local := operatorAt("console")
	local.May = append(local.May, bridge.MayCall)
	all := []transport.Credential{{Caller: local, Token: c.operator}}
	for i := range f.Callers {
		if one := credential(&f.Callers[i]); one.Can(bridge.MayView) {
			all = append(all, one)
		}
	}
	return c.plan.node.unrevoked(all)
}

func credential(c *config.Caller) transport.Credential {
	return transport.Credential{Caller: bridge.Caller{Name: c.Name, May: c.May, Sites: c.Sites},
		Token: c.Token}
}

// ruleAt returns the file and the line of a rule for a site, or "".
func (c *callers) ruleAt(site string, rule policy.Rule) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.plan.targets {
		at := &t.config.Approval
		if i := slices.Index(at.Tools, rule); t.Name == site && i >= 0 && i < len(at.Lines) {
			return fmt.Sprintf("%s:%d", c.p.conf.File, at.Lines[i])
		}
	}
	return ""
}

// follow reads the file again at each SIGHUP, and when somebody asks, until ctx ends or stop is
// called. Without a file it does nothing.
func (c *callers) follow(ctx context.Context, a *app.App) (stop func()) {
	if c.p.conf.File == "" {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	asked, done := c.p.hangups.follow(c.p.stdin, c.p.stderr), make(chan struct{})
	var told sync.WaitGroup
	go func() { // ends with stop
		defer close(done)
		defer told.Wait()
		for ctx.Err() == nil {
			select {
			case <-asked:
				c.reload(ctx, a, &told)
			case <-c.plan.node.revocations():
				c.drop(a)
				c.reload(ctx, a, &told)
			case reply := <-c.again:
				reply <- c.reload(ctx, a, &told)
			case <-ctx.Done():
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// ask has who follows the callers read them again, and returns what that said; not ok when ctx or
// the program ends first. c must follow.
func (c *callers) ask(ctx context.Context, ended <-chan struct{}) (r reloaded, ok bool) {
	reply := make(chan reloaded, 1)
	select {
	case c.again <- reply:
		return <-reply, true
	case <-ended:
	case <-ctx.Done():
	}
	return r, false
}

// reload takes over the sites and the callers of the file as it is now. With a file that cannot be
// taken they stay as they were. It says on stderr what it returns. What becomes of new sites is said
// later, by what told counts.
func (c *callers) reload(ctx context.Context, a *app.App, told *sync.WaitGroup) reloaded {
	p := c.p
	next, err := p.flags.Reload(p.conf)
	if err == nil {
		err = transport.ValidateCallers(c.named(next))
	}
	var all []oauth.Issuer
	if err == nil {
		all, err = issuersOf(next)
	}
	var people []authserver.Person
	if err == nil {
		people = peopleOf(next)
		err = checkPeople(next, people)
	}
	var change *siteChange
	if err == nil {
		change, err = c.prepareSites(ctx, a, next)
	}
	if err != nil {
		said := "the sites and the callers stay as they were: " + text.Line(err.Error())
		fmt.Fprintf(p.stderr, "pagetools: warning: %s\n", said)
		return reloaded{Said: said}
	}
	a.Bridge.SetRates(next.Rates()) // first: nobody new is without theirs
	c.plan.node.revoke(c.file, next)
	c.mu.Lock()
	c.file = next
	c.mu.Unlock()
	revoked := c.faces.Replace(c.ofFaces(next))
	revoked = append(revoked, c.console.Replace(c.ofConsole(next))...)
	if c.setTools(next); c.issuers != nil {
		c.issuers.replace(p, all, people)
	}
	a.Bridge.Revoke()
	a.Revoke()
	change.apply(c) // last: who may not see a site does not see it for a moment
	c.plan.node.configured(change.targets, next)
	said := fmt.Sprintf("the callers were read again from %s: there are %d", p.conf.File,
		len(next.Callers))
	if c.issuers != nil {
		said += ", and " + text.Count(len(all), "issuer")
		if c.issuers.own != nil {
			said += fmt.Sprintf(", and %d who may let clients in", len(people))
		}
	}
	if slices.Sort(revoked); len(revoked) > 0 {
		said += "; revoked: " + strings.Join(slices.Compact(revoked), ", ")
	}
	said += change.said()
	warnOfFile(p.stderr, next)
	p.sayAll(slices.Concat(tokenWarnings(next), callerWarnings(next, change.targets)))
	if c.issuers == nil && len(all)+len(people) > 0 || c.issuers != nil && c.issuers.own == nil && len(people) > 0 {
		p.say("note: oauth in %s counts after a restart: there was none when this began", p.conf.File)
	}
	if keys := next.Differs(p.conf); len(keys) > 0 {
		p.say("note: %s has changed in more than its sites and callers; these count after a restart: %s",
			p.conf.File, text.List(keys, "and"))
	}
	said = text.Line(said)
	p.say("%s", said)
	told.Go(func() { change.tell(ctx, p, a) }) // ends with ctx
	return reloaded{true, said}
}

// hangups decides what a SIGHUP means. It ends the program, as the end of its terminal
// does, unless serve follows it: then serve reads its file again.
type hangups struct {
	followed  atomic.Bool
	came      chan struct{} // one for all that were not looked at yet
	terminals []any         // streams that were terminals when following began
}

// follow makes SIGHUP come over the channel from now on.
func (h *hangups) follow(streams ...any) <-chan struct{} {
	if h.followed.Load() { // by the life before
		return h.came
	}
	for _, s := range streams {
		if terminal.Is(s) {
			h.terminals = append(h.terminals, s)
		}
	}
	h.followed.Store(true)
	return h.came
}

// take takes one SIGHUP, and reports whether the program goes on. The end of a terminal
// sends one too.
func (h *hangups) take() bool {
	if !h.followed.Load() {
		return false
	}
	for _, s := range h.terminals {
		if !terminal.Is(s) {
			return false
		}
	}
	select {
	case h.came <- struct{}{}:
	default:
	}
	return true
}

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/kit"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp/chrome"
)

func doctorCommand(p *program) *cobra.Command {
	var names []string
	c := &cobra.Command{
		Use:   "doctor [TARGET]",
		Short: "Check, step by step, what pagetools needs",
		Long: "Goes step by step from the address to the tools, and names the step that fails. With --cluster, also the engine, the key,\n" +
			"and whether the nodes reach each other.\nWith --client it says, tool by tool, " +
			"what a client of MCP does with the list that it gets by the settings: ok, changed by pagetools, cut, hidden, dropped, or refused " +
			"with the whole request; each rule has its source. Ends with 1 when a tool is dropped or refused.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return terminal.Usage("doctor takes one TARGET at most, and %q is too much; "+
					"see pagetools doctor --help", text.Line(args[1]))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			d := &doctor{p: p}
			if err := d.askFor(names, args); err != nil {
				return err
			}
			var t *target
			if len(args) == 1 {
				var err error
				if t, err = p.readTarget(args[0]); err != nil {
					return err
				}
			}
			return d.run(cmd.Context(), t)
		},
	}
	c.Flags().StringSliceVar(&names, "client", nil, kit.ClientHelp)
	return c
}

// doctor runs its steps in order, and stops at the first that fails.
type doctor struct {
	p       *program
	steps   []doctorStep
	clients *kit.Doctor // nil is none; with it, only steps that fail are printed
}

// askFor notes the clients that --client names.
func (d *doctor) askFor(clients, args []string) (err error) {
	switch {
	case len(clients) == 0:
		return nil
	case len(args) == 0:
		return terminal.Usage("--client judges the tools of a site: give a TARGET, too, as in pagetools doctor TARGET --client %s",
			text.Line(clients[0]))
	}
	d.clients, err = kit.NewDoctor(d.p.stdout, d.p.conf.Format == "text", clients)
	return err
}

type doctorStep struct {
	Step   string `json:"step"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail,omitempty"`
	Fix    string `json:"fix,omitempty"`
}

func (d *doctor) ok(step, format string, args ...any) {
	d.add(doctorStep{Step: step, OK: true, Detail: fmt.Sprintf(format, args...)})
}

// fail notes the step that fails and what to do, and returns the exit code.
func (d *doctor) fail(code int, step, fix string, cause error) error {
	d.add(doctorStep{Step: step, Detail: cause.Error(), Fix: fix})
	return &terminal.ShownError{Code: code}
}

func (d *doctor) add(s doctorStep) {
	d.steps = append(d.steps, s)
	if d.clients != nil && s.OK {
		return
	}
	if d.p.conf.Format != "text" {
		_ = terminal.Encode(d.p.stdout, s)
		return
	}
	mark := "ok  "
	if !s.OK {
		mark = "FAIL"
	}
	fmt.Fprintf(d.p.stdout, "%s  %-12s %s\n", mark, s.Step, text.Line(s.Detail))
	if s.Fix != "" {
		fmt.Fprintf(d.p.stdout, "      %s\n", s.Fix)
	}
}

func (d *doctor) run(ctx context.Context, t *target) error {
	if d.p.conf.File != "" {
		d.ok("config", "%s", d.p.conf.File)
	} else {
		d.ok("config", "no configuration file: defaults, environment and flags")
	}
	site := &app.Site{}
	if t != nil {
		site.Target, site.API = t.Target, apiOptions(d.p.conf, plan{}, t)
	}
	if t != nil && !site.HasPage() {
		d.ok("browser", "not needed: %s is looked at as an API", t.Text)
	} else if err := d.browser(); err != nil {
		return err
	}
	if err := d.cluster(ctx); err != nil {
		return err
	}
	switch {
	case t == nil || t.Folder != "":
	case d.p.conf.AutoConnect:
		d.ok("network", "not checked: your browser opens connections to the site")
	case d.p.conf.IsRemote() && d.p.conf.EgressListen == "" || d.p.conf.ProxyServer != "":
		d.ok("network", "not checked: it is not this machine that opens connections to the site")
	default:
		if err := d.network(ctx, t); err != nil {
			return err
		}
	}
	return d.page(ctx, t)
}

// browser finds the browser and what it needs of the machine.
func (d *doctor) browser() error {
	s := d.p.conf
	if s.AutoConnect {
		found, err := chrome.Running(s.UserDataDir)
		if err != nil {
			return d.fail(terminal.ExitUnreachable, "browser", "", err)
		}
		d.ok("browser", "yours: %s names port %d", found[0].File, found[0].Port)
		return nil
	}
	if s.IsRemote() {
		all, err := endpoints(s)
		if err != nil {
			return err
		}
		for _, at := range all {
			d.ok("browser", "remote: %s", at)
		}
		return nil
	}
	if err := d.find(); err != nil {
		return err
	}
	switch {
	case s.NoSandbox:
		d.ok("sandbox", "off, as asked: open trusted sites only")
	case os.Geteuid() == 0:
		return d.fail(terminal.ExitUnreachable, "sandbox", "Run as another user; for trusted sites only, "+
			"give --no-sandbox or PAGETOOLS_NO_SANDBOX=1.",
			errors.New("as root the browser does not start with its sandbox"))
	default:
		d.ok("sandbox", "on")
	}
	dir, err := os.MkdirTemp("", "pagetools-doctor-")
	if err != nil {
		return d.fail(terminal.ExitUnreachable, "profile",
			"Make the temporary folder writable, or set TMPDIR.", err)
	}
	_ = os.Remove(dir)
	d.ok("profile", "%s can be written", os.TempDir())
	if !session.KnowsMemory() {
		d.ok("memory", "not known on this system: the cores alone bound how many sessions live")
	}
	return nil
}

// fromCache says which cache a browser is from, behind its path.
func fromCache(path string) string {
	if name := chrome.Cache(path); name != "" {
		return ", from " + name
	}
	return ""
}

// find looks for the browser, and says which kind it is.
func (d *doctor) find() error {
	o, err := chromeOptions(d.p.conf)
	if err != nil {
		return err
	}
	path, kind, err := chrome.Find(o)
	switch {
	case errors.Is(err, chrome.ErrNoBrowser), errors.Is(err, chrome.ErrNoShell):
		return d.fail(terminal.ExitUnreachable, "browser", installAdvice(o), err)
	case err != nil:
		return d.fail(terminal.ExitUsage, "browser", "", err)
	}
	found := doctorStep{Step: "browser", OK: true, Detail: fmt.Sprintf("%s: %s%s", kind, path, fromCache(path))}
	if _, _, err := chrome.Find(chrome.Options{Kind: chrome.Shell}); err != nil &&
		kind == chrome.Chromium && !o.Headful && o.Kind != chrome.Chromium {
		found.Fix = "A headless shell takes less memory, and starts sooner. Install one: " +
			chrome.HowToInstall(runtime.GOOS, false) + "."
	}
	d.add(found)
	return nil
}

// stepTime bounds each step that speaks to the network.
const stepTime = 10 * time.Second

// network looks at the site from outside of the browser.
func (d *doctor) network(ctx context.Context, t *target) error {
	u, err := url.Parse(t.URL)
	if err != nil {
		return terminal.Usage("%w", err)
	}
	bounded, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	addresses, err := net.DefaultResolver.LookupHost(bounded, u.Hostname())
	if err != nil {
		return d.fail(terminal.ExitUnreachable, "DNS",
			"Check the spelling of the host, and the name server.", err)
	}
	d.ok("DNS", "%s is %v", u.Hostname(), addresses)
	_, port := origin.HostPort(u)
	dialer := &net.Dialer{}
	conn, err := dialer.DialContext(bounded, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return d.fail(terminal.ExitUnreachable, "TCP",
			"Is the server running, and is a firewall in between?", err)
	}
	defer func() { _ = conn.Close() }()
	d.ok("TCP", "port %s answers", port)
	if u.Scheme == "https" {
		client := tls.Client(conn, &tls.Config{ServerName: u.Hostname(),
			MinVersion: tls.VersionTLS12})
		if err := client.HandshakeContext(bounded); err != nil && !d.p.conf.AcceptInsecureCerts {
			return d.fail(terminal.ExitUnreachable, "TLS", tlsFix(u, err), err)
		}
		d.ok("TLS", "handshake done")
	}
	return d.http(bounded, t)
}

// tlsFix says what to do about a handshake that failed.
func tlsFix(u *url.URL, err error) string {
	other, ok := errors.AsType[tls.RecordHeaderError](err)
	if ok && string(other.RecordHeader[:]) == "HTTP/" {
		plain := *u
		plain.Scheme = "http"
		return "The port speaks http: try " + plain.String()
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "Give the server a certificate that browsers accept; " +
			"--accept-insecure-certs accepts any, for sites of your own."
	}
	return "The server does not speak TLS as browsers do."
}

func (d *doctor) http(ctx context.Context, t *target) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.URL, http.NoBody)
	if err != nil {
		return terminal.Usage("%w", err)
	}
	insecure := d.p.conf.AcceptInsecureCerts
	client := &http.Client{CheckRedirect: notForEver, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: insecure}, //nolint:gosec // it was asked for
	}}
	resp, err := client.Do(req)
	if err != nil {
		return d.fail(terminal.ExitUnreachable, "HTTP", httpFix(err), err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode >= http.StatusBadRequest {
		fix := "Open the address in a browser: does it need a login, or another path?"
		if secure := speaksTLS(ctx, req.URL); secure != "" {
			fix = "The port speaks https: try " + secure
		}
		return d.fail(terminal.ExitUnreachable, "HTTP", fix, errors.New(resp.Status))
	}
	d.ok("HTTP", "%s, %s", resp.Status, resp.Header.Get("Content-Type"))
	return nil
}

// httpFix says what to do about a request without a reply.
func httpFix(err error) string {
	switch {
	case errors.Is(err, errRedirects):
		return "The site redirects without end: does it need a login, or a cookie?"
	case errors.Is(err, context.DeadlineExceeded):
		return "The server takes connections and does not answer: is it busy, or stopped in a debugger?"
	}
	return "The server takes connections and does not answer as a web server."
}

var errRedirects = errors.New("more than 10 redirects")

func notForEver(_ *http.Request, via []*http.Request) error {
	if len(via) > 10 {
		return errRedirects
	}
	return nil
}

// speaksTLS returns the https address of an http one whose port speaks TLS, or "".
func speaksTLS(ctx context.Context, u *url.URL) string {
	if u.Scheme != "http" || u.Port() == "" {
		return ""
	}
	d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // nothing is sent
	conn, err := d.DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return ""
	}
	_ = conn.Close()
	secure := *u
	secure.Scheme = "https"
	return secure.String()
}

// page starts the browser, opens the page and looks at its tools.
func (d *doctor) page(ctx context.Context, t *target) error {
	var pl plan
	if t != nil {
		pl = listing(t)
	}
	a, err := d.p.start(ctx, pl)
	if err != nil {
		return err
	}
	defer d.p.end(a)
	if a.Engine == nil {
		return d.api(ctx, a, t)
	}
	if err := d.begin(ctx, a.Engine); err != nil || t == nil {
		return err
	}
	ref := bridge.Ref{Site: t.Name, Caller: bridge.Local()}
	catalog, err := a.Router.Await(ctx, ref)
	if err != nil {
		e := bridge.AsError(err)
		return d.fail(exitCode(e), "open", d.openFix(e), errors.New(e.Message))
	}
	address, title, _ := a.Manager.Page(t.Name)
	d.ok("open", "%s %q", address, title)
	if a.APIs != nil {
		if about := a.APIs.Known(t.Name); about != nil {
			d.ok("document", "%s, found by %s", about.URL, about.Route)
		}
	}
	err = d.declarations(a, t, catalog)
	if d.clients != nil {
		return err
	}
	declared, failure := a.Manager.Catalog(ref) // without the tools of an API
	if failure != nil {
		return err
	}
	if code := d.engines(ctx, a, t, declared); code != nil {
		return code
	}
	return err
}

// api looks for the document of a site without pages, and at its tools.
func (d *doctor) api(ctx context.Context, a *app.App, t *target) error {
	about, catalog, err := a.APIs.About(ctx, t.Name)
	if err != nil {
		e := bridge.AsError(err)
		return d.fail(exitCode(e), "document", "Does the site publish OpenAPI with x-llm? "+
			"`pagetools check DOCUMENT` judges one.", errors.New(e.Message))
	}
	d.ok("document", "%s, found by %s", about.URL, about.Route)
	t.about, t.pageless = about, true
	return d.declarations(a, t, catalog)
}

// openFix says what to do about a page that does not open, though the network is in order.
func (d *doctor) openFix(e *bridge.Error) string {
	switch {
	case e.Reason == bridge.Unreachable && d.p.conf.ProxyServer != "":
		return "Does the proxy of --proxy-server run, and does it reach the site?"
	case e.Reason == bridge.Unreachable && d.p.conf.AutoConnect:
		return "Open the address in your browser: what does it say?"
	case e.Reason == bridge.Unreachable && d.p.conf.IsRemote():
		return "Does the machine of that browser reach the site?"
	case e.Reason == bridge.Unreachable:
		return "Open the address in a browser of your own: what does it say?"
	}
	return adviceOn(e, d.p.conf, nil)
}

// cause returns what the log would say of an error.
func cause(err error) error {
	e := bridge.AsError(err)
	if e.Err == nil {
		return err
	}
	return e.Err
}

func (d *doctor) declarations(a *app.App, t *target, catalog *bridge.Catalog) error {
	findings := a.Findings(t.Name)
	if d.clients != nil && len(catalog.Tools()) > 0 {
		return d.clients.Judge(d.p.listed(siteOf(a, t.Name), catalog.Tools()), findings)
	}
	for _, f := range findings {
		if t.pageless && f.Rule == bridge.RuleEmpty {
			continue // the last step says it
		}
		step, detail := "page", f.Message
		if t.pageless {
			step = "document"
		}
		if f.Tool != "" {
			step, detail = "declaration", f.Tool+": "+f.Message
		}
		d.add(doctorStep{Step: step, Detail: detail, Fix: "Rule " + f.Rule + "."})
	}
	switch n := len(catalog.Tools()); {
	case n > 0:
		d.ok("tools", "%d found", n)
	case t.pageless:
		return d.fail(terminal.ExitFindings, "tools", apiFix(d.p.conf, t),
			fmt.Errorf("the API offers none: %s", t.about.Empty()))
	default:
		none := without(findings, catalog.Left())
		fix := "Does the page call document.modelContext.registerTool or navigator.modelContext.provideContext at load? " +
			orLate(findings, catalog.Left(), t)
		if slices.ContainsFunc(findings, func(f bridge.Finding) bool { return f.Refused }) {
			fix = "Correct what the steps above name."
		}
		return d.fail(terminal.ExitFindings, "tools", fix, errors.New(none))
	}
	for _, f := range d.p.listed(siteOf(a, t.Name), catalog.Tools()).Findings { // worth knowing, and nothing wrong
		d.ok("mcp", "%s: %s", f.Tool, f.Message)
	}
	if len(findings) > 0 {
		return &terminal.ShownError{Code: terminal.ExitFindings}
	}
	return nil
}

package main

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/clients"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/session/adapter"
	"github.com/pagetools/pagetools/session/cdp/chrome"
)

// clientOptions are the flags of `config CLIENT`.
type clientOptions struct {
	http    string // not empty: the URL of a server that runs already
	via     string // npx starts npm's package; empty: this program starts
	install bool
}

func (o clientOptions) check(args []string) error {
	word := "print"
	if len(args) > 0 {
		word = args[0]
	}
	isClient := clients.Named(word) != nil
	switch {
	case !isClient && word != "print" && word != "schema":
		return terminal.Usage("config takes print, schema, or a client, not %q; clients are %s",
			text.Line(word), strings.Join(clients.Names(), ", "))
	case word == "schema" && len(args) > 1 && (len(args) > 2 || args[1] != "x-llm"):
		return terminal.Usage("config schema takes no argument, or x-llm, and %q is neither; "+
			"see pagetools config --help", text.Line(strings.Join(args[1:], " ")))
	case !isClient && word != "schema" && len(args) > 1:
		return terminal.Usage("config %s takes no argument, and %q is too much; see pagetools "+
			"config --help", word, text.Line(args[1]))
	case !isClient && (o.http != "" || o.via != "" || o.install):
		return terminal.Usage("--http, --via and --install are for clients: %s",
			strings.Join(clients.Names(), ", "))
	case o.via != "" && o.via != "npx":
		return terminal.Usage("invalid value %q for --via: must be npx", text.Line(o.via))
	case o.via != "" && o.http != "":
		return terminal.Usage("--via is for the server that the client starts, and --http names " +
			"one that runs already: leave out one of them")
	case o.http != "" && len(args) > 1:
		return terminal.Usage("a TARGET is for the server that the client starts, and --http " +
			"names one that runs already: leave out one of them")
	}
	return nil
}

// configClient prints what a client needs, or writes it into its file.
func configClient(p *program, name string, targets []string, o clientOptions) error {
	d := &clientConfig{p: p, c: clients.Named(name)}
	var err error
	if d.c.Remote != nil && o.http == "" && len(targets) == 0 && p.conf.PublicURL != "" {
		o.http = string(p.conf.PublicURL) + "/mcp"
	}
	if o.http != "" {
		err = d.remote(o.http)
	} else if d.c.Remote == nil {
		err = d.local(targets)
	}
	if err == nil && o.via != "" {
		err = d.viaNPX(ownVersion())
	}
	if err != nil {
		return err
	}
	if o.via == "" {
		d.warnOfPath()
	}
	if err := d.c.Fit(&d.s); err != nil {
		return terminal.Usage("%w", err)
	}
	if d.c.Remote != nil {
		return d.printRemote(o)
	}
	if command := d.c.Command(d.s); command != "" && !p.conf.Quiet {
		fmt.Fprintf(p.stderr, "# %s\n", command)
	}
	if d.s.Token {
		p.say("the token is not in it: put it into the environment in which %s runs, as %s",
			d.c.Title, clients.TokenVariable)
	}
	if o.install {
		return d.install()
	}
	_, err = fmt.Fprint(p.stdout, d.c.Snippet(d.s))
	return err
}

// printRemote prints what a person gives to a client in a cloud, which has no file here.
func (d *clientConfig) printRemote(o clientOptions) error {
	if o.install {
		return terminal.Usage("%s has no file on this machine: leave --install out, and paste what is "+
			"printed", d.c.Title)
	}
	for _, line := range d.c.Remote.Advice(d.s) {
		d.p.say("%s: %s", d.c.Title, line)
	}
	_, err := fmt.Fprint(d.p.stdout, d.c.Snippet(d.s))
	return err
}

// warnOfPath says where the program will not stay.
func (d *clientConfig) warnOfPath() {
	switch path := filepath.ToSlash(d.s.Command); {
	case strings.Contains(path, "go-build"):
		d.p.say("warning: %s is what `go run` made, and will not stay; build it first", text.Line(path))
	case strings.Contains(path, "/_npx/"):
		d.p.say("warning: %s is in npx's cache, and will not stay; --via npx has %s start npm's package",
			text.Line(path), d.c.Title)
	}
}

// viaNPX has npx start npm's package of this very version.
func (d *clientConfig) viaNPX(version string) error {
	if !isReleased(version) {
		return terminal.Usage("--via npx starts npm's package of this version, and this is %s, which is not "+
			"a release: run npx -y pagetools config %s", version, d.c.Name)
	}
	d.s.NPX = strings.TrimPrefix(version, "v")
	return nil
}

// clientConfig describes a server for a client.
type clientConfig struct {
	p *program
	c *clients.Client
	s clients.Server
}

// remote describes a server that runs already.
func (d *clientConfig) remote(address string) error {
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return terminal.Usage("--http must be the URL of an MCP server, such as "+
			"http://127.0.0.1:7300/mcp, not %q",
			text.Line(password.ReplaceAllString(address, "://")))
	}
	if u.User != nil {
		return terminal.Usage("--http: the password in the URL would be in the client's file: " +
			"leave it out; the server takes a token, in PAGETOOLS_TOKEN")
	}
	d.s = clients.Server{Name: "pagetools", URL: u.String()}
	site, ok := strings.CutPrefix(strings.TrimSuffix(u.Path, "/"), "/mcp/")
	if ok && app.SiteName.MatchString(site) {
		d.s.Name = site
	}
	// A listener elsewhere does not start without a token.
	for _, i := range d.p.conf.OAuth.Issuers {
		d.s.Issuers = append(d.s.Issuers, i.Issuer)
	}
	d.s.SignIn = len(peopleOf(d.p.conf)) > 0
	d.s.Token = d.p.conf.Token != "" || len(d.p.conf.Callers) > 0 || !origin.Loopback(u.Hostname())
	return nil
}

// local describes the program that a client starts: this one, with the flags and the
// variables of this run, wherever the client starts it.
func (d *clientConfig) local(targets []string) error {
	all, err := d.p.targets(targets)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return terminal.Usage("config %s needs a TARGET, or --http URL, or a configuration file "+
			"with sites", d.c.Name)
	}
	d.s = clients.Server{Name: "pagetools", Env: map[string]string{}, Args: []string{"mcp"}}
	if len(all) == 1 {
		d.s.Name = all[0].Name
	}
	if d.s.Command, err = ownPath(); err != nil {
		return err
	}
	for _, t := range all {
		if !t.named {
			continue // the file has it
		}
		arg, err := t.argument(targets)
		if err != nil {
			return err
		}
		d.s.Args = append(d.s.Args, arg)
	}
	for _, set := range d.p.conf.Settings() {
		d.repeat(set)
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) && d.p.conf.DataDir == "" {
		d.s.Env["XDG_STATE_HOME"] = dir // there is the memory, and the socket of `pagetools approve`
	}
	return nil
}

// ownPath returns where this program is. The name in PATH is better than what it links
// to, which an update may move.
func ownPath() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding this program: %w", err)
	}
	if found, err := exec.LookPath(filepath.Base(self)); err == nil && filepath.IsAbs(found) {
		a, errA := os.Stat(found)
		b, errB := os.Stat(self)
		if errA == nil && errB == nil && os.SameFile(a, b) {
			return found, nil
		}
	}
	return self, nil
}

// argument is a target as another process can be given it.
func (t *target) argument(given []string) (string, error) {
	words := t.Text
	switch {
	case t.Folder != "":
		words = absolute(t.Folder)
	case password.MatchString(t.Text):
		return "", terminal.Usage("%s: the password would be in the client's file; put the site into a "+
			"configuration file, and name that with --config",
			text.Line(password.ReplaceAllString(t.Text, "://")))
	}
	if slices.Contains(given, t.Name+"="+t.Text) {
		return t.Name + "=" + words, nil
	}
	return words, nil
}

// repeat adds a setting of this run to the server. Secrets stay behind.
func (d *clientConfig) repeat(set config.Setting) {
	isSecret := func(v string) bool { return secret(set.Key, v) }
	env := set.From == "environment"
	switch {
	case set.Key == "config" && d.p.conf.Unnamed: // naming it would trust it for good
		d.p.say("%s is not in it, because nobody named it: --config %s does", d.p.conf.File,
			d.p.conf.File)
		return
	case set.Key == "config" && d.p.conf.File != "":
		set.Values = []string{d.p.conf.File}
	case set.Is("run") || !d.p.conf.Insisted(set.Key):
		return
	case set.Key == "token" && env:
		return // over stdio there is nobody to show it
	case set.Key == "token":
		d.p.say("--token is left out: what a client starts itself asks for none")
		return
	case set.Is("secret") || slices.ContainsFunc(set.Values, isSecret):
		d.p.say("--%s is not in it, because it is a secret: put it into the environment in which "+
			"%s runs, as %s, or into a file that only you can read, named with --config",
			set.Key, d.c.Title, config.EnvName(set.Key))
		return
	}
	for i := range set.Values {
		if set.Is("path") {
			set.Values[i] = absoluteOf(set.Key, set.Values[i])
		}
	}
	switch name := config.EnvName(set.Key); {
	case env && set.Is("path"):
		d.s.Env[name] = strings.Join(set.Values, "\n")
		return
	case env:
		d.s.Env[name] = os.Getenv(name) // as it was read
		return
	}
	for _, v := range set.Values {
		arg := "--" + set.Key + "=" + v
		if set.Bool && v == "true" {
			arg = "--" + set.Key
		}
		d.s.Args = append(d.s.Args, arg)
	}
}

// absoluteOf makes the path of a setting hold in any folder.
func absoluteOf(key, v string) string {
	if key == "data-dir" && v == config.Off || strings.HasPrefix(v, adapter.Builtin) {
		return v
	}
	if key == "executable-path" && v == chrome.OfSystem {
		return v
	}
	if key == "executable-path" && filepath.Base(v) == v {
		if found, err := exec.LookPath(v); err == nil {
			v = found
		}
	}
	return absolute(v)
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// password is a URL's user with what follows.
var password = regexp.MustCompile(`://[^/?#]*@`)

// secret reports whether knowing the address is enough to use it: services that rent
// browsers put their keys into the query.
func secret(key, v string) bool {
	browser := key == "browser-url" || key == "ws-endpoint"
	return password.MatchString(v) || browser && strings.Contains(v, "?") ||
		key == "proxy-server" && strings.Contains(v, "@")
}

// install writes the server into the client's file, or has the client's own command do it. A
// file that neither can write without loss stays as it is, and the person gets the snippet to
// paste.
func (d *clientConfig) install() error {
	done, err := d.c.Install(d.s)
	path := text.Line(done.Path)
	switch {
	case err != nil && path == "":
		return terminal.Usage("%w", err)
	case err != nil:
		fmt.Fprint(d.p.stdout, d.c.Snippet(d.s))
		return terminal.Usage("%s %w. It stays as it is; what to paste into it is above", path, err)
	case done.Same:
		d.p.say("%s has %s already", path, d.s.Name)
	case done.By != "":
		d.p.say("%s has %s now, by %s. %s reads it when it starts", path, d.s.Name, done.By, d.c.Title)
	case done.Backup == "":
		d.p.say("%s is new, with %s; %s reads it when it starts", path, d.s.Name, d.c.Title)
	default:
		d.p.say("%s has %s now; what it was is in %s. %s reads it when it starts",
			path, d.s.Name, text.Line(done.Backup), d.c.Title)
	}
	return nil
}

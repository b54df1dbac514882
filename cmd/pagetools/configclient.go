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

	"github.com/pagetools/pagetools/cmd/pagetools/internal/clients"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/e2e/app"
)

// clientOptions are the flags of `config CLIENT`.
type clientOptions struct {
	http    string // not empty: the URL of a server that runs already
	install bool
}

func (o clientOptions) check(args []string) error {
	word := "print"
	if len(args) > 0 {
		word = args[0]
	}
	isClient := slices.Contains(clients.Names(), word)
	switch {
	case !isClient && word != "print" && word != "schema":
		return usage("config takes print, schema, or a client: %s", strings.Join(clients.Names(), ", "))
	case !isClient && len(args) > 1:
		return usage("config %s takes no argument", word)
	case !isClient && (o.http != "" || o.install):
		return usage("--http and --install are for clients: %s", strings.Join(clients.Names(), ", "))
	case o.http != "" && len(args) > 1:
		return usage("a TARGET is for the server that the client starts, and --http names one that runs already")
	}
	return nil
}

// configClient prints what a client needs, or writes it into its file.
func (p *program) configClient(name string, targets []string, o clientOptions) error {
	c := clients.Named(name)
	var s clients.Server
	var err error
	if o.http != "" {
		s, err = p.remoteServer(o.http)
	} else {
		s, err = p.localServer(c, targets)
	}
	if err != nil {
		return err
	}
	if err := c.Fit(&s); err != nil {
		return usage("%w", err)
	}
	if command := c.Command(s); command != "" && !p.conf.Quiet {
		fmt.Fprintf(p.stderr, "# %s\n", command)
	}
	if s.Token {
		p.say("the token is not in it: put it into the environment in which %s runs, as %s", c.Title, clients.TokenVariable)
	}
	if o.install {
		return p.installClient(c, s)
	}
	_, err = fmt.Fprint(p.stdout, c.Snippet(s))
	return err
}

// remoteServer describes a server that runs already.
func (p *program) remoteServer(address string) (clients.Server, error) {
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return clients.Server{}, usage("--http is the URL of an MCP server, such as http://127.0.0.1:7300/mcp")
	}
	if u.User != nil {
		return clients.Server{}, usage("--http: a password in the URL would be in the client's file; the server takes a token")
	}
	s := clients.Server{Name: "pagetools", URL: u.String()}
	if site, ok := strings.CutPrefix(strings.TrimSuffix(u.Path, "/"), "/mcp/"); ok && app.SiteName.MatchString(site) {
		s.Name = site
	}
	// A listener elsewhere does not start without a token.
	s.Token = p.conf.Token != "" || len(p.conf.Callers) > 0 || !clients.IsLoopback(u.Hostname())
	return s, nil
}

// localServer describes the program that a client starts: this one, with the
// flags and the variables of this run, wherever the client starts it.
func (p *program) localServer(c *clients.Client, targets []string) (clients.Server, error) {
	all, err := p.targets(targets)
	switch {
	case err != nil:
		return clients.Server{}, err
	case len(all) == 0:
		return clients.Server{}, usage("config %s needs a TARGET, or --http URL, or a configuration file with sites", c.Name)
	}
	s := clients.Server{Name: "pagetools", Env: map[string]string{}, Args: []string{"mcp"}}
	if len(all) == 1 {
		s.Name = all[0].Name
	}
	if s.Command, err = p.ownPath(); err != nil {
		return clients.Server{}, err
	}
	for _, t := range all {
		if !t.named {
			continue // the file has it
		}
		arg, err := t.argument(targets)
		if err != nil {
			return clients.Server{}, err
		}
		s.Args = append(s.Args, arg)
	}
	if err := p.repeatFile(&s); err != nil {
		return clients.Server{}, err
	}
	for _, set := range p.conf.Settings() {
		p.repeat(c, set, &s)
	}
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) && p.conf.DataDir == "" {
		s.Env["XDG_STATE_HOME"] = dir // there is the memory, and the socket of `pagetools approve`
	}
	return s, nil
}

// ownPath is where this program is. The name in PATH is better than what it links
// to, which an update may move.
func (p *program) ownPath() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding this program: %w", err)
	}
	if found, err := exec.LookPath(filepath.Base(self)); err == nil && filepath.IsAbs(found) && sameFile(found, self) {
		self = found
	}
	if strings.Contains(self, "go-build") {
		p.say("warning: %s is what `go run` made, and will not stay; build it first", terminal.Plain(self))
	}
	return self, nil
}

func sameFile(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(x, y)
}

// argument is a target as another process can be given it.
func (t *target) argument(given []string) (string, error) {
	text := t.Text
	switch {
	case t.Folder != "":
		abs, err := filepath.Abs(t.Folder)
		if err != nil {
			return "", usage("%s: %w", terminal.Plain(t.Text), err)
		}
		text = abs
	case hasPassword(t.Text):
		return "", usage("%s: the password would be in the client's file; put the site into a configuration file, and name that with --config", terminal.Plain(withoutPassword(t.Text)))
	}
	if slices.Contains(given, t.Name+"="+t.Text) {
		return t.Name + "=" + text, nil
	}
	return text, nil
}

// repeatFile names the configuration file that is in force here.
func (p *program) repeatFile(s *clients.Server) error {
	if p.conf.File == "" {
		return nil
	}
	abs, err := filepath.Abs(p.conf.File)
	if err != nil {
		return usage("--config: %w", err)
	}
	if p.conf.From("config") == "environment" {
		s.Env[config.EnvName("config")] = abs
		return nil
	}
	s.Args = append(s.Args, "--config="+abs)
	return nil
}

// repeat gives the server a setting of this run. Secrets stay behind.
func (p *program) repeat(c *clients.Client, set config.Setting, s *clients.Server) {
	name := config.EnvName(set.Key)
	switch {
	case set.OfRun || !p.conf.Insisted(set.Key):
		return
	case set.Key == "token" && set.Env:
		return // over stdio there is nobody to show it
	case set.Key == "token":
		p.say("--token is left out: what a client starts itself asks for none")
		return
	case set.Secret || slices.ContainsFunc(set.Values, func(v string) bool { return isSecret(set.Key, v) }):
		p.say("--%s is not in it, because it is a secret: put it into the environment in which %s runs, as %s, or into a file that only you can read, named with --config",
			set.Key, c.Title, name)
		return
	}
	if set.Path {
		set.Values[0] = absolute(set.Key, set.Values[0])
	}
	switch {
	case set.Env && set.Path:
		s.Env[name] = set.Values[0]
		return
	case set.Env:
		s.Env[name] = os.Getenv(name) // as it was read
		return
	}
	for _, v := range set.Values {
		arg := "--" + set.Key + "=" + v
		if set.Bool && v == "true" {
			arg = "--" + set.Key
		}
		s.Args = append(s.Args, arg)
	}
}

// absolute makes a path hold in any folder.
func absolute(flag, v string) string {
	if flag == "data-dir" && v == config.Off {
		return v
	}
	if flag == "executable-path" && filepath.Base(v) == v {
		if found, err := exec.LookPath(v); err == nil {
			v = found
		}
	}
	if abs, err := filepath.Abs(v); err == nil {
		return abs
	}
	return v
}

// password is a URL's user with what follows.
var password = regexp.MustCompile(`://[^/?#]*@`)

func hasPassword(v string) bool { return password.MatchString(v) }

func withoutPassword(v string) string { return password.ReplaceAllString(v, "://") }

// isSecret recognises addresses that open something to whoever knows them:
// services with browsers to rent put their keys into the query.
func isSecret(flag, v string) bool {
	switch flag {
	case "browser-url", "ws-endpoint":
		return hasPassword(v) || strings.Contains(v, "?")
	case "proxy-server":
		return strings.Contains(v, "@")
	}
	return hasPassword(v)
}

// installClient writes the server into the client's file. A file that it cannot
// write without loss stays, and the person is given what to paste.
func (p *program) installClient(c *clients.Client, s clients.Server) error {
	done, err := c.Install(s)
	path := terminal.Plain(done.Path)
	switch {
	case err != nil && path == "":
		return usage("%w", err)
	case err != nil:
		fmt.Fprint(p.stdout, c.Snippet(s))
		return usage("%s %w. It stays as it is; what to paste into it is above", path, err)
	case done.Same:
		p.say("%s has %s already", path, s.Name)
	case done.Backup == "":
		p.say("%s is new, with %s; %s reads it when it starts", path, s.Name, c.Title)
	default:
		p.say("%s has %s now; what it was is in %s. %s reads it when it starts", path, s.Name, terminal.Plain(done.Backup), c.Title)
	}
	return nil
}

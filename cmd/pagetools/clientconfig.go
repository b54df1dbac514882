package main

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
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
	isClient := slices.Contains(clientNames(), word)
	switch {
	case !isClient && word != "print" && word != "schema":
		return usage("config takes print, schema, or a client: %s", strings.Join(clientNames(), ", "))
	case !isClient && len(args) > 1:
		return usage("config %s takes no argument", word)
	case !isClient && (o.http != "" || o.install):
		return usage("--http and --install are for clients: %s", strings.Join(clientNames(), ", "))
	case o.http != "" && len(args) > 1:
		return usage("a TARGET is for the server that the client starts, and --http names one that runs already")
	}
	return nil
}

// mcpServer is an MCP server as a client is told of it: a program that it starts,
// or a URL.
type mcpServer struct {
	name    string // a site's, or pagetools
	command string // an absolute path; empty: there is a URL
	args    []string
	env     [][2]string // names and values, sorted
	url     string
	token   bool // the server at the URL asks for one
}

// configClient prints what a client needs, or writes it into its file.
func (p *program) configClient(name string, targets []string, o clientOptions) error {
	c := clientNamed(name)
	var s mcpServer
	var err error
	if o.http != "" {
		s, err = p.remoteServer(o.http)
	} else {
		s, err = p.localServer(c, targets)
	}
	if err != nil {
		return err
	}
	if err := c.takes(&s); err != nil {
		return err
	}
	if command := c.ownCommand(s); command != "" && !p.set.quiet {
		fmt.Fprintf(p.stderr, "# %s\n", command)
	}
	if s.token {
		p.say("the token is not in it: put it into the environment in which %s runs, as %s", c.title, envName("token"))
	}
	if o.install {
		return p.installClient(c, s)
	}
	_, err = fmt.Fprint(p.stdout, c.snippet(s))
	return err
}

// remoteServer describes a server that runs already.
func (p *program) remoteServer(address string) (mcpServer, error) {
	u, err := url.Parse(address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return mcpServer{}, usage("--http is the URL of an MCP server, such as http://127.0.0.1:7300/mcp")
	}
	if u.User != nil {
		return mcpServer{}, usage("--http: a password in the URL would be in the client's file; the server takes a token")
	}
	s := mcpServer{name: "pagetools", url: u.String()}
	if site, ok := strings.CutPrefix(strings.TrimSuffix(u.Path, "/"), "/mcp/"); ok && siteName.MatchString(site) {
		s.name = site
	}
	// A listener elsewhere does not start without a token.
	s.token = p.set.token != "" || len(p.file.callers) > 0 || !isLoopback(u.Hostname())
	return s, nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}

// localServer describes the program that a client starts: this one, with the
// flags and the variables of this run, wherever the client starts it.
func (p *program) localServer(c *mcpClient, targets []string) (mcpServer, error) {
	all, err := p.targets(targets)
	switch {
	case err != nil:
		return mcpServer{}, err
	case len(all) == 0:
		return mcpServer{}, usage("config %s needs a TARGET, or --http URL, or a configuration file with sites", c.name)
	}
	s := mcpServer{name: "pagetools", args: []string{"mcp"}}
	if len(all) == 1 {
		s.name = all[0].name
	}
	if s.command, err = p.ownPath(); err != nil {
		return mcpServer{}, err
	}
	for _, t := range all {
		if !t.named {
			continue // the file has it
		}
		arg, err := t.argument(targets)
		if err != nil {
			return mcpServer{}, err
		}
		s.args = append(s.args, arg)
	}
	env := map[string]string{}
	if err := p.repeatFile(&s, env); err != nil {
		return mcpServer{}, err
	}
	p.flags.VisitAll(func(f *pflag.Flag) { p.repeat(c, f, &s, env) })
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) && p.set.dataDir == "" {
		env["XDG_STATE_HOME"] = dir // there is the memory, and the socket of `pagetools approve`
	}
	for k, v := range env {
		s.env = append(s.env, [2]string{k, v})
	}
	slices.SortFunc(s.env, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
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
	text := t.text
	switch {
	case t.folder != "":
		abs, err := filepath.Abs(t.folder)
		if err != nil {
			return "", usage("%s: %w", terminal.Plain(t.text), err)
		}
		text = abs
	case hasPassword(t.text):
		return "", usage("%s: the password would be in the client's file; put the site into a configuration file, and name that with --config", terminal.Plain(withoutPassword(t.text)))
	}
	if slices.Contains(given, t.name+"="+t.text) {
		return t.name + "=" + text, nil
	}
	return text, nil
}

// repeatFile names the configuration file that is in force here.
func (p *program) repeatFile(s *mcpServer, env map[string]string) error {
	if p.file.path == "" {
		return nil
	}
	abs, err := filepath.Abs(p.file.path)
	if err != nil {
		return usage("--config: %w", err)
	}
	if p.from["config"] == fromEnv {
		env[envName("config")] = abs
		return nil
	}
	s.args = append(s.args, "--config="+abs)
	return nil
}

var (
	// ofThisRun are flags that say how this run prints.
	ofThisRun = []string{"config", "format", "quiet", "verbose"}
	// pathFlags are those whose values are files and folders.
	pathFlags = []string{"executable-path", "user-data-dir", "storage-state", "data-dir", "log-file"}
)

// repeat gives the server a flag or a variable of this run. Secrets stay behind.
func (p *program) repeat(c *mcpClient, f *pflag.Flag, s *mcpServer, env map[string]string) {
	from := p.from[f.Name]
	if slices.Contains(ofThisRun, f.Name) || (from != fromFlag && from != fromEnv) {
		return
	}
	values := []string{f.Value.String()}
	if list, ok := f.Value.(pflag.SliceValue); ok {
		values = list.GetSlice()
	}
	switch {
	case f.Name == "token" && from == fromEnv:
		return // over stdio there is nobody to show it
	case f.Name == "token":
		p.say("--token is left out: what a client starts itself asks for none")
		return
	case f.Name == "ws-header" || slices.ContainsFunc(values, func(v string) bool { return isSecret(f.Name, v) }):
		p.say("--%s is not in it, because it is a secret: put it into the environment in which %s runs, as %s, or into a file that only you can read, named with --config",
			f.Name, c.title, envName(f.Name))
		return
	}
	isPath := slices.Contains(pathFlags, f.Name)
	if isPath {
		values[0] = absolute(f.Name, values[0])
	}
	switch {
	case from == fromEnv && isPath:
		env[envName(f.Name)] = values[0]
		return
	case from == fromEnv:
		env[envName(f.Name)] = os.Getenv(envName(f.Name)) // as it was read
		return
	}
	for _, v := range values {
		arg := "--" + f.Name + "=" + v
		if f.Value.Type() == "bool" && v == "true" {
			arg = "--" + f.Name
		}
		s.args = append(s.args, arg)
	}
}

// absolute makes a path hold in any folder.
func absolute(flag, v string) string {
	if flag == "data-dir" && v == dataDirOff {
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

// takes refuses what a client would not read as it is written, and fits the name.
func (c *mcpClient) takes(s *mcpServer) error {
	if s.url != "" && c.localOnly != "" {
		return usage("%s", c.localOnly)
	}
	if slices.Contains(c.reserved, s.name) {
		s.name = "pagetools_" + s.name
	}
	if c.noUnderscores {
		s.name = strings.ReplaceAll(s.name, "_", "-")
	}
	all := append([]string{s.command, s.url}, s.args...)
	for _, e := range s.env {
		all = append(all, e[1])
	}
	for _, v := range all {
		switch {
		case !utf8.ValidString(v):
			return usage("%q is not UTF-8, and the file of %s is", v, c.title)
		case c.expands != nil && c.expands.MatchString(v):
			return usage("%s would put a variable's value into %s; name it in a configuration file, and that with --config", c.title, terminal.Plain(v))
		}
	}
	return nil
}

// isOurs reports whether an entry that a client has under our name is one of this
// program's, so that it may be replaced.
func (s mcpServer) isOurs(command, address string) bool {
	if command != "" {
		name := path.Base(strings.ReplaceAll(command, `\`, "/"))
		return name == "pagetools" || name == "pagetools.exe" || name == filepath.Base(s.command)
	}
	u, err := url.Parse(address)
	if err != nil || (u.Path != "/mcp" && !strings.HasPrefix(u.Path, "/mcp/")) {
		return false
	}
	ours, err := url.Parse(s.url)
	return isLoopback(u.Hostname()) || (err == nil && ours.Host == u.Host)
}

// place is where a client looks for its file.
type place struct {
	os, home string
	env      func(string) string
}

func thisPlace() (place, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return place{}, usage("finding the home folder: %w", err)
	}
	return place{os: runtime.GOOS, home: home, env: os.Getenv}, nil
}

// or is a variable's value, or else a path below the home folder.
func (l place) or(variable string, below ...string) string {
	if v := l.env(variable); v != "" {
		return v
	}
	return filepath.Join(append([]string{l.home}, below...)...)
}

// appData is where desktop programs keep what is this user's.
func (l place) appData() string {
	switch l.os {
	case "windows":
		return l.or("APPDATA", "AppData", "Roaming")
	case "darwin":
		return filepath.Join(l.home, "Library", "Application Support")
	}
	return l.or("XDG_CONFIG_HOME", ".config")
}

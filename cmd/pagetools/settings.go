package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/pagetools/pagetools/bridge/policy"
)

// settings are the values of all flags. Every flag is also an environment
// variable PAGETOOLS_NAME and a key of the configuration file.
type settings struct {
	browserURL, wsEndpoint string
	wsHeaders              []string
	headless               bool
	executablePath         string
	userDataDir            string
	storageState           string
	viewport               string
	proxyServer            string
	acceptInsecureCerts    bool
	chromeArgs             []string
	noSandbox              bool
	logFile                string
	listen                 string
	consoleListen          string
	mcpTools               string
	config                 string
	dataDir                string
	engine                 string
	state                  string
	warm                   int
	approval               string
	rate                   policy.Rate
	allowOrigins           []string
	allowPrivate           []string
	allowHosts             []string
	cors                   []string
	token                  string
	maxSessions            int
	callTimeout            time.Duration
	format                 string
	quiet, verbose         bool
	logFormat              string
}

// flags registers every flag. The names of browser flags are those that users of
// other browser tools already paste.
func (s *settings) flags(f *pflag.FlagSet) {
	f.StringVarP(&s.browserURL, "browser-url", "u", "", "use the browser at this debugging address, such as http://127.0.0.1:9222")
	f.StringVarP(&s.wsEndpoint, "ws-endpoint", "w", "", "use the browser at this WebSocket address")
	f.StringArrayVar(&s.wsHeaders, "ws-header", nil, "a header for --ws-endpoint, as 'Name: value' (repeatable)")
	f.BoolVar(&s.headless, "headless", true, "run the browser without windows")
	f.StringVarP(&s.executablePath, "executable-path", "e", "", "the browser's binary")
	f.StringVar(&s.userDataDir, "user-data-dir", "", "a browser profile of your own; every session shares it")
	f.StringVar(&s.storageState, "storage-state", "", "a file with a stored login, with which the sites of the command line open")
	f.StringVar(&s.viewport, "viewport", "", "the window's size, as 1280x720")
	f.StringVar(&s.proxyServer, "proxy-server", "", "the browser's proxy")
	f.BoolVar(&s.acceptInsecureCerts, "accept-insecure-certs", false, "accept any certificate")
	f.StringArrayVar(&s.chromeArgs, "chrome-arg", nil, "a further browser flag (repeatable)")
	f.BoolVar(&s.noSandbox, "no-sandbox", false, "run the browser without its sandbox; root needs it")
	f.StringVar(&s.logFile, "log-file", "", "write the log there instead of stderr")
	f.StringVar(&s.listen, "listen", "127.0.0.1:7300", "where to serve")
	f.StringVar(&s.consoleListen, "console-listen", "127.0.0.1:7301", "where to serve the API of operators, who answer questions; off for nowhere")
	f.StringVar(&s.config, "config", "", "the configuration file (default pagetools.yaml, when it exists)")
	f.StringVar(&s.dataDir, "data-dir", "", "where versions, consent and the audit are kept, and the socket of `pagetools approve`; off keeps nothing (default in XDG_STATE_HOME)")
	f.StringVar(&s.engine, "engine", engineShim, "how pages get WebMCP: shim (our script), native (the browser's own)")
	f.StringVar(&s.state, "state", "isolated", "calls without a session get a page of their own, or all the same: isolated, shared")
	f.IntVar(&s.warm, "warm", 2, "spare pages that wait for calls, per site")
	f.StringVar(&s.mcpTools, "mcp-tools", "auto", "what MCP clients see: direct (the tools of pages), hybrid (and three to find and call them), meta (these three), auto (hybrid above 30 tools)")
	f.StringVar(&s.approval, "approval", "ask", "consent: ask, strict, auto, deny")
	f.TextVar(&s.rate, "rate", policy.Rate{}, "calls that a site takes of all callers together, as in 600/1m")
	f.StringArrayVar(&s.allowOrigins, "allow-origin", nil, "another origin whose pages count as the site's own (repeatable)")
	f.StringArrayVar(&s.allowPrivate, "allow-private", nil, "a private network that pages may reach (repeatable); this version does not confine pages")
	f.StringArrayVar(&s.allowHosts, "allow-host", nil, "a further Host name that the listener answers to (repeatable)")
	f.StringArrayVar(&s.cors, "cors", nil, "an origin whose pages may call (repeatable); * only with a token")
	f.StringVar(&s.token, "token", "", "the credential that callers must send; better in PAGETOOLS_TOKEN")
	f.IntVar(&s.maxSessions, "max-sessions", 0, "pages that calls may hold at once (default by memory and cores)")
	f.DurationVar(&s.callTimeout, "call-timeout", 30*time.Second, "how long a tool may run, at most 300s")
	f.StringVar(&s.format, "format", "text", "output: text, json, ndjson")
	f.BoolVar(&s.quiet, "quiet", false, "print errors only")
	f.BoolVar(&s.verbose, "verbose", false, "log what happens")
	f.StringVar(&s.logFormat, "log-format", "text", "log: text, json")
	f.SortFlags = false
}

// Where a setting came from.
const (
	fromDefault = "default"
	fromFlag    = "flag"
	fromEnv     = "environment"
	fromFile    = "file"
)

// envName is the environment variable of a flag.
func envName(flag string) string {
	return "PAGETOOLS_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// resolve fills the settings: flag, environment, file, default.
func (p *program) resolve(f *pflag.FlagSet) error {
	p.flags = f
	p.from = map[string]string{}
	if v, ok := os.LookupEnv(envName("config")); ok && !f.Changed("config") {
		p.set.config = v
	}
	var err error
	if p.file, err = readFile(p.set.config, f); err != nil {
		return err
	}
	f.VisitAll(func(flag *pflag.Flag) {
		if err == nil {
			err = p.resolveFlag(flag)
		}
	})
	if err != nil {
		return err
	}
	p.known = true
	p.warnOfFile(p.file)
	return p.set.check()
}

func (p *program) resolveFlag(flag *pflag.Flag) error {
	p.from[flag.Name] = fromDefault
	if flag.Changed {
		p.from[flag.Name] = fromFlag
		return nil
	}
	if v, ok := os.LookupEnv(envName(flag.Name)); ok && v != "" {
		p.from[flag.Name] = fromEnv
		return setFlag(flag, envList(flag.Name, v), v, envName(flag.Name))
	}
	if e, ok := p.file.flags[flag.Name]; ok {
		p.from[flag.Name] = fromFile
		return setFlag(flag, e.values, strings.Join(e.values, " "), fmt.Sprintf("%s:%d: %s", p.file.path, e.line, flag.Name))
	}
	return nil
}

// envList splits a list in the environment: headers have spaces in them, so
// there are lines of them, and everything else has words.
func envList(flag, v string) []string {
	if flag == "ws-header" {
		return strings.FieldsFunc(v, func(r rune) bool { return r == '\n' })
	}
	return strings.Fields(v)
}

// setFlag gives a flag its value; a flag that repeats takes several.
func setFlag(flag *pflag.Flag, list []string, single, where string) error {
	if _, many := flag.Value.(pflag.SliceValue); !many {
		list = []string{single}
	}
	for _, v := range list {
		if err := flag.Value.Set(v); err != nil {
			return usage("%s: %q is not what it takes: %w", where, v, err)
		}
	}
	return nil
}

// check refuses values that make no sense, with what would.
func (s *settings) check() error {
	oneOf := func(flag, v string, legal ...string) error {
		if slices.Contains(legal, v) {
			return nil
		}
		return usage("--%s is one of %s, not %q", flag, strings.Join(legal, ", "), v)
	}
	err := errors.Join(
		oneOf("engine", s.engine, engineKinds...),
		oneOf("state", s.state, "isolated", "shared"),
		oneOf("approval", s.approval, approvalModes...),
		oneOf("mcp-tools", s.mcpTools, "auto", "direct", "hybrid", "meta"),
		oneOf("format", s.format, "text", "json", "ndjson"),
		oneOf("log-format", s.logFormat, "text", "json"),
	)
	if err != nil {
		return err
	}
	switch {
	case s.callTimeout <= 0 || s.callTimeout > 300*time.Second:
		return usage("--call-timeout is more than 0 and at most 300s")
	case s.warm < 0 || s.maxSessions < 0:
		return usage("--warm and --max-sessions are not negative")
	case s.browserURL != "" && s.wsEndpoint != "":
		return usage("--browser-url and --ws-endpoint exclude each other")
	case len(s.wsHeaders) > 0 && s.wsEndpoint == "":
		return usage("--ws-header needs --ws-endpoint")
	}
	if _, _, err := net.SplitHostPort(s.listen); err != nil {
		return usage("--listen is host:port, such as 127.0.0.1:7300")
	}
	for i, o := range s.allowOrigins {
		origin, ok := parseOrigin(o)
		if !ok {
			return usage("--allow-origin: %q is not an origin, such as https://shop.example", o)
		}
		s.allowOrigins[i] = origin
	}
	_, _, err = s.size()
	return err
}

// size reads --viewport.
func (s *settings) size() (width, height int, err error) {
	if s.viewport == "" {
		return 0, 0, nil
	}
	if n, err := fmt.Sscanf(s.viewport, "%dx%d", &width, &height); err != nil || n != 2 || width <= 0 || height <= 0 {
		return 0, 0, usage("--viewport is width x height in pixels, such as 1280x720")
	}
	return width, height, nil
}

// Package config reads the configuration. Flags, environment and file fill one
// struct, whose tags say all of a setting: its name in all three, its
// default, what it takes, and its line in the JSON Schema of the file.
package config

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/textproto"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge/policy"
)

// Config is the configuration in force. The tags of a field:
//
//	key      its name: --key, PAGETOOLS_KEY, and the key of the file
//	short    its letter on the command line
//	default  its value when nobody says another
//	enum     the values that it takes
//	min      the smallest number that it takes
//	pattern  what its text must match, and not: what it must not be; must says it in words
//	many     a list; in the environment it has words, lines, or terms with commas between
//	secret   nobody prints it
//	only     where it can be said, when not everywhere: file, or command
//	also     a section of the file that has it, too
//	path     it names a file or a folder
//	run      it says how this run prints, and is nobody else's
//	required it must be there; unique: no two may be the same
//	unnamed  what a file that nobody named may say of it: yes (anything), target (a public
//	         URL, or a folder below its own), stricter, or most (and the largest value);
//	         without the tag such a file must not have the key
//	group    under which help shows it
//	help     what it is
type Config struct {
	BrowserURL          string        `key:"browser-url" group:"browser" short:"u" help:"use the browser at this debugging address, such as http://127.0.0.1:9222"`
	AutoConnect         bool          `key:"auto-connect" group:"browser" help:"use the Chrome that you run, with your logins, in a tab of its own for each site; allow it once at chrome://inspect/#remote-debugging. Every call asks first, unless --approval says otherwise"`
	Attach              []string      `key:"attach" group:"browser" many:"lines" help:"with --auto-connect, use an open tab whose whole address matches, after one reload; * stands for any characters (repeatable)"`
	WSEndpoint          string        `key:"ws-endpoint" group:"browser" short:"w" help:"use the browser at this WebSocket address"`
	WSHeaders           []string      `key:"ws-header" group:"browser" many:"lines" secret:"true" help:"a header for --ws-endpoint, as 'Name: value' (repeatable)"`
	EgressListen        string        `key:"egress-listen" group:"browser" help:"where browsers that run elsewhere reach the proxy that confines their pages, such as 10.0.0.11:7305; without it, pages reach what the browser reaches"`
	EgressAddress       string        `key:"egress-address" group:"browser" help:"the address under which these browsers reach --egress-listen, or a 'pagetools egress' (default that address)"`
	Headless            bool          `key:"headless" group:"browser" default:"true" help:"run the browser without windows"`
	Browser             string        `key:"browser" group:"browser" default:"auto" enum:"auto,shell,chromium" help:"which kind of browser: shell (Chromium's headless shell, which takes less memory), chromium (a whole Chromium, Chrome or Edge), auto (a shell where there is one and no window is shown)"`
	ExecutablePath      string        `key:"executable-path" group:"browser" short:"e" path:"true" help:"the browser's binary, or auto-system for those of the system alone"`
	UserDataDir         string        `key:"user-data-dir" group:"browser" path:"true" help:"a browser profile of your own, which every session shares; with --auto-connect, that of the browser which you run"`
	StorageState        string        `key:"storage-state" group:"pages" path:"true" help:"a file with a stored login, with which the sites of the command line open"`
	Viewport            Viewport      `key:"viewport" group:"browser" help:"the size of pages, and of the window where there is one, as 1280x720 (the default without windows)"`
	ProxyServer         string        `key:"proxy-server" group:"browser" help:"a proxy through which pages reach the network: host:port, or a URL with http, https or socks5"`
	AcceptInsecureCerts bool          `key:"accept-insecure-certs" group:"browser" help:"accept any certificate"`
	ChromeArgs          []string      `key:"chrome-arg" group:"browser" many:"words" help:"a further browser flag (repeatable)"`
	NoSandbox           bool          `key:"no-sandbox" group:"browser" help:"run the browser without its sandbox; root needs it"`
	LogFile             string        `key:"log-file" group:"output" path:"true" help:"write the log there instead of stderr"`
	Listen              string        `key:"listen" group:"serving" default:"127.0.0.1:7300" help:"where to serve"`
	ConsoleListen       string        `key:"console-listen" group:"consent" default:"127.0.0.1:7301" help:"where to serve the operators' page, on which people answer questions; off for nowhere"`
	ConsolePublicURL    PublicURL     `key:"console-public-url" group:"consent" help:"the address under which a proxy makes the operators' page reachable: links to questions begin with it for callers from elsewhere, and pagetools console shows its link there, too"`
	ConsolePayloads     string        `key:"console-payloads" group:"consent" default:"own" enum:"own,all" help:"whose arguments and results the operators' page keeps, in memory and for the newest 100 calls: own (of calls that people made on it), all"`
	File                string        `key:"config" group:"output" only:"command" path:"true" run:"true" help:"the configuration file; a pagetools.yaml that nobody names may say little"`
	DataDir             string        `key:"data-dir" group:"records" path:"true" help:"where versions, consent and the audit are kept, and the sockets of 'approve'; off keeps nothing (default in XDG_STATE_HOME)"`
	Engine              string        `key:"engine" group:"browser" default:"shim" enum:"shim,native" help:"how pages get WebMCP: shim (our script), native (the browser's own)"`
	OpenTools           string        `key:"opentools" group:"pages" default:"auto" enum:"auto,only,off" help:"whether the API that a site publishes as OpenTools is used: auto (beside its page; alone where TARGET is a document), only (without its page and without a browser), off"`
	Expose              string        `key:"expose" group:"pages" default:"marked" enum:"marked,safe,all" help:"which operations of an API become tools: marked (those with x-llm), safe (and those that only read), all"`
	State               string        `key:"state" group:"pages" default:"isolated" enum:"isolated,shared" help:"calls without a session get a page of their own, or all the same: isolated, shared"`
	Downloads           string        `key:"downloads" group:"pages" default:"results" enum:"results,off" help:"what pages save in calls, in a browser that pagetools starts: results (the caller gets it), off (the browser denies it)"`
	Warm                int           `key:"warm" group:"pages" default:"2" min:"0" help:"spare pages that wait for calls, per site"`
	MCPTools            string        `key:"mcp-tools" group:"serving" default:"auto" enum:"auto,direct,hybrid,meta" help:"what MCP clients see: direct (the tools of pages), hybrid (three to find and call them, and those found or called), meta (these three), auto (hybrid above 30 tools)"`
	MCPSchemas          string        `key:"mcp-schemas" group:"serving" default:"adapted" enum:"adapted,faithful" help:"arguments as MCP clients see them: adapted (every model's API takes them), faithful (as the page wrote them)"`
	MCPApps             string        `key:"mcp-apps" group:"serving" default:"auto" enum:"auto,on,off" help:"the card, on which a chat shows questions to its person: auto (for MCP clients that declare MCP Apps), on (for all, also those that do not say that they draw apps: then every client of a caller can read the key with which the card proves its answers), off"`
	TaskAfter           time.Duration `key:"task-after" group:"serving" default:"2s" help:"how long a call of an MCP client that takes tasks is waited for before it becomes one"`
	Approval            string        `key:"approval" group:"consent" unnamed:"stricter" default:"ask" enum:"auto,ask-once,ask,never,strict,deny" help:"who decides on calls: auto, ask-once, ask or never, as for single tools; strict (ask about every tool), deny (refuse what ask would ask about)"`
	Rate                policy.Rate   `key:"rate" group:"consent" help:"calls that a site takes of all callers together, as in 600/1m"`
	Adapters            []string      `key:"adapter" group:"pages" many:"lines" path:"true" help:"a file with a script of yours that adds tools to the pages of the one TARGET (repeatable): code with your login, so read it first"`
	AllowOrigins        []Origin      `key:"allow-origin" group:"pages" many:"words" help:"another origin whose pages count as the site's own, and to which operations of its API may go (repeatable)"`
	AllowPrivate        []Network     `key:"allow-private" group:"pages" many:"words" help:"a private network that pages may reach, on any port (repeatable)"`
	AllowHosts          []string      `key:"allow-host" group:"serving" many:"words" help:"a further Host name that the listener answers to (repeatable)"`
	PublicURL           PublicURL     `key:"public-url" group:"serving" help:"the address under which a proxy or a tunnel makes this server reachable, such as https://tools.example: it is accepted as Host and Origin, and needs callers"`
	SignIn              bool          `key:"sign-in" group:"serving" help:"let people connect clients such as claude.ai and ChatGPT, which they log in to with a code of 'pagetools pair'; needs --public-url"`
	Cluster             string        `key:"cluster" group:"serving" secret:"true" help:"the NATS servers of a cluster, with commas between, such as nats://10.0.0.5:4222: this process is one of its nodes, which pass requests on to each other"`
	ClusterEmbed        bool          `key:"cluster-embed" group:"serving" help:"start a nats-server of this node, found on the PATH, in the place of --cluster; needs --cluster-peers"`
	ClusterPeers        string        `key:"cluster-peers" group:"serving" help:"the nodes with an engine of their own and where that is reached, such as a=10.0.0.11,b=10.0.0.12,c=10.0.0.13: at port 7303 by nodes, and at the next one by engines"`
	ClusterKeyFile      string        `key:"cluster-key-file" group:"serving" path:"true" help:"the file with the cluster's key, the same on all nodes and readable by you alone; 'pagetools cluster key' prints one"`
	ClusterKeyOld       string        `key:"cluster-key-old" group:"serving" path:"true" help:"the file of a second key that is accepted, while the cluster's key is being replaced"`
	ClusterCredentials  string        `key:"cluster-credentials" group:"serving" path:"true" help:"the file with the credentials for the NATS servers"`
	ClusterMemory       string        `key:"cluster-memory" group:"serving" default:"nats" secret:"true" help:"where consent, versions, results under a key and logins of all nodes are kept: nats (in the NATS servers), or the address of a PostgreSQL database, better in PAGETOOLS_CLUSTER_MEMORY, as in postgres://pagetools:PASSWORD@db.example/pagetools"`
	Node                string        `key:"node" group:"serving" help:"the name of this node in the cluster (default that of the machine)"`
	PeerListen          string        `key:"peer-listen" group:"serving" help:"where this node listens for the other nodes, such as 10.0.0.11:7302"`
	PeerAddress         string        `key:"peer-address" group:"serving" help:"the address under which the other nodes reach --peer-listen, such as https://10.0.0.11:7302 (default that address)"`
	Lease               time.Duration `key:"lease" group:"serving" default:"4s" help:"after how long a node that is not heard of counts as ended, the same on all nodes: 2s to 60s"`
	DrainTime           time.Duration `key:"drain-time" group:"serving" default:"25s" help:"how long calls in flight may go on after SIGTERM, and the sessions of a node of a cluster: at most 1h"`
	CORS                []string      `key:"cors" group:"serving" many:"words" help:"an origin whose pages may call (repeatable); * only with a token"`
	Token               string        `key:"token" group:"serving" secret:"true" help:"the credential that callers must send; better in PAGETOOLS_TOKEN"`
	WaitFor             []Wait        `key:"wait-for" group:"pages" many:"terms" help:"what a page must have before it counts as opened: tool:NAME, selector:CSS or idle (repeatable, or with commas); 10s at most"`
	MaxSessions         int           `key:"max-sessions" group:"pages" also:"limits" unnamed:"most 4" min:"0" help:"pages that calls may hold at once (default by memory and cores, and with browsers by their max)"`
	CallTimeout         time.Duration `key:"call-timeout" group:"pages" also:"limits" unnamed:"most 30s" default:"30s" help:"how long a tool may run, at most 300s"`
	Format              string        `key:"format" group:"output" default:"text" enum:"text,json,ndjson" run:"true" help:"output: text, json, ndjson"`
	Quiet               bool          `key:"quiet" group:"output" run:"true" help:"print errors only"`
	Verbose             bool          `key:"verbose" group:"output" run:"true" help:"log what happens"`
	LogFormat           string        `key:"log-format" group:"output" default:"text" enum:"text,json" help:"log: text, json"`

	Sites    []Site    `key:"sites" only:"file" unnamed:"yes" help:"the sites, besides those of the command line"`
	Browsers []Browser `key:"browsers" only:"file" help:"browsers that run elsewhere, in the place of browser-url and ws-endpoint: the next page opens where the smallest share of max is taken"`
	Callers  []Caller  `key:"callers" only:"file" help:"who may call, by their credentials; without any, everybody on this machine is the caller local"`
	OAuth    OAuth     `key:"oauth" only:"file" help:"who may call with a token of an authorization server"`
	Results  Results   `key:"results" only:"file" help:"what callers get of results, on every site that does not say otherwise"`
	Limits   Limits    `key:"limits" only:"file" unnamed:"yes" help:"how much of everything"`

	from map[string]string
	// Unnamed is true when the file was only found in the current folder: neither a flag
	// nor the environment names it.
	Unnamed bool
	// OpenToOthers is true when the file holds tokens, and others can read it.
	OpenToOthers bool
	// NoCallers is true when the file has the key callers, and no caller.
	NoCallers bool
	// rest has what the file says besides its callers and its sites, by key.
	rest map[string]string
}

// Saves reports whether calls may have what pages save: a browser elsewhere would save it there.
func (c *Config) Saves() bool {
	on := func(s Site) bool { return s.Downloads == "results" }
	return !c.IsRemote() && (c.Downloads == "results" || slices.ContainsFunc(c.Sites, on))
}

// Differs lists the keys of two files that do not say the same, but for callers, oauth and sites.
func (c *Config) Differs(o *Config) (keys []string) {
	all := map[string]string{} // no key says ""
	maps.Copy(all, c.rest)
	maps.Copy(all, o.rest)
	for key := range all {
		if c.rest[key] != o.rest[key] {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// WithSites returns the settings with the sites of another file.
func (c *Config) WithSites(of *Config) *Config {
	next := *c
	next.Sites = of.Sites
	return &next
}

// Where a setting came from, when not from a line of the file.
const (
	fromDefault = "default"
	fromFlag    = "flag"
	fromEnv     = "environment"
)

// From returns where the setting of a key came from: flag, environment, FILE:LINE or
// default.
func (c *Config) From(key string) string { return c.from[key] }

// IsDefault reports whether nobody said anything of a key.
func (c *Config) IsDefault(key string) bool { return c.from[key] == fromDefault }

// Insisted reports whether the command line or the environment says something of a
// key, so that a site of the file cannot say otherwise.
func (c *Config) Insisted(key string) bool {
	return c.from[key] == fromFlag || c.from[key] == fromEnv
}

// EnvName returns the environment variable of a key.
func EnvName(key string) string {
	return "PAGETOOLS_" + strings.ToUpper(strings.ReplaceAll(key, "-", "_"))
}

// Setting is one value with where it came from, in a form that another process can take.
type Setting struct {
	Key, From string
	Values    []string
	Bool      bool
	tag       reflect.StructTag
}

// Is reports whether the tag of the setting says that it is secret, a path, or of this
// run; see [Config].
func (s Setting) Is(what string) bool { return s.tag.Get(what) != "" }

// IsRemote reports whether the browser is one that pagetools does not start.
func (c *Config) IsRemote() bool {
	return c.AutoConnect || c.BrowserURL+c.WSEndpoint != "" || len(c.Browsers) > 0
}

// JSON reports whether results and failures are printed as JSON.
func (c *Config) JSON() bool { return c.Format == "json" || c.Format == "ndjson" }

// Settings lists the settings of the command line, in their order.
func (c *Config) Settings() (all []Setting) {
	for _, f := range fieldsOf(reflect.ValueOf(c).Elem()) {
		if f.tag.Get("only") != "file" {
			all = append(all, Setting{f.key, c.From(f.key), texts(f.value),
				f.value.Kind() == reflect.Bool, f.tag})
		}
	}
	return all
}

// MaxCallTimeout is the longest time of a tool.
const MaxCallTimeout = 300 * time.Second

// check refuses values that make no sense together, with what would.
func (c *Config) check() error {
	for _, f := range fieldsOf(reflect.ValueOf(c).Elem()) {
		if enum := f.tag.Get("enum"); enum != "" && !oneOf(enum, f.value.String()) {
			return fmt.Errorf("invalid value %q for %s: must be one of %s", f.value.String(), c.said(f.key), listed(enum))
		}
	}
	switch {
	case c.CallTimeout > MaxCallTimeout:
		return fmt.Errorf("%s must be at most 300s, not %vs", c.said("call-timeout"), c.CallTimeout.Seconds())
	case c.BrowserURL != "" && c.WSEndpoint != "":
		return errors.New("--browser-url and --ws-endpoint are two ways to one browser: give one of them")
	case len(c.WSHeaders) > 0 && c.WSEndpoint == "":
		return errors.New("--ws-header needs --ws-endpoint")
	}
	if err := c.checkBrowsers(); err != nil {
		return err
	}
	if _, selectors, _ := c.Waits(); len(selectors) > 1 {
		return fmt.Errorf("%s must have one selector, not %q and %q: body:has(A):has(B) matches when both are there",
			c.said("wait-for"), selectors[0], selectors[1])
	}
	if _, err := c.Headers(); err != nil {
		return err
	}
	if !isAddress(c.Listen) {
		return fmt.Errorf("%s must be host:port with a port up to 65535, such as 127.0.0.1:7300, not %q",
			c.said("listen"), c.Listen)
	}
	if c.ConsoleListen != Off && !isAddress(c.ConsoleListen) {
		return fmt.Errorf("%s must be host:port with a port up to 65535, such as 127.0.0.1:7301, or off, not %q",
			c.said("console-listen"), c.ConsoleListen)
	}
	if c.Lease < 2*time.Second || c.Lease > time.Minute {
		return fmt.Errorf("%s must be from 2s to 60s, not %s", c.said("lease"), c.Lease)
	}
	if c.DrainTime < 0 || c.DrainTime > time.Hour {
		return fmt.Errorf("%s must be at most 1h, and not negative, not %s", c.said("drain-time"), c.DrainTime)
	}
	if err := c.checkOwn(); err != nil {
		return err
	}
	return c.checkRemote()
}

// isAddress reports whether a text is host:port.
func isAddress(text string) bool {
	_, port, err := net.SplitHostPort(text)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	return err == nil
}

// checkRemote looks at the addresses of a browser that runs elsewhere. They may hold a key, so
// only their schemes are shown.
func (c *Config) checkRemote() error {
	for key, address := range map[string]string{"browser-url": c.BrowserURL, "ws-endpoint": c.WSEndpoint} {
		scheme, _, ok := strings.Cut(address, "://")
		if address != "" && (!ok || !oneOf("http,https,ws,wss", strings.ToLower(scheme))) {
			return fmt.Errorf("%s must begin with http://, https://, ws:// or wss://, not %q", c.said(key), scheme)
		}
	}
	return nil
}

// said names a setting as the person did who set it.
func (c *Config) said(key string) string {
	switch from := c.from[key]; from {
	case fromFlag, fromDefault, "":
		return "--" + key
	case fromEnv:
		return EnvName(key)
	default: // a line of the file
		return from + ": " + key
	}
}

// Keys lists the settings that are flags and variables.
func Keys() (all []string) {
	for _, f := range fieldsOf(reflect.ValueOf(&Config{}).Elem()) {
		if f.tag.Get("only") != "file" {
			all = append(all, f.key)
		}
	}
	return all
}

// Headers reads --ws-header.
func (c *Config) Headers() (http.Header, error) {
	h := http.Header{}
	for _, line := range c.WSHeaders {
		name, value, ok := strings.Cut(line, ":")
		if !ok || textproto.TrimString(name) == "" {
			return nil, errors.New("--ws-header must be like 'Authorization: Bearer …'")
		}
		h.Add(textproto.TrimString(name), textproto.TrimString(value))
	}
	return h, nil
}

// Off is the data folder of a run that leaves nothing behind.
const Off = "off"

// ErrNoDataDir says that there is no data folder.
var ErrNoDataDir = errors.New("--data-dir is off, so nothing is kept: give a folder")

// DataFolder returns where state is kept. It may not be there yet.
func (c *Config) DataFolder() (string, error) {
	if c.DataDir == Off {
		return "", ErrNoDataDir
	}
	if c.DataDir != "" {
		return c.DataDir, nil
	}
	variable := "XDG_STATE_HOME"
	if runtime.GOOS == "windows" {
		variable = "LOCALAPPDATA"
	}
	if dir := os.Getenv(variable); filepath.IsAbs(dir) {
		return filepath.Join(dir, "pagetools"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("finding the data directory: %w", err)
	}
	return filepath.Join(home, ".local", "state", "pagetools"), nil
}

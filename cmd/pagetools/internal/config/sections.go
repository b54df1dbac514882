package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/bridge/schema"
)

// Site is one entry of sites. What it leaves out is as the command has it.
type Site struct {
	Name           string      `key:"name" unnamed:"yes" unique:"true" pattern:"^[a-z][a-z0-9_]{0,31}$" must:"must be a lower-case letter, then up to 31 of a-z, 0-9 and _" help:"a short name, which is in URLs and in the names of MCP tools; made from the target where it is missing"`
	Target         string      `key:"target" unnamed:"target" required:"true" help:"a URL, or a folder with an index.html"`
	State          string      `key:"state" unnamed:"yes" enum:"isolated,shared" help:"as --state, for this site"`
	Engine         string      `key:"engine" enum:"shim,native" help:"as --engine, for this site"`
	OpenTools      string      `key:"opentools" enum:"auto,only,off" help:"as --opentools, for this site"`
	Expose         string      `key:"expose" enum:"marked,safe,all" help:"as --expose, for this site"`
	Auth           Auth        `key:"auth" help:"the client with which 'auth login' logs in to the API of the site, where it was registered with the authorization server by hand"`
	Warm           *int        `key:"warm" min:"0" help:"as --warm, for this site"`
	Approval       Approval    `key:"approval" unnamed:"stricter" help:"as --approval, for this site: a word, or a default with rules for single tools"`
	Rate           policy.Rate `key:"rate" help:"calls that this site takes of all callers together, as in 600/1m"`
	Rates          Rates       `key:"rates" help:"rates of single tools, by patterns of their names"`
	Adapters       []Adapter   `key:"adapters" help:"files with scripts of yours that add tools to the pages of the site; a path is relative to this file"`
	AllowConfig    []PageKey   `key:"allow-config" help:"what a call may change about its page"`
	AllowPrivate   []Network   `key:"allow-private" help:"private networks that pages may reach, on any port"`
	AllowOrigins   []Origin    `key:"allow-origin" help:"other origins whose pages count as the site's own, and to which operations of its API may go"`
	Params         Params      `key:"config-params" help:"arguments that a call may also give in config, by name, each with its JSON Schema"`
	Profiles       []Profile   `key:"profiles" help:"stored logins, and who may use them"`
	DefaultProfile string      `key:"default-profile" help:"the profile with which every page of the site opens, for every caller"`
	Windows        string      `key:"windows" enum:"close,report,bridge" help:"what happens to a window that the page opens: it is closed, reported as a finding, or its tools are offered, too"`
	WaitFor        WaitFor     `key:"wait-for" unnamed:"yes" help:"what must be there before the page counts as opened; together, all of it"`
	ForbidParams   []string    `key:"forbid-params" help:"arguments that no tool may ask for, by their names at any level, where * stands for any characters and case does not count, such as password or \"*card*\"; a tool that does is not offered"`
	Downloads      string      `key:"downloads" enum:"results,off" help:"as --downloads, for this site"`
	StrictOutput   bool        `key:"strict-output" help:"refuse results that do not fit their outputSchema"`
	Results        Results     `key:"results" help:"what callers get of results, in the place of what the file says of all sites"`
	Line           int
}

// Adapter is a file with a script for the pages of a site.
type Adapter struct {
	File   string `key:"file" required:"true" help:"the file, or builtin:NAME"`
	SHA256 string `key:"sha256" pattern:"^[0-9a-f]{64}$" must:"must be the SHA-256 of the file, in hex" help:"what its SHA-256 must be; nothing is opened with another file"`
	Line   int
}

// Beside returns the path of a file that a configuration file names, relative to it. What has a
// colon is an address, or builtin:NAME.
func Beside(conf, name string) string {
	if strings.Contains(name, ":") || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(conf), name)
}

func (a *Adapter) decode(d *decoder, key string, n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode && n.Tag != "!!null" {
		a.File, a.Line = n.Value, n.Line
		return nil
	}
	return d.fields(n, key, a)
}

func (a *Adapter) schema() object {
	return object{"anyOf": []any{object{"type": "string", "minLength": 1}, objectOf(a)}}
}

// Auth is a client that was registered with an authorization server.
type Auth struct {
	ClientID   string `key:"client-id" required:"true" help:"as --client-id of 'auth login', which comes first"`
	SecretFile string `key:"client-secret-file" help:"as --client-secret-file of 'auth login': a file that only you can read"`
	Line       int
}

// Approval is a mode, or a mode with rules for single tools.
type Approval struct {
	Mode  string `key:"default" unnamed:"yes" enum:"auto,ask-once,ask,never,strict,deny" help:"what holds for tools that no rule names"`
	Tools Rules  `key:"tools" unnamed:"yes" help:"levels of single tools, by patterns of their names; an origin and a space in front name the tools of another origin"`
	Lines []int  // of the rules, in their order
}

// Results says what callers get of the results of tools.
type Results struct {
	Budget        int         `key:"budget" min:"1" help:"characters of the text of a result, or of a tool's own error; what is beyond is left out, and a line says how much"`
	Redact        []Redaction `key:"redact" help:"what is replaced by [redacted] before anybody gets it"`
	MarkUntrusted bool        `key:"mark-untrusted" help:"put the results of tools that declare untrustedContentHint between two lines that say so"`
	Line          int
}

// Redaction is one rule of what nobody gets.
type Redaction struct {
	Pattern *regexp.Regexp `key:"pattern" help:"a regular expression (RE2), looked for in texts, names of members and numbers"`
	Pointer policy.Pointer `key:"pointer" help:"a JSON Pointer to a value, in the result, in its structuredContent and in texts that are JSON; * is any member or item"`
}

func (r *Redaction) check() error {
	switch {
	case (r.Pattern == nil) == r.Pointer.IsZero():
		return errors.New("redact: each rule must have one of pattern and pointer, such as {pointer: /customer/email}")
	case r.Pattern != nil && r.Pattern.MatchString(""):
		return fmt.Errorf("redact: pattern %q must not match the empty text, which is everywhere", r.Pattern)
	}
	return nil
}

// Policy returns the same in the words of the bridge.
func (r Results) Policy() policy.Results {
	p := policy.Results{Budget: r.Budget, MarkUntrusted: r.MarkUntrusted}
	for _, rule := range r.Redact {
		p.Redact = append(p.Redact, policy.Redaction(rule))
	}
	return p
}

// Profile is a stored login of a site, and the callers that may use it.
type Profile struct {
	Name         string   `key:"name" unique:"true" required:"true" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$" must:"must have up to 64 of A-Z, a-z, 0-9, ., _ and -, and begin with a letter or a digit" help:"by which a call names it"`
	StorageState string   `key:"storage-state" required:"true" help:"the file with the login, as 'login' writes it"`
	Callers      []string `key:"callers" help:"who may use it; without callers in the file, everybody"`
	Line         int
}

// WaitFor says what must hold before a page counts as opened: a tool, an element, an
// idle network, together.
type WaitFor struct {
	Tool     string `key:"tool" unnamed:"yes" help:"a tool with this name"`
	Selector string `key:"selector" unnamed:"yes" help:"an element that this CSS selector finds"`
	Idle     Idle   `key:"idle" unnamed:"yes" help:"true for an idle network, or for how long no tool may change after that"`
}

// Wait is one thing that must hold before pages count as opened: tool:NAME, selector:CSS
// or idle.
type Wait string

// UnmarshalText reads it as a person writes it.
func (w *Wait) UnmarshalText(text []byte) error {
	*w = Wait(strings.TrimSpace(string(text)))
	kind, what, _ := strings.Cut(string(*w), ":")
	switch {
	case *w == "idle", kind == "selector" && what != "", kind == "tool" && bridge.IsLegalName(what):
		return nil
	}
	return errMust
}

// terms cuts a text at the commas that a term follows: selectors have commas, too.
func terms(text string) (all []string) {
	for _, part := range strings.Split(text, ",") {
		start := strings.TrimSpace(part)
		if len(all) == 0 || start == "idle" || strings.HasPrefix(start, "tool:") || strings.HasPrefix(start, "selector:") {
			all = append(all, part)
			continue
		}
		all[len(all)-1] += "," + part
	}
	return all
}

// Waits are the terms of wait-for, by kind.
func (c *Config) Waits() (tools, selectors []string, idle bool) {
	for _, w := range c.WaitFor {
		switch kind, what, _ := strings.Cut(string(w), ":"); kind {
		case "tool":
			tools = append(tools, what)
		case "selector":
			selectors = append(selectors, what)
		default:
			idle = true
		}
	}
	return tools, selectors, idle
}

// Caller is one entry of callers.
type Caller struct {
	Name  string         `key:"name" unique:"true" required:"true" pattern:"^[^:]*$" not:"local,token,console,socket,terminal" must:"must not be local, token, console, socket or terminal, which are callers of pagetools itself, and must have no colon, as those have whom an issuer names" help:"who it is, in questions and records"`
	Token string         `key:"token" unique:"true" required:"true" secret:"true" help:"the credential that it sends, as Authorization: Bearer TOKEN"`
	May   []bridge.Right `key:"may" default:"call elicit" enum:"call,elicit,answer,view" help:"its rights: call; elicit, its own MCP client may answer its calls; answer, it answers as a person does; view, it sees the operators' page and answers nothing"`
	Sites []string       `key:"sites" help:"the sites that it sees; without names, all"`
	Rate  policy.Rate    `key:"rate" help:"calls that it may make on all sites together"`
	// MCPTools is "" where it is as for all.
	MCPTools string `key:"mcp-tools" enum:"auto,direct,hybrid,meta" help:"what it sees over MCP, in place of --mcp-tools"`
	// Apps is nil where it is as for all.
	Apps *bool `key:"apps" help:"whether its MCP client gets the card, in place of --mcp-apps: true is on, false is off"`
	Line int
}

// Limits is the section limits, without what is a flag, too. A file that nobody named may
// lower the defaults.
type Limits struct {
	Queue            int           `key:"queue" unnamed:"most 32" min:"1" help:"calls that may wait for a page"`
	RecycleAfter     int           `key:"recycle-after" unnamed:"most 200" min:"1" help:"sessions after which a browser is replaced"`
	FirstIdle        time.Duration `key:"first-idle" unnamed:"most 60s" help:"how long a session that was used once is kept"`
	Idle             time.Duration `key:"idle" unnamed:"most 15m" help:"how long a session that was used more often is kept"`
	MaxAge           time.Duration `key:"max-age" unnamed:"most 8h" help:"how long any session is kept"`
	AsyncTimeout     time.Duration `key:"async-timeout" unnamed:"most 15m" most:"4h" help:"how long a call may let its tool run that prefers respond-async (15m, at most 4h)"`
	Question         time.Duration `key:"question" unnamed:"most 5m" help:"how long a question is open"`
	Tools            int           `key:"tools" unnamed:"most 256" min:"1" help:"tools in one document"`
	Name             int           `key:"name" unnamed:"most 128" min:"1" help:"characters of a name"`
	Description      int           `key:"description" unnamed:"most 16384" min:"1" help:"bytes of a description"`
	SchemaBytes      int           `key:"schema-bytes" unnamed:"most 65536" min:"1" help:"bytes of a schema"`
	SchemaDepth      int           `key:"schema-depth" unnamed:"most 32" min:"1" help:"how deep a schema may nest"`
	SchemaSubschemas int           `key:"schema-subschemas" unnamed:"most 2000" min:"1" help:"schemas in a schema"`
	SchemaExpansions int           `key:"schema-expansions" unnamed:"most 10000" min:"1" help:"schemas in a schema when its references are followed"`
	SchemaPattern    int           `key:"schema-pattern" unnamed:"most 512" min:"1" help:"characters of a pattern in a schema"`
	Arguments        int           `key:"arguments" unnamed:"most 262144" min:"1" help:"bytes of the arguments of a call"`
	Result           int           `key:"result" unnamed:"most 1048576" min:"1" help:"bytes of a result"`
	PageSubschemas   int           `key:"page-subschemas" unnamed:"most 50000" min:"1" help:"schemas in all tools of a page"`
	PageBytes        int           `key:"page-bytes" unnamed:"most 8388608" min:"1" help:"bytes of all tools of a page"`
	HistoryBytes     int           `key:"history-bytes" unnamed:"most 16777216" min:"1" help:"bytes of the history of one webtool"`
	CallerBytes      int           `key:"caller-bytes" unnamed:"most 33554432" min:"1" help:"bytes that waiting calls and kept replies of one caller may hold"`
	Files            int           `key:"files" unnamed:"most 4" min:"1" help:"files that a page may save in a call"`
	FileBytes        int           `key:"file-bytes" unnamed:"most 16777216" min:"1" help:"bytes of such a file"`
	CallerFiles      int           `key:"caller-files" unnamed:"most 33554432" min:"1" help:"bytes of such files that are kept for one caller"`
	TotalBytes       int           `key:"total-bytes" unnamed:"most 268435456" min:"1" help:"bytes that those, and such files, of all callers may hold"`
}

// Bridge returns those limits that are the bridge's.
func (l *Limits) Bridge() bridge.Limits {
	return bridge.Limits{
		Tools: l.Tools, Name: l.Name, Description: l.Description,
		AsyncTimeout: l.AsyncTimeout, Arguments: l.Arguments, Result: l.Result, Question: l.Question, Subschemas: l.PageSubschemas,
		PageBytes: int64(l.PageBytes), HistoryBytes: int64(l.HistoryBytes), CallerBytes: int64(l.CallerBytes), TotalBytes: int64(l.TotalBytes),
		Files: l.Files, FileBytes: int64(l.FileBytes), CallerFiles: int64(l.CallerFiles),
		Schema: schema.Limits{
			Bytes: l.SchemaBytes, Depth: l.SchemaDepth, Subschemas: l.SchemaSubschemas,
			Expansions: l.SchemaExpansions, Pattern: l.SchemaPattern,
		},
	}
}

// Rates returns the rates of the callers that have one.
func (c *Config) Rates() map[string]policy.Rate {
	rates := map[string]policy.Rate{}
	for _, caller := range c.Callers {
		rates[caller.Name] = caller.Rate
	}
	return rates
}

// The types that follow have forms of their own in the file.

// decode reads a mode, or {default: mode, tools: {pattern: level}}.
func (a *Approval) decode(d *decoder, key string, n *yaml.Node) error {
	if n.Kind != yaml.ScalarNode {
		if err := d.fields(n, key, a); err != nil {
			return err
		}
		return d.pairs(n, key, func(k, v *yaml.Node) error {
			if v.Kind == yaml.AliasNode {
				v = v.Alias
			}
			for i := 0; k.Value == "tools" && i < len(v.Content); i += 2 {
				a.Lines = append(a.Lines, v.Content[i].Line)
			}
			return nil
		})
	}
	mode := fieldsOf(reflect.ValueOf(a).Elem())[0]
	mode.key = key
	return d.scalar(n, mode)
}

func (a *Approval) schema() object {
	o := objectOf(a)
	properties, _ := o["properties"].(object)
	return object{"anyOf": []any{properties["default"], o}}
}

// Rules are the levels of single tools, by patterns of their names, in their order. A
// pattern may have an origin and a space in front.
type Rules []policy.Rule

func (r *Rules) decode(d *decoder, key string, n *yaml.Node) error {
	return d.pairs(n, key, func(k, v *yaml.Node) error {
		rule := policy.Rule{Pattern: k.Value}
		if from, pattern, both := strings.Cut(k.Value, " "); both {
			parsed, ok := origin.Parse(from)
			if !ok {
				return d.errorf(k, "%s: %q is neither a pattern of names, nor an origin, a space and such a pattern", key, k.Value)
			}
			rule = policy.Rule{Origin: parsed, Pattern: pattern}
		}
		*r = append(*r, rule)
		return d.value(v, key, &(*r)[len(*r)-1].Level)
	})
}

func (*Rules) schema() object { return mapOf(scalarSchema(policy.Auto)) }

// Rates are the rates of single tools, by patterns of their names, in their order.
type Rates []policy.RateRule

func (r *Rates) decode(d *decoder, key string, n *yaml.Node) error {
	return d.pairs(n, key, func(k, v *yaml.Node) error {
		*r = append(*r, policy.RateRule{Pattern: k.Value})
		return d.value(v, key+": "+k.Value, &(*r)[len(*r)-1].Rate)
	})
}

func (*Rates) schema() object { return mapOf(scalarSchema(policy.Rate{})) }

// Params are property schemas by name, as JSON.
type Params map[string]json.RawMessage

func (p *Params) decode(d *decoder, key string, n *yaml.Node) error {
	var raw map[string]any
	if err := n.Decode(&raw); err != nil {
		return d.errorf(n, "%s must be a mapping of names to schemas, such as {units: {enum: [metric, imperial]}}", key)
	}
	*p = Params{}
	for name, v := range raw {
		b, err := json.Marshal(v)
		if err != nil {
			return d.errorf(n, "%s: %q is not a schema", key, name)
		}
		(*p)[name] = b
	}
	return nil
}

func (*Params) schema() object { return mapOf(object{"type": []string{"object", "boolean"}}) }

// Idle is true, or how long no tool may change once the network is idle.
type Idle struct {
	On    bool
	Quiet time.Duration
}

// maxQuiet limits how long a page may take to count as opened.
const maxQuiet = 10 * time.Second

func (i *Idle) decode(d *decoder, key string, n *yaml.Node) error {
	if n.Decode(&i.On) == nil {
		return nil
	}
	quiet, err := time.ParseDuration(n.Value)
	if err != nil || quiet <= 0 || quiet > maxQuiet {
		return d.errorf(n, "%s: %q must be true or a time of up to %v, such as 500ms", key, n.Value,
			maxQuiet)
	}
	i.On, i.Quiet = true, quiet
	return nil
}

func (*Idle) schema() object {
	return object{"anyOf": []any{object{"type": "boolean"}, scalarSchema(maxQuiet)}}
}

// What an entry must be as a whole.

func (w *WaitFor) check() error {
	if *w == (WaitFor{}) {
		return errors.New("wait-for: one of tool, selector and idle is needed, such as {tool: search}")
	}
	return nil
}

func (s *Site) check() error {
	is := func(p Profile) bool { return p.Name == s.DefaultProfile }
	if s.DefaultProfile != "" && !slices.ContainsFunc(s.Profiles, is) {
		return fmt.Errorf("sites: default-profile %q must be one of the names under profiles",
			s.DefaultProfile)
	}
	return nil
}

// checkProfiles looks at what sites and callers say of each other.
func (c *Config) checkProfiles() error {
	for _, s := range c.Sites {
		for _, p := range s.Profiles {
			if len(c.Callers) > 0 && len(p.Callers) == 0 && p.Name != s.DefaultProfile {
				return fmt.Errorf("%s:%d: profiles: callers of %q is empty, so that nobody may use it: "+
					"without names it is for %q, and there are callers",
					c.File, p.Line, p.Name, bridge.Local().Name)
			}
		}
	}
	return nil
}

// Origin is an origin as browsers write it.
type Origin string

// UnmarshalText reads an origin as a person writes it.
func (o *Origin) UnmarshalText(text []byte) error {
	from, ok := origin.Parse(string(text))
	if !ok {
		return errMust
	}
	*o = Origin(from)
	return nil
}

// PublicURL is an origin of https, or of http on this machine.
type PublicURL string

// UnmarshalText reads an address as a person writes it.
func (u *PublicURL) UnmarshalText(text []byte) error {
	from, ok := origin.Parse(string(text))
	if at, err := url.Parse(from); !ok || err != nil || at.Scheme != "https" && !origin.Loopback(at.Hostname()) {
		return errMust
	}
	*u = PublicURL(from)
	return nil
}

// Network is a network, as netip.ParsePrefix reads it.
type Network string

// UnmarshalText reads a network as a person writes it.
func (n *Network) UnmarshalText(text []byte) error {
	p, err := netip.ParsePrefix(string(text))
	if err != nil {
		return errMust
	}
	*n = Network(p.Masked().String())
	return nil
}

// PageKey names something that a call may change about its page.
type PageKey string

// UnmarshalText reads the key.
func (k *PageKey) UnmarshalText(text []byte) error {
	if !slices.Contains(bridge.PageKeys(), string(text)) {
		return errMust
	}
	*k = PageKey(text)
	return nil
}

// Viewport is the size of a window, in pixels.
type Viewport struct{ Width, Height int }

// UnmarshalText reads 1280x720.
func (v *Viewport) UnmarshalText(text []byte) error {
	n, err := fmt.Sscanf(string(text), "%dx%d", &v.Width, &v.Height)
	if err != nil || n != 2 || v.Width <= 0 || v.Height <= 0 {
		return errMust
	}
	return nil
}

// MarshalText writes the size as it is read; the zero size is empty text.
func (v Viewport) MarshalText() ([]byte, error) {
	if v == (Viewport{}) {
		return nil, nil
	}
	return fmt.Appendf(nil, "%dx%d", v.Width, v.Height), nil
}

var errMust = errors.New("a value that its type does not take")

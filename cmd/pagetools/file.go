package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/session"
)

// defaultFile is read when it exists and no other is named.
const defaultFile = "pagetools.yaml"

// file is the configuration file as read.
type file struct {
	path         string // empty: there is none
	flags        map[string]fileValue
	sites        []siteConfig
	callers      []callerConfig
	limits       limitsConfig
	openToOthers bool // it holds tokens, and others can read it
	// rest tells files apart by all but their callers.
	rest [sha256.Size]byte
}

type fileValue struct {
	values []string
	line   int
}

// siteConfig is one entry of sites.
type siteConfig struct {
	name, target string
	line         int
	engine       string // "" is the command's
	shared       *bool
	warm         *int
	approval     *policy.Operator
	rate         policy.Rate // zero: the command's
	rates        []policy.RateRule
	params       map[string]json.RawMessage
	allowConfig  []string
	waitFor      session.WaitFor
	windows      session.Windows
	profiles     []profileConfig
	// defaultProfile names the one with which every page opens; "" is none.
	defaultProfile string
	allowOrigins   []string
	allowPrivate   []string
}

// callerConfig is one entry of callers.
type callerConfig struct {
	name, token string
	may         []bridge.Right
	sites       []string
	rate        policy.Rate
	line        int
}

// limitsConfig is the section limits, without what is a flag.
type limitsConfig struct {
	bridge                  bridge.Limits
	queue, recycle          int
	firstIdle, idle, maxAge time.Duration
}

// reader reads the nodes of one file and remembers its name for errors.
type reader struct {
	path string
	out  *file
}

// readFile reads the configuration file. Without a name the default one is read
// when it exists.
func readFile(path string, flags *pflag.FlagSet) (*file, error) {
	out := &file{flags: map[string]fileValue{}}
	named := path != ""
	if !named {
		path = defaultFile
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && !named {
		return out, nil
	}
	if err != nil {
		return nil, usage("reading the configuration: %w", err)
	}
	out.path = path
	r := &reader{path: path, out: out}
	var doc, more yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, usage("%s: %w", path, err)
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, usage("%s: a configuration is one document of YAML", path)
	}
	if len(doc.Content) == 0 || doc.Content[0].Tag == "!!null" {
		return out, nil
	}
	if err := r.root(doc.Content[0], flags); err != nil {
		return nil, err
	}
	if err := r.checkProfiles(); err != nil {
		return nil, err
	}
	if out.rest, err = restOf(doc.Content[0]); err != nil {
		return nil, r.errorf(doc.Content[0], "%v", err)
	}
	_, token := out.flags["token"]
	_, header := out.flags["ws-header"]
	if info, err := os.Stat(path); err == nil && (token || header || len(out.callers) > 0) {
		out.openToOthers = info.Mode().Perm()&0o077 != 0
	}
	return out, nil
}

// restOf is the digest of everything but the callers, however it is written.
func restOf(n *yaml.Node) (sum [sha256.Size]byte, err error) {
	var all map[string]any
	if err := n.Decode(&all); err != nil {
		return sum, err
	}
	delete(all, "callers")
	text, err := yaml.Marshal(all) // sorted by key
	return sha256.Sum256(text), err
}

// errorf names file, line and key.
func (r *reader) errorf(n *yaml.Node, format string, args ...any) error {
	return usage("%s:%d: %s", r.path, n.Line, fmt.Sprintf(format, args...))
}

// fields walks a mapping; each key has its reader, and an unknown key is an
// error.
func (r *reader) fields(n *yaml.Node, what string, readers map[string]func(*yaml.Node) error) error {
	if n.Kind != yaml.MappingNode {
		return r.errorf(n, "%s must be a mapping", what)
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		read := readers[k.Value]
		switch {
		case seen[k.Value]:
			return r.errorf(k, "%s: the key %q is there twice", what, k.Value)
		case read == nil:
			return r.errorf(k, "%s: unknown key %q", what, k.Value)
		}
		seen[k.Value] = true
		if err := read(v); err != nil {
			return err
		}
	}
	return nil
}

// value makes a reader that decodes into to.
func value[T any](r *reader, key string, to *T) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if err := n.Decode(to); err != nil {
			return r.errorf(n, "%s: %q is not what it takes", key, n.Value)
		}
		return nil
	}
}

func (r *reader) root(n *yaml.Node, flags *pflag.FlagSet) error {
	readers := map[string]func(*yaml.Node) error{"sites": r.sites, "callers": r.callers, "limits": r.limits}
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name != "config" {
			readers[f.Name] = func(n *yaml.Node) error { return r.flag(f.Name, n) }
		}
	})
	return r.fields(n, "the configuration", readers)
}

// flag keeps the value of a key that is a flag too.
func (r *reader) flag(name string, n *yaml.Node) error {
	v := fileValue{line: n.Line}
	if old, ok := r.out.flags[name]; ok {
		return r.errorf(n, "%s is there twice: line %d has it too", name, old.line)
	}
	switch n.Kind {
	case yaml.ScalarNode:
		v.values = []string{n.Value}
	case yaml.SequenceNode:
		if err := n.Decode(&v.values); err != nil {
			return r.errorf(n, "%s: a list of values is needed", name)
		}
	default:
		return r.errorf(n, "%s: a value is needed", name)
	}
	r.out.flags[name] = v
	return nil
}

var siteName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`)

func (r *reader) sites(n *yaml.Node) error {
	if n.Kind != yaml.SequenceNode {
		return r.errorf(n, "sites must be a list")
	}
	names := map[string]bool{}
	for _, item := range n.Content {
		s := siteConfig{line: item.Line}
		if err := r.site(item, &s); err != nil {
			return err
		}
		switch {
		case s.target == "":
			return r.errorf(item, "sites: target is missing")
		case s.name != "" && !siteName.MatchString(s.name):
			return r.errorf(item, "sites: name %q: a name is a lower-case letter, then up to 31 of a-z, 0-9 and _", s.name)
		case s.name != "" && names[s.name]:
			return r.errorf(item, "sites: the name %q is there twice", s.name)
		}
		names[s.name] = true
		r.out.sites = append(r.out.sites, s)
	}
	return nil
}

func (r *reader) site(n *yaml.Node, s *siteConfig) error {
	return r.fields(n, "sites", map[string]func(*yaml.Node) error{
		"name":            value(r, "name", &s.name),
		"target":          value(r, "target", &s.target),
		"warm":            func(n *yaml.Node) error { return r.warm(n, s) },
		"allow-config":    func(n *yaml.Node) error { return r.pageKeys(n, s) },
		"allow-private":   value(r, "allow-private", &s.allowPrivate),
		"allow-origin":    func(n *yaml.Node) error { return r.origins(n, s) },
		"state":           func(n *yaml.Node) error { return r.state(n, s) },
		"engine":          func(n *yaml.Node) error { return r.engine(n, s) },
		"approval":        func(n *yaml.Node) error { return r.approval(n, s) },
		"rate":            func(n *yaml.Node) error { return r.rate(n, "rate", &s.rate) },
		"rates":           func(n *yaml.Node) error { return r.rates(n, s) },
		"config-params":   func(n *yaml.Node) error { return r.params(n, s) },
		"profiles":        func(n *yaml.Node) error { return r.profiles(n, s) },
		"default-profile": value(r, "default-profile", &s.defaultProfile),
		"windows":         func(n *yaml.Node) error { return r.windows(n, s) },
		"wait-for":        func(n *yaml.Node) error { return r.waitFor(n, &s.waitFor) },
	})
}

// windowPolicies are the values of the key windows.
var windowPolicies = map[string]session.Windows{"close": session.CloseWindows, "report": session.ReportWindows, "bridge": session.BridgeWindows}

func (r *reader) windows(n *yaml.Node, s *siteConfig) error {
	w, ok := windowPolicies[n.Value]
	if !ok {
		return r.errorf(n, "windows: %q is none of close, report and bridge", n.Value)
	}
	s.windows = w
	return nil
}

// waitFor is what must hold before a page counts as opened: a tool, an element,
// an idle network, together.
func (r *reader) waitFor(n *yaml.Node, w *session.WaitFor) error {
	err := r.fields(n, "wait-for", map[string]func(*yaml.Node) error{
		"tool":     value(r, "tool", &w.Tool),
		"selector": value(r, "selector", &w.Selector),
		"idle":     func(n *yaml.Node) error { return r.idle(n, w) },
	})
	if err == nil && *w == (session.WaitFor{}) {
		return r.errorf(n, "wait-for: one of tool, selector and idle is needed")
	}
	return err
}

// idle is true, or how long no tool may change once the network is idle.
func (r *reader) idle(n *yaml.Node, w *session.WaitFor) error {
	if n.Decode(&w.Idle) == nil {
		return nil
	}
	d, err := time.ParseDuration(n.Value)
	if err != nil || d <= 0 || d > 10*time.Second {
		return r.errorf(n, "idle: %q is neither true nor a time of up to 10s, such as 500ms", n.Value)
	}
	w.Idle, w.Quiet = true, d
	return nil
}

func (r *reader) state(n *yaml.Node, s *siteConfig) error {
	if n.Value != "isolated" && n.Value != "shared" {
		return r.errorf(n, "state: %q is neither isolated nor shared", n.Value)
	}
	shared := n.Value == "shared"
	s.shared = &shared
	return nil
}

func (r *reader) warm(n *yaml.Node, s *siteConfig) error {
	var warm int
	if err := n.Decode(&warm); err != nil || warm < 0 {
		return r.errorf(n, "warm: %q is not a number of pages", n.Value)
	}
	s.warm = &warm
	return nil
}

func (r *reader) pageKeys(n *yaml.Node, s *siteConfig) error {
	if err := value(r, "allow-config", &s.allowConfig)(n); err != nil {
		return err
	}
	for _, k := range s.allowConfig {
		if !slices.Contains(bridge.PageKeys(), k) {
			return r.errorf(n, "allow-config: there is no key %q; there is %s", k, strings.Join(bridge.PageKeys(), ", "))
		}
	}
	return nil
}

func (r *reader) origins(n *yaml.Node, s *siteConfig) error {
	if err := value(r, "allow-origin", &s.allowOrigins)(n); err != nil {
		return err
	}
	for i, o := range s.allowOrigins {
		origin, ok := parseOrigin(o)
		if !ok {
			return r.errorf(n, "allow-origin: %q is not an origin, such as https://shop.example", o)
		}
		s.allowOrigins[i] = origin
	}
	return nil
}

func (r *reader) engine(n *yaml.Node, s *siteConfig) error {
	if !slices.Contains(engineKinds, n.Value) {
		return r.errorf(n, "engine: %q is not one of %s", n.Value, strings.Join(engineKinds, ", "))
	}
	s.engine = n.Value
	return nil
}

// approval is a mode, or {default: mode, tools: {glob: level}}.
func (r *reader) approval(n *yaml.Node, s *siteConfig) error {
	o := policy.Operator{}
	if n.Kind == yaml.ScalarNode {
		s.approval = &o
		return r.mode("approval", n, &o)
	}
	err := r.fields(n, "approval", map[string]func(*yaml.Node) error{
		"default": func(n *yaml.Node) error { return r.mode("default", n, &o) },
		"tools":   func(n *yaml.Node) error { return r.rules(n, &o) },
	})
	s.approval = &o
	return err
}

// approvalModes are the operator's modes.
var approvalModes = []string{policy.ModeAsk, policy.ModeStrict, policy.ModeAuto, policy.ModeDeny}

func (r *reader) mode(key string, n *yaml.Node, o *policy.Operator) error {
	if !slices.Contains(approvalModes, n.Value) {
		return r.errorf(n, "%s: %q is not one of %s", key, n.Value, strings.Join(approvalModes, ", "))
	}
	o.Mode = n.Value
	return nil
}

func (r *reader) rules(n *yaml.Node, o *policy.Operator) error {
	if n.Kind != yaml.MappingNode {
		return r.errorf(n, "tools must be a mapping of patterns to levels")
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if slices.ContainsFunc(o.Tools, func(x policy.Rule) bool { return x.Pattern == k.Value }) {
			return r.errorf(k, "tools: the key %q is there twice", k.Value)
		}
		level, err := policy.ParseLevel(v.Value)
		if err != nil {
			return r.errorf(v, "tools: %q is not one of auto, ask-once, ask, never", v.Value)
		}
		o.Tools = append(o.Tools, policy.Rule{Pattern: k.Value, Level: level})
	}
	return nil
}

// params are property schemas by name; they become JSON.
func (r *reader) params(n *yaml.Node, s *siteConfig) error {
	var raw map[string]any
	if err := n.Decode(&raw); err != nil {
		return r.errorf(n, "config-params must be a mapping of names to schemas")
	}
	s.params = map[string]json.RawMessage{}
	for name, v := range raw {
		b, err := json.Marshal(v)
		if err != nil {
			return r.errorf(n, "config-params: %q is not a schema", name)
		}
		s.params[name] = b
	}
	return nil
}

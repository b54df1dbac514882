package hosts

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Host describes one program. A limit that is nil is not known, and not judged.
type Host struct {
	Name  string `yaml:"name"`
	Title string `yaml:"title"`
	// Date is the day on which the sources were read, as 2026-11-23.
	Date string `yaml:"date"`
	// Source holds addresses, or words where there is none.
	Source []string `yaml:"source"`
	// Reconstruction is true when the host documents nothing, and its behavior was inferred.
	Reconstruction bool `yaml:"reconstruction"`
	// Note says what is not known, and what a reader must know of the numbers.
	Note string `yaml:"note"`
	// Secure is true when the page's origin must be secure.
	Secure   bool      `yaml:"secure"`
	Surface  *Surface  `yaml:"surface"`
	Limits   Limits    `yaml:"limits"`
	Keywords *Keywords `yaml:"keywords"`
	Wants    []Want    `yaml:"wants"`
	Loses    []Loss    `yaml:"loses"`
	// Dialogs are the questions of a page that the host lets through to a person: confirm,
	// prompt, interact. Elicitation holds the modes of MCP: form, url, none. When both are
	// empty, it is not known what a person can be asked.
	Dialogs     []string `yaml:"dialogs"`
	Elicitation []string `yaml:"elicitation"`
}

// Surface is the interface that a page meets in the host's browser. Nil is a host without one.
type Surface struct {
	// Objects carry modelContext: document, navigator.
	Objects []string `yaml:"objects"`
	// Methods lists the methods that exist. Empty means not known.
	Methods []string `yaml:"methods"`
	Frozen  bool     `yaml:"frozen"`
	Source  string   `yaml:"source"`
}

// Limits bound what a host takes. Each has its own source.
type Limits struct {
	Tools       *Limit   `yaml:"tools"`
	Descriptor  *Limit   `yaml:"descriptor-bytes"` // of all tools together
	Name        *Limit   `yaml:"name"`             // characters
	Description *Limit   `yaml:"description"`      // characters
	Schema      *Limit   `yaml:"schema-bytes"`     // of an input schema, compact
	Depth       *Limit   `yaml:"schema-depth"`     // schemas inside schemas; the root is 1
	Properties  *Limit   `yaml:"schema-properties"`
	Property    *Limit   `yaml:"property"` // characters of a property's name
	Changes     *Limit   `yaml:"changes"`  // of the list, in the life of one document
	Result      *Limit   `yaml:"result-bytes"`
	CallTime    *Timeout `yaml:"call-time"`
}

// Limit is a number, a form, or both.
type Limit struct {
	Min     int    `yaml:"min"`     // 0 is none
	Max     int    `yaml:"max"`     // 0 is none
	Pattern string `yaml:"pattern"` // RE2; "" is none
	// Of are the members that count, of which [check.Tool] is made; only for descriptor-bytes.
	Of     []string `yaml:"of"`
	Over   Over     `yaml:"over"`
	Source string   `yaml:"source"`

	pattern *regexp.Regexp
}

// Timeout limits how long a call may take.
type Timeout struct {
	Max    time.Duration `yaml:"max"`
	Over   Over          `yaml:"over"`
	Source string        `yaml:"source"`
}

// Keywords lists keywords of JSON Schema that the host refuses: Any wherever a schema is, Root
// in the input schema itself.
type Keywords struct {
	Any    []string `yaml:"any"`
	Root   []string `yaml:"root"`
	Over   Over     `yaml:"over"`
	Source string   `yaml:"source"`
}

// Want is a member that the host asks for: one of Any must be there, such as "title" or
// "annotations.readOnlyHint".
type Want struct {
	Any    []string `yaml:"any"`
	Over   Over     `yaml:"over"`
	Source string   `yaml:"source"`
}

// Loss lists members that a host ignores.
type Loss struct {
	Members []string `yaml:"members"`
	Source  string   `yaml:"source"`
}

// Over says what a host does when a limit is passed.
type Over string

// What hosts do.
const (
	Warn       Over = "warn"        // it takes the tool, and complains
	DropTool   Over = "drop-tool"   // the tool is not there
	DropRest   Over = "drop-rest"   // the tools beyond the limit are not there
	RefusePage Over = "refuse-page" // no tool of the page is there
)

var overs = []string{string(Warn), string(DropTool), string(DropRest), string(RefusePage)}

//go:embed hosts/*.yaml
var embedded embed.FS

// File is a description of a host: the name is for messages, the text is YAML.
type File struct {
	Name string
	Text []byte
}

// Set are the hosts that are known. It is immutable.
type Set struct{ hosts map[string]Host }

// Load returns the embedded hosts. A file whose "name" is known changes the members that it has
// of that host (null removes one), another one adds a host; each must have a date and a source.
// An error names the file, line and column, and the nearest word for what is unknown.
func Load(files ...File) (Set, error) {
	set := Set{map[string]Host{}}
	names, err := fs.Glob(embedded, "hosts/*.yaml")
	if err != nil {
		return Set{}, err
	}
	for _, name := range names {
		text, err := embedded.ReadFile(name)
		if err != nil {
			return Set{}, err
		}
		if err := set.add(File{name, text}); err != nil {
			return Set{}, err
		}
	}
	for _, file := range files {
		if err := set.add(file); err != nil {
			return Set{}, err
		}
	}
	return set, nil
}

func (s Set) add(file File) error {
	node, err := parse(file)
	if err != nil {
		return err
	}
	var named struct{ Name string }
	if err := node.Decode(&named); err != nil {
		return fmt.Errorf("%s: %w", file.Name, err)
	}
	host := s.hosts[named.Name].clone()
	host.Date, host.Source = "", nil
	if err := node.Decode(&host); err != nil {
		return fmt.Errorf("%s: %w", file.Name, err)
	}
	if err := host.check(); err != nil {
		return fmt.Errorf("%s: %w", file.Name, err)
	}
	s.hosts[host.Name] = host
	return nil
}

// clone returns a copy whose limits can be changed.
func (h Host) clone() Host {
	for _, limit := range h.Limits.all() {
		copies(limit.at)
	}
	copies(&h.Limits.CallTime)
	copies(&h.Surface)
	copies(&h.Keywords)
	return h
}

func copies[T any](at **T) {
	if *at != nil {
		copied := **at
		*at = &copied
	}
}

type named struct {
	key string
	at  **Limit
}

// all returns the limits that are numbers or forms. They point into the receiver.
func (l *Limits) all() []named {
	return []named{
		{"tools", &l.Tools}, {"descriptor-bytes", &l.Descriptor}, {"name", &l.Name},
		{"description", &l.Description}, {"schema-bytes", &l.Schema}, {"schema-depth", &l.Depth},
		{"schema-properties", &l.Properties}, {"property", &l.Property}, {"changes", &l.Changes},
		{"result-bytes", &l.Result},
	}
}

// check says what is missing in a host, or does not hold together, and compiles its patterns.
func (h *Host) check() error {
	if h.Name == "" {
		return errors.New("the host has no name: add a line such as name: my-host")
	}
	if _, err := time.Parse(time.DateOnly, h.Date); err != nil {
		return fmt.Errorf("%s: invalid date %q: must be the day on which the source was read, "+
			"such as 2026-11-23", h.Name, h.Date)
	}
	if len(h.Source) == 0 || slices.Contains(h.Source, "") {
		return fmt.Errorf("%s: source must not be empty: say where its numbers are from", h.Name)
	}
	for _, limit := range h.Limits.all() {
		if *limit.at == nil {
			continue
		}
		if err := (*limit.at).check(limit.key); err != nil {
			return fmt.Errorf("%s: limits.%s: %w", h.Name, limit.key, err)
		}
	}
	if t := h.Limits.CallTime; t != nil && (t.Max <= 0 || t.Over == "" || t.Source == "") {
		return fmt.Errorf("%s: limits.call-time needs max (such as 60s), over and source", h.Name)
	}
	if k := h.Keywords; k != nil && (k.Over == "" || k.Source == "") {
		return fmt.Errorf("%s: keywords needs over and source", h.Name)
	}
	if h.Surface != nil && (h.Surface.Source == "" || len(h.Surface.Objects) == 0) {
		return fmt.Errorf("%s: surface needs objects (document, navigator) and source", h.Name)
	}
	for _, want := range h.Wants {
		if len(want.Any) == 0 || want.Over == "" || want.Source == "" {
			return fmt.Errorf("%s: an entry of wants needs any, over and source", h.Name)
		}
	}
	for _, loss := range h.Loses {
		if len(loss.Members) == 0 || loss.Source == "" {
			return fmt.Errorf("%s: an entry of loses needs members and source", h.Name)
		}
	}
	return nil
}

func (l *Limit) check(key string) error {
	list := slices.Contains([]string{"tools", "descriptor-bytes", "changes"}, key)
	switch {
	case l.Source == "":
		return errors.New("source is missing: say where the number is from")
	case l.Over == "":
		return fmt.Errorf("over is missing: must be one of %s", strings.Join(overs, ", "))
	case l.Min < 0 || l.Max < 0 || l.Min == 0 && l.Max == 0 && l.Pattern == "":
		return errors.New("needs max, min or pattern; numbers must be more than 0")
	case list && l.Over == DropTool, !list && l.Over == DropRest,
		key == "changes" && l.Over == DropRest:
		return fmt.Errorf("over must not be %s: it is not about a single tool or a list of them", l.Over)
	case key == "descriptor-bytes" && len(l.Of) == 0:
		return errors.New("of is missing: name the members that count, such as [name, inputSchema]")
	case key != "descriptor-bytes" && len(l.Of) > 0:
		return errors.New("of must only be in descriptor-bytes")
	case l.Pattern != "" && key != "name" && key != "property":
		return errors.New("pattern must only be in name and property")
	}
	l.pattern = nil
	if l.Pattern == "" {
		return nil
	}
	var err error
	l.pattern, err = regexp.Compile(l.Pattern)
	if err != nil {
		return fmt.Errorf("invalid pattern %q: must be a regular expression of RE2 (%w)", l.Pattern, err)
	}
	return nil
}

// Names returns the names of all hosts, sorted.
func (s Set) Names() []string { return slices.Sorted(maps.Keys(s.hosts)) }

// All returns all hosts, sorted by name.
func (s Set) All() []Host {
	all := make([]Host, 0, len(s.hosts))
	for _, name := range s.Names() {
		all = append(all, s.hosts[name])
	}
	return all
}

// Get returns a host. The error names the nearest one, and those that there are.
func (s Set) Get(name string) (Host, error) {
	if host, ok := s.hosts[name]; ok {
		return host, nil
	}
	return Host{}, fmt.Errorf("unknown host %q%s", name, suggest(name, s.Names()))
}

package toolset

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/schema"
)

// hybridAbove is the number of tools of pages above which the automatic mode adds
// our own.
const hybridAbove = 30

const (
	// pageTools and pageBytes bound one page of a list; one tool always fits.
	pageTools = 300
	pageBytes = 2 << 20
)

// Mode says which tools a list has.
type Mode uint8

const (
	// Auto is Hybrid above 30 tools of pages, else Direct.
	Auto Mode = iota
	// Direct lists the tools of pages.
	Direct
	// Hybrid lists our own, and those of pages that were found or called.
	Hybrid
	// Meta lists our own only.
	Meta
)

var modes = map[string]Mode{"": Auto, "auto": Auto, "direct": Direct, "hybrid": Hybrid,
	"meta": Meta}

// ParseMode reads a word of --mcp-tools; empty is auto.
func ParseMode(word string) (m Mode, ok bool) {
	m, ok = modes[word]
	return m, ok
}

// Protocol is the protocol version that a request is served in. Versions are dates, and
// compare as text. The empty one is the newest one with a handshake.
type Protocol string

// Modern reports whether the version is 2026-07-28 or later: results of any shape, no
// handshake.
func (p Protocol) Modern() bool { return p >= "2026-07-28" }

// Since reports whether the version is v or later.
func (p Protocol) Since(v string) bool { return p == "" || string(p) >= v }

// index returns where a List keeps what differs between protocol versions.
func (p Protocol) index() int {
	if p.Modern() {
		return 1
	}
	return 0
}

// Source holds one site's offer to a caller.
type Source struct {
	Site    bridge.Site
	Version string         // of the site's webtool
	Tools   []*bridge.Tool // the last ones known, while the site cannot be reached
	// Unkept are the digests of the tools whose outputSchema is not listed, because they
	// broke it, or the operator's rules may change what they return.
	Unkept map[string]int64
	// Down says why the site cannot be reached now; nil when it can.
	Down *bridge.Error
	// Paths says that calls may choose the path of their page.
	Paths bool
	// Page is the address that the caller's page shows; "" when that is not known.
	Page string
	// Trouble is a sentence on what went wrong in the page; "" when nothing did.
	Trouble string
}

// Options says how a list is made.
type Options struct {
	// Prefixed puts the site's name before that of the tool: several sites are
	// served.
	Prefixed bool
	Mode     Mode
	// Faithful keeps the schemas of arguments as pages wrote them, and names that leave no room
	// for a client's prefix, also where APIs of models refuse them.
	Faithful bool
	// Waiting says that calls of the client wait for a person.
	Waiting bool
}

// Target is the tool of a name: one of the fields Tool and Own is set.
type Target struct {
	Site string
	Tool *bridge.Tool
	Name string // as in the list
	Own  string // the name of one of our own tools

	form *schema.ClientForm // of the arguments of Tool
}

// List is the tools of one caller. It is immutable and safe for concurrent use.
type List struct {
	options Options
	mode    Mode // as it came out: never automatic
	entries []entry
	own     int // our own come first
	listed  []entry
	// ownListed counts our own among listed, where they come first, too.
	ownListed int
	byName    map[string]int
	aliases   map[string]int // raw names; -1 when several tools have it
	digests   [2]string
	found     []bridge.Finding
	sources   []Source
	pages     map[string]string // what the pages of sites show
	gone      Past

	*finder
}

// finder holds the index of a search, made at the first one.
type finder struct {
	indexed sync.Once
	terms   *index
}

// New makes the list of a caller. Sources are all sites of the endpoint, also those
// without tools now: their names decide who owns which names. The list does not
// depend on the order of sources and tools.
func New(sources []Source, o Options) *List {
	l := &List{options: o, byName: map[string]int{}, aliases: map[string]int{}, pages: map[string]string{},
		finder: &finder{}}
	l.sources = slices.SortedFunc(slices.Values(sources),
		func(a, b Source) int { return strings.Compare(a.Site.Name, b.Site.Name) })
	var sites []string
	var ids []identity
	var from []Source // of each tool
	var tools []*bridge.Tool
	for _, s := range sources {
		sites = append(sites, s.Site.Name)
		l.pages[s.Site.Name] = place(s.Page)
		for _, t := range s.Tools {
			ids = append(ids, identity{s.Site.Name, originOf(s.Site, t), t.Name()})
			from, tools = append(from, s), append(tools, t)
		}
	}
	var pages []entry
	for i, name := range o.naming().assign(sites, ids) {
		if l.checkName(ids[i], name) {
			pages = append(pages, l.entryOf(from[i], tools[i], name))
		}
	}
	slices.SortFunc(pages, func(a, b entry) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(l.found, func(a, b bridge.Finding) int {
		return strings.Compare(a.Tool+"\n"+a.Rule+"\n"+a.Message, b.Tool+"\n"+b.Rule+"\n"+b.Message)
	})
	if l.mode = o.Mode; l.mode == Auto {
		l.mode = Direct
		if len(pages) > hybridAbove {
			l.mode = Hybrid
		}
	}
	l.entries = l.ownTools()
	l.own = len(l.entries)
	l.entries = append(l.entries, pages...)
	l.index()
	return l
}

// originOf is the origin by which the name of a tool is made. That of a folder has another port in
// each process, and its names shall be the same.
func originOf(s bridge.Site, t *bridge.Tool) string {
	if s.Local && t.Origin() == s.Origin {
		return "folder"
	}
	return t.Origin()
}

// index makes what finds tools, and the digests.
func (l *List) index() {
	for i, e := range l.entries {
		l.byName[e.Name] = i
	}
	for i, e := range l.entries[l.own:] {
		names := []string{e.Tool.Name()}
		if l.options.Prefixed {
			names = append(names, naming{prefixed: true}.base(identity{site: e.Site, raw: e.Tool.Name()}))
		}
		for _, name := range names {
			if j, taken := l.aliases[name]; taken && j != l.own+i {
				l.aliases[name] = -1
			} else if !reserved(name) {
				l.aliases[name] = l.own + i
			}
		}
	}
	l.show(nil)
}

// Showing returns the list as it is after tools of these names were found or called. Only
// a hybrid list becomes another one.
func (l *List) Showing(names []string) *List {
	if l.mode != Hybrid || len(names) == 0 {
		return l
	}
	other := *l
	other.show(names)
	return &other
}

// show decides which entries the list shows.
func (l *List) show(names []string) {
	l.ownListed = l.own
	switch l.mode {
	case Meta:
		l.listed = l.entries[:l.own]
	case Hybrid:
		l.listed = slices.Clone(l.entries[:l.own])
		for _, e := range l.entries[l.own:] {
			if slices.Contains(names, e.Name) {
				l.listed = append(l.listed, e)
			}
		}
	default:
		l.listed = l.entries
	}
	l.digest()
}

// digest makes the digests of what is listed.
func (l *List) digest() {
	for protocol := range l.digests {
		h := sha256.New()
		for i := range l.listed {
			text := l.listed[i].json(protocol)
			fmt.Fprintf(h, "%d\n", len(text))
			h.Write(text)
		}
		l.digests[protocol] = hex.EncodeToString(h.Sum(nil))
	}
}

// Partial reports whether the list shows only some tools of pages.
func (l *List) Partial() bool { return l.mode == Hybrid }

func (l *List) find(tool, rule string, refused bool, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	l.found = append(l.found,
		bridge.Finding{Rule: rule, Tool: tool, Refused: refused, Message: message})
}

// checkName says as findings why a tool has another name. It is false when there is
// none.
func (l *List) checkName(id identity, name string) bool {
	naming := l.options.naming()
	base := naming.base(id)
	switch {
	case name == "":
		l.find(id.raw, "mcp-name-taken", true,
			"No name could be found for it that no other tool has.")
		return false
	case reserved(base):
		l.find(id.raw, "mcp-name-reserved", false,
			"Names that begin with %q are kept for our own tools; MCP clients see it as %q.", reservedPrefix, name)
	case !legalName.MatchString(base):
		l.find(id.raw, "mcp-name-changed", false,
			"MCP clients take letters, digits, '_' and '-'; they see it as %q.", name)
	case len(base) > naming.most:
		l.find(id.raw, "mcp-name-changed", false,
			"MCP clients put the name of the server in front, and leave room for %d characters; they see it as %q.", naming.most, name)
	case !naming.fits(base):
		l.find(id.raw, "mcp-name-changed", false,
			"Every object of JavaScript has a member of that name, which confuses MCP clients; they see it as %q.", name)
	case name != base:
		l.find(id.raw, "mcp-name-shared", false,
			"Another tool could have this name; MCP clients see it as %q.", name)
	}
	return true
}

// Page returns one page of the list as a JSON array, and the cursor of the next one,
// "" for the last. An unknown cursor is not ok. A cursor holds a
// name, so that a list which changed goes on behind it.
func (l *List) Page(e Protocol, cursor string) (list json.RawMessage, next string, ok bool) {
	entries := l.listed
	if cursor != "" {
		after, err := base64.RawURLEncoding.DecodeString(cursor)
		if err != nil || !legalName.Match(after) {
			return nil, "", false
		}
		entries = behind(entries, l.ownListed, string(after))
	}
	var tools [][]byte
	size := 2
	for i := range entries {
		text := entries[i].json(e.index())
		size += len(text) + 1
		if len(tools) == pageTools || len(tools) > 0 && size > pageBytes {
			next = base64.RawURLEncoding.EncodeToString([]byte(entries[len(tools)-1].Name))
			break
		}
		tools = append(tools, text)
	}
	list = make(json.RawMessage, 0, size)
	list = append(append(append(list, '['), bytes.Join(tools, []byte(","))...), ']')
	return list, next, true
}

// behind are the entries after a name. Our own come first.
func behind(entries []entry, own int, name string) []entry {
	for i, e := range entries[:own] {
		if e.Name == name {
			return entries[i+1:]
		}
	}
	i, _ := slices.BinarySearchFunc(entries[own:], name+"\x00", func(e entry, name string) int {
		return strings.Compare(e.Name, name)
	})
	return entries[own+i:]
}

// Find returns what a name stands for: a name of the list, or the page's own name
// (with the site's before it, too) when only one tool has it. It finds tools of pages
// also when the list has none of them.
func (l *List) Find(name string) (Target, bool) {
	i, ok := l.byName[name]
	if !ok {
		i, ok = l.aliases[name]
	}
	switch {
	case name == Waiting || name == Open: // also where it is not listed: texts name it
		return Target{Name: name, Own: name}, true
	case !ok || i < 0:
		return Target{}, false
	}
	return l.entries[i].Target, true
}

// Findings say what was renamed, changed and left out, in words for the site's
// author. The slice must not be changed.
func (l *List) Findings() []bridge.Finding { return l.found }

// Digest changes exactly when clients of the protocol version would see another list.
func (l *List) Digest(e Protocol) string { return l.digests[e.index()] }

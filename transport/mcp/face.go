package mcp

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/mcp/toolset"
)

// Options configures a Face. The zero value serves with the contract's defaults.
type Options struct {
	// Version of the program, sent to clients.
	Version string
	// Tools is auto, direct, hybrid or meta; empty is auto.
	Tools string
	// ToolsOf is Tools for one caller; "", and a nil function, leave it to Tools.
	ToolsOf func(bridge.Caller) string
	// Schemas is adapted or faithful; empty is adapted.
	Schemas string
	// Operators returns where a person answers questions now, for clients that can open
	// an address: on this machine, or from wherever a remote client is. "", and a nil function, say
	// that there is no such page.
	Operators func(remote bool) string
	// Terminal reports whether a person can answer at a terminal now; nil is no.
	Terminal func() bool
	// Attended says that people see the windows of pages: they can answer in them what a page asks.
	Attended bool
	// Opens is a sentence on what gives people a place to answer, for when there is none, in the
	// words of who started the program; "" leaves it out.
	Opens string
	// Page returns the title of a site's page as it is now, in the page's words, and the address of
	// its icon; "", and a nil function, when there is none.
	Page func(site string) (title, icon string)
	// Key seals what clients carry for us: the state of calls that wait, and the ids of sessions,
	// which every face with this key takes up. It has 32 bytes; nil makes one that is gone with
	// the process.
	Key []byte
	// Ended says which sessions clients ended, for all faces with the key; nil means that there is
	// one face.
	Ended bridge.Ended
	// Files says that pages may save files in calls, which clients read as resources.
	Files bool
	// Apps is auto, on or off: who gets the card, which shows questions to people: clients that
	// declare MCP Apps, all clients, or none. Empty is auto.
	Apps string
	// AppsOf is Apps for one caller; "", and a nil function, leave it to Apps.
	AppsOf func(bridge.Caller) string
	// CardLink is the address of the operators' page that the card offers to open; "" offers none.
	CardLink string
	// Done ends streams when it is closed; nil means never.
	Done <-chan struct{}
	// Finish limits how long what still runs when stdin closes may take to finish; 0 means 2.5 s,
	// because clients kill a server that does not end.
	Finish time.Duration
	// TaskAfter says how long a call is waited for before it becomes a task, for clients that take
	// tasks; 0 means 2 s.
	TaskAfter time.Duration
	// Log gets what clients do wrong; nil is silent.
	Log *slog.Logger
}

// Face serves a bridge over MCP. It is safe for concurrent use.
type Face struct {
	b        *bridge.Bridge
	o        Options
	log      *slog.Logger
	info     mcpgo.Implementation
	mode     toolset.Mode
	seal     *seal
	sessions *sessions
	card     *card

	mu     sync.Mutex
	lists  map[listKey]*list
	fading *time.Timer // drops outdated lists
	soon   bool        // it will in a second
	used   map[listKey]*used
}

// New makes the face of a bridge.
func New(b *bridge.Bridge, o Options) (*Face, error) {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.TaskAfter = cmp.Or(o.TaskAfter, defaultTaskAfter)
	s, err := newSeal(o.Key, func() string { return bridge.NodeOf(b) })
	if err != nil {
		return nil, err
	}
	mode, ok := toolset.ParseMode(o.Tools)
	if !ok {
		return nil, fmt.Errorf("invalid value %q for the tools of MCP: must be auto, direct, hybrid or meta", o.Tools)
	}
	if !slices.Contains([]string{"", "adapted", "faithful"}, o.Schemas) {
		return nil, fmt.Errorf("invalid value %q for the schemas of MCP: must be adapted or faithful", o.Schemas)
	}
	if !slices.Contains([]string{"", appsAuto, appsOn, appsOff}, o.Apps) {
		return nil, fmt.Errorf("invalid value %q for the apps of MCP: must be auto, on or off", o.Apps)
	}
	return &Face{
		b: b, o: o, log: o.Log, mode: mode, seal: s, card: newCard(s.cardKey, o.CardLink),
		info:     mcpgo.Implementation{Name: "pagetools", Version: cmp.Or(o.Version, "dev")},
		sessions: newSessions(s, o.Ended, o.Log), lists: map[listKey]*list{},
		used: map[listKey]*used{},
	}, nil
}

// Routes are the endpoints: one for all sites, and one for each.
func (f *Face) Routes() []transport.Route {
	methods := map[string]http.HandlerFunc{http.MethodPost: f.post, http.MethodGet: f.get,
		http.MethodDelete: f.delete}
	return []transport.Route{{Pattern: "/mcp", Methods: methods},
		{Pattern: "/mcp/{site}", Methods: methods}}
}

// modeOf returns what the caller of a scope sees of tools.
func (f *Face) modeOf(sc scope) toolset.Mode {
	if f.o.ToolsOf == nil {
		return f.mode
	}
	word := f.o.ToolsOf(sc.caller)
	if mode, ok := toolset.ParseMode(word); ok && word != "" {
		return mode
	}
	return f.mode
}

// scope limits an endpoint to the sites of one caller: all that it sees, or one.
type scope struct {
	caller  bridge.Caller
	site    string // empty: all
	session string // the caller's name for its state
}

// ref is the state of the caller, on the one site or on all.
func (sc scope) ref() bridge.Ref {
	return bridge.Ref{Site: sc.site, Session: sc.session, Caller: sc.caller}
}

// prefixed reports whether names begin with that of their site.
func (sc scope) prefixed(sites int) bool { return sc.site == "" && sites > 1 }

// defaultSession is the state of a caller that names none.
const defaultSession = bridge.Unnamed

// sites lists the sites of the scope.
func (f *Face) sites(sc scope) []bridge.Site {
	all := f.b.Sites(sc.caller)
	if sc.site == "" {
		return all
	}
	i := slices.IndexFunc(all, func(s bridge.Site) bool { return s.Name == sc.site })
	if i < 0 {
		return nil
	}
	return all[i : i+1]
}

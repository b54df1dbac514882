package console

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/transport"
)

// Options configures a Face.
type Options struct {
	// Done ends streams when it is closed; nil means never.
	Done <-chan struct{}
	// Peers finds the operators' sockets of the user's other processes, by a name that
	// each keeps; nil means that there are none. Their questions are listed, and answered, as
	// our own.
	Peers func() map[string]http.RoundTripper
	// Named takes the name of the operator from OperatorHeader: where only processes of
	// the user get through.
	Named bool
	// Node names this process in what it says, as Peers names it to the others.
	Node string
	// Links make addresses of the page that log in once; nil makes none.
	Links *Links
	// Start is the place in the page where somebody begins who comes without one, such as "/sites/shop"; ""
	// is the inbox.
	Start string
	// Version names the program's.
	Version string
	// Facts returns what is known of a site; nil knows nothing.
	Facts func(site string) SiteFacts
	// Callers returns the callers of the faces for agents, with their credentials; nil knows none.
	Callers func() []bridge.Caller
	// RuleAt returns the file and the line of an operator's rule, such as "pagetools.yaml:12", or "";
	// nil knows none.
	RuleAt func(site string, rule policy.Rule) string
	// Compare returns how the tools of one webtool document differ from those of another, by meaning;
	// nil finds no difference.
	Compare func(before, now json.RawMessage) ([]Change, error)
	// Scenario writes a call of a site as a file of the test kit; nil writes none. Its error says why there
	// is none, without a full stop.
	Scenario func(s bridge.Site, call bridge.Observed) ([]byte, error)
	// Pages tells of the browsers; nil knows none.
	Pages Pages
	// Audit reads the audit of the data folder; nil where there is none.
	Audit *Audit
	// Logins give out what links are good for; nil lets nobody in.
	Logins *Logins
	// Records remember calls; nil remembers only those that are made on the page.
	Records *Records
	// Traces records pages, and writes traces of calls; nil does neither.
	Traces Traces
	// Connections are the clients that people let in; nil means none.
	Connections Connections
	// Cluster returns the status of the cluster that this process is a node of, as JSON; nil where it is none.
	Cluster func(context.Context) any
	// Words words refusals for whoever may call again.
	Words text.Words
	// Log gets a line for each answer, with the name of its giver; nil is silent.
	Log *slog.Logger
}

// Face serves the operator's API of a bridge. It holds no state but what streams read.
type Face struct {
	b     *bridge.Bridge
	done  <-chan struct{}
	words text.Words
	peers func() map[string]http.RoundTripper
	named bool
	node  string
	links *Links

	version string
	start   string
	facts   func(string) SiteFacts
	callers func() []bridge.Caller
	ruleAt  func(string, policy.Rule) string
	pages   Pages
	traces  Traces
	hub     *hub
	records *Records

	compare  func(before, now json.RawMessage) ([]Change, error)
	scenario func(bridge.Site, bridge.Observed) ([]byte, error)
	audit    *Audit
	auditing auditing

	logins      *Logins
	connections Connections
	cluster     func(context.Context) any

	log *slog.Logger
}

// New makes the face of a bridge.
func New(b *bridge.Bridge, o Options) *Face {
	f := &Face{b: b, done: o.Done, version: o.Version, start: o.Start, facts: o.Facts, peers: o.Peers, named: o.Named, words: o.Words,
		pages: o.Pages, traces: o.Traces, compare: o.Compare, scenario: o.Scenario, audit: o.Audit, callers: o.Callers, ruleAt: o.RuleAt, node: o.Node, logins: o.Logins, links: cmp.Or(o.Links, &Links{}), connections: o.Connections, cluster: o.Cluster, log: cmp.Or(o.Log, slog.New(slog.DiscardHandler))}
	if f.callers == nil {
		f.callers = func() []bridge.Caller { return nil }
	}
	f.hub, f.records = &hub{face: f}, cmp.Or(o.Records, &Records{})
	f.records.of(o.Pages)
	return f
}

// operation serves a caller that has the right for it.
type operation func(http.ResponseWriter, *http.Request, bridge.Caller)

// refusals say which right is missing.
var refusals = map[bridge.Right]string{
	bridge.MayAnswer: "This credential may not answer questions.",
	bridge.MayView:   "This credential may not see what operators see: it lacks the right view.",
	bridge.MayCall:   "This credential may not run tools: it lacks the right call.",
}

// operating serves a caller that may see and answer questions, and refuses others.
func (f *Face) operating(serve operation) http.HandlerFunc { return f.with(bridge.MayAnswer, serve) }

// viewing serves a caller that may see what operators see, and refuses others.
func (f *Face) viewing(serve operation) http.HandlerFunc { return f.with(bridge.MayView, serve) }

func (f *Face) with(right bridge.Right, serve operation) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if c := transport.CallerOf(r.Context()); may(w, r, c, right) {
			serve(w, r, f.operatorName(r, c))
		}
	}
}

// may reports whether a caller has a right, and refuses it where not.
func may(w http.ResponseWriter, r *http.Request, c bridge.Caller, right bridge.Right) bool {
	if c.Can(right) {
		return true
	}
	transport.WriteError(w, r, bridge.Errorf(bridge.Forbidden, "", bridge.NotRun, "%s", refusals[right]).Detail("right", string(right)))
	return false
}

// OperatorHeader names the operator in a request that a process passes on to another one
// of its user.
const OperatorHeader = "Pagetools-Operator"

// loginHeader has the ID of that operator's login, where they came by a link.
const loginHeader = "Pagetools-Login"

// operatorName returns the caller who answers: on a socket, with the name from the process at its
// other end.
func (f *Face) operatorName(r *http.Request, c bridge.Caller) bridge.Caller {
	if name := strings.TrimSpace(r.Header.Get(OperatorHeader)); f.named && name != "" {
		c.Name = name
		if login := r.Header.Get(loginHeader); login != "" {
			c.Credential = loginPrefix + login
		}
	}
	return c
}

// mayLookElsewhere reports whether the caller sees the questions of other processes: names
// of sites mean something in one process only.
func (f *Face) mayLookElsewhere(c bridge.Caller) bool { return f.peers != nil && c.Sites == nil }

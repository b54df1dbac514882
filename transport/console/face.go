package console

import (
	"cmp"
	"log/slog"
	"net/http"
	"strings"

	"github.com/pagetools/pagetools/bridge"
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
	// Links make addresses of the page that log in once; nil makes none.
	Links *Links
	// Connections are the clients that people let in; nil means none.
	Connections Connections
	// Words words refusals for whoever may call again.
	Words text.Words
	// Log gets a line for each answer, with the name of its giver; nil is silent.
	Log *slog.Logger
}

// Face serves the operator's API of a bridge. It holds no state.
type Face struct {
	b     *bridge.Bridge
	done  <-chan struct{}
	words text.Words
	peers func() map[string]http.RoundTripper
	named bool
	links *Links

	connections Connections

	log *slog.Logger
}

// New makes the face of a bridge.
func New(b *bridge.Bridge, o Options) *Face {
	return &Face{b: b, done: o.Done, peers: o.Peers, named: o.Named, words: o.Words,
		links: cmp.Or(o.Links, &Links{}), connections: o.Connections, log: cmp.Or(o.Log, slog.New(slog.DiscardHandler))}
}

// operating serves a caller that may see and answer questions, and refuses others.
func (f *Face) operating(
	serve func(http.ResponseWriter, *http.Request, bridge.Caller)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c := transport.CallerOf(r.Context())
		if !c.Can(bridge.MayAnswer) {
			transport.WriteError(w, r, bridge.Errorf(bridge.Forbidden, "", bridge.NotRun,
				"This credential may not answer questions."))
			return
		}
		serve(w, r, f.operatorName(r, c))
	}
}

// OperatorHeader names the operator in a request that a process passes on to another one
// of its user.
const OperatorHeader = "Pagetools-Operator"

// operatorName returns the caller who answers: on a socket, with the name from the process at its
// other end.
func (f *Face) operatorName(r *http.Request, c bridge.Caller) bridge.Caller {
	if name := strings.TrimSpace(r.Header.Get(OperatorHeader)); f.named && name != "" {
		c.Name = name
	}
	return c
}

// mayLookElsewhere reports whether the caller sees the questions of other processes: names
// of sites mean something in one process only.
func (f *Face) mayLookElsewhere(c bridge.Caller) bool { return f.peers != nil && c.Sites == nil }

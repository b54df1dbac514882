package bridge

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"strings"
	"time"
)

// Unnamed is the session of a client that names none and has a page all the same. Each process has
// its own.
const Unnamed = "mcp"

// Home returns the name of the session where one process of the data folder has it: a caller with a
// credential named it.
func (r Ref) Home() (name SessionName, ok bool) {
	return SessionName{Caller: r.Caller.Name, Site: r.Site, ID: r.Session},
		r.Caller.Credential != "" && r.Session != "" && r.Session != Unnamed
}

// Routed reports whether requests reach the home of their session, whichever process they come to:
// these homes have a method Routed that says so.
func Routed(h Homes) bool {
	is, ok := h.(interface{ Routed() bool })
	return ok && is.Routed()
}

// HomeIn returns the name of the session of ref where one process has it, as Ref.Home does. Where requests
// are routed, the sessions of clients that name none have a home, too; nil has none.
func HomeIn(h Homes, ref Ref) (name SessionName, ok bool) {
	if h == nil {
		return name, false
	}
	if Routed(h) && ref.Session == Unnamed {
		return SessionName{Caller: ref.Caller.Name, Site: ref.Site, ID: ref.Session}, ref.Caller.Credential != ""
	}
	return ref.Home()
}

// elsewhere refuses a call whose session another process has. The store is asked where this process
// has no page of it.
func (pl *pipeline) elsewhere(ctx context.Context, ref Ref) *Error {
	name, ok := HomeIn(pl.memory.Homes, ref)
	if !ok || pl.router.Shows(ref) != nil {
		return nil
	}
	switch is, err := pl.memory.Homes.Elsewhere(ctx, name); {
	case err != nil:
		return NoHome(name, err)
	case is:
		return NoHome(name, ErrElsewhere)
	}
	return nil
}

// NoHome is the error of a call whose session could not be opened in this process: another one has
// it, or the store of homes fails, so that nobody knows.
func NoHome(name SessionName, err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if errors.Is(err, ErrElsewhere) {
		return Errorf(Conflict, Elsewhere, NotRun, "Another pagetools process with this data folder has the session %q. Nothing ran. "+
			"Send all calls of a session to the same process, or use another session.", name.ID).With(err)
	}
	return notKept("It cannot be found out whether another process has this session. Nothing ran.", err)
}

// freeTime bounds how long it may take to free a session.
const freeTime = 10 * time.Second

// Free lets other processes have the session of an epoch that Homes.Open returned. Where that
// fails, they have it when this process has ended, and the log says so.
func Free(h Homes, epoch int64, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), freeTime)
	defer cancel()
	if err := h.Close(ctx, epoch); err != nil {
		log.Warn("other processes cannot have a session until this one ends", slog.Any("error", err))
	}
}

const (
	// homeLength is the length of Homes.Here and of Options.Node, tokenLength that of a token.
	homeLength  = 8
	tokenLength = homeLength + 26
	// tokenAlphabet has the letters of tokens, which crypto/rand makes, too.
	tokenAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
)

// names makes the names of what only this process can go on with.
type names struct {
	node func() string // nil: there is no cluster
	home string        // then it begins tokens
	lost func(node string) bool
	// holds and held are Options.Holds and Options.While.
	holds func() bool
	held  func(context.Context) (context.Context, context.CancelFunc)
}

// newNames names a process that shares its data folder with none, and is no node, at random.
func newNames(m *Memory, o *Options) names {
	switch {
	case o.Node != nil:
		return names{node: o.Node, lost: o.Lost, holds: o.Holds, held: o.While}
	case m.Homes != nil:
		return names{home: m.Homes.Here()}
	}
	return names{home: rand.Text()[:homeLength]}
}

// prefix returns the name of this node; "" outside of a cluster.
func (n names) prefix() string {
	if n.node == nil {
		return ""
	}
	return n.node()
}

// here returns what begins tokens.
func (n names) here() string { return n.prefix() + n.home }

// name makes a name which, in a cluster, begins with that of this node.
func (n names) name() string { return n.prefix() + rand.Text() }

// token makes a token, which begins with the name of this process.
func (n names) token() string { return n.here() + rand.Text() }

// isToken reports whether a text has the form of a token.
func isToken(s string) bool { return len(s) == tokenLength && strings.Trim(s, tokenAlphabet) == "" }

// NodeOf returns the name of this process among the nodes of a cluster, as Options.Node has it now;
// "" where there is none.
func NodeOf(b *Bridge) string { return b.pipe.names.prefix() }

// lost is the error of a token under which no call of the caller waits here.
func (b *Bridge) lost(token string) *Error {
	switch {
	case !isToken(token):
		return Errorf(ResumeNotFound, "", NotRun,
			"This is not the token of a call: send the one that details.resume has, whole.")
	case b.pipe.names.lost != nil && b.pipe.names.lost(token[:homeLength]):
		return LostNode()
	case b.livesElsewhere(token[:homeLength]):
		return Errorf(Conflict, Elsewhere, Unknown,
			"Another pagetools process with this data folder has the call of this token. "+
				"Send the token there. The call waits, runs or has run: made once more, it runs twice.")
	}
	return Errorf(ResumeNotFound, "", Unknown,
		"No call of yours is kept under this token: its outcome was told, it is too old, or its process has ended. "+
			"The call may have run: look at the page before you make it again.")
}

// QuorumRetry says when a client tries again after NO_QUORUM: by then a node that ended is known to have
// ended, or the engine has another leader.
const QuorumRetry = 2 * time.Second

// fenced refuses a call that another process may take over by now.
func (n names) fenced(c *Call) *Error {
	if !c.isFenced() || n.holds == nil || n.holds() {
		return nil
	}
	e := Errorf(InternalError, NoQuorum, NotRun, "This node of pagetools cannot renew its lease, and another one may have this call or its session. Nothing ran.")
	e.Retry = QuorumRetry
	return e
}

// while returns a context that ends when fenced refuses the call. Whoever has it calls end.
func (n names) while(ctx context.Context, c *Call) (_ context.Context, end context.CancelFunc) {
	if n.held == nil || !c.isFenced() {
		return ctx, func() {}
	}
	return n.held(ctx)
}

// isFenced reports whether another process may take over the call: it is one of a session, or one that another node
// passed on.
func (c *Call) isFenced() bool { return c.Session != "" || c.ticket != nil }

// LostNode is the error of what only a node could go on with that has ended.
func LostNode() *Error {
	return Errorf(InternalError, NodeLost, Unknown,
		"The node of pagetools that had this call has ended. The call may have run: look at the page before you make it again.")
}

type endKey struct{}

// WithEnd returns a context with which every call ends with e, before anything else: it was another
// node's, which has ended or does not answer. Transports write it in their own form.
func WithEnd(ctx context.Context, e *Error) context.Context {
	return context.WithValue(ctx, endKey{}, e)
}

// endIn returns the error that a call with this context ends with; nil is none.
func endIn(ctx context.Context) *Error {
	e, _ := ctx.Value(endKey{}).(*Error)
	return e
}

type ticketKey struct{}

// WithTicket returns a context of a request that another node passed on. begin is asked before any of
// its calls runs, or is answered with the outcome of one that did: that node takes it elsewhere unless it
// was asked. It may be asked several times, and its error ends the call.
func WithTicket(ctx context.Context, begin func(context.Context) *Error) context.Context {
	return context.WithValue(ctx, ticketKey{}, begin)
}

type movedKey struct{}

// WithMoved returns a context of a request with one call. moved is called when another process has the
// session of the call, before its run ends: nothing ran, and the request may be passed on there.
func WithMoved(ctx context.Context, moved func()) context.Context {
	return context.WithValue(ctx, movedKey{}, moved)
}

// ticketed notes the ticket of a call that begins with this context. What is more than one call, goes on
// without its caller or may be another run than this asks for it now.
func ticketed(ctx context.Context, in *Call) (*Call, *Error) {
	begin, _ := ctx.Value(ticketKey{}).(func(context.Context) *Error)
	moved, _ := ctx.Value(movedKey{}).(func())
	if begin == nil && moved == nil {
		return in, nil
	}
	out := *in
	if out.ticket = begin; in.Steps == nil {
		out.moved = moved
	}
	if begin == nil {
		return &out, nil
	}
	if in.Again || in.Key != "" || in.Detached || in.Steps != nil {
		return &out, begin(ctx)
	}
	return &out, nil
}

// livesElsewhere reports whether another process of the data folder has that name, and lives.
func (b *Bridge) livesElsewhere(home string) bool {
	homes := b.pipe.memory.Homes
	return homes != nil && home != b.pipe.names.here() && homes.Lives(home)
}

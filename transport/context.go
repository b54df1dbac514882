package transport

import (
	"cmp"
	"context"
	"net/http"
	"regexp"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// info holds the results of the guards for a request. It belongs to the goroutine that serves the
// request.
type info struct {
	id          string // ours, and of the call
	given       string // the client's own id, which only correlates; "" without one
	caller      bridge.Caller
	credentials bool // the listener has callers
	started     time.Time
	err         *bridge.Error // what the reply said
	gaveUp      bool
	jsonRPC     bool // errors have the form of JSON-RPC
	public      string
}

type infoKey struct{}

func infoOf(ctx context.Context) *info {
	in, _ := ctx.Value(infoKey{}).(*info)
	return in
}

// nobody returns a caller without rights, who sees no site.
func nobody() bridge.Caller { return bridge.Caller{Sites: []string{}} }

// CallerOf returns the caller that the guards found. Without guards, and on the
// paths that are open to everybody, it is a caller without rights.
func CallerOf(ctx context.Context) bridge.Caller {
	if in := infoOf(ctx); in != nil {
		return in.caller
	}
	return nobody()
}

// RequestID returns the id of the request, or "". It is ours: a client cannot choose it, nor
// make two requests have the same.
func RequestID(ctx context.Context) string {
	if in := infoOf(ctx); in != nil {
		return in.id
	}
	return ""
}

// HasCredentials reports whether the listener knows callers, so that its
// replies are not for everybody.
func HasCredentials(ctx context.Context) bool {
	in := infoOf(ctx)
	return in != nil && in.credentials
}

var saneID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// givenID returns the client's own id of a request when it can do no harm in a log.
func givenID(r *http.Request) string {
	if given := r.Header["X-Request-Id"]; len(given) == 1 && saneID.MatchString(given[0]) {
		return given[0]
	}
	return ""
}

// Deliver has a call's outcome written, and tells the bridge whether the client got it: after an
// error, the client may come back for it. failed is the call's own error.
func Deliver(w http.ResponseWriter, r *http.Request, run *bridge.Run, failed *bridge.Error,
	write func()) {
	_ = run.Deliver(func() error {
		gone := r.Context().Err() // before: who has read the reply may leave
		if failed != nil && gone != nil {
			Abandon(r, failed)
		}
		write()
		if run.Token() == "" {
			return nil
		}
		return cmp.Or(http.NewResponseController(w).Flush(), gone)
	})
}

// Abandon ends a request whose client is gone: nothing is written, and the log
// says 499. It does not return.
func Abandon(r *http.Request, e *bridge.Error) {
	if in := infoOf(r.Context()); in != nil {
		in.err, in.gaveUp = e, true
	}
	panic(http.ErrAbortHandler)
}

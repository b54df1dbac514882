package cdp

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/chromedp/cdproto"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp/wire"
)

// gone says that a registration is not there any more, and that nothing ran.
func gone() *bridge.Error {
	return bridge.Errorf(bridge.WebtoolNotFound, "", bridge.NotRun, "The page does not offer this tool any more.").With(session.ErrGone)
}

// Why we end a session ourselves.
var (
	errKilled = errors.New("the page did not give in to a deadline")
	errOurs   = errors.New("closed by us")
)

// goneError gives the death of a target as the outcome of who used it.
func goneError(reason error, o bridge.Outcome) *bridge.Error {
	e := bridge.Errorf(bridge.InternalError, bridge.PageCrashed, o, "The page crashed.").With(reason)
	switch {
	case errors.Is(reason, wire.ErrLost):
		e.Reason, e.Message = bridge.BrowserLost, "The browser was lost."
	case errors.Is(reason, errOurs):
		e.Reason, e.Message = bridge.Draining, "pagetools closed the page."
	case errors.Is(reason, wire.ErrClosed):
		e.Message = "The page closed itself."
	case errors.Is(reason, wire.ErrFlood):
		e.Message = "The page floods its channel and was closed."
	case errors.Is(reason, errKilled):
		e.Message = "The page did not react any more and was closed."
	}
	return e
}

// commitPatience is how long a navigation or a crash may take to be reported
// after it failed an evaluation.
const commitPatience = 300 * time.Millisecond

// lostDocument explains an evaluation that the browser failed: its document
// went away, or its renderer did. Chromium uses the same words for both, so the
// event that follows decides.
func (t *tab) lostDocument(ctx context.Context, d *document, cause *cdproto.Error) *bridge.Error {
	if strings.Contains(cause.Message, "terminated") { // another call's deadline passed while the page was spinning
		return bridge.Errorf(bridge.InternalError, bridge.Timeout, bridge.Unknown, "The page did not react and was interrupted during the call.").With(cause)
	}
	if strings.Contains(cause.Message, "Cannot find") { // no context to run in: it was never dispatched
		e := gone()
		e.Err = errors.Join(e.Err, cause)
		return e
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitPatience)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for t.document(d.id) == d {
		select {
		case <-d.target.Gone():
			return t.lost(d, bridge.Unknown)
		case <-bounded.Done():
			return navigatedError(cause)
		case <-tick.C:
		}
	}
	return navigatedError(cause)
}

func navigatedError(cause error) *bridge.Error {
	return bridge.Errorf(bridge.InternalError, bridge.PageNavigated, bridge.Unknown, "The page navigated away during the call.").With(cause)
}

// loadError turns Chromium's error of a navigation into a code.
func loadError(text string) *bridge.Error {
	name := strings.TrimPrefix(text, "net::")
	reason, say := bridge.Unreachable, "The site cannot be reached"
	switch {
	case strings.HasPrefix(name, "ERR_CERT_"), strings.HasPrefix(name, "ERR_SSL_"), name == "ERR_BAD_SSL_CLIENT_AUTH_CERT":
		reason, say = bridge.Certificate, "The site's certificate is not accepted"
	case name == "ERR_TOO_MANY_REDIRECTS":
		say = "The site redirects without end"
	case strings.HasPrefix(name, "ERR_BLOCKED_BY_"), name == "ERR_ACCESS_DENIED", name == "ERR_UNSAFE_PORT", name == "ERR_TUNNEL_CONNECTION_FAILED":
		reason, say = bridge.OriginBlocked, "The address is blocked"
	case name == "ERR_NAME_NOT_RESOLVED":
		say = "The site's name cannot be resolved"
	case name == "ERR_CONNECTION_REFUSED":
		say = "The site refuses the connection"
	case name == "ERR_INVALID_AUTH_CREDENTIALS":
		say = "The site asks for a login"
	case name == "ERR_ABORTED":
		say = "The site sent no page"
	}
	return bridge.Errorf(bridge.InternalError, reason, bridge.NotRun, "%s (%s).", say, name)
}

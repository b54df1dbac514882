package cdp

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp/wire"
)

// gone says that a registration is not there any more, and that nothing ran.
func gone() *bridge.Error {
	return bridge.Errorf(bridge.WebtoolNotFound, "", bridge.NotRun,
		"The page does not offer this tool any more.").With(session.ErrGone)
}

// Why we end a session ourselves.
var (
	errKilled = errors.New("the page did not give in to a deadline")
	errOurs   = errors.New("closed by us")
	errLeft   = errors.New("the tab shows another site, and was left to its person")
)

// goneError turns why a session ended into the outcome of a call that used it.
func goneError(reason error, o bridge.Outcome) *bridge.Error {
	e := bridge.Errorf(bridge.InternalError, bridge.PageCrashed, o,
		"The page crashed.").With(reason)
	switch {
	case errors.Is(reason, wire.ErrLost):
		e.Reason, e.Message = bridge.BrowserLost, "The browser was lost."
	case errors.Is(reason, errOurs):
		e.Reason, e.Message = bridge.Draining, "pagetools closed the page."
	case errors.Is(reason, errLeft):
		e.Reason, e.Message = bridge.PageNavigated, "The browser's person went to another site in this tab."
	case errors.Is(reason, wire.ErrClosed):
		e.Message = "The page closed itself."
	case errors.Is(reason, wire.ErrFlood):
		e.Message = "The page floods its channel and was closed."
	case errors.Is(reason, errKilled):
		e.Message = "The page did not react any more and was closed."
	}
	return e
}

func navigatedError(cause error) *bridge.Error {
	return bridge.Errorf(bridge.InternalError, bridge.PageNavigated, bridge.Unknown,
		"The page navigated away during the call.").With(cause)
}

// loadError turns Chromium's error of a navigation to an address into a code. It names the
// origin: what follows may be secret.
func loadError(text, address string) *bridge.Error {
	name := strings.TrimPrefix(text, "net::")
	reason, say := bridge.Unreachable, "the site cannot be reached"
	switch {
	case strings.HasPrefix(name, "ERR_CERT_"):
		reason, say = bridge.Certificate, "the site's certificate is not accepted"
	case strings.Contains(name, "SSL_CLIENT_AUTH"):
		say = "the site asks the browser for a certificate"
	case name == "ERR_SSL_PROTOCOL_ERROR": // of all that is not TLS, too
		say = "the site does not speak https on this port; maybe it speaks http"
	case strings.HasPrefix(name, "ERR_SSL_"):
		say = "the site and the browser agree on no way to speak https"
	case name == "ERR_TOO_MANY_REDIRECTS":
		say = "the site redirects without end"
	case strings.HasPrefix(name, "ERR_BLOCKED_BY_"), name == "ERR_ACCESS_DENIED",
		name == tunnelFailed:
		reason, say = bridge.OriginBlocked, "the address is blocked"
	case name == "ERR_PROXY_CONNECTION_FAILED":
		say = "the browser does not reach the proxy through which pagetools lets its pages out"
	case name == "ERR_UNSAFE_PORT":
		reason, say = bridge.OriginBlocked, "browsers never open this port, which other protocols use; serve the site on another one"
	case name == "ERR_NAME_NOT_RESOLVED":
		say = "the site's name cannot be resolved"
	case name == "ERR_CONNECTION_REFUSED":
		say = "the site refuses the connection"
	case name == "ERR_INVALID_AUTH_CREDENTIALS":
		say = "the site asks for a login"
	case name == "ERR_ABORTED":
		say = "the site sent no page"
	}
	return bridge.Errorf(bridge.InternalError, reason, bridge.NotRun,
		"%s cannot be opened: %s (%s).", cmp.Or(origin.Of(address), "The page"), say, name)
}

// late returns the outcome of work before a call whose context ended.
func late(ctx context.Context, text string) *bridge.Error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return bridge.Errorf(bridge.InternalError, bridge.Timeout, bridge.NotRun,
			"%s", text).With(context.Cause(ctx))
	}
	return bridge.GaveUp(bridge.NotRun).With(context.Cause(ctx))
}

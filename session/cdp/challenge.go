package cdp

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"

	"github.com/pagetools/pagetools/session/cdp/wire"
)

// challenged notices that a site asks the browser for a login (RFC 9110, 11.6.1). A whole
// browser without a person fails then; the headless shell shows the text of the response as
// if it were the page.
type challenged struct{ yes atomic.Bool }

// errChallenge is how a whole browser names it.
const errChallenge = "net::ERR_INVALID_AUTH_CREDENTIALS"

// answered lets the response of a document go on, unless it is a challenge of the page.
func (c *challenged) answered(o *owner, from *wire.Session, ev *fetch.EventRequestPaused) {
	if ofTop(o.frames, ev) && ev.FrameID == o.frames.top.id && isChallenge(ev) {
		c.yes.Store(true)
		_, _ = from.Send(context.Background(), fetch.CommandFailRequest,
			fetch.FailRequestParams{RequestID: ev.RequestID, ErrorReason: network.ErrorReasonFailed})
		return
	}
	_, _ = from.Send(context.Background(), fetch.CommandContinueRequest,
		fetch.ContinueRequestParams{RequestID: ev.RequestID})
}

// isChallenge reports whether a response asks for a login in a way that browsers know by
// themselves.
func isChallenge(ev *fetch.EventRequestPaused) bool {
	if ev.ResponseStatusCode != http.StatusUnauthorized {
		return false
	}
	for _, h := range ev.ResponseHeaders {
		if !strings.EqualFold(h.Name, "WWW-Authenticate") {
			continue
		}
		for line := range strings.SplitSeq(h.Value, "\n") { // Chromium looks at the first of each
			scheme, _, _ := strings.Cut(strings.TrimSpace(line), " ")
			switch strings.ToLower(scheme) {
			case "basic", "digest", "ntlm":
				return true
			}
		}
	}
	return false
}

// navigate sends the page to an address, and returns when the document is committed. In a
// headless shell the responses of documents wait for us meanwhile.
func (t *tab) navigate(ctx context.Context, address string) (page.NavigateResult, error) {
	var res page.NavigateResult
	params := page.NavigateParams{URL: address}
	if !t.browser.isShell() {
		err := t.target.Call(ctx, page.CommandNavigate, params, &res)
		return res, err
	}
	t.owner.challenged.yes.Store(false)
	wait := t.owner.setup.settings.intercept(&fetch.RequestPattern{
		ResourceType: network.ResourceTypeDocument, RequestStage: fetch.RequestStageResponse})
	_, _ = t.target.Send(ctx, wait.method, wait.params) // a target that is gone fails what follows
	err := t.target.Call(ctx, page.CommandNavigate, params, &res)
	bounded, cancel := farewell()
	defer cancel()
	usual := t.owner.setup.settings.intercept()
	_, _ = t.target.Send(bounded, usual.method, usual.params)
	if err == nil && t.owner.challenged.yes.Load() {
		res.ErrorText = errChallenge
	}
	return res, err
}

package cdp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	cdptarget "github.com/chromedp/cdproto/target"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp/wire"
	"github.com/pagetools/pagetools/session/egress"
)

// reaching limits what a page may reach in the network, and records what became of its
// navigations. The proxy judges the addresses of all connections; which origins the top of
// the page and its windows may show is judged here, before each request and each redirect.
// It is safe for concurrent use.
type reaching struct {
	reach *policy.Reach // nil: the page may show anything
	grant *egress.Grant // nil: the browser has no proxy of ours
	end   func()        // takes the credential back
	ours  bool          // we started the browser
	// attended is true when somebody can log in at the browser's windows, and silent when the
	// browser tells nobody that a site asks for a login.
	attended, silent bool
	words            text.Words            // for whoever chose what it may reach
	refuse           func(session.Refused) // reports it; the owner calls it
	between          *between              // nil: nobody stands between the page and the network
	leave            func()                // leaves a tab to its person, who goes elsewhere in it; nil: the tab is ours
	// coming is true from the request for a document at the top until that is there, and early
	// holds what was refused meanwhile: the proxy may hear of a document's requests before we hear
	// of the document. Only the owner uses them.
	coming bool
	early  []session.Refused

	mu      sync.Mutex
	last    string          // address of the last navigation at the top
	refused bool            // that navigation was
	asked   bool            // that navigation met a site that asks for a login
	shown   fetch.RequestID // the last request for which the credential was shown
}

// intercept makes requests wait for us: those to the site's origin where the settings add
// headers, those for documents where somebody judges them, and all where somebody stands between
// the page and the network. It is nil where nothing waits.
func (n *reaching) intercept(s *settings) []wire.Command {
	var patterns []*fetch.RequestPattern
	switch {
	case n.between != nil:
		patterns = append(patterns, &fetch.RequestPattern{URLPattern: "*"})
	case s != nil && s.headers != nil:
		patterns = append(patterns, &fetch.RequestPattern{URLPattern: s.origin + "/*"})
	}
	logsIn := n.ours || n.grant != nil
	if n.reach != nil || logsIn {
		patterns = append(patterns, &fetch.RequestPattern{ResourceType: network.ResourceTypeDocument})
	}
	if n.silent {
		patterns = append(patterns, &fetch.RequestPattern{ResourceType: network.ResourceTypeDocument, RequestStage: fetch.RequestStageResponse})
	}
	if n.grant != nil {
		patterns = append(patterns, &fetch.RequestPattern{URLPattern: egress.Home + "*", RequestStage: fetch.RequestStageResponse})
	}
	if patterns == nil {
		return nil
	}
	return []wire.Command{{Method: fetch.CommandEnable, Params: fetch.EnableParams{Patterns: patterns, HandleAuthRequests: &logsIn}}}
}

// begins forgets the navigation before ours.
func (n *reaching) begins(address string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last, n.refused, n.asked = address, false, false
}

// mayShow decides about a navigation of the page or of a window of it.
func (n *reaching) mayShow(address string, top bool) bool {
	ok := n.reach == nil || address == egress.Home && n.grant != nil || n.reach.Navigates(address)
	if top && address != egress.Home {
		n.mu.Lock()
		n.last, n.refused = address, !ok
		n.mu.Unlock()
	}
	return ok
}

// requestPaused judges a request for a document at the top, and lets all others go on.
func (n *reaching) requestPaused(o *owner, from *wire.Session, msg *cdproto.Message) {
	ev, ok := wire.Decode[fetch.EventRequestPaused](msg)
	if !ok || ev.Request == nil {
		return
	}
	came := ev.ResponseStatusCode != 0 || ev.ResponseErrorReason != ""
	if came && ev.Request.URL == egress.Home && ev.ResponseStatusCode != http.StatusNoContent {
		fail(from, ev.RequestID, network.ErrorReasonAborted) // or an error takes the place of the page
		go n.logInAgain(from)                                // ends with the page
		return
	}
	if came {
		if n.documentCame(o, &ev); n.between != nil {
			go n.between.answered(from, &ev) // ends with the response, or with the page
		} else {
			goOn(from, ev.RequestID)
		}
		return
	}
	if ofTop(o.frames, &ev) && !n.mayShow(ev.Request.URL, o.frames.all[ev.FrameID] == o.frames.top) {
		if n.leave != nil {
			n.leave() // which lets the request go on
			return
		}
		// With any other reason than this an error takes the place of the page.
		fail(from, ev.RequestID, network.ErrorReasonAborted)
		n.refuse(session.Refused{URL: ev.Request.URL, Why: n.notShown(origin.Of(ev.Request.URL))})
		return
	}
	if ev.ResourceType == network.ResourceTypeDocument && o.frames.all[ev.FrameID] == o.frames.top {
		n.coming, n.early = true, nil
		if n.grant != nil {
			n.grant.Anew()
		}
	}
	if n.between == nil || !n.between.settles(from, &ev) {
		o.setup.settings.requestPaused(o, from, &ev, n.between.watches(from, &ev))
	}
}

// keptOut reports what the proxy kept the page from.
func (n *reaching) keptOut(r session.Refused) {
	if n.coming && len(n.early) < maxAhead {
		n.early = append(n.early, r)
	}
	n.refuse(r)
}

// came reports anew, of a document that is there now, what it was kept from before.
func (n *reaching) came() {
	for _, r := range n.early {
		n.refuse(r)
	}
	n.coming, n.early = false, nil
}

// maxAhead bounds what is reported anew of a document.
const maxAhead = 16

// authRequired shows the credential to our proxy. A credential that was not taken is not shown
// again: then the page is about to close. A site that asks for a login cannot be opened: one kind
// of browser would fail, and the other take the text of the response for the page. Where nobody
// can log in, the response is shown: it may answer a form.
func (n *reaching) authRequired(o *owner, from *wire.Session, msg *cdproto.Message) {
	ev, ok := wire.Decode[fetch.EventAuthRequired](msg)
	if !ok || ev.AuthChallenge == nil {
		return
	}
	answer := &fetch.AuthChallengeResponse{Response: fetch.AuthChallengeResponseResponseDefault}
	n.mu.Lock()
	switch {
	case ev.AuthChallenge.Source != fetch.AuthChallengeSourceProxy && n.attended: // a person may log in
	case ev.AuthChallenge.Source != fetch.AuthChallengeSourceProxy:
		n.asked = n.asked || ev.ResourceType == network.ResourceTypeDocument && ev.FrameID == o.frames.top.id
		answer.Response = fetch.AuthChallengeResponseResponseCancelAuth
	case n.grant == nil || n.shown == ev.RequestID:
		answer.Response = fetch.AuthChallengeResponseResponseCancelAuth
	default:
		n.shown = ev.RequestID
		answer.Response = fetch.AuthChallengeResponseResponseProvideCredentials
		answer.Username, answer.Password = n.grant.Login()
	}
	n.mu.Unlock()
	_, _ = from.Send(context.Background(), fetch.CommandContinueWithAuth,
		fetch.ContinueWithAuthParams{RequestID: ev.RequestID, AuthChallengeResponse: answer})
}

// documentCame notes that a site asks for a login with the document at the top, where the browser
// does not say so.
func (n *reaching) documentCame(o *owner, ev *fetch.EventRequestPaused) {
	if ev.ResponseStatusCode != http.StatusUnauthorized || ev.FrameID != o.frames.top.id {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, h := range ev.ResponseHeaders {
		scheme, _, _ := strings.Cut(strings.TrimSpace(h.Value), " ")
		n.asked = n.asked || strings.EqualFold(h.Name, "WWW-Authenticate") && logins[strings.ToLower(scheme)]
	}
}

// logins are the schemes for which browsers ask a person.
var logins = map[string]bool{"basic": true, "digest": true, "ntlm": true, "negotiate": true}

// logIn makes a browser that forgot the credential ask for it, and changes nothing in the page.
func (n *reaching) logIn(of *wire.Session) {
	if n.grant != nil {
		_, _ = of.Send(context.Background(), page.CommandNavigate, page.NavigateParams{URL: egress.Home})
	}
}

// logInAgain is logIn after one that failed.
func (n *reaching) logInAgain(of *wire.Session) {
	select {
	case <-time.After(time.Second):
		n.logIn(of)
	case <-of.Gone():
	}
}

// judge returns why a navigation of ours did not arrive; nil when it did. text is Chromium's
// error, "" without one. The proxy knows better than the browser, which only sees the proxy.
func (n *reaching) judge(text, address string) *bridge.Error {
	n.mu.Lock()
	last, refused, asked := n.last, n.refused, n.asked
	n.mu.Unlock()
	if refused {
		e := bridge.Errorf(bridge.InternalError, bridge.OriginBlocked, bridge.NotRun,
			"%s cannot be opened: it leads to %s. %s", origin.Of(address), origin.Of(last), n.notShown(origin.Of(last)))
		if origin.Same(address, last) {
			e.Message = origin.Of(address) + " cannot be opened. " + n.notShown(origin.Of(address))
		}
		return e
	}
	var failure error
	if n.grant != nil {
		failure = n.grant.Failure(hostPort(last))
	}
	denied, isDenied := errors.AsType[*egress.Refusal](failure)
	switch {
	case isDenied:
		return bridge.Errorf(bridge.InternalError, bridge.OriginBlocked, bridge.NotRun,
			"%s cannot be opened: %s.", origin.Of(last), denied.Error()).With(failure)
	case asked:
		return loadError("ERR_INVALID_AUTH_CREDENTIALS", last)
	case text == "":
		return nil
	case failure != nil:
		return loadError(netError(failure), last).With(failure)
	}
	e := loadError(text, last)
	if n.grant != nil && strings.HasSuffix(text, tunnelFailed) { // another process's proxy knows why
		e.Reason = bridge.Unreachable
		e.Message = fmt.Sprintf("%s cannot be opened: the proxy did not connect, because the site does not answer, or pages may not reach its address (%s).", origin.Of(last), tunnelFailed)
	}
	return e
}

// tunnelFailed is Chromium's name for a proxy that did not connect to a host.
const tunnelFailed = "ERR_TUNNEL_CONNECTION_FAILED"

// notShown says that an origin is not shown at the top of a page, and what to do.
func (n *reaching) notShown(origin string) string {
	if origin == "" {
		return "Pages show only http and https addresses."
	}
	return fmt.Sprintf("The page of a site shows only the site's own origin. Name that address as "+
		"the target, or "+n.words.Of("allow the origin %s")+".", origin)
}

// hostPort is host:port of an address.
func hostPort(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return net.JoinHostPort(origin.HostPort(u))
}

// netError is Chromium's name for why a connection of the proxy failed.
func netError(err error) string {
	var unresolved *net.DNSError
	var timeout net.Error
	switch {
	case errors.As(err, &unresolved):
		return "ERR_NAME_NOT_RESOLVED"
	case origin.IsRefused(err):
		return "ERR_CONNECTION_REFUSED"
	case origin.IsReset(err):
		return "ERR_CONNECTION_RESET"
	case origin.IsUnreachable(err):
		return "ERR_ADDRESS_UNREACHABLE"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "ERR_CONNECTION_TIMED_OUT"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "ERR_EMPTY_RESPONSE"
	case strings.Contains(err.Error(), "malformed HTTP"):
		return "ERR_INVALID_HTTP_RESPONSE"
	}
	return "ERR_CONNECTION_FAILED"
}

// between has a session.Network decide about the requests of a page. The owner asks, and
// goroutines of its own read the responses that are watched.
type between struct {
	network session.Network

	mu      sync.Mutex
	waiting map[exchangeKey]*session.Exchange // for their responses
}

// exchangeKey names a request: sessions number theirs alike.
type exchangeKey struct {
	session cdptarget.SessionID
	request fetch.RequestID
}

// settles asks about a request, and answers or refuses it. It reports whether that is all: else
// the request goes on.
func (b *between) settles(from *wire.Session, ev *fetch.EventRequestPaused) bool {
	x := exchangeOf(ev)
	switch b.network.Ask(x) {
	case session.Answer:
		fulfill(from, ev.RequestID, x)
	case session.Refuse:
		fail(from, ev.RequestID, network.ErrorReasonBlockedByClient)
	case session.Watch:
		b.mu.Lock()
		b.waiting[exchangeKey{from.ID(), ev.RequestID}] = x
		b.mu.Unlock()
		return false
	default:
		return false
	}
	return true
}

// watches points to true when the response of a request waits for us; nil leaves it alone.
func (b *between) watches(from *wire.Session, ev *fetch.EventRequestPaused) *bool {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	_, watched := b.waiting[exchangeKey{from.ID(), ev.RequestID}]
	return &watched
}

// fail ends a request without a response.
func fail(from *wire.Session, id fetch.RequestID, why network.ErrorReason) {
	_, _ = from.Send(context.Background(), fetch.CommandFailRequest,
		fetch.FailRequestParams{RequestID: id, ErrorReason: why})
}

// fulfill answers a request with the response of an exchange. One without a status failed.
func fulfill(from *wire.Session, id fetch.RequestID, x *session.Exchange) {
	if x.Status == 0 {
		fail(from, id, network.ErrorReasonFailed)
		return
	}
	params := fetch.FulfillRequestParams{RequestID: id, ResponseCode: int64(x.Status), Body: x.Content}
	if http.StatusText(x.Status) == "" {
		params.ResponsePhrase = x.StatusText
	}
	for name, values := range x.Answer {
		for _, value := range values {
			params.ResponseHeaders = append(params.ResponseHeaders,
				&fetch.HeaderEntry{Name: name, Value: value})
		}
	}
	_, _ = from.Send(context.Background(), fetch.CommandFulfillRequest, params)
}

// answered reports a response that waits for us, and lets it go on.
func (b *between) answered(from *wire.Session, ev *fetch.EventRequestPaused) {
	key := exchangeKey{from.ID(), ev.RequestID}
	b.mu.Lock()
	x := b.waiting[key]
	delete(b.waiting, key)
	b.mu.Unlock()
	if x != nil {
		b.report(from, ev, x)
	}
	goOn(from, ev.RequestID)
}

// goOn lets a request, or its response, go on.
func goOn(from *wire.Session, id fetch.RequestID) {
	_, _ = from.Send(context.Background(), fetch.CommandContinueRequest, fetch.ContinueRequestParams{RequestID: id})
}

// report reads the response of an exchange, and reports it.
func (b *between) report(from *wire.Session, ev *fetch.EventRequestPaused, x *session.Exchange) {
	x.Status, x.StatusText = int(ev.ResponseStatusCode), ev.ResponseStatusText
	x.Failed = string(ev.ResponseErrorReason)
	x.Answer = http.Header{}
	for _, h := range ev.ResponseHeaders {
		x.Answer.Add(h.Name, h.Value)
	}
	switch {
	case x.Status == 0 || x.Status >= 300 && x.Status < 400 || x.Method == http.MethodHead:
	case isEndless(ev, x) || declared(x.Answer) > session.MaxExchange:
		x.Cut = true
	default:
		body, err := cdp.Call(context.Background(), from, fetch.GetResponseBody,
			fetch.GetResponseBodyParams{RequestID: ev.RequestID})
		if x.Cut = err != nil || len(body.Body) > session.MaxExchange; !x.Cut {
			x.Content = body.Body
		}
	}
	b.network.Answered(x)
}

// isEndless reports whether a response may have no end: its body is not waited for.
func isEndless(ev *fetch.EventRequestPaused, x *session.Exchange) bool {
	kind, _, _ := strings.Cut(x.Answer.Get("Content-Type"), ";")
	return ev.ResourceType == network.ResourceTypeEventSource ||
		strings.EqualFold(strings.TrimSpace(kind), "text/event-stream")
}

// declared is the length of the body that a response declares; zero is none.
func declared(h http.Header) int64 {
	n, _ := strconv.ParseInt(h.Get("Content-Length"), 10, 64)
	return n
}

func exchangeOf(ev *fetch.EventRequestPaused) *session.Exchange {
	address, _, _ := strings.Cut(ev.Request.URL, "#")
	x := &session.Exchange{Began: time.Now(), Method: ev.Request.Method, URL: address,
		Header: http.Header{}}
	for name, value := range ev.Request.Headers {
		if text, ok := value.(string); ok {
			x.Header.Add(name, text)
		}
	}
	for _, part := range ev.Request.PostDataEntries {
		if part != nil {
			x.Body = append(x.Body, part.Bytes...)
		}
	}
	return x
}

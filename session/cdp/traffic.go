package cdp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"net/http"
	"slices"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/storage"

	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp/wire"
)

// request is a request of the page, and what became of it.
type request struct {
	id     network.RequestID
	frame  cdp.FrameID
	kind   network.ResourceType
	method string
	url    string
	body   string    // its digest; empty when it is not known
	began  int64     // events of the page until then
	asked  time.Time // when it began
	at     time.Time // when it began, was answered, failed, or a part of its answer came
	status int       // of HTTP; 0 until a response came
	ended  bool
	failed bool // no response came as a whole
	given  bool // up, by the page or by the browser
	wrote  bool // a request that may change something was redirected to it
}

// said is the text of a JavaScript alert.
type said struct {
	at   int64 // events of the page until then
	text string
}

// alert notes a JavaScript alert.
func (t *traffic) alert(words string) {
	if t.calls > 0 && len(t.said) < maxSent {
		t.said = append(t.said, said{t.frames.handled, text.Bytes(words, maxAlert)})
	}
}

// alerts returns the JavaScript alerts that came after so many events.
func (t *traffic) alerts(after int64) (all []string) {
	for _, s := range t.said {
		if s.at > after && s.text != "" {
			all = append(all, s.text)
		}
	}
	return all
}

// note notes that the page did something that neither its document nor its requests show.
func (t *traffic) note(what string) {
	if t.calls > 0 {
		t.did[what] = t.frames.handled
	}
}

// done returns what the page did so after so many events.
func (t *traffic) done(after int64) (all []string) {
	for _, what := range []string{doesStore, doesDownload, doesOpen} {
		if t.did[what] > after {
			all = append(all, what)
		}
	}
	return all
}

// What the page does besides, in the words of Page.Changed.
const doesStore, doesDownload, doesOpen = "storage", "download", "window"

// stores makes a target report when documents of the origin write to a database or a cache, or
// stop.
func stores(of *wire.Session, at string, on bool) {
	if at == "" || at == "null" {
		return
	}
	database, cache := storage.CommandUntrackIndexedDBForOrigin, storage.CommandUntrackCacheStorageForOrigin
	if on {
		database, cache = storage.CommandTrackIndexedDBForOrigin, storage.CommandTrackCacheStorageForOrigin
	}
	params := map[string]string{"origin": at}
	for _, method := range []string{database, cache} {
		_, _ = of.Send(context.Background(), method, params) // one that is gone reports nothing
	}
}

// maxRequests bounds the requests that are noted in a page, and maxAddress the bytes of an address.
const maxRequests, maxAddress, maxAlert, maxSentBody = 512, 2048, 1024, 64 << 10

// traffic notes the requests of a page for documents, and those of its scripts, while calls of
// forms are under way. Only then does the browser report them: a page can make any number of them.
// Only the owner uses it.
type traffic struct {
	frames *frames
	calls  int // that are under way
	all    []*request
	said   []said           // the alerts of the page
	did    map[string]int64 // what else the page did, by the word for it: events of the page until then
	wait   []chan struct{}  // for requests that may change something
}

// enable makes a target report its requests, with short bodies, and without those of answers.
func (*traffic) enable() wire.Command {
	none, short := int64(0), int64(maxSentBody)
	return wire.Command{Method: network.CommandEnable,
		Params: network.EnableParams{MaxTotalBufferSize: &none, MaxResourceBufferSize: &none, MaxPostDataSize: &short}}
}

// digest returns what a request sends, as a digest: the same for the same fields, although each
// multipart body has a boundary of its own. It is empty when the body is too long to be known.
func digest(r *network.Request) string {
	if r.HasPostData && len(r.PostDataEntries) == 0 {
		return ""
	}
	var body []byte
	for _, e := range r.PostDataEntries {
		body = append(body, e.Bytes...)
	}
	if boundary, _, ok := bytes.Cut(body, []byte("\r\n")); ok && bytes.HasPrefix(boundary, []byte("--")) {
		body = bytes.ReplaceAll(body, boundary, nil)
	}
	sum := sha256.Sum256(body)
	return string(sum[:])
}

// begin notes requests for one more call.
func (t *traffic) begin() {
	if t.calls++; t.calls == 1 {
		command := t.enable()
		t.tell(command.Method, command.Params)
	}
}

// end is said for each begin.
func (t *traffic) end() {
	if t.calls--; t.calls == 0 {
		t.all, t.said = nil, nil
		clear(t.did)
		t.tell(network.CommandDisable, nil)
	}
}

func (t *traffic) tell(method string, params any) {
	for _, target := range t.frames.targets {
		_, _ = target.Send(context.Background(), method, params) // one that is gone reports nothing
	}
}

// event takes an event about a request.
func (t *traffic) event(msg *cdproto.Message) {
	if t.calls == 0 {
		return
	}
	switch msg.Method {
	case cdproto.EventNetworkRequestWillBeSent:
		if ev, ok := wire.Decode[network.EventRequestWillBeSent](msg); ok && ev.Request != nil {
			t.sent(&ev)
		}
	case cdproto.EventNetworkResponseReceived:
		if ev, ok := wire.Decode[network.EventResponseReceived](msg); ok && ev.Response != nil {
			t.change(ev.RequestID, func(r *request) { r.status, r.at = int(ev.Response.Status), time.Now() })
		}
	case cdproto.EventNetworkDataReceived:
		if ev, ok := wire.Decode[network.EventDataReceived](msg); ok {
			t.change(ev.RequestID, func(r *request) { r.at = time.Now() })
		}
	case cdproto.EventNetworkWebSocketCreated:
		if ev, ok := wire.Decode[network.EventWebSocketCreated](msg); ok {
			t.add(&request{id: ev.RequestID, kind: network.ResourceTypeWebSocket, url: text.Bytes(ev.URL, maxAddress)})
		}
	case cdproto.EventNetworkWebSocketFrameSent:
		if ev, ok := wire.Decode[network.EventWebSocketFrameSent](msg); ok {
			t.wired(ev.RequestID)
		}
	case cdproto.EventNetworkLoadingFinished:
		if ev, ok := wire.Decode[network.EventLoadingFinished](msg); ok {
			t.change(ev.RequestID, func(r *request) { r.ended = true })
		}
	case cdproto.EventNetworkLoadingFailed:
		if ev, ok := wire.Decode[network.EventLoadingFailed](msg); ok {
			t.change(ev.RequestID, func(r *request) {
				r.ended, r.failed, r.at = true, true, time.Now()
				r.given = ev.Canceled || ev.ErrorText == "net::ERR_ABORTED"
			})
		}
	}
}

// sent takes a request. A redirect is a request with the same id: that of a script is noted beside
// the one that was redirected.
func (t *traffic) sent(ev *network.EventRequestWillBeSent) {
	switch ev.Type {
	case network.ResourceTypeDocument, network.ResourceTypeFetch, network.ResourceTypeXHR, network.ResourceTypePing:
	default:
		return
	}
	var redirected *request
	known, address := false, text.Bytes(ev.Request.URL, maxAddress)
	t.change(ev.RequestID, func(r *request) {
		known = true
		if answer := ev.RedirectResponse; answer != nil && r.kind != network.ResourceTypeDocument {
			before := *r
			before.id, before.status, before.ended = "", int(answer.Status), true
			redirected = &before
			r.wrote = r.changes()
		}
		r.method, r.url, r.status = ev.Request.Method, address, 0
	})
	if known && redirected != nil && len(t.all) < maxRequests {
		at := slices.IndexFunc(t.all, func(r *request) bool { return r.id == ev.RequestID })
		t.all = slices.Insert(t.all, at, redirected)
	}
	if !known {
		t.add(&request{id: ev.RequestID, frame: ev.FrameID, kind: ev.Type, method: ev.Request.Method,
			url: address, body: digest(ev.Request)})
	}
}

func (t *traffic) add(r *request) {
	if len(t.all) < maxRequests {
		r.began, r.asked, r.at = t.frames.handled, time.Now(), time.Now()
		t.all = append(t.all, r)
	}
}

// wired takes a message that a script sent over a WebSocket, which is one request, whose answer
// nobody knows. A WebSocket that was open before has no address.
func (t *traffic) wired(id network.RequestID) {
	if !slices.ContainsFunc(t.all, func(r *request) bool { return r.id == id }) {
		t.add(&request{id: id, kind: network.ResourceTypeWebSocket})
	}
	t.change(id, func(r *request) {
		r.method, r.status, r.began, r.ended = "WEBSOCKET", http.StatusSwitchingProtocols, t.frames.handled, true
	})
}

// settle ends the waits when nothing that may change something is under way.
func (t *traffic) settle() {
	if len(t.wait) == 0 || len(t.unanswered()) > 0 {
		return
	}
	for _, done := range t.wait {
		close(done)
	}
	t.wait = nil
}

// unanswered lists the requests of scripts that may change something, and that the site has not
// answered.
func (t *traffic) unanswered() (all []string) {
	for _, r := range t.all {
		if r.kind != network.ResourceTypeDocument && r.changes() && !r.ended && r.status == 0 {
			all = append(all, r.method+" "+r.url)
		}
	}
	return all
}

// watchTraffic notes requests from now on, until the page is closed.
func (t *tab) watchTraffic(ctx context.Context) {
	t.owner.tasks.ask(ctx, 0, t.owner.traffic.begin)
}

var _ session.Settler = (*tab)(nil)

// Settle implements session.Settler.
func (t *tab) Settle(ctx context.Context) []string {
	done := make(chan struct{})
	wait := func() { t.owner.traffic.wait = append(t.owner.traffic.wait, done) }
	if !t.owner.tasks.add(ctx, t.target.Delivered(), wait) {
		return nil
	}
	select {
	case <-done:
	case <-t.target.Gone():
	case <-ctx.Done():
		open := make(chan []string, 1)
		if t.owner.tasks.add(context.WithoutCancel(ctx), 0, func() { open <- t.owner.traffic.unanswered() }) {
			return <-open
		}
	}
	return nil
}

func (t *traffic) change(id network.RequestID, do func(*request)) {
	for _, r := range t.all {
		if r.id == id {
			do(r)
		}
	}
}

// loads returns the navigations of a frame that began after so many events.
func (t *traffic) loads(of cdp.FrameID, after int64) []*request {
	return slices.DeleteFunc(slices.Clone(t.all), func(r *request) bool {
		return r.began <= after || r.frame != of || r.kind != network.ResourceTypeDocument
	})
}

// streamPatience bounds the wait for a request that changes nothing, which may never end, and
// bodyPatience the wait for the rest of any response.
const streamPatience, bodyPatience = 3 * time.Second, time.Second

// chainPatience bounds the time in which requests that may change something follow each other, and
// answers come in parts: a page that sends them for ever is not waited for.
const chainPatience = 10 * time.Second

// scripted returns the requests of scripts that began after so many events, with what they sent
// from other frames than of, and whether some are under way that began soon after a submit.
func (t *traffic) scripted(of cdp.FrameID, after int64, submitted time.Time) (all []request, open bool) {
	for _, r := range t.all {
		document := r.kind == network.ResourceTypeDocument
		if r.began <= after || r.method == "" || document && (r.frame == of || !r.changes()) {
			continue
		}
		all = append(all, *r)
		open = open || r.open(submitted)
	}
	return all, open
}

// open reports whether a request is under way that may be of a submit. A body that nobody reads
// never ends.
func (r *request) open(submitted time.Time) bool {
	patience := streamPatience
	if r.changes() {
		patience = chainPatience
	}
	switch {
	case r.ended, r.asked.Sub(submitted) > patience:
		return false
	case r.status != 0:
		return time.Since(r.at) < bodyPatience && time.Since(r.asked) < patience
	}
	return r.changes() || time.Since(r.asked) < patience
}

// changes reports whether a request may change something at the site.
func (r request) changes() bool {
	switch r.method {
	case "", "GET", "HEAD", "OPTIONS", "WEBSOCKET":
		return r.wrote
	}
	return true
}

// same reports whether two requests ask for the same.
func (r request) same(x request) bool {
	return r.method == x.method && r.url == x.url && r.body == x.body && r.body != ""
}

// beacon reports whether the page sees no answer of the request.
func (r request) beacon() bool {
	return r.kind == network.ResourceTypePing || r.kind == network.ResourceTypeWebSocket
}

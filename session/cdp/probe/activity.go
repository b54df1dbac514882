package probe

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/runtime"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp/wire"
)

// What is kept of a page's life.
const (
	maxHappened = 10_000
	maxKept     = 8 << 20 // bytes of texts
	maxSaid     = 4 << 10
	maxBody     = 64 << 10
	maxAddress  = 2 << 10
	maxFlying   = 1000 // requests that have not ended
)

// navigation is the way of the top to another document.
type navigation struct {
	url       string
	submitted bool
	// arrived is true when its document came, and loaded when it became a download.
	arrived, loaded bool
}

// window and download are their addresses.
type (
	window   string
	download string
)

// answeredCookie is the name of a cookie that a response set.
type answeredCookie string

// flight is a request that has not ended. target is the session that told of it: that of a worker
// tells of the end of a request for its script.
type flight struct {
	request  *session.Request
	target   string
	streamed bool // it may never end
	at       int  // its place in the log
}

// activity records what was seen of a page. The watcher of the probe writes it.
type activity struct {
	mu      sync.Mutex
	log     []any // *session.Request, *navigation, and values of the types above and of session
	kept    int
	cut     bool
	last    time.Time // when something happened
	flying  map[string]flight
	changes bridge.Changes
}

func newActivity() *activity { return &activity{flying: map[string]flight{}, last: time.Now()} }

// add keeps what happened, of so many bytes, unless too much is kept, and returns whether it was.
// Called with a.mu held.
func (a *activity) add(what any, size int) bool {
	a.touch()
	if len(a.log) >= maxHappened || a.kept+size > maxKept {
		a.cut = true
		return false
	}
	a.kept += size
	a.log = append(a.log, what)
	return true
}

// touch notes that something happened. Called with a.mu held.
func (a *activity) touch() {
	a.last = time.Now()
	a.changes.Signal()
}

// note is add for who does not hold the lock.
func (a *activity) note(what any, size int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.add(what, size)
}

// forget forgets what came until now.
func (t *tracer) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.messages, t.said, t.requests, t.asked, t.cut, t.flying = nil, 0, nil, 0, false, map[string]flying{}
}

// cutOff notes that not everything was seen.
func (a *activity) cutOff() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cut = true
	a.touch()
}

func (a *activity) sent(id string, f flight) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.add(f.request, len(f.request.URL)+len(f.request.Body)) && len(a.flying) < maxFlying {
		f.at = len(a.log) - 1
		a.flying[id] = f
	}
}

// answered notes the status of a request's response; over is true when nothing else follows.
func (a *activity) answered(id string, status int, over bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if f, ok := a.flying[id]; ok && status != 0 {
		f.request.Status = status
	}
	if over {
		a.landed(id)
	}
}

// failed notes that a request has no response. One whose body the page did not want has one.
func (a *activity) failed(id, why string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if f, ok := a.flying[id]; ok && (f.request.Status == 0 || why != "net::ERR_ABORTED") {
		f.request.Failed = why
	}
	a.landed(id)
}

// landed ends a request. Called with a.mu held.
func (a *activity) landed(id string) {
	if _, ok := a.flying[id]; ok {
		delete(a.flying, id)
		a.touch()
	}
}

// leftTarget ends the requests of a target that is gone.
func (a *activity) leftTarget(target string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for id, f := range a.flying {
		if f.target == target {
			a.landed(id)
		}
	}
}

// arrived notes another document at the top. One that nobody asked for before was ours, or the
// browser's, such as that of history.back().
func (a *activity) arrived(address string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n := a.underWay(); n != nil {
		n.arrived = true
		a.touch()
		return
	}
	a.add(&navigation{url: address, arrived: true}, len(address))
}

// loads notes a download, which the navigation to the same address was then.
func (a *activity) loads(address string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n := a.underWay(); n != nil && n.url == address {
		n.loaded = true
	}
	a.add(download(address), len(address))
}

// underWay is the last navigation, when its document has not come. Called with a.mu held.
func (a *activity) underWay() *navigation {
	for _, what := range slices.Backward(a.log) {
		if n, ok := what.(*navigation); ok {
			if n.arrived || n.loaded {
				return nil
			}
			return n
		}
	}
	return nil
}

// count counts what is kept.
func (a *activity) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.log)
}

// rest returns how long the page has to be left alone until it was quiet for so long, zero when
// it was; below zero while requests are under way that began since a moment. changed is closed
// when something happens.
func (a *activity) rest(since int,
	quiet time.Duration) (left time.Duration, changed <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	changed = a.changes.Next()
	for _, f := range a.flying {
		if f.at >= since && !f.streamed {
			return -1, changed
		}
	}
	return max(0, quiet-time.Since(a.last)), changed
}

// since returns what is kept since a moment, and the names of the cookies that responses set.
func (a *activity) since(at int) (x *session.Activity, cookies map[string]bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	x, cookies = &session.Activity{Cut: a.cut}, map[string]bool{}
	for _, what := range a.log[min(at, len(a.log)):] {
		switch what := what.(type) {
		case *session.Request:
			x.Requests = append(x.Requests, *what)
		case session.Write:
			if !slices.Contains(x.Writes, what) {
				x.Writes = append(x.Writes, what)
			}
		case *navigation:
			switch {
			case what.submitted:
				x.Submitted = append(x.Submitted, what.url)
			case !what.loaded:
				x.Navigated = append(x.Navigated, what.url)
			}
		case window:
			x.Windows = append(x.Windows, string(what))
		case download:
			x.Downloads = append(x.Downloads, string(what))
		case session.Dialog:
			x.Dialogs = append(x.Dialogs, what)
		case session.Said:
			x.Said = append(x.Said, what)
		case session.Refused:
			x.Refused = append(x.Refused, what)
		case answeredCookie:
			cookies[string(what)] = true
		}
	}
	return x, cookies
}

// What is kept for a trace, of messages and of requests.
const (
	maxTraced      = 2000
	maxTracedBytes = 4 << 20
)

// tracer keeps what a page says and asks for. It is apart from what tests compare: a page that says
// much makes it neither full nor busy. The watcher of the probe writes it. A nil one keeps nothing.
type tracer struct {
	mu       sync.Mutex
	messages []session.Message
	said     int // bytes
	requests []session.TracedRequest
	asked    int               // bytes
	cut      bool              // there was no room for all
	flying   map[string]flying // requests that have not ended
}

// flying is a request that has not ended: its place among all, and when it began, in seconds of the
// browser's clock.
type flying struct {
	at   int
	sent float64
}

func (t *tracer) traced() *session.Traced {
	t.mu.Lock()
	defer t.mu.Unlock()
	return &session.Traced{Messages: slices.Clone(t.messages), Requests: slices.Clone(t.requests), Cut: t.cut}
}

// cutOff notes that not everything was seen.
func (t *tracer) cutOff() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cut = true
}

// tracedRequest is the part of the events about requests that we read.
type tracedRequest struct {
	RequestID string  `json:"requestId"`
	Timestamp float64 `json:"timestamp"`
	WallTime  float64 `json:"wallTime"`
	Request   struct {
		URL     string            `json:"url"`
		Method  string            `json:"method"`
		Headers map[string]string `json:"headers"`
	} `json:"request"`
	RedirectResponse  *tracedResponse `json:"redirectResponse"`
	Response          *tracedResponse `json:"response"`
	EncodedDataLength float64         `json:"encodedDataLength"`
	ErrorText         string          `json:"errorText"`
	BlockedReason     string          `json:"blockedReason"`
}

type tracedResponse struct {
	Status            int               `json:"status"`
	StatusText        string            `json:"statusText"`
	Headers           map[string]string `json:"headers"`
	MimeType          string            `json:"mimeType"`
	Protocol          string            `json:"protocol"`
	EncodedDataLength float64           `json:"encodedDataLength"`
}

func (t *tracer) request(msg *cdproto.Message) {
	if t == nil {
		return
	}
	ev, ok := wire.Decode[tracedRequest](msg)
	if !ok {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if msg.Method == cdproto.EventNetworkRequestWillBeSent {
		t.responded(&ev, ev.RedirectResponse, ev.RedirectResponse != nil)
		t.sent(&ev)
		return
	}
	t.responded(&ev, ev.Response, msg.Method == cdproto.EventNetworkLoadingFinished ||
		msg.Method == cdproto.EventNetworkLoadingFailed)
}

// sent notes a request, when there is room.
func (t *tracer) sent(ev *tracedRequest) {
	seconds := time.Duration(ev.WallTime * float64(time.Second))
	x := session.TracedRequest{At: time.Unix(0, int64(seconds)),
		Method: text.Short(ev.Request.Method, maxAddress),
		URL:    text.Short(ev.Request.URL, maxAddress), Headers: headersOf(ev.Request.Headers)}
	if strings.HasPrefix(x.URL, "data:") {
		return
	}
	if len(t.requests) >= maxTraced || !t.room(&x) {
		t.cut = true
		return
	}
	t.flying[ev.RequestID] = flying{len(t.requests), ev.Timestamp}
	t.requests = append(t.requests, x)
}

// responded notes what is known of a response, and its end.
func (t *tracer) responded(ev *tracedRequest, r *tracedResponse, over bool) {
	f, known := t.flying[ev.RequestID]
	if !known {
		return
	}
	x := &t.requests[f.at]
	if r != nil {
		x.Status, x.StatusText = r.Status, text.Short(r.StatusText, maxAddress)
		x.Protocol = text.Short(r.Protocol, maxAddress)
		x.MIMEType = text.Short(r.MimeType, maxAddress)
		x.Size = int64(r.EncodedDataLength)
		x.Answered = headersOf(r.Headers)
		if !t.room(&session.TracedRequest{Headers: x.Answered}) {
			x.Answered, t.cut = nil, true
		}
	}
	if !over {
		return
	}
	if ev.EncodedDataLength > 0 {
		x.Size = int64(ev.EncodedDataLength)
	}
	if ev.ErrorText != "" {
		x.Failed = text.Short(cmp.Or(ev.BlockedReason, ev.ErrorText), maxSaid)
	}
	x.Took = max(time.Duration((ev.Timestamp-f.sent)*float64(time.Second)), time.Microsecond)
	delete(t.flying, ev.RequestID)
}

// room takes the bytes of what is kept, and reports whether there are so many.
func (t *tracer) room(x *session.TracedRequest) bool {
	size := len(x.URL)
	for name, values := range x.Headers {
		size += len(name) + len(values[0])
	}
	if t.asked+size > maxTracedBytes {
		return false
	}
	t.asked += size
	return true
}

// logins are headers that nobody keeps.
var logins = map[string]bool{"Authorization": true, "Cookie": true, "Proxy-Authorization": true, "Set-Cookie": true, "Set-Cookie2": true}

// headersOf are headers by name, one value for each, without those that hold logins.
func headersOf(all map[string]string) http.Header {
	kept := http.Header{}
	for name, value := range all {
		if !logins[http.CanonicalHeaderKey(name)] {
			kept.Set(text.Short(name, maxAddress), text.Short(value, maxAddress))
		}
	}
	return kept
}

// levels maps the console's functions to levels; the others have log.
var levels = map[runtime.ConsoleAPICalledType]string{
	runtime.ConsoleAPICalledTypeError: "error", runtime.ConsoleAPICalledTypeAssert: "error",
	runtime.ConsoleAPICalledTypeWarning: "warning", runtime.ConsoleAPICalledTypeInfo: "info",
	runtime.ConsoleAPICalledTypeDebug: "debug",
}

// note keeps what the page or the browser said, when there is room.
func (t *tracer) note(x session.Said, level string, at runtime.Timestamp) {
	t.mu.Lock()
	defer t.mu.Unlock()
	size := len(x.Text) + len(x.URL)
	if len(t.messages) >= maxTraced || t.said+size > maxTracedBytes {
		t.cut = true
		return
	}
	t.said += size
	t.messages = append(t.messages, session.Message{Said: x, Level: level, At: saidAt(at)})
}

func saidAt(at runtime.Timestamp) time.Time { return time.UnixMicro(int64(float64(at) * 1000)) }

func consoleSaid(ev *runtime.EventConsoleAPICalled) session.Said {
	var parts []string
	for _, arg := range ev.Args {
		parts = append(parts, printed(arg))
	}
	x := session.Said{Kind: "console", Text: strings.Join(parts, " ")}
	if at := ev.StackTrace; at != nil && len(at.CallFrames) > 0 {
		x.URL, x.Line = at.CallFrames[0].URL, int(at.CallFrames[0].LineNumber)+1
	}
	return x
}

// printed returns a value as the console shows it.
func printed(v *runtime.RemoteObject) string {
	switch {
	case v == nil:
		return ""
	case v.Type == "string":
		var text string
		if json.Unmarshal(v.Value, &text) == nil {
			return text
		}
	case v.Description != "":
		return v.Description
	}
	return string(v.Value)
}

package probe

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/domstorage"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/storage"
	cdptarget "github.com/chromedp/cdproto/target"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp/wire"
	"github.com/pagetools/pagetools/shim"
)

// surveyed are the events that say what happens in a page that is tested.
var surveyed = map[cdproto.MethodType]bool{
	cdproto.EventTargetAttachedToTarget:            true,
	cdproto.EventTargetDetachedFromTarget:          true,
	cdproto.EventNetworkRequestWillBeSent:          true,
	cdproto.EventNetworkResponseReceived:           true,
	cdproto.EventNetworkResponseReceivedExtraInfo:  true,
	cdproto.EventNetworkLoadingFinished:            true,
	cdproto.EventNetworkLoadingFailed:              true,
	cdproto.EventPageFrameNavigated:                true,
	cdproto.EventPageFrameRequestedNavigation:      true,
	cdproto.EventPageWindowOpen:                    true,
	cdproto.EventPageJavascriptDialogOpening:       true,
	cdproto.EventBrowserDownloadWillBegin:          true,
	cdproto.EventDOMStorageDomStorageItemAdded:     true,
	cdproto.EventDOMStorageDomStorageItemUpdated:   true,
	cdproto.EventDOMStorageDomStorageItemRemoved:   true,
	cdproto.EventDOMStorageDomStorageItemsCleared:  true,
	cdproto.EventStorageIndexedDBContentUpdated:    true,
	cdproto.EventStorageIndexedDBListUpdated:       true,
	cdproto.EventStorageCacheStorageContentUpdated: true,
	cdproto.EventStorageCacheStorageListUpdated:    true,
	cdproto.EventRuntimeConsoleAPICalled:           true,
	cdproto.EventRuntimeExceptionThrown:            true,
	cdproto.EventLogEntryAdded:                     true,
}

// frameType is the type of a frame that is a target of its own.
const frameType = "iframe"

// surveyor reads what happens in a page, its frames and its workers. Its goroutine alone uses the
// targets.
type surveyor struct {
	page    *wire.Session
	top     cdp.FrameID
	seen    *activity
	bypass  bool // service workers answer nothing
	targets map[cdptarget.SessionID]watchedTarget
	tracer  *tracer // nil when nobody traces

	handled atomic.Int64 // events
	mu      sync.Mutex
	moved   bridge.Changes // signals when handled grows
	keys    map[string]bool
	pending int // storage keys that are being found
}

type watchedTarget struct {
	*wire.Session
	worker bool
}

func newSurveyor(on *wire.Session, top cdp.FrameID, seen *activity) *surveyor {
	return &surveyor{page: on, top: top, seen: seen, keys: map[string]bool{},
		targets: map[cdptarget.SessionID]watchedTarget{on.ID(): {Session: on}}}
}

// commands returns the commands that observe a target. Responses are not kept for us.
func (s *surveyor) commands(document bool) []wire.Command {
	all := []wire.Command{
		{Method: network.CommandEnable, Params: network.EnableParams{
			MaxPostDataSize: new(int64(maxBody)), MaxTotalBufferSize: new(int64(1)),
			MaxResourceBufferSize: new(int64(1))}},
		{Method: runtime.CommandEnable},
		{Method: cdptarget.CommandSetAutoAttach,
			Params: wire.AutoAttach(frameType, "worker", "shared_worker", "service_worker")},
	}
	if s.bypass {
		all = append(all, wire.Command{Method: network.CommandSetBypassServiceWorker,
			Params: network.SetBypassServiceWorkerParams{Bypass: true}})
	}
	if document {
		all = append(all, wire.Command{Method: page.CommandEnable, Params: page.EnableParams{}},
			wire.Command{Method: domstorage.CommandEnable}, wire.Command{Method: cdplog.CommandEnable})
	}
	return all
}

// read reads the events until the tab or the session is gone.
func (s *surveyor) read(tab <-chan struct{}) {
	defer func() {
		for _, t := range s.targets {
			t.Fail(wire.ErrClosed)
		}
	}()
	for {
		select {
		case msg := <-s.page.Events():
			s.handle(msg)
			s.handled.Add(1)
			s.step(0)
		case <-s.page.Gone():
			select {
			case <-tab:
			default: // it flooded us, and goes on
				s.seen.cutOff()
			}
			return
		case <-tab:
			return
		}
	}
}

// step wakes those who wait for the surveyor. more is added to the storage keys that are being
// found.
func (s *surveyor) step(more int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending += more
	s.moved.Signal()
}

// catchUpTime bounds how long a page may take to answer: while it shows a dialog or runs a loop it
// does not.
const catchUpTime = 500 * time.Millisecond

// catchUp waits until what happened in the page until now is seen.
func (s *surveyor) catchUp(ctx context.Context) {
	// Storage that is not watched yet is waited for as long as it takes: its writes would be
	// missed.
	bounded, cancel := context.WithTimeout(ctx, catchUpTime)
	defer cancel()
	after, err := s.page.CallAfter(bounded, runtime.CommandGetIsolateID, nil, nil)
	if err != nil {
		after = 0 // the page does not answer
	}
	for {
		s.mu.Lock()
		done := s.handled.Load() >= after && s.pending == 0
		moved := s.moved.Next()
		s.mu.Unlock()
		if done {
			return
		}
		select {
		case <-moved:
		case <-s.page.Gone():
			return
		case <-ctx.Done():
			return
		}
	}
}

func (s *surveyor) handle(msg *cdproto.Message) {
	from, known := s.targets[msg.SessionID]
	if !known {
		return
	}
	switch msg.Method {
	case cdproto.EventTargetAttachedToTarget:
		if ev, ok := wire.Decode[cdptarget.EventAttachedToTarget](msg); ok && ev.TargetInfo != nil {
			worker := ev.TargetInfo.Type != frameType
			child := watchedTarget{Session: from.Child(ev.SessionID), worker: worker}
			s.targets[ev.SessionID] = child
			child.Begin(s.commands(!child.worker))
		}
	case cdproto.EventTargetDetachedFromTarget:
		if ev, ok := wire.Decode[cdptarget.EventDetachedFromTarget](msg); ok {
			if t, there := s.targets[ev.SessionID]; there && t.Session != s.page {
				t.Fail(wire.ErrClosed)
				delete(s.targets, ev.SessionID)
				s.seen.leftTarget(string(ev.SessionID))
			}
		}
	case cdproto.EventNetworkRequestWillBeSent, cdproto.EventNetworkResponseReceived,
		cdproto.EventNetworkResponseReceivedExtraInfo, cdproto.EventNetworkLoadingFinished, cdproto.EventNetworkLoadingFailed:
		s.request(from, msg)
		s.tracer.request(msg)
	case cdproto.EventRuntimeConsoleAPICalled, cdproto.EventRuntimeExceptionThrown,
		cdproto.EventLogEntryAdded:
		s.said(msg)
	case cdproto.EventPageFrameNavigated, cdproto.EventPageFrameRequestedNavigation,
		cdproto.EventPageWindowOpen, cdproto.EventPageJavascriptDialogOpening, cdproto.EventBrowserDownloadWillBegin:
		s.moves(from, msg)
	default:
		s.stored(msg)
	}
}

// requestEvent is the part of the events about requests that we read.
type requestEvent struct {
	RequestID string `json:"requestId"`
	Type      string `json:"type"`
	Request   struct {
		URL             string                   `json:"url"`
		Method          string                   `json:"method"`
		PostDataEntries []*network.PostDataEntry `json:"postDataEntries"`
	} `json:"request"`
	RedirectResponse *struct {
		Status int `json:"status"`
	} `json:"redirectResponse"`
	Response struct {
		Status int `json:"status"`
	} `json:"response"`
	ErrorText     string            `json:"errorText"`
	BlockedReason string            `json:"blockedReason"`
	Headers       map[string]string `json:"headers"`
}

func (s *surveyor) request(from watchedTarget, msg *cdproto.Message) {
	ev, ok := wire.Decode[requestEvent](msg)
	if !ok {
		return
	}
	id := ev.RequestID
	switch msg.Method {
	case cdproto.EventNetworkRequestWillBeSent:
		if ev.RedirectResponse != nil {
			s.seen.answered(id, ev.RedirectResponse.Status, true)
		}
		if strings.HasPrefix(ev.Request.URL, "data:") || strings.HasPrefix(ev.Request.URL, "blob:") ||
			ev.Type == string(network.ResourceTypeCSPViolationReport) {
			return // it does not leave the page, or the browser sends it
		}
		r := &session.Request{By: "document", Method: ev.Request.Method,
			URL: text.Short(ev.Request.URL, maxAddress)}
		switch {
		case ev.Type == string(network.ResourceTypePing):
			r.By = "beacon"
		case from.worker:
			r.By = "worker"
		}
		var body strings.Builder
		for _, part := range ev.Request.PostDataEntries {
			if part != nil {
				body.Write(part.Bytes)
			}
		}
		if body.Len() <= maxBody {
			r.Body = body.String()
		}
		s.seen.sent(id, flight{request: r, target: string(msg.SessionID),
			streamed: ev.Type == string(network.ResourceTypeEventSource)})
	case cdproto.EventNetworkResponseReceived:
		s.seen.answered(id, ev.Response.Status, false)
	case cdproto.EventNetworkResponseReceivedExtraInfo:
		s.cookies(ev.Headers)
	case cdproto.EventNetworkLoadingFinished:
		s.seen.answered(id, 0, true)
	case cdproto.EventNetworkLoadingFailed:
		s.seen.failed(id, text.Short(cmp.Or(ev.BlockedReason, ev.ErrorText, "unknown"), maxSaid))
	}
}

// cookies notes the names of the cookies that a response set.
func (s *surveyor) cookies(headers map[string]string) {
	for name, value := range headers {
		if !strings.EqualFold(name, "set-cookie") {
			continue
		}
		for line := range strings.Lines(value) {
			if name, _, ok := strings.Cut(line, "="); ok {
				name = strings.TrimSpace(name)
				s.seen.note(answeredCookie(name), len(name))
			}
		}
	}
}

// moves handles what leads away from a document.
func (s *surveyor) moves(from watchedTarget, msg *cdproto.Message) {
	switch msg.Method {
	case cdproto.EventPageFrameNavigated:
		ev, ok := wire.Decode[page.EventFrameNavigated](msg)
		if !ok || ev.Frame == nil {
			return
		}
		s.follow(from.Session, ev.Frame)
		if ev.Frame.ID == s.top {
			s.seen.arrived(text.Short(cmp.Or(ev.Frame.UnreachableURL, ev.Frame.URL), maxAddress))
		}
	case cdproto.EventPageFrameRequestedNavigation:
		ev, ok := wire.Decode[page.EventFrameRequestedNavigation](msg)
		if !ok {
			return
		}
		submitted := ev.Reason == page.ClientNavigationReasonFormSubmissionGet ||
			ev.Reason == page.ClientNavigationReasonFormSubmissionPost
		here := ev.FrameID == s.top && ev.Disposition == page.ClientNavigationDispositionCurrentTab
		if !submitted && !here {
			return // a frame goes on, or another event says what becomes of it
		}
		address := text.Short(ev.URL, maxAddress)
		n := &navigation{url: address, submitted: submitted, arrived: ev.FrameID != s.top}
		s.seen.note(n, len(address))
	case cdproto.EventPageWindowOpen:
		if ev, ok := wire.Decode[page.EventWindowOpen](msg); ok {
			s.seen.note(window(text.Short(cmp.Or(ev.URL, "about:blank"), maxAddress)), len(ev.URL))
		}
	case cdproto.EventPageJavascriptDialogOpening:
		ev, ok := wire.Decode[page.EventJavascriptDialogOpening](msg)
		if _, _, ours := shim.Placed(ev.Message); ok && !ours {
			text := text.Short(ev.Message, maxSaid)
			s.seen.note(session.Dialog{Kind: string(ev.Type), Message: text}, len(text))
		}
	case cdproto.EventBrowserDownloadWillBegin:
		if ev, ok := wire.Decode[browser.EventDownloadWillBegin](msg); ok {
			s.seen.loads(text.Short(ev.URL, maxAddress))
		}
	}
}

// followTime bounds how long the browser may take to say where a document keeps what it stores.
const followTime = 3 * time.Second

// maxKeys bounds the storage keys of a page whose databases and caches are watched.
const maxKeys = 64

// follow watches the databases and caches of what a frame shows.
func (s *surveyor) follow(from *wire.Session, f *cdp.Frame) {
	origin := strings.TrimSuffix(f.SecurityOrigin, "/")
	if !strings.HasPrefix(origin, "http") {
		return // it keeps nothing
	}
	s.step(1)
	go func() { // ends within followTime
		defer s.step(-1)
		bounded, end := context.WithTimeout(context.Background(), followTime)
		defer end()
		key := origin + "/"
		if f.ID != s.top {
			key = storageKey(bounded, from, f.ID, key)
		}
		s.mu.Lock()
		known := key == "" || s.keys[key] || len(s.keys) >= maxKeys
		s.keys[key] = true
		s.mu.Unlock()
		if known {
			return
		}
		// A document that is gone meanwhile keeps nothing any more.
		_, _ = cdp.Call(bounded, s.page, storage.TrackIndexedDBForStorageKey,
			storage.TrackIndexedDBForStorageKeyParams{StorageKey: key})
		_, _ = cdp.Call(bounded, s.page, storage.TrackCacheStorageForStorageKey,
			storage.TrackCacheStorageForStorageKeyParams{StorageKey: key})
	}()
}

// storageKey returns under which key the browser keeps what the document of a frame stores; ""
// when it is gone. The renderer tells of a document before the browser has it, which until then
// answers for the one before: the key must begin as that of the document's origin does.
func storageKey(ctx context.Context, of *wire.Session, frame cdp.FrameID, begins string) string {
	for {
		found, err := cdp.Call(ctx, of, storage.GetStorageKey, storage.GetStorageKeyParams{FrameID: frame})
		if err != nil {
			return ""
		}
		if key := string(found.StorageKey); strings.HasPrefix(key, begins) {
			return key
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return ""
		}
	}
}

// storedEvent is the part of the events about storage that we read.
type storedEvent struct {
	StorageID struct {
		IsLocalStorage bool `json:"isLocalStorage"`
	} `json:"storageId"`
	Key             string `json:"key"`
	DatabaseName    string `json:"databaseName"`
	ObjectStoreName string `json:"objectStoreName"`
	CacheName       string `json:"cacheName"`
}

func (s *surveyor) stored(msg *cdproto.Message) {
	ev, ok := wire.Decode[storedEvent](msg)
	if !ok {
		return
	}
	w := session.Write{Key: ev.Key}
	switch msg.Method {
	case cdproto.EventStorageIndexedDBContentUpdated, cdproto.EventStorageIndexedDBListUpdated:
		w.Area, w.Key = "indexedDB", strings.TrimSuffix(ev.DatabaseName+"/"+ev.ObjectStoreName, "/")
	case cdproto.EventStorageCacheStorageContentUpdated, cdproto.EventStorageCacheStorageListUpdated:
		w.Area, w.Key = "cache", ev.CacheName
	default:
		w.Area = "sessionStorage"
		if ev.StorageID.IsLocalStorage {
			w.Area = "localStorage"
		}
	}
	w.Key = text.Short(w.Key, maxAddress)
	s.seen.note(w, len(w.Key))
}

// said notes errors, and hands over to the tracer what else is said.
func (s *surveyor) said(msg *cdproto.Message) {
	x, level, at, ok := saidIn(msg, s.tracer != nil)
	if !ok {
		return
	}
	if s.tracer != nil {
		s.tracer.note(x, level, at)
	}
	if level == "error" {
		s.seen.note(x, len(x.Text)+len(x.URL))
	}
}

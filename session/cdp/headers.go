package cdp

import (
	"context"
	"encoding/base64"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"

	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/session/cdp/wire"
	"github.com/pagetools/pagetools/session/pageconfig"
)

// headers are added to requests of the site's own documents to its origin.
type headers struct {
	set map[string]string // by canonical name
	// authorization is added where the request has none.
	authorization string
}

// newHeaders returns nil when the settings add none.
func newHeaders(s *pageconfig.Config) *headers {
	h := &headers{set: map[string]string{}}
	for name, value := range s.Headers {
		h.set[http.CanonicalHeaderKey(name)] = string(value)
	}
	switch {
	case s.Bearer != "":
		h.authorization = "Bearer " + string(s.Bearer)
	case s.BasicAuth != nil:
		// Sent before it is asked for: what the browser learns from a challenge it
		// keeps, and sends with requests that other sites cause.
		h.authorization = "Basic " + base64.StdEncoding.EncodeToString([]byte(s.BasicAuth.User+":"+string(s.BasicAuth.Password)))
	}
	if len(h.set) == 0 && h.authorization == "" {
		return nil
	}
	return h
}

// over returns the headers of a request with ours.
func (h *headers) over(request network.Headers) (all []*fetch.HeaderEntry) {
	authorized := h.set["Authorization"] != ""
	for _, name := range slices.Sorted(maps.Keys(request)) {
		value, text := request[name].(string)
		if _, ours := h.set[http.CanonicalHeaderKey(name)]; ours || !text {
			continue
		}
		authorized = authorized || strings.EqualFold(name, "Authorization")
		all = append(all, &fetch.HeaderEntry{Name: name, Value: value})
	}
	for _, name := range slices.Sorted(maps.Keys(h.set)) {
		all = append(all, &fetch.HeaderEntry{Name: name, Value: h.set[name]})
	}
	if h.authorization != "" && !authorized {
		all = append(all, &fetch.HeaderEntry{Name: "Authorization", Value: h.authorization})
	}
	return all
}

// requestPaused lets a request go on, with our headers when it is one of the
// site's own. What we add ends with a redirect: the next request is asked about
// again, when it goes to the site's origin.
func (s *settings) requestPaused(o *owner, from *wire.Session, ev *fetch.EventRequestPaused,
	watched *bool) {
	ours := false
	if s != nil && s.headers != nil && origin.Of(ev.Request.URL) == s.origin {
		var sure bool
		if ours, sure = ofSite(o.frames, s.origin, ev); !sure {
			go s.goOnLater(o, from, ev, watched)
			return
		}
	}
	s.goOn(from, ev, ours, watched)
}

// goOn lets a request go on. With watched true, its response waits for us, too.
func (s *settings) goOn(from *wire.Session, ev *fetch.EventRequestPaused, ours bool,
	watched *bool) {
	params := fetch.ContinueRequestParams{RequestID: ev.RequestID, InterceptResponse: watched}
	if ours {
		params.Headers = s.headers.over(ev.Request.Headers)
	}
	// The reply is not waited for: the owner goes on reading.
	_, _ = from.Send(context.Background(), fetch.CommandContinueRequest, params)
}

// tellPatience sets how long a request waits for the renderer to tell what its frame
// shows. One that waits for the request itself cannot.
const tellPatience = time.Second

// goOnLater lets a request go on when the renderer has told what its frame shows: the
// network may be faster.
func (s *settings) goOnLater(o *owner, from *wire.Session, ev *fetch.EventRequestPaused,
	watched *bool) {
	bounded, cancel := context.WithTimeout(context.Background(), tellPatience)
	defer cancel()
	var told wire.Reply
	if ch, err := from.Send(bounded, runtime.CommandEvaluate, nothing); err == nil {
		select {
		case told = <-ch:
		case <-bounded.Done():
		}
	}
	o.tasks.add(context.Background(), told.After, func() { // or the request ends with the page
		ours, _ := ofSite(o.frames, s.origin, ev)
		s.goOn(from, ev, ours, watched)
	})
}

// ofSite reports whether a request to the site's origin comes from a
// document of it or a worker of that, or is a navigation of the page there. What
// is not known is not the site's. It is sure unless only what the frame shows, as far
// as we were told, speaks against it.
func ofSite(frames *frames, site string, ev *fetch.EventRequestPaused) (yes, sure bool) {
	from, hasOrigin := header(ev.Request.Headers, "Origin")
	if hasOrigin && !origin.Same(from, site) {
		return false, true // a page cannot write this header
	}
	referer, hasReferer := header(ev.Request.Headers, "Referer")
	if hasReferer && !origin.Same(referer, site) && !ofTop(frames, ev) {
		return false, true // nor this one
	}
	f := frames.all[ev.FrameID]
	switch {
	case ofTop(frames, ev):
		return hasOrigin || ev.Request.Method == http.MethodGet ||
			ev.Request.Method == http.MethodHead, true
	case f == nil:
	case ev.ResourceType == network.ResourceTypeDocument:
		// Without a referrer it is the parent's, or that of what the frame shows.
		yes = f.parent.within(site) &&
			(hasReferer || f.doc == nil || f.doc.origin == "null" || origin.Same(f.doc.origin, site))
	default:
		yes = f.within(site)
	}
	return yes, yes || hasOrigin || hasReferer
}

// ofTop reports whether a request is a navigation of the page, or of a window.
func ofTop(frames *frames, ev *fetch.EventRequestPaused) bool {
	f := frames.all[ev.FrameID]
	return f != nil && f.parent == nil && ev.ResourceType == network.ResourceTypeDocument
}

// within reports whether a frame, and those that hold it, show documents of the
// origin.
func (f *frame) within(from string) bool {
	for ; f != nil; f = f.parent {
		if f.doc == nil || !origin.Same(f.doc.origin, from) {
			return false
		}
	}
	return true
}

// header looks a header up, whose name may be in any case.
func header(all network.Headers, name string) (value string, has bool) {
	for k, v := range all {
		if strings.EqualFold(k, name) {
			value, _ = v.(string)
			return value, true
		}
	}
	return "", false
}

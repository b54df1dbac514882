package webtool

import (
	"context"
	"net/http"
	"net/url"
	"sync"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport"
)

// entry is a site in the index.
type entry struct {
	Name        string      `json:"name"`
	URL         string      `json:"url"`
	Description string      `json:"description"`
	Version     string      `json:"version"`
	Tools       []string    `json:"tools"`
	Error       *entryError `json:"error,omitempty"`
}

// entryError says why a site has no tools now.
type entryError struct {
	Code    bridge.Code   `json:"code"`
	Reason  bridge.Reason `json:"reason,omitempty"`
	Message string        `json:"message"`
}

// index lists the sites that the caller may know of. Sites that are still
// opening are waited for at the same time.
func (f *Face) index(w http.ResponseWriter, r *http.Request) {
	caller := transport.CallerOf(r.Context())
	if e := f.b.Count(bridge.Ref{Caller: caller}); e != nil {
		transport.WriteError(w, r, e)
		return
	}
	sites := f.b.Sites(caller)
	entries := make([]entry, len(sites))
	ctx := r.Context()
	var wait sync.WaitGroup
	for i, s := range sites {
		entries[i] = entry{Name: s.Name, URL: transport.Base(r) + "/webtools/" + url.PathEscape(s.Name),
			Tools: []string{}}
		wait.Go(func() { f.fill(ctx, &entries[i], caller) })
	}
	wait.Wait()
	if err := ctx.Err(); err != nil {
		transport.Abandon(r, bridge.GaveUp(bridge.NotRun).With(err))
	}
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("Link", `</openapi.json>; rel="service-desc"; type="application/json"`) // RFC 8631
	transport.WriteJSON(w, r, http.StatusOK, struct {
		Webtools []entry `json:"webtools"`
	}{entries})
}

// fill completes the entry of a site.
func (f *Face) fill(ctx context.Context, e *entry, caller bridge.Caller) {
	d, err := f.b.Webtool(ctx, bridge.Ref{Site: e.Name, Caller: caller}, "", "")
	if err != nil {
		body := transport.NewErrorBody(bridge.AsError(err))
		e.Description = "The web application " + e.Name + ". Its tools cannot be read now."
		e.Error = &entryError{body.Code, body.Reason, body.Message}
		return
	}
	e.Description, e.Version = d.Description, d.Version
	for i := range d.Actions {
		e.Tools = append(e.Tools, d.Actions[i].Name)
	}
}

package webtool

import (
	"cmp"
	"log/slog"
	"net/http"
	"regexp"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport"
)

// Options configures a Face.
type Options struct {
	// Log gets the lines that belong to no call; nil is silent.
	Log *slog.Logger
}

// Face serves the webtools of a bridge. It holds no state.
type Face struct {
	b   *bridge.Bridge
	log *slog.Logger
}

// New makes the face of a bridge.
func New(b *bridge.Bridge, o Options) *Face {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &Face{b: b, log: o.Log}
}

// Routes are the paths of the contract below /webtools, and that of what pages save in calls.
func (f *Face) Routes() []transport.Route {
	const site, action = "/webtools/{site}", "/webtools/{site}/actions/{action}"
	versions := map[string]func(string) bool{"version": isVersion}
	read := map[string]http.HandlerFunc{http.MethodGet: f.get}
	both := map[string]http.HandlerFunc{http.MethodGet: f.get, http.MethodPost: f.post}
	return []transport.Route{
		transport.Get("/webtools", f.index),
		{Pattern: site, Methods: both},
		{Pattern: site + "/{version}", Methods: read, When: versions},
		{Pattern: site + "/batch", Methods: map[string]http.HandlerFunc{http.MethodPost: f.batch}},
		{Pattern: action, Methods: both},
		{Pattern: action + "/{version}", Methods: read, When: versions},
		transport.FileRoute(f.b),
	}
}

var semver = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

// isVersion keeps other words free for paths of other faces.
func isVersion(s string) bool { return s == "latest" || len(s) <= 128 && semver.MatchString(s) }

// get serves a document. It is the same for both dialects.
func (f *Face) get(w http.ResponseWriter, r *http.Request) {
	ref := bridge.Ref{Site: r.PathValue("site"), Caller: transport.CallerOf(r.Context())}
	version := r.PathValue("version")
	if version == "" { // a version is the same for every session
		session, e := transport.SessionOf(r.URL)
		if e != nil {
			transport.WriteError(w, r, e)
			return
		}
		ref.Session = session
	}
	if e := f.b.Count(ref); e != nil {
		transport.WriteError(w, r, e)
		return
	}
	d, err := f.b.Webtool(r.Context(), ref, r.PathValue("action"), version)
	if err != nil {
		if r.Context().Err() != nil {
			transport.Abandon(r, bridge.AsError(err))
		}
		transport.WriteError(w, r, named(bridge.AsError(err)))
		return
	}
	h := w.Header()
	if ref.Session != "" {
		h.Set("Cache-Control", "no-store") // what one session sees now
		transport.WriteBytes(w, r, http.StatusOK, d.JSON())
		return
	}
	h["Cache-Control"] = caching(version, transport.HasCredentials(r.Context()))
	etag := `"` + d.Digest + "-" + d.Version + `"`
	if d.Stale {
		etag = `"` + d.Digest + "-" + d.Version + `-stale"`
	}
	h["Etag"] = []string{etag}
	if transport.MatchesETag(r.Header["If-None-Match"], etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	transport.WriteBytes(w, r, http.StatusOK, d.JSON())
}

// The values of Cache-Control, shared by all replies and never changed.
var (
	cacheLatest  = []string{"no-cache"}
	cachePublic  = []string{"public, max-age=31536000, immutable"}
	cachePrivate = []string{"private, max-age=31536000, immutable"}
)

func caching(version string, credentials bool) []string {
	switch {
	case version == "" || version == "latest":
		return cacheLatest
	case credentials:
		return cachePrivate
	default:
		return cachePublic
	}
}

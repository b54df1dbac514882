package openapi

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/opentools"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/transport"
)

// Options configures a Face.
type Options struct {
	// Version of the program, for the document of all sites; "" is "dev".
	Version string
	// Log gets the lines that belong to no call; nil is silent.
	Log *slog.Logger
}

// Face publishes the tools of a bridge.
type Face struct {
	b *bridge.Bridge
	o Options

	mu    sync.Mutex
	parts map[string]*held    // by the names of sites
	whole map[string]*written // by the parts it is made of
	held  int                 // bytes of them
}

// held caches a site's part of documents. Making it can take long; other sites do not wait for it.
type held struct {
	mu   sync.Mutex
	part *part
}

// written is a document that was written.
type written struct {
	json []byte
	etag string
}

// mostHeld bounds the bytes of documents that are kept: callers who see other sites have other
// ones.
const mostHeld = 16 << 20

// New makes the face of a bridge.
func New(b *bridge.Bridge, o Options) *Face {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.Version = cmp.Or(o.Version, "dev")
	return &Face{b: b, o: o, parts: map[string]*held{}, whole: map[string]*written{}}
}

// Routes are the paths of the contract: the documents, and an operation for each tool.
func (f *Face) Routes() []transport.Route {
	return []transport.Route{
		transport.Get("/openapi.json", f.document),
		transport.Get("/.well-known/openapi.json", f.document),
		transport.Get("/.well-known/llm.json", f.discovery),
		transport.Get("/sites/{site}/openapi.json", f.document),
		transport.Get("/sites/{site}/.well-known/llm.json", f.discovery),
		{Pattern: "/tools/{site}/{tool}", Methods: map[string]http.HandlerFunc{http.MethodPost: f.call}},
	}
}

// discovery says where the document is.
func (f *Face) discovery(w http.ResponseWriter, r *http.Request) {
	ref := bridge.Ref{Site: r.PathValue("site"), Caller: transport.CallerOf(r.Context())}
	if e := f.b.Count(ref); e != nil {
		transport.WriteError(w, r, e)
		return
	}
	d := opentools.Discovery{OpenAPI: "/openapi.json", Auth: "none"}
	if ref.Site != "" {
		if _, err := f.site(ref); err != nil {
			transport.WriteError(w, r, bridge.AsError(err))
			return
		}
		d.OpenAPI = "/sites/" + url.PathEscape(ref.Site) + d.OpenAPI
	}
	if transport.HasCredentials(r.Context()) {
		d.Auth = "bearer"
	}
	w.Header().Set("Cache-Control", "no-cache")
	leads(w, d.OpenAPI)
	transport.WriteJSON(w, r, http.StatusOK, d)
}

// leads says where the description of this service is (RFC 8631).
func leads(w http.ResponseWriter, path string) {
	w.Header().Set("Link", "<"+path+`>; rel="service-desc"; type="application/json"`)
}

// site finds a site that the caller may know of.
func (f *Face) site(ref bridge.Ref) (bridge.Site, error) {
	for _, s := range f.b.Sites(ref.Caller) {
		if s.Name == ref.Site {
			return s, nil
		}
	}
	return bridge.Site{}, bridge.Errorf(bridge.WebtoolNotFound, "", bridge.NotRun,
		"There is no site %q here; GET /webtools lists those that there are.", text.Brief(ref.Site, maxShown))
}

// maxShown limits how much of a name a message repeats.
const maxShown = 100

// document serves that of a site, or that of all sites which the caller may know of. Sites that are
// still opening are waited for at the same time; one that cannot be read is left out.
func (f *Face) document(w http.ResponseWriter, r *http.Request) {
	ref := bridge.Ref{Site: r.PathValue("site"), Caller: transport.CallerOf(r.Context())}
	if e := f.b.Count(ref); e != nil {
		transport.WriteError(w, r, e)
		return
	}
	parts, err := f.read(r.Context(), ref)
	if err != nil {
		e := bridge.AsError(err)
		if r.Context().Err() != nil {
			transport.Abandon(r, e)
		}
		transport.WriteError(w, r, e)
		return
	}
	d := f.of(ref.Site, parts, transport.HasCredentials(r.Context()))
	h := w.Header()
	h.Set("Cache-Control", "no-cache")
	h["Etag"] = []string{d.etag}
	leads(w, r.URL.Path)
	if transport.MatchesETag(r.Header["If-None-Match"], d.etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	transport.WriteBytes(w, r, http.StatusOK, d.json)
}

// read returns what the document of a site has, or that of all.
func (f *Face) read(ctx context.Context, ref bridge.Ref) ([]*part, error) {
	if ref.Site != "" {
		p, err := f.part(ctx, ref)
		return []*part{p}, err
	}
	sites := f.b.Sites(ref.Caller)
	all := make([]*part, len(sites))
	var wait sync.WaitGroup
	for i, s := range sites {
		wait.Go(func() {
			p, err := f.part(ctx, bridge.Ref{Site: s.Name, Caller: ref.Caller})
			if err != nil {
				f.o.Log.InfoContext(ctx, "openapi: a site is left out", "site", s.Name, "error", err)
				return
			}
			all[i] = p
		})
	}
	wait.Wait()
	return slices.DeleteFunc(all, func(p *part) bool { return p == nil }), ctx.Err()
}

// part returns what the document has of a site; the one before, while nothing changed.
func (f *Face) part(ctx context.Context, ref bridge.Ref) (*part, error) {
	l, err := f.b.Tools(ctx, ref)
	if err != nil {
		return nil, err
	}
	h := f.heldOf(ref.Site)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.part == nil || !h.part.isOf(&l) {
		h.part = newPart(&l)
	}
	return h.part, nil
}

func (f *Face) heldOf(site string) *held {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.parts[site] == nil {
		f.parts[site] = &held{}
	}
	return f.parts[site]
}

// of returns the document of the parts; the one that was written before, while they are the same.
func (f *Face) of(site string, parts []*part, credentials bool) *written {
	key := site + "\n"
	if credentials {
		key += "with credentials\n"
	}
	for _, p := range parts {
		key += p.id + "\n"
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if d := f.whole[key]; d != nil {
		return d
	}
	d := &written{json: write(f.o.Version, site, parts, credentials)}
	if f.held += len(d.json); f.held > mostHeld {
		clear(f.whole)
		f.held = len(d.json)
	}
	sum := sha256.Sum256(d.json)
	d.etag = `"` + hex.EncodeToString(sum[:16]) + `"`
	f.whole[key] = d
	return d
}

package opentools

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge/origin"
)

// Route says how a document was found.
type Route string

// The routes, in the order in which they are tried.
const (
	Given      Route = "the address itself"
	WellKnown  Route = "/.well-known/llm.json"
	Beside     Route = ".well-known/llm.json beside the address"
	Convention Route = "/.well-known/openapi.json"
	Linked     Route = "a link with rel=service-desc"
	Catalog    Route = "/.well-known/api-catalog"
	Resources  Route = "/.well-known/ard.json"
	Guessed    Route = "a usual address"
)

// Found is a document that was found.
type Found struct {
	*Document
	Location
}

// Location says where and how a document was found.
type Location struct {
	URL   *url.URL // of the document, after redirects
	Route Route
	// Auth is the statement of llm.json about signing in; "" means there is none.
	Auth string
	// Instead explains why the requested address has no document though it looks like one; "" when
	// it has this document.
	Instead string
	// Fresh limits how long the document may be used without asking again (RFC 9111, 4.2).
	Fresh time.Duration

	tag, changed string            // ETag and Last-Modified of the answer; "" is none
	sum          [sha256.Size]byte // of the answer
}

// ErrNotFound is the error of an address that leads to no document.
var ErrNotFound = errors.New("no OpenTools document was found")

// Discoverer finds documents. Each step asks the origin of the address only, and follows redirects
// within it.
type Discoverer struct {
	// Client makes the requests: its transport says which addresses may be reached. Its
	// CheckRedirect does not count.
	Client *http.Client
	// Guess is true to try the usual addresses of documents, too.
	Guess bool
	// Quick is true to ask only what the origin says at the well-known places, and the address
	// itself only where it looks like that of a document: it may be a page's, which is asked once.
	Quick bool
}

// stepTime limits how long a step may take.
const stepTime = 10 * time.Second

// mostSlow limits how many steps may take too long; after one more no other is tried.
const mostSlow = 1

// guesses are addresses that frameworks use.
var guesses = []string{"/openapi.json", "/v3/api-docs", "/openapi.yaml"}

// Discover finds the document of an application (O1, O7, O8): of the address itself, then of what
// its origin says. The error is [ErrNotFound], with what was tried, or that of a document that was
// found and cannot be read.
func (d *Discoverer) Discover(ctx context.Context, address string) (*Found, error) {
	s, err := d.search(ctx, address)
	if err != nil {
		return nil, err
	}
	u := s.start
	steps := []func() (*Found, error){s.given, s.wellKnown, s.beside, s.convention, s.linked, s.catalog, s.resources}
	if d.Quick {
		if steps = []func() (*Found, error){s.wellKnown, s.beside, s.convention}; LooksLikeDocument(u) {
			steps = slices.Insert(steps, 0, s.given)
		}
	}
	if d.Guess {
		steps = append(steps, s.guessed)
	}
	for i, step := range steps {
		found, err := step()
		if found != nil && i > 0 && LooksLikeDocument(u) && len(s.tried) > 0 {
			found.Instead = s.tried[0]
		}
		if found != nil || err != nil {
			return found, err
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if s.dead != nil {
			return nil, fmt.Errorf("%s cannot be reached: %w", u.Host, s.dead)
		}
	}
	return nil, s.notFound()
}

// LooksLikeDocument reports whether an address is one that documents have.
func LooksLikeDocument(u *url.URL) bool {
	name := strings.ToLower(path.Base(u.Path))
	return slices.Contains([]string{".json", ".yaml", ".yml"}, path.Ext(name)) || strings.Contains(name, "openapi") ||
		strings.Contains(name, "swagger") || name == "api-docs"
}

func (d *Discoverer) search(ctx context.Context, address string) (*search, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%.200q is not a web address: it begins with https://", address)
	}
	return &search{d: d, ctx: ctx, start: u}, nil
}

// notFound says what was tried.
func (s *search) notFound() error {
	return fmt.Errorf("%w at %s (%s)", ErrNotFound, s.start.Host, strings.Join(s.tried, "; "))
}

type search struct {
	d     *Discoverer
	ctx   context.Context //nolint:containedctx // of one discovery
	start *url.URL
	first *reply // of the address itself
	tried []string
	slow  int   // steps that took too long
	dead  error // why the origin cannot be asked at all

	tag, changed string // of the document that is known
}

type reply struct {
	url   *url.URL
	body  []byte
	media string
	links []string
	fresh time.Duration

	tag, changed string
}

// statusError is an answer that is none of success.
type statusError struct{ status int }

func (e *statusError) Error() string { return fmt.Sprintf("it answers %d", e.status) }

var errNoDocument = errors.New("it is not an OpenAPI document")

var errElsewhere = errors.New("it leads to another origin")

// get asks an address of the origin.
func (s *search) get(u *url.URL) (*reply, error) {
	if !origin.SameURL(u, s.start) {
		return nil, errElsewhere
	}
	ctx, cancel := context.WithTimeout(s.ctx, stepTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json, application/vnd.oai.openapi+json, application/yaml;q=0.9, text/html;q=0.5, */*;q=0.1")
	for name, value := range map[string]string{"If-None-Match": s.tag, "If-Modified-Since": s.changed} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	client := *s.d.Client
	client.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		if len(via) > 5 {
			return errors.New("it redirects without end")
		}
		if !origin.SameURL(r.URL, s.start) {
			return errElsewhere
		}
		return nil
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	fresh := freshness(res.Header)
	if res.StatusCode == http.StatusNotModified && s.tag+s.changed != "" {
		return &reply{fresh: fresh}, nil
	}
	if res.StatusCode != http.StatusOK {
		return nil, &statusError{res.StatusCode}
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxDocument+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxDocument {
		return nil, fmt.Errorf("it has more than %d MiB", maxDocument>>20)
	}
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")) // "" is read, too
	return &reply{url: res.Request.URL, body: body, media: media, links: res.Header.Values("Link"), fresh: fresh,
		tag: res.Header.Get("ETag"), changed: res.Header.Get("Last-Modified")}, nil
}

// try asks an address, and remembers why it is of no use.
func (s *search) try(ref string, from *url.URL) *reply {
	u, err := from.Parse(ref)
	if err == nil {
		var r *reply
		if r, err = s.get(u); err == nil {
			return r
		}
	}
	s.note(ref, err)
	return nil
}

func (s *search) note(ref string, err error) {
	var failed *url.Error
	if errors.As(err, &failed) {
		err = failed.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		s.slow++
	}
	if unreachable(s.start.Host, err) != nil || s.slow > mostSlow {
		s.dead = err
	}
	s.tried = append(s.tried, fmt.Sprintf("%.200s: %s", ref, err))
}

// document reads a reply as a document; nil when it is none.
func (s *search) document(r *reply, route Route, auth string) (*Found, error) {
	text, err := toJSON(r)
	if err != nil || !looksLikeDocument(text) {
		if err == nil {
			err = errNoDocument
		}
		s.note(r.url.String(), err)
		return nil, nil //nolint:nilnil // the next step is tried
	}
	d, err := ReadDocument(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.url, err)
	}
	return &Found{d, Location{r.url, route, auth, "", r.fresh, r.tag, r.changed, sha256.Sum256(r.body)}}, nil
}

func toJSON(r *reply) ([]byte, error) {
	text := bytes.TrimSpace(bytes.TrimPrefix(r.body, []byte("\uFEFF")))
	if bytes.HasPrefix(text, []byte("{")) {
		return text, nil
	}
	if strings.HasSuffix(r.media, "html") || bytes.HasPrefix(text, []byte("<")) {
		return nil, errors.New("it is a page")
	}
	return fromYAML(text)
}

func looksLikeDocument(text []byte) bool {
	all, err := members(text)
	if err != nil {
		return false
	}
	has := func(names ...string) bool {
		return slices.ContainsFunc(all, func(m member) bool { return slices.Contains(names, m.name) })
	}
	return has("swagger") || slices.ContainsFunc(all, func(m member) bool {
		version := versionOf(m.text)
		return m.name == "openapi" && version != "" && version[0] >= '0' && version[0] <= '9' &&
			(m.text[0] == '"' || has("info", "paths")) // llm.json of others counts something so
	})
}

// versionOf reads the version of OpenAPI, whose quotes people forget, or write a v into; "" is
// none.
func versionOf(text json.RawMessage) (version string) {
	if json.Unmarshal(text, &version) != nil {
		version = strings.Trim(string(text), "{}[]")
	}
	return strings.TrimPrefix(strings.TrimSpace(version), "v")
}

// given is the address itself: a document, or what leads to one.
func (s *search) given() (*Found, error) {
	if s.first = s.try(s.start.String(), s.start); s.first == nil {
		return nil, nil //nolint:nilnil // the next step is tried
	}
	text, err := toJSON(s.first)
	if err == nil {
		if found, err := s.discovery(s.first, text, Given); found != nil || err != nil {
			return found, err
		}
		if looksLikeDocument(text) {
			return s.document(s.first, Given, "")
		}
	}
	if LooksLikeDocument(s.start) {
		s.note(s.start.String(), cmp.Or(err, errNoDocument))
	}
	return nil, nil //nolint:nilnil // the next step is tried
}

// discovery reads llm.json. Other formats have that name, too: it counts when it has a text
// "openapi" that is an address.
func (s *search) discovery(r *reply, text []byte, route Route) (*Found, error) {
	var d struct {
		OpenAPI *string         `json:"openapi"`
		Auth    json.RawMessage `json:"auth"`
		Info    json.RawMessage `json:"info"`
		Paths   json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(text, &d); err != nil {
		d.OpenAPI = nil // it is another format
	}
	if d.OpenAPI == nil || *d.OpenAPI == "" || d.Info != nil || d.Paths != nil {
		return nil, nil //nolint:nilnil // it is another format
	}
	var auth string
	var kind struct{ Type string }
	if json.Unmarshal(d.Auth, &auth) != nil && json.Unmarshal(d.Auth, &kind) == nil {
		auth = kind.Type
	}
	to := s.try(*d.OpenAPI, r.url)
	if to == nil {
		return nil, nil //nolint:nilnil // the next step is tried
	}
	return s.document(to, route, auth)
}

func (s *search) discoveryAt(ref string, route Route) (*Found, error) {
	r := s.try(ref, s.start)
	if r == nil {
		return nil, nil //nolint:nilnil // the next step is tried
	}
	text, err := toJSON(r)
	if err != nil {
		s.note(ref, err)
		return nil, nil //nolint:nilnil // the next step is tried
	}
	return s.discovery(r, text, route)
}

func (s *search) wellKnown() (*Found, error) {
	return s.discoveryAt("/.well-known/llm.json", WellKnown)
}

// beside looks next to the address, where one origin has several applications.
func (s *search) beside() (*Found, error) {
	if strings.Trim(s.start.Path, "/") == "" {
		return nil, nil //nolint:nilnil // it was asked already
	}
	u := *s.start
	u.RawQuery, u.Fragment = "", ""
	u.Path = strings.TrimSuffix(u.Path, "/") + "/.well-known/llm.json"
	return s.discoveryAt(u.String(), Beside)
}

// convention is a document with x-llm at its usual place (O8).
func (s *search) convention() (*Found, error) {
	r := s.try("/.well-known/openapi.json", s.start)
	if r == nil {
		return nil, nil //nolint:nilnil // the next step is tried
	}
	found, err := s.document(r, Convention, "")
	if found != nil && found.Root == nil {
		s.note("/.well-known/openapi.json", errors.New("it has no x-llm"))
		return nil, nil //nolint:nilnil // the next step is tried
	}
	return found, err
}

// linked follows what the address itself says (RFC 8631).
func (s *search) linked() (*Found, error) {
	if s.first == nil {
		return nil, nil //nolint:nilnil // nothing is known of it
	}
	return s.firstOf(append(linksOf(s.first.links), linksIn(s.first.body)...), s.first.url, Linked)
}

// catalog follows the catalogue of APIs (RFC 9727).
func (s *search) catalog() (*Found, error) {
	return s.following("/.well-known/api-catalog", Catalog, func(text []byte) (refs []string) {
		type target struct{ Href string }
		var set struct {
			Linkset []struct {
				Desc []target `json:"service-desc"`
			}
		}
		_ = json.Unmarshal(text, &set) // another format has no links
		for _, l := range set.Linkset {
			for _, t := range l.Desc {
				refs = append(refs, t.Href)
			}
		}
		return refs
	})
}

// resources follows a list of agent resources, as far as they are documents.
func (s *search) resources() (*Found, error) {
	return s.following("/.well-known/ard.json", Resources, func(text []byte) (refs []string) {
		var list struct {
			Resources []struct{ Type, URL, Href string }
		}
		_ = json.Unmarshal(text, &list) // another format has none
		for _, r := range list.Resources {
			if strings.Contains(strings.ToLower(r.Type), "openapi") {
				refs = append(refs, r.URL+r.Href)
			}
		}
		return refs
	})
}

// following asks an address for others, and follows the first of them.
func (s *search) following(ref string, route Route, read func(text []byte) []string) (*Found, error) {
	r := s.try(ref, s.start)
	if r == nil {
		return nil, nil //nolint:nilnil // the next step is tried
	}
	refs := slices.DeleteFunc(read(r.body), func(ref string) bool { return ref == "" })
	return s.firstOf(refs[:min(len(refs), maxLinks)], r.url, route)
}

func (s *search) guessed() (*Found, error) { return s.firstOf(guesses, s.start, Guessed) }

// firstOf returns the first document among the references of a page.
func (s *search) firstOf(refs []string, base *url.URL, route Route) (*Found, error) {
	for _, ref := range refs {
		if r := s.try(ref, base); r != nil {
			if found, err := s.document(r, route, ""); found != nil || err != nil {
				return found, err
			}
		}
	}
	return nil, nil //nolint:nilnil // the next step is tried
}

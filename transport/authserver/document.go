package authserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pquerna/cachecontrol/cacheobject"

	"github.com/pagetools/pagetools/bridge/origin"
)

// What a client publishes of itself: how large it may be, how long it may take, and how long it is
// kept.
const (
	maxDocument   = 5 << 10
	fetchTime     = 5 * time.Second
	leastKept     = 5 * time.Minute
	mostKept      = 24 * time.Hour
	failedKept    = 30 * time.Second
	maxDocuments  = 100
	mostFetches   = 4
	retryDocument = 5
)

// documents holds documents of clients, as they were fetched.
type documents struct {
	fetching chan struct{} // has a place for each that is fetched

	mu  sync.Mutex
	all map[string]published
}

// published holds what a client says of itself, or why it is not known.
type published struct {
	*client

	why   *problem
	until time.Time
}

// clientDocument lists the members of a client's document that count.
type clientDocument struct {
	ID        string   `json:"client_id"`
	Name      string   `json:"client_name"`
	Redirects []string `json:"redirect_uris"`
	Grants    []string `json:"grant_types"`
	Responses []string `json:"response_types"`
	Secret    any      `json:"client_secret"`
}

// document returns the client whose ID is the address of its document.
func (s *Server) document(ctx context.Context, r *http.Request, id string) (*client, *problem) {
	u, why := addressOfDocument(s.o.Public, id)
	if why != "" {
		return nil, fault("invalid_client", "This client_id cannot be the address of a document: it "+why+".")
	}
	if known, is := s.documents.find(id, s.o.Now()); is {
		return known.client, known.why
	}
	if wait := s.fetches.take(addressOf(r)); wait > 0 {
		return nil, tooMany(seconds(wait), "Too many new clients were named from this address. Try again later.")
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	select {
	case s.documents.fetching <- struct{}{}:
		defer func() { <-s.documents.fetching }()
	case <-ctx.Done():
		p := tooMany(retryDocument, "Too many clients are looked at now. Try again.")
		p.status = http.StatusServiceUnavailable
		return nil, p
	}
	if known, is := s.documents.find(id, s.o.Now()); is { // others had the same
		return known.client, known.why
	}
	d, life, err := s.fetch(ctx, u, id)
	made := published{until: s.o.Now().Add(life)}
	switch {
	case err != nil:
		made.until = s.o.Now().Add(failedKept)
		made.why = fault("invalid_client", "The document of this client cannot be used. Its address is the client_id.")
		made.why.cause = err
	default:
		made.client = &client{id: id, host: u.Host, name: d.Name, to: d.Redirects}
	}
	if r.Context().Err() == nil { // otherwise it is not the document that failed
		s.documents.keep(id, made, s.o.Now())
	}
	return made.client, made.why
}

var formOfDocument = regexp.MustCompile("^https://[A-Za-z0-9.:-]+/[!$%&()*+,./0-9:;=?@A-Z_a-z~'-]*$")

// addressOfDocument reads the address of a client's document, or says why it cannot be one.
func addressOfDocument(public, id string) (*url.URL, string) {
	u, err := url.Parse(id)
	switch {
	case err != nil || !formOfDocument.MatchString(id) || u.User != nil || !formOfHost.MatchString(u.Host):
		return nil, "must begin with https:// and a host, and have no user and no fragment"
	case u.EscapedPath() == "/":
		return nil, "must have a path"
	case strings.EqualFold(u.Hostname(), hostname(public)):
		return nil, "is of this server itself"
	}
	for part := range strings.SplitSeq(u.Path, "/") {
		if part == "." || part == ".." {
			return nil, "has dots for a part of its path"
		}
	}
	return u, ""
}

func hostname(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// fetch reads the document of a client: from its very address, as JSON, at once.
func (s *Server) fetch(ctx context.Context, u *url.URL, id string) (d *clientDocument, life time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil) //nolint:gosec // the client reaches public addresses only
	if err != nil {
		return nil, 0, err
	}
	req.Header.Set("Accept", "application/json")
	own := *s.o.Client
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := own.Do(req) //nolint:gosec // as above
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxDocument+1))
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch {
	case err != nil:
		return nil, 0, err
	case res.StatusCode != http.StatusOK:
		return nil, 0, fmt.Errorf("%s answers %s", u.Redacted(), res.Status)
	case len(body) > maxDocument:
		return nil, 0, errors.New("the document is too large")
	case media != "application/json" && !strings.HasSuffix(media, "+json"):
		return nil, 0, fmt.Errorf("the document is %q, and not JSON", media)
	}
	d = &clientDocument{}
	if err := json.Unmarshal(body, d); err != nil {
		return nil, 0, err
	}
	if err := d.check(id); err != nil {
		return nil, 0, err
	}
	return d, lifeOf(res.Header, s.o.Now()), nil
}

func (d *clientDocument) check(id string) error {
	switch {
	case d.ID != id:
		return fmt.Errorf("the document is of the client %q", d.ID)
	case d.Secret != nil:
		return errors.New("the document has a secret")
	case len(d.Name) > maxName:
		return errors.New("the name is too long")
	}
	if p := checkRedirects(d.Redirects); p != nil {
		return errors.New(p.About)
	}
	if p := checkUse(d.Grants, d.Responses); p != nil {
		return errors.New(p.About)
	}
	return nil
}

// lifeOf returns how long a document is kept, as its headers say (RFC 9111), within bounds.
func lifeOf(h http.Header, now time.Time) time.Duration {
	c, err := cacheobject.ParseResponseCacheControl(strings.Join(h.Values("Cache-Control"), ","))
	var life time.Duration
	switch at, none := http.ParseTime(h.Get("Expires")); {
	case err != nil || c.NoStore || c.NoCachePresent:
	case c.MaxAge >= 0:
		life = time.Duration(c.MaxAge) * time.Second
	case none == nil:
		life = at.Sub(now)
	}
	return max(leastKept, min(mostKept, life))
}

// find returns what is known of a client.
func (d *documents) find(id string, now time.Time) (published, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	known, is := d.all[id]
	return known, is && now.Before(known.until)
}

// keep keeps what is known of a client, in the place of what is over, or of what is over first.
func (d *documents) keep(id string, p published, now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.all == nil {
		d.all = map[string]published{}
	}
	first := ""
	for other, x := range d.all {
		if !now.Before(x.until) {
			delete(d.all, other)
		} else if first == "" || x.until.Before(d.all[first].until) {
			first = other
		}
	}
	if len(d.all) >= maxDocuments {
		delete(d.all, first)
	}
	d.all[id] = p
}

// seconds is a time for Retry-After.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

// sameOrigin reports whether a page of this server sent a form: browsers say so.
func sameOrigin(public string, r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" {
		return false
	}
	from := r.Header.Values("Origin")
	return len(from) == 0 || len(from) == 1 && slices.ContainsFunc([]string{public, "https://" + r.Host, "http://" + r.Host},
		func(own string) bool { return origin.Same(own, from[0]) })
}

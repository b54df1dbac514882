package opentools

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/pquerna/cachecontrol/cacheobject"
)

// defaultFresh says how long a document is fresh of which its site says nothing (B8), and mostFresh
// the longest that counts.
const defaultFresh, mostFresh = 5 * time.Minute, 24 * time.Hour

// freshness returns how long an answer is fresh.
func freshness(h http.Header) time.Duration {
	said := h.Values("Cache-Control")
	c, err := cacheobject.ParseResponseCacheControl(strings.Join(said, ","))
	switch {
	case err != nil || len(said) == 0:
		return defaultFresh
	case c.NoStore || c.NoCachePresent:
		return 0
	case c.MaxAge >= 0:
		return min(time.Duration(c.MaxAge)*time.Second, mostFresh)
	}
	return defaultFresh
}

// Again asks for a document that was found before. Its Document is nil when it did not change. It
// returns an error when the document is gone or its site cannot be reached.
func (d *Discoverer) Again(ctx context.Context, before Location) (*Found, error) {
	s := &search{d: d, ctx: ctx, start: before.URL, tag: before.tag, changed: before.changed}
	r, err := s.get(before.URL)
	if err != nil {
		return nil, err
	}
	if r.body == nil || sha256.Sum256(r.body) == before.sum { // it did not change
		before.Fresh = r.fresh
		return &Found{Location: before}, nil
	}
	found, err := s.document(r, before.Route, before.Auth)
	if found != nil {
		found.Instead = before.Instead
	}
	if found == nil && err == nil {
		err = fmt.Errorf("%w at %s any more (%s)", ErrNotFound, before.URL, strings.Join(s.tried, "; "))
	}
	return found, err
}

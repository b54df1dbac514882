package opentools

import (
	"bytes"
	"net/http"
	"net/url"

	"github.com/pagetools/pagetools/bridge/schema"
)

// Request is the request of a call, for tests from outside.
func (t *Tool) Request(server *url.URL, args schema.Value) (*http.Request, error) {
	r, err := t.request(server, args)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequest(r.method, r.url.String(), bytes.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	req.Header = r.header
	return req, nil
}

// FromYAML is a document as JSON.
func FromYAML(text []byte) ([]byte, error) { return fromYAML(text) }

// Waiting counts the calls of a site that have it, but for one: those that wait for their turn.
func (r *Router) Waiting(site string) int {
	a := r.sites.Load().named[site]
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.using - 1
}

package opentools

import (
	"context"
	"fmt"
	"net/url"
	"strings"
)

// Given reads the document at an address, or the one that an llm.json at the address leads to. The error is
// [ErrNotFound] when there is none.
func (d *Discoverer) Given(ctx context.Context, address string) (*Found, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%.200q is not a web address: it begins with https://", address)
	}
	s := &search{d: d, ctx: ctx, start: u}
	if found, err := s.given(); found != nil || err != nil {
		return found, err
	}
	return nil, fmt.Errorf("%w at %s (%s)", ErrNotFound, u.Host, strings.Join(s.tried, "; "))
}

// ReadFile reads a document of a file, in JSON or YAML. Errors are as those of [ReadDocument].
func ReadFile(text []byte) (*Document, error) {
	if len(text) > maxDocument {
		return nil, fmt.Errorf("the document has more than %d MiB", maxDocument>>20)
	}
	text, err := toJSON(&reply{body: text})
	if err != nil {
		return nil, err
	}
	return ReadDocument(text)
}

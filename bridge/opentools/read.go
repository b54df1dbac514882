package opentools

import (
	"context"
	"fmt"
)

// Given reads the document at an address, or the one that an llm.json at the address leads to. The
// error is [ErrNotFound] when there is none.
func (d *Discoverer) Given(ctx context.Context, address string) (*Found, error) {
	s, err := d.search(ctx, address)
	if err != nil {
		return nil, err
	}
	if found, err := s.given(); found != nil || err != nil {
		return found, err
	}
	return nil, s.notFound()
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

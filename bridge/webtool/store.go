package webtool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/pagetools/pagetools/bridge/schema"
)

// Store keeps the history of webtools (webtools reference, A1), at most 256
// versions each, and of each site so many bytes: the oldest go first. Webtools of one site
// are "site" and "site/tool".
type Store interface {
	// Load returns the history without its documents, oldest first; nil without an error
	// when there is none.
	Load(ctx context.Context, webtool string) ([]Record, error)
	// Document returns that of a version; nil without an error when there is none.
	Document(ctx context.Context, webtool, version string) (json.RawMessage, error)
	// Append adds a version. It is on the disk when Append returns, also after a power
	// failure. A version that is there already, with the same content, is only marked
	// as seen again. A number or a digest that is there with different content is
	// refused with ErrConflict: another process was first, so load and mint again.
	Append(ctx context.Context, webtool string, v Record) error
	// Seen moves the version's LastSeen forward. An unknown version is not an error:
	// it may have been pruned.
	Seen(ctx context.Context, webtool, version string, at time.Time) error
}

// ErrConflict is the error of Store.Append for a number or a digest that exists with
// different content.
var ErrConflict = errors.New("the version exists with other content")

// Record is one version of a webtool.
type Record struct {
	// Version is its number, and Digest the hex SHA-256 of its content.
	Version, Digest string
	// Document is the metadata as it is served. Its bytes are kept as they are.
	Document json.RawMessage
	LastSeen time.Time
}

// Check returns why a store does not keep the version of a webtool: something is missing.
func (r Record) Check(webtool string) error {
	if webtool == "" || r.Version == "" || r.Digest == "" || len(r.Document) == 0 {
		return errors.New("a version has a webtool, a number, a digest and a document")
	}
	return nil
}

// Same compares what two versions are, not when they were seen. Another release of ours may write the
// members of a document in another order.
func (r Record) Same(other Record) bool {
	if r.Version != other.Version || r.Digest != other.Digest {
		return false
	}
	if bytes.Equal(r.Document, other.Document) {
		return true
	}
	x, errX := schema.Canonical(r.Document)
	y, errY := schema.Canonical(other.Document)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

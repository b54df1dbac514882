package webtool

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/pagetools/pagetools/bridge/schema"
)

// Past is a version in the history of a webtool.
type Past struct {
	Version string
	// Change says how it differs from the version that it was minted after. Same is the first one.
	Change schema.Change
	// Since says when it came, or came back, the last time; the zero time is not known.
	Since time.Time
}

// Versions lists the versions of the webtool, in the order in which they were minted.
func (h *History) Versions(ctx context.Context) ([]Past, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.load(ctx); err != nil {
		return nil, err
	}
	since := map[string]time.Time{}
	if h.Store != nil {
		records, err := h.Store.Load(ctx, h.webtool)
		if err != nil {
			return nil, fmt.Errorf("reading the history of %s: %w", h.webtool, err)
		}
		for _, r := range records {
			since[r.Version] = r.LastSeen
		}
	}
	all := make([]Past, 0, len(h.order))
	for _, e := range h.order {
		all = append(all, Past{e.version, changeOf(e.version), since[e.version]})
	}
	return all, nil
}

// changeOf reads from a number which part was raised: free sets the parts after it to 0.
func changeOf(version string) schema.Change {
	switch n, _ := readNumber(version); {
	case version == FirstVersion:
		return schema.Same
	case n[2] > 0:
		return schema.Patch
	case n[1] > 0:
		return schema.Minor
	}
	return schema.Major
}

// Promises reports whether the tool declares what its results are like.
func (a Action) Promises() bool { return !bytes.Equal(a.ResponseSchema, anyResult) }

package vault

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

const (
	// maxGrants limits the grants of one caller, and maxKnown the known tools of a site: the oldest go.
	maxGrants = 1000
	maxKnown  = 4096
)

// Grants keeps standing consent for all nodes: one box for each caller. Safe for concurrent use.
type Grants struct {
	vault

	last atomic.Pointer[[]bridge.Grant] // that All read; nil: nothing yet
}

var _ bridge.Grants = (*Grants)(nil)

// NewGrants returns the grants of the cluster.
func NewGrants(o Options) *Grants { return &Grants{vault: vault{o}} }

const grantsPrefix = "g."

func (g *Grants) keyOf(caller string) string { return grantsPrefix + g.o.Name("grants", caller) }

// readList reads a list in JSON; no text is an empty one.
func readList[T any](data []byte) (all []T, err error) {
	if len(data) == 0 {
		return nil, nil
	}
	if err = json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("reading what is kept: %w", err)
	}
	return all, nil
}

// readBox reads the list in a box.
func readBox[T any](ctx context.Context, v vault, key string) ([]T, error) {
	b, err := v.read(ctx, key)
	if err != nil {
		return nil, err
	}
	return readList[T](b.data)
}

// writeList is the reverse of readList.
func writeList[T any](all []T) ([]byte, error) {
	if len(all) == 0 {
		return nil, nil
	}
	data, err := json.Marshal(all)
	if err != nil {
		return nil, fmt.Errorf("writing what is kept: %w", err)
	}
	return data, nil
}

// change changes the list in a box by what do makes of it, which may be made more than once.
func change[T any](ctx context.Context, v vault, key, what string, do func(all []T) ([]T, error)) error {
	return patiently(ctx, what, func(ctx context.Context) error {
		return v.update(ctx, key, func(data []byte) ([]byte, error) {
			all, err := readList[T](data)
			if err == nil {
				all, err = do(all)
			}
			if err != nil {
				return nil, err
			}
			return writeList(all)
		})
	})
}

// look returns the list in a box.
func look[T any](ctx context.Context, v vault, key, what string) (all []T, err error) {
	err = patiently(ctx, what, func(ctx context.Context) (err error) {
		all, err = readBox[T](ctx, v, key)
		return err
	})
	return all, err
}

// newID returns 128 random bits in hex.
func newID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // it never fails: it ends the program instead
	return hex.EncodeToString(id[:])
}

// Put implements bridge.Grants. Of one caller the newest 1,000 are kept.
func (g *Grants) Put(ctx context.Context, grant bridge.Grant) (bridge.Grant, error) {
	if err := grant.Check(); err != nil {
		return bridge.Grant{}, err
	}
	grant.ID, grant.GivenAt = newID(), grant.GivenAt.UTC().Round(0)
	err := change(ctx, g.vault, g.keyOf(grant.Caller), "keeping a grant", func(all []bridge.Grant) ([]bridge.Grant, error) {
		if !slices.Contains(all, grant) { // by a try before, whose answer was lost
			all = append(all, grant)
		}
		return all[max(0, len(all)-maxGrants):], nil
	})
	if err != nil {
		return bridge.Grant{}, err
	}
	return grant, nil
}

// All implements bridge.Grants. While the engine does not answer, it returns what it read last: so tools
// that only read run on.
func (g *Grants) All(ctx context.Context) ([]bridge.Grant, error) {
	all, err := g.readAll(ctx)
	if last := g.last.Load(); err != nil && last != nil {
		return slices.Clone(*last), nil
	}
	if err != nil {
		err = patiently(ctx, "listing the grants", func(ctx context.Context) (err error) {
			all, err = g.readAll(ctx)
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	g.last.Store(&all)
	return slices.Clone(all), nil
}

// readAll returns the grants of all callers as they are, oldest first.
func (g *Grants) readAll(ctx context.Context) ([]bridge.Grant, error) {
	ctx, cancel := context.WithTimeout(ctx, patience) // within that of whoever asks
	defer cancel()
	boxes, err := g.list(ctx, grantsPrefix)
	if err != nil {
		return nil, err
	}
	var all []bridge.Grant
	for _, b := range boxes {
		of, err := readList[bridge.Grant](b.data)
		if err != nil {
			return nil, err
		}
		all = append(all, of...)
	}
	slices.SortStableFunc(all, func(a, b bridge.Grant) int { return a.GivenAt.Compare(b.GivenAt) })
	return all, nil
}

// Find implements bridge.Grants.
func (g *Grants) Find(ctx context.Context, u bridge.GrantUse) (bridge.Grant, bool, error) {
	all, err := look[bridge.Grant](ctx, g.vault, g.keyOf(u.Caller), "looking for a grant")
	if err != nil {
		return bridge.Grant{}, false, err
	}
	for _, grant := range slices.Backward(all) {
		if grant.GrantUse == u {
			return grant, true, nil
		}
	}
	return bridge.Grant{}, false, nil
}

// Revoke implements bridge.Grants.
func (g *Grants) Revoke(ctx context.Context, id string) (bool, error) {
	var all []bridge.Grant
	err := patiently(ctx, "revoking a grant", func(ctx context.Context) (err error) {
		all, err = g.readAll(ctx)
		return err
	})
	if err != nil {
		return false, err
	}
	at := slices.IndexFunc(all, func(grant bridge.Grant) bool { return grant.ID == id })
	if at < 0 {
		return false, nil
	}
	gone := false
	err = change(ctx, g.vault, g.keyOf(all[at].Caller), "revoking a grant", func(of []bridge.Grant) ([]bridge.Grant, error) {
		n := len(of)
		of = slices.DeleteFunc(of, func(grant bridge.Grant) bool { return grant.ID == id })
		gone = gone || len(of) < n
		return of, nil
	})
	return gone && err == nil, err
}

// Known keeps which tools persons have seen, for all nodes: one box for each site. Safe for concurrent use.
type Known struct {
	vault

	last sync.Map // what was read last, by site
}

var _ bridge.KnownTools = (*Known)(nil)

// NewKnown returns the known tools of the cluster.
func NewKnown(o Options) *Known { return &Known{vault: vault{o}} }

func (k *Known) keyOf(site string) string { return "w." + k.o.Name("known", site) }

// Known implements bridge.KnownTools. While the engine does not answer, it returns what it read last: a tool
// that was seen since then counts as new.
func (k *Known) Known(ctx context.Context, site string) ([]bridge.KnownTool, error) {
	var all []bridge.KnownTool
	tries := 0
	err := patiently(ctx, "listing the known tools of "+site, func(ctx context.Context) (err error) {
		all, err = readBox[bridge.KnownTool](ctx, k.vault, k.keyOf(site))
		tries++
		if last, there := k.last.Load(site); err != nil && there && tries > 2 {
			all, err = slices.Clone(last.([]bridge.KnownTool)), nil
		} else if err == nil {
			k.last.Store(site, slices.Clone(all))
		}
		return err
	})
	return all, err
}

// SetKnown implements bridge.KnownTools.
func (k *Known) SetKnown(ctx context.Context, site string, tools []bridge.KnownTool) error {
	return change(ctx, k.vault, k.keyOf(site), "keeping the known tools of "+site, func(was []bridge.KnownTool) ([]bridge.KnownTool, error) {
		return newest(slices.Concat(was, tools)), nil
	})
}

// newest returns the tools that were seen last, by name; of two of one name the later in the list.
func newest(tools []bridge.KnownTool) []bridge.KnownTool {
	seen := map[string]time.Time{}
	for _, tool := range tools {
		seen[tool.Tool] = tool.SeenAt.UTC().Round(0)
	}
	all := make([]bridge.KnownTool, 0, len(seen))
	for tool, at := range seen {
		all = append(all, bridge.KnownTool{Tool: tool, SeenAt: at})
	}
	slices.SortFunc(all, func(a, b bridge.KnownTool) int {
		return cmp.Or(b.SeenAt.Compare(a.SeenAt), strings.Compare(a.Tool, b.Tool))
	})
	all = all[:min(len(all), maxKnown)]
	slices.SortFunc(all, func(a, b bridge.KnownTool) int { return strings.Compare(a.Tool, b.Tool) })
	return all
}

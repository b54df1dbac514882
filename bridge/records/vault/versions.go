package vault

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge/webtool"
)

// maxVersions limits the versions of a webtool.
const maxVersions = 256

// Versions keeps the history of webtools for all nodes: a box for each webtool, with all of its versions,
// and one for each document. Only an update of the first makes a number, so two nodes never give one to two
// definitions. Safe for concurrent use.
type Versions struct {
	vault

	mu    sync.Mutex
	sizes map[string]size // of sites
}

// size counts the bytes of the documents of a site: when this node last counted all, and those that it added
// since.
type size struct{ all, added int64 }

var _ webtool.Store = (*Versions)(nil)

// NewVersions returns the histories of the cluster.
func NewVersions(o Options) *Versions {
	o.MaxVersionBytes = cmp.Or(o.MaxVersionBytes, 64<<20)
	return &Versions{vault: vault{o}, sizes: map[string]size{}}
}

// kept is a version in the box of its webtool.
type kept struct {
	Version  string    `json:"version"`
	Digest   string    `json:"digest"`
	LastSeen time.Time `json:"lastSeen"`
	Document string    `json:"document"` // the word of its box
	Bytes    int64     `json:"bytes"`    // of the document
}

func siteOf(name string) string { site, _, _ := strings.Cut(name, "/"); return site }

// prefixOf begins the keys of the webtools of a site.
func (v *Versions) prefixOf(site string) string { return "h." + v.o.Name("site", site) + "." }

func (v *Versions) keyOf(name string) string {
	return v.prefixOf(siteOf(name)) + v.o.Name("webtool", name)
}

func documentKey(id string) string { return "d." + id }

// Load implements webtool.Store.
func (v *Versions) Load(ctx context.Context, name string) (all []webtool.Record, err error) {
	err = patiently(ctx, "reading the history of "+name, func(ctx context.Context) error {
		history, err := readBox[kept](ctx, v.vault, v.keyOf(name))
		all = nil
		for _, one := range history {
			all = append(all, webtool.Record{Version: one.Version, Digest: one.Digest, LastSeen: one.LastSeen})
		}
		return err
	})
	return all, err
}

// Document implements webtool.Store.
func (v *Versions) Document(ctx context.Context, name, version string) (document json.RawMessage, err error) {
	err = patiently(ctx, "reading version "+version+" of "+name, func(ctx context.Context) error {
		history, err := readBox[kept](ctx, v.vault, v.keyOf(name))
		if err != nil {
			return err
		}
		document = nil
		if i := slices.IndexFunc(history, func(one kept) bool { return one.Version == version }); i >= 0 {
			b, err := v.read(ctx, documentKey(history[i].Document))
			document = b.data
			return err
		}
		return nil
	})
	return document, err
}

// Append implements webtool.Store.
func (v *Versions) Append(ctx context.Context, name string, r webtool.Record) error {
	if err := r.Check(name); err != nil {
		return err
	}
	document := box{key: documentKey(rand.Text())} // its own, until the webtool has it
	used := false
	err := patiently(ctx, "keeping version "+r.Version+" of "+name, func(ctx context.Context) (err error) {
		used, err = v.add(ctx, name, r, &document)
		return err
	})
	switch {
	case err == nil && used:
		v.makeRoom(ctx, siteOf(name), int64(len(r.Document)))
	case errors.Is(err, webtool.ErrConflict) && document.revision != 0, err == nil && !used && document.revision != 0:
		v.removeDocuments(ctx, []kept{{Document: wordOf(document)}})
	}
	return err
}

func wordOf(document box) string { return strings.TrimPrefix(document.key, "d.") }

// add adds a version once, and reports whether the box of its document is in use now.
func (v *Versions) add(ctx context.Context, name string, r webtool.Record, document *box) (used bool, err error) {
	at, err := v.read(ctx, v.keyOf(name))
	if err != nil {
		return false, err
	}
	history, err := readList[kept](at.data)
	if err != nil {
		return false, err
	}
	i := slices.IndexFunc(history, func(one kept) bool { return one.Version == r.Version || one.Digest == r.Digest })
	there := false
	if i >= 0 {
		if there, err = v.isThere(ctx, history[i], r); err != nil {
			return false, err
		}
	} else {
		i = len(history)
		history = append(history, kept{Version: r.Version, Digest: r.Digest, Bytes: int64(len(r.Document))})
	}
	if !there {
		if document.revision == 0 { // before the number is anybody's
			if *document, err = v.write(ctx, *document, r.Document); err != nil {
				return false, err
			}
		}
		history[i].Document = wordOf(*document)
	}
	history[i].see(r.LastSeen)
	used = history[i].Document == wordOf(*document)
	over := max(0, len(history)-maxVersions)
	data, err := writeList(history[over:])
	if err != nil || bytes.Equal(data, at.data) {
		return used, err
	}
	if _, err = v.write(ctx, at, data); err == nil {
		v.removeDocuments(ctx, history[:over])
	}
	return used, err
}

// isThere reports whether the document of a version is kept that is to be added. The error is
// webtool.ErrConflict for another version, or another document.
func (v *Versions) isThere(ctx context.Context, one kept, r webtool.Record) (bool, error) {
	if one.Version != r.Version || one.Digest != r.Digest {
		return false, fact{webtool.ErrConflict}
	}
	b, err := v.read(ctx, documentKey(one.Document))
	if b.revision == 0 || errors.Is(err, errTorn) {
		return false, nil // it is lost, and kept anew
	}
	if err == nil && !r.Same(webtool.Record{Version: one.Version, Digest: one.Digest, Document: b.data}) {
		err = fact{webtool.ErrConflict}
	}
	return true, err
}

// see moves when a version was seen forward.
func (k *kept) see(at time.Time) {
	if at = at.UTC().Round(0); at.After(k.LastSeen) {
		k.LastSeen = at
	}
}

// removeDocuments removes documents that no webtool has any more, where that can be done.
func (v *Versions) removeDocuments(ctx context.Context, all []kept) {
	for _, one := range all {
		if b, err := v.read(ctx, documentKey(one.Document)); b.revision != 0 && (err == nil || errors.Is(err, errTorn)) {
			_ = v.remove(ctx, b)
		}
	}
}

// Seen implements webtool.Store. What the engine does not take is not noted: the version is served from
// memory all the same.
func (v *Versions) Seen(ctx context.Context, name, version string, at time.Time) error {
	_ = patiently(ctx, "noting that a version was seen", func(ctx context.Context) error {
		return v.update(ctx, v.keyOf(name), func(data []byte) ([]byte, error) {
			history, err := readList[kept](data)
			if err != nil {
				return nil, err
			}
			for i := range history {
				if history[i].Version == version {
					history[i].see(at)
				}
			}
			return writeList(history)
		})
	})
	return nil
}

// makeRoom drops the oldest versions of a site when they are too many bytes, and a few more, so that it is
// not done each time: first those that are not the newest of a webtool, so that no number is given again,
// then webtools that were not seen for longest. All nodes count from time to time, so a site has a little
// more for a while. What fails is done with a later version.
func (v *Versions) makeRoom(ctx context.Context, site string, added int64) {
	v.mu.Lock()
	is, counted := v.sizes[site]
	is.added += added
	v.sizes[site] = is
	v.mu.Unlock()
	if counted && is.added <= v.o.MaxVersionBytes/32 && is.all+is.added <= v.o.MaxVersionBytes {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	boxes, err := v.list(ctx, v.prefixOf(site))
	if err != nil {
		return
	}
	gone, left := oldest(boxes, v.o.MaxVersionBytes)
	v.mu.Lock()
	v.sizes[site] = size{all: left}
	v.mu.Unlock()
	for key, old := range gone {
		err := v.update(ctx, key, func(data []byte) ([]byte, error) {
			history, err := readList[kept](data)
			if err != nil {
				return nil, err
			}
			return writeList(slices.DeleteFunc(history, func(one kept) bool {
				return slices.ContainsFunc(old, func(gone kept) bool { return gone.Document == one.Document })
			}))
		})
		if err == nil {
			v.removeDocuments(ctx, old)
		}
	}
}

// oldest returns the versions that must go, by the keys of their webtools, where all are more bytes than
// most, and the bytes that are left.
func oldest(webtools []box, most int64) (gone map[string][]kept, bytes int64) {
	type version struct {
		kept

		key    string
		newest bool
	}
	var all []version
	for _, b := range webtools {
		history, err := readList[kept](b.data)
		if err != nil {
			continue
		}
		for i, one := range history {
			all = append(all, version{one, b.key, i == len(history)-1})
			bytes += one.Bytes
		}
	}
	if bytes <= most {
		return nil, bytes
	}
	slices.SortStableFunc(all, func(a, b version) int {
		if a.newest != b.newest {
			return map[bool]int{false: -1, true: 1}[a.newest]
		}
		return a.LastSeen.Compare(b.LastSeen)
	})
	gone = map[string][]kept{}
	for _, one := range all {
		if bytes <= most/16*15 {
			break
		}
		bytes -= one.Bytes
		gone[one.key] = append(gone[one.key], one.kept)
	}
	return gone, bytes
}

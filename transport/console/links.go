package console

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// linkLife says how long a link can be opened, and maxLinks how many wait for it.
const (
	linkLife = time.Minute
	maxLinks = 16
)

// Links are addresses of the page that each log in once. The zero value makes none. It
// is safe for concurrent use.
type Links struct {
	// Once has the codes of all nodes of a cluster: a link of one logs in at every other. nil keeps them in this
	// process. It must not change after Serve.
	Once bridge.Once
	// Public is the origin at which people from elsewhere reach the page; "" is nowhere. It must not change after
	// Serve.
	Public string

	mu    sync.Mutex
	page  string // "http://127.0.0.1:7301/"
	codes map[string]link
}

// link can be used until then, by a person of that name.
type link struct {
	until time.Time
	name  string
}

// Serve makes the page's address known.
func (l *Links) Serve(page string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.page, l.codes = page, map[string]link{}
}

// Page is the address of the page; "" when there is none.
func (l *Links) Page() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.page
}

// New returns a link for a person of that name, who has one, or "" when there is no page. An error means that the
// nodes of the cluster cannot know of it now.
func (l *Links) New(ctx context.Context, name string, now time.Time) (string, error) {
	code := rand.Text()
	if l.Once != nil && l.Page() != "" {
		if _, err := l.Once.Put(ctx, onceOf(code), []byte(name), now.Add(linkLife)); err != nil {
			return "", err //nolint:wrapcheck // it says what it did
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.page == "" {
		return "", nil
	}
	for code, waits := range l.codes {
		if now.After(waits.until) || len(l.codes) >= maxLinks {
			delete(l.codes, code)
		}
	}
	l.codes[code] = link{now.Add(linkLife), name}
	return l.page + "#once=" + code, nil
}

// Waits reports whether the link with this ID was not used yet, and still can be, as far as this process knows: of
// a cluster it is the node whose address the link has.
func (l *Links) Waits(id string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for code, waits := range l.codes {
		if LinkID(code) == id {
			return now.Before(waits.until)
		}
	}
	return false
}

// LinkID returns the ID of a link, or of its code. It logs nobody in.
func LinkID(link string) string {
	sum := sha256.Sum256([]byte(link[strings.LastIndexByte(link, '=')+1:]))
	return hex.EncodeToString(sum[:16])
}

// onceOf names a code among what counts once, by its digest.
func onceOf(code string) string { return "link " + LinkID(code) }

// take returns whom a code is for, once. With an error, it can be tried again.
func (l *Links) take(ctx context.Context, code string, now time.Time) (name string, ok bool, err error) {
	if l.Once != nil {
		value, first, err := l.Once.Take(ctx, onceOf(code))
		if err != nil {
			return "", false, err //nolint:wrapcheck // as in New
		}
		name, ok = string(value), first
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	waits, there := l.codes[code]
	delete(l.codes, code)
	if l.Once == nil {
		name, ok = waits.name, there && now.Before(waits.until)
	}
	return name, ok, nil
}

// pageAddress says where a person can answer.
type pageAddress struct {
	URL       string `json:"url"`
	PublicURL string `json:"publicUrl,omitempty"`
}

// addresses returns a link as people on this machine open it, and as those from elsewhere do.
func (l *Links) addresses(link string) pageAddress {
	a := pageAddress{URL: link}
	if _, code, ok := strings.Cut(link, "#"); ok && l.Public != "" {
		a.PublicURL = l.Public + "/#" + code
	}
	return a
}

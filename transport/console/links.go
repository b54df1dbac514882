package console

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"sync"
	"time"
)

// linkLife says how long a link can be opened, and maxLinks how many wait for it.
const (
	linkLife = time.Minute
	maxLinks = 16
)

// Links are addresses of the page that each log in once. The zero value makes none. It
// is safe for concurrent use.
type Links struct {
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

// New returns a link for a person of that name, or "" when there is no page.
func (l *Links) New(name string, now time.Time) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.page == "" {
		return ""
	}
	for code, waits := range l.codes {
		if now.After(waits.until) || len(l.codes) >= maxLinks {
			delete(l.codes, code)
		}
	}
	code := rand.Text()
	l.codes[code] = link{now.Add(linkLife), name}
	return l.page + "#once=" + code
}

// Waits reports whether the link with this ID was not used yet, and still can be.
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

// take returns whom a code is for, once.
func (l *Links) take(code string, now time.Time) (name string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	waits, there := l.codes[code]
	delete(l.codes, code)
	return waits.name, there && now.Before(waits.until)
}

// pageAddress says where a person can answer.
type pageAddress struct {
	URL string `json:"url"`
}

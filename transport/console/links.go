package console

import (
	"crypto/rand"
	"net/http"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport"
)

// linkLife is how long a link can be opened, and maxLinks how many wait for it.
const (
	linkLife = time.Minute
	maxLinks = 16
)

// Links are addresses of the page that each log in once. The zero value makes none. It
// is safe for concurrent use.
type Links struct {
	mu    sync.Mutex
	page  string // "http://127.0.0.1:7301/"
	token string
	codes map[string]time.Time // until when each can be used
}

// Serve makes the page's address known, and the credential that its links give.
func (l *Links) Serve(page, token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.page, l.token, l.codes = page, token, map[string]time.Time{}
}

// Page is the address of the page; "" when there is none.
func (l *Links) Page() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.page
}

// New returns a link, or "" when there is no page.
func (l *Links) New(now time.Time) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.page == "" {
		return ""
	}
	for code, until := range l.codes {
		if now.After(until) || len(l.codes) >= maxLinks {
			delete(l.codes, code)
		}
	}
	code := rand.Text()
	l.codes[code] = now.Add(linkLife)
	return l.page + "#once=" + code
}

// take returns the credential for a code, once.
func (l *Links) take(code string, now time.Time) (token string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	until, there := l.codes[code]
	delete(l.codes, code)
	return l.token, there && now.Before(until)
}

// pageAddress is where a person can answer.
type pageAddress struct {
	URL string `json:"url"`
}

func (f *Face) page(w http.ResponseWriter, r *http.Request) {
	if _, ok := f.operator(w, r); ok {
		w.Header().Set("Cache-Control", "no-store")
		transport.WriteJSON(w, r, http.StatusOK, pageAddress{f.links.Page()})
	}
}

// link makes a link that logs in once.
func (f *Face) link(w http.ResponseWriter, r *http.Request) {
	if _, ok := f.operator(w, r); !ok {
		return
	}
	address := f.links.New(time.Now())
	if address == "" {
		transport.WriteError(w, r, bridge.Errorf(bridge.WebtoolNotFound, "", bridge.NotRun,
			"This process serves no page for operators."))
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	transport.WriteJSON(w, r, http.StatusOK, pageAddress{address})
}

// login gives the credential to whoever has the code of a link.
func (f *Face) login(w http.ResponseWriter, r *http.Request) {
	body, err := transport.ReadBody(r)
	if err != nil {
		transport.WriteError(w, r, bridge.AsError(err))
		return
	}
	v, err := bridge.ReadValue("The body", body)
	if err != nil {
		transport.WriteError(w, r, bridge.AsError(err))
		return
	}
	token, ok := f.links.take(v.Get("code").String(), time.Now())
	if !ok {
		transport.WriteError(w, r, bridge.Errorf(bridge.Forbidden, "", bridge.NotRun,
			"This link was used, or it is older than a minute. Run pagetools console for another one."))
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	transport.WriteJSON(w, r, http.StatusOK, struct {
		Token string `json:"token"`
	}{token})
}

package console

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/transport"
)

const (
	// loginLife sets how long a login lasts at most; bridge.LoginIdle ends it before.
	loginLife = 7 * 24 * time.Hour
	// lookForEnd sets how often the requests of a login are compared with what other processes
	// ended.
	lookForEnd = 500 * time.Millisecond
	// loginPrefix begins Caller.Credential of a login, and the ID follows.
	loginPrefix = "login:"
	// callerPrefix begins the names of people who came by a link. No configured caller has a colon.
	callerPrefix = "console:"
	// maxName bounds the name of a person, in bytes.
	maxName = 64
)

// operatorRights has the rights of a person who came by a link of the local operator.
var operatorRights = []bridge.Right{bridge.MayView, bridge.MayAnswer, bridge.MayCall}

// Logins gives out tokens for links, and finds the callers of these tokens. It is safe for
// concurrent use.
type Logins struct {
	store bridge.Logins

	mu   sync.Mutex
	held map[string]*heldLogin // by ID, those with a request under way
	look *time.Timer           // nil: nothing is held
}

// heldLogin is a login with requests under way.
type heldLogin struct {
	n     int
	ended chan struct{} // their Caller.Revoked
}

// NewLogins returns the logins that a store keeps, of this machine or of all nodes of a cluster.
func NewLogins(store bridge.Logins) *Logins {
	return &Logins{store: store, held: map[string]*heldLogin{}}
}

// begin logs a person in.
func (l *Logins) begin(ctx context.Context, name string, now time.Time) (token string, until time.Time, err error) {
	token = rand.Text() + rand.Text() // 260 bits
	login := bridge.Login{ID: rand.Text()[:8], Name: name, May: operatorRights, Since: now, Used: now, Until: now.Add(loginLife)}
	return token, login.Until, l.store.Begin(ctx, login, sha256.Sum256([]byte(token)))
}

// Caller returns the caller of a token, for transport.Options.Tokens. Its Revoked is closed when the
// login is ended, in whatever process or node, within a second.
func (l *Logins) Caller(r *http.Request, token string) (bridge.Caller, bool, error) {
	login, err := l.store.Find(r.Context(), sha256.Sum256([]byte(token)))
	if err != nil || login.ID == "" {
		return bridge.Caller{}, false, err //nolint:wrapcheck // the store says what it did
	}
	return bridge.Caller{Name: callerPrefix + login.Name, May: login.May, Credential: loginPrefix + login.ID,
		Revoked: l.hold(r.Context(), login.ID), Expires: login.Until}, true, nil
}

// loginOf returns the ID of the login that a caller came with, or "".
func loginOf(c bridge.Caller) string {
	id, _ := strings.CutPrefix(c.Credential, loginPrefix)
	if id == c.Credential {
		return ""
	}
	return id
}

// hold counts a request of a login until ctx ends.
func (l *Logins) hold(ctx context.Context, id string) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.held[id]
	if h == nil {
		h = &heldLogin{ended: make(chan struct{})}
		l.held[id] = h
	}
	h.n++
	if l.look == nil {
		l.look = time.AfterFunc(lookForEnd, l.compare)
	}
	context.AfterFunc(ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if h.n--; h.n == 0 && l.held[id] == h {
			delete(l.held, id)
		}
	})
	return h.ended
}

// compare ends the requests of logins that are over, also those that another process ended.
func (l *Logins) compare() {
	all, err := l.store.All(context.Background())
	lives := map[string]bool{}
	for _, one := range all {
		lives[one.ID] = true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for id := range l.held {
		if err == nil && !lives[id] {
			l.endIt(id)
		}
	}
	if l.look = nil; len(l.held) > 0 {
		l.look = time.AfterFunc(lookForEnd, l.compare)
	}
}

// endIt ends the requests of a login, with l.mu held.
func (l *Logins) endIt(id string) {
	if h := l.held[id]; h != nil {
		delete(l.held, id)
		close(h.ended)
	}
}

// end ends a login with its requests; false means that there was none.
func (l *Logins) end(ctx context.Context, id string) (bool, error) {
	gone, err := l.store.End(ctx, id)
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.endIt(id)
	}
	return gone, err //nolint:wrapcheck // as in Caller
}

// keepUsed notes that a stream of the caller goes on: a page that is only looked at does not idle.
func (f *Face) keepUsed(ctx context.Context, c bridge.Caller) {
	if id := loginOf(c); id != "" && f.logins != nil {
		_, _ = f.logins.store.Use(ctx, id) // compare ends what is over
	}
}

// loginJSON is a login in the list.
type loginJSON struct {
	Node     string         `json:"node"`
	ID       string         `json:"id"`
	Name     string         `json:"name"`
	Rights   []bridge.Right `json:"rights"`
	Since    time.Time      `json:"since"`
	LastUsed time.Time      `json:"lastUsed"`
	Until    time.Time      `json:"until"`
	// Current marks the one that the request came with.
	Current bool `json:"current"`
}

// login gives the token of a new login for the code of a link.
func (f *Face) login(w http.ResponseWriter, r *http.Request) {
	in, err := readObject(r, "code")
	if err != nil {
		transport.WriteError(w, r, bridge.AsError(err))
		return
	}
	now := time.Now()
	name, ok, err := f.links.take(r.Context(), in.Get("code").String(), now)
	if err != nil {
		transport.WriteError(w, r, bridge.AsError(err))
		return
	}
	if !ok || f.logins == nil {
		transport.WriteError(w, r, bridge.Errorf(bridge.Forbidden, "", bridge.NotRun,
			"%s", f.words.Of("This link was used, or it is older than a minute.")))
		return
	}
	token, until, err := f.logins.begin(r.Context(), name, now)
	if err != nil {
		transport.WriteError(w, r, bridge.AsError(err))
		return
	}
	f.log.InfoContext(r.Context(), "login: begins", "name", name)
	write(w, r, struct {
		Token string    `json:"token"`
		Until time.Time `json:"until"`
	}{token, until})
}

// logout ends the login that the request came with.
func (f *Face) logout(w http.ResponseWriter, r *http.Request, c bridge.Caller) {
	id := loginOf(c)
	if id == "" {
		transport.WriteError(w, r, bridge.Errorf(bridge.Conflict, "", bridge.NotRun,
			"This credential is not of a login by a link: whoever configured it can end it."))
		return
	}
	f.endLogin(w, r, c, id)
}

// ofAllSites serves a caller that sees all sites: logins are for all of them.
func ofAllSites(serve operation) operation {
	return func(w http.ResponseWriter, r *http.Request, c bridge.Caller) {
		if c.Sites != nil {
			transport.WriteError(w, r, bridge.Errorf(bridge.Forbidden, "", bridge.NotRun,
				"This credential is for some sites, and this is a matter of all."))
			return
		}
		serve(w, r, c)
	}
}

func (f *Face) listLogins(w http.ResponseWriter, r *http.Request, c bridge.Caller) {
	out := []loginJSON{}
	if f.logins != nil {
		all, err := f.logins.store.All(r.Context())
		if err != nil {
			transport.WriteError(w, r, bridge.AsError(err))
			return
		}
		for _, x := range all {
			out = append(out, loginJSON{f.node, x.ID, x.Name, x.May, x.Since, x.Used, x.Until, loginOf(c) == x.ID})
		}
	}
	page(w, r, out, func(x loginJSON) string { return x.ID })
}

func (f *Face) removeLogin(w http.ResponseWriter, r *http.Request, c bridge.Caller) {
	f.endLogin(w, r, c, r.PathValue("id"))
}

func (f *Face) endLogin(w http.ResponseWriter, r *http.Request, c bridge.Caller, id string) {
	gone, err := false, error(nil)
	if f.logins != nil {
		gone, err = f.logins.end(r.Context(), id)
	}
	switch {
	case err != nil:
		transport.WriteError(w, r, bridge.AsError(err))
	case !gone:
		transport.WriteError(w, r, bridge.Errorf(bridge.WebtoolNotFound, "", bridge.NotRun, "There is no login %q.", text.Brief(id, maxName)))
	default:
		f.log.InfoContext(r.Context(), "login: ended", "login", id, "by", c.Name)
		write(w, r, map[string]string{"status": "ok"})
	}
}

package oauth

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/bridge/text"
)

// Target is one principal at one API.
type Target struct {
	// Principal is the caller whose credentials are used.
	Principal string
	// Resource is the address of the API's server: its origin is the only one that gets
	// credentials.
	Resource *url.URL
	// Document says where the API's document is: relative addresses in it begin there. nil is
	// Resource.
	Document *url.URL
	// Alternatives lists `security`: a request needs one of them, with all of its schemes. One
	// without schemes needs nothing, and neither does an empty list.
	Alternatives [][]Scheme
}

func (t *Target) base() *url.URL {
	if t.Document != nil {
		return t.Document
	}
	return t.Resource
}

// The errors that a person can mend. They come as a [*Needed].
var (
	ErrLoginNeeded = errors.New("a login is needed")
	ErrStepUp      = errors.New("the login has too few scopes")
)

// Needed is the error of a request that a login would help. It is [ErrLoginNeeded] or [ErrStepUp].
type Needed struct {
	Err error
	// Site is the address to log in at, and Resource that of the API's server.
	Site, Resource string
	// Principal is the caller who needs the login.
	Principal string
	// Schemes lists the schemes without a credential, and Scopes the missing scopes.
	Schemes, Scopes []string

	words text.Words
}

// Error says what to do, in one line.
func (n *Needed) Error() string {
	var logins []string
	for _, scheme := range n.Schemes {
		scopes, caller := "", ""
		if len(n.Scopes) > 0 {
			scopes = fmt.Sprintf(n.words.Of(" for %s"), word(strings.Join(n.Scopes, " ")))
		}
		if n.Principal != "local" {
			caller = fmt.Sprintf(n.words.Of(" as %s"), word(n.Principal))
		}
		logins = append(logins, fmt.Sprintf(n.words.Of("log in to %s with %s%s%s"), word(n.Site),
			word(scheme), scopes, caller))
	}
	said := fmt.Sprintf("%s for %s", n.Err, clean(n.Resource, 200))
	if len(logins) == 0 {
		return said + ", and none of its security schemes is known"
	}
	return said + n.words.Of(": ") + strings.Join(logins, ", then ")
}

// Unwrap returns which of the errors it is.
func (n *Needed) Unwrap() error { return n.Err }

// word writes a stranger's text as one word of a shell.
func word(s string) string {
	s = strings.ReplaceAll(clean(s, maxAddress), "`", "%60")
	safe := !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') &&
			!strings.ContainsRune(":/._%@+,=-", r)
	})
	if safe && s != "" && s[0] != '-' {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Options configures a keeper.
type Options struct {
	// Store has the credentials; nil is one in memory.
	Store *Store
	// Client makes the requests to authorization servers. Its transport says which addresses may be
	// reached; its CheckRedirect, cookies and timeout do not count. nil is one that reaches all.
	Client *http.Client
	// Words words errors for whoever may log in.
	Words text.Words
}

// Keeper signs requests. It is safe for concurrent use.
type Keeper struct {
	store     *Store
	words     text.Words
	following *http.Client // within one origin
	posting   *http.Client // follows no redirect: a code or a token is in the request
}

// New returns a keeper.
func New(o Options) *Keeper {
	k := &Keeper{store: o.Store, words: o.Words}
	if k.store == nil {
		k.store = &Store{gates: map[string]chan struct{}{}}
	}
	transport := bounded{http.DefaultTransport}
	if o.Client != nil && o.Client.Transport != nil {
		transport.to = o.Client.Transport
	}
	k.following = &http.Client{Transport: transport, CheckRedirect: CheckRedirect}
	k.posting = &http.Client{Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return k
}

// bounded ends requests after askTime. It refuses a switch to another protocol, which nobody asked for:
// the body of such an answer would not end with its request.
type bounded struct{ to http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(r.Context(), askTime)
	res, err := b.to.RoundTrip(r.WithContext(ctx))
	if err == nil && res.StatusCode == http.StatusSwitchingProtocols {
		_ = res.Body.Close() // nothing of it is read
		err = errors.New("unexpected status 101 Switching Protocols")
	}
	if err != nil {
		cancel()
		return nil, err
	}
	res.Body = &cancelBody{res.Body, cancel}
	return res, nil
}

// Format implements fmt.Formatter: no verb looks into a keeper.
func (k *Keeper) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "oauth.Keeper") }

// unreached leaves out the address of an error of net/http, which may hold a secret.
func unreached(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		host := ""
		if u, err := url.Parse(e.URL); err == nil {
			host = u.Host
		}
		return fmt.Errorf("asking %s: %w", clean(host, 200), e.Err)
	}
	return err
}

// use is a credential with the scheme that uses it.
type use struct {
	scheme Scheme
	object *schemeObject
	entry
}

// held returns the credentials of the first alternative of which all are there; none when there is
// no such alternative. optional is true when none are needed.
func (k *Keeper) held(t Target) (uses []use, optional bool, err error) {
	entries, err := k.store.entries()
	if err != nil {
		return nil, false, err
	}
	optional = len(t.Alternatives) == 0
	for _, all := range t.Alternatives {
		if len(all) == 0 {
			optional = true
			continue
		}
		uses, places := make([]use, 0, len(all)), map[string]bool{}
		for _, s := range all {
			o, err := s.read()
			if err != nil || o.place() != "" && places[o.place()] {
				break
			}
			places[o.place()] = true
			i := t.find(entries, s.Name, o.kind)
			if i < 0 || !entries[i].damaged && entries[i].record.Kind != o.kind {
				break
			}
			if entries[i].damaged {
				return nil, false, fmt.Errorf("the credential of %q for %s cannot be used: %w; log in again",
					clean(s.Name, 64), canonical(t.Resource), ErrDamaged)
			}
			uses = append(uses, use{s, o, entries[i]})
		}
		if len(uses) == len(all) {
			return uses, optional, nil
		}
	}
	return nil, optional, nil
}

// find returns where the target's credential for a scheme is: the nearest of those of the resource
// and of what is around it; -1 is nowhere.
func (t *Target) find(entries []entry, scheme string, kind Kind) int {
	place, found := t.place(kind), -1
	for i, e := range entries {
		if e.key.Principal == t.Principal && e.key.Scheme == scheme &&
			(e.key.Issuer != "") == (kind == Token) &&
			within(place, e.key.Resource) &&
			(found < 0 || len(e.key.Resource) > len(entries[found].key.Resource)) {
			found = i
		}
	}
	return found
}

func (t *Target) place(kind Kind) string {
	if kind == Token {
		return canonical(t.Resource)
	}
	return origin.OfURL(t.Resource)
}

// needed is the error of a target without credentials: it names the schemes of the first
// alternative that is known.
func (k *Keeper) needed(t *Target, err error, scopes []string) error {
	n := &Needed{Err: err, Site: t.base().String(), Resource: canonical(t.Resource),
		Principal: t.Principal, Scopes: scopes, words: k.words}
	for _, all := range t.Alternatives {
		names := make([]string, 0, len(all))
		for _, s := range all {
			if _, err := s.read(); err == nil {
				names = append(names, s.Name)
			}
		}
		if len(names) == len(all) && len(all) > 0 {
			n.Schemes = names
			break
		}
	}
	return n
}

// demands reports whether any alternative has a scheme.
func (t *Target) demands() bool {
	return slices.ContainsFunc(t.Alternatives, func(all []Scheme) bool { return len(all) > 0 })
}

// Sign puts into a request what the first alternative needs of which the principal has all
// credentials: a token that has expired is renewed first. When there is none, and one of the
// alternatives is empty, the request stays as it is; otherwise the error is a [*Needed] with
// [ErrLoginNeeded]. A request to another origin than the target's is an error, and so is one that
// would carry a secret over http to another machine; nothing is put into it then.
//
// The client that sends the request must have [CheckRedirect], or follow no redirect. An error of
// [http.Client] names the address, in which a key may be: use what its *url.Error wraps.
func (k *Keeper) Sign(ctx context.Context, t Target, r *http.Request) error {
	if !t.demands() {
		return nil
	}
	if !origin.SameURL(r.URL, t.Resource) {
		return fmt.Errorf("credentials of %s are not sent to %s", origin.OfURL(t.Resource),
			clean(origin.OfURL(r.URL), 200))
	}
	uses, optional, err := k.held(t)
	if err != nil {
		return err
	}
	if len(uses) == 0 {
		if optional {
			return nil
		}
		return k.needed(&t, ErrLoginNeeded, nil)
	}
	if err := secure(r.URL, true); err != nil {
		return fmt.Errorf("credentials are not sent to %s: %w",
			clean(origin.OfURL(r.URL), 200), err)
	}
	for i := range uses {
		u := &uses[i]
		if u.object.kind != Token || !u.record.expired(time.Now()) {
			continue
		}
		fresh, err := k.renew(ctx, t, u.key, u.record.Access)
		if errors.Is(err, ErrLoginNeeded) && optional {
			return nil
		}
		if err != nil {
			return err
		}
		u.record = *fresh
	}
	for _, u := range uses {
		u.object.apply(r, &u.record)
	}
	return nil
}

// Refused says what to do about a response to a request that Sign signed. After 401 a token is
// renewed once, and again is true: the request is worth being sent once more, after Sign has
// signed it anew; a second 401 is final. Otherwise the error is a [*Needed]: [ErrLoginNeeded]
// after 401, and [ErrStepUp], with the scopes that are missing, after 403 with insufficient_scope
// (RFC 6750 3.1). Of other responses it says nothing. The body of the response is not read.
func (k *Keeper) Refused(ctx context.Context, t Target, res *http.Response,
) (again bool, err error) {
	c := readChallenge(res.Header.Values("WWW-Authenticate"))
	stepUp := res.StatusCode == http.StatusForbidden && c.failure == "insufficient_scope"
	if !t.demands() || res.StatusCode != http.StatusUnauthorized && !stepUp {
		return false, nil
	}
	uses, _, err := k.held(t)
	if err != nil {
		return false, err
	}
	if stepUp {
		var granted []string
		for _, u := range uses {
			granted = union(granted, u.record.Scopes)
		}
		missing := slices.DeleteFunc(c.scopes, func(s string) bool { return slices.Contains(granted, s) })
		return false, k.needed(&t, ErrStepUp, missing)
	}
	for _, u := range uses {
		if u.object.kind != Token {
			continue
		}
		sent := "Bearer " + string(u.record.Access)
		if res.Request != nil && res.Request.Header.Get("Authorization") != sent {
			again = true // it was renewed meanwhile
		} else if u.record.renews() {
			if _, err := k.renew(ctx, t, u.key, u.record.Access); err != nil {
				return false, err
			}
			again = true
		}
	}
	if !again {
		return false, k.needed(&t, ErrLoginNeeded, c.scopes)
	}
	return true, nil
}

// Certificate returns the certificate for connections to the target's API; nil when the first
// alternative with credentials needs none.
func (k *Keeper) Certificate(t Target) (*tls.Certificate, error) {
	if !t.demands() {
		return nil, nil //nolint:nilnil // none is needed
	}
	uses, _, err := k.held(t)
	if err != nil {
		return nil, err
	}
	for _, u := range uses {
		if u.object.kind != Certificate {
			continue
		}
		pem := []byte(u.record.Value)
		c, err := tls.X509KeyPair(pem, pem)
		if err != nil {
			return nil, fmt.Errorf("the certificate of %q cannot be used: log in again",
				clean(u.scheme.Name, 64))
		}
		return &c, nil
	}
	return nil, nil //nolint:nilnil // none is needed
}

// Keep keeps the secret of a scheme that needs no login: an API key, a bearer token,
// USER:PASSWORD, or a certificate with its private key in PEM.
func (k *Keeper) Keep(ctx context.Context, t Target, s Scheme, secret Secret) error {
	o, err := s.read()
	if err != nil {
		return err
	}
	if err := o.readSecret(secret); err != nil {
		return fmt.Errorf("the security scheme %q: %w", clean(s.Name, 64), err)
	}
	if err := secure(t.Resource, true); err != nil {
		return fmt.Errorf("no key is kept for %s: %w", origin.OfURL(t.Resource), err)
	}
	return k.store.put(ctx, Key{Principal: t.Principal, Resource: t.place(o.kind), Scheme: s.Name},
		&record{Kind: o.kind, Value: secret})
}

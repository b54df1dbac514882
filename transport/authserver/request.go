package authserver

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// request holds what a client asks a person for. It is sealed into the page, with a digest of the
// cookie that the browser has which began it, so that strangers who begin many cost nothing.
type request struct {
	Client    string    `json:"c"`
	Host      string    `json:"h,omitempty"`
	Name      string    `json:"n,omitempty"`
	Redirect  string    `json:"r"`
	State     string    `json:"s,omitempty"`
	HasState  bool      `json:"t,omitempty"`
	Challenge string    `json:"p"`
	Resource  string    `json:"a"`
	ID        string    `json:"i"` // names the cookie
	Cookie    []byte    `json:"k"` // its SHA-256
	Until     time.Time `json:"u"`
}

// How long a person may take, and how long what a client says for itself may be.
const (
	requestTime = 10 * time.Minute
	maxState    = 4 << 10
)

// The names of cookies: browsers take those with this prefix from this very host only, over TLS.
const (
	loginCookie   = "__Host-pagetools"
	requestCookie = "__Host-pagetools-request-"
)

// newSeal seals with a key; nil is one that ends with the process.
func newSeal(key []byte) cipher.AEAD {
	if key == nil {
		key = make([]byte, 32)
		_, _ = rand.Read(key) // it never fails: it ends the program instead
	}
	block, err := aes.NewCipher(key)
	if err == nil {
		var seal cipher.AEAD
		if seal, err = cipher.NewGCMWithRandomNonce(block); err == nil {
			return seal
		}
	}
	panic(err) // of a key of the right size
}

var b64 = base64.RawURLEncoding

// sealed returns the request as the page has it.
func (s *Server) sealed(q *request) string {
	body, err := json.Marshal(q)
	if err != nil {
		panic(err) // of plain fields
	}
	return b64.EncodeToString(s.seal.Seal(nil, nil, body, nil)) //nolint:gosec // it makes a random nonce itself
}

// opened returns the request of a page, if this server made it, the browser has its cookie, and it
// is not over.
func (s *Server) opened(r *http.Request, token string) (*request, bool) {
	text, err := b64.DecodeString(token)
	if err != nil {
		return nil, false
	}
	body, err := s.seal.Open(nil, nil, text, nil)
	if err != nil {
		return nil, false
	}
	q := &request{}
	if json.Unmarshal(body, q) != nil || !s.o.Now().Before(q.Until) {
		return nil, false
	}
	for _, c := range r.CookiesNamed(requestCookie + q.ID) {
		sum := sha256.Sum256([]byte(c.Value))
		if subtle.ConstantTimeCompare(sum[:], q.Cookie) == 1 {
			return q, true
		}
	}
	return nil, false
}

// setCookie has the browser keep a value, until a time; an empty one is taken away.
func setCookie(w http.ResponseWriter, name, value string, life time.Duration) {
	c := &http.Cookie{Name: name, Value: value, Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteLaxMode,
		MaxAge: int(life / time.Second)}
	if value == "" {
		c.MaxAge = -1
	}
	http.SetCookie(w, c)
}

// authorize asks a person whether a client may come in.
func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	q, p := s.asked(r)
	switch {
	case p != nil && (q == nil || startsApp(q.Redirect)):
		s.refuse(w, r, p)
		return
	case p != nil:
		s.sendBack(w, r, q, url.Values{"error": {p.Code}, "error_description": {p.About}}, http.StatusFound)
		return
	}
	cookie := rand.Text()
	sum := sha256.Sum256([]byte(cookie))
	q.ID, q.Cookie, q.Until = rand.Text()[:8], sum[:], s.o.Now().Add(requestTime)
	setCookie(w, requestCookie+q.ID, cookie, requestTime)
	s.ask(w, r, q, asking{person: s.loggedIn(r)})
}

// single returns the one value of a parameter; not ok when there are several.
func single(v url.Values, name string) (string, bool) {
	all := v[name]
	if len(all) == 0 {
		return "", true
	}
	return all[0], len(all) == 1
}

// formOfChallenge is the SHA-256 of a verifier (RFC 7636, 4.2).
var formOfChallenge = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// asked reads what a client asks for. A problem without a request is told to the person: there is
// nowhere to send them. An app is not told either: a mistake in a stranger's link starts none. Every other
// client is told of it.
func (s *Server) asked(r *http.Request) (*request, *problem) {
	v, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, fault("invalid_request", "The address cannot be read.")
	}
	id, once := single(v, "client_id")
	to, once2 := single(v, "redirect_uri")
	if !once || !once2 {
		return nil, fault("invalid_request", "client_id and redirect_uri must be there once.")
	}
	c, p := s.client(r.Context(), r, id)
	switch {
	case p != nil:
		return nil, p
	case !c.returnsTo(to):
		return nil, fault("invalid_redirect_uri", "The redirect_uri is not one that this client registered.")
	}
	state, once := single(v, "state")
	q := &request{Client: c.id, Host: c.host, Name: c.name, Redirect: to, State: state, HasState: v.Has("state") && once && len(state) <= maxState}
	for _, name := range []string{"response_type", "response_mode", "code_challenge", "code_challenge_method", "state", "scope", "prompt", "request", "request_uri"} {
		if _, once := single(v, name); !once {
			return q, fault("invalid_request", name+" must be there once.")
		}
	}
	q.Challenge = v.Get("code_challenge")
	resource, known := s.resource(v["resource"], "")
	mode, method := v.Get("response_mode"), v.Get("code_challenge_method")
	switch {
	case v.Has("request"):
		return q, fault("request_not_supported", "Requests in a JWT are not taken.")
	case v.Has("request_uri"):
		return q, fault("request_uri_not_supported", "Requests at an address are not taken.")
	case len(state) > maxState:
		return q, fault("invalid_request", "state is too long.")
	case v.Get("response_type") != "code":
		return q, fault("unsupported_response_type", "The response_type must be code.")
	case mode != "" && mode != "query":
		return q, fault("invalid_request", "The response_mode must be query.")
	case !formOfChallenge.MatchString(q.Challenge) || method != "S256":
		return q, fault("invalid_request", "A code_challenge with the code_challenge_method S256 is needed (PKCE).")
	case !known:
		return q, fault("invalid_target", "The resource is not one of this server.")
	case !hasScope(v.Get("scope")):
		return q, fault("invalid_scope", "The one scope here is "+Scope+".")
	case slices.Contains(strings.Fields(v.Get("prompt")), "none"):
		return q, fault("interaction_required", "A person is asked each time.")
	}
	q.Resource = resource
	return q, nil
}

// hasScope reports whether a scope is among those that are asked for, or none are.
func hasScope(asked string) bool {
	all := strings.Fields(asked)
	return len(all) == 0 || slices.Contains(all, Scope)
}

// resource returns the resource that tokens are for: the one that is named, or else another.
func (s *Server) resource(named []string, otherwise string) (string, bool) {
	switch len(named) {
	case 0:
		if otherwise == "" {
			otherwise = s.o.Public
		}
		return otherwise, true
	case 1:
		return s.o.Resource(named[0])
	}
	return "", false
}

// sendBack sends a browser to where a client wants it, with parameters of ours (RFC 9207).
func (s *Server) sendBack(w http.ResponseWriter, _ *http.Request, q *request, v url.Values, status int) {
	v.Set("iss", s.o.Public)
	if q.HasState {
		v.Set("state", q.State)
	}
	address, between := q.Redirect, "?"
	if strings.Contains(address, "?") {
		between = "&"
	}
	h := w.Header()
	h.Set("Location", address+between+v.Encode())
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(status)
}

// maxLogins bounds the cookies of a request that are looked up: a browser sends one.
const maxLogins = 4

// logins returns the digests of the logins that a browser shows.
func logins(r *http.Request) (all []bridge.Digest) {
	for _, c := range r.CookiesNamed(loginCookie) {
		if len(all) < maxLogins {
			all = append(all, sha256.Sum256([]byte(c.Value)))
		}
	}
	return all
}

// loggedIn returns whom the browser is logged in as, or nil.
func (s *Server) loggedIn(r *http.Request) *Person {
	for _, d := range logins(r) {
		name, err := s.o.Browsers.Person(r.Context(), d)
		if err != nil {
			s.o.Log.WarnContext(r.Context(), "sign-in: looking for a login", "error", err)
		}
		if p := s.person(name); name != "" && p != nil {
			return p
		}
	}
	return nil
}

package recipes

import (
	"crypto/rand"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// request holds the rights for which a client asks a person.
type request struct {
	client    *client
	redirect  string
	challenge string
	scopes    []string
}

// code stands for a person's consent until the client fetches its tokens.
type code struct {
	request
	person *person
	used   bool
	grant  string // what it was exchanged for
}

// authorize is the authorization endpoint (RFC 6749, section 4.1). GET shows the consent page, POST
// is its form, under the same address: the request is read anew, so that nothing waits in between.
func (s *server) authorize(r *http.Request) reply {
	in := r.URL.Query()
	c := s.clientOf(in.Get("client_id"))
	if c == nil || len(in["client_id"]) > 1 {
		return s.note(http.StatusBadRequest,
			"This client is not known here. It must register again.")
	}
	back := c.redirectOf(in.Get("redirect_uri"))
	if back == nil || len(in["redirect_uri"]) > 1 {
		return s.note(http.StatusBadRequest,
			"The address to return to is not one that the client registered.")
	}
	// From here on errors go to the client, because the address is its own.
	answer := func(name, value string) reply {
		out := *back
		q := out.Query()
		q.Set(name, value)
		q.Set("iss", s.issuer) // RFC 9207: the client sees which server answers
		if state := in.Get("state"); state != "" {
			q.Set("state", state)
		}
		out.RawQuery = q.Encode()
		return redirect(out.String())
	}
	q, err := s.read(c, in)
	if err != nil {
		return answer("error", failureOf(err).code)
	}
	x := s.personOf(r)
	if x == nil {
		return signIn(r)
	}
	if r.Method == http.MethodGet {
		// The form leads back to the client; a policy cannot name the host [::1].
		return s.html(http.StatusOK, "consent", "'self' http:", map[string]any{
			"Client": c.name, "Name": x.person.name, "Where": back.Host, "Scopes": words(q.scopes),
			"Action": r.URL.RequestURI(), "CSRF": x.csrf,
		})
	}
	if err := r.ParseForm(); err != nil {
		return failed(wrong("invalid_request", "The form cannot be read."))
	}
	yes, err := agreed(x, r.PostForm)
	switch {
	case err != nil:
		return failed(err)
	case !yes:
		return answer("error", "access_denied")
	}
	s.letIn(c)
	secret := rand.Text()
	s.codes.put(digest(secret), &code{request: q, person: x.person})
	return answer("code", secret)
}

// s256 is the form of what SHA-256 makes of a verifier (RFC 7636, section 4.2).
var s256 = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// read reads what a known client asks for.
func (s *server) read(c *client, in url.Values) (request, error) {
	q := request{client: c, redirect: in.Get("redirect_uri"), challenge: in.Get("code_challenge")}
	if err := s.once(in); err != nil {
		return q, err
	}
	switch {
	case in.Get("response_type") != "code":
		return q, wrong("unsupported_response_type", "response_type must be code.")
	case in.Get("code_challenge_method") != "S256" || !s256.MatchString(q.challenge):
		return q, wrong("invalid_request", "PKCE with S256 is needed.")
	case len(in.Get("state")) > 1000:
		return q, wrong("invalid_request", "state is too long.")
	}
	var err error
	q.scopes, err = scopesOf(in.Get("scope"), scopes)
	return q, err
}

// words are scopes as a person reads them.
func words(of []string) []string {
	said := make([]string, len(of))
	for i, scope := range of {
		said[i] = scopeWords[scope]
	}
	return said
}

// note is a page with one sentence.
func (s *server) note(status int, text string) reply {
	return s.html(status, "note", "'none'", strings.TrimSpace(text))
}

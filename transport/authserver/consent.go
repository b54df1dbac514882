package authserver

import (
	"crypto/rand"
	"crypto/sha256"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport"
)

// loginTime sets how long a browser stays logged in.
const loginTime = 30 * 24 * time.Hour

// The buttons of the page.
const (
	doAllow = "allow"
	doDeny  = "deny"
	doOther = "other" // somebody else is at the browser
)

// consent takes a person's answer, from the browser that was asked.
func (s *Server) consent(w http.ResponseWriter, r *http.Request) {
	v, p := readForm(r)
	if p == nil && !sameOrigin(s.o.Public, r) {
		p = fault("invalid_request", "The answer did not come from this server's own page.")
		p.status = http.StatusForbidden
	}
	if p != nil {
		s.refuse(w, r, p)
		return
	}
	q, ours := s.opened(r, v.Get("token"))
	if ours {
		var err error
		if ours, err = s.codes.began(r.Context(), q); err != nil {
			s.refuse(w, r, failed(err))
			return
		}
	}
	if !ours {
		p := fault("invalid_request", "This page is over, was answered already, or was opened in another browser. "+
			"Go back to the client, and begin again.")
		p.status = http.StatusForbidden
		s.refuse(w, r, p)
		return
	}
	switch v.Get("do") {
	case doAllow:
		s.allow(w, r, q, v)
	case doDeny: // not noted: strangers could say no without end
		setCookie(w, requestCookie+q.ID, "", 0)
		s.sendBack(w, r, q, url.Values{"error": {"access_denied"}, "error_description": {"The person said no."}}, http.StatusSeeOther)
	case doOther:
		s.logOut(w, r)
		s.ask(w, r, q, asking{})
	default:
		s.refuse(w, r, fault("invalid_request", "The answer is neither yes nor no."))
	}
}

// allow lets a client in, if the person is known by now.
func (s *Server) allow(w http.ResponseWriter, r *http.Request, q *request, v url.Values) {
	person := s.loggedIn(r)
	if person == nil {
		var p *problem
		if person, p = s.logIn(w, r, v); p != nil {
			s.ask(w, r, q, asking{why: p, name: v.Get("person")})
			return
		}
	}
	ended, err := s.codes.end(r.Context(), q)
	if err == nil && !ended {
		s.refuse(w, r, fault("invalid_request", "This page was answered already."))
		return
	}
	code := ""
	if err == nil {
		code, err = s.codes.add(r.Context(), given{request: *q, Person: person.Name, Connection: newID()})
	}
	if err != nil {
		s.refuse(w, r, failed(err))
		return
	}
	setCookie(w, requestCookie+q.ID, "", 0)
	s.sendBack(w, r, q, url.Values{"code": {code}}, http.StatusSeeOther)
}

// logIn finds out who is at a browser, by the code or the password that they typed, and has the
// browser remember it. Wrong ones are counted before they are compared.
func (s *Server) logIn(w http.ResponseWriter, r *http.Request, v url.Values) (*Person, *problem) {
	code, name, password := v.Get("code"), v.Get("person"), v.Get("password")
	if strings.TrimSpace(code) == "" && password == "" {
		return nil, wrong(s.o.Words.Of("Type the code that the operator of this server has for you."))
	}
	address := addressOf(r)
	wait := s.attempts.take(address)
	if wait == 0 {
		if wait = s.guesses.take(""); wait > 0 {
			s.attempts.giveBack(address)
		}
	}
	if wait > 0 {
		return nil, tooMany(seconds(wait), "There were too many wrong codes. Nobody can log in for some time, with a right one either.")
	}
	var person *Person
	if strings.TrimSpace(code) != "" {
		name, err := s.codes.paired(r.Context(), code)
		if err != nil {
			return nil, failed(err)
		}
		person = s.person(name)
	} else {
		person = s.byPassword(r.Context(), name, password)
	}
	if person == nil {
		about := "This code is wrong, was used, or is older than 10 minutes."
		if strings.TrimSpace(code) == "" {
			about = "The name or the password is wrong."
		}
		return nil, wrong(about)
	}
	s.attempts.giveBack(address)
	s.guesses.giveBack("")
	value := rand.Text() + rand.Text()
	err := s.o.Browsers.Remember(r.Context(), person.Name, bridge.Secret{Digest: sha256.Sum256([]byte(value)), Until: s.o.Now().Add(loginTime)})
	if err != nil {
		return nil, failed(err)
	}
	setCookie(w, loginCookie, value, loginTime)
	return person, nil
}

func wrong(about string) *problem {
	p := fault("access_denied", about)
	p.status = http.StatusForbidden
	return p
}

// logOut forgets who is at a browser.
func (s *Server) logOut(w http.ResponseWriter, r *http.Request) {
	for _, d := range logins(r) {
		if err := s.o.Browsers.Forget(r.Context(), d); err != nil {
			s.o.Log.WarnContext(r.Context(), "sign-in: forgetting a login", "error", err)
		}
	}
	r.Header.Del("Cookie") // the page that follows asks who it is
	setCookie(w, loginCookie, "", 0)
}

// readForm reads a form, in which nothing may be there twice but the resource.
func readForm(r *http.Request) (url.Values, *problem) {
	body, err := transport.ReadBody(r)
	if err != nil {
		return nil, fault("invalid_request", bridge.AsError(err).Message)
	}
	v, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, fault("invalid_request", "The form cannot be read.")
	}
	for name, all := range v {
		if len(all) > 1 && name != "resource" {
			return nil, fault("invalid_request", "A parameter is there twice.")
		}
	}
	return v, nil
}

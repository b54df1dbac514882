package recipes

import (
	"crypto/rand"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// person can sign in, and let clients in.
type person struct {
	name     string
	password string // a real application keeps a salted hash
	book     *cookbook
	tries    throttle
}

// session belongs to a browser of a person, or of a guest with a cookbook for a day.
type session struct {
	person *person   // nil for a guest
	guest  *cookbook // nil for a person
	csrf   string    // what forms of this session carry
	codes  throttle  // of devices, typed
}

func (x *session) book() *cookbook {
	if x.person != nil {
		return x.person.book
	}
	return x.guest
}

const cookieName = "recipes"

// sessionOf returns the session of a request, or nil.
func (s *server) sessionOf(r *http.Request) *session {
	cookie, err := r.Cookie(cookieName)
	if err != nil {
		return nil
	}
	key := digest(cookie.Value)
	if x, ok := s.sessions.get(key); ok {
		return x
	}
	x, _ := s.guests.get(key)
	return x
}

// personOf returns the session of a person who is signed in, or nil.
func (s *server) personOf(r *http.Request) *session {
	if x := s.sessionOf(r); x != nil && x.person != nil {
		return x
	}
	return nil
}

// open makes a session with a name that nobody knew before, and sets its cookie.
func (s *server) open(x *session, on shelf[*session], header http.Header) {
	secret := rand.Text()
	x.csrf = rand.Text()
	on.put(digest(secret), x)
	cookie := http.Cookie{ //nolint:gosec // it is not Secure on this machine, where there is no TLS
		Name: cookieName, Value: secret, Path: "/", MaxAge: int(sessionLife / time.Second),
		HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: strings.HasPrefix(s.issuer, "https:"),
	}
	header.Add("Set-Cookie", cookie.String())
}

// home shows the page. A browser without a session becomes a guest.
func (s *server) home(r *http.Request) reply {
	x := s.sessionOf(r)
	opened := x == nil
	if opened {
		x = &session{guest: newCookbook()}
	}
	data := map[string]any{"Credits": x.book().credits, "Cuisines": cuisines}
	if x.person != nil {
		data["Name"] = x.person.name
	}
	out := s.html(http.StatusOK, "index.html", "'self'", data)
	out.header.Set("Link", `</openapi.json>; rel="service-desc"`)
	if opened {
		s.open(x, s.guests, out.header)
	}
	return out
}

func (s *server) showLogin(r *http.Request) reply {
	next := local(r.URL.Query().Get("next"))
	return s.html(http.StatusOK, "login", "'self'", map[string]any{"Next": next})
}

// login checks a password, at most five times a minute.
func (s *server) login(r *http.Request) reply {
	if err := r.ParseForm(); err != nil {
		return failed(wrong("invalid_request", "The form cannot be read."))
	}
	next := local(r.PostForm.Get("next"))
	again := func(status int, problem string) reply {
		return s.html(status, "login", "'self'", map[string]any{"Next": next, "Problem": problem})
	}
	p := s.people[r.PostForm.Get("name")]
	if p != nil && !p.tries.take(5, time.Minute) {
		return again(http.StatusTooManyRequests, "Too many attempts. Wait a minute.")
	}
	if p == nil || !same(digest(p.password), digest(r.PostForm.Get("password"))) {
		return again(http.StatusUnauthorized, "The name or the password is wrong.")
	}
	p.tries = throttle{}
	s.forget(r)
	out := redirect(next)
	s.open(&session{person: p}, s.sessions, out.header)
	return out
}

func (s *server) logout(r *http.Request) reply {
	s.forget(r)
	return redirect("/")
}

func (s *server) forget(r *http.Request) {
	if cookie, err := r.Cookie(cookieName); err == nil {
		s.sessions.drop(digest(cookie.Value))
		s.guests.drop(digest(cookie.Value))
	}
}

// local returns where a login leads: one of our own pages, whoever wrote the address.
func local(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil ||
		u.Path != "/oauth/authorize" && u.Path != "/device" {
		return "/"
	}
	return (&url.URL{Path: u.Path, RawQuery: u.RawQuery}).String()
}

// signIn leads to the login, and back to where the request was.
func signIn(r *http.Request) reply {
	return redirect("/login?" + url.Values{"next": {r.URL.RequestURI()}}.Encode())
}

// agreed reports whether a form of this session says yes. A form of another session is an error.
func agreed(x *session, form url.Values) (bool, error) {
	if !same(x.csrf, form.Get("csrf")) {
		return false, fail(http.StatusForbidden, "invalid_request",
			"The form is of another session. Load the page again.")
	}
	return form.Get("decision") == "allow", nil
}

// Package recipes is a small web application that people and agents use alike. The same five
// actions, on the same cookbooks, are behind two faces: a web page, whose scripts declare them as
// tools (WebMCP), for a browser with the page's cookie; and an API, described by OpenAPI with
// x-llm, for clients that a person let in by OAuth. The authorization server is its own: see
// oauth.go.
//
// Everything is in memory and bounded, and is gone when the process ends. It is an example and an
// instrument of tests, with the password in its source: do not put it on a network.
package recipes

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// The person who can sign in.
const (
	Name     = "ada"
	Password = "countess"
)

//go:embed pages.html openapi.json house.json page/index.html page/*.js page/*.css
var files embed.FS

// server is the application. Its mutex guards all that follows it; handlers run with it held.
type server struct {
	issuer string // the origin: of the page, the API and the authorization server
	pages  *template.Template
	api    []byte // the document of OpenAPI

	mu       sync.Mutex
	people   map[string]*person
	guests   shelf[*session]
	sessions shelf[*session]
	fresh    shelf[*client] // registered, and not yet let in by anybody
	clients  shelf[*client] // let in by a person
	codes    shelf[*code]
	devices  shelf[*device]
	grants   shelf[*grant]
}

// New returns the application under an origin, such as http://127.0.0.1:8001, which is also the
// issuer of its tokens. Requests with another Host are refused. New panics if the issuer is not an
// origin. The handler is safe for concurrent use.
func New(issuer string) http.Handler {
	origin, err := url.Parse(issuer)
	if err != nil || origin.Host == "" || issuer != origin.Scheme+"://"+origin.Host {
		panic(fmt.Sprintf("recipes: invalid issuer %q: must be an origin, such as "+
			"http://127.0.0.1:8001", issuer))
	}
	s := &server{
		issuer:   issuer,
		people:   map[string]*person{Name: {name: Name, password: Password, book: newCookbook()}},
		guests:   newShelf[*session](mostGuests, sessionLife),
		sessions: newShelf[*session](mostKept, sessionLife),
		fresh:    newShelf[*client](mostKept, freshLife),
		clients:  newShelf[*client](mostKept, clientLife),
		codes:    newShelf[*code](mostKept, codeLife),
		devices:  newShelf[*device](mostKept, 2*deviceLife), // to say that they are over
		grants:   newShelf[*grant](mostKept, grantLife),
		pages:    template.Must(template.ParseFS(files, "pages.html", "page/index.html")),
	}
	text, err := files.ReadFile("openapi.json")
	if err != nil {
		panic(err) // the pattern above guarantees the file
	}
	s.api = bytes.ReplaceAll(text, []byte("ISSUER"), []byte(issuer))
	guarded := http.NewCrossOriginProtection().Handler(s.routes())
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != origin.Host { // a foreign name that was pointed here, to make a browser ask us
			http.Error(w, "invalid Host: must be "+origin.Host, http.StatusMisdirectedRequest)
			return
		}
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "no-referrer") // addresses have codes in them
		w.Header().Set("Content-Security-Policy", policy("'self'"))
		guarded.ServeHTTP(w, r)
	})
}

// policy is the content security policy of pages whose forms may lead to these addresses.
func policy(formAction string) string {
	return "default-src 'self'; img-src data:; base-uri 'none'; frame-ancestors 'none'; " +
		"form-action " + formAction
}

func (s *server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	for pattern, h := range map[string]handler{
		"GET /{$}":     s.home,
		"GET /login":   s.showLogin,
		"POST /login":  s.login,
		"POST /logout": s.logout,

		"GET /.well-known/llm.json":                   s.discovery,
		"GET /.well-known/openapi.json":               s.document,
		"GET /openapi.json":                           s.document,
		"GET /.well-known/oauth-protected-resource":   s.resourceMetadata,
		"GET /.well-known/oauth-authorization-server": s.serverMetadata,

		"POST /oauth/register": s.register,
		"GET /oauth/authorize": s.authorize, "POST /oauth/authorize": s.authorize,
		"POST /oauth/token":  s.token,
		"POST /oauth/device": s.startDevice,
		"GET /device":        s.enterCode, "POST /device": s.enterCode,
		"POST /oauth/revoke": s.revoke,
	} {
		mux.Handle(pattern, s.handle(h))
	}
	for action, h := range actions {
		method, path, _ := strings.Cut(action.route, " ")
		mux.Handle(method+" /page"+path, s.handle(s.visitor(h)))
		mux.Handle(method+" /api"+path, s.handle(s.bearer(action.scope, h)))
	}
	for _, name := range []string{"cookbook.js", "tools.js", "recipes.css"} {
		mux.HandleFunc("GET /"+name, func(w http.ResponseWriter, r *http.Request) {
			http.ServeFileFS(w, r, files, "page/"+name)
		})
	}
	return mux
}

// handler answers one request.
type handler func(*http.Request) reply

// reply is a whole response. It is written when the mutex is free again, because clients may be
// slow.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// mostBody bounds the bodies of requests.
const mostBody = 32 << 10

// handle runs a handler with the mutex held. The body was read before, for the same reason.
func (s *server) handle(h handler) http.Handler {
	answer := func(r *http.Request) reply {
		s.mu.Lock()
		defer s.mu.Unlock()
		return h(r)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBody))
		out := failed(fail(http.StatusRequestEntityTooLarge, "invalid_request",
			"The body must have at most 32 KiB."))
		if err == nil {
			r.Body = io.NopCloser(bytes.NewReader(body))
			out = answer(r)
		}
		w.Header().Set("Cache-Control", "no-store")
		maps.Copy(w.Header(), out.header)
		w.WriteHeader(out.status)
		_, _ = w.Write(out.body) // a client that went away
	})
}

func asJSON(status int, v any) reply {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain structs and maps
	}
	return reply{status, http.Header{"Content-Type": {"application/json"}}, append(body, '\n')}
}

func redirect(to string) reply {
	return reply{http.StatusSeeOther, http.Header{"Location": {to}}, nil}
}

// html shows a template of pages.html. formAction says where its form may lead.
func (s *server) html(status int, name, formAction string, data any) reply {
	var page bytes.Buffer
	if err := s.pages.ExecuteTemplate(&page, name, data); err != nil {
		panic(err) // the templates and their data are both here
	}
	return reply{status, http.Header{
		"Content-Type":            {"text/html; charset=utf-8"},
		"Content-Security-Policy": {policy(formAction)},
	}, page.Bytes()}
}

// failure is an error with its HTTP status and its code: one of OAuth's, or our own.
type failure struct {
	status int
	code   string
	text   string
}

func (f *failure) Error() string { return f.text }

func fail(status int, code, text string) error { return &failure{status, code, text} }

func wrong(code, format string, args ...any) error {
	return fail(http.StatusBadRequest, code, fmt.Sprintf(format, args...))
}

// failureOf returns what an error says to a client.
func failureOf(err error) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	return &failure{http.StatusInternalServerError, "server_error", "The server failed."}
}

// failed is the reply to an error, in the form of RFC 6749, section 5.2, for the API as well.
func failed(err error) reply {
	f := failureOf(err)
	return asJSON(f.status, map[string]string{"error": f.code, "error_description": f.text})
}

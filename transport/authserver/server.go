package authserver

import (
	"context"
	"crypto/cipher"
	"errors"
	"net/http"
	"slices"
	"sync"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/transport"
)

// The paths of the server.
const (
	metadataPath  = "/.well-known/oauth-authorization-server"
	discoveryPath = "/.well-known/openid-configuration"
	registerPath  = "/oauth/register"
	authorizePath = "/oauth/authorize"
	consentPath   = "/oauth/consent"
	tokenPath     = "/oauth/token" //nolint:gosec // a path, and no credential
	revokePath    = "/oauth/revoke"
)

// Below is the path that all forms and registrations are below, and MaxBody how many bytes they may
// have.
const (
	Below   = "/oauth"
	MaxBody = 16 << 10
)

// ForPages are the paths that pages of every origin may use, because no cookie counts there.
// FormsAt lists the paths that take forms.
var (
	ForPages = []string{metadataPath, discoveryPath, registerPath, tokenPath, revokePath}
	FormsAt  = []string{consentPath, tokenPath, revokePath}
)

// Open lists the paths that need no credential.
func Open() []string { return append(slices.Clone(ForPages), authorizePath, consentPath) }

// Server lets people let clients in. It is safe for concurrent use.
type Server struct {
	o         Options
	seal      cipher.AEAD
	pairings  pairings
	codes     codes
	documents documents
	kept      kept
	hashing   chan struct{} // has a place for the password that is looked at

	registrations, fetches, attempts *limiter // by address
	guesses                          *limiter // of all

	mu     sync.Mutex
	people []*Person
}

// New makes a server.
func New(o Options) *Server {
	o = o.withDefaults()
	s := &Server{o: o, seal: newSeal(o.Key), codes: codes{o.Once, o.Now}, hashing: make(chan struct{}, 1),
		registrations: newLimiter(o.Now, registrationsPerHour, hour), fetches: newLimiter(o.Now, fetchesPerMinute, minute),
		attempts: newLimiter(o.Now, attemptsPerMinute, minute), guesses: newLimiter(o.Now, guessesPerHour, hour)}
	s.documents.fetching = make(chan struct{}, mostFetches)
	s.setPeople(o.People)
	return s
}

func (s *Server) setPeople(all []Person) {
	people := make([]*Person, len(all))
	for i, p := range all {
		if p.May == nil {
			p.May = []bridge.Right{bridge.MayCall, bridge.MayElicit}
		}
		people[i] = &p
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.people = people
}

// everybody returns the people as they are now.
func (s *Server) everybody() []*Person {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.people
}

// person returns the person of a name, or nil.
func (s *Server) person(name string) *Person {
	for _, p := range s.everybody() {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// Replace makes these the people. Callers whose person is there no more, or has other rights, are
// revoked; what those let in who are gone is removed for good. Browsers are logged out of those who are
// gone, and of those who have another password.
func (s *Server) Replace(ctx context.Context, people []Person) error {
	before := s.everybody()
	s.setPeople(people)
	var gone, loggedOut []string
	changed := map[string]bool{}
	for _, was := range before {
		now := s.person(was.Name)
		if now == nil {
			gone = append(gone, was.Name)
		}
		if now == nil || now.Password != was.Password {
			loggedOut = append(loggedOut, was.Name)
		}
		if now == nil || !now.same(was) {
			changed[was.Name] = true
		}
	}
	s.kept.drop(func(c bridge.Connection) bool { return changed[c.Person] })
	s.o.Revoked()
	var errs []error
	for _, name := range loggedOut {
		errs = append(errs, s.o.Browsers.ForgetPerson(ctx, name))
	}
	return errors.Join(append(errs, disconnectAll(ctx, s.o.Connections, gone))...)
}

// disconnectAll removes the connections of some people.
func disconnectAll(ctx context.Context, of bridge.Connections, people []string) error {
	if len(people) == 0 {
		return nil
	}
	all, err := of.All(ctx)
	for _, c := range all {
		if err == nil && slices.Contains(people, c.Person) {
			_, err = of.Disconnect(ctx, c.ID)
		}
	}
	return err
}

// Disconnect revokes a connection.
func (s *Server) Disconnect(ctx context.Context, id string) (bool, error) {
	there, err := s.o.Connections.Disconnect(ctx, id)
	s.Forget(id)
	return there, err
}

// Forget revokes the callers of a connection that was removed.
func (s *Server) Forget(id string) {
	s.kept.drop(func(c bridge.Connection) bool { return c.ID == id })
	s.o.Revoked()
}

// Issuer is the address that clients know the server by.
func (s *Server) Issuer() string { return s.o.Public }

// Scopes lists the scopes of its tokens.
func (s *Server) Scopes() string { return Scope }

// metadata describes the server (RFC 8414).
type metadata struct {
	Issuer        string   `json:"issuer"`
	Authorize     string   `json:"authorization_endpoint"`
	Token         string   `json:"token_endpoint"`
	Register      string   `json:"registration_endpoint"`
	Revoke        string   `json:"revocation_endpoint"`
	Documents     bool     `json:"client_id_metadata_document_supported"`
	SaysIssuer    bool     `json:"authorization_response_iss_parameter_supported"`
	Challenges    []string `json:"code_challenge_methods_supported"`
	AuthMethods   []string `json:"token_endpoint_auth_methods_supported"`
	RevokeMethods []string `json:"revocation_endpoint_auth_methods_supported"`
	Grants        []string `json:"grant_types_supported"`
	Responses     []string `json:"response_types_supported"`
	Modes         []string `json:"response_modes_supported"`
	Scopes        []string `json:"scopes_supported"`
}

// Routes are the paths of the server.
func (s *Server) Routes() []transport.Route {
	post := func(path string, h http.HandlerFunc) transport.Route {
		return transport.Route{Pattern: path, Methods: map[string]http.HandlerFunc{http.MethodPost: h}}
	}
	return []transport.Route{
		transport.Get(metadataPath, s.describe), transport.Get(discoveryPath, s.describe),
		post(registerPath, s.register), transport.Get(authorizePath, s.authorize), post(consentPath, s.consent),
		post(tokenPath, s.token), post(revokePath, s.revoke),
	}
}

func (s *Server) describe(w http.ResponseWriter, r *http.Request) {
	at := s.o.Public
	w.Header().Set("Access-Control-Allow-Origin", "*")
	w.Header().Set("Cache-Control", "max-age=300")
	transport.WriteJSON(w, r, http.StatusOK, metadata{Issuer: at, Authorize: at + authorizePath, Token: at + tokenPath,
		Register: at + registerPath, Revoke: at + revokePath, Documents: true, SaysIssuer: true, Challenges: []string{"S256"},
		AuthMethods: []string{"none"}, RevokeMethods: []string{"none"}, Grants: []string{grantCode, grantRefresh},
		Responses: []string{"code"}, Modes: []string{"query"}, Scopes: []string{Scope}})
}

// problem is an error of OAuth (RFC 6749, 5.2).
type problem struct {
	Code  string `json:"error"`
	About string `json:"error_description,omitempty"`

	status int
	retry  int   // seconds; 0: none
	cause  error // for the log
}

func fault(code, about string) *problem {
	return &problem{Code: code, About: about, status: http.StatusBadRequest}
}

// failed is an error of our own.
func failed(cause error) *problem {
	return &problem{Code: "server_error", About: "Something went wrong here; the log has it. Try again.",
		status: http.StatusInternalServerError, cause: cause}
}

// tooMany refuses a request until some seconds have passed.
func tooMany(seconds int, about string) *problem {
	return &problem{Code: "temporarily_unavailable", About: about, status: http.StatusTooManyRequests, retry: seconds}
}

// bridged is a problem as the log has it.
func (p *problem) bridged() *bridge.Error {
	code := bridge.SchemaError
	switch p.status {
	case http.StatusInternalServerError, http.StatusServiceUnavailable:
		code = bridge.InternalError
	case http.StatusTooManyRequests:
		code = bridge.RateLimit
	case http.StatusForbidden:
		code = bridge.Forbidden
	}
	e := bridge.Errorf(code, "", bridge.NotRun, "%s: %s", p.Code, text.Brief(p.About, maxSaid))
	if p.cause != nil {
		e = e.With(p.cause)
	}
	return e
}

// maxSaid bounds what the log has of a problem.
const maxSaid = 256

package oauth

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge/origin"
)

// serve answers paths with JSON in which URL stands for the server; other paths are 404.
func serve(t *testing.T, answers map[string]string) (s *httptest.Server, asked func() []string) {
	t.Helper()
	paths := make(chan string, 100)
	s = httptest.NewUnstartedServer(nil)
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths <- r.URL.Path
		text, ok := answers[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if link, ok := strings.CutPrefix(text, "401 "); ok {
			w.Header().Set("WWW-Authenticate", "Negotiate, Bearer realm=\"a, b\",resource_metadata="+
				strings.ReplaceAll(link, "URL", s.URL)+`, scope="told"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(strings.ReplaceAll(text, "URL", s.URL)))
	})
	s.Start()
	t.Cleanup(s.Close)
	return s, func() (all []string) {
		for len(paths) > 0 {
			all = append(all, <-paths)
		}
		return all
	}
}

const (
	resourceHere = `{"resource":"URL/v1","authorization_servers":["URL/as"],"scopes_supported":["all"]}`
	serverHere   = `{"issuer":"URL/as","token_endpoint":"URL/t","authorization_endpoint":"URL/a"}`
)

// TestDiscovery (3.5): servers are found in the order of the specification, wherever their metadata
// is.
func TestDiscovery(t *testing.T) {
	t.Parallel()
	flows := `{"type":"oauth2","flows":{"authorizationCode":{"authorizationUrl":"/flow/a","tokenUrl":"../flow/t"}}}`
	for _, test := range []struct {
		what, object string
		answers      map[string]string
		token        string // path of the endpoint, or the error
		scopes       string
	}{
		{"where the API says", flows, map[string]string{"/v1": `401 "URL/meta"`, "/meta": resourceHere,
			"/.well-known/oauth-protected-resource/v1":   `{"resource":"URL/v1","authorization_servers":["URL/no"]}`,
			"/.well-known/oauth-authorization-server/as": serverHere}, "/t", "told"},
		{"path in between", flows, map[string]string{"/.well-known/oauth-protected-resource/v1": resourceHere,
			"/.well-known/openid-configuration/as": serverHere}, "/t", "all"},
		{"at the root", flows, map[string]string{"/.well-known/oauth-protected-resource": `{"resource":"URL","authorization_servers":["URL/no","URL/as/"]}`,
			"/as/.well-known/openid-configuration": serverHere}, "/t", ""},
		{"of another resource", flows, map[string]string{"/.well-known/oauth-protected-resource": `{"resource":"URL/v2","authorization_servers":["URL/as"]}`,
			"/.well-known/oauth-authorization-server/as": serverHere}, "is of another resource", ""},
		{"of another host", flows, map[string]string{"/.well-known/oauth-protected-resource": `{"resource":"https://mallory.example","authorization_servers":["URL/as"]}`}, "is of another resource", ""},
		{"a page for everything", flows, map[string]string{"/v1": "<html>", "/.well-known/oauth-protected-resource/v1": "<html>",
			"/.well-known/oauth-authorization-server": "<html>"}, "/flow/t", ""},
		{"flows", flows, nil, "/flow/t", ""},
		{"flows that metadata completes", flows, map[string]string{"/.well-known/oauth-authorization-server": `{"issuer":"URL","token_endpoint":"URL/flow/t",` +
			`"authorization_endpoint":"URL/flow/a","revocation_endpoint":"URL/r"}`}, "/flow/t /r", ""},
		{"flows that metadata contradicts", flows, map[string]string{"/.well-known/oauth-authorization-server": `{"issuer":"URL","token_endpoint":"URL/other",` +
			`"authorization_endpoint":"URL/flow/a","revocation_endpoint":"URL/r"}`}, "/flow/t", ""},
		{"flows of another page", flows, map[string]string{"/.well-known/oauth-authorization-server": `{"issuer":"URL","token_endpoint":"URL/flow/t",` +
			`"authorization_endpoint":"URL/other","revocation_endpoint":"URL/r"}`}, "/flow/t", ""},
		{"an implicit flow only", `{"type":"oauth2","flows":{"implicit":{"authorizationUrl":"/a"}}}`, nil, "no flow with a tokenUrl", ""},
		{"openIdConnectUrl", `{"type":"openIdConnect","openIdConnectUrl":"/as/.well-known/openid-configuration"}`,
			map[string]string{"/as/.well-known/openid-configuration": serverHere}, "/t", "openid"},
		{"oauth2MetadataUrl", `{"type":"oauth2","flows":{},"oauth2MetadataUrl":"/.well-known/oauth-authorization-server/as"}`,
			map[string]string{"/.well-known/oauth-authorization-server/as": serverHere}, "/t", ""},
		{"oauth2MetadataUrl of another issuer", `{"type":"oauth2","oauth2MetadataUrl":"/.well-known/oauth-authorization-server/bs"}`,
			map[string]string{"/.well-known/oauth-authorization-server/bs": serverHere}, "another authorization server", ""},
		{"the origin", `{"type":"oauth2"}`, map[string]string{"/.well-known/openid-configuration": `{"issuer":"URL","token_endpoint":"URL/t"}`}, "/t", ""},
		{"nowhere", `{"type":"oauth2"}`, nil, "no authorization server was found", ""},
	} {
		s, asked := serve(t, test.answers)
		target := targetOf(t, s.URL+"/v1")
		document, _ := url.Parse(s.URL + "/docs/openapi.json")
		target.Document = document
		o, err := (&Scheme{Name: "s", Object: []byte(test.object)}).read()
		if err != nil {
			t.Fatal(err)
		}
		found, err := New(Options{}).find(t.Context(), target, o)
		if err != nil {
			wants(t, test.what, err, test.token)
			continue
		}
		got := strings.TrimPrefix(found.Token, s.URL)
		if found.Revoke != "" {
			got += " " + strings.TrimPrefix(found.Revoke, s.URL)
		}
		if got != test.token || strings.Join(found.scopes, " ") != test.scopes {
			t.Errorf("%s: %q with %q, want %q with %q; asked %q", test.what, got, found.scopes, test.token, test.scopes, asked())
		}
	}
}

// TestElsewhere: metadata is not taken from where another origin's redirect leads, nor when it is
// endless.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	other, asked := serve(t, map[string]string{"/x": `{"issuer":"URL","token_endpoint":"URL/t"}`})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/.well-known/oauth-authorization-server":
			http.Redirect(w, r, other.URL+"/x", http.StatusFound)
		case "/big/.well-known/openid-configuration":
			_, _ = w.Write(make([]byte, maxMetadata+1))
		default:
			http.NotFound(w, r)
		}
	}))
	defer s.Close()
	k := New(Options{})
	o := &schemeObject{Type: "oauth2"}
	_, err := k.find(t.Context(), targetOf(t, s.URL), o)
	wants(t, "a redirect", err, "another origin")
	if all := asked(); len(all) > 0 {
		t.Errorf("the other origin was asked for %q", all)
	}
	o.OpenIDConnectURL = "/big/.well-known/openid-configuration"
	_, err = k.find(t.Context(), targetOf(t, s.URL), o)
	wants(t, "a large one", err, "has more than")
}

// TestClients (RFC 7591): a client that was registered by hand comes first, then one that a
// document describes, then one that is registered now; else what to do is said.
func TestClients(t *testing.T) {
	t.Parallel()
	w, f := newFakeWorld(t)
	login := func(l Login) (string, error) {
		l.Scheme, l.Show = w.scheme, visitor(t)
		_, err := w.keeper.Login(t.Context(), w.target, l)
		if err != nil {
			return "", err
		}
		return w.held(t).record.Client.ID, nil
	}
	const document = "https://pagetools.example/client.json"
	for _, test := range []struct {
		what string
		says any // of client_id_metadata_document_supported
		l    Login
		want string
	}{
		{"by hand", true, Login{ClientID: "mine", ClientDocument: document}, "mine"},
		{"a document", true, Login{ClientDocument: document}, document},
		{"a document that is not taken", nil, Login{ClientDocument: document}, "registered"},
		{"registered", true, Login{}, "registered"},
	} {
		f.says["client_id_metadata_document_supported"] = test.says
		if got, err := login(test.l); got != test.want || err != nil {
			t.Errorf("%s: %q, %v", test.what, got, err)
		}
	}
	asked, _ := json.Marshal(f.clients[0])
	if !strings.Contains(string(asked), `"redirect_uris":["http://127.0.0.1:`) || !strings.Contains(string(asked), `"token_endpoint_auth_method":"none"`) {
		t.Errorf("registered with %s", asked)
	}
	f.says["registration_endpoint"] = f.URL + "/nothing"
	_, err := login(Login{})
	wants(t, "a registration that fails", err, "register pagetools there by hand")
	f.says["registration_endpoint"] = nil
	_, err = login(Login{})
	wants(t, "no registration", err, "give its client ID")
	f.says["token_endpoint_auth_methods_supported"] = []string{"private_key_jwt"}
	_, err = login(Login{ClientID: "mine", ClientSecret: "s3cret"})
	wants(t, "a secret that is not taken", err, "takes no client secret")
}

// TestScopes: those of the operations, of the API, of the person; those that the principal has
// stay.
func TestScopes(t *testing.T) {
	t.Parallel()
	w, f := newFakeWorld(t)
	asked := func(l Login) []string {
		l.Scheme, l.ClientID = w.scheme, "mine"
		var scopes []string
		l.Show = func(p Prompt) {
			u, _ := url.Parse(p.URL)
			scopes = strings.Fields(u.Query().Get("scope"))
			visitor(t)(p)
		}
		if _, err := w.keeper.Login(t.Context(), w.target, l); err != nil {
			t.Fatal(err)
		}
		return scopes
	}
	for _, test := range []struct {
		scheme, person []string
		server         any
		want           string
	}{
		{nil, nil, nil, "openid"}, // what the API's metadata says
		{[]string{"read"}, nil, nil, "read openid"},
		{[]string{"read"}, []string{"write"}, nil, "write read openid"},
		{[]string{"read"}, nil, []string{"offline_access"}, "read write openid offline_access"},
	} {
		w.scheme.Scopes = test.scheme
		f.says["scopes_supported"] = test.server
		if got := strings.Join(asked(Login{Scopes: test.person}), " "); got != test.want {
			t.Errorf("%+v: asked for %q", test, got)
		}
	}
}

// FuzzMetadata: no metadata panics, and only checked values are used.
func FuzzMetadata(f *testing.F) {
	f.Add([]byte(resourceHere), `Bearer resource_metadata="https://api.example/m", error=x, scope="a b"`)
	f.Add([]byte(serverHere), `Basic realm="\"", Bearer a==, x=`)
	f.Add([]byte(`{"issuer":"https://as.example","scopes_supported":["\u0000","a b"],"client_id":"c","client_secret":"s"}`), "=,=\"\\")
	api, _ := url.Parse("https://api.example/v1")
	f.Fuzz(func(t *testing.T, text []byte, header string) {
		if m, err := readResource(text, api); err == nil && !strings.HasPrefix("https://api.example/v1", strings.TrimRight(strings.ToLower(m.Resource), "/")) {
			if u, err := url.Parse(m.Resource); err != nil || origin.OfURL(u) != "https://api.example" {
				t.Errorf("metadata of %q is taken", m.Resource)
			}
		}
		if m, err := readServer(text, func(s string) bool { return s == "https://as.example" }); err == nil {
			if m.Issuer != "https://as.example" || slices.ContainsFunc(m.Scopes, func(s string) bool { return !isVisible(s, 256) }) {
				t.Errorf("taken: %+v", m)
			}
		}
		c := &client{}
		if err := c.readRegistration(http.StatusCreated, text); err == nil && !isVisible(c.ID+string(c.Secret), maxSecret+maxAddress) {
			t.Errorf("taken: %q", c.ID)
		}
		found := readChallenge([]string{header})
		if strings.ContainsAny(found.failure, "\r\n\x1b\u202e") || slices.ContainsFunc(found.scopes, func(s string) bool { return !isVisible(s, 256) }) {
			t.Errorf("the challenge is %+v", found)
		}
		if u, err := endpoint("it", header, api, false); err == nil && (u.Scheme != "https" || u.User != nil) {
			t.Errorf("the endpoint %q is taken", header)
		}
	})
}

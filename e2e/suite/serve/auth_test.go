package serve_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pagetools/pagetools/e2e/suite"
	"github.com/pagetools/pagetools/e2e/suite/docs"
)

// recipesAPI is an API with x-llm, and its own authorization server.
type recipesAPI struct {
	*httptest.Server

	mu      sync.Mutex
	codes   map[string]url.Values
	allowed bool // on the other device
	revoked []string
}

const recipesDocument = `{"openapi":"3.1.0","info":{"title":"Recipes","version":"1"},"x-llm":{"version":"0.1","name":"Recipes"},
"servers":[{"url":"/api"}],"security":[{"account":["read"]}],
"components":{"securitySchemes":{
  "account":{"type":"oauth2","flows":{"authorizationCode":{"authorizationUrl":"/login","tokenUrl":"/token","scopes":{}}}},
  "key":{"type":"apiKey","in":"header","name":"X-Key"}}},
"paths":{"/recipes":{"get":{"operationId":"search","x-llm":{}},
  "post":{"operationId":"save","x-llm":{},"security":[{"account":["write"]},{"key":[]}]}}}}`

func newRecipes(t *testing.T) *recipesAPI {
	t.Helper()
	s := &recipesAPI{codes: map[string]url.Values{}}
	s.Server = httptest.NewUnstartedServer(s)
	s.Start()
	t.Cleanup(s.Close)
	return s
}

func (s *recipesAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = r.ParseForm()
	answer := func(status int, v any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(v)
	}
	switch r.URL.Path {
	case "/.well-known/llm.json":
		answer(200, map[string]string{"openapi": "/openapi.json", "auth": "oauth2"})
	case "/openapi.json":
		_, _ = io.WriteString(w, recipesDocument)
	case "/.well-known/oauth-authorization-server":
		answer(200, map[string]any{"issuer": s.URL, "authorization_endpoint": s.URL + "/login", "token_endpoint": s.URL + "/token",
			"registration_endpoint": s.URL + "/register", "revocation_endpoint": s.URL + "/revoke",
			"device_authorization_endpoint": s.URL + "/device", "code_challenge_methods_supported": []string{"S256"},
			"authorization_response_iss_parameter_supported": true})
	case "/register":
		answer(201, map[string]string{"client_id": "c1", "token_endpoint_auth_method": "none"})
	case "/login":
		if r.Form.Get("scope") == "forbidden" {
			http.Redirect(w, r, r.Form.Get("redirect_uri")+"?error=access_denied&iss="+s.URL+"&state="+r.Form.Get("state"), http.StatusFound)
			return
		}
		code := fmt.Sprintf("code%d", len(s.codes))
		s.codes[code] = r.Form
		http.Redirect(w, r, r.Form.Get("redirect_uri")+"?code="+code+"&iss="+url.QueryEscape(s.URL)+"&state="+r.Form.Get("state"), http.StatusFound)
	case "/device":
		answer(200, map[string]any{"device_code": "device", "user_code": "ABCD-EFGH", "verification_uri": s.URL + "/allow", "interval": 1, "expires_in": 60})
	case "/allow":
		s.allowed = true
	case "/token":
		sum := sha256.Sum256([]byte(r.Form.Get("code_verifier")))
		asked := s.codes[r.Form.Get("code")]
		scope := "read write"
		switch {
		case r.Form.Get("code") != "" && asked.Get("code_challenge") == base64.RawURLEncoding.EncodeToString(sum[:]):
			scope = asked.Get("scope")
		case r.Form.Get("device_code") != "" && !s.allowed:
			answer(400, map[string]string{"error": "authorization_pending"})
			return
		case r.Form.Get("device_code") == "":
			answer(400, map[string]string{"error": "invalid_grant"})
			return
		}
		answer(200, map[string]any{"access_token": "hidden-access", "refresh_token": "hidden-refresh", "token_type": "Bearer",
			"expires_in": 3600, "scope": scope})
	case "/revoke":
		s.revoked = append(s.revoked, r.Form.Get("token"))
	default:
		http.NotFound(w, r)
	}
}

// authRun holds the result of a run of pagetools auth.
type authRun struct {
	code           int
	stdout, stderr string
}

// address matches the address that a login asks a person to open.
var address = regexp.MustCompile(`(?m)^  (http\S+)$`)

// auth runs pagetools auth, and opens the address that it shows, as a person does.
func auth(t *testing.T, data, stdin string, args ...string) (r authRun) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), suite.ReplyWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, suite.Pagetools(t), append([]string{"auth"}, args...)...)
	var stdout bytes.Buffer
	stderr := &suite.LockedBuffer{}
	cmd.Env = append(os.Environ(), "PAGETOOLS_DATA_DIR="+data)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Dir = strings.NewReader(stdin), &stdout, stderr, suite.TempDir(t)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var over error
	done := false
	suite.Within(suite.ReplyWithin, func() bool {
		select {
		case over = <-ended:
			done = true
			return true
		default:
			return address.MatchString(stderr.String())
		}
	})
	if !done {
		res, err := http.Get(address.FindStringSubmatch(stderr.String())[1])
		if err != nil {
			t.Errorf("opening the address: %v", err)
		} else {
			res.Body.Close()
		}
		over = <-ended
	}
	if exit, ok := errors.AsType[*exec.ExitError](over); ok {
		r.code = exit.ExitCode()
	} else if over != nil {
		t.Fatal(over)
	}
	r.stdout, r.stderr = stdout.String(), stderr.String()
	for _, secret := range []string{"hidden", "s3cret"} {
		if strings.Contains(r.stdout+r.stderr, secret) {
			t.Errorf("auth %q shows a secret:\n%s%s", args, r.stdout, r.stderr)
		}
	}
	return r
}

// TestAuthClient: a login takes its client from the flags, else from the file for the site, by its
// name or its address.
func TestAuthClient(t *testing.T) {
	t.Parallel()
	api, dir := newRecipes(t), suite.TempDir(t)
	secret, open := filepath.Join(dir, "secret"), filepath.Join(dir, "open")
	for path, mode := range map[string]os.FileMode{secret: 0o600, open: 0o644} {
		if err := os.WriteFile(path, []byte("s3cret\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "x.yaml")
	config := func(key string) {
		text := fmt.Sprintf("sites:\n- name: recipes\n  target: %s/\n  auth: {client-id: of-the-file%s}\n", api.URL, key)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	login := func(args ...string) authRun {
		return auth(t, filepath.Join(dir, "data"), "", append([]string{"login", "--scheme", "account", "--config", file}, args...)...)
	}
	config("")
	for _, c := range []struct{ args, client string }{
		{"recipes", "of-the-file"}, {api.URL + "/", "of-the-file"}, {"recipes --client-id of-the-flag", "of-the-flag"},
		{api.URL + "/openapi.json", "c1"}, // another target: it registers itself
	} {
		if r := login(strings.Fields(c.args)...); r.code != 0 || !strings.Contains(r.stderr, "client_id="+c.client+"&") {
			t.Errorf("%s: want the client %s: %+v", c.args, c.client, r)
		}
	}
	config(", client-secret-file: " + open)
	if r := login("recipes"); r.code != 2 || !strings.Contains(r.stderr, "x.yaml:4: client-secret-file: others can read "+open+": chmod 600 it") {
		t.Errorf("a secret that others can read: %+v", r)
	}
	if r := login("recipes", "--client-secret-file", secret); r.code != 0 || !strings.Contains(r.stderr, "client_id=of-the-file&") {
		t.Errorf("the client of the file with the secret of the flag: %+v", r)
	}
	config(", client-secret-file: " + secret)
	if r := login("recipes"); r.code != 0 {
		t.Errorf("a secret of the file: %+v", r)
	}
}

// TestAuth (O14): a person logs in to an API with the address that auth login shows, or on another
// device, or keeps a key; auth status lists it without secrets, auth logout revokes it.
func TestAuth(t *testing.T) {
	t.Parallel()
	api, data := newRecipes(t), filepath.Join(suite.TempDir(t), "data")
	if r := auth(t, data, "", "status"); r.code != 0 || r.stdout != "" || !strings.Contains(r.stderr, "nobody is logged in") {
		t.Errorf("before: %+v", r)
	}
	r := auth(t, data, "", "login", api.URL, "--scheme", "account")
	if r.code != 0 || !strings.Contains(r.stderr, "logged in: "+api.URL+"/api  account  oauth2 for local  from "+api.URL+"  scopes read write  until ") {
		t.Fatalf("login: %+v", r)
	}
	if r := auth(t, data, "s3cret-key\n", "login", api.URL, "--scheme", "key"); r.code != 0 || !strings.Contains(r.stderr, "kept the key of key") {
		t.Errorf("a key: %+v", r)
	}
	r = auth(t, data, "", "status", api.URL, "--format", "json")
	var kinds []string
	for line := range strings.Lines(r.stdout) {
		var e struct{ Caller, Resource, Kind string }
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Caller != "local" || !strings.HasPrefix(e.Resource, api.URL) {
			t.Errorf("status says %s (%v)", line, err)
		}
		kinds = append(kinds, e.Kind)
	}
	if slices.Sort(kinds); !slices.Equal(kinds, []string{"apiKey", "oauth2"}) {
		t.Errorf("status lists %q", kinds)
	}
	if r := auth(t, data, "", "status", "https://other.example/"); r.stdout != "" {
		t.Errorf("status of another site: %+v", r)
	}
	entries, err := os.ReadDir(data)
	if err != nil || len(entries) == 0 {
		t.Fatal(err)
	}
	for _, e := range entries {
		if text, err := os.ReadFile(filepath.Join(data, e.Name())); err != nil || bytes.Contains(text, []byte("hidden")) || bytes.Contains(text, []byte("s3cret")) {
			t.Errorf("%s has a secret (%v)", e.Name(), err)
		}
	}
	if r := auth(t, data, "", "logout", api.URL); r.code != 0 || strings.Count(r.stderr, "forgotten: ") != 2 {
		t.Errorf("logout: %+v", r)
	}
	if !slices.Equal(api.revoked, []string{"hidden-refresh", "hidden-access"}) {
		t.Errorf("revoked: %q", api.revoked)
	}
	if r := auth(t, data, "", "logout", api.URL); r.code != 0 || !strings.Contains(r.stderr, "local is not logged in") {
		t.Errorf("a second logout: %+v", r)
	}
	r = auth(t, data, "", "login", api.URL, "--scheme", "account", "--device")
	if r.code != 0 || !strings.Contains(r.stderr, "ABCD-EFGH") {
		t.Errorf("on another device: %+v", r)
	}
}

// TestAuthCaller: a login belongs to one caller of the configuration file, in which a site has a
// name.
func TestAuthCaller(t *testing.T) {
	t.Parallel()
	api, data := newRecipes(t), filepath.Join(suite.TempDir(t), "data")
	file := filepath.Join(suite.TempDir(t), "pagetools.yaml")
	text := "sites:\n  - {name: recipes, target: \"" + api.URL + "\"}\ncallers:\n  - {name: agent, token: abcdefghijklmnopqrstuvwxyz, may: [call]}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r := auth(t, data, "", "login", "recipes", "--config", file, "--caller", "agent", "--scheme", "account", "--scopes", "read cook")
	if r.code != 0 || !strings.Contains(r.stderr, "for agent") || !strings.Contains(r.stderr, "scopes read cook") {
		t.Errorf("as an agent: %+v", r)
	}
	if r := auth(t, data, "", "status", "--caller", "local"); r.stdout != "" {
		t.Errorf("local is logged in: %+v", r)
	}
	if r := auth(t, data, "", "login", "recipes", "--config", file, "--caller", "nobody"); r.code != 2 || !strings.Contains(r.stderr, `no caller "nobody"`) {
		t.Errorf("a caller who is not there: %+v", r)
	}
}

// TestAuthReach: an authorization server is reached as pages reach the network: one with an address
// that is not public needs the word of the operator.
func TestAuthReach(t *testing.T) {
	t.Parallel()
	api, data := newRecipes(t), filepath.Join(suite.TempDir(t), "data")
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/openapi.json":
			_, _ = io.WriteString(w, recipesDocument)
		case "/.well-known/oauth-protected-resource":
			fmt.Fprintf(w, `{"resource":"http://%s","authorization_servers":[%q]}`, r.Host, api.URL)
		default:
			http.NotFound(w, r)
		}
	}))
	defer front.Close()
	args := []string{"login", front.URL + "/openapi.json", "--scheme", "account"}
	if r := auth(t, data, "", args...); r.code != 3 || !strings.Contains(r.stderr, "allow it with --allow-private 127.0.0.1/32") {
		t.Errorf("by itself: %+v", r)
	}
	if r := auth(t, data, "", append(args, "--allow-private", "127.0.0.1/32")...); r.code != 0 || !strings.Contains(r.stderr, "from "+api.URL) {
		t.Errorf("when it is allowed: %+v", r)
	}
}

// TestAuthFails: what cannot be logged in to says why, with the exit code of its kind.
func TestAuthFails(t *testing.T) {
	t.Parallel()
	api, data := newRecipes(t), filepath.Join(suite.TempDir(t), "data")
	empty := httptest.NewServer(http.NotFoundHandler())
	defer empty.Close()
	readable := filepath.Join(suite.TempDir(t), "secret")
	if err := os.WriteFile(readable, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		code int
		want string
		args []string
	}{
		{2, "auth needs login, logout or status", nil},
		{2, "login needs SITE", []string{"login"}},
		{2, "name one with --scheme, one of account, key", []string{"login", api.URL}},
		{2, `invalid value "other" for --scheme: must be one of account, key`, []string{"login", api.URL, "--scheme", "other"}},
		{2, "the key is needed, on standard input", []string{"login", api.URL, "--scheme", "key"}},
		{2, "--data-dir off keeps nothing", []string{"status", "--data-dir", "off"}},
		{2, "is a folder", []string{"login", filepath.Join(docs.Root(t), "examples/stampdb")}},
		{2, "chmod 600 it", []string{"login", api.URL, "--client-secret-file", readable}},
		{3, `"access_denied"`, []string{"login", api.URL, "--scheme", "account", "--scopes", "forbidden"}},
		{4, "no OpenTools document was found", []string{"login", empty.URL}},
		{4, "127.0.0.1:1 cannot be reached", []string{"login", "http://127.0.0.1:1"}},
	} {
		if r := auth(t, data, "", test.args...); r.code != test.code || !strings.Contains(r.stderr, test.want) {
			t.Errorf("auth %q: %+v, want %d and %q", test.args, r, test.code, test.want)
		}
	}
}

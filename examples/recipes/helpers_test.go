package recipes_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/examples/recipes"
)

const (
	issuer   = "http://127.0.0.1:8001"
	callback = "http://127.0.0.1:4444/callback"
	verifier = "a-verifier-that-is-long-enough-for-rfc-7636-4.1"
)

// caller is a client of a server: with cookies it is a browser.
type caller struct {
	t       *testing.T
	server  http.Handler
	cookies []*http.Cookie
}

func newCaller(t *testing.T) *caller {
	t.Helper()
	return &caller{t: t, server: recipes.New(issuer)}
}

// other is another browser at the same server.
func (c *caller) other() *caller { return &caller{t: c.t, server: c.server} }

// answer is a response that was read.
type answer struct {
	*http.Response
	body string
	json map[string]any // of a body that is JSON
}

// field is a text of the JSON.
func (a answer) field(name string) string { text, _ := a.json[name].(string); return text }

// ask makes a request. Headers are pairs of a name and a value.
func (c *caller) ask(method, path, body string, headers ...string) answer {
	c.t.Helper()
	r := httptest.NewRequestWithContext(c.t.Context(), method, issuer+path, strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
	}
	for _, cookie := range c.cookies {
		r.AddCookie(cookie)
	}
	w := httptest.NewRecorder()
	c.server.ServeHTTP(w, r)
	if set := w.Result().Cookies(); len(set) > 0 {
		c.cookies = set
	}
	said, err := io.ReadAll(w.Result().Body)
	if err != nil {
		c.t.Fatal(err)
	}
	a := answer{Response: w.Result(), body: string(said)}
	if strings.HasPrefix(a.Header.Get("Content-Type"), "application/json") {
		d := json.NewDecoder(bytes.NewReader(said))
		if err := d.Decode(&a.json); err != nil {
			c.t.Fatalf("%s %s: %v\n%s", method, path, err, said)
		}
	}
	return a
}

func (c *caller) get(path string, headers ...string) answer {
	c.t.Helper()
	return c.ask(http.MethodGet, path, "", headers...)
}

// form posts name and value pairs as a form.
func (c *caller) form(path string, pairs ...string) answer {
	c.t.Helper()
	return c.ask(http.MethodPost, path, values(pairs...).Encode(), "Content-Type", "application/x-www-form-urlencoded")
}

func (c *caller) post(path, body string, headers ...string) answer {
	c.t.Helper()
	return c.ask(http.MethodPost, path, body, append([]string{"Content-Type", "application/json"}, headers...)...)
}

func values(pairs ...string) url.Values {
	q := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		q.Add(pairs[i], pairs[i+1])
	}
	return q
}

// signIn signs the person in.
func (c *caller) signIn() *caller {
	c.t.Helper()
	got := c.form("/login", "name", recipes.Name, "password", recipes.Password)
	want(c.t, got, http.StatusSeeOther, "")
	return c
}

// register registers a client, and returns its id.
func (c *caller) register() string {
	c.t.Helper()
	got := c.post("/oauth/register", `{"client_name":"An agent","redirect_uris":["http://127.0.0.1/callback"],"token_endpoint_auth_method":"none",
		"grant_types":["authorization_code","refresh_token","urn:ietf:params:oauth:grant-type:device_code"]}`)
	want(c.t, got, http.StatusCreated, "")
	return got.field("client_id")
}

// request is the query of a good authorization request, with some parameters changed; "" takes one
// out.
func request(id string, changes ...string) url.Values {
	sum := sha256.Sum256([]byte(verifier))
	q := values("response_type", "code", "client_id", id, "redirect_uri", callback, "state", "a state",
		"code_challenge", base64.RawURLEncoding.EncodeToString(sum[:]), "code_challenge_method", "S256", "resource", issuer)
	for i := 0; i < len(changes); i += 2 {
		q.Set(changes[i], changes[i+1])
		if changes[i+1] == "" {
			q.Del(changes[i])
		}
	}
	return q
}

var csrf = regexp.MustCompile(`name="csrf" value="([A-Z0-9]+)"`)

// decide opens the consent page, answers it, and returns where the client is sent.
func (c *caller) decide(q url.Values, decision string) *url.URL {
	c.t.Helper()
	path := "/oauth/authorize?" + q.Encode()
	page := c.get(path)
	want(c.t, page, http.StatusOK, "")
	token := csrf.FindStringSubmatch(page.body)
	if token == nil {
		c.t.Fatalf("the page has no form:\n%s", page.body)
	}
	got := c.form(path, "csrf", token[1], "decision", decision)
	want(c.t, got, http.StatusSeeOther, "")
	return location(c.t, got)
}

func location(t *testing.T, a answer) *url.URL {
	t.Helper()
	u, err := a.Location()
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// redeem exchanges a code, with some parameters changed.
func (c *caller) redeem(id, code string, changes ...string) answer {
	c.t.Helper()
	q := values("grant_type", "authorization_code", "client_id", id, "code", code, "redirect_uri", callback,
		"code_verifier", verifier, "resource", issuer)
	for i := 0; i < len(changes); i += 2 {
		q.Set(changes[i], changes[i+1])
	}
	return c.ask(http.MethodPost, "/oauth/token", q.Encode(), "Content-Type", "application/x-www-form-urlencoded")
}

// tokens signs in, lets a client in, and returns what it got.
func (c *caller) tokens(scope string) (id string, got answer) {
	c.t.Helper()
	id = c.register()
	code := c.signIn().decide(request(id, "scope", scope), "allow").Query().Get("code")
	got = c.redeem(id, code)
	want(c.t, got, http.StatusOK, "")
	return id, got
}

// refresh exchanges the refresh token of an answer.
func (c *caller) refresh(id string, from answer, more ...string) answer {
	c.t.Helper()
	return c.form("/oauth/token", append([]string{"grant_type", "refresh_token", "client_id", id, "refresh_token", from.field("refresh_token")}, more...)...)
}

// use calls the API with the access token of an answer, and returns the status.
func (c *caller) use(from answer) int {
	c.t.Helper()
	return c.get("/api/recipes", bearer(from)...).StatusCode
}

func bearer(from answer) []string {
	return []string{"Authorization", "Bearer " + from.field("access_token")}
}

// pass lets time pass in a bubble of synctest.
func pass(d time.Duration) { <-time.After(d) }

// want checks the status, and the code of an error.
func want(t *testing.T, got answer, status int, code string) {
	t.Helper()
	if got.StatusCode != status || code != "" && got.field("error") != code {
		t.Fatalf("the answer is %d, want %d %s: %s", got.StatusCode, status, code, got.body)
	}
}

// recipe is a body of a recipe.
func recipe(title string) string {
	return fmt.Sprintf(`{"title":%q,"cuisine":"french","minutes":5,"ingredients":["bread"],"steps":["Toast it."]}`, title)
}

package recipes_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge/opentools"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/examples/recipes"
)

func TestMustBeAnOrigin(t *testing.T) {
	t.Parallel()
	for _, issuer := range []string{"", "127.0.0.1:8001", "http://127.0.0.1:8001/", "http://127.0.0.1:8001/a", "http://x@127.0.0.1:8001"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("New takes %q", issuer)
				}
			}()
			recipes.New(issuer)
		}()
	}
}

// TestFaces: the page and the API do the same, on the same cookbook of the person.
func TestFaces(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	_, got := c.tokens("")
	for _, face := range []struct {
		path    string
		headers []string
	}{{"/page", nil}, {"/api", bearer(got)}} {
		saved := c.post(face.path+"/recipes", recipe("Toast"), face.headers...)
		want(t, saved, http.StatusOK, "")
		id := saved.field("id")
		for _, other := range []string{"/page", "/api"} {
			read := c.get(other+"/recipes/"+id, bearer(got)...)
			if read.body != saved.body || read.json["mine"] != true {
				t.Errorf("%s saved %s, and %s has %s", face.path, saved.body, other, read.body)
			}
		}
		want(t, c.ask(http.MethodDelete, face.path+"/recipes/"+id, "", face.headers...), http.StatusOK, "")
		want(t, c.get(face.path+"/recipes/"+id, face.headers...), http.StatusNotFound, "not_found")
		want(t, c.ask(http.MethodDelete, face.path+"/recipes/omelette", "", face.headers...), http.StatusForbidden, "not_yours")

		plan := c.post(face.path+"/plans", `{"days":2,"cuisine":"french"}`, face.headers...)
		want(t, plan, http.StatusOK, "")
		if days, _ := plan.json["days"].([]any); len(days) != 2 {
			t.Errorf("the plan is %s", plan.body)
		}
	}
	if plan := c.post("/page/plans", `{}`); plan.json["creditsLeft"] != 2.0 {
		t.Errorf("after three plans there are %s", plan.body)
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	c.get("/")
	for query, total := range map[string]float64{
		"": 8, "?query=EGGS": 2, "?query=eggs&cuisine=french": 1, "?maxMinutes=10": 2, "?query=nowhere": 0,
	} {
		if got := c.get("/page/recipes" + query); got.json["total"] != total {
			t.Errorf("%s: %s", query, got.body)
		}
	}
	for _, query := range []string{"?cuisine=english", "?maxMinutes=0", "?maxMinutes=soon"} {
		want(t, c.get("/page/recipes"+query), http.StatusBadRequest, "invalid_request")
	}
}

func TestBadRecipes(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	c.get("/")
	good := recipe("Toast")
	for _, body := range []string{
		"", "[]", good + "x", strings.Replace(good, `"french"`, `"english"`, 1), strings.Replace(good, "5", "0", 1),
		strings.Replace(good, "Toast", strings.Repeat("x", 81), 1), strings.Replace(good, "Toast", `\u202e`, 1),
		strings.Replace(good, "Toast", "", 1), strings.Replace(good, `["bread"]`, "[]", 1),
		strings.Replace(good, `["bread"]`, `["`+strings.Repeat(`x","`, 20)+`x"]`, 1), strings.Replace(good, "title", "name", 1),
		strings.Replace(good, "{", `{"id":"omelette",`, 1),
	} {
		want(t, c.post("/page/recipes", body), http.StatusBadRequest, "invalid_request")
	}
	want(t, c.post("/page/recipes", strings.Repeat(" ", 40<<10)+good), http.StatusRequestEntityTooLarge, "invalid_request")
	want(t, c.ask(http.MethodPost, "/page/recipes", good, "Content-Type", "text/plain"), http.StatusUnsupportedMediaType, "invalid_request")
	want(t, c.post("/page/recipes", good), http.StatusOK, "")
	for _, body := range []string{`{"days":0}`, `{"days":8}`, `{"cuisine":"english"}`} {
		want(t, c.post("/page/plans", body), http.StatusBadRequest, "invalid_request")
	}
	want(t, c.post("/page/plans", `{"maxMinutes":1}`), http.StatusNotFound, "not_found")
	for left := 4; left >= 0; left-- { // what failed cost nothing
		if got := c.post("/page/plans", `{}`); got.json["creditsLeft"] != float64(left) {
			t.Errorf("there are %s", got.body)
		}
	}
	want(t, c.post("/page/plans", `{}`), http.StatusPaymentRequired, "no_credits")
	for range 19 {
		want(t, c.post("/page/recipes", good), http.StatusOK, "")
	}
	want(t, c.post("/page/recipes", good), http.StatusConflict, "full")
}

// TestBearer: the API says what is missing (RFC 6750, section 3.1).
func TestBearer(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	_, got := c.tokens("recipes:read")
	token := got.field("access_token")
	for header, code := range map[string]string{
		"": "unauthorized", "Basic " + token: "unauthorized", "Bearer": "invalid_token", "Bearer x": "invalid_token",
		"Bearer " + token + "x": "invalid_token", "Bearer " + got.field("refresh_token"): "invalid_token",
		"bearer " + token: "",
	} {
		a := c.get("/api/recipes", "Authorization", header)
		if a.field("error") != code || code != "" && a.StatusCode != http.StatusUnauthorized {
			t.Errorf("%q: %d %s", header, a.StatusCode, a.body)
		}
		if said := a.Header.Get("WWW-Authenticate"); strings.Contains(said, "error=") != (code == "invalid_token") {
			t.Errorf("%q: the challenge is %s", header, said)
		}
	}
	want(t, c.get("/api/recipes?access_token="+token), http.StatusUnauthorized, "unauthorized")
	for method, path := range map[string]string{http.MethodPost: "/api/recipes", http.MethodDelete: "/api/recipes/mine-1"} {
		a := c.ask(method, path, "{}", "Authorization", "Bearer "+token, "Content-Type", "application/json")
		want(t, a, http.StatusForbidden, "insufficient_scope")
		if said := a.Header.Get("WWW-Authenticate"); !strings.Contains(said, `error="insufficient_scope", scope="recipes:write"`) {
			t.Errorf("the challenge is %s", said)
		}
	}
	// The cookie of the person, which the caller has, counts nothing here; the token counts nothing
	// on the page's face.
	want(t, c.other().get("/page/recipes", "Authorization", "Bearer "+token), http.StatusUnauthorized, "no_session")
}

// TestGuestsAreApart: two browsers have two cookbooks, and none has the person's.
func TestGuestsAreApart(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	want(t, c.get("/page/recipes"), http.StatusUnauthorized, "no_session")
	c.get("/")
	want(t, c.post("/page/recipes", recipe("Toast")), http.StatusOK, "")
	for _, other := range []*caller{c.other(), c.other().signIn()} {
		other.get("/")
		want(t, other.get("/page/recipes/mine-1"), http.StatusNotFound, "not_found")
	}
	want(t, c.get("/page/recipes/mine-1"), http.StatusOK, "")
}

// TestForeignPages cannot use the cookie, nor a name that they pointed here.
func TestForeignPages(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	c.get("/")
	const site, origin = "Sec-Fetch-Site", "Origin"
	want(t, c.post("/page/plans", `{}`, site, "cross-site", origin, "https://evil.example"), http.StatusForbidden, "")
	want(t, c.ask(http.MethodDelete, "/page/recipes/mine-1", "", site, "same-site", origin, "http://127.0.0.1:1"), http.StatusForbidden, "")
	want(t, c.post("/page/plans", `{}`, site, "same-origin", origin, issuer), http.StatusOK, "")
	want(t, c.get("/", "Host", "evil.example"), http.StatusMisdirectedRequest, "")
}

// TestFloods: what strangers can make is bounded, and does not push out what a person let in.
func TestFloods(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCaller(t)
		id, got := c.tokens("")
		guest := c.other()
		guest.get("/")
		strangers := c.register()
		for range 1000 {
			pass(time.Millisecond)
			c.register()
			c.form("/oauth/device", "client_id", id)
			c.other().get("/")
		}
		want(t, guest.get("/page/recipes"), http.StatusUnauthorized, "no_session") // the oldest guest made room
		want(t, c.get("/oauth/authorize?"+request(strangers).Encode()), http.StatusBadRequest, "")
		want(t, c.get("/page/recipes"), http.StatusOK, "") // the person did not
		want(t, c.refresh(id, got), http.StatusOK, "")
	})
}

func TestRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCaller(t)
		c.get("/")
		for range 60 {
			want(t, c.get("/page/recipes"), http.StatusOK, "")
		}
		got := c.get("/page/recipes")
		want(t, got, http.StatusTooManyRequests, "rate_limit")
		if got.Header.Get("Retry-After") != "60" {
			t.Errorf("Retry-After is %q", got.Header.Get("Retry-After"))
		}
		pass(time.Minute)
		want(t, c.get("/page/recipes"), http.StatusOK, "")
	})
}

// TestDocument: llm.json leads to a document that our own reader takes, and each x-llm is as its
// schema says.
func TestDocument(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	found := c.get("/.well-known/llm.json")
	if found.body != `{"auth":"oauth2","openapi":"/openapi.json"}`+"\n" {
		t.Errorf("llm.json is %s", found.body)
	}
	text := c.get(found.field("openapi"))
	if text.body != c.get("/.well-known/openapi.json").body || strings.Contains(text.body, "ISSUER") || !strings.Contains(text.body, issuer+"/oauth/token") {
		t.Error("the documents are not equal, or not of this issuer")
	}
	doc, err := opentools.ReadDocument([]byte(text.body))
	if err != nil {
		t.Fatal(err)
	}
	tools, findings := doc.Tools(opentools.Marked)
	if len(tools) != 5 || len(findings) != 0 {
		t.Errorf("there are %d tools, and the findings %v", len(tools), findings)
	}
	conforms(t, text.json)
	_, token := c.tokens("")
	replies := map[string]answer{
		"search-recipes": c.get("/api/recipes", bearer(token)...), "get-recipe": c.get("/api/recipes/omelette", bearer(token)...),
		"save-recipe": c.post("/api/recipes", recipe("Toast"), bearer(token)...), "plan-week": c.post("/api/plans", "{}", bearer(token)...),
		"delete-recipe": c.ask(http.MethodDelete, "/api/recipes/mine-1", "", bearer(token)...),
	}
	for _, tool := range tools {
		s, err := schema.CompileResult(tool.Output, schema.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		reply, ok := replies[tool.Name]
		if err := s.Validate([]byte(reply.body)); !ok || reply.StatusCode != http.StatusOK || err != nil {
			t.Errorf("%s: %v: %s", tool.Name, err, reply.body)
		}
	}
}

// conforms holds x-llm of a document to the published schema.
func conforms(t *testing.T, doc map[string]any) {
	t.Helper()
	var all map[string]json.RawMessage
	if err := json.Unmarshal(opentools.Schema, &all); err != nil {
		t.Fatal(err)
	}
	check := func(name string, v any) {
		t.Helper()
		s, err := schema.Compile([]byte(`{"$ref":"#/$defs/`+name+`","$defs":`+string(all["$defs"])+`}`), schema.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(schema.MustEncode(v)); err != nil {
			t.Errorf("%v: %v", v, err)
		}
	}
	check("root", doc["x-llm"])
	operations := 0
	for _, item := range doc["paths"].(map[string]any) {
		for _, operation := range item.(map[string]any) {
			operations++
			check("operation", operation.(map[string]any)["x-llm"])
		}
	}
	if operations != 5 {
		t.Errorf("there are %d operations", operations)
	}
}

package openapi_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/openapi"
)

func TestMain(m *testing.M) { os.Exit(bridgetest.Main(m, os.Stderr)) }

// world is a bridge over scripted sites, behind the guards.
type world struct {
	*bridgetest.Router
	url string
}

func newWorld(t *testing.T, r *bridgetest.Router, o bridge.Options, callers ...transport.Credential) *world {
	t.Helper()
	b, err := bridge.New(r, o)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(nil)
	mux := transport.NewMux(openapi.New(b, openapi.Options{Version: "1.2.3"}).Routes()...)
	server.Config.Handler = transport.Guard(mux, transport.Options{Listen: server.Listener.Addr().String(), Callers: callers})
	server.Start()
	t.Cleanup(func() {
		server.Close()
		b.Close()
		if n := r.Leases(); n != 0 {
			t.Errorf("%d pages were never given back", n)
		}
	})
	return &world{r, server.URL}
}

// send returns the reply and its body.
func (w *world) send(t *testing.T, method, path, body string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, h := range header {
		key, value, _ := strings.Cut(h, ": ")
		req.Header.Set(key, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(got)
}

// document holds the members that tests look at.
type document struct {
	OpenAPI  string
	Info     struct{ Title, Version string }
	Servers  []struct{ URL string }
	XLLM     map[string]any `json:"x-llm"`
	Security []map[string][]string
	Paths    map[string]struct {
		Post struct {
			ID          string `json:"operationId"`
			Summary     string
			Description string
			XLLM        json.RawMessage `json:"x-llm"`
			Body        struct {
				Content map[string]struct{ Schema json.RawMessage }
			} `json:"requestBody"`
			Responses map[string]struct {
				Ref     string `json:"$ref"`
				Content map[string]struct{ Schema json.RawMessage }
			}
		}
	}
	Components struct {
		Schemas         map[string]json.RawMessage
		SecuritySchemes map[string]map[string]string
	}
}

func (w *world) document(t *testing.T, path string, header ...string) (d document) {
	t.Helper()
	res, body := w.send(t, http.MethodGet, path, "", header...)
	if err := json.Unmarshal([]byte(body), &d); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d, %v: %s", path, res.StatusCode, err, body)
	}
	return d
}

// TestDocuments (O3, O4, O8, O15): a document has one operation for each tool, with its whole path,
// an operationId, and the schema of arguments in its place.
func TestDocuments(t *testing.T) {
	t.Parallel()
	find := bridgetest.Returning(bridgetest.Tool("find.stamps", `{"type":"object","properties":{"q":{"$ref":"#/$defs/word"}},"required":["q"],"$defs":{"word":{"type":"string"}}}`),
		`{"type":"object","properties":{"n":{"type":"integer"}}}`)
	find.Title, find.Description = "Find stamps", "Finds stamps by words. Answers with the number."
	r := bridgetest.NewRouter().Add("shop", find, bridgetest.Asking("buy", "")).Add("weather", bridgetest.Tool("now", ""))
	w := newWorld(t, r, bridge.Options{})
	all := w.document(t, "/openapi.json")
	if all.OpenAPI != "3.1.1" || all.Info.Version != "1.2.3" || len(all.Servers) != 1 || all.Servers[0].URL != "/" || len(all.Paths) != 3 || all.Security == nil || len(all.Security) != 0 {
		t.Errorf("of all: %+v", all)
	}
	if x := all.XLLM; x["version"] != "0.1" || x["name"] != "pagetools" || x["defaultApproval"] != "per-call" {
		t.Errorf("x-llm of all is %v", x)
	}
	if same := w.document(t, "/.well-known/openapi.json"); len(same.Paths) != 3 {
		t.Errorf("the well-known one has %d operations", len(same.Paths))
	}
	shop := w.document(t, "/sites/shop/openapi.json")
	op := shop.Paths["/tools/shop/find.stamps"].Post
	if len(shop.Paths) != 2 || shop.Info.Title != "shop" || shop.Info.Version != "1.0.0" || shop.XLLM["name"] != "shop" ||
		op.ID != "shop_find_stamps" || op.Summary != "Find stamps" || op.Description != find.Description ||
		string(op.Body.Content["application/json"].Schema) != `{"type":"object","properties":{"q":{"$ref":"#/components/schemas/shop_find_stamps.arguments.word"}},"required":["q"]}` ||
		string(shop.Components.Schemas["shop_find_stamps.arguments.word"]) != `{"type":"string"}` ||
		string(op.Responses["200"].Content["application/json"].Schema) != `{"type":"object","properties":{"n":{"type":"integer"}}}` ||
		op.Responses["default"].Ref != "#/components/responses/Error" {
		t.Errorf("of the shop: %+v", shop)
	}
	if got, want := string(op.XLLM), `{"enabled":true,"approval":"auto","blanketApprovalAllowed":true,"destructive":false,"hint":"Finds stamps by words. Answers with the number."}`; got != want {
		t.Errorf("x-llm is %s", got)
	}
	if res, body := w.send(t, http.MethodGet, "/sites/none/openapi.json", ""); res.StatusCode != http.StatusNotFound || !strings.Contains(body, "WEBTOOL_NOT_FOUND") {
		t.Errorf("no such site: %d %s", res.StatusCode, body)
	}
}

// TestDiscovery (O7): llm.json leads to the document, and says how to sign in.
func TestDiscovery(t *testing.T) {
	t.Parallel()
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("add", ""))
	w := newWorld(t, r, bridge.Options{})
	for path, want := range map[string]string{"/.well-known/llm.json": "/openapi.json", "/sites/shop/.well-known/llm.json": "/sites/shop/openapi.json"} {
		res, body := w.send(t, http.MethodGet, path, "")
		if body != `{"openapi":"`+want+`","auth":"none"}` || !strings.HasPrefix(res.Header.Get("Link"), "<"+want+">; rel=\"service-desc\"") {
			t.Errorf("%s: %s %v", path, body, res.Header)
		}
		w.document(t, want)
	}
	if res, _ := w.send(t, http.MethodGet, "/sites/none/.well-known/llm.json", ""); res.StatusCode != http.StatusNotFound {
		t.Errorf("no such site: %d", res.StatusCode)
	}
}

// TestCallers: who calls sees its own sites, and is told how it signs in.
func TestCallers(t *testing.T) {
	t.Parallel()
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("add", "")).Add("weather", bridgetest.Tool("now", ""))
	w := newWorld(t, r, bridge.Options{}, transport.Credential{Token: "secret",
		Caller: bridge.Caller{Name: "agent", Sites: []string{"weather"}, May: []bridge.Right{bridge.MayCall}}})
	if res, _ := w.send(t, http.MethodGet, "/openapi.json", ""); res.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a token: %d", res.StatusCode)
	}
	d := w.document(t, "/openapi.json", "Authorization: Bearer secret")
	if _, ok := d.Paths["/tools/weather/now"]; !ok || len(d.Paths) != 1 || d.Components.SecuritySchemes["bearer"]["scheme"] != "bearer" || len(d.Security) != 1 {
		t.Errorf("%+v", d)
	}
	if res, _ := w.send(t, http.MethodGet, "/sites/shop/openapi.json", "", "Authorization: Bearer secret"); res.StatusCode != http.StatusNotFound {
		t.Errorf("another's site: %d", res.StatusCode)
	}
}

// TestETag: a document is the same until the list changes, and then another one.
func TestETag(t *testing.T) {
	t.Parallel()
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("add", ""))
	w := newWorld(t, r, bridge.Options{})
	first, _ := w.send(t, http.MethodGet, "/openapi.json", "")
	tag := first.Header.Get("ETag")
	if tag == "" || first.Header.Get("Cache-Control") != "no-cache" {
		t.Errorf("%v", first.Header)
	}
	if again, body := w.send(t, http.MethodGet, "/openapi.json", "", "If-None-Match: "+tag); again.StatusCode != http.StatusNotModified || body != "" {
		t.Errorf("unchanged: %d %s", again.StatusCode, body)
	}
	w.Declare("shop", bridgetest.Tool("add", ""), bridgetest.Tool("take", ""))
	changed, _ := w.send(t, http.MethodGet, "/openapi.json", "", "If-None-Match: "+tag)
	if changed.StatusCode != http.StatusOK || changed.Header.Get("ETag") == tag {
		t.Errorf("changed: %d %v", changed.StatusCode, changed.Header)
	}
	if d := w.document(t, "/openapi.json"); len(d.Paths) != 2 {
		t.Errorf("%+v", d.Paths)
	}
}

// TestTerms (O4, O10, O11, B3): x-llm follows from hints and the operator's rules. A mode makes
// nothing run by itself with somebody else's client.
func TestTerms(t *testing.T) {
	t.Parallel()
	with := func(name, hints string) bridge.Declaration {
		d := bridgetest.Asking(name, "")
		d.Annotations = json.RawMessage(hints)
		return d
	}
	paid := with("paid", `{"consequentialHint":true}`)
	paid.Operation = &bridge.Operation{Method: "POST", URL: "https://api.example/pay", Cost: "money", Level: policy.Ask}
	r := bridgetest.NewRouter().Add("shop", paid, with("look", `{"readOnlyHint":true}`), with("plain", `{}`), with("burn", `{"destructiveHint":true}`),
		with("mail", `{"readOnlyHint":true,"untrustedContentHint":true}`), with("ruled", `{}`), with("asked", `{"readOnlyHint":true}`), with("never", `{}`))
	rules := []policy.Rule{{Pattern: "ruled", Level: policy.Auto}, {Pattern: "asked", Level: policy.Ask}, {Pattern: "never", Level: policy.Never}}
	for mode, want := range map[string]map[string]string{
		policy.ModeAsk: {
			"look": `true auto true false`, "plain": `true per-call true false`, "burn": `true per-call false true`,
			"mail": `true auto true false untrusted`, "ruled": `true auto true false`, "asked": `true per-call false false`, "never": `false per-call false false`, "paid": `true per-call false false paid`,
		},
		policy.ModeAuto:   {"plain": `true per-call true false`, "look": `true auto true false`, "burn": `true per-call false true`},
		policy.ModeStrict: {"look": `true per-call false false`, "plain": `true per-call false false`},
		policy.ModeDeny:   {"plain": `false per-call true false`, "look": `true auto true false`},
	} {
		w := newWorld(t, r, bridge.Options{Sites: map[string]bridge.SiteOptions{"shop": {Approval: policy.Operator{Mode: mode, Tools: rules},
			Rate: policy.Rate{N: 30, Per: time.Minute}, Rates: []policy.RateRule{{Pattern: "look", Rate: policy.Rate{N: 2, Per: 90 * time.Second}}}}}})
		d := w.document(t, "/openapi.json")
		for name, expected := range want {
			var x struct {
				Enabled, BlanketApprovalAllowed, Destructive bool
				Approval, CostIndicator                      string
				RateLimit                                    struct {
					Max    int
					Window string
				}
				Untrusted bool `json:"x-untrusted-content"`
			}
			if err := json.Unmarshal(d.Paths["/tools/shop/"+name].Post.XLLM, &x); err != nil {
				t.Fatal(err)
			}
			text := func(b bool) string { return map[bool]string{true: "true", false: "false"}[b] }
			got := strings.Join([]string{text(x.Enabled), x.Approval, text(x.BlanketApprovalAllowed), text(x.Destructive)}, " ")
			if x.Untrusted {
				got += " untrusted"
			}
			if x.CostIndicator != "" {
				got += " " + x.CostIndicator
			}
			if got != expected {
				t.Errorf("mode %s, %s: %s, want %s", mode, name, got, expected)
			}
			if rate := x.RateLimit; name == "look" && (rate.Max != 2 || rate.Window != "90s") || name != "look" && (rate.Max != 30 || rate.Window != "1m") {
				t.Errorf("%s: %+v", name, rate)
			}
		}
	}
}

// TestNames: an operationId is short, legal and nobody else's.
func TestNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("find_", 20)
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("a.b", ""), bridgetest.Tool("a_b", ""), bridgetest.Tool("A_b", ""), bridgetest.Tool(long+"1", ""), bridgetest.Tool(long+"2", ""), bridgetest.Tool("plain", ""))
	w := newWorld(t, r, bridge.Options{})
	ids := map[string]bool{}
	for path, item := range w.document(t, "/openapi.json").Paths {
		id := item.Post.ID
		if len(id) > 64 || ids[strings.ToLower(id)] || strings.ContainsAny(id, ".") {
			t.Errorf("%s is %q", path, id)
		}
		ids[strings.ToLower(id)] = true
	}
	if len(ids) != 6 || !ids["shop_plain"] {
		t.Errorf("%v", ids)
	}
}

// TestCall: the body is the arguments, the reply the result or an error of the contract; consent is
// asked as everywhere, and sessions, keys and tokens are beside it.
func TestCall(t *testing.T) {
	t.Parallel()
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("add", `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`), bridgetest.Asking("buy", ""))
	w := newWorld(t, r, bridge.Options{})
	for _, x := range []struct {
		path, body string
		status     int
		want       string
		header     string
	}{
		{"/tools/shop/add", `{"n":1}`, 200, `{"n":1}`, ""},
		{"/tools/shop/add?sessionId=mine", `{"n":2}`, 200, `{"n":2}`, ""},
		{"/tools/shop/add", `{"n":"x"}`, 400, `"code":"SCHEMA_ERROR"`, ""},
		{"/tools/shop/add", `[]`, 400, `"code":"SCHEMA_ERROR"`, ""},
		{"/tools/shop/add", `{`, 400, `"code":"SCHEMA_ERROR"`, ""},
		{"/tools/shop/add?sessionId=", `{"n":1}`, 400, `sessionId must have 1 to 256 characters`, ""},
		{"/tools/shop/add", `{"n":1}`, 400, `must hold one token`, "Pagetools-Resume: a b"},
		{"/tools/shop/add", `{"n":1}`, 404, `"code":"RESUME_NOT_FOUND"`, "Pagetools-Resume: abc"},
		{"/tools/shop/add", `{"n":7}`, 200, `{"n":7}`, "Idempotency-Key: k"},
		{"/tools/shop/add", `{"n":8}`, 422, `"code":"CONFLICT"`, "Idempotency-Key: k"},
		{"/tools/shop/none", `{}`, 404, `"code":"WEBTOOL_NOT_FOUND"`, ""},
		{"/tools/none/add", `{}`, 404, `"code":"WEBTOOL_NOT_FOUND"`, ""},
		{"/tools/shop/buy", `{}`, 403, `"code":"APPROVAL_REQUIRED"`, ""},
	} {
		var header []string
		if x.header != "" {
			header = []string{x.header}
		}
		res, body := w.send(t, http.MethodPost, x.path, x.body, header...)
		if res.StatusCode != x.status || (x.status == 200) != (body == x.want) || !strings.Contains(body, x.want) || res.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s: %d %s, want %d %s", x.path, x.body, res.StatusCode, body, x.status, x.want)
		}
	}
	if res, body := w.send(t, http.MethodPost, "/tools/shop/buy", ""); res.StatusCode != http.StatusForbidden || res.Header.Get("Pagetools-Resume") == "" {
		t.Errorf("a call that waits: %d %s %v", res.StatusCode, body, res.Header)
	}
	calls := w.Calls()
	if calls[1].Ref.Session != "mine" || len(calls) != 3 {
		t.Errorf("the site saw %+v", calls)
	}
	if res, _ := w.send(t, http.MethodGet, "/tools/shop/add", ""); res.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d", res.StatusCode)
	}
}

// TestLargeSchemas: a site's schemas are bounded together, and its document stays one.
func TestLargeSchemas(t *testing.T) {
	gatetest.NoRace(t)
	t.Parallel()
	var tools []bridge.Declaration
	deep := `{"type":"object","properties":{"deep":`
	pointer, refs := "#/properties/deep", ""
	for i := range 20 {
		deep += `{"description":"` + strings.Repeat("x", 500) + `","properties":{"d":`
		refs += `,"r` + string(rune('a'+i)) + `":{"$ref":"` + pointer + `"}`
		pointer += "/properties/d"
	}
	deep += "{}" + strings.Repeat("}}", 20) + refs + "}}"
	for i := range 100 {
		tools = append(tools, bridgetest.Tool("t"+string(rune('a'+i/26))+string(rune('a'+i%26)), deep))
	}
	w := newWorld(t, bridgetest.NewRouter().Add("shop", tools...), bridge.Options{})
	res, body := w.send(t, http.MethodGet, "/openapi.json", "")
	if res.StatusCode != http.StatusOK || len(body) > 5<<20 || len(body) < 1<<20 {
		t.Errorf("%d, %d bytes", res.StatusCode, len(body))
	}
	if d := w.document(t, "/openapi.json"); len(d.Paths) != 100 {
		t.Errorf("%d operations", len(d.Paths))
	}
}

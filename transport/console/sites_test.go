package console_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/console"
)

const exactSchema = `{"type":"object","properties":{"sku":{"type":"string","enum":["a","b"]},"count":{"type":"integer","maximum":9007199254740993,"multipleOf":1.0}},"required":["sku"],"additionalProperties":false}`

// serveShop is a page whose site shop has a tool with that schema, and facts.
func serveShop(t *testing.T, o console.Options) *page {
	t.Helper()
	o.Facts = func(site string) console.SiteFacts {
		return console.SiteFacts{State: "open", Engine: "native", Findings: []bridge.Finding{{Rule: "tool-refused", Tool: "bad", Message: "The schema of " + site + " is wrong.", Refused: true}}}
	}
	p := servePage(t, memory(t), o)
	p.Router.Declare("shop", bridgetest.Asking("add", exactSchema), bridgetest.Tool("find", ""))
	return p
}

// TestSites: a caller with the right view sees the sites, their tools with what a call does and why,
// and the findings; schemas come as their page wrote them. One without it, or of other sites, does not.
func TestSites(t *testing.T) {
	p := serveShop(t, console.Options{})
	_, body := p.as(t, viewing, http.MethodGet, "/api/sites", "")
	for _, want := range []string{`"node":"here","name":"shop"`, `"tools":2`, `"findings":1`, `"state":"open"`, `"engine":"native"`, `"next":null`} {
		if !strings.Contains(body, want) {
			t.Errorf("the sites are without %s: %s", want, body)
		}
	}
	_, body = p.as(t, viewing, http.MethodGet, "/api/sites/shop/tools", "")
	for _, want := range []string{`"schema":` + exactSchema, `"terms":{"level":"ask","reason":"nothing says that this tool may run unasked"`, `"name":"find"`, `"findings":[]`} {
		if !strings.Contains(body, want) {
			t.Errorf("the tools are without %s: %s", want, body)
		}
	}
	if _, body = p.as(t, viewing, http.MethodGet, "/api/sites/shop/findings", ""); !strings.Contains(body, `{"rule":"tool-refused","tool":"bad","message":"The schema of shop is wrong.","refused":true}`) {
		t.Errorf("the findings are %s", body)
	}
	for _, path := range []string{"/api/sites", "/api/sites/shop/tools", "/api/sites/shop/findings", "/api/sites/shop/config"} {
		if status, body := p.as(t, agent, http.MethodGet, path, ""); status != http.StatusForbidden || !strings.Contains(body, "right view") {
			t.Errorf("an agent gets %s: %d %s", path, status, body)
		}
	}
	p.Router.Add("bank", bridgetest.Tool("pay", ""))
	set, err := p.PrepareSites(map[string]bridge.SiteOptions{"shop": {}, "bank": {Params: map[string]json.RawMessage{"units": json.RawMessage(`{"enum":["m"],"default":"m"}`), "free": json.RawMessage("true")}}})
	if err != nil {
		t.Fatal(err)
	}
	set(func() {})
	var form struct {
		Schema struct {
			Properties map[string]json.RawMessage
		}
	}
	_, body = p.as(t, viewing, http.MethodGet, "/api/sites/bank/config", "")
	has := func(name, want string) bool { return strings.Contains(string(form.Schema.Properties[name]), want) }
	if err := json.Unmarshal([]byte(body), &form); err != nil || !has("timeout", `"default":`) || !has("units", `"default":"m"`) || !has("free", "true") ||
		strings.Contains(body, `"resume"`) || strings.Contains(body, `"answer"`) {
		t.Errorf("a call may be set to %s (%v)", body, err)
	}
	if _, body = p.as(t, shopper, http.MethodGet, "/api/sites", ""); strings.Contains(body, "bank") || !strings.Contains(body, "shop") {
		t.Errorf("who sees only the shop gets %s", body)
	}
	for _, path := range []string{"/api/sites/bank/tools", "/api/sites/bank/findings", "/api/sites/bank/config", "/api/sites/nowhere/findings"} {
		if status, body := p.as(t, shopper, http.MethodGet, path, ""); status != http.StatusNotFound {
			t.Errorf("who sees only the shop gets %s: %d %s", path, status, body)
		}
	}
}

// TestToolsInParts: a list of tools comes in parts that are asked for, each tool once.
func TestToolsInParts(t *testing.T) {
	p := serveShop(t, console.Options{})
	var names []string
	for before := ""; len(names) < 10; {
		_, body := p.as(t, viewing, http.MethodGet, "/api/sites/shop/tools?limit=1"+before, "")
		var part struct {
			Items []struct{ Name string }
			Next  *string
		}
		if err := json.Unmarshal([]byte(body), &part); err != nil || len(part.Items) != 1 {
			t.Fatalf("a part is %s", body)
		}
		names = append(names, part.Items[0].Name)
		if part.Next == nil {
			break
		}
		before = "&before=" + *part.Next
	}
	if !slices.Equal(names, []string{"add", "find"}) {
		t.Errorf("the parts have %v", names)
	}
}

// TestValidate: the server judges arguments as a call would, with numbers as they are written, and the
// page of the site hears nothing of it.
func TestValidate(t *testing.T) {
	p := serveShop(t, console.Options{})
	for _, x := range []struct {
		body   string
		status int
		want   string
	}{
		{`{"tool":"add","input":{"sku":"a","count":9007199254740992}}`, 200, `{"errors":[]}`},
		{`{"tool":"add","input":{"sku":"a","count":9007199254740993}}`, 200, `would be 9007199254740992 in a page`},
		{`{"tool":"add","input":{"count":1}}`, 200, `"pointer":"/sku"`},
		{`{"tool":"add","input":{"sku":"a","count":9007199254740994,"x":1}}`, 200, `"pointer":"/x"`},
		{`{"tool":"add","input":{"sku":"a","count":9007199254740994}}`, 200, `"pointer":"/count"`},
		{`{"tool":"add","input":[]}`, 200, `{"errors":[{"pointer":"","message":"request must be a JSON object, such as {}."}]}`},
		{`{"tool":"none","input":{}}`, 404, `"code":"WEBTOOL_NOT_FOUND"`},
		{`{"tool":"add"}`, 400, `"code":"SCHEMA_ERROR"`},
		{`{"tool":1,"input":{}}`, 400, `The body must be`},
		{`{"tool":"add","input":{},"more":1}`, 400, `unknown member`},
	} {
		if status, body := p.as(t, viewing, http.MethodPost, "/api/sites/shop/validate", x.body); status != x.status || !strings.Contains(body, x.want) {
			t.Errorf("%s: %d %s", x.body, status, body)
		}
	}
	if calls := p.Router.Calls(); len(calls) != 0 || p.OpenQuestions() != 0 {
		t.Errorf("the page heard of %v, and %d questions are open", calls, p.OpenQuestions())
	}
	if status, body := p.as(t, agent, http.MethodPost, "/api/sites/shop/validate", `{"tool":"add","input":{}}`); status != http.StatusForbidden {
		t.Errorf("an agent may: %d %s", status, body)
	}
}

// other is another process, which answers for its own sites.
type other struct{ http.Handler }

func (o other) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Authorization") != "" {
		return nil, errors.New("the credential came along")
	}
	w := httptest.NewRecorder()
	o.ServeHTTP(w, r)
	return w.Result(), nil
}

// silent never answers.
type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestSitesOfOtherNodes: the sites of all processes are listed, with who serves them and who did not answer
// in time; what is about a site goes to the process that serves it.
func TestSitesOfOtherNodes(t *testing.T) {
	b, err := bridge.New(bridgetest.NewRouter().Add("garden", bridgetest.Tool("dig", "")), bridge.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	there := other{transport.Trusted(transport.NewMux(console.New(b, console.Options{Node: "there"}).Routes()...), person, transport.Options{})}
	p := serveShop(t, console.Options{Peers: func() map[string]http.RoundTripper {
		return map[string]http.RoundTripper{"there": there, "stuck": silent{}}
	}})
	_, body := p.as(t, viewing, http.MethodGet, "/api/sites", "")
	for _, want := range []string{`"node":"here","name":"shop"`, `"node":"there","name":"garden"`, `"missing":[{"node":"stuck"}]`} {
		if !strings.Contains(body, want) {
			t.Errorf("the sites are without %s: %s", want, body)
		}
	}
	if status, body := p.as(t, viewing, http.MethodGet, "/api/sites/garden/tools?node=there", ""); status != http.StatusOK || !strings.Contains(body, `"node":"there","name":"dig"`) {
		t.Errorf("its tools are %d %s", status, body)
	}
	if status, body := p.as(t, viewing, http.MethodPost, "/api/sites/garden/validate?node=there", `{"tool":"dig","input":{}}`); status != http.StatusOK || body != `{"errors":[]}` {
		t.Errorf("its judgement is %d %s", status, body)
	}
	for token, want := range map[string]int{viewing: http.StatusNotFound, agent: http.StatusForbidden} {
		if status, body := p.as(t, token, http.MethodGet, "/api/sites/garden/tools?node=gone", ""); status != want {
			t.Errorf("a process that is not there: %d %s", status, body)
		}
	}
	if status, body := p.as(t, shopper, http.MethodGet, "/api/sites/garden/tools?node=there", ""); status != http.StatusNotFound {
		t.Errorf("who sees some sites of this process: %d %s", status, body)
	}
}

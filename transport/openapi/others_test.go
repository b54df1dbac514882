package openapi_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/opentools"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/transport"
)

// odd is a site whose schemas have all that is hard to move into a document.
func odd() *bridgetest.Router {
	return bridgetest.NewRouter().Add("shop",
		bridgetest.Returning(bridgetest.Tool("find.stamps", `{"$schema":"http://json-schema.org/draft-07/schema#","$id":"https://shop.example/find","type":"object","properties":{"q":{"$ref":"#/definitions/word"},
			"pair":{"type":"array","items":[{"type":"string"},{"type":"integer"}],"additionalItems":false}},"required":["q"],"definitions":{"word":{"type":"string","minLength":1},"tree":{"type":"object","properties":{"tree":{"$ref":"#/definitions/tree"}}}}}`),
			`{"type":"object","properties":{"n":{"type":["integer","null"]},"self":{"$ref":"#"}}}`),
		bridgetest.Tool("tree", `{"type":"object","properties":{"tree":{"$ref":"#"},"any":true,"none":false,"c":{"const":{"a":[1]}}},"dependentRequired":{"any":["c"]},"unevaluatedProperties":false}`),
		bridgetest.Tool("either", `{"type":"object","oneOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"number","exclusiveMinimum":0}},"required":["b"]}]}`),
		bridgetest.Tool("old", `{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"a":{"type":"string","discriminator":"k","xml":true,"externalDocs":"x","examples":{"x":1},"readOnly":"x"}}}`),
		bridgetest.Asking("buy", ""), bridgetest.Tool("now", ""))
}

// TestDocumentsOfOthers (O2): a validator of somebody else takes our documents, with and without
// credentials, of one site and of all; and the JSON Schema of x-llm takes what they have of it.
func TestDocumentsOfOthers(t *testing.T) {
	t.Parallel()
	root, operation, discovery := xllm(t, "root"), xllm(t, "operation"), xllm(t, "discovery")
	for name, callers := range map[string][]transport.Credential{"open": nil, "credentials": {{Token: "t", Caller: bridge.Caller{Name: "agent"}}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, odd().Add("weather", bridgetest.Tool("now", "")), bridge.Options{}, callers...)
			for _, path := range []string{"/openapi.json", "/sites/shop/openapi.json"} {
				_, text := w.send(t, http.MethodGet, path, "", "Authorization: Bearer t")
				doc, err := openapi3.NewLoader().LoadFromData([]byte(text))
				if err != nil {
					t.Fatalf("%s: %v", path, err)
				}
				if err := doc.Validate(t.Context()); err != nil {
					t.Errorf("%s: %v", path, err)
				}
				var d struct {
					XLLM  json.RawMessage `json:"x-llm"`
					Paths map[string]struct {
						Post struct {
							XLLM json.RawMessage `json:"x-llm"`
						}
					}
				}
				if err := json.Unmarshal([]byte(text), &d); err != nil || len(d.Paths) < 5 {
					t.Fatalf("%v, %s", err, text)
				}
				if err := root.Validate(d.XLLM); err != nil {
					t.Errorf("%s: x-llm: %v", path, err)
				}
				for at, item := range d.Paths {
					if err := operation.Validate(item.Post.XLLM); err != nil {
						t.Errorf("%s: x-llm: %v", at, err)
					}
				}
			}
			_, text := w.send(t, http.MethodGet, "/.well-known/llm.json", "", "Authorization: Bearer t")
			if err := discovery.Validate([]byte(text)); err != nil {
				t.Errorf("llm.json: %v", err)
			}
		})
	}
	if root.Validate([]byte(`{"version":1}`)) == nil || operation.Validate([]byte(`{"approval":"never"}`)) == nil || discovery.Validate([]byte(`{}`)) == nil {
		t.Error("the JSON Schema of x-llm takes anything")
	}
}

// xllm is a part of the JSON Schema of x-llm.
func xllm(t *testing.T, part string) *schema.Schema {
	t.Helper()
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(opentools.Schema, &parts); err != nil {
		t.Fatal(err)
	}
	s, err := schema.Compile([]byte(`{"$ref":"#/$defs/`+part+`","$defs":`+string(parts["$defs"])+`}`), schema.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// reference is a client that does what is known of the seed's own (opentools.md): it asks the root
// of the origin, reads JSON, ignores servers, statuses and parameters of paths, follows no
// reference, and sees no operation without an operationId. A body it knows only where it is in its
// place, of application/json, with type and properties.
type reference struct {
	origin string
	tools  map[string]referenceTool
}

type referenceTool struct {
	method, path, description, approval string
	arguments                           map[string]any
}

func (r *reference) get(t *testing.T, method, path string, body []byte) (v map[string]any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, r.origin+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if method != http.MethodGet {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%s is no JSON: %s", path, text)
	}
	return v
}

// in walks down members of objects; what is not there is nil.
func in(v any, names ...string) any {
	for _, name := range names {
		object, _ := v.(map[string]any)
		v = object[name]
	}
	return v
}

func (r *reference) connect(t *testing.T) {
	t.Helper()
	at, _ := r.get(t, http.MethodGet, "/.well-known/llm.json", nil)["openapi"].(string)
	doc := r.get(t, http.MethodGet, at, nil)
	r.tools = map[string]referenceTool{}
	paths, _ := doc["paths"].(map[string]any)
	for path, item := range paths {
		methods, _ := item.(map[string]any)
		for method, op := range methods {
			id, _ := in(op, "operationId").(string)
			if id == "" || in(op, "x-llm") == nil || in(op, "x-llm", "enabled") == false {
				continue
			}
			one := referenceTool{method: strings.ToUpper(method), path: path, arguments: map[string]any{}}
			one.description, _ = in(op, "summary").(string)
			if hint, _ := in(op, "x-llm", "hint").(string); hint != "" {
				one.description += "\n" + hint
			}
			one.approval, _ = in(op, "x-llm", "approval").(string)
			if s := in(op, "requestBody", "content", "application/json", "schema"); in(s, "type") == "object" {
				one.arguments, _ = in(s, "properties").(map[string]any)
			}
			r.tools[id] = one
		}
	}
}

func (r *reference) call(t *testing.T, name string, args map[string]any) map[string]any {
	t.Helper()
	one := r.tools[name]
	return r.get(t, one.method, one.path, schema.MustEncode(args))
}

// TestReferenceClient (O1, O5, O8, O15): a client that reads little of OpenAPI finds all tools,
// what their arguments are, when to ask, and reads every answer.
func TestReferenceClient(t *testing.T) {
	t.Parallel()
	w := newWorld(t, odd(), bridge.Options{})
	r := &reference{origin: w.url}
	r.connect(t)
	if len(r.tools) != 6 {
		t.Fatalf("%v", r.tools)
	}
	for name, want := range map[string][]string{"shop_find_stamps": {"q", "pair"}, "shop_tree": {"tree", "any", "c"}, "shop_either": {"a", "b"}, "shop_now": {}} {
		one := r.tools[name]
		for _, argument := range want {
			if _, ok := one.arguments[argument]; !ok {
				t.Errorf("%s has no argument %s: %v", name, argument, one.arguments)
			}
		}
		if one.arguments == nil || one.description == "" || one.method != http.MethodPost {
			t.Errorf("%s: %+v", name, one)
		}
	}
	if buy := r.tools["shop_buy"]; buy.approval != "per-call" {
		t.Errorf("%+v", buy)
	}
	if got := r.call(t, "shop_find_stamps", map[string]any{"q": "blue"}); got["error"] != nil {
		t.Errorf("%v", got)
	}
	if got := r.call(t, "shop_find_stamps", map[string]any{"q": 3}); in(got, "error", "code") != "SCHEMA_ERROR" {
		t.Errorf("%v", got)
	}
}

// TestRequestBodies (O15): a tool that has no properties needs no body, and has none where there
// can be no arguments: FastMCP, for one, makes an argument of a body without properties.
func TestRequestBodies(t *testing.T) {
	t.Parallel()
	const none, optional, required = "none", "optional", "required"
	cases := map[string][2]string{
		"free":     {"", optional},
		"open":     {`{"type":"object","properties":{}}`, optional},
		"closed":   {`{"type":"object","title":"Nothing","properties":{},"additionalProperties":false}`, none},
		"pattern":  {`{"additionalProperties":false,"patternProperties":{"^x-":{}}}`, optional},
		"referred": {`{"$ref":"#/$defs/a","$defs":{"a":{"additionalProperties":false}}}`, optional},
		"never":    {`{"additionalProperties":false,"minProperties":1}`, required},
		"some":     {`{"type":"object","properties":{"q":{}},"additionalProperties":false}`, required},
		"must":     {`{"type":"object","properties":{"q":{}},"required":["q"]}`, required},
		"either":   {`{"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}]}`, required},
	}
	var tools []bridge.Declaration
	for name, c := range cases {
		tools = append(tools, bridgetest.Tool(name, c[0]))
	}
	w := newWorld(t, bridgetest.NewRouter().Add("shop", tools...), bridge.Options{})
	var d struct {
		Paths map[string]struct {
			Post struct {
				Body *struct {
					Required bool
					Content  map[string]any
				} `json:"requestBody"`
			}
		}
	}
	_, text := w.send(t, http.MethodGet, "/openapi.json", "")
	if err := json.Unmarshal([]byte(text), &d); err != nil || len(d.Paths) != len(cases) {
		t.Fatalf("%v: %s", err, text)
	}
	for name, c := range cases {
		path := "/tools/shop/" + name
		got := none
		if body := d.Paths[path].Post.Body; body != nil && body.Required {
			got = required
		} else if body != nil {
			got = optional
		}
		if got != c[1] {
			t.Errorf("%s: the body is %s, want %s", name, got, c[1])
		}
		if res, reply := w.send(t, http.MethodPost, path, ""); res.StatusCode != http.StatusOK && c[1] != required {
			t.Errorf("%s without a body: %d %s", name, res.StatusCode, reply)
		}
	}
}

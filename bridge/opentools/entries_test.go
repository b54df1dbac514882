package opentools

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge/schema"
)

// goWords matches words that only readers of our source understand.
var goWords = regexp.MustCompile(`json:|jsontext|Go |[Uu]nmarshal|struct field|opentools\.|yaml:|map\[|<nil>|%!`)

const (
	opA = `"/a":{"get":{"operationId":"a","summary":"Reads a."}}`
	opB = `{"get":{"operationId":"b"}}`
)

// wrongEntries are documents in which one entry is wrong: the tools that are left of a and b, and
// what is said of it.
var wrongEntries = map[string]struct{ document, tools, said string }{
	"nothing is wrong":         {`{"openapi":"3.1.0","paths":{` + opA + `,"/b":` + opB + `}}`, "a b", ""},
	"a null path":              {`{"openapi":"3.0.3","paths":{` + opA + `,"/b":` + opB + `,"/n":null}}`, "a b", "/n: it must be an object: it has no operations"},
	"a list as path":           {`{"openapi":"3.0.3","paths":{` + opA + `,"/n":[]}}`, "a", "/n: it must be an object"},
	"a text as path":           {`{"openapi":"3.0.3","paths":{` + opA + `,"/n":"x"}}`, "a", "/n: it must be an object"},
	"null paths":               {`{"openapi":"3.0.3","paths":null}`, "", "paths: it must be an object"},
	"a list as paths":          {`{"openapi":"3.0.3","paths":[]}`, "", "paths: it must be an object"},
	"a null operation":         {`{"openapi":"3.0.3","paths":{` + opA + `,"/n":{"post":null}}}`, "a", "POST /n: it must be an object: it is not an operation"},
	"a text as operation":      {`{"openapi":"3.0.3","paths":{` + opA + `,"/n":{"post":"x","get":` + opB[7:] + `}}`, "a b", "POST /n: it must be an object"},
	"no slash":                 {`{"openapi":"3.0.3","paths":{` + opA + `,"c":` + opB + `}}`, "a", `c: a path must begin with "/"`},
	"an extension":             {`{"openapi":"3.0.3","paths":{` + opA + `,"x-more":null}}`, "a", ""},
	"the version a number":     {`{"openapi":3.1,"paths":{` + opA + `}}`, "a", ""},
	"3.0 as a number":          {`{"openapi":3.0,"paths":{` + opA + `}}`, "a", ""},
	"info is null":             {`{"openapi":"3.1.0","info":null,"paths":{` + opA + `}}`, "a", "info: it must be an object"},
	"a number as title":        {`{"openapi":"3.1.0","info":{"title":5,"version":1},"paths":{` + opA + `}}`, "a", "info: title must be a text"},
	"a text as x-llm":          {`{"openapi":"3.1.0","x-llm":"0.1","paths":{` + opA + `}}`, "a", "x-llm: it must be an object"},
	"x-llm with a list":        {`{"openapi":"3.1.0","x-llm":{"version":"0.1","name":[]},"paths":{` + opA + `}}`, "a", "x-llm: name must be a text"},
	"components are null":      {`{"openapi":"3.1.0","components":null,"paths":{` + opA + `}}`, "a", "components: it must be an object"},
	"a section is null":        {`{"openapi":"3.1.0","components":{"schemas":null,"parameters":{"p":{"name":"p","in":"query"}}},"paths":{"/a":{"get":{"operationId":"a","parameters":[{"$ref":"#/components/parameters/p"}]}}}}`, "a", "components/schemas: it must be an object"},
	"a path elsewhere":         {`{"openapi":"3.1.0","paths":{"/a":{"$ref":"#/components/pathItems/a"}},"components":{"pathItems":{"a":{"get":{"operationId":"a"}}}}}`, "a", ""},
	"a path nowhere":           {`{"openapi":"3.1.0","paths":{` + opA + `,"/n":{"$ref":"#/components/pathItems/n"}}}`, "a", "/n: the reference"},
	"servers is an object":     {`{"openapi":"3.1.0","servers":{"url":"/v1"},"paths":{` + opA + `}}`, "a", ""},
	"a number as id":           {`{"openapi":"3.1.0","paths":{` + opA + `,"/b":{"get":{"operationId":7}}}}`, "a get_b", "operationId must be a text"},
	"a list as summary":        {`{"openapi":"3.1.0","paths":{"/a":{"get":{"operationId":"a","summary":["x"],"deprecated":"no"}}}}`, "a", "summary must be a text"},
	"parameters an object":     {`{"openapi":"3.1.0","paths":{"/a":{"get":{"operationId":"a","parameters":{}}}}}`, "a", "parameters must be a list"},
	"of the path, too":         {`{"openapi":"3.1.0","paths":{"/a":{"parameters":{},"get":{"operationId":"a"}}}}`, "a", "the parameters of the path must be a list"},
	"a null parameter":         {`{"openapi":"3.1.0","paths":{"/a":{"get":{"operationId":"a","parameters":[null,{"name":"q","in":"query"}]}}}}`, "a", "a parameter is left out: it must be an object"},
	"no name":                  {`{"openapi":"3.1.0","paths":{"/a":{"get":{"operationId":"a","parameters":[{"in":"query"}]}}}}`, "a", "a parameter is left out: it must have a name"},
	"in a body":                {`{"openapi":"3.1.0","paths":{"/a":{"get":{"operationId":"a","parameters":[{"name":"q","in":"body"}]}}}}`, "a", "q must be in path, query, header or cookie"},
	"required as a text":       {`{"openapi":"3.1.0","paths":{"/a":{"get":{"operationId":"a","parameters":[{"name":"q","in":"query","required":"yes"}]}}}}`, "a", "the parameter q: required must be true or false"},
	"responses a list":         {`{"openapi":"3.1.0","paths":{"/a":{"get":{"operationId":"a","responses":[]}}}}`, "a", "responses must be an object"},
	"a null response":          {`{"openapi":"3.1.0","paths":{"/a":{"get":{"operationId":"a","responses":{"200":null}}}}}`, "a", ""},
	"a null media type":        {`{"openapi":"3.1.0","paths":{"/a":{"get":{"operationId":"a","responses":{"200":{"content":{"application/json":null}}}}}}}`, "a", ""},
	"a null body":              {`{"openapi":"3.1.0","paths":{"/a":{"post":{"operationId":"a","requestBody":null}}}}`, "a", ""},
	"a text as body":           {`{"openapi":"3.1.0","paths":{` + opA + `,"/b":{"post":{"operationId":"b","requestBody":"x"}}}}`, "a", "POST /b: requestBody: it must be an object"},
	"a null content":           {`{"openapi":"3.1.0","paths":{"/a":{"post":{"operationId":"a","requestBody":{"content":{"application/json":null}}}}}}`, "a", "requestBody: it must be an object"},
	"encoding a text":          {`{"openapi":"3.1.0","paths":{"/a":{"post":{"operationId":"a","requestBody":{"content":{"multipart/form-data":{"schema":{"type":"object","properties":{"f":{"type":"string"}}},"encoding":{"f":"x"}}}}}}}}`, "a", "the encoding of f: it must be an object"},
	"hint a number":            {`{"openapi":"3.1.0","paths":{"/a":{"get":{"operationId":"a","x-llm":{"hint":5}}}}}`, "a", "x-llm: hint must be a text"},
	"destructive a text":       {`{"openapi":"3.1.0","paths":{` + opA + `,"/b":{"get":{"operationId":"b","x-llm":{"destructive":"yes"}}}}}`, "a", "GET /b: x-llm: destructive must be true or false"},
	"approval a list":          {`{"openapi":"3.1.0","paths":{` + opA + `,"/b":{"get":{"operationId":"b","x-llm":{"approval":[]}}}}}`, "a", "GET /b: x-llm: approval must be a text"},
	"x-llm a text":             {`{"openapi":"3.1.0","paths":{` + opA + `,"/b":{"get":{"operationId":"b","x-llm":"on"}}}}`, "a", "GET /b: x-llm: it must be an object"},
	"undeclared":               {`{"openapi":"3.0.3","paths":{` + opA + `,"/b/{id}":` + opB + `}}`, "a b", "the path has {id}, and no parameter declares it: it is taken for a text"},
	"two undeclared":           {`{"openapi":"3.0.3","paths":{"/a/{id}/{id}/{x}":` + strings.ReplaceAll(opB, `"b"`, `"a"`) + `}}`, "a", "{x}"},
	"a query in the path":      {`{"openapi":"3.0.3","paths":{` + opA + `,"/b?x={x}":` + opB + `}}`, "a", `GET /b?x={x}: its path has "?"`},
	"a fragment":               {`{"openapi":"3.0.3","paths":{` + opA + `,"/b#x":` + opB + `}}`, "a", `its path has "#"`},
	"words without end":        {`{"openapi":"3.1.0","paths":{"/a":{"get":{"operationId":"a","summary":"` + strings.Repeat("ä", 20_000) + `","description":"` + strings.Repeat("b", 20_000) + `"}}}}`, "a", "its words have more than 16 KiB: their end was left out"},
	"a bound as a flag":        {`{"openapi":"3.1.0","paths":{"/a":{"get":{"operationId":"a","parameters":[{"name":"n","in":"query","schema":{"type":"integer","minimum":0,"exclusiveMinimum":true}}]}}}}`, "a", ""},
	"capitals as method":       {`{"openapi":"3.1.0","paths":{"/a":{"GET":{"operationId":"a"},"Post":{"operationId":"b"}}}}`, "a b", ""},
	"a method twice":           {`{"openapi":"3.1.0","paths":{"/a":{"GET":{"operationId":"b"},"get":{"operationId":"a"}}}}`, "a", `/a: "GET" is left out: the path has get, too`},
	"no method":                {`{"openapi":"3.1.0","paths":{"/a":{"get":{"operationId":"a"},"fetch":{"operationId":"b"}}}}`, "a", `/a: "fetch" is left out: it is not a method that is known here`},
	"methods of 3.2":           {`{"openapi":"3.2.0","paths":{"/a":{"query":{"operationId":"a"},"additionalOperations":{"LINK":{"operationId":"l"},"POST":{"operationId":"b"}}}}}`, "a b", `/a: "LINK" is left out`},
	"methods of 3.2 a list":    {`{"openapi":"3.2.0","paths":{"/a":{"get":{"operationId":"a"},"additionalOperations":[]}}}`, "a", "/a: additionalOperations: it must be an object"},
	"beside a reference":       {`{"openapi":"3.1.0","paths":{"/a":{"$ref":"#/components/pathItems/a","post":{"operationId":"b"}}},"components":{"pathItems":{"a":{"get":{"operationId":"a"},"post":{"operationId":"c"}}}}}`, "a b", ""},
	"a later path":             {`{"openapi":"3.1.0","paths":{"/b":{"$ref":"#/paths/~1c"},"/c":{"get":{"operationId":"a"}}}}`, "a_4f395a a_ca9781", ""},
	"paths in a circle":        {`{"openapi":"3.1.0","paths":{` + opA + `,"/b":{"$ref":"#/paths/~1c"},"/c":{"$ref":"#/paths/~1b"}}}`, "a", "/b: its references form a cycle: it has no operations"},
	"a number as reference":    {`{"openapi":"3.1.0","paths":{` + opA + `,"/b":{"$ref":5}}}`, "a", "/b: $ref must be a text: it has no operations"},
	"a number beside one":      {`{"openapi":"3.1.0","paths":{"/a":{"$ref":5,"get":{"operationId":"a"}}}}`, "a", "/a: $ref must be a text"},
	"a body elsewhere":         {`{"openapi":"3.1.0","paths":{` + opA + `,"/b":{"post":{"operationId":"b","requestBody":{"$ref":7}}}}}`, "a", "POST /b: requestBody: $ref must be a text"},
	"an operation elsewhere":   {`{"openapi":"3.1.0","paths":{"/a":{"get":{"$ref":"#/x-all/a"}}},"x-all":{"a":{"operationId":"a"}}}`, "a", ""},
	"an operation nowhere":     {`{"openapi":"3.1.0","paths":{` + opA + `,"/b":{"get":{"$ref":"b.yaml"}}}}`, "a", `GET /b: the reference "b.yaml" leads nowhere`},
	"schemas in a circle":      {`{"openapi":"3.1.0","paths":{"/a":{"post":{"operationId":"a","requestBody":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/A"}}}}}}},"components":{"schemas":{"A":{"$ref":"#/components/schemas/B"},"B":{"allOf":[{"$ref":"#/components/schemas/A"}]}}}}`, "a", `the references of "A" form a cycle`},
	"security a text":          {`{"openapi":"3.1.0","paths":{"/a":{"get":{"operationId":"a","security":"k"}}}}`, "a", "security: it must be a list of objects"},
	"security an object":       {`{"openapi":"3.1.0","paths":{"/a":{"get":{"operationId":"a","security":{"k":[]}}}},"components":{"securitySchemes":{"k":{"type":"http","scheme":"bearer"}}}}`, "a", ""},
	"scopes a text":            {`{"openapi":"3.1.0","paths":{"/a":{"get":{"operationId":"a","security":[{"k":"read"}]}}},"components":{"securitySchemes":{"k":{"type":"http","scheme":"bearer"}}}}`, "a", "security: the scopes of k must be a list of texts"},
	"an unknown scheme":        {`{"openapi":"3.1.0","paths":{"/a":{"get":{"operationId":"a","security":[{"z":[]}]}}},"components":{"securitySchemes":{"k":{"type":"http","scheme":"bearer"}}}}`, "a", "security: components/securitySchemes has no object z"},
	"of the document, too":     {`{"openapi":"3.1.0","security":[{"z":[]},5],"paths":{` + opA + `}}`, "a", "security: components/securitySchemes has no object z"},
	"a scheme is null":         {`{"openapi":"3.1.0","security":[{"k":[]}],"paths":{` + opA + `},"components":{"securitySchemes":{"k":null}}}`, "a", "security: components/securitySchemes has no object k"},
	"servers of numbers":       {`{"openapi":"3.1.0","servers":[7,null,{"url":"/v1"}],"paths":{` + opA + `}}`, "a", "servers: it must be a list of objects with url"},
	"servers of the path":      {`{"openapi":"3.1.0","paths":{"/a":{"servers":5,"get":{"operationId":"a"}}}}`, "a", "servers: it must be a list of objects with url"},
	"variables a list":         {`{"openapi":"3.1.0","servers":[{"url":"/v1","variables":["v"]}],"paths":{` + opA + `}}`, "a", "servers: variables must be an object"},
	"not in the path":          {`{"openapi":"3.1.0","paths":{"/a":{"get":{"operationId":"a","parameters":[{"name":"id","in":"path","required":true}]}}}}`, "a", "the parameter id is left out: the path has no {id}"},
	"a broken escape":          {`{"openapi":"3.1.0","paths":{` + opA + `,"/b%2Fc/%zz":` + opB + `}}`, "a", `GET /b%2Fc/%zz: its path has "%" that no two digits follow`},
	"an unknown style":         {`{"openapi":"3.1.0","paths":{"/a":{"get":{"operationId":"a","parameters":[{"name":"q","in":"query","style":"csv"}]}}}}`, "a", `the parameter q: style "csv" is not one of form, spaceDelimited`},
	"a style of elsewhere":     {`{"openapi":"3.1.0","paths":{"/a":{"get":{"operationId":"a","parameters":[{"name":"h","in":"header","style":"deepObject"}]}}}}`, "a", `the parameter h: style "deepObject" is not one of simple`},
	"explode a text":           {`{"openapi":"3.1.0","paths":{"/a":{"get":{"operationId":"a","parameters":[{"name":"q","in":"query","explode":"yes"}]}}}}`, "a", "the parameter q: explode must be true or false"},
	"styles of a form":         {`{"openapi":"3.1.0","paths":{"/a":{"post":{"operationId":"a","requestBody":{"content":{"application/x-www-form-urlencoded":{"schema":{"type":"object","properties":{"f":{"type":"array"}}},"encoding":{"f":{"style":"simple","explode":0}}}}}}}}}`, "a", `requestBody: the encoding of f: style "simple" is not one of form`},
	"content of XML":           {`{"openapi":"3.1.0","paths":{"/a":{"get":{"operationId":"a","parameters":[{"name":"q","in":"query","content":{"application/xml":{}}}]}}}}`, "a", "a parameter is left out: q: none of the media types of its content is known here"},
	"content a number":         {`{"openapi":"3.1.0","paths":{"/a":{"get":{"operationId":"a","parameters":[{"name":"q","in":"query","content":{"application/json":5}}]}}}}`, "a", "the parameter q: content: it must be an object"},
	"in capitals":              {`{"openapi":"3.1.0","paths":{"/a":{"get":{"operationId":"a","parameters":[{"name":"q","in":"Query"}]}}}}`, "a", ""},
	"a number as response":     {`{"openapi":"3.1.0","paths":{"/a":{"get":{"operationId":"a","responses":{"200":5,"2XX":{"content":[]}}}}}}`, "a", "the response 200: it must be an object"},
	"a response nowhere":       {`{"openapi":"3.1.0","paths":{"/a":{"get":{"operationId":"a","responses":{"201":{"$ref":"#/x"}}}}}}`, "a", `the response 201: the reference "#/x" leads nowhere`},
	"approval of the document": {`{"openapi":"3.1.0","x-llm":{"version":"0.1","defaultApproval":"never"},"paths":{` + opA + `}}`, "a", `x-llm: defaultApproval "never" is neither auto nor per-call`},
	"callbacks, links, tags":   {`{"openapi":"3.1.0","tags":5,"webhooks":[],"paths":{"/a":{"get":{"operationId":"a","callbacks":[5],"tags":"x","externalDocs":1,"responses":{"200":{"links":[],"headers":"x","description":7}}}}}}`, "a", ""},
	"an open brace":            {`{"openapi":"3.0.3","paths":{` + opA + `,"/b/{id":` + opB + `}}`, "a", "its path has braces"},
}

// TestEntries holds O1 and O4: what is wrong in one entry costs at most that entry, and is named
// with its own reason, in words for people.
func TestEntries(t *testing.T) {
	t.Parallel()
	for name, x := range wrongEntries {
		d, err := ReadDocument([]byte(x.document))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		all, said := d.Tools(All)
		var names []string
		for _, one := range all {
			names = append(names, one.Name)
			said = append(said, one.Notes...)
			if _, err := schema.Compile(one.Input, schema.Limits{}); err != nil || len(one.Title) > maxDescribed || len(one.Description) > maxDescribed {
				t.Errorf("%s: the gate refuses %s: %v", name, one.Name, err)
			}
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); got != x.tools {
			t.Errorf("%s: the tools %q, want %q", name, got, x.tools)
		}
		if words := strings.Join(said, "\n"); x.said == "" && words != "" || !strings.Contains(words, x.said) || goWords.MatchString(words) {
			t.Errorf("%s: %q, want %q", name, words, x.said)
		}
	}
}

// TestDocumentsRefused: what cannot be read as a document is refused in words for people.
func TestDocumentsRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"openapi":"3.1.0","paths":{`: "the document is not JSON", `[]`: "the document is not a JSON object", `{"a":tru}`: "the document is not JSON",
		`{"info":{}}`: `the document has no "openapi"`, `{"openapi":null}`: `the document has no "openapi"`, `{"openapi":"2.0"}`: "is of OpenAPI",
		`{"openapi":2}`: "is of OpenAPI", `{"openapi":true}`: "is of OpenAPI", `{"openapi":[3.1]}`: "", `{"swagger":2}`: "Swagger 2",
		`{"openapi":"3.1.0","x-llm":{"version":"1.0"}}`: "version",
	} {
		_, err := ReadDocument([]byte(text))
		if want == "" {
			continue // a list of one
		}
		if err == nil || !strings.Contains(err.Error(), want) || goWords.MatchString(err.Error()) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	for _, text := range []string{"a: [1", "a: b: c", "\t- x", "openapi: 3.1\npaths:\n  /a:\n"} {
		d, err := ReadFile([]byte(text))
		if err == nil && d.wrong == nil || err != nil && goWords.MatchString(err.Error()) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestServersOfOneOrigin holds O3: the addresses of one origin are one, however they are written.
func TestServersOfOneOrigin(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		document, server string
		same             bool
	}{
		{"https://münchen.example/openapi.json", "https://xn--mnchen-3ya.example/api", true},
		{"https://xn--mnchen-3ya.example/openapi.json", "https://MÜNCHEN.example/api", true},
		{"https://shop.example/openapi.json", "HTTPS://SHOP.example/api", true},
		{"http://shop.example/openapi.json", "http://shop.example:80/api", true},
		{"https://shop.example/openapi.json", "https://shop.example:/api", true},
		{"https://shop.example:443/openapi.json", "https://shop.example/api", true},
		{"http://[::1]:8080/openapi.json", "http://[0:0:0:0:0:0:0:1]:8080/api", true},
		{"http://127.0.0.1:8080/openapi.json", "http://127.0.0.1:08080/api", true},

		{"https://shop.example/v1/openapi.json", "//shop.example/api", true},
		{"https://shop.example/v1/openapi.json", "../v2", true},

		{"https://shop.example/openapi.json", "http://shop.example/api", false},
		{"https://shop.example/openapi.json", "https://shop.example:8443/api", false},
		{"https://shop.example/openapi.json", "https://shop.example.evil.example/api", false},
		{"https://shop.example/openapi.json", "https://münchen.example/api", false},
	} {
		d, err := ReadDocument(fmt.Appendf(nil, `{"openapi":"3.1.0","servers":[{"url":%q}],"paths":{%s}}`, x.server, opA))
		if err != nil {
			t.Fatal(err)
		}
		from, err := url.Parse(x.document)
		if err != nil {
			t.Fatal(err)
		}
		tools, _ := d.Tools(All)
		if _, err := tools[0].serverOf(d, from, nil, nil); (err == nil) != x.same {
			t.Errorf("%s of %s: %v", x.server, x.document, err)
		}
	}
}

// TestPlacesAreReadOnce: operations with the same servers and the same security share what was read
// of them, and what is wrong with it is noted for each.
func TestPlacesAreReadOnce(t *testing.T) {
	t.Parallel()
	const security = `"security":[{"key":[]},{"none":[]}]`
	d, err := ReadDocument([]byte(`{"openapi":"3.1.0","components":{"securitySchemes":{"key":{"type":"apiKey","in":"header","name":"X-Key"}}},"paths":{` +
		`"/a":{"servers":[{"url":"/near"},{}],"get":{` + security + `},"put":{` + security + `},"delete":{"servers":[{"url":"/own"}],"security":[]}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	tools, _ := d.Tools(All)
	by := map[string]*Tool{}
	for _, one := range tools {
		by[one.Method] = one
	}
	get, put, del := by["GET"], by["PUT"], by["DELETE"]
	if get.servers != put.servers || get.security != put.security || get.servers == del.servers || del.security == nil || len(d.alternatives(del)) > 0 {
		t.Errorf("%+v %+v %+v", get, put, del)
	}
	for _, one := range []*Tool{get, put} {
		if notes := strings.Join(one.Notes, "\n"); !strings.Contains(notes, "servers: ") || !strings.Contains(notes, "security: ") || len(d.alternatives(one)) != 1 {
			t.Errorf("%s: %q, %v", one.Method, notes, d.alternatives(one))
		}
	}
}

// TestServerAddresses: addresses of servers are read where they can be known, and are named where
// they cannot. O1.
func TestServerAddresses(t *testing.T) {
	t.Parallel()
	from, err := url.Parse("https://shop.example/v1/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	for servers, want := range map[string]string{
		`[{"url":"/v2"}]`: "https://shop.example/v2",
		`[{"url":"https://shop.example:{port}/v{n}","variables":{"port":{"default":443},"n":{"default":2}}}]`: "https://shop.example:443/v2",
		`[{"url":"/{v}","variables":{"v":{"enum":["v3"]}}}]`:                                                  "https://shop.example/v3",
		`[{"url":"/{v}","variables":{"v":{"default":""}}}]`:                                                   "https://shop.example/",
		`"/v2"`: "https://shop.example/v2", `["/v2"]`: "https://shop.example/v2", `{"url":"/v2"}`: "https://shop.example/v2",
		`[]`: "https://shop.example/", `null`: "https://shop.example/", `[null]`: "https://shop.example/", `5`: "https://shop.example/",
		`[{"url":"/{v}"},{"url":"/v4"}]`:                        "https://shop.example/v4",
		`[{"url":"wss://shop.example/"},{"url":"/v5"}]`:         "https://shop.example/v5",
		`[{"url":"/{v}"}]`:                                      "the variable {v} has no default",
		`[{"url":"/{v}","variables":["v"]}]`:                    "the variable {v} has no default",
		`[{"url":"/{v}","variables":{"v":{"enum":["1","2"]}}}]`: "the variable {v} has no default",
		`[{"url":"https://shop.example:99999/"}]`:               "is not an address of http or https",
		`[{"url":"http://[::1"}]`:                               "is not an address of http or https",
		`[{"url":"ftp://shop.example/"}]`:                       "is not an address of http or https",
		`[{"url":"https://other.example/"}]`:                    "is of another origin",
	} {
		d, err := ReadDocument([]byte(`{"openapi":"3.1.0","servers":` + servers + `,"paths":{` + opA + `}}`))
		if err != nil {
			t.Fatal(err)
		}
		tools, _ := d.Tools(All)
		got := ""
		if u, err := tools[0].serverOf(d, from, nil, nil); err != nil {
			got = err.Error()
		} else {
			got = u.String()
		}
		if !strings.Contains(got, want) || strings.HasPrefix(want, "https") && got != want {
			t.Errorf("%s: %s, want %s", servers, got, want)
		}
	}
}

// TestContentOfParameters: a parameter is written as its content says. O4.
func TestContentOfParameters(t *testing.T) {
	t.Parallel()
	server, err := url.Parse("https://shop.example/")
	if err != nil {
		t.Fatal(err)
	}
	for media, want := range map[string]string{"application/json": "q=%22v%22", "application/vnd.shop+json": "q=%22v%22", "text/plain": "q=v"} {
		got, problems := tools(t, "3.1.0", `"/a":{"get":{"operationId":"a","parameters":[{"name":"q","in":"query","content":{"`+media+`":{"schema":{"type":"string","maxLength":3}}}}]}}`, "", All)
		if problems != nil || !strings.Contains(string(got["a"].Input), `"maxLength":3`) {
			t.Fatalf("%s: %s %q", media, got["a"].Input, problems)
		}
		if r, err := got["a"].request(server, read(t, `{"q":"v"}`)); err != nil || r.url.RawQuery != want {
			t.Errorf("%s: %v, %v", media, r.url, err)
		}
	}
}

// TestYAMLOfPeople: what people write in YAML is read, merged mappings, too. O1.
func TestYAMLOfPeople(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"x: &x\n  operationId: a\npaths: {/a: {get: {<<: *x, summary: s}}}":                                          "a",
		"x: &x {operationId: a}\npaths: {/a: {get: {operationId: b, <<: *x}}}":                                       "b",
		"x: &x {operationId: a}\ny: &y {<<: *x, deprecated: true}\npaths: {/a: {get: {<<: [*y, {operationId: c}]}}}": "a",
		"paths: {/a: {get: {\"<<\": {operationId: b}, operationId: a}}}":                                             "a",
		"paths: {/a: {get: {operationId: no}}}":                                                                      "no",
		"paths:\n  /a:\n    GET: {operationId: a}\n    post:\n":                                                      "a",
	} {
		d, err := ReadFile([]byte("openapi: 3.1\n" + text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if all, _ := d.Tools(All); len(all) != 1 || all[0].Name != want {
			t.Errorf("%s: %+v", text, all)
		}
	}
}

// TestMultipartOf31 holds issue 34, item 5: what OpenAPI 3.1 says of the parts of a form counts.
func TestMultipartOf31(t *testing.T) {
	t.Parallel()
	const file, text = "base64", ""
	for _, x := range []struct{ version, schema, encoding, want string }{
		{"3.1.0", `{"type":"string","contentMediaType":"image/png"}`, ``, file},
		{"3.1.0", `{"type":"string","contentMediaType":"application/octet-stream"}`, ``, file},
		{"3.1.0", `{"contentMediaType":"application/pdf"}`, ``, file},
		{"3.1.0", `{}`, ``, file},
		{"3.1.0", `{}`, `{"contentType":"image/png, image/jpeg"}`, file},
		{"3.1.0", `{"type":"string"}`, `{"contentType":"image/png"}`, file},
		{"3.1.0", `{"type":["string","null"],"format":"binary"}`, ``, file},
		{"3.1.0", `{"anyOf":[{"type":"string","contentMediaType":"application/octet-stream"},{"type":"null"}]}`, ``, file},
		{"3.1.0", `{"type":"array","items":{"type":"string","contentMediaType":"image/png"}}`, ``, file},
		{"3.1.0", `{"type":"array","items":{}}`, ``, file},
		{"3.0.3", `{"type":"string","format":"binary"}`, ``, file},

		{"3.0.3", `{}`, ``, text},
		{"3.1.0", `{"type":"string"}`, ``, text},
		{"3.1.0", `{"type":"string"}`, `{"contentType":"text/csv"}`, text},
		{"3.1.0", `{"type":"object","properties":{"a":{"type":"string"}}}`, `{"contentType":"application/json"}`, text},
		{"3.1.0", `{"type":"string","contentMediaType":"text/html"}`, ``, text},
		{"3.1.0", `{"type":"integer"}`, ``, text},
	} {
		encoding := ""
		if x.encoding != "" {
			encoding = `,"encoding":{"f":` + x.encoding + `}`
		}
		got, problems := tools(t, x.version, `"/a":{"post":{"operationId":"a","requestBody":{"required":true,"content":{"multipart/form-data":{"schema":{"type":"object","properties":{"f":`+
			x.schema+`}}`+encoding+`}}}}}`, "", All)
		if problems != nil {
			t.Fatal(problems)
		}
		if is := strings.Contains(string(got["a"].Input), `"base64"`); is != (x.want == file) {
			t.Errorf("%s %s %s: %s", x.version, x.schema, x.encoding, got["a"].Input)
		}
	}
	sent := func(encoding, args string) string {
		got, _ := tools(t, "3.1.0", `"/a":{"post":{"operationId":"a","requestBody":{"required":true,"content":{"multipart/form-data":{"schema":{"type":"object","properties":{"f":{}}},"encoding":{"f":`+
			encoding+`}}}}}}`, "", All)
		server, err := url.Parse("https://shop.example/")
		if err != nil {
			t.Fatal(err)
		}
		r, err := got["a"].request(server, read(t, args))
		if err != nil {
			t.Fatalf("%s: %v", args, err)
		}
		return string(r.body)
	}
	for args, want := range map[string]string{
		`{"f":{"base64":"aGVsbG8="}}`:                         "Content-Type: image/png\r\n\r\nhello",
		`{"f":{"base64":"aGVsbG8=","mediaType":"image/gif"}}`: "Content-Type: image/gif\r\n\r\nhello",
	} {
		if got := sent(`{"contentType":"image/png, image/jpeg"}`, args); !strings.Contains(got, want) {
			t.Errorf("%s: %q", args, got)
		}
	}
	if got := sent(`{"contentType":"text/csv","headers":{"X-A":{}}}`, `{"f":"a,b"}`); !strings.Contains(got, "Content-Type: text/csv\r\n\r\na,b") {
		t.Errorf("a part of another type: %q", got)
	}
}

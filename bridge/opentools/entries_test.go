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
	"nothing is wrong":     {`{"openapi":"3.1.0","paths":{` + opA + `,"/b":` + opB + `}}`, "a b", ""},
	"a null path":          {`{"openapi":"3.0.3","paths":{` + opA + `,"/b":` + opB + `,"/n":null}}`, "a b", "/n: it must be an object: it has no operations"},
	"a list as path":       {`{"openapi":"3.0.3","paths":{` + opA + `,"/n":[]}}`, "a", "/n: it must be an object"},
	"a text as path":       {`{"openapi":"3.0.3","paths":{` + opA + `,"/n":"x"}}`, "a", "/n: it must be an object"},
	"null paths":           {`{"openapi":"3.0.3","paths":null}`, "", "paths: it must be an object"},
	"a list as paths":      {`{"openapi":"3.0.3","paths":[]}`, "", "paths: it must be an object"},
	"a null operation":     {`{"openapi":"3.0.3","paths":{` + opA + `,"/n":{"post":null}}}`, "a", "POST /n: it must be an object: it is not an operation"},
	"a text as operation":  {`{"openapi":"3.0.3","paths":{` + opA + `,"/n":{"post":"x","get":` + opB[7:] + `}}`, "a b", "POST /n: it must be an object"},
	"no slash":             {`{"openapi":"3.0.3","paths":{` + opA + `,"c":` + opB + `}}`, "a", `c: a path must begin with "/"`},
	"an extension":         {`{"openapi":"3.0.3","paths":{` + opA + `,"x-more":null}}`, "a", ""},
	"the version a number": {`{"openapi":3.1,"paths":{` + opA + `}}`, "a", ""},
	"3.0 as a number":      {`{"openapi":3.0,"paths":{` + opA + `}}`, "a", ""},
	"info is null":         {`{"openapi":"3.1.0","info":null,"paths":{` + opA + `}}`, "a", "info: it must be an object"},
	"a number as title":    {`{"openapi":"3.1.0","info":{"title":5,"version":1},"paths":{` + opA + `}}`, "a", "info: title must be a text"},
	"a text as x-llm":      {`{"openapi":"3.1.0","x-llm":"0.1","paths":{` + opA + `}}`, "a", "x-llm: it must be an object"},
	"x-llm with a list":    {`{"openapi":"3.1.0","x-llm":{"version":"0.1","name":[]},"paths":{` + opA + `}}`, "a", "x-llm: name must be a text"},
	"components are null":  {`{"openapi":"3.1.0","components":null,"paths":{` + opA + `}}`, "a", "components: it must be an object"},
	"a section is null":    {`{"openapi":"3.1.0","components":{"schemas":null,"parameters":{"p":{"name":"p","in":"query"}}},"paths":{"/a":{"get":{"operationId":"a","parameters":[{"$ref":"#/components/parameters/p"}]}}}}`, "a", "components/schemas: it must be an object"},
	"a path elsewhere":     {`{"openapi":"3.1.0","paths":{"/a":{"$ref":"#/components/pathItems/a"}},"components":{"pathItems":{"a":{"get":{"operationId":"a"}}}}}`, "a", ""},
	"a path nowhere":       {`{"openapi":"3.1.0","paths":{` + opA + `,"/n":{"$ref":"#/components/pathItems/n"}}}`, "a", "/n: the reference"},
	"servers is an object": {`{"openapi":"3.1.0","servers":{"url":"/v1"},"paths":{` + opA + `}}`, "a", ""},
	"a number as id":       {`{"openapi":"3.1.0","paths":{` + opA + `,"/b":{"get":{"operationId":7}}}}`, "a get_b", "operationId must be a text"},
	"a list as summary":    {`{"openapi":"3.1.0","paths":{"/a":{"get":{"operationId":"a","summary":["x"],"deprecated":"no"}}}}`, "a", "summary must be a text"},
	"parameters an object": {`{"openapi":"3.1.0","paths":{"/a":{"get":{"operationId":"a","parameters":{}}}}}`, "a", "parameters must be a list"},
	"of the path, too":     {`{"openapi":"3.1.0","paths":{"/a":{"parameters":{},"get":{"operationId":"a"}}}}`, "a", "the parameters of the path must be a list"},
	"a null parameter":     {`{"openapi":"3.1.0","paths":{"/a":{"get":{"operationId":"a","parameters":[null,{"name":"q","in":"query"}]}}}}`, "a", "a parameter is left out: it must be an object"},
	"no name":              {`{"openapi":"3.1.0","paths":{"/a":{"get":{"operationId":"a","parameters":[{"in":"query"}]}}}}`, "a", "a parameter is left out: it must have a name"},
	"in a body":            {`{"openapi":"3.1.0","paths":{"/a":{"get":{"operationId":"a","parameters":[{"name":"q","in":"body"}]}}}}`, "a", "q must be in path, query, header or cookie"},
	"required as a text":   {`{"openapi":"3.1.0","paths":{"/a":{"get":{"operationId":"a","parameters":[{"name":"q","in":"query","required":"yes"}]}}}}`, "a", "the parameter q: required must be true or false"},
	"responses a list":     {`{"openapi":"3.1.0","paths":{"/a":{"get":{"operationId":"a","responses":[]}}}}`, "a", "responses must be an object"},
	"a null response":      {`{"openapi":"3.1.0","paths":{"/a":{"get":{"operationId":"a","responses":{"200":null}}}}}`, "a", ""},
	"a null media type":    {`{"openapi":"3.1.0","paths":{"/a":{"get":{"operationId":"a","responses":{"200":{"content":{"application/json":null}}}}}}}`, "a", ""},
	"a null body":          {`{"openapi":"3.1.0","paths":{"/a":{"post":{"operationId":"a","requestBody":null}}}}`, "a", ""},
	"a text as body":       {`{"openapi":"3.1.0","paths":{` + opA + `,"/b":{"post":{"operationId":"b","requestBody":"x"}}}}`, "a", "POST /b: requestBody: it must be an object"},
	"a null content":       {`{"openapi":"3.1.0","paths":{"/a":{"post":{"operationId":"a","requestBody":{"content":{"application/json":null}}}}}}`, "a", "requestBody: it must be an object"},
	"encoding a text":      {`{"openapi":"3.1.0","paths":{"/a":{"post":{"operationId":"a","requestBody":{"content":{"multipart/form-data":{"schema":{"type":"object","properties":{"f":{"type":"string"}}},"encoding":{"f":"x"}}}}}}}}`, "a", "the encoding of f: it must be an object"},
	"hint a number":        {`{"openapi":"3.1.0","paths":{"/a":{"get":{"operationId":"a","x-llm":{"hint":5}}}}}`, "a", "x-llm: hint must be a text"},
	"destructive a text":   {`{"openapi":"3.1.0","paths":{` + opA + `,"/b":{"get":{"operationId":"b","x-llm":{"destructive":"yes"}}}}}`, "a", "GET /b: x-llm: destructive must be true or false"},
	"approval a list":      {`{"openapi":"3.1.0","paths":{` + opA + `,"/b":{"get":{"operationId":"b","x-llm":{"approval":[]}}}}}`, "a", "GET /b: x-llm: approval must be a text"},
	"x-llm a text":         {`{"openapi":"3.1.0","paths":{` + opA + `,"/b":{"get":{"operationId":"b","x-llm":"on"}}}}`, "a", "GET /b: x-llm: it must be an object"},
	"undeclared":           {`{"openapi":"3.0.3","paths":{` + opA + `,"/b/{id}":` + opB + `}}`, "a b", "the path has {id}, and no parameter declares it: it is taken for a text"},
	"two undeclared":       {`{"openapi":"3.0.3","paths":{"/a/{id}/{id}/{x}":` + strings.ReplaceAll(opB, `"b"`, `"a"`) + `}}`, "a", "{x}"},
	"a query in the path":  {`{"openapi":"3.0.3","paths":{` + opA + `,"/b?x={x}":` + opB + `}}`, "a", `GET /b?x={x}: its path has "?"`},
	"a fragment":           {`{"openapi":"3.0.3","paths":{` + opA + `,"/b#x":` + opB + `}}`, "a", `its path has "#"`},
	"words without end":    {`{"openapi":"3.1.0","paths":{"/a":{"get":{"operationId":"a","summary":"` + strings.Repeat("ä", 20_000) + `","description":"` + strings.Repeat("b", 20_000) + `"}}}}`, "a", "its words have more than 16 KiB: their end was left out"},
	"a bound as a flag":    {`{"openapi":"3.1.0","paths":{"/a":{"get":{"operationId":"a","parameters":[{"name":"n","in":"query","schema":{"type":"integer","minimum":0,"exclusiveMinimum":true}}]}}}}`, "a", ""},
	"an open brace":        {`{"openapi":"3.0.3","paths":{` + opA + `,"/b/{id":` + opB + `}}`, "a", "its path has braces"},
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

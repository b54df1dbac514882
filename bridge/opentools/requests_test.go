package opentools_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"github.com/pagetools/pagetools/bridge/opentools"
	"github.com/pagetools/pagetools/bridge/schema"
)

// The requests that we make of a document are held to it by a validator that is not ours:
// docs/decisions/2026-11-24-apis-beside-pages.md.

// judge is a server that answers what is wrong with a request.
type judge struct {
	doc    *openapi3.T
	server *url.URL
	client *http.Client // its connections are no other test's: a server that closes ends idle ones
	known  []string     // what is the document's fault, or the validator's
}

// flaws lists the validator's wrong complaints about correct requests.
var flaws = []string{
	// Stripe says deepObject of lists, which OpenAPI defines for objects only (4.7.12.2); its
	// servers take expand[0].
	`invalid serialization method: style="deepObject", explode=true`,
	// The validator does not read lists of objects in forms.
	"unsupported schema of request body's property",
	// SendGrid has dates whose default is "".
	`parameter "start_date" in query has an error: string doesn't match the format "date"`,
}

// newJudge serves what a document says, as the validator reads it.
func newJudge(t *testing.T, text []byte) *judge {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatalf("the validator does not read the document: %.300s", err)
	}
	j := &judge{doc: doc}
	server := httptest.NewServer(j)
	t.Cleanup(server.Close)
	j.client = server.Client()
	j.server, err = url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// reduced leaves out of a document what the validator refuses it for, and no request is judged by:
// a response that refers to a body (PagerDuty), and discriminators that refer to files
// (DigitalOcean).
func reduced(t *testing.T, text []byte) []byte {
	t.Helper()
	var doc any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	reduce(doc)
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func reduce(v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			reduce(item)
		}
	case map[string]any:
		delete(v, "discriminator")
		if name, _ := v["name"].(string); v["in"] == "header" && slices.Contains([]string{"content-type", "authorization"}, strings.ToLower(name)) {
			v["required"] = false // OpenAPI ignores it (4.7.12.1), the validator does not
		}
		responses, _ := v["responses"].(map[string]any)
		for status, r := range responses {
			held, _ := r.(map[string]any)
			if ref, _ := held["$ref"].(string); strings.HasPrefix(ref, "#/components/requestBodies/") {
				responses[status] = map[string]any{"description": "Done."}
			}
		}
		for _, item := range v {
			reduce(item)
		}
	}
}

// pathHeader carries the path of a request's operation.
const pathHeader = "Test-Path"

// ServeHTTP answers 200, or 400 with what is wrong.
func (j *judge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := j.judge(r); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

var template = regexp.MustCompile(`\\\{[^}]*\\\}`) // as QuoteMeta leaves it

func (j *judge) judge(r *http.Request) error {
	path := r.Header.Get(pathHeader)
	item := j.doc.Paths.Value(path)
	if item == nil || item.GetOperation(r.Method) == nil {
		return fmt.Errorf("%s %s is no operation", r.Method, path)
	}
	names := regexp.MustCompile(`\{([^}]*)\}`).FindAllStringSubmatch(path, -1)
	pattern := "^" + template.ReplaceAllString(regexp.QuoteMeta(path), "([^/]+)") + "$"
	found := regexp.MustCompile(pattern).FindStringSubmatch(r.URL.EscapedPath())
	if found == nil {
		return fmt.Errorf("%s is no path of %s", r.URL.EscapedPath(), path)
	}
	params := map[string]string{}
	for i, name := range names {
		plain, err := url.PathUnescape(found[i+1])
		if err != nil {
			return err
		}
		params[name[1]] = plain
	}
	route := &routers.Route{Spec: j.doc, Path: path, PathItem: item, Method: r.Method, Operation: item.GetOperation(r.Method)}
	return openapi3filter.ValidateRequest(r.Context(), &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route,
		Options: &openapi3filter.Options{SkipSettingDefaults: true, AuthenticationFunc: openapi3filter.NoopAuthenticationFunc}})
}

// ask sends a request, and returns what is wrong with it.
func (j *judge) ask(t *testing.T, tool *opentools.Tool, req *http.Request) string {
	t.Helper()
	req.Header.Set(pathHeader, tool.Path)
	res, err := j.client.Do(req.WithContext(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode == http.StatusOK {
		return ""
	}
	var said bytes.Buffer
	if _, err := said.ReadFrom(res.Body); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(said.String())
}

// tally counts the outcomes for a document.
type tally struct{ operations, requests, unmade, cut, known, refused int }

// hold calls operations of a document, at most so many, with arguments made of their schemas.
func (j *judge) hold(t *testing.T, text []byte, most int) (sum tally) {
	t.Helper()
	d, err := opentools.ReadDocument(text)
	if err != nil {
		t.Fatal(err)
	}
	tools, _ := d.Tools(opentools.All)
	step := max(1, len(tools)/most)
	for i := range tools {
		if sum.operations == most {
			break
		}
		tool := tools[(i*step+i*step/len(tools))%len(tools)] // from all over the document
		if slices.ContainsFunc(tool.Notes, func(note string) bool { return strings.Contains(note, "left out: it is too long") }) {
			sum.cut++ // a value made from the rest of the schema may not fit all of it
			continue
		}
		sum.operations++
		samples := schema.Samples(tool.Input, false)
		if len(samples) == 0 {
			sum.unmade++
		}
		for _, sample := range samples {
			args, err := schema.Read(sample.Input, 0)
			if err != nil {
				t.Fatal(err)
			}
			req, err := tool.Request(j.server, args)
			if err != nil && strings.Contains(err.Error(), "is a part of what needs it") {
				sum.refused++
				continue
			}
			if err != nil {
				t.Errorf("%s %s: %v: %.300s", tool.Method, tool.Path, err, sample.Input)
				continue
			}
			sum.requests++
			wrong := j.ask(t, tool, req)
			switch {
			case wrong == "":
			case slices.ContainsFunc(j.known, func(flaw string) bool { return strings.Contains(wrong, flaw) }):
				sum.known++
			default:
				t.Errorf("%s %s: %.600s\n\targuments %.600s\n\t%s", tool.Method, tool.Path, wrong, sample.Input, req.URL.RequestURI())
			}
		}
	}
	return sum
}

// TestRequestsFit (O15): requests made of documents with every style of parameters and type of
// bodies fit them, as somebody else's validator reads them.
func TestRequestsFit(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/requests/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no documents: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			sum := newJudge(t, text).hold(t, text, 1000)
			if sum.operations == 0 || sum.unmade > 0 || sum.cut > 0 || sum.requests < sum.operations {
				t.Errorf("%+v", sum)
			}
		})
	}
}

// TestCorpusFits does the same with 50 operations of each document of others: "make corpus" names
// the folder.
func TestCorpusFits(t *testing.T) {
	t.Parallel()
	folder := os.Getenv("PAGETOOLS_CORPUS")
	if folder == "" {
		t.Skip("make corpus runs this")
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			switch filepath.Ext(file) {
			case ".json":
			case ".yaml", ".yml":
				if text, err = opentools.FromYAML(text); err != nil {
					t.Fatal(err)
				}
			default:
				t.Skip("it is no document")
			}
			j := newJudge(t, reduced(t, text))
			j.known = flaws
			t.Logf("%+v", j.hold(t, text, 50))
		})
	}
}

// TestRequestsFitCatches: the validator sees what is wrong, so that its silence means something.
func TestRequestsFitCatches(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/requests/3.0.json")
	if err != nil {
		t.Fatal(err)
	}
	j := newJudge(t, text)
	d, err := opentools.ReadDocument(text)
	if err != nil {
		t.Fatal(err)
	}
	tools, _ := d.Tools(opentools.All)
	named := map[string]*opentools.Tool{}
	for _, tool := range tools {
		named[tool.Name] = tool
	}
	for _, x := range []struct{ tool, args, want string }{
		{"path_simple_plain", `{"s":"a","l":["x","y"],"o":{"r":1,"g":2}}`, `parameter "l" in path`},
		{"path_matrix_exploded", `{"s":"a","l":[1,2],"o":{"r":1}}`, `parameter "o" in path`},
		{"query_form_true", `{"l":["a"],"n":1,"b":true,"s":"x"}`, "minimum number of items"},
		{"query_deep", `{"f":{"n":3}}`, `"a" is missing`},
		{"header", `{"X-Word":"a","X-List":[1,2],"X-Object":{"r":1,"g":2}}`, `parameter "X-Flat" in header`},
		{"cookie", `{"word":"a","n":"x","l":[1,2]}`, `parameter "n" in cookie`},
		{"body_object", `{"deep":{}}`, `"a" is missing`},
		{"body_list", `{"body":[]}`, "minimum number of items"},
		{"body_form", `{"a":"x","n":"y","l":["a","b"],"m":[1,2],"d":{"k":"x"}}`, `n`},
		{"body_multipart", `{"name":"x","n":1,"meta":{"r":1,"g":2}}`, `"file" is missing`},
		{"body_image", `{}`, "value is required"},
	} {
		args, err := schema.Read([]byte(x.args), 0)
		if err != nil {
			t.Fatal(err)
		}
		req, err := named[x.tool].Request(j.server, args)
		if err != nil {
			t.Errorf("%s: %v", x.tool, err)
			continue
		}
		if wrong := j.ask(t, named[x.tool], req); !strings.Contains(wrong, x.want) || wrong == "" {
			t.Errorf("%s %s: %.200q, and not %s", x.tool, x.args, wrong, x.want)
		}
	}
}

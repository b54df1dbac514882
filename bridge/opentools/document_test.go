package opentools

import (
	"fmt"
	"strings"
	"testing"
)

// TestReadDocument: the places of operations and components are found, in their order.
func TestReadDocument(t *testing.T) {
	t.Parallel()
	d, err := ReadDocument([]byte("\uFEFF" + `{"openapi":"3.1.0","info":{"title":"Recipes","version":"7"},"x-llm":{"version":"0.1","name":"RecipeApp"},
		"servers":[{"url":"/api"}],"security":[{"oauth":[]}],
		"paths":{"x-more":1,"/b/{id}":{"parameters":[{"name":"id"}],"get":{"operationId":"read"},"x-get":{},"summary":"B","delete":{}},"/a":{"query":{},"post":{}}},
		"components":{"x-more":1,"schemas":{"a/b":{"type":"object","properties":{"c":[{"d":1}]}},"e":{"$ref":"#/components/schemas/a~1b"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	var places []string
	for _, o := range d.Operations {
		places = append(places, o.Method+" "+o.Path+" "+string(o.text)+" "+string(o.common))
	}
	want := `GET /b/{id} {"operationId":"read"} [{"name":"id"}]; DELETE /b/{id} {} [{"name":"id"}]; QUERY /a {} ; POST /a {} `
	if got := strings.Join(places, "; "); got != want {
		t.Errorf("%s", got)
	}
	if d.Title != "Recipes" || d.Version != "7" || d.old || d.Root.Name != "RecipeApp" || d.Root.DefaultApproval != PerCall || strings.Join(d.servers, " ") != "/api" {
		t.Errorf("%+v", d)
	}
	for ref, want := range map[string]string{
		"#/components/schemas/a~1b/properties/c/0/d": "1", "#/components/schemas/a%2Fb/type": `"object"`, "#/info/title": `"Recipes"`,
		"#/components/schemas/none": "", "#/components/schemas/a~1b/properties/c/1": "", "#/none": "", "other.json#/a": "", "https://x.example/#/info": "", "#": "", "": "",
		"#/components/schemas/a~1b/properties/c/x": "", "#/info/title/x": "",
	} {
		if got, ok := d.find(ref); string(got) != want || ok != (want != "") {
			t.Errorf("%s leads to %s, %t", ref, got, ok)
		}
	}
	if got, err := d.resolved([]byte(`{"$ref":"#/components/schemas/e"}`)); err != nil || !strings.HasPrefix(string(got), `{"type":"object"`) {
		t.Errorf("%s, %v", got, err)
	}
}

// TestReadDocumentErrors: what is no document says why.
func TestReadDocumentErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                    "the document is not JSON",
		"[]":                  "not a JSON object",
		`{"openapi":`:         "the document is not JSON",
		`{}`:                  `no "openapi"`,
		`{"openapi":3}`:       `OpenAPI "3": 3.0, 3.1 and 3.2 are known`,
		`{"openapi":"4.0.0"}`: `OpenAPI "4.0.0": 3.0, 3.1 and 3.2 are known`,
		`{"swagger":"2.0"}`:   "Swagger 2",
		`{"openapi":"3.1.0","x-llm":{"version":"1.0"}}`:      `version "1.0" is not known`,
		`{"openapi":"3.1.0"` + strings.Repeat(" ", 20<<20):   "more than 20 MiB",
		`{"openapi":"3.1.0","a":` + strings.Repeat("[", 1e5): "the document is not JSON",
	} {
		if _, err := ReadDocument([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %s", text, err, want)
		}
	}
	d, err := ReadDocument([]byte(`{"openapi":"3.0.3","components":{"schemas":{"a":{"$ref":"#/components/schemas/b"},"b":{"$ref":"#/components/schemas/a"},"c":3}}}`))
	if err != nil || !d.old {
		t.Fatal(d, err)
	}
	for ref, want := range map[string]string{"a": "form a cycle", "c": "must be an object", "d": "leads nowhere"} {
		if _, err := d.resolved([]byte(`{"$ref":"#/components/schemas/` + ref + `"}`)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", ref, err)
		}
	}
}

// BenchmarkReadDocument reads 10 MB with 1,000 operations; the goal for a document of that size,
// with its tools, is 1.5 s.
func BenchmarkReadDocument(b *testing.B) {
	var text strings.Builder
	text.WriteString(`{"openapi":"3.0.3","paths":{`)
	for i := range 1000 {
		if i > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, `"/p%d/{id}":{"get":{"operationId":"o%d","description":%q,"parameters":[{"name":"id","in":"path","schema":{"type":"string"}}]}}`, i, i, strings.Repeat("words ", 1700))
	}
	text.WriteString(`},"components":{"schemas":{"a":{}}}}`)
	b.SetBytes(int64(text.Len()))
	doc := []byte(text.String())
	for b.Loop() {
		if _, err := ReadDocument(doc); err != nil {
			b.Fatal(err)
		}
	}
}

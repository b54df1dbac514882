package kit

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/e2e/check"
)

// TestDocumentTargets: a file and an address that are documents are judged as such; pages, and
// addresses that only look like documents, are opened.
func TestDocumentTargets(t *testing.T) {
	t.Parallel()
	const document = `{"openapi":"3.1.0","info":{"title":"T","version":"1"},"x-llm":{"version":"0.1","name":"T"},"components":{"securitySchemes":{"key":{"type":"http","scheme":"bearer"}}},
		"paths":{"/a":{"get":{"operationId":"a","summary":"Read the first letter of the alphabet.","x-llm":{}}}}}`
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/openapi.json":
			_, _ = w.Write([]byte(document))
		case "/.well-known/llm.json":
			_, _ = w.Write([]byte(`{"openapi":"/openapi.json","auth":"oauth2"}`))
		case "/old/swagger.json":
			_, _ = w.Write([]byte(`{"swagger":"2.0"}`))
		default:
			_, _ = w.Write([]byte(`<title>Page</title>`))
		}
	}))
	defer site.Close()
	folder := t.TempDir()
	file := filepath.Join(folder, "api.json")
	if err := os.WriteFile(file, []byte(document), 0o600); err != nil {
		t.Fatal(err)
	}
	k := &checker{}
	pages := []string{site.URL + "/", site.URL + "/page.json", folder, "shop=" + site.URL}
	seen, rest, err := k.documents(t.Context(), append([]string{file, site.URL + "/openapi.json", site.URL + "/.well-known/llm.json", site.URL + "/old/swagger.json"}, pages...))
	if err != nil || !slices.Equal(rest, pages) || len(seen) != 4 {
		t.Fatalf("%d documents, the rest is %q, %v", len(seen), rest, err)
	}
	if len(k.notes) != 1 || !strings.Contains(k.notes[0], "opened as a page: ") || !strings.Contains(k.notes[0], "/page.json: it is a page") {
		t.Errorf("the notes are %q", k.notes)
	}
	for i, want := range [][]string{nil, nil, {"api-auth-disagrees"}, {"api-unreadable"}} {
		found, err := check.Judge(seen[i], check.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range found {
			if f.Severity != check.Info {
				got = append(got, f.Rule)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, and not %q", seen[i].Target, got, want)
		}
	}
	if p := seen[1].Pages; len(p) != 1 || p[0].URL != site.URL+"/openapi.json" || len(p[0].Tools) != 1 || string(p[0].Tools[0].Annotations) != `{"readOnlyHint":true,"destructiveHint":false,"untrustedContentHint":false}` {
		t.Errorf("%+v", p)
	}
}

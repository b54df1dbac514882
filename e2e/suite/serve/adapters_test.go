package serve_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/e2e/suite"
)

// writeAdapter writes an adapter whose one tool returns a word.
func writeAdapter(t *testing.T, file, version, rest string) {
	t.Helper()
	text := "// ==PagetoolsAdapter==\n// @name shop\n// @version " + version + "\n// ==/PagetoolsAdapter==\n" + rest
	next := file + ".next" // as editors do
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, file); err != nil {
		t.Fatal(err)
	}
}

// saying returns an adapter's tool.
func saying(word string) string {
	return fmt.Sprintf("modelContext.registerTool({name: 'say', description: 'd', annotations: {readOnlyHint: true}, execute: () => %q});\n", word)
}

// TestAdapterIsWatched (anyone 4.2, 4.3): serve --watch reads a changed adapter again, and its
// webtool is a patch higher; a session keeps the one before. A file that is no JavaScript leaves
// it, with a finding.
func TestAdapterIsWatched(t *testing.T) {
	t.Parallel()
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'")
		_, _ = w.Write([]byte("<!doctype html><title>shop</title><link rel=icon href=data:,>"))
	}))
	t.Cleanup(shop.Close)
	file := filepath.Join(t.TempDir(), "shop.js")
	writeAdapter(t, file, "1.2.0", saying("one"))
	s := suite.Serve(t, "shop="+shop.URL, "--adapter", file, "--watch", "--console-listen", "off")
	if out := s.Stdout.String(); !strings.Contains(out, `"adapters":[{"name":"shop","version":"1.2.0","sha256":"`) {
		t.Errorf("it says %s", out)
	}
	call := func(session string) string {
		return string(s.Ask("/webtools/shop", `{"action":"say","sessionId":"`+session+`","request":{}}`).Body)
	}
	version := func() string {
		var doc struct{ Version string }
		if err := json.Unmarshal(s.Ask("/webtools/shop", "").Body, &doc); err != nil {
			t.Fatal(err)
		}
		return doc.Version
	}
	if got, v := call("kept"), version(); !strings.Contains(got, `"one"`) || v != "1.0.0" {
		t.Fatalf("before: %s, version %s", got, v)
	}
	writeAdapter(t, file, "1.2.1", saying("two"))
	awaits(t, "the new version", func() bool { return version() == "1.0.1" })
	if got := call("fresh"); !strings.Contains(got, `"two"`) {
		t.Errorf("a new session: %s", got)
	}
	if got := call("kept"); !strings.Contains(got, `"one"`) {
		t.Errorf("the session of before: %s", got)
	}
	writeAdapter(t, file, "1.2.2", "let a = ;\n")
	finding := func() bool {
		body := string(s.Ask("/readyz", "").Body)
		return strings.Contains(body, "adapter-error") && strings.Contains(body, "so that those before stay: shop.js:5: SyntaxError")
	}
	awaits(t, "the finding", finding)
	if got := call("later"); !strings.Contains(got, `"two"`) || version() != "1.0.1" {
		t.Errorf("with a file that is no JavaScript: %s", got)
	}
	writeAdapter(t, file, "1.2.3", saying("three"))
	awaits(t, "the version after", func() bool { return version() == "1.0.2" && !finding() })
}

func awaits(t *testing.T, what string, ok func() bool) {
	t.Helper()
	if !suite.Within(suite.ReplyWithin, ok) {
		t.Fatalf("never: %s", what)
	}
}

// TestToolsAreWatched (anyone 4.2): tools --watch lists again when an adapter changes, and not when
// the file is no JavaScript.
func TestToolsAreWatched(t *testing.T) {
	t.Parallel()
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte("<!doctype html><title>shop</title><link rel=icon href=data:,>"))
	}))
	t.Cleanup(shop.Close)
	file := filepath.Join(t.TempDir(), "shop.js")
	writeAdapter(t, file, "1.2.0", saying("one"))
	s, err := suite.Launch(suite.Pagetools(t), "", suite.TempDir(t), "tools", shop.URL, "--adapter", file, "--watch", "--wait-for", "tool:say")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Cmd.Process.Kill() })
	says := func(where *suite.LockedBuffer, words string, times int) {
		t.Helper()
		awaits(t, words, func() bool { return strings.Count(where.String(), words) >= times })
	}
	says(s.Stdout, "[from adapter shop 1.2.0]", 1)
	says(s.Stderr, "watching for changes", 1)
	writeAdapter(t, file, "1.2.1", "let a = ;\n")
	says(s.Stderr, "so that those before stay", 1)
	writeAdapter(t, file, "1.2.2", saying("two"))
	says(s.Stdout, "[from adapter shop 1.2.2]", 1)
	if strings.Contains(s.Stdout.String(), "1.2.1") {
		t.Errorf("it lists a file that is no JavaScript:\n%s", s.Stdout)
	}
}

// TestSlowAdapter (anyone 4.2): a page counts as opened when its adapter's first promise is
// settled.
func TestSlowAdapter(t *testing.T) {
	t.Parallel()
	shop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte("<!doctype html><title>shop</title><link rel=icon href=data:,><script>" +
			"document.modelContext.registerTool({name: 'own', description: 'd', execute() {}})</script>"))
	}))
	t.Cleanup(shop.Close)
	file := filepath.Join(t.TempDir(), "shop.js")
	writeAdapter(t, file, "1.2.0", "await new Promise((done) => setTimeout(done, 700));\n"+saying("one"))
	s := suite.Serve(t, "shop="+shop.URL, "--adapter", file)
	if got := s.Ready.Sites[0].Tools; !slices.Equal(got, []string{"own", "say"}) {
		t.Errorf("when it was opened the tools were %q", got)
	}
}

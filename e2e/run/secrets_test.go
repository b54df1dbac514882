package run_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/e2e/run"
	"github.com/pagetools/pagetools/e2e/scenario"
)

// written are forms in which a page or a program may have written a secret.
func written(secret string) []string {
	quoted := string(schema.MustEncode(secret))
	quoted = quoted[1 : len(quoted)-1]
	twice := string(schema.MustEncode(quoted))
	return []string{secret, quoted, twice[1 : len(twice)-1], url.QueryEscape(secret), url.PathEscape(secret),
		strings.ReplaceAll(url.QueryEscape(secret), "+", "%20"), base64.StdEncoding.EncodeToString([]byte(secret)),
		url.QueryEscape(strings.ReplaceAll(url.QueryEscape(secret), "+", "%20")),
		strings.NewReplacer("&", "&amp;", "<", "&lt;").Replace(secret)}
}

// TestTracesHideSecrets holds S2: no file of a trace, and no report, has an argument that the
// schema marks as secret, wherever the page repeats it. What is not marked is there.
func TestTracesHideSecrets(t *testing.T) {
	t.Parallel()
	const password, pin, user = `p&ss "w/ord"`, "90210", "anna-of-the-test"
	f := readScenario(t, `site: {dir: testdata/site, url: /secret.html}
via: [page, webtool, mcp]
cases:
  - {name: logs in, steps: [{call: login, with: {user: `+user+`, password: "${env.PASSWORD}", more: {pins: ["${env.PIN}", "${env.SHORT}"]}}, expect: {said: nothing}}]}`)
	env := map[string]string{"PASSWORD": password, "PIN": pin, "SHORT": "7"}
	done, err := run.Files(t.Context(), []*scenario.File{f}, run.Options{Open: open,
		Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok }, Trace: run.TraceOn, TraceDir: t.TempDir()})
	if err != nil || len(done.Cases) != 3 {
		t.Fatalf("%v, %+v", err, done)
	}
	for _, c := range done.Cases {
		if info, err := os.Stat(c.Trace); err != nil || info.Mode().Perm() != 0o600 {
			t.Fatalf("%s: the trace %q: %v", c.Door, c.Trace, err)
		}
		found := false
		for name, text := range unzipped(t, c.Trace) {
			found = found || strings.Contains(text, user)
			for _, secret := range append(written(password), "p%26ss", "p%2526ss", "p&amp;ss", `p\u0026ss`,
				base64.StdEncoding.EncodeToString([]byte(user + ":" + password))[28:], pin, "90,210") {
				if strings.Contains(text, secret) {
					t.Errorf("%s: %s has %q:\n%.4000s", c.Door, name, secret, text)
				}
			}
		}
		if !found || !strings.Contains(unzipped(t, c.Trace)["trace.trace"], `\"pins\":[\"***\",\"***\"]`) {
			t.Errorf("%s: the control: what is no secret is not there, or a short secret is", c.Door)
		}
		told := string(schema.MustEncode(c.Failure))
		for _, secret := range append(written(password), pin) {
			if strings.Contains(told, secret) {
				t.Errorf("%s: the report has %q:\n%s", c.Door, secret, told)
			}
		}
		if !strings.Contains(told, user) {
			t.Errorf("%s: the control: the report has no result:\n%s", c.Door, told)
		}
	}
}

const login = `<!doctype html><title>Login</title><link rel=icon href="data:,"><script>
document.modelContext.registerTool({name: 'login', description: 'Logs in.',
  inputSchema: {type: 'object', properties: {user: {type: 'string'}, password: {type: 'string', format: 'password'}}},
  execute: async ({user, password}) => {
    const sent = await fetch('/in', {method: 'POST', body: new URLSearchParams({user, password})});
    const found = await fetch('/find?' + new URLSearchParams({q: password}), {headers: {'X-Sent': await sent.text()}});
    return (await found.json()).said;
  }});
</script>`

// TestRecordingsHideSecrets holds S2: the recording of a network has no argument that a schema
// marks, and is played for that one and for another.
func TestRecordingsHideSecrets(t *testing.T) {
	t.Parallel()
	const password, other, user = `p&ss "w/ord"`, "an%other", "anna-of-the-test"
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, login) })
	mux.HandleFunc("/in", func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) })
	mux.HandleFunc("/find", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Found", base64.StdEncoding.EncodeToString([]byte(r.FormValue("q"))))
		_, _ = w.Write(schema.MustEncode(map[string]string{"said": "You are " + r.FormValue("q")}))
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	folder := t.TempDir()
	attempt := func(network, password string) string {
		f, err := scenario.Read(filepath.Join(folder, "in.webtool.yaml"), fmt.Appendf(nil, `site: {url: %s/, network: {%s: in.har}}
via: page
cases: [{name: x, steps: [{call: login, with: {user: `+user+`, password: "${env.PASSWORD}"}, expect: {$contains: You are}}]}]`, server.URL, network))
		if err != nil {
			t.Fatal(err)
		}
		done, err := runNetwork(t.Context(), f, run.Options{Env: func(string) (string, bool) { return password, true }})
		if err != nil {
			t.Fatal(err)
		}
		return transcript(done)
	}
	if got := attempt("record", password); !strings.HasPrefix(got, "x (page): passed") {
		t.Fatalf("it was recorded so: %s", got)
	}
	text, err := os.ReadFile(filepath.Join(folder, "in.har"))
	if err != nil || !strings.Contains(string(text), user) || strings.Count(string(text), "***") < 5 {
		t.Fatalf("the recording: %v\n%s", err, text)
	}
	for _, secret := range written(password) {
		if strings.Contains(string(text), secret) {
			t.Errorf("the recording has %q:\n%s", secret, text)
		}
	}
	server.Close()
	for _, password := range []string{password, other} {
		if got := attempt("replay", password); !strings.HasPrefix(got, "x (page): passed") {
			t.Errorf("with %q it was replayed so: %s", password, got)
		}
	}
}

package run_test

import (
	"os"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/e2e/run"
	"github.com/pagetools/pagetools/e2e/scenario"
)

// TestTracesHideSecrets holds S2: no file of a trace has an argument that the schema marks as
// secret, wherever the page repeats it. What is not marked is there.
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
			for _, secret := range []string{password, `p&ss \"w/ord\"`, `p&ss \\\"w/ord\\\"`, "p%26ss", `p\u0026ss`, pin} {
				if strings.Contains(text, secret) {
					t.Errorf("%s: %s has %q:\n%.4000s", c.Door, name, secret, text)
				}
			}
		}
		if !found || !strings.Contains(unzipped(t, c.Trace)["trace.trace"], `\"pins\":[\"***\",\"***\"]`) {
			t.Errorf("%s: the control: what is no secret is not there, or a short secret is", c.Door)
		}
	}
}

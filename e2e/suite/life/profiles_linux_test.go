package life_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/e2e/suite"
)

// TestProfilesOfCallers (X1, D3): a stored login is for the callers that the operator named, on the
// pages that they asked it for. No other caller gets it or learns of it, and it is in no log, no
// file of ours and no command line.
func TestProfilesOfCallers(t *testing.T) {
	t.Parallel()
	const work, secret = `{"profile":"work"}`, "marker-of-the-login"
	site := suite.Pages(t)
	state := filepath.Join(t.TempDir(), "work.json")
	suite.PagetoolsRun(t, 0, "call", site.Page("login.html"), "login", "user="+secret, "--approval", "auto", "--save-storage-state", state)
	if info, err := os.Stat(state); err != nil || info.Mode() != 0o600 {
		t.Fatalf("the login: %v, %v", info, err)
	}
	config := suite.WriteFile(t, "x.yaml", fmt.Sprintf(`
sites:
  - {name: shop, target: %q, allow-config: [profile], profiles: [{name: work, storage-state: %q, callers: [agent, gone]}]}
  - {name: all, target: %q, warm: 1, profiles: [{name: work, storage-state: %q}], default-profile: work}
callers:
  - {name: agent, token: %s, may: [call]}
  - {name: person, token: %s, may: [call]}
`, site.Page("login.html"), state, site.Page("login.html"), state, suite.AgentToken, suite.PersonToken))
	data := filepath.Join(t.TempDir(), "data")
	s := suite.Serve(t, "--config", config, "--data-dir", data, "--verbose")
	whoami := func(token, session, config string) string {
		return string(suite.AsksFor(t, s, token, "shop", session, "whoami", config).Data(t))
	}
	const nobody, somebody = `"nobody null"`, `"` + secret + ` ` + secret + `"`
	for i, x := range []struct{ token, session, config, want string }{
		{suite.AgentToken, "s", work, somebody}, {suite.AgentToken, "s", "{}", somebody}, {suite.PersonToken, "s", "{}", nobody},
		{suite.AgentToken, "other", "{}", nobody}, {suite.PersonToken, "other", "{}", nobody},
	} {
		if got := whoami(x.token, x.session, x.config); got != x.want {
			t.Errorf("%d: it is %s, want %s", i, got, x.want)
		}
	}
	for range gatetest.Amount(1, 3) { // spares come and go
		r := s.As(t, suite.AgentToken, http.MethodPost, s.URL+"/webtools/shop", `{"action":"whoami","request":{},"config":`+work+`}`)
		if got := string(r.Data(t)); got != somebody {
			t.Errorf("without a session it is %s", got)
		}
		r = s.As(t, suite.PersonToken, http.MethodPost, s.URL+"/webtools/shop", `{"action":"whoami","request":{}}`)
		if got := string(r.Data(t)); got != nobody {
			t.Errorf("the other caller is %s", got)
		}
	}
	forbidden, unknown := suite.AsksFor(t, s, suite.PersonToken, "shop", "x", "whoami", work), suite.AsksFor(t, s, suite.PersonToken, "shop", "x", "whoami", `{"profile":"none"}`)
	a, b := forbidden.Failed(t), unknown.Failed(t)
	delete(a.Details, "call") // each has its own
	delete(b.Details, "call")
	if a.Code != "CONFIG_ERROR" || !reflect.DeepEqual(a, b) || forbidden.Status != unknown.Status {
		t.Errorf("it tells %s from %s", forbidden.Body, unknown.Body)
	}
	if doc := s.As(t, suite.PersonToken, http.MethodGet, s.URL+"/webtools/shop", ""); doc.Status != http.StatusOK || strings.Contains(string(doc.Body), "work") ||
		!strings.Contains(string(doc.Body), `"profile":`) {
		t.Errorf("the document has %s", doc.Body)
	}
	for _, token := range []string{suite.AgentToken, suite.PersonToken} {
		if got := string(suite.AsksFor(t, s, token, "all", "s", "whoami", "{}").Data(t)); got != somebody {
			t.Errorf("with the site's login it is %s", got)
		}
	}
	secretStays(t, s, data, secret)
	for _, said := range []string{"warning: every caller uses all with the same stored login", "shop: the profile work is for the caller gone, and there is none"} {
		if !strings.Contains(s.Stderr.String(), said) {
			t.Errorf("it does not say %q: %s", said, s.Stderr)
		}
	}
}

// secretStays checks that a secret is in no log, no file of the data folder and no command line.
// The call is in the first two.
func secretStays(t *testing.T, s *suite.Server, data, secret string) {
	t.Helper()
	if got := s.Stderr.String(); strings.Contains(got, secret) || !strings.Contains(got, "whoami") {
		t.Errorf("the log is %s", got)
	}
	if found := grep(t, data, secret); len(found) > 0 {
		t.Errorf("it is in %v", found)
	}
	if found := grep(t, data, "whoami"); len(found) == 0 {
		t.Error("the call is in no file")
	}
	if lines := suite.Processes(func(p suite.Process) bool { return strings.Contains(p.Line, secret) }); len(lines) > 0 {
		t.Errorf("a command line has it: %+v", lines)
	}
}

// TestLoginFiles: what a file with a login must be, and who may read it.
func TestLoginFiles(t *testing.T) {
	t.Parallel()
	target := suite.PageServer().Page("login.html")
	state := func(size int) string {
		return `{"cookies":[{"name":"sid","value":"marker","domain":"127.0.0.1","path":"/"}],"origins":[]}` + strings.Repeat(" ", size)
	}
	if out := suite.PagetoolsRun(t, 0, "call", target, "whoami", "--storage-state", suite.WriteFile(t, "ok.json", state(0))); out != "marker null\n" {
		t.Errorf("it says %q", out)
	}
	if out := suite.PagetoolsRun(t, 2, "call", target, "whoami", "--storage-state", suite.WriteFile(t, "large.json", state(10<<20))); !strings.Contains(out, "is larger than 8 MiB") || strings.Contains(out, "marker") {
		t.Errorf("it says %q", suite.Shorten([]byte(out)))
	}
	shown := suite.WriteFile(t, "shown.json", state(0))
	if err := os.Chmod(shown, 0o644); err != nil {
		t.Fatal(err)
	}
	if out := suite.PagetoolsRun(t, 0, "call", target, "whoami", "--storage-state", shown); !strings.Contains(out, "warning: "+shown+" holds a login, and others can read it") {
		t.Errorf("it says %q", out)
	}
	for _, x := range []struct{ config, says string }{
		{"callers: [{name: a, token: long-enough-token}]\nsites:\n- target: http://x.example/\n  profiles:\n  - {name: work, storage-state: x}", `:5: profiles: callers of "work" is empty`},
		{"token: long-enough-token\nsites:\n- target: " + target + "\n  profiles:\n  - {name: work, storage-state: x}", `:5: profiles: callers of "work" is empty`},
		{"sites:\n- target: " + target + "\n  profiles:\n  - {name: work, storage-state: nowhere.json}", `:4: profiles: nowhere.json is not there`},
		{"user-data-dir: own\nsites:\n- target: " + target + "\n  profiles:\n  - {name: work, storage-state: " + shown + "}", "user-data-dir is a login of its own"},
	} {
		if out := suite.PagetoolsRun(t, 2, "serve", "--listen", "127.0.0.1:0", "--config", suite.WriteFile(t, "x.yaml", x.config)); !strings.Contains(out, x.says) {
			t.Errorf("it says %q, not %q", out, x.says)
		}
	}
}

// TestLoginLost: a browser that is closed before Enter leaves no login, and takes none
// that was there.
func TestLoginLost(t *testing.T) {
	t.Parallel()
	site := suite.Pages(t)
	const before = `{"cookies":[],"origins":[]}`
	state := suite.WriteFile(t, "x.json", before)
	tmp := suite.TempDir(t)
	cmd := exec.Command(suite.Pagetools(t), "login", site.Page("login.html"), "--headless", "--save-storage-state", state)
	said := &suite.LockedBuffer{}
	cmd.Env, cmd.Stderr = append(os.Environ(), "TMPDIR="+tmp), said
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if !suite.Within(suite.ReadyWithin, func() bool { return strings.Contains(said.String(), "press Enter") }) {
		t.Errorf("it says %s", said)
	}
	kill(browsers(tmp))
	_ = cmd.Wait() // the code says how it ended
	if got := cmd.ProcessState.ExitCode(); got != 4 || !strings.Contains(said.String(), "closed before its login was saved") {
		t.Errorf("it ended with %d: %s", got, said)
	}
	if now, err := os.ReadFile(state); err != nil || string(now) != before {
		t.Errorf("the file has %s, %v", now, err)
	}
}

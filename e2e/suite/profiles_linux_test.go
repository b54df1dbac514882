package suite_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// pagetoolsRun runs a command that ends with the code, and returns what it said.
func pagetoolsRun(t *testing.T, code int, args ...string) string {
	t.Helper()
	cmd := exec.Command(pagetools(t), args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+tempDir(t), "PAGETOOLS_DATA_DIR=off")
	out, _ := cmd.CombinedOutput() // the code says how it ended
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("pagetools %v ended with %d, want %d: %s", args, got, code, out)
	}
	return string(out)
}

// writeFile makes a file that only we can read.
func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// asks calls a tool without arguments for a caller.
func (s *server) asks(t *testing.T, token, site, session, tool, config string) reply {
	t.Helper()
	return s.as(t, token, http.MethodPost, s.url+"/webtools/"+site, fmt.Sprintf(`{"sessionId":%q,"action":%q,"request":{},"config":%s}`, session, tool, config))
}

// TestProfilesOfCallers (X1, D3): a stored login is for the callers that the operator
// named, on the pages that they asked it for. Nobody else meets it or hears of it, and
// it is in no log, no file of ours and no command line.
func TestProfilesOfCallers(t *testing.T) {
	t.Parallel()
	const work, secret = `{"profile":"work"}`, "marker-of-the-login"
	site := pages(t)
	state := filepath.Join(t.TempDir(), "work.json")
	pagetoolsRun(t, 0, "call", site.page("login.html"), "login", "user="+secret, "--approval", "auto", "--save-storage-state", state)
	if info, err := os.Stat(state); err != nil || info.Mode() != 0o600 {
		t.Fatalf("the login: %v, %v", info, err)
	}
	config := writeFile(t, "x.yaml", fmt.Sprintf(`
sites:
  - {name: shop, target: %q, allow-config: [profile], profiles: [{name: work, storage-state: %q, callers: [agent, gone]}]}
  - {name: all, target: %q, warm: 1, profiles: [{name: work, storage-state: %q}], default-profile: work}
callers:
  - {name: agent, token: %s, may: [call]}
  - {name: person, token: %s, may: [call]}
`, site.page("login.html"), state, site.page("login.html"), state, agentToken, personToken))
	data := filepath.Join(t.TempDir(), "data")
	s := serve(t, "--config", config, "--data-dir", data, "--verbose")
	whoami := func(token, session, config string) string {
		return string(s.asks(t, token, "shop", session, "whoami", config).data(t))
	}
	const nobody, somebody = `"nobody null"`, `"` + secret + ` ` + secret + `"`
	for i, x := range []struct{ token, session, config, want string }{
		{agentToken, "s", work, somebody}, {agentToken, "s", "{}", somebody}, {personToken, "s", "{}", nobody},
		{agentToken, "other", "{}", nobody}, {personToken, "other", "{}", nobody},
	} {
		if got := whoami(x.token, x.session, x.config); got != x.want {
			t.Errorf("%d: it is %s, want %s", i, got, x.want)
		}
	}
	for range 3 { // spares come and go
		r := s.as(t, agentToken, http.MethodPost, s.url+"/webtools/shop", `{"action":"whoami","request":{},"config":`+work+`}`)
		if got := string(r.data(t)); got != somebody {
			t.Errorf("without a session it is %s", got)
		}
		r = s.as(t, personToken, http.MethodPost, s.url+"/webtools/shop", `{"action":"whoami","request":{}}`)
		if got := string(r.data(t)); got != nobody {
			t.Errorf("the other caller is %s", got)
		}
	}
	forbidden, unknown := s.asks(t, personToken, "shop", "x", "whoami", work), s.asks(t, personToken, "shop", "x", "whoami", `{"profile":"none"}`)
	a, b := forbidden.failed(t), unknown.failed(t)
	delete(a.Details, "call") // each has its own
	delete(b.Details, "call")
	if a.Code != "CONFIG_ERROR" || !reflect.DeepEqual(a, b) || forbidden.status != unknown.status {
		t.Errorf("it tells %s from %s", forbidden.body, unknown.body)
	}
	if doc := s.as(t, personToken, http.MethodGet, s.url+"/webtools/shop", ""); doc.status != http.StatusOK || strings.Contains(string(doc.body), "work") ||
		!strings.Contains(string(doc.body), `"profile":`) {
		t.Errorf("the document has %s", doc.body)
	}
	for _, token := range []string{agentToken, personToken} {
		if got := string(s.asks(t, token, "all", "s", "whoami", "{}").data(t)); got != somebody {
			t.Errorf("with the site's login it is %s", got)
		}
	}
	secretStays(t, s, data, secret)
	for _, said := range []string{"warning: every caller uses all with the same stored login", "shop: the profile work is for the caller gone, and there is none"} {
		if !strings.Contains(s.stderr.String(), said) {
			t.Errorf("it does not say %q: %s", said, s.stderr)
		}
	}
}

// secretStays holds that a secret is in no log, no file of the data folder and no
// command line. The call is in the first two.
func secretStays(t *testing.T, s *server, data, secret string) {
	t.Helper()
	if got := s.stderr.String(); strings.Contains(got, secret) || !strings.Contains(got, "whoami") {
		t.Errorf("the log is %s", got)
	}
	if found := grep(t, data, secret); len(found) > 0 {
		t.Errorf("it is in %v", found)
	}
	if found := grep(t, data, "whoami"); len(found) == 0 {
		t.Error("the call is in no file")
	}
	if lines := processes(func(p process) bool { return strings.Contains(p.line, secret) }); len(lines) > 0 {
		t.Errorf("a command line has it: %+v", lines)
	}
}

// TestLoginFiles: what a file with a login must be, and who may read it.
func TestLoginFiles(t *testing.T) {
	t.Parallel()
	target := pageServer().page("login.html")
	state := func(size int) string {
		return `{"cookies":[{"name":"sid","value":"marker","domain":"127.0.0.1","path":"/"}],"origins":[]}` + strings.Repeat(" ", size)
	}
	if out := pagetoolsRun(t, 0, "call", target, "whoami", "--storage-state", writeFile(t, "ok.json", state(0))); out != "marker null\n" {
		t.Errorf("it says %q", out)
	}
	if out := pagetoolsRun(t, 2, "call", target, "whoami", "--storage-state", writeFile(t, "large.json", state(10<<20))); !strings.Contains(out, "is larger than 8 MiB") || strings.Contains(out, "marker") {
		t.Errorf("it says %q", shorten([]byte(out)))
	}
	shown := writeFile(t, "shown.json", state(0))
	if err := os.Chmod(shown, 0o644); err != nil {
		t.Fatal(err)
	}
	if out := pagetoolsRun(t, 0, "call", target, "whoami", "--storage-state", shown); !strings.Contains(out, "warning: "+shown+" holds a login, and others can read it") {
		t.Errorf("it says %q", out)
	}
	for _, x := range []struct{ config, says string }{
		{"callers: [{name: a, token: long-enough-token}]\nsites:\n- target: http://x.example/\n  profiles:\n  - {name: work, storage-state: x}", `:5: profiles: callers of "work" is empty`},
		{"token: long-enough-token\nsites:\n- target: " + target + "\n  profiles:\n  - {name: work, storage-state: x}", `:5: profiles: callers of "work" is empty`},
		{"sites:\n- target: " + target + "\n  profiles:\n  - {name: work, storage-state: nowhere.json}", `:4: profiles: nowhere.json is not there`},
		{"user-data-dir: own\nsites:\n- target: " + target + "\n  profiles:\n  - {name: work, storage-state: " + shown + "}", "user-data-dir is a login of its own"},
	} {
		if out := pagetoolsRun(t, 2, "serve", "--listen", "127.0.0.1:0", "--config", writeFile(t, "x.yaml", x.config)); !strings.Contains(out, x.says) {
			t.Errorf("it says %q, not %q", out, x.says)
		}
	}
}

// TestLoginLost: a browser that is closed before Enter leaves no login, and takes none
// that was there.
func TestLoginLost(t *testing.T) {
	t.Parallel()
	site := pages(t)
	const before = `{"cookies":[],"origins":[]}`
	state := writeFile(t, "x.json", before)
	tmp := tempDir(t)
	cmd := exec.Command(pagetools(t), "login", site.page("login.html"), "--headless", "--save-storage-state", state)
	said := &lockedBuffer{}
	cmd.Env, cmd.Stderr = append(os.Environ(), "TMPDIR="+tmp), said
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if !within(readyWithin, func() bool { return strings.Contains(said.String(), "press Enter") }) {
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

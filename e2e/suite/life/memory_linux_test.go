package life_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/e2e/suite"
)

// verified runs audit verify, and returns what it found.
func verified(t *testing.T, dir string) (report struct {
	OK        bool
	Records   int
	OpenCount int
}) {
	t.Helper()
	out, err := exec.Command(suite.Pagetools(t), "audit", "verify", "--format", "json", "--data-dir", dir).Output()
	if err != nil {
		t.Fatalf("audit verify: %v: %s", err, out)
	}
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatalf("audit verify: %v: %s", err, out)
	}
	return report
}

// grep lists the files below a folder that have the text.
func grep(t *testing.T, dir, text string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte(text)) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestKillKeepsMemory kills the bridge in the middle of a call: versions, kept consent, replies of
// keys and the audit are there afterwards. A call that only waited for consent is recorded as not
// run.
func TestKillKeepsMemory(t *testing.T) {
	t.Parallel()
	site := suite.Pages(t)
	tmp := suite.TempDir(t)
	data := filepath.Join(t.TempDir(), "data")
	args := []string{"serve", "good=" + site.Page("good.html"), "--approval", "auto", "--data-dir", data, "--warm", "0"}
	s, err := suite.Start(suite.Pagetools(t), "", tmp, args...)
	if err != nil {
		t.Fatal(err)
	}
	document := s.Ask("/webtools/good", "")
	var was struct{ Version string }
	if err := json.Unmarshal(document.Body, &was); err != nil || was.Version == "" {
		t.Fatalf("%v: %s", err, document.Body)
	}
	post := func(s *suite.Server, key, config string) suite.Reply {
		ctx, cancel := context.WithTimeout(t.Context(), suite.ReplyWithin)
		defer cancel()
		return s.In(ctx, "", http.MethodPost, s.URL+"/webtools/good", `{"action":"change","request":{"what":"x"},"config":`+config+`}`, "Idempotency-Key", key)
	}
	keyed := func(s *suite.Server) suite.Reply { return post(s, "once", "{}") }
	first := keyed(s)
	first.Data(t)
	waits := func(s *suite.Server) { // B10: nothing ran, before the kill and after it
		t.Helper()
		if r := post(s, "consent", `{"approval":"ask"}`); !strings.Contains(string(r.Body), `"code":"APPROVAL_REQUIRED"`) || !strings.Contains(string(r.Body), `"outcome":"not_run"`) {
			t.Errorf("a call that needs consent gives %s", r.Body)
		}
	}
	waits(s)
	call := s.Later("/webtools/good", held)
	site.AwaitHeld(t)
	suite.Eventually(t, suite.ReplyWithin, "the call is in the audit", func() bool { return verified(t, data).OpenCount == 1 })
	if err := s.Cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-call
	<-s.Ended
	r := verified(t, data)
	if !r.OK || r.Records < 3 || r.OpenCount != 1 {
		t.Errorf("after the kill the audit is %+v", r)
	}
	s, err = suite.Start(suite.Pagetools(t), "", tmp, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}()
	if again := s.Ask("/webtools/good/"+was.Version, ""); again.Status != http.StatusOK || string(again.Body) != string(document.Body) {
		t.Errorf("version %s is %d %s", was.Version, again.Status, suite.Shorten(again.Body))
	}
	if again := keyed(s); string(again.Body) != string(first.Body) {
		t.Errorf("the key gives %s, and gave %s", again.Body, first.Body)
	}
	waits(s)
	if n := verified(t, data).Records; n != r.Records {
		t.Errorf("%d records, and there were %d: the call with the key ran again", n, r.Records)
	}
}

// TestSecretsStayHere (D3): a credential, the value of a config key and a secret
// argument are in no file of the data folder, in no log and in no command line.
func TestSecretsStayHere(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-of-the-tests"
	site := suite.Pages(t)
	data := filepath.Join(t.TempDir(), "data")
	s := suite.Serve(t, "good="+site.Page("good.html"), "--approval", "auto", "--data-dir", data, "--verbose")
	call := s.Later("/webtools/good", fmt.Sprintf(`{"action":"change","request":{"what":"x","secret":%q}}`, secret))
	lines := suite.Processes(func(p suite.Process) bool { return strings.Contains(p.Line, secret) })
	(<-call).Data(t)
	if len(lines) > 0 {
		t.Errorf("a command line has it: %+v", lines)
	}
	if got := s.Stderr.String(); strings.Contains(got, secret) || !strings.Contains(got, "change") {
		t.Errorf("the log is %s", got)
	}
	if found := grep(t, data, secret); len(found) > 0 {
		t.Errorf("it is in %v", found)
	}
	if found := grep(t, data, "change"); len(found) == 0 { // the positive control
		t.Error("the call is in no file")
	}
}

// TestLockedStart: what a lock holds back is said at start, and not listed.
func TestLockedStart(t *testing.T) {
	t.Parallel()
	dir, tmp := t.TempDir(), suite.TempDir(t)
	page := suite.PageServer().Page("good.html")
	lock, err := (&app.Lock{LockfileVersion: app.LockVersion, Targets: map[string]app.LockedTarget{
		page: {Tools: map[string]app.LockedTool{"echo": {Digest: "other"}, "gone": {Digest: "x"}}},
	}}).Text()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "pagetools.lock"), lock, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := suite.Start(suite.Pagetools(t), dir, tmp, "serve", "--locked", "good="+page, "--warm", "0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}()
	if len(s.Ready.Sites) != 1 || len(s.Ready.Sites[0].Tools) > 0 {
		t.Errorf("the ready line has %+v", s.Ready.Sites)
	}
	for _, said := range []string{"good: echo is not as pagetools.lock has it", "good: say is not in pagetools.lock", "good: gone is in pagetools.lock, and the page does not offer it"} {
		if !suite.Within(suite.ReplyWithin, func() bool { return strings.Contains(s.Stderr.String(), said) }) {
			t.Errorf("it does not say %q: %s", said, s.Stderr)
		}
	}
}

package serve_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/e2e/suite"
	"github.com/pagetools/pagetools/e2e/suite/docs"
)

// oneInbox is two assistants' bridges and a server of one user, each with a question.
type oneInbox struct {
	data, token string
	serve       *suite.Server
	assistants  [2]*suite.OverStdio
	pages       []string          // of the operators, of all three
	questions   map[string]string // ids by site
}

const callBuy = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}},"name":"buyProduct","arguments":{"product_id":"sencha"}}}`

var answeredAt = regexp.MustCompile(`questions are answered at (http://[^/]+)/`)

func newInbox(t *testing.T) *oneInbox {
	t.Helper()
	folder := filepath.Join(docs.Root(t), "examples", "buyproduct")
	in := &oneInbox{data: suite.TempDir(t) + "-data", questions: map[string]string{}}
	common := []string{"--data-dir", in.data, "--console-listen", "127.0.0.1:0", "--warm", "0"}
	in.serve = suite.Serve(t, append([]string{"shop=" + folder}, common...)...)
	in.pages = []string{in.serve.Ready.Console.URL}
	for i := range in.assistants {
		c := suite.StartMCP(t, append([]string{fmt.Sprintf("site%d=%s", i, folder)}, common...)...)
		in.assistants[i] = c
		if !suite.Within(suite.ReplyWithin, func() bool { return answeredAt.MatchString(c.Stderr.String()) }) {
			t.Fatalf("it does not say where questions are answered: %s", c.Stderr)
		}
		in.pages = append(in.pages, answeredAt.FindStringSubmatch(c.Stderr.String())[1])
	}
	token, err := os.ReadFile(filepath.Join(in.data, "console.token"))
	if err != nil {
		t.Fatal(err)
	}
	in.token = string(token)
	in.serve.Ask("/webtools/shop", buys("a", "")).Waiting(t, http.StatusForbidden, "APPROVAL_REQUIRED")
	for i := range in.assistants {
		if got := in.buys(i); !strings.Contains(got, "needs a person's consent") {
			t.Fatalf("the call of an assistant gives %s", got)
		}
	}
	for _, q := range in.listed(t, in.pages[0]) {
		in.questions[q.Site] = q.ID
	}
	return in
}

func (in *oneInbox) buys(i int) string {
	in.assistants[i].Send(fmt.Sprintf(callBuy, i))
	return in.assistants[i].Next()
}

type listedQuestion struct{ ID, Site string }

// listed are the questions that an operators' page shows.
func (in *oneInbox) listed(t *testing.T, page string) []listedQuestion {
	t.Helper()
	var list struct{ Questions []listedQuestion }
	r := in.serve.As(t, in.token, http.MethodGet, page+"/api/questions", "")
	if err := json.Unmarshal(r.Body, &list); err != nil || r.Status != http.StatusOK {
		t.Fatalf("%s lists %d %s", page, r.Status, r.Body)
	}
	return list.Questions
}

// TestOneInbox (D1): approve, and the operators' page of any process of a user, show and
// answer the questions of all.
func TestOneInbox(t *testing.T) {
	t.Parallel()
	in := newInbox(t)
	for _, page := range in.pages {
		if list := in.listed(t, page); len(list) != 3 {
			t.Errorf("%s lists %+v", page, list)
		}
		stream := &reloading{Server: in.serve, t: t}
		stream.Ready.Console.URL = page
		said := stream.watch(t.Context(), in.token).said
		if !suite.Within(suite.ReplyWithin, func() bool { return strings.Count(said.String(), `"kind":"approve"`) == 3 }) {
			t.Errorf("%s streams %s", page, said)
		}
	}
	list := approver(t, in.data)(0)
	for site, id := range in.questions {
		if !strings.Contains(list, id) || !strings.Contains(list, site) {
			t.Errorf("approve does not list the question of %s: %s", site, list)
		}
	}

	// At a terminal, for the first assistant.
	c := converse(t, "approve", in.questions["site0"], "--data-dir", in.data)
	c.see(t, "Run buyProduct on site0?")
	c.enter(t, "y\n")
	if code := c.code(t); code != 0 {
		t.Errorf("approve at a terminal ended with %d: %s", code, c.shown)
	}
	// At the operators' page of the first assistant, for the second.
	if r := in.serve.As(t, in.token, http.MethodPost, in.pages[1]+"/api/questions/"+in.questions["site1"], `{"ok":false}`); r.Status != http.StatusOK {
		t.Errorf("answering at another process: %d %s", r.Status, r.Body)
	}
	// With the operators' credential, for the server.
	in.approve(t, 0, in.token, in.questions["shop"], "--yes")
	if got := in.buys(0); !strings.Contains(got, "Buy Sencha") { // its next question
		t.Errorf("agreed at a terminal: %s", got)
	}
	if got := in.buys(1); !strings.Contains(got, "APPROVAL_DENIED") {
		t.Errorf("declined at another process: %s", got)
	}
	// What an ended process asked is not open any more.
	in.assistants[0].Close()
	if !suite.Within(suite.ReplyWithin, func() bool {
		for _, q := range in.listed(t, in.pages[2]) {
			if q.Site == "site0" {
				return false
			}
		}
		return true
	}) {
		t.Error("the question of a process that ended is still listed")
	}
	in.assistants[1].Close()
}

// approve runs approve with a credential, without a terminal.
func (in *oneInbox) approve(t *testing.T, code int, token string, args ...string) string {
	t.Helper()
	cmd := exec.Command(suite.Pagetools(t), append([]string{"approve", "--data-dir", in.data}, args...)...)
	cmd.Env = append(os.Environ(), "PAGETOOLS_CONSOLE_TOKEN="+token)
	out, _ := cmd.CombinedOutput() // the code says how it ended
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Errorf("approve %v ended with %d: %s", args, got, out)
	}
	return string(out)
}

// TestNobodyApprovesThemselves (A10): without a terminal and without the operators'
// credential approve answers nothing, and a link that logs in is shown to nobody.
func TestNobodyApprovesThemselves(t *testing.T) {
	t.Parallel()
	in := newInbox(t)
	id := in.questions["shop"]
	for _, args := range [][]string{{id}, {id, "--yes"}, {id, "--no"}, {id, "--value", "1"}} {
		in.approve(t, 3, "", args...)
	}
	in.approve(t, 3, in.token+"x", id, "--yes")
	cmd := exec.Command(suite.Pagetools(t), "console", "--data-dir", in.data)
	if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 3 || bytes.Contains(out, []byte("#")) {
		t.Errorf("console without a terminal ended with %d: %s", cmd.ProcessState.ExitCode(), out)
	}
	if list := in.listed(t, in.pages[0]); len(list) != 3 {
		t.Errorf("there are %+v", list)
	}
	in.approve(t, 0, in.token, id, "--no") // the positive control
	for i := range in.assistants {
		in.assistants[i].Close()
	}
}

var onceLink = regexp.MustCompile(`(http://[^/]+)/#once=([A-Z0-9]+)`)

// TestConsoleLink (D2): console shows a link at the terminal that logs in once, also as people from elsewhere open it.
func TestConsoleLink(t *testing.T) {
	t.Parallel()
	s := suite.Serve(t, filepath.Join(docs.Root(t), "examples", "today"), "--console-listen", "127.0.0.1:0", "--warm", "0", "--console-public-url", "https://ops.example")
	c := converse(t, "console", "--data-dir", s.Tmp+"-data")
	c.see(t, "elsewhere")
	link := onceLink.FindStringSubmatch(c.shown.String())
	if code := c.code(t); code != 0 || link == nil {
		t.Fatalf("it ended with %d: %s", code, c.shown)
	}
	if public := "From elsewhere: https://ops.example/#once=" + link[2]; !strings.Contains(c.shown.String(), public) {
		t.Errorf("people from elsewhere have no link: %s", c.shown)
	}
	page := showInBrowser(t, operatorsBrowser(t), link[0], ".inbox > p > code")
	_ = page
	login := s.As(t, "", http.MethodPost, link[1]+"/api/login", fmt.Sprintf(`{"code":%q}`, link[2]))
	if login.Status != http.StatusForbidden || strings.Contains(string(login.Body), s.Ready.Console.Token) {
		t.Errorf("a second time: %d %s", login.Status, login.Body)
	}
}

// TestConsoleOpens holds S4: console --open gives the program of the desktop a file that only this
// user can read, and no link that logs in; the file leads to the link, and goes when that was used.
func TestConsoleOpens(t *testing.T) {
	t.Parallel()
	s := suite.Serve(t, filepath.Join(docs.Root(t), "examples", "today"), "--console-listen", "127.0.0.1:0", "--warm", "0")
	bin := t.TempDir()
	opener := "#!/bin/sh\nfor a; do echo \"$a\"; done > " + bin + "/words.new\nstat -c %a \"$1\" > " + bin + "/mode\n" +
		"cp \"$1\" " + bin + "/page\nmv " + bin + "/words.new " + bin + "/words\nexec sleep 0\n"
	if err := os.WriteFile(filepath.Join(bin, "xdg-open"), []byte(opener), 0o700); err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), suite.Pagetools(t), "console", "--open", "--data-dir", s.Tmp+"-data")
	c.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	var said bytes.Buffer
	c.Stdout, c.Stderr = &said, &said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	suite.Eventually(t, 30*time.Second, "the opener runs", func() bool { _, err := os.Stat(filepath.Join(bin, "words")); return err == nil })
	read := func(name string) string {
		words, err := os.ReadFile(filepath.Join(bin, name))
		if err != nil {
			t.Error(err)
		}
		return strings.TrimSpace(string(words))
	}
	file, link := read("words"), onceLink.FindStringSubmatch(read("page"))
	if link == nil || strings.Contains(file, link[2]) || read("mode") != "600" || !filepath.IsAbs(file) {
		t.Fatalf("it opens %q with mode %s: %s", file, read("mode"), read("page"))
	}
	for _, line := range commandLines(t) {
		if strings.Contains(line, link[2]) {
			t.Errorf("a process has the link: %s", line)
		}
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("before it is used: %v", err)
	}
	login := s.As(t, "", http.MethodPost, link[1]+"/api/login", fmt.Sprintf(`{"code":%q}`, link[2]))
	if login.Status != http.StatusOK {
		t.Errorf("the control: the link logs in: %d %s", login.Status, login.Body)
	}
	if err := c.Wait(); err != nil || !strings.Contains(said.String(), "is open in your browser") {
		t.Errorf("it ended with %v: %s", err, &said)
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is left: %v", err)
	}
}

// commandLines are the arguments of all processes.
func commandLines(t *testing.T) (all []string) {
	t.Helper()
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if line, err := os.ReadFile(name); err == nil { // else it ended
			all = append(all, string(line))
		}
	}
	return all
}

package serve_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/e2e/suite"
	"github.com/pagetools/pagetools/e2e/suite/docs"
)

// TestBlocks (D10, D11) does what the README, the pages for users and the examples tell
// people to do, in the order of each document: shell blocks run at a terminal, where a
// person says yes; the text that follows one shows its output, or what a server does; a
// YAML block is a configuration as it is pasted; an HTML block is a page that the reader saves, and
// one of JavaScript an adapter; tests in Go come from e2e/example_test.go; JSON parses, and a
// client's entry starts a server with tools. A block of any other kind fails.
func TestBlocks(t *testing.T) {
	gatetest.Landing(t)
	t.Parallel()
	all := docs.Documents(t)
	for _, doc := range docs.UserPages(t) {
		blocks := blocksOf(all[doc])
		if len(blocks) == 0 {
			continue
		}
		t.Run(strings.ReplaceAll(strings.TrimSuffix(doc, ".md"), "/", "."), func(t *testing.T) {
			t.Parallel()
			w := newReader(t)
			defer w.end()
			for _, b := range blocks {
				if _, err := exec.LookPath("python3"); err != nil && strings.HasPrefix(b.text, "python3 ") {
					t.Skip("there is no python3")
				}
				if t.Failed() {
					return // what follows stands on it
				}
				w.follow(b)
			}
		})
	}
}

// reader is a person who does what one document says, in a folder like a clone.
type reader struct {
	t      *testing.T
	folder string
	tmp    string
	listen string // the address of its server
	other  string // of somebody else's server
	env    []string
	last   *step   // what ran last
	left   bool    // the last block has only commands that cannot run here
	going  []*step // commands that run beside the block
	asked  string  // the question that was answered last
	token  string  // resumes the last call that waited
	call   string  // the id of the last long call
}

// step is one block at a terminal.
type step struct {
	text   string
	cmd    *exec.Cmd
	stdout *suite.LockedBuffer // for data
	all    *suite.LockedBuffer // what the person sees
	ended  chan struct{}

	mu       sync.Mutex
	person   *os.File
	answered int
}

// show shows something to the person, who says yes to each question. Where it is asked at the
// terminal, they see their yes before anything that follows from it.
func (s *step) show(p []byte, terminal bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.all.Write(p)
	for s.answered < len(asks.FindAllString(s.all.String(), -1)) {
		s.answered++
		_, _ = s.person.WriteString("y\n")
		if !terminal {
			continue
		}
		var echo [4096]byte
		n, _ := s.person.Read(echo[:])
		_, _ = s.all.Write(echo[:n])
	}
}

// data is the standard output of a step: the person sees that, too.
type data struct{ *step }

func (d data) Write(p []byte) (int, error) {
	d.show(p, false)
	return d.stdout.Write(p)
}

func newReader(t *testing.T) *reader {
	t.Helper()
	listen, err := suite.ClosedPort()
	if err != nil {
		t.Fatal(err)
	}
	other, err := suite.ClosedPort()
	if err != nil {
		t.Fatal(err)
	}
	w := &reader{t: t, other: other, folder: suite.TempDir(t), tmp: suite.TempDir(t), listen: listen}
	if err := os.Mkdir(filepath.Join(w.folder, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	links := map[string]string{"bin/pagetools": suite.Pagetools(t)}
	for _, name := range []string{"go.mod", "go.sum"} {
		links[name] = filepath.Join(docs.Root(t), name)
	}
	for name, to := range links {
		if err := os.Symlink(to, filepath.Join(w.folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.CopyFS(filepath.Join(w.folder, "examples"), os.DirFS(filepath.Join(docs.Root(t), "examples"))); err != nil {
		t.Fatal(err) // a link would lead out of the folder, which `lock --check` does not follow
	}
	// A login, as `login` writes it.
	if err := os.WriteFile(filepath.Join(w.folder, "work.json"), []byte(`{"cookies":[],"origins":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	w.env = append(os.Environ(), "TMPDIR="+w.tmp, "PAGETOOLS_DATA_DIR="+w.tmp+"-data", "PAGETOOLS_CONSOLE_LISTEN=127.0.0.1:0",
		"PAGETOOLS_LISTEN="+listen, "PAGETOOLS_WARM=0", "XDG_CONFIG_HOME=", "HOME="+w.tmp+"-home", "CI=", "NO_COLOR=1", "PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=1",
		"GOPATH="+goEnv(t, "GOPATH"), "GOCACHE="+goEnv(t, "GOCACHE"))
	if err := os.Mkdir(w.tmp+"-home", 0o700); err != nil {
		t.Fatal(err)
	}
	return w
}

var goEnvOnce sync.Map

// goEnv is a setting of Go, which does not depend on the HOME of a reader.
func goEnv(t *testing.T, name string) string {
	t.Helper()
	of, _ := goEnvOnce.LoadOrStore(name, sync.OnceValues(func() ([]byte, error) { return exec.Command("go", "env", name).Output() }))
	out, err := of.(func() ([]byte, error))()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// follow does what a block says.
func (w *reader) follow(b block) {
	w.t.Helper()
	switch b.lang {
	case "sh":
		code := 0
		if _, err := fmt.Sscanf(b.info, "exit=%d", &code); b.info != "" && err != nil {
			w.t.Fatalf("what is %q?", b.info)
		}
		w.run(b.text, code)
	case "text":
		if b.info == "serve" {
			w.served(b.text)
			return
		}
		w.compare(b.text)
	case "yaml":
		if strings.HasPrefix(b.text, workflowHead) {
			return // TestWorkflow runs it
		}
		w.configure(b.text)
	case "html":
		w.save(b.text)
	case "js":
		w.adapt(b.text)
	case "json":
		w.read(b.text)
	case "ini":
		w.verify(b.text)
	case "go":
		w.quote(b.text)
	default:
		if notRunKinds[b.lang] != "" {
			return
		}
		w.t.Fatalf("nothing holds a block of %q:\n%s", b.lang, b.text)
	}
}

// stays are commands that do not end by themselves, or not before a person answers, and
// what they show when they are ready.
var stays = map[*regexp.Regexp]string{
	regexp.MustCompile(`\bbin/pagetools (serve|demo)\b`):       "Try: curl ",
	regexp.MustCompile(`agent-http .* buyProduct|book-seat '`): "A person must answer",
	regexp.MustCompile(`python3 -m http.server`):               "Serving HTTP",
	regexp.MustCompile(`(?m)^bin/recipes`):                     "Recipes at ",
	regexp.MustCompile(`agent\.py .* buyProduct`):              "A person must answer",
	regexp.MustCompile(`"wait":300000`):                        "",
}

// ours replaces what stands for something of the reader's own.
func (w *reader) ours(text string) string {
	text = strings.NewReplacer(
		"go build -o bin/pagetools ./cmd/pagetools", "true", // as the binary of these tests is made
		"bin/pagetools tools --auto-connect", "PAGETOOLS_BROWSER_URL= bin/pagetools tools --auto-connect", // the browser of these tests is nobody's
		"127.0.0.1:7300", w.listen,
		"127.0.0.1:8001", w.other,
		"http.server 8001", "http.server "+w.other[strings.Index(w.other, ":")+1:],
		"/home/me/pagetools/examples", filepath.Join(docs.Root(w.t), "examples"),
		"https://shop.example/broken", suite.PageServer().Page("troubled.html"),
		"https://shop.example/late", suite.PageServer().Page("late.html"),
		"https://shop.example/", suite.PageServer().Page("shop.html"),
		"https://shop.example", suite.PageServer().URL,
	).Replace(text)
	if strings.Contains(text, `"resume":"TOKEN"`) {
		if w.token == "" {
			w.t.Fatalf("no call said a token before this:\n%s", text)
		}
		text = strings.ReplaceAll(text, `"resume":"TOKEN"`, w.token)
	}
	if strings.Contains(text, "/calls/CALL") {
		if w.call == "" {
			w.t.Fatalf("no call had an address before this:\n%s", text)
		}
		text = strings.ReplaceAll(text, "/calls/CALL", "/calls/"+w.call)
	}
	if id := regexp.MustCompile(`\bID\b`); id.MatchString(text) {
		text = id.ReplaceAllString(text, w.question())
	}
	return text
}

// question waits until `approve` lists a question that was not answered yet.
func (w *reader) question() string {
	w.t.Helper()
	before, said := w.asked, []byte{}
	if !suite.Within(suite.ReplyWithin, func() bool {
		list := exec.Command(suite.Pagetools(w.t), "approve", "--format", "json")
		list.Env = w.env
		var got struct{ Questions []struct{ ID string } }
		var err error
		if said, err = list.Output(); err != nil || json.Unmarshal(said, &got) != nil || len(got.Questions) == 0 {
			return false
		}
		w.asked = got.Questions[0].ID
		return w.asked != before
	}) {
		w.t.Fatalf("no question waits: %s", said)
	}
	return w.asked
}

// run runs a block, and waits for its end, or until it is ready.
func (w *reader) run(text string, code int) {
	w.t.Helper()
	text, _ = runnable(text)
	if w.left = strings.TrimSpace(text) == ""; w.left {
		return
	}
	ready, stay := "", false
	for command, marker := range stays {
		if command.MatchString(text) {
			ready, stay = marker, true
		}
	}
	text = w.ours(text)
	if stay && serves.MatchString(text) {
		w.stop(others) // ours before it has the address
		text = serves.ReplaceAllString(text, "exec $0")
	}
	s := w.start(text)
	if stay {
		w.going = append(w.going, s)
		if !suite.Within(suite.ReadyWithin, func() bool { return s.hasEnded() || strings.Contains(s.all.String(), ready) }) || s.hasEnded() {
			w.t.Fatalf("it does not go on:\n%s%s", text, s.all)
		}
		return
	}
	w.last = s
	if !suite.Within(suite.ReplyWithin, s.hasEnded) {
		w.t.Errorf("it does not end:\n%s%s", text, s.all)
		w.kill(s, syscall.SIGKILL)
		return
	}
	if token := resumes.FindString(s.stdout.String()); token != "" {
		w.token = token
	}
	if id := accepted.FindStringSubmatch(s.stdout.String()); id != nil {
		w.call = id[1]
	}
	if got := s.cmd.ProcessState.ExitCode(); got != code {
		w.t.Errorf("it ended with %d, want %d:\n%s%s", got, code, text, s.all)
	}
}

var (
	asks     = regexp.MustCompile(`\[[yY]/[nN]`)
	serves   = regexp.MustCompile(`(?m)^(bin/pagetools (serve|demo)\b|bin/recipes|python3 -m http\.server)`)
	others   = regexp.MustCompile(`exec (bin/recipes|python3 -m http\.server)`)
	resumes  = regexp.MustCompile(`"resume":"[^"]+"`)
	accepted = regexp.MustCompile(`"status":"accepted","call":\{"id":"([^"]+)"`)
)

// start runs commands at a terminal, where a person says yes to each question.
func (w *reader) start(text string) *step {
	w.t.Helper()
	person, program := openTerminal(w.t)
	s := &step{text: text, stdout: &suite.LockedBuffer{}, all: &suite.LockedBuffer{}, ended: make(chan struct{}), person: person}
	// What people type at a terminal is not in the command line of their shell, which pkill -f
	// reads.
	s.cmd = exec.Command("sh", "-e", "-c", `eval "$TYPED"`)
	s.cmd.Dir, s.cmd.Env = w.folder, append(slices.Clip(w.env), "TYPED="+text)
	s.cmd.Stdin, s.cmd.Stderr, s.cmd.Stdout = program, program, data{s}
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := s.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	_ = program.Close() // the program has its own
	seen := make(chan struct{})
	go func() { // ends with the terminal
		defer close(seen)
		var buf [4096]byte
		for {
			n, err := person.Read(buf[:])
			s.show(buf[:n], true)
			if err != nil {
				return
			}
		}
	}()
	go func() { // ends with the program
		_ = s.cmd.Wait() // how it ended is in ProcessState
		<-seen
		close(s.ended)
	}()
	return s
}

func (s *step) hasEnded() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

func (w *reader) kill(s *step, with syscall.Signal) {
	_ = syscall.Kill(-s.cmd.Process.Pid, with) // its group: it leads one
	<-s.ended
}

// stop ends the running commands, as a person does, except those that keep matches.
func (w *reader) stop(keep *regexp.Regexp) {
	w.t.Helper()
	var kept []*step
	for _, s := range w.going {
		if keep != nil && keep.MatchString(s.text) {
			kept = append(kept, s)
			continue
		}
		if !strings.Contains(s.text, "exec ") {
			if !suite.Within(suite.ReplyWithin, s.hasEnded) {
				w.kill(s, syscall.SIGKILL)
				w.t.Errorf("it still waits:\n%s%s", s.text, s.all)
			}
			continue
		}
		_ = syscall.Kill(s.cmd.Process.Pid, syscall.SIGINT) // Ctrl-C
		if !suite.Within(suite.StopWithin, s.hasEnded) {
			w.kill(s, syscall.SIGKILL)
			w.t.Errorf("it does not stop:\n%s%s", s.text, s.all)
		}
		// Python ends by the signal itself.
		how := s.cmd.ProcessState.Sys().(syscall.WaitStatus)
		if code := how.ExitStatus(); code != 0 && code != 130 && how.Signal() != syscall.SIGINT {
			w.t.Errorf("it ended with %d:\n%s%s", code, s.text, s.all)
		}
		w.last = s
	}
	w.going = kept
}

// end ends the running commands, and looks at what is left.
func (w *reader) end() {
	w.t.Helper()
	w.stop(nil)
	if entries, err := os.ReadDir(w.tmp); err != nil || len(entries) > 0 {
		w.t.Errorf("it left %v (%v)", entries, err)
	}
}

package serve_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pagetools/pagetools/e2e/suite"
	"github.com/pagetools/pagetools/e2e/suite/docs"
)

// openTerminal makes a pseudo-terminal: what a person would sit at, and what the
// program gets.
func openTerminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatalf("opening a terminal: %v", err)
	}
	t.Cleanup(func() { _ = person.Close() })
	var n int
	raw, err := person.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		if failed = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); failed == nil {
			n, failed = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
	})
	if err != nil || failed != nil {
		t.Fatalf("opening a terminal: %v, %v", err, failed)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatalf("opening a terminal: %v", err)
	}
	t.Cleanup(func() { _ = program.Close() })
	return person, program
}

// conversation is a call at a terminal.
type conversation struct {
	cmd    *exec.Cmd
	person *os.File
	shown  *suite.LockedBuffer
	stdout bytes.Buffer
	ended  chan struct{}
}

// converse runs pagetools at a terminal. Its standard output is not the terminal, so that data and
// questions are apart.
func converse(t *testing.T, args ...string) *conversation {
	t.Helper()
	person, program := openTerminal(t)
	c := &conversation{cmd: exec.Command(suite.Pagetools(t), args...), person: person, shown: &suite.LockedBuffer{}, ended: make(chan struct{})}
	tmp := suite.TempDir(t)
	c.cmd.Env = append(os.Environ(), "TMPDIR="+tmp, "XDG_STATE_HOME="+suite.TempDir(t), "CI=") // a person is there, wherever the test runs
	c.cmd.Stdin, c.cmd.Stderr, c.cmd.Stdout = program, program, &c.stdout
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = program.Close() // the program has its own
	seen := make(chan struct{})
	go func() { // ends with the terminal
		defer close(seen)
		var buf [4096]byte
		for {
			n, err := person.Read(buf[:])
			if n > 0 {
				_, _ = c.shown.Write(buf[:n])
			}
			if err != nil {
				return
			}
		}
	}()
	go func() { // ends with the program
		_ = c.cmd.Wait()
		<-seen
		close(c.ended)
	}()
	t.Cleanup(func() {
		select {
		case <-c.ended:
		case <-time.After(suite.StopWithin):
			t.Errorf("it did not end:\n%s", c.shown)
			_ = c.cmd.Process.Kill()
			<-c.ended
		}
		if entries, err := os.ReadDir(tmp); err != nil || len(entries) > 0 {
			t.Errorf("it left %v (%v)", entries, err)
		}
	})
	return c
}

// see waits until the terminal shows text.
func (c *conversation) see(t *testing.T, text string) {
	t.Helper()
	if !suite.Within(suite.ReplyWithin, func() bool { return strings.Contains(c.shown.String(), text) }) {
		t.Fatalf("the terminal does not show %q:\n%s", text, c.shown)
	}
}

func (c *conversation) enter(t *testing.T, keys string) {
	t.Helper()
	if _, err := c.person.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}

func (c *conversation) code(t *testing.T) int {
	t.Helper()
	select {
	case <-c.ended:
	case <-time.After(suite.ReplyWithin):
		t.Fatalf("it did not end:\n%s", c.shown)
	}
	return c.cmd.ProcessState.ExitCode()
}

// TestConsent answers the question of a call at a terminal.
func TestConsent(t *testing.T) {
	t.Parallel()
	site := suite.PageServer()
	long := strings.Repeat("all of it, ", 300) + "to the end"
	tests := []struct {
		name, keys string
		code       int
		stdout     string
		shown      string
	}{
		{"yes", "y\n", 0, "changed x\n", ""},
		{"in full", "Yes\n", 0, "changed x\n", ""},
		{"no", "n\n", 6, "", "refused"},
		{"nothing", "\n", 6, "", "refused"},
		{"something else", "yep\n", 6, "", "refused"},
		{"end of the input", "\x04", 6, "", "consent"},
		{"control-C", "\x03", 130, "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := converse(t, "call", site.Page("good.html"), "change", "what=x", "secret="+long, "extra=\x1b[2Jevil")
			c.see(t, "Allow? [y/N]")
			question := strings.ReplaceAll(c.shown.String(), "\r", "")
			for _, part := range []string{"Run change", "Origin: " + site.URL, `"what": "x"`, long, `"extra": "\u001b[2Jevil"`, `"Changes something."`} {
				if !strings.Contains(question, part) {
					t.Errorf("the question does not show %q:\n%s", part, question)
				}
			}
			if regexp.MustCompile(`[\x00-\x09\x0b-\x1f\x7f]`).MatchString(question) {
				t.Errorf("the question has control characters: %q", question)
			}
			c.enter(t, test.keys)
			if code := c.code(t); code != test.code {
				t.Errorf("exit code %d, want %d:\n%s", code, test.code, c.shown)
			}
			if got := c.stdout.String(); got != test.stdout {
				t.Errorf("stdout is %q, want %q", got, test.stdout)
			}
			c.see(t, test.shown)
		})
	}
}

// TestTextAtTerminal (D8): what the person types is the text; nothing is the page's default,
// and Ctrl-D cancels.
func TestTextAtTerminal(t *testing.T) {
	t.Parallel()
	for keys, want := range map[string]string{"Ada\n": "Ada\n", "y\n": "y\n", "\n": "\n", "\x04": "null\n"} {
		t.Run(fmt.Sprintf("%q", keys), func(t *testing.T) {
			t.Parallel()
			c := converse(t, "call", suite.PageServer().Page("bad.html"), "prompt")
			c.see(t, "Your answer (Enter alone is \"\", Ctrl-D cancels): ")
			c.enter(t, keys)
			if code := c.code(t); code != 0 || c.stdout.String() != want {
				t.Errorf("it ended with %d and %q, want %q:\n%s", code, c.stdout.String(), want, c.shown)
			}
		})
	}
}

// TestInterrupt ends a call that takes long, by the signal.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"text", "json"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			site := suite.Pages(t)
			tmp := suite.TempDir(t)
			s, err := suite.Launch(suite.Pagetools(t), "", tmp, "call", site.Page("good.html"), "hold", "--format", format)
			if err != nil {
				t.Fatal(err)
			}
			site.AwaitHeld(t)
			if err := s.Cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			select {
			case <-s.Ended:
			case <-time.After(suite.StopWithin):
				_ = s.Cmd.Process.Kill()
				t.Fatal("it did not end")
			}
			if code := s.Cmd.ProcessState.ExitCode(); code != 130 {
				t.Errorf("exit code %d, want 130", code)
			}
			said := s.Stderr.String()
			if format == "json" && (strings.Count(said, "\n") != 1 || !strings.HasPrefix(said, `{"error":{"code":"CANCELLED"`)) {
				t.Errorf("it said %q", said)
			}
			if format == "text" && said != "" {
				t.Errorf("it said %q", said)
			}
			if err := s.Leftovers(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAskTerminal answers the questions of callers at the terminal of serve.
func TestAskTerminal(t *testing.T) {
	t.Parallel()
	listen, err := suite.ClosedPort()
	if err != nil {
		t.Fatal(err)
	}
	c := converse(t, "serve", "shop="+filepath.Join(docs.Root(t), "examples", "buyproduct"), "--listen", listen, "--ask", "terminal", "--data-dir", t.TempDir())
	s := &suite.Server{URL: "http://" + listen}
	suite.Eventually(t, suite.ReadyWithin, "the server is ready", func() bool { return s.Ask("/readyz", "").Status == http.StatusOK })
	bought := s.Later("/webtools/shop", buys("t", `{"wait":60000}`))
	c.see(t, "Allow? [y/N]")
	c.enter(t, "y\n")
	_, token := (<-bought).Waiting(t, http.StatusConflict, "INPUT_REQUIRED") // the wait was for the consent
	c.see(t, "Confirm? [y/N]")
	if shown := c.shown.String(); !strings.Contains(shown, "Buy Sencha") {
		t.Errorf("the terminal shows %s", shown)
	}
	c.enter(t, "y\n")
	if got := string(s.Ask("/webtools/shop", buys("t", fmt.Sprintf(`{"resume":%q,"wait":60000}`, token))).Data(t)); got != `"Product sencha purchased."` {
		t.Errorf("got %s", got)
	}
	if err := c.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if code := c.code(t); code != 0 && code != 130 {
		t.Errorf("exit code %d: %s", code, c.shown.String())
	}
}

// TestWaitIsShown: on a terminal a slow page is waited for with words and seconds, in a line
// that is gone afterwards; NO_COLOR takes the colours, and not the words (D13).
func TestWaitIsShown(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<!doctype html>")
	}))
	defer slow.Close()
	c := converse(t, "tools", slow.URL+"/")
	c.see(t, "opening "+slow.URL+"/, until its tools are there … ")
	close(release)
	<-c.ended
	if shown := c.shown.String(); !regexp.MustCompile(` s\r +\rpagetools: the page declares no tools`).MatchString(shown) {
		t.Errorf("the line stays: %q", shown)
	}
}

// TestAlwaysAtTerminal: a person who calls an API that takes one yes for all calls is told how to
// be asked once, and then may say always; the next call asks nobody (O11).
func TestAlwaysAtTerminal(t *testing.T) {
	t.Parallel()
	var ran atomic.Int32
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			ran.Add(1)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"openapi":"3.1.0","info":{"title":"x","version":"1"},"x-llm":{"version":"0.1","name":"Corner shop"},
			"paths":{"/order":{"post":{"operationId":"order","summary":"Order tea","x-llm":{"blanketApprovalAllowed":true}}}}}`)
	}))
	defer api.Close()
	args := []string{"call", api.URL + "/openapi.json", "order", "--data-dir", t.TempDir()}
	c := converse(t, args...)
	c.see(t, `"Corner shop" wants: "Order tea". Run order on`)
	c.see(t, "--approval ask-once offers that")
	c.see(t, "Allow? [y/N] ")
	c.enter(t, "always\n")
	if code := c.code(t); code != 6 {
		t.Errorf("always ended with %d where it is not offered", code)
	}
	args = append(args, "--approval", "ask-once")
	c = converse(t, args...)
	c.see(t, "[y/N, always: for all further calls of this tool]")
	c.enter(t, "always\n")
	if code := c.code(t); code != 0 || strings.Contains(c.shown.String(), "offers that") {
		t.Errorf("always ended with %d: %s", code, c.shown.String())
	}
	c = converse(t, args...)
	if code := c.code(t); code != 0 || strings.Contains(c.shown.String(), "Allow?") || ran.Load() != 2 {
		t.Errorf("the next call ended with %d, and it ran %d times: %s", code, ran.Load(), c.shown.String())
	}
}

// TestFormAtTerminal (U6): a form that waits is one question, which a yes submits; then the page
// that came is told. After a no, nothing was sent.
func TestFormAtTerminal(t *testing.T) {
	t.Parallel()
	var sent atomic.Int32
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		page := `<form action=/order method=post toolname=order tooldescription="Orders tea."><input name=tea><button>Order</button></form>`
		if r.URL.Path == "/order" {
			sent.Add(1)
			page = `<title>Thanks</title><p role=status>Order 4711 taken</p>`
		}
		_, _ = io.WriteString(w, "<!doctype html>"+page)
	}))
	t.Cleanup(web.Close)
	for _, test := range []struct {
		answer string
		code   int
		sent   int32
	}{{"n\n", 5, 0}, {"y\n", 0, 1}} {
		c := converse(t, "call", web.URL, "order", "tea=oolong", "--approval", "auto")
		c.see(t, "Submit it? [y/N] ")
		c.enter(t, test.answer)
		if code := c.code(t); code != test.code || sent.Load() != test.sent {
			t.Errorf("%q ends with %d, and %d orders were sent:\n%s", test.answer, code, sent.Load(), c.shown)
		}
		if n := strings.Count(c.shown.String(), "[y/N]"); n != 1 {
			t.Errorf("%d questions:\n%s", n, c.shown)
		}
		if told := strings.Contains(c.stdout.String(), "Order 4711 taken"); told != (test.sent > 0) {
			t.Errorf("%q: stdout has %s", test.answer, c.stdout.String())
		}
	}
}

// TestPartsAtTerminal (anyone 6): at a terminal the last line shows how far the result has come,
// and is gone afterwards; a pipe gets only the result.
func TestPartsAtTerminal(t *testing.T) {
	t.Parallel()
	steps := make(chan struct{})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			select {
			case <-steps:
			case <-r.Context().Done():
			}
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, `<!doctype html><script>
			const step = (part) => fetch('/', {method: 'POST'}).then(() => part);
			document.modelContext.registerTool({name: 'count', description: 'Counts.', annotations: {readOnlyHint: true}, async *execute() {
				yield {message: 'half\x1b[2J\nof it', progress: 1, total: 2}; yield await step('more'); yield await step([3]); return step('counted') } });
		</script>`)
	}))
	t.Cleanup(web.Close)
	c := converse(t, "call", web.URL, "count")
	for _, line := range []string{"pagetools: 1/2 half[2J of it … ", "pagetools: 2 more … ", "pagetools: 3 [3] … "} {
		c.see(t, line)
		steps <- struct{}{}
	}
	if code := c.code(t); code != 0 || c.stdout.String() != "counted\n" {
		t.Errorf("it ended with %d and %q", code, c.stdout.String())
	}
	if shown := c.shown.String(); !regexp.MustCompile(`\d s\r +\r$`).MatchString(shown) || strings.Contains(shown, "\x1b[2J") {
		t.Errorf("the terminal shows %q", shown)
	}
	go func() { // ends with the third step
		for range 3 {
			steps <- struct{}{}
		}
	}()
	var said bytes.Buffer
	cmd := exec.Command(suite.Pagetools(t), "call", web.URL, "count", "--data-dir", "off")
	cmd.Stderr = &said
	if out, err := cmd.Output(); err != nil || string(out) != "counted\n" || said.Len() > 0 {
		t.Errorf("a pipe gets %q, %q, %v", out, &said, err)
	}
}

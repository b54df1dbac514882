package main

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// distFolder has what check built. Without it, the tests of what is installed are skipped.
var distFolder = flag.String("dist", "", "the folder with a release, to install it from")

// The most that the program for linux/amd64 may have, stripped and packed. Raise one only by what a
// decision file names.
const (
	maxStripped = 35_900_000
	maxPacked   = 14_250_000
)

// published is the release under test.
type published struct{ dir, version string }

func publishedRelease(t *testing.T) published {
	t.Helper()
	if *distFolder == "" {
		t.Skip("make release-check and make release-short run it")
	}
	var s server
	text, err := os.ReadFile(filepath.Join(*distFolder, "server.json"))
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		t.Fatal(err)
	}
	return published{*distFolder, s.Version}
}

// file returns the path of a file whose name has the version in the place of VERSION.
func (p published) file(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(p.dir, strings.ReplaceAll(name, "VERSION", p.version)))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestSize holds the size of the program.
func TestSize(t *testing.T) {
	t.Parallel()
	p := publishedRelease(t)
	program := unpacked(t, p.file(t, "pagetools_VERSION_linux_amd64.tar.gz"))["pagetools"]
	packed, err := gzipOf(program)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes stripped, %d packed", len(program), len(packed))
	if len(program) > maxStripped || len(packed) > maxPacked {
		t.Errorf("%d bytes, %d packed: at most %d and %d", len(program), len(packed), maxStripped, maxPacked)
	}
}

// TestChecksums: the list names every file, with the digest that sha256sum prints.
func TestChecksums(t *testing.T) {
	t.Parallel()
	p := publishedRelease(t)
	all, err := readAll(p.dir)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(p.dir, checksumsFile))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for _, line := range lines {
		sum, name, _ := strings.Cut(line, "  ")
		if !strings.HasSuffix(all[name], " "+sum) {
			t.Errorf("%s has another checksum than %s", name, sum)
		}
	}
	if len(lines) != len(all)-1 {
		t.Errorf("%d of %d files have a checksum", len(lines), len(all)-1)
	}
}

// TestArchive unpacks the archive of this system into an empty folder, and runs the main job there.
func TestArchive(t *testing.T) {
	t.Parallel()
	p := publishedRelease(t)
	dir := t.TempDir()
	must(t, exec.Command("tar", "-xzf", p.file(t, "pagetools_VERSION_"+runtime.GOOS+"_"+runtime.GOARCH+".tar.gz"), "-C", dir))
	for _, name := range []string{"LICENSE", "NOTICE", "README.md", "CHANGELOG.md", "man/man1/pagetools-serve.1", "completions/pagetools.bash", "completions/_pagetools", "completions/pagetools.fish", "completions/pagetools.ps1"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	notice, err := os.ReadFile(filepath.Join(dir, "NOTICE"))
	if err != nil || !bytes.Contains(notice, []byte("Go's standard library")) || !bytes.Contains(notice, []byte("modernc.org/sqlite v")) {
		t.Errorf("NOTICE has %d bytes (%v)", len(notice), err)
	}
	mainJob(t, "archive", p, filepath.Join(dir, "pagetools"))
}

// TestBundle unpacks a bundle as a desktop client does, and starts what its manifest says.
func TestBundle(t *testing.T) {
	t.Parallel()
	p := publishedRelease(t)
	bundle, err := zip.OpenReader(p.file(t, "pagetools-VERSION-"+runtime.GOOS+"-"+runtime.GOARCH+".mcpb"))
	if err != nil {
		t.Fatal(err)
	}
	defer bundle.Close()
	dir := t.TempDir()
	if err := os.CopyFS(dir, bundle); err != nil {
		t.Fatal(err)
	}
	config := readPart[manifest](t, filepath.Join(dir, "manifest.json")).Server.Config
	browser := os.Getenv("PAGETOOLS_EXECUTABLE_PATH")
	fill := strings.NewReplacer("${__dirname}", dir, "${user_config.site}", page(t), "${user_config.browser}", browser)
	words := append([]string{config.Command}, config.Args...)
	for i, w := range words {
		words[i] = fill.Replace(w)
	}
	cmd := asUser(t, exec.CommandContext(t.Context(), words[0], words[1:]...))
	for name, v := range config.Env {
		cmd.Env = append(cmd.Env, name+"="+fill.Replace(v))
	}
	speaksMCP(t, cmd, nil, 0)
	mainJob(t, "mcpb", p, words[0])
}

// mainJob asks an installed program what it is, whether there is a browser, and for the tools of a
// page.
func mainJob(t *testing.T, from string, p published, program ...string) {
	t.Helper()
	start := func(args ...string) *exec.Cmd {
		return asUser(t, exec.CommandContext(t.Context(), program[0], append(slices.Clone(program[1:]), args...)...))
	}
	var said struct{ Version, From, Browser, Commit string }
	if err := json.Unmarshal(must(t, start("version", "--format", "json")), &said); err != nil || said.Version != "v"+p.version || said.From != from || len(said.Commit) != 40 {
		t.Errorf("it says that it is %+v (%v)", said, err)
	}
	// No browser: one line says how to get one.
	cmd := start("tools", page(t))
	cmd.Env = append(cmd.Env, "PAGETOOLS_EXECUTABLE_PATH=/nowhere")
	if out, err := cmd.CombinedOutput(); err == nil || cmd.ProcessState.ExitCode() != 4 || !bytes.Contains(out, []byte("nstall")) {
		t.Errorf("without a browser: %v\n%s", err, out)
	}
	if said.Browser == "none" {
		t.Log("NOT CHECKED: there is no browser here")
		return
	}
	if out := must(t, start("tools", page(t))); !bytes.Contains(out, []byte("greet")) {
		t.Errorf("the tools are\n%s", out)
	}
	if out := must(t, start("call", page(t), "greet", "name=Ada")); string(out) != "Hello, Ada!\n" {
		t.Errorf("the call says %q", out)
	}
	// What the README's first minute says, but for serve, which does not end.
	app := t.TempDir()
	if err := os.CopyFS(filepath.Join(app, "public"), os.DirFS(page(t))); err != nil {
		t.Fatal(err)
	}
	for _, words := range []struct{ command, want string }{
		{"doctor public", "1 found"}, {"config claude-code public", "claude mcp add"}, {"init public", "pagetools.lock"}, {"test", "7 passed"},
	} {
		cmd := start(strings.Fields(words.command)...)
		cmd.Dir = app
		if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte(words.want)) {
			t.Errorf("%s: %v\n%s", words.command, err, out)
		}
	}
	workflow, err := os.ReadFile(filepath.Join(app, ".github/workflows/webtools.yml"))
	if want := "npm install --global pagetools@" + p.version + "\n"; err != nil || !bytes.Contains(workflow, []byte(want)) {
		t.Errorf("the workflow does not have %q (%v):\n%s", want, err, workflow)
	}
}

// page is a folder with a page that has one tool.
func page(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("testdata/page")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// asUser gives a command a home of its own, and none of our settings but those of the browser.
func asUser(t *testing.T, cmd *exec.Cmd) *exec.Cmd {
	t.Helper()
	home := t.TempDir()
	cmd.Dir, cmd.WaitDelay = home, 10*time.Second
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(name, "PAGETOOLS_") && !strings.HasPrefix(name, "XDG_") && name != "HOME" && !strings.HasPrefix(name, "npm_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "HOME="+home, "npm_config_update_notifier=false", "PAGETOOLS_CONSOLE_LISTEN=off")
	for _, name := range []string{"PAGETOOLS_NO_SANDBOX", "PAGETOOLS_EXECUTABLE_PATH"} {
		if v := os.Getenv(name); v != "" {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	return cmd
}

// must returns the output of a command that succeeds.
func must(t *testing.T, cmd *exec.Cmd) []byte {
	t.Helper()
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("%q: %v\n%s%s", cmd.Args, err, out.String(), said.String())
	}
	return out.Bytes()
}

// speaksMCP calls a tool over stdin and stdout, on which nothing else comes. With a signal, it then
// ends the program by that, and otherwise by the end of stdin. Nothing that it started is left.
func speaksMCP(t *testing.T, cmd *exec.Cmd, signal os.Signal, want int) {
	t.Helper()
	mark := "PAGETOOLS_TEST_MARK=" + filepath.Base(t.TempDir()) + fmt.Sprint(os.Getpid()) + strings.ReplaceAll(t.Name(), "/", "_")
	cmd.Env = append(cmd.Env, mark)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	var said bytes.Buffer
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stdout)
	ask := func(message string, want string) {
		t.Helper()
		if _, err := io.WriteString(in, message+"\n"); err != nil {
			t.Fatal(err)
		}
		for want != "" {
			line, err := lines.ReadString('\n')
			if err != nil || !strings.HasPrefix(line, `{"jsonrpc"`) {
				t.Fatalf("stdout has %q (%v)\n%s", line, err, said.String())
			}
			if strings.Contains(line, `"id":`) {
				if !strings.Contains(line, want) {
					t.Fatalf("got %s, want %s", line, want)
				}
				return
			}
		}
	}
	ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, `"protocolVersion"`)
	ask(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, "")
	ask(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"greet","arguments":{"name":"Ada"}}}`, `Hello, Ada!`)
	started := marked(t, mark)
	if runtime.GOOS == "linux" && len(started) < 2 {
		t.Errorf("processes with the mark: %v; there is no browser among them", started)
	}
	if signal != nil {
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
	} else if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(lines)
	if err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the exit code is looked at below
	if code := cmd.ProcessState.ExitCode(); code != want || len(rest) > 0 {
		t.Errorf("it ends with %d, not %d\n%s%s", code, want, said.String(), rest)
	}
	for _, pid := range started {
		if lives(pid) {
			t.Errorf("process %s is left behind", pid)
		}
	}
}

// interrupted starts a server at a terminal, and presses Ctrl-C: the terminal sends it to npx, the
// launcher and the program alike. It ends as if it had come once, and its browser with it.
func interrupted(t *testing.T, command string) {
	t.Helper()
	if _, err := exec.LookPath("script"); err != nil || runtime.GOOS != "linux" {
		t.Skip("NOT CHECKED: there is no script of util-linux, which makes a terminal")
	}
	mark := "PAGETOOLS_TEST_MARK=" + fmt.Sprint(os.Getpid()) + strings.ReplaceAll(t.Name(), "/", "_")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := asUser(t, exec.CommandContext(ctx, "script", "--quiet", "--return", "--flush", "--command", "exec "+command, "/dev/null"))
	cmd.Env = append(cmd.Env, mark)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var shown strings.Builder
	for lines := bufio.NewScanner(io.TeeReader(out, &shown)); lines.Scan(); {
		if strings.Contains(lines.Text(), "/mcp") { // the last address of the box
			break
		}
	}
	started := marked(t, mark)
	if len(started) < 3 {
		t.Errorf("processes with the mark: %v\n%s", started, shown.String())
	}
	if _, err := io.WriteString(in, "\x03"); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("it ends with %d\n%s%s", code, shown.String(), rest)
	}
	for _, pid := range started {
		if lives(pid) {
			t.Errorf("process %s is left behind", pid)
		}
	}
}

// marked returns the processes that have a variable, and their children: a browser is started
// without our variables. Elsewhere than on Linux nothing is looked at.
func marked(t *testing.T, mark string) (found []string) {
	t.Helper()
	entries, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	ours := map[string]bool{}
	for _, path := range entries {
		env, err := os.ReadFile(path)
		if err == nil && slices.Contains(strings.Split(string(env), "\x00"), mark) {
			ours[strings.Split(path, "/")[2]] = true
		}
	}
	for _, path := range entries {
		pid := strings.Split(path, "/")[2]
		if _, parent := status(pid); ours[pid] || ours[parent] {
			found = append(found, pid)
		}
	}
	return found
}

// status returns the state and the parent of a process; nothing when there is none.
func status(pid string) (state, parent string) {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return "", ""
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	return fields[0], fields[1]
}

func lives(pid string) bool {
	state, _ := status(pid)
	return state != "" && state != "Z"
}

package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
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
	maxStripped = 35_000_000
	maxPacked   = 13_800_000
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
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(program); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	t.Logf("%.1f MB stripped, %.1f MB packed", float64(len(program))/1e6, float64(packed.Len())/1e6)
	if len(program) > maxStripped || packed.Len() > maxPacked {
		t.Errorf("%d bytes, %d packed: at most %d and %d", len(program), packed.Len(), maxStripped, maxPacked)
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

// mainJob asks an installed program what it is, whether there is a browser, and for the tools of a page.
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
	if out, err := cmd.CombinedOutput(); err == nil || cmd.ProcessState.ExitCode() != 4 || !bytes.Contains(out, []byte("browser")) {
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
	cmd.Env = append(cmd.Env, "HOME="+home)
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

// npmInstalled installs packages from their files, without a network, and returns the folder.
func npmInstalled(t *testing.T, files ...string) string {
	t.Helper()
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("NOT CHECKED: there is no npm")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"private":true}`), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := asUser(t, exec.CommandContext(t.Context(), "npm", append([]string{"install", "--offline", "--no-audit", "--no-fund", "--loglevel=error"}, files...)...))
	cmd.Dir = dir
	must(t, cmd)
	return dir
}

func (p published) npmFiles(t *testing.T) []string {
	t.Helper()
	system, cpu := platform{runtime.GOOS, runtime.GOARCH}.npmSystem()
	return []string{p.file(t, "npm/pagetools-VERSION.tgz"), p.file(t, "npm/pagetools-"+system+"-"+cpu+"-VERSION.tgz")}
}

// TestNPM installs npm's packages offline, runs the main job through npx, and ends.
func TestNPM(t *testing.T) {
	t.Parallel()
	p := publishedRelease(t)
	dir := npmInstalled(t, p.npmFiles(t)...)
	mainJob(t, "npm", p, "npx", "--offline", "--prefix", dir, "pagetools")
	for _, node := range nodes(t) {
		t.Run(node.version, func(t *testing.T) {
			launcher := filepath.Join(dir, "node_modules", "pagetools", "bin", "pagetools.js")
			start := func(args ...string) *exec.Cmd {
				return asUser(t, exec.CommandContext(t.Context(), node.path, append([]string{launcher}, args...)...))
			}
			t.Run("exit code", func(t *testing.T) {
				cmd := start("nonsense")
				if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 2 || !bytes.Contains(out, []byte("nonsense")) {
					t.Errorf("it ends with %d\n%s", cmd.ProcessState.ExitCode(), out)
				}
			})
			t.Run("MCP", func(t *testing.T) { speaksMCP(t, start("mcp", page(t)), nil) })
			t.Run("interrupt", func(t *testing.T) { speaksMCP(t, start("mcp", page(t)), os.Interrupt) })
			t.Run("another binary", func(t *testing.T) {
				cmd := start("version")
				cmd.Env = append(cmd.Env, "PAGETOOLS_BINARY=/bin/echo")
				if out := must(t, cmd); string(out) != "version\n" {
					t.Errorf("PAGETOOLS_BINARY does not count: %s", out)
				}
				cmd = start("version")
				cmd.Env = append(cmd.Env, "PAGETOOLS_BINARY=/nowhere")
				if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 1 || !bytes.Contains(out, []byte("/nowhere cannot be started: ENOENT")) {
					t.Errorf("it ends with %d\n%s", cmd.ProcessState.ExitCode(), out)
				}
			})
		})
	}
}

// TestNPMWithoutPlatform names what is missing, and how to get it, on stderr.
func TestNPMWithoutPlatform(t *testing.T) {
	t.Parallel()
	p := publishedRelease(t)
	dir := npmInstalled(t, p.npmFiles(t)[0])
	launcher := filepath.Join(dir, "node_modules", "pagetools", "bin", "pagetools.js")
	system, cpu := platform{runtime.GOOS, runtime.GOARCH}.npmSystem()
	for name, test := range map[string]struct{ preload, want string }{
		"missing": {"", "pagetools: the package @pagetools/" + system + "-" + cpu + " is missing: install without --omit=optional\n"},
		"unknown": {"Object.defineProperty(process, 'platform', {value: 'plan9'});", "pagetools: there is no pagetools for plan9-" + cpu + "; there is one for linux-x64, linux-arm64, darwin-x64, darwin-arm64, win32-x64, win32-arm64\n"},
	} {
		preload := filepath.Join(t.TempDir(), "preload.js")
		if err := os.WriteFile(preload, []byte(test.preload), 0o600); err != nil {
			t.Fatal(err)
		}
		var out, said bytes.Buffer
		cmd := asUser(t, exec.CommandContext(t.Context(), "node", "--require", preload, launcher, "version"))
		cmd.Stdout, cmd.Stderr = &out, &said
		if err := cmd.Run(); cmd.ProcessState.ExitCode() != 1 || out.Len() > 0 || said.String() != test.want {
			t.Errorf("%s: %v\n%s%s", name, err, out.String(), said.String())
		}
	}
}

type node struct{ path, version string }

// nodes returns the Node of this machine, and one with process.execve, from the packages of make
// clients.
func nodes(t *testing.T) (all []node) {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob(filepath.Join(cache, "pagetools", "clients-*", "node_modules", "node-*", "bin", "node"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append([]string{"node"}, paths...) {
		version, err := exec.Command(path, "--version").Output()
		if err == nil && !slices.ContainsFunc(all, func(n node) bool { return n.version == strings.TrimSpace(string(version)) }) {
			all = append(all, node{path, strings.TrimSpace(string(version))})
		}
	}
	if len(all) < 2 {
		t.Log("NOT CHECKED with process.execve: make clients-short brings a newer Node")
	}
	return all
}

// speaksMCP calls a tool over stdin and stdout, on which nothing else comes. With a signal, it then
// ends the program by that, and otherwise by the end of stdin. Nothing that it started is left.
func speaksMCP(t *testing.T, cmd *exec.Cmd, signal os.Signal) {
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
	if code, want := cmd.ProcessState.ExitCode(), map[bool]int{true: 130, false: 0}[signal != nil]; code != want || bytes.ContainsRune(bytes.TrimSpace(rest), '\x00') {
		t.Errorf("it ends with %d, not %d\n%s", code, want, said.String())
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

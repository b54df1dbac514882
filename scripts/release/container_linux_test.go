package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// chroots says that a Debian may be made to install into, which takes minutes.
var chroots = flag.Bool("chroots", false, "install the deb in a new Debian, which is downloaded")

// suite is the release of Debian that Containerfile begins with.
const suite = "trixie"

// debian makes a folder with a small Debian in it, or skips without the rights or the means.
func debian(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("NOT CHECKED: only root can change into another root folder")
	}
	if _, err := exec.LookPath("debootstrap"); err != nil {
		t.Skip("NOT CHECKED: there is no debootstrap; apt-get install debootstrap")
	}
	root, err := os.MkdirTemp("", "root")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	args := []string{"--variant=minbase", suite, root}
	if from := archiveOf(t); from != "" {
		args = append(args, from)
	}
	if out, err := exec.CommandContext(t.Context(), "debootstrap", args...).CombinedOutput(); err != nil {
		t.Skipf("NOT CHECKED: debootstrap: %v\n%s", err, last(string(out), 1000))
	}
	if err := os.Chmod(root, 0o755); err != nil { // for users who are not root
		t.Fatal(err)
	}
	// What this machine tells apt about the way to the packages holds there, too.
	found, err := filepath.Glob("/etc/apt/apt.conf.d/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(found, "/etc/resolv.conf") {
		data, err := os.ReadFile(path)
		if err == nil && (bytes.Contains(data, []byte("Acquire::")) || filepath.Base(path) == "resolv.conf") {
			err = os.WriteFile(filepath.Join(root, path), data, 0o644)
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	return root
}

// archiveOf returns where this machine gets Debian's packages from; empty: wherever debootstrap
// does.
func archiveOf(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "apt-get", "indextargets", "--format", "$(CODENAME) $(REPO_URI)", "Created-By: Packages").Output()
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(out)) {
		if name, uri, ok := strings.Cut(strings.TrimSpace(line), " "); ok && !strings.Contains(name, "-") { // no updates
			return uri
		}
	}
	return ""
}

func last(text string, n int) string { return text[max(0, len(text)-n):] }

// inside runs a command in another root folder, in namespaces of its own for mounts and processes,
// as a container would: what it starts ends with it. The shell stays, because a process that
// becomes another user does not end with its parent any more.
func inside(t *testing.T, root string, user uint32, env []string, command ...string) *exec.Cmd {
	t.Helper()
	const script = `mount -t proc proc "$0/proc" && mount -t tmpfs -o mode=1777 tmpfs "$0/dev/shm" && ` +
		`chroot --userspec="$1" "$0" "${@:2}"; exit $?`
	for _, dir := range []string{"proc", "dev/shm"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "unshare", slices.Concat([]string{"--mount", "--pid", "--fork", "--kill-child",
		"bash", "-c", script, root, fmt.Sprintf("%d:%d", user, user)}, command)...)
	cmd.Env, cmd.WaitDelay = append([]string{"PATH=" + usualPath}, env...), 10*time.Second
	return cmd
}

const usualPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// TestContainerfile does what Containerfile says in a folder with a Debian: it installs the deb,
// with the browser that it recommends, makes the user, and starts pagetools as it says.
func TestContainerfile(t *testing.T) {
	p := publishedRelease(t)
	if !*chroots {
		t.Skip("make release-check runs it")
	}
	root := debian(t)
	alone(t, p, root)
	text, err := os.ReadFile(p.file(t, "Containerfile"))
	if err != nil {
		t.Fatal(err)
	}
	user, dir, start := uint32(0), "/", []string(nil)
	var env []string
	for line := range strings.Lines(string(text)) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		rest = strings.ReplaceAll(rest, "${TARGETARCH}", runtime.GOARCH)
		switch word {
		case "COPY":
			from, to, _ := strings.Cut(rest, " ")
			data, err := os.ReadFile(filepath.Join(p.dir, from))
			if err == nil {
				err = os.WriteFile(filepath.Join(root, to), data, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		case "RUN":
			must(t, inside(t, root, user, append(slices.Clone(env), "DEBIAN_FRONTEND=noninteractive"), "/bin/sh", "-c", rest))
		case "USER":
			if _, err := fmt.Sscan(rest, &user); err != nil {
				t.Fatal(err)
			}
		case "WORKDIR":
			dir = rest
		case "ENV":
			env = append(env, rest)
		case "ENTRYPOINT", "CMD":
			var words []string
			if err := json.Unmarshal([]byte(rest), &words); err != nil {
				t.Fatal(err)
			}
			start = append(start, words...)
		case "FROM":
			if !strings.Contains(rest, suite) {
				t.Fatalf("it begins with %s, and this test with %s", rest, suite)
			}
		}
	}
	for _, path := range []string{"usr/share/man/man1/pagetools.1.gz", "usr/lib/systemd/system/pagetools.service", "usr/share/bash-completion/completions/pagetools", "usr/share/doc/pagetools/copyright"} {
		if _, err := os.Stat(filepath.Join(root, path)); err != nil {
			t.Error(err)
		}
	}
	if links, err := filepath.Glob(filepath.Join(root, "etc/systemd/system/*/pagetools.service")); err != nil || len(links) > 0 {
		t.Errorf("the service is enabled: %v (%v)", links, err)
	}
	if err := os.CopyFS(filepath.Join(root, "srv/page"), os.DirFS(page(t))); err != nil {
		t.Fatal(err)
	}
	// In another root folder no user may make namespaces, so that the browser's sandbox cannot
	// work.
	env = append(env, "PAGETOOLS_NO_SANDBOX=1")
	run := func(more []string, args ...string) *exec.Cmd {
		return inside(t, root, user, slices.Concat(env, more), append([]string{"env", "-C", dir, start[0]}, args...)...)
	}
	var said struct{ Version, From, Browser string }
	if err := json.Unmarshal(must(t, run(nil, "version", "--format", "json")), &said); err != nil || said.Version != "v"+p.version || said.From != "oci" || !strings.HasPrefix(said.Browser, "/usr/lib/chromium/") {
		t.Errorf("it says that it is %+v (%v)", said, err)
	}
	if out := must(t, run(nil, "call", "/srv/page", "greet", "name=Ada")); string(out) != "Hello, Ada!\n" {
		t.Errorf("the call says %q", out)
	}
	// Without a token it does not serve everybody; with one it does, and ends when it is told to.
	cmd := run(nil, append(slices.Clone(start[1:]), "/srv/page")...)
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "token") {
		t.Errorf("without a token: %v\n%s", err, out)
	}
	serves(t, run([]string{"PAGETOOLS_TOKEN=secret", "PAGETOOLS_LISTEN=0.0.0.0:0"}, append(slices.Clone(start[1:]), "/srv/page")...))
	must(t, inside(t, root, 0, env, "/bin/sh", "-c", "dpkg --remove pagetools && ! test -e /usr/bin/pagetools && ! test -e /usr/lib/systemd/system/pagetools.service"))
}

// alone installs the deb where nothing else is: it needs no other package, and says how to get a
// browser.
func alone(t *testing.T, p published, root string) {
	t.Helper()
	data, err := os.ReadFile(p.file(t, "pagetools_VERSION_"+runtime.GOARCH+".deb"))
	if err == nil {
		err = os.WriteFile(filepath.Join(root, "tmp/alone.deb"), data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"HOME=/tmp"}
	must(t, inside(t, root, 0, env, "dpkg", "-i", "/tmp/alone.deb"))
	var said struct{ Version, From, Browser string }
	if err := json.Unmarshal(must(t, inside(t, root, 65534, env, "pagetools", "version", "--format", "json")), &said); err != nil || said.From != "deb" || said.Browser != "none" {
		t.Errorf("it says that it is %+v (%v)", said, err)
	}
	cmd := inside(t, root, 65534, env, "pagetools", "tools", "https://shop.example/")
	if out, err := cmd.CombinedOutput(); err == nil || cmd.ProcessState.ExitCode() != 4 || !strings.Contains(string(out), "chromium") {
		t.Errorf("without a browser: %v\n%s", err, out)
	}
	if out := must(t, inside(t, root, 0, env, "dpkg-query", "--show", "--showformat", "${Recommends}", "pagetools")); string(out) != distributions[0].recommends {
		t.Errorf("it recommends %s", out)
	}
}

var servedAt = regexp.MustCompile(`http://[^/\s]+:(\d+)/webtools/page`)

// serves starts a server, and calls its tool with the token and without.
func serves(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		ended := time.AfterFunc(10*time.Second, func() {
			t.Error("it is left behind")
			_ = out.Close()
		})
		_, _ = io.Copy(io.Discard, out) // until everything that it started has ended
		ended.Stop()
		_ = cmd.Wait()
	}()
	address := ""
	for lines := bufio.NewScanner(out); address == "" && lines.Scan(); {
		if at := servedAt.FindStringSubmatch(lines.Text()); at != nil {
			address = "http://127.0.0.1:" + at[1] + "/webtools/page"
		}
	}
	if address == "" {
		t.Fatalf("it serves nothing\n%s", said.String())
	}
	for token, want := range map[string]string{"secret": `{"status":"ok","data":"Hello, Ada!"}`, "": `"UNAUTHORIZED"`} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(`{"action":"greet","request":{"name":"Ada"}}`))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		reply, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(reply.Body)
		reply.Body.Close()
		if err != nil || !strings.Contains(string(body), want) {
			t.Errorf("with the token %q: %s (%v)", token, body, err)
		}
	}
}

// TestRPM installs the rpm into an empty folder, as rpm does, and runs the main job.
func TestRPM(t *testing.T) {
	p := publishedRelease(t)
	if _, err := exec.LookPath("rpm"); err != nil || os.Geteuid() != 0 {
		t.Skip("NOT CHECKED: there is no rpm, or this is not root; apt-get install rpm")
	}
	path := p.file(t, "pagetools-VERSION-1."+map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]+".rpm")
	if out := must(t, exec.Command("rpm", "-qp", "--recommends", path)); strings.TrimSpace(string(out)) != distributions[1].recommends {
		t.Errorf("it recommends %s", out)
	}
	root := t.TempDir()
	must(t, exec.Command("rpm", "--root", root, "--initdb"))
	must(t, exec.Command("rpm", "--root", root, "--install", "--nosignature", "--ignorearch", path))
	if _, err := os.Stat(filepath.Join(root, "usr/share/zsh/site-functions/_pagetools")); err != nil {
		t.Error(err)
	}
	mainJob(t, "rpm", p, filepath.Join(root, "usr/bin/pagetools"))
	must(t, exec.Command("rpm", "--root", root, "--erase", "pagetools"))
	if _, err := os.Stat(filepath.Join(root, "usr/bin/pagetools")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("after it was removed, the program is there (%v)", err)
	}
}

// TestImageRuns unpacks the image's layer, and runs its entry as its user: the browser is
// elsewhere.
func TestImageRuns(t *testing.T) {
	p := publishedRelease(t)
	if os.Geteuid() != 0 {
		t.Skip("NOT CHECKED: only root can change into another root folder")
	}
	oci := filepath.Join(p.dir, "oci")
	all := readPart[imageIndex](t, blobOf(t, oci, readPart[imageIndex](t, filepath.Join(oci, "index.json")).Manifests[0]))
	i := slices.IndexFunc(all.Manifests, func(m descriptor) bool { return m.Platform.Architecture == runtime.GOARCH })
	if i < 0 {
		t.Skip("NOT CHECKED: there is no image for " + runtime.GOARCH)
	}
	manifest := readPart[imageManifest](t, blobOf(t, oci, all.Manifests[i]))
	config := readPart[imageConfig](t, blobOf(t, oci, manifest.Config))
	root := t.TempDir()
	must(t, exec.Command("tar", "-xzpf", blobOf(t, oci, manifest.Layers[0]), "-C", root))
	run := func(args ...string) []byte {
		return must(t, inside(t, root, imageUser, config.Config.Env, append(slices.Clone(config.Config.Entrypoint), args...)...))
	}
	var said struct{ Version, From, Browser string }
	if err := json.Unmarshal(run("version", "--format", "json"), &said); err != nil || said.Version != "v"+p.version || said.From != "oci" || said.Browser != "none" {
		t.Errorf("it says that it is %+v (%v)", said, err)
	}
	shell := os.Getenv("PAGETOOLS_HEADLESS_SHELL")
	if shell == "" {
		t.Log("NOT CHECKED with a browser: PAGETOOLS_HEADLESS_SHELL names none")
		return
	}
	address := remoteBrowser(t, shell)
	if err := os.CopyFS(filepath.Join(root, "page"), os.DirFS(page(t))); err != nil {
		t.Fatal(err)
	}
	if out := run("call", "--browser-url", address, "/page", "greet", "name=Ada"); string(out) != "Hello, Ada!\n" {
		t.Errorf("the call says %q", out)
	}
}

var listensAt = regexp.MustCompile(`DevTools listening on ws://([^/]+)/`)

// remoteBrowser starts a browser as another container would, and returns its address.
func remoteBrowser(t *testing.T, shell string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), shell, "--remote-debugging-port=0", "--no-sandbox", "--user-data-dir="+t.TempDir(), "about:blank")
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for lines := bufio.NewScanner(said); lines.Scan(); {
		if at := listensAt.FindStringSubmatch(lines.Text()); at != nil {
			go func() { _, _ = io.Copy(io.Discard, said) }()
			return "http://" + at[1]
		}
	}
	t.Fatal("the browser listens nowhere")
	return ""
}

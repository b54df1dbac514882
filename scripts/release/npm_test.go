package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

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
	t.Run("npx", func(t *testing.T) {
		speaksMCP(t, asUser(t, exec.CommandContext(t.Context(), "npx", "--offline", "--prefix", dir, "pagetools", "mcp", page(t))), nil, 0)
	})
	t.Run("Ctrl-C", func(t *testing.T) {
		interrupted(t, "npx --offline --prefix "+dir+" pagetools serve --listen 127.0.0.1:0 --console-listen off "+page(t))
	})
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
			t.Run("MCP", func(t *testing.T) { speaksMCP(t, start("mcp", page(t)), nil, 0) })
			t.Run("interrupt", func(t *testing.T) { speaksMCP(t, start("mcp", page(t)), os.Interrupt, 130) })
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

// TestSDK has the TypeScript SDK start npm's package as clients are configured to: with npx.
func TestSDK(t *testing.T) {
	t.Parallel()
	p := publishedRelease(t)
	modules := clientModules(t)
	if modules == "" {
		t.Skip("NOT CHECKED: make clients-short brings the SDK")
	}
	dir := npmInstalled(t, p.npmFiles(t)...)
	script, err := os.ReadFile("testdata/sdk.mjs")
	if err == nil {
		err = errors.Join(os.WriteFile(filepath.Join(dir, "sdk.mjs"), script, 0o600),
			os.Symlink(filepath.Join(modules, "@modelcontextprotocol"), filepath.Join(dir, "node_modules", "@modelcontextprotocol")))
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := asUser(t, exec.CommandContext(t.Context(), "node", "sdk.mjs", "npx", "--offline", "pagetools", "mcp", page(t)))
	cmd.Dir = dir
	want := fmt.Sprintf(`{"server":"v%s","tools":["greet"],"said":"Hello, Ada!"}`+"\n", p.version)
	if out := must(t, cmd); string(out) != want {
		t.Errorf("it says %s", out)
	}
}

// clientModules returns the folder with the packages of make clients; empty when it is not there.
func clientModules(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(cache, "pagetools", "clients-*", "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		return ""
	}
	return found[len(found)-1]
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
	paths, err := filepath.Glob(filepath.Join(clientModules(t), "node-*", "bin", "node"))
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

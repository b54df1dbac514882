package suite_test

import (
	"bytes"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// badInput is what people type wrongly: a message names the value, the reason and the next
// step. The words of typed are split at spaces; those with = before the verb are variables.
var badInput = []struct {
	typed string
	exit  int
	says  []string
}{
	// A file that came with the folder (C1).
	{"config --config nowhere.yaml", 2, []string{"nowhere.yaml"}},
	{"-C found config", 2, []string{"pagetools.yaml:1: executable-path", "not allowed", "--config pagetools.yaml"}},
	{"-C private config", 2, []string{`target "http://127.0.0.1:9222/"`, "public", "--config pagetools.yaml"}},
	{"-C looser config", 2, []string{"approval may only be ask, strict or deny", "--config pagetools.yaml"}},
	{"serve STAMPS --listen BUSY", 2, []string{"--listen BUSY is in use", "--listen 127.0.0.1:0"}},
	{"serve STAMPS --console-listen BUSY --listen 127.0.0.1:0", 2, []string{"--console-listen BUSY is in use", "--console-listen 127.0.0.1:0"}},
	{"-C limits config", 2, []string{"call-timeout may be at most 30s", "--config pagetools.yaml"}},
}

// badFiles are the pagetools.yaml of the folders that -C names.
var badFiles = map[string]string{
	"found":   "executable-path: ./run.sh",
	"private": "sites: [{target: http://127.0.0.1:9222/}]",
	"looser":  "sites: [{target: https://shop.example/, approval: {tools: {x: auto}}}]",
	"limits":  "limits: {call-timeout: 300s}",
}

// gosOwn are words of Go and of its libraries, which say nothing to people.
var gosOwn = regexp.MustCompile(`strconv|time: |parsing|invalid syntax|unmarshal|%!|missing unit|context canceled|pflag|\bEOF\b`)

// TestBadInput types them.
func TestBadInput(t *testing.T) {
	t.Parallel()
	binary, dir := pagetools(t), t.TempDir()
	busy, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is closed below
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = busy.Close() }()
	taken := strings.NewReplacer("BUSY", busy.Addr().String(), "STAMPS", filepath.Join(root(t), "examples", "stampdb"))
	for name, text := range badFiles {
		if err := errors.Join(os.Mkdir(filepath.Join(dir, name), 0o700),
			os.WriteFile(filepath.Join(dir, name, "pagetools.yaml"), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range badInput {
		code, said := typed(t, binary, dir, taken.Replace(test.typed))
		if code != test.exit || strings.Count(said, "\n") != 1 || gosOwn.MatchString(said) {
			t.Errorf("%q ended with %d, want %d and one line for people, not %q", test.typed, code, test.exit, said)
		}
		for _, want := range test.says {
			want = taken.Replace(want)
			if !strings.Contains(said, want) {
				t.Errorf("%q says %q, without %q", test.typed, said, want)
			}
		}
	}
}

// typed runs a line of the table. It returns the exit code and what stderr says.
func typed(t *testing.T, binary, dir, line string) (int, string) {
	t.Helper()
	words := strings.Fields(line)
	cmd := exec.CommandContext(t.Context(), binary)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "PAGETOOLS_DATA_DIR="+filepath.Join(dir, "data"))
	for len(words) > 0 && strings.Contains(words[0], "=") && !strings.HasPrefix(words[0], "-") {
		cmd.Env, words = append(cmd.Env, words[0]), words[1:]
	}
	if len(words) > 1 && words[0] == "-C" {
		cmd.Dir, words = filepath.Join(dir, words[1]), words[2:]
	}
	var said bytes.Buffer
	cmd.Args, cmd.Stderr = append(cmd.Args, words...), &said
	err := cmd.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), said.String()
}

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
	{"-C looser config", 2, []string{"approval may only be ask, never, strict or deny", "--config pagetools.yaml"}},
	{"serve STAMPS --listen BUSY", 2, []string{"--listen BUSY is in use", "--listen 127.0.0.1:0"}},
	{"serve STAMPS --console-listen BUSY --listen 127.0.0.1:0", 2, []string{"--console-listen BUSY is in use", "--console-listen 127.0.0.1:0"}},
	// Verbs, flags, variables and targets that are nearly right.
	{"tols STAMPS", 2, []string{`unknown command "tols"`, "did you mean tools?"}},
	{"nonsense", 2, []string{`unknown command "nonsense"`, "see pagetools --help"}},
	{"help tols", 2, []string{`unknown command "tols"`, "did you mean tools?"}},
	{"audit verfy", 2, []string{`unknown command "verfy"`, "did you mean verify?"}},
	{"completion tcsh", 2, []string{`"tcsh"`}},
	{"tools --approvl auto STAMPS", 2, []string{"unknown flag: --approvl", "did you mean --approval?"}},
	{"tools -x STAMPS", 2, []string{"-x", "pagetools tools --help"}},
	{"tools STAMPS --listen", 2, []string{"--listen", "pagetools tools --help"}},
	{"tools", 2, []string{"tools needs TARGET", "pagetools tools --help"}},
	{"tools STAMPS b", 2, []string{"tools needs TARGET", `"b" is too much`, "pagetools tools --help"}},
	{"audit verify more", 2, []string{"verify needs no argument", "pagetools audit verify --help"}},
	{"call STAMPS", 2, []string{"call needs TARGET and TOOL", "pagetools call --help"}},
	{"tools shop.example/x", 2, []string{"shop.example/x is neither an http(s) URL nor a folder", "did you mean https://shop.example/x?"}},
	{"tools localhost:3000", 2, []string{"did you mean http://localhost:3000?"}},
	{"tools nowhere", 2, []string{"nowhere is neither an http(s) URL nor a folder"}},
	{"tools ftp://shop.example/", 2, []string{"ftp://shop.example/", "only http and https"}},
	// Values that are not what they should be.
	{"tools --call-timeout 10 STAMPS", 2, []string{`invalid value "10" for --call-timeout`, "such as 60s"}},
	{"tools --call-timeout 301s STAMPS", 2, []string{"--call-timeout must be at most 300s, not 5m1s"}},
	{"PAGETOOLS_CALL_TIMEOUT=301s tools STAMPS", 2, []string{"PAGETOOLS_CALL_TIMEOUT must be at most 300s"}},
	{"serve --warm two STAMPS", 2, []string{`invalid value "two" for --warm: must be a number`}},
	{"serve --warm=-1 STAMPS", 2, []string{`invalid value "-1" for --warm: must be at least 0`}},
	{"tools --headless=maybe STAMPS", 2, []string{`invalid value "maybe" for --headless: must be true or false`}},
	{"log --follow=maybe", 2, []string{`invalid value "maybe" for --follow: must be true or false`}},
	{"log --limit 0", 2, []string{`invalid value "0" for --limit: must be a number from 1 to 1000`}},
	{"log --outcome bad", 2, []string{`invalid value "bad" for --outcome: must be one of ok, failed, not_run, unknown`}},
	{"PAGETOOLS_NO_SANDBOX=yes tools STAMPS", 2, []string{`PAGETOOLS_NO_SANDBOX: "yes" must be true or false`}},
	{"PAGETOOLS_APPROVAL=yes tools STAMPS", 2, []string{`PAGETOOLS_APPROVAL is one of auto, ask-once, ask, never, strict, deny, not "yes"`}},
	{"tools --approval yes STAMPS", 2, []string{`--approval is one of auto, ask-once, ask, never, strict, deny, not "yes"`}},
	{"tools --viewport big STAMPS", 2, []string{`invalid value "big" for --viewport`, "1280x720"}},
	{"serve --allow-origin shop STAMPS", 2, []string{`invalid value "shop" for --allow-origin: is not an origin, such as https://shop.example`}},
	{"serve --rate 60 STAMPS", 2, []string{`invalid value "60" for --rate`, "60/1m"}},
	{"tools --wait-for tool STAMPS", 2, []string{`invalid value "tool" for --wait-for: must be tool:NAME, selector:CSS or idle, such as tool:search`}},
	{"PAGETOOLS_WAIT_FOR=idle,tool: tools STAMPS", 2, []string{`PAGETOOLS_WAIT_FOR: "tool:" must be tool:NAME, selector:CSS or idle`}},
	{"tools --wait-for selector:#a,selector:#b STAMPS", 2, []string{`--wait-for must have one selector, not "#a" and "#b"`, "body:has(A):has(B)"}},
	{"serve --listen nowhere STAMPS", 2, []string{"--listen is host:port", `not "nowhere"`}},
	{"tools --config long.yaml STAMPS", 2, []string{"long.yaml:1: call-timeout must be at most 300s"}},
	{"serve --listen 0.0.0.0:0 STAMPS", 2, []string{"needs a token", "PAGETOOLS_TOKEN"}},
	// Records that are not there.
	{"log", 2, []string{"is not a data directory", "--data-dir names another"}},
	{"audit verify", 2, []string{"is not a data directory", "--data-dir names another"}},
	{"audit list --data-dir off", 2, []string{"--data-dir is off"}},
	{"serve --locked STAMPS", 2, []string{"pagetools.lock", "no such file"}},
	{"lock --check", 2, []string{"pagetools.lock", "no such file"}},
	{"-C newlock serve --locked STAMPS", 2, []string{"version 9", "use a newer pagetools"}},
	{"-C badlock lock STAMPS", 2, []string{"pagetools.lock is not whole JSON", "run pagetools lock again"}},
	{"-C limits config", 2, []string{"call-timeout may be at most 30s", "--config pagetools.yaml"}},
}

// badFiles are files by their path; a name alone is a folder with a pagetools.yaml.
var badFiles = map[string]string{
	"found":   "executable-path: ./run.sh",
	"private": "sites: [{target: http://127.0.0.1:9222/}]",
	"looser":  "sites: [{target: https://shop.example/, approval: {tools: {x: auto}}}]",
	"limits":  "limits: {call-timeout: 300s}",

	"long.yaml":              "call-timeout: 301s",
	"newlock/pagetools.lock": `{"lockfileVersion": 9}`,
	"badlock/pagetools.lock": `{"lockfileVersion":`,
}

// gosOwn are words of Go and of its libraries, which say nothing to people.
var gosOwn = regexp.MustCompile(`strconv|time: |parsing|invalid syntax|unmarshal|%!|missing unit|context canceled|pflag|\bEOF\b`)

// TestBadInput types them.
func TestBadInput(t *testing.T) {
	t.Parallel()
	binary, dir := pagetools(t), t.TempDir()
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = busy.Close() }()
	taken := strings.NewReplacer("BUSY", busy.Addr().String(), "STAMPS", filepath.Join(root(t), "examples", "stampdb"))
	for name, text := range badFiles {
		if !strings.Contains(name, ".") {
			name += "/pagetools.yaml"
		}
		if err := errors.Join(os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700),
			os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)); err != nil {
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

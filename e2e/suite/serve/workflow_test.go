package serve_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/e2e/suite"
	"github.com/pagetools/pagetools/e2e/suite/docs"
)

// workflow is the part of GitHub's format that our workflows use.
type workflow struct {
	Name string
	On   struct {
		Push struct{ Branches []string }
		Pull any `yaml:"pull_request"`
	}
	Permissions map[string]string
	Jobs        map[string]struct {
		RunsOn string `yaml:"runs-on"`
		Steps  []workflowStep
	}
}

type workflowStep struct {
	Name, Uses, If, Run string
	With                map[string]any
}

const shopPage = `<!doctype html><title>Shop</title><link rel=icon href=data:,><script>
document.modelContext.registerTool({name: 'find_books', title: 'Find books', description: 'Finds the books whose title has a word.',
  inputSchema: {type: 'object', properties: {word: {type: 'string', description: 'A word of the title.', maxLength: 80}}},
  annotations: {readOnlyHint: true}, execute: () => 'none'});
</script>`

// TestWorkflow runs each command of the workflow that init writes, as GitHub does for a pull
// request: all succeed while nothing changed, and those that should fail do when a tool takes less.
func TestWorkflow(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	folder, tmp := suite.TempDir(t), suite.TempDir(t)
	env := append(os.Environ(), "TMPDIR="+tmp, "PAGETOOLS_DATA_DIR="+tmp+"-data", "PAGETOOLS_CONSOLE_LISTEN=off",
		"PATH="+filepath.Dir(suite.Pagetools(t))+string(os.PathListSeparator)+os.Getenv("PATH"), "GITHUB_BASE_REF=main",
		"GITHUB_ACTIONS=true", "GITHUB_STEP_SUMMARY=")
	sh := func(command string) (int, string) {
		t.Helper()
		c := exec.CommandContext(t.Context(), "sh", "-e", "-c", command)
		c.Dir, c.Env = folder, env
		out, err := c.CombinedOutput()
		ended := &exec.ExitError{}
		if err != nil && !errors.As(err, &ended) {
			t.Fatalf("%s: %v", command, err)
		}
		return c.ProcessState.ExitCode(), string(out)
	}
	must := func(command string) {
		t.Helper()
		if code, out := sh(command); code != 0 {
			t.Fatalf("%s ended with %d:\n%s", command, code, out)
		}
	}
	page := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, "my shop", "index.html"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	must("git init -q -b main . && mkdir 'my shop'")
	page(shopPage)
	must("pagetools init './my shop'")
	if !gatetest.IsNightly() { // one door
		must("sed -i.old '1i via: webtool' *.webtool.yaml && rm *.old")
	}
	must("git add . && git -c user.name=a -c user.email=a@example.com commit -q -m tools && git update-ref refs/remotes/origin/main HEAD")
	file := filepath.Join(folder, ".github", "workflows", "webtools.yml")
	w := readWorkflow(t, file)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if shown := strings.Replace(string(text), "pagetools check 'my shop'", "pagetools check public", 1); shown != shownWorkflow(t) {
		t.Errorf("README.md shows another workflow than init writes:\n%s", shown)
	}
	steps := w.Jobs["webtools"].Steps
	// runs leaves out, but at night, the commands whose result cannot have changed.
	runs := func(unchanged ...string) (failed []string) {
		t.Helper()
		for _, s := range steps {
			same := func(command string) bool { return strings.HasPrefix(s.Run, command) }
			leave := !gatetest.IsNightly() && slices.ContainsFunc(unchanged, same)
			if s.Run == "" || same("go install ") || leave {
				continue
			}
			if code, out := sh(s.Run); code != 0 {
				t.Logf("%s ended with %d:\n%s", s.Run, code, out)
				failed = append(failed, strings.Join(strings.Fields(s.Run)[:2], " "))
			}
		}
		return failed
	}
	if failed := runs(); len(failed) > 0 {
		t.Errorf("nothing changed, and these failed: %q", failed)
	}
	uploads(t, steps, folder, "junit.xml", "webtools.sarif")
	page(strings.Replace(shopPage, "type: 'object',", "type: 'object', required: ['word'],", 1))
	if failed := runs("pagetools doctor"); !slices.Equal(failed, []string{"pagetools check", "pagetools test", "pagetools lock"}) {
		t.Errorf("the page changed, and these failed: %q", failed)
	}
	uploads(t, steps, folder, "junit.xml", "test-results", "webtools.sarif")
	must("pagetools lock './my shop'")
	want := gatetest.Amount([]string{"pagetools diff"}, []string{"pagetools test", "pagetools diff"})
	if failed := runs("pagetools doctor", "pagetools check", "pagetools test"); !slices.Equal(failed, want) {
		t.Errorf("the lock file changed, too, and these failed: %q", failed)
	}
}

// workflowHead begins the workflow in README.md, which is not a configuration of ours.
const workflowHead = "# Written by pagetools init: "

// shownWorkflow is the workflow that README.md shows.
func shownWorkflow(t *testing.T) string {
	t.Helper()
	for _, b := range blocksOf(docs.Documents(t)["README.md"]) {
		if b.lang == "yaml" && strings.HasPrefix(b.text, workflowHead) {
			return b.text
		}
	}
	t.Fatal("README.md shows no workflow")
	return ""
}

// uploads compares what the steps upload, and is there, with these files.
func uploads(t *testing.T, steps []workflowStep, folder string, want ...string) {
	t.Helper()
	var there []string
	for _, s := range steps {
		for _, key := range []string{"sarif_file", "path"} {
			names, _ := s.With[key].(string)
			for _, name := range strings.Fields(names) {
				if _, err := os.Stat(filepath.Join(folder, name)); err == nil {
					there = append(there, name)
				}
			}
		}
	}
	if slices.Sort(there); !slices.Equal(there, want) {
		t.Errorf("the workflow uploads %q, want %q", there, want)
	}
}

// readWorkflow reads the file, and checks the parts that no test here can run against what GitHub
// expects.
func readWorkflow(t *testing.T, path string) (w workflow) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	dec := yaml.NewDecoder(f)
	dec.KnownFields(true)
	if err := dec.Decode(&w); err != nil {
		t.Fatal(err)
	}
	var uses, commands []string
	for _, s := range w.Jobs["webtools"].Steps {
		if s.Uses != "" {
			name, version, _ := strings.Cut(s.Uses, "@")
			uses = append(uses, name)
			if !strings.HasPrefix(version, "v") {
				t.Errorf("%s has no version", s.Uses)
			}
		}
		if s.Run != "" {
			commands = append(commands, strings.Join(strings.Fields(s.Run)[:2], " "))
		}
		if strings.Contains(s.Run, "${{") {
			t.Errorf("%q: what an expression stands for would be code of the shell", s.Run)
		}
		if strings.Contains(s.Run, "--base") != (s.If == "github.event_name == 'pull_request'") {
			t.Errorf("%q runs if %q", s.Run, s.If)
		}
		if module, install := strings.CutPrefix(s.Run, "go install github.com/pagetools/pagetools/"); install {
			if _, err := os.Stat(filepath.Join(docs.Root(t), strings.TrimSuffix(module, "@latest"))); err != nil {
				t.Errorf("%s installs what is not there: %v", s.Run, err)
			}
		}
	}
	if !slices.Equal(uses, []string{"actions/checkout", "actions/setup-go", "github/codeql-action/upload-sarif", "actions/upload-artifact"}) ||
		!slices.Equal(commands, []string{"go install", "pagetools doctor", "pagetools check", "pagetools test", "pagetools lock", "pagetools diff"}) {
		t.Errorf("the workflow uses %q and runs %q", uses, commands)
	}
	if w.Permissions["contents"] != "read" || w.Permissions["security-events"] != "write" || len(w.On.Push.Branches) == 0 || w.Jobs["webtools"].RunsOn == "" {
		t.Errorf("%+v", w)
	}
	return w
}

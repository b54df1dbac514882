package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

var releaseHeading = regexp.MustCompile(`(?m)^## (\d+\.\d+\.\d+\S*) \(\d{4}-\d\d-\d\d\)$`)

// TestReleases: CHANGELOG.md begins with what is unreleased, its releases go down, and the data of
// each is there for TestDataOfReleases.
func TestReleases(t *testing.T) {
	t.Parallel()
	text := Documents(t)["CHANGELOG.md"]
	headings := regexp.MustCompile(`(?m)^## .*$`).FindAllString(text, -1)
	if len(headings) < 2 || headings[0] != "## Unreleased" {
		t.Fatalf("the sections are %q", headings)
	}
	for _, heading := range headings[1:] {
		version := releaseHeading.FindStringSubmatch(heading)
		if version == nil {
			t.Errorf("%q is not like ## 1.2.3 (2026-11-27)", heading)
			continue
		}
		data := filepath.Join("bridge", "store", "testdata", "schema", "v"+version[1]+".sql")
		if _, err := os.Stat(filepath.Join(Root(t), data)); err != nil {
			t.Errorf("%v: go test ./bridge/store -run TestDataOfReleases -release v%s writes it", err, version[1])
		}
	}
}

// workflow holds the parts of a workflow of GitHub that TestWorkflows looks at.
type workflow struct {
	Permissions map[string]string
	Jobs        map[string]struct {
		Timeout int `yaml:"timeout-minutes"`
		Steps   []struct {
			Uses, Run string
			With      map[string]any
		}
	}
}

var action = regexp.MustCompile(`^[a-z0-9-]+/[a-z0-9-]+@v\d+$`)

// checkWorkflow returns what is wrong with a workflow: commands that are not there, a Go without a
// version, rights for every job, a job without an end.
func checkWorkflow(text []byte, targets []string) (problems []string) {
	var w workflow
	if err := yaml.Unmarshal(text, &w); err != nil {
		return []string{err.Error()}
	}
	if len(w.Permissions) != 1 || w.Permissions["contents"] != "read" {
		problems = append(problems, "every job has more rights than to read")
	}
	for name, job := range w.Jobs {
		if job.Timeout == 0 || len(job.Steps) == 0 {
			problems = append(problems, name+" has no end, or no steps")
		}
		for _, step := range job.Steps {
			if step.Uses != "" && !action.MatchString(step.Uses) {
				problems = append(problems, step.Uses+" has no version")
			}
			if version, _ := step.With["go-version"].(string); strings.HasPrefix(step.Uses, "actions/setup-go") && strings.Count(version, ".") != 2 {
				problems = append(problems, name+": the same bytes need the same Go, such as 1.26.8")
			}
			for _, match := range makeCommand.FindAllStringSubmatch(step.Run, -1) {
				if !slices.Contains(targets, match[1]) {
					problems = append(problems, name+": the Makefile has no target "+match[1])
				}
			}
		}
	}
	return problems
}

// TestWorkflows reads the workflows of this repository, which nothing else here runs.
func TestWorkflows(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile(filepath.Join(Root(t), "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(Root(t), ".github", "workflows", "*.yml"))
	if err != nil || len(files) < 2 {
		t.Fatalf("the workflows are %q (%v)", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range checkWorkflow(text, makeTargets(string(makefile))) {
			t.Errorf("%s: %s", filepath.Base(file), problem)
		}
	}
}

// TestWorkflowsCatch plants what TestWorkflows must find.
func TestWorkflowsCatch(t *testing.T) {
	t.Parallel()
	const good = "permissions:\n  contents: read\njobs:\n  a:\n    timeout-minutes: 5\n    steps:\n      - uses: actions/setup-go@v6\n" +
		"        with:\n          go-version: 1.26.8\n      - run: make there\n"
	for name, test := range map[string]struct{ old, new string }{
		"good": {"", ""}, "a target": {"make there", "make gone"}, "rights": {"contents: read", "contents: write"}, "more rights": {"jobs:", "  packages: write\njobs:"},
		"Go": {"1.26.8", "stable"}, "an action": {"@v6", "@main"}, "no end": {"    timeout-minutes: 5\n", ""}, "YAML": {"jobs:", "jobs"},
	} {
		problems := checkWorkflow([]byte(strings.Replace(good, test.old, test.new, 1)), []string{"there"})
		if (len(problems) > 0) != (name != "good") {
			t.Errorf("%s: found %q", name, problems)
		}
	}
}

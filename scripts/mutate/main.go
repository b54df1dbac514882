// Command mutate undoes the fix of each finding of a review, one mutation at a time, in a temporary
// copy of the repository, and checks that its test fails.
//
//	go run ./scripts/mutate [-check] [-only ID] FILE.md...
//
// A file has a section for each finding:
//
//	## A1
//	What must hold.
//
//	Test: `./session` TestOtherDocument -flag value
//
//	Mutation: `session/find.go`
//
//	```diff
//	-	if a := inv.Agreed; a != nil {
//	+	if a := inv.Agreed; a == nil {
//	```
//
// The lines with - must be in the file once, one after another; those with + take their
// place. A section may have several mutations; each must fail its test. A test of the page script is
// a file of js/test, which Node runs. -check only looks whether tests and texts are there.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// mutation is one change that a test must not survive.
type mutation struct {
	id, pkg, test string
	flags         []string
	file          string
	old, new      string
}

// patience limits how long a test may take with a mutation: one that hangs has failed, too.
const patience = 5 * time.Minute

func main() {
	check := flag.Bool("check", false, "only look whether tests and texts are there")
	only := flag.String("only", "", "try the mutations of this finding only")
	flag.Parse()
	var all []mutation
	for _, name := range flag.Args() {
		text, err := os.ReadFile(name)
		if err != nil {
			fail(err)
		}
		found, err := read(string(text))
		if err != nil {
			fail(fmt.Errorf("%s: %w", name, err))
		}
		all = append(all, found...)
	}
	if len(all) == 0 {
		fail(errors.New("there is no mutation in the files"))
	}
	var problems []error
	for _, m := range all {
		problems = append(problems, m.look("."))
	}
	if err := errors.Join(problems...); err != nil {
		fail(err)
	}
	if *check {
		fmt.Printf("%d mutations\n", len(all))
		return
	}
	if err := try(all, *only); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "mutate:", err)
	os.Exit(1)
}

var (
	testLine     = regexp.MustCompile("^Test: `(\\./[^`]+)` (Test[A-Za-z0-9_]+)(.*)$")
	scriptLine   = regexp.MustCompile("^Test: `(js/test/[^`]+\\.test\\.mjs)`$")
	mutationLine = regexp.MustCompile("^Mutation: `([^`]+)`$")
)

// read takes the mutations from a document.
func read(text string) (all []mutation, err error) {
	var now mutation
	inside := false
	for n, line := range strings.Split(text, "\n") {
		id, heading := strings.CutPrefix(line, "## ")
		test, script, file := testLine.FindStringSubmatch(line), scriptLine.FindStringSubmatch(line), mutationLine.FindStringSubmatch(line)
		switch {
		case heading && inside:
			return nil, fmt.Errorf("line %d: the mutation of %s before it does not end", n+1, now.id)
		case heading:
			now = mutation{id: id}
		case test != nil:
			now.pkg, now.test, now.flags = test[1], test[2], strings.Fields(test[3])
		case script != nil:
			now.pkg, now.test, now.flags = "", script[1], nil
		case file != nil:
			now.file, now.old, now.new = file[1], "", ""
		case line == "```diff":
			inside = true
		case line == "```" && inside:
			inside = false
			if now.test == "" || now.file == "" || now.old == "" {
				return nil, fmt.Errorf("line %d: a mutation of %s needs a test, a file and lines with -", n+1, now.id)
			}
			all = append(all, now)
		case inside && strings.HasPrefix(line, "-"):
			now.old += line[1:] + "\n"
		case inside && strings.HasPrefix(line, "+"):
			now.new += line[1:] + "\n"
		}
	}
	return all, nil
}

// look reports what is not there.
func (m *mutation) look(root string) error {
	text, err := os.ReadFile(filepath.Join(root, m.file))
	if err != nil {
		return fmt.Errorf("%s: %w", m.id, err)
	}
	if n := strings.Count(string(text), m.old); n != 1 {
		return fmt.Errorf("%s: the text is %d times in %s, not once:\n%s", m.id, n, m.file, m.old)
	}
	if m.pkg == "" {
		_, err = os.Stat(filepath.Join(root, m.test))
		return err
	}
	tests, err := filepath.Glob(filepath.Join(root, m.pkg, "*_test.go"))
	if err != nil || len(tests) == 0 {
		return fmt.Errorf("%s: there are no tests in %s", m.id, m.pkg)
	}
	for _, name := range tests {
		if text, err := os.ReadFile(name); err == nil && bytes.Contains(text,
			[]byte("func "+m.test+"(")) {
			return nil
		}
	}
	return fmt.Errorf("%s: there is no %s in %s", m.id, m.test, m.pkg)
}

// try applies each mutation to a copy and runs its test.
func try(all []mutation, only string) error {
	root, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(root) }()
	copied := exec.CommandContext(context.Background(), "sh", "-c", `git ls-files -z | tar --null -cf - -T - | tar -xf - -C "$0"`, root)
	if out, err := copied.CombinedOutput(); err != nil {
		return fmt.Errorf("copying the repository: %w: %s", err, out)
	}
	var survived []string
	for _, m := range all {
		if only != "" && m.id != only {
			continue
		}
		began := time.Now()
		caught, said, err := m.apply(root)
		if err != nil {
			return fmt.Errorf("%s: %w", m.id, err)
		}
		fmt.Printf("%-4s %-60s %v  %s\n", m.id, m.pkg+" "+m.test, caught,
			time.Since(began).Round(time.Second))
		if !caught {
			survived = append(survived, m.id+": "+said)
		}
	}
	if len(survived) > 0 {
		return fmt.Errorf("not caught:\n%s", strings.Join(survived, "\n"))
	}
	return nil
}

// apply makes the change, runs the test and takes the change back.
func (m *mutation) apply(root string) (caught bool, said string, err error) {
	path := filepath.Join(root, m.file)
	text, err := os.ReadFile(path)
	if err != nil {
		return false, "", err
	}
	write := func(text string) error {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil || !strings.HasPrefix(m.file, "js/src/") { //nolint:gosec // our own documents name it
			return err
		}
		bundle := exec.CommandContext(context.Background(), "go", "generate", "./js") // the program has the bundles
		bundle.Dir = root
		if out, err := bundle.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	defer func() { err = errors.Join(err, write(string(text))) }()
	if err := write(strings.Replace(string(text), m.old, m.new, 1)); err != nil {
		return false, "", err
	}
	args := append([]string{"go", "test", "-count=1", "-timeout", patience.String(), "-run", "^" + m.test + "$", m.pkg}, m.flags...)
	failed := "--- FAIL"
	if m.pkg == "" {
		args, failed = []string{"node", "--test", "--test-reporter=tap", m.test}, "\nnot ok"
	}
	cmd := exec.CommandContext(context.Background(), args[0], args[1:]...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "PAGETOOLS_NIGHTLY=1") // whichever gate has the test
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		return false, "the test passes", nil
	case !bytes.Contains(out, []byte(failed)) && !bytes.Contains(out, []byte("panic:")):
		return false, string(out), nil // it does not compile, or there is no browser
	}
	return true, "", nil
}

// Command testtimes runs commands of "go test -json" at the same time, prints what go test would,
// and then where the time went: the packages and tests that took longest, and how many browsers and
// other counted programs were started.
//
//	go run ./scripts/testtimes [-top 10] [-counts FILE] go test -json ./a + go test -json -race ./b
//
// A line of FILE is the name of a program that was started. It exits with 1 when a command fails.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
)

// event is one line of go test -json; see go doc test2json.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64 // seconds
}

func main() {
	top := flag.Int("top", 10, "how many packages and tests to print")
	counts := flag.String("counts", "", "a file with a line for each program that was started")
	flag.Parse()
	r := &report{w: os.Stdout, said: map[string]*strings.Builder{}}
	failed := r.run(commands(flag.Args()))
	r.print(*top, *counts)
	if failed {
		os.Exit(1)
	}
}

// commands splits words at each "+".
func commands(words []string) (all [][]string) {
	for len(words) > 0 {
		i := slices.Index(words, "+")
		if i < 0 {
			return append(all, words)
		}
		all, words = append(all, words[:i]), words[i+1:]
	}
	return all
}

// report collects the output so far.
type report struct {
	mu    sync.Mutex
	w     io.Writer
	said  map[string]*strings.Builder // what tests that have not ended said
	tests []event
	all   []event // of packages
}

// run runs commands at the same time, and reports whether one failed.
func (r *report) run(all [][]string) bool {
	failed := make([]bool, len(all))
	var running sync.WaitGroup
	for i, words := range all {
		running.Go(func() {
			if err := r.command(words); err != nil {
				failed[i] = true
				fmt.Fprintf(os.Stderr, "%s: %v\n", strings.Join(words[:min(3, len(words))], " "), err)
			}
		})
	}
	running.Wait()
	return slices.Contains(failed, true)
}

func (r *report) command(words []string) error {
	cmd := exec.Command(words[0], words[1:]...) //nolint:noctx // it ends when the person or CI ends it
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("starting it: %w", err)
	}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		r.line(line)
		if err != nil {
			return cmd.Wait()
		}
	}
}

// line takes one line of output. What is not an event is printed as it is.
func (r *report) line(line []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var e event
	if len(line) == 0 {
		return
	}
	if json.Unmarshal(line, &e) != nil || e.Action == "" {
		_, _ = r.w.Write(line)
		return
	}
	// A subtest is printed with the test that it belongs to, because go test prints them in this
	// order.
	test, _, _ := strings.Cut(e.Test, "/")
	key := e.Package + " " + test
	switch {
	case e.Action == "output" && e.Test == "", e.Action == "build-output":
		if e.Output != "PASS\n" {
			_, _ = io.WriteString(r.w, e.Output)
		}
	case e.Action == "output":
		if r.said[key] == nil {
			r.said[key] = &strings.Builder{}
		}
		r.said[key].WriteString(e.Output)
	case e.Action != "pass" && e.Action != "fail" && e.Action != "skip":
	case e.Test == "":
		r.packageEnded(e)
	default:
		r.tests = append(r.tests, e)
		if e.Test == test {
			if e.Action == "fail" && r.said[key] != nil {
				_, _ = io.WriteString(r.w, r.said[key].String())
			}
			delete(r.said, key)
		}
	}
}

// packageEnded prints what tests said that did not end, as those of a process that crashed.
func (r *report) packageEnded(e event) {
	r.all = append(r.all, e)
	for key, said := range r.said {
		if strings.HasPrefix(key, e.Package+" ") {
			if e.Action == "fail" {
				_, _ = io.WriteString(r.w, said.String())
			}
			delete(r.said, key)
		}
	}
}

// print prints what took longest. Tests run beside each other: their times add up to more than the
// packages'.
func (r *report) print(top int, counts string) {
	longest := func(all []event) []event {
		slices.SortStableFunc(all, func(a, b event) int { return cmp.Compare(b.Elapsed, a.Elapsed) })
		return all[:min(top, len(all))]
	}
	fmt.Fprintf(r.w, "\n%d packages, %d tests. The packages that took longest, in seconds:\n", len(r.all), len(r.tests))
	for _, e := range longest(r.all) {
		fmt.Fprintf(r.w, "%8.1f  %s\n", e.Elapsed, e.Package)
	}
	fmt.Fprintln(r.w, "The tests that took longest, beside others:")
	for _, e := range longest(r.tests) {
		fmt.Fprintf(r.w, "%8.1f  %s %s\n", e.Elapsed, e.Package, e.Test)
	}
	if counts == "" {
		return
	}
	text, err := os.ReadFile(counts)
	if err != nil {
		fmt.Fprintln(r.w, "What was started is not known:", err)
		return
	}
	started := map[string]int{}
	for _, name := range strings.Fields(string(text)) {
		started[name]++
	}
	for _, name := range slices.Sorted(maps.Keys(started)) {
		fmt.Fprintf(r.w, "Started: %s %d times.\n", name, started[name])
	}
}

//go:build unix

// Command corpus reads OpenAPI documents of others, and prints what becomes of them: how many
// tools, how large their schemas, how long it takes, and how much memory. docs/opentools.md has its
// table.
//
//	go run ./e2e/suite/corpus [-notes] FOLDER
//
// FOLDER has the documents, as .json or .yaml. Each is served by a server of this machine, and
// found there as any other is, by a process of its own. The exit code is 1 when one cannot be read.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/pagetools/pagetools/bridge/opentools"
)

func main() {
	notes := flag.Bool("notes", false, "print what cannot be used of the documents, too")
	one := flag.String("one", "", "read this `file`, and print what is known of it as JSON; for the program itself")
	flag.Parse()
	err := errors.New("name one folder with documents; the first lines of main.go say more")
	switch {
	case *one != "":
		err = read(context.Background(), os.Stdout, *one)
	case flag.NArg() == 1:
		err = compare(context.Background(), os.Stdout, flag.Arg(0), *notes)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "corpus:", err)
		os.Exit(1)
	}
}

// row holds what is known of one document.
type row struct {
	Name                        string
	Bytes, Operations, Tools    int
	Total, Worst                int // bytes of schemas of arguments
	Outputs, WorstOutput        int // the same of results
	Took                        time.Duration
	HeapMB, PeakMB              float64
	Problems, Notes             []string
	ProblemCount, WithNoteCount int
}

// compare reads all documents of a folder.
func compare(ctx context.Context, w io.Writer, folder string, notes bool) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.*"))
	if err != nil {
		return err
	}
	var rows []*row
	for _, file := range files {
		if !slices.Contains([]string{".json", ".yaml", ".yml"}, filepath.Ext(file)) {
			continue
		}
		r, err := apart(ctx, file)
		if err != nil {
			return err
		}
		rows = append(rows, r)
	}
	if len(rows) == 0 {
		return fmt.Errorf("%s has no documents: *.json, *.yaml", folder)
	}
	write(w, rows)
	for _, r := range rows {
		if notes {
			show(w, r.Name+": problems", r.Problems)
			show(w, r.Name+": notes", r.Notes)
		}
	}
	return nil
}

// apart reads a document in a process of its own, so that its memory can be measured.
func apart(ctx context.Context, file string) (*row, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, "-one", file)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	r := &row{}
	if err := json.Unmarshal(out, r); err != nil {
		return nil, err
	}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		r.PeakMB = float64(usage.Maxrss) / 1024
	}
	return r, nil
}

// read finds a document, and makes tools of all its operations.
func read(ctx context.Context, w io.Writer, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/document" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(text)
	}))
	defer server.Close()
	begun := time.Now()
	found, err := (&opentools.Discoverer{Client: http.DefaultClient}).Discover(ctx, server.URL+"/document")
	if err != nil {
		return err
	}
	tools, problems := found.Tools(opentools.All)
	r := row{Name: filepath.Base(file), Bytes: len(text), Took: time.Since(begun), Operations: len(found.Operations),
		Tools: len(tools), Problems: problems, ProblemCount: len(problems)}
	for _, t := range tools {
		r.Total, r.Worst = r.Total+len(t.Input), max(r.Worst, len(t.Input))
		r.Outputs, r.WorstOutput = r.Outputs+len(t.Output), max(r.WorstOutput, len(t.Output))
		r.Notes = append(r.Notes, t.Notes...)
		if len(t.Notes) > 0 {
			r.WithNoteCount++
		}
	}
	text = nil
	server.Close()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	r.HeapMB = float64(m.HeapAlloc) / (1 << 20)
	runtime.KeepAlive(found)
	runtime.KeepAlive(tools)
	return json.NewEncoder(w).Encode(r)
}

// write writes the table as Markdown.
func write(w io.Writer, rows []*row) {
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	fmt.Fprintln(t, "| document\t| bytes\t| operations\t| tools\t| problems\t| with notes\t| arguments: all / worst\t| results: all / worst\t| time\t| heap\t| peak\t|")
	fmt.Fprintln(t, "|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|---\t|")
	for _, r := range rows {
		fmt.Fprintf(t, "| %s\t| %d\t| %d\t| %d\t| %d\t| %d\t| %s / %s\t| %s / %s\t| %d ms\t| %.0f MB\t| %.0f MB\t|\n", r.Name, r.Bytes, r.Operations, r.Tools,
			r.ProblemCount, r.WithNoteCount, kB(r.Total), kB(r.Worst), kB(r.Outputs), kB(r.WorstOutput), r.Took.Milliseconds(), r.HeapMB, r.PeakMB)
	}
	_ = t.Flush() // to standard output
}

func kB(n int) string { return fmt.Sprintf("%d kB", (n+500)/1000) }

// particular are the parts of a text that differ from one operation to the next.
var particular = regexp.MustCompile(`^[A-Z]+ /[^ ]*: |"[^"]*"`)

// show writes texts. Equal ones are written once, with their number.
func show(w io.Writer, title string, texts []string) {
	count, first := map[string]int{}, map[string]string{}
	var keys []string
	for _, text := range texts {
		key := particular.ReplaceAllString(text, "…")
		if count[key]++; count[key] == 1 {
			first[key] = text
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return
	}
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(count[b], count[a]) })
	var b bytes.Buffer
	for _, key := range keys {
		fmt.Fprintf(&b, "%6d %.200s\n", count[key], first[key])
	}
	fmt.Fprintf(w, "\n%s\n%s", title, &b)
}

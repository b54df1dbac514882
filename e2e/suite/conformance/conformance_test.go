package conformance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"hash/crc32"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/session/sessiontest"
)

func TestMain(m *testing.M) { os.Exit(sessiontest.Run(m, os.Stderr, nil)) }

// patience limits how long a page may take to report. A case gives up earlier.
const patience = 30 * time.Second

// atOnce sets how many pages of a browser are open.
const atOnce = 4

var (
	// native runs the cases in a browser with its own WebMCP, too. Nothing of ours is in it: its
	// outcomes change with the browser only, so make clients runs it, and make test does not.
	native = flag.Bool("native", false, "run the cases in the browser's own WebMCP, too")
	every  = flag.Int("every", 8, "run one of so many cases; at night all")
)

// TestConformance runs the cases in our script, and with -native in the browser's own WebMCP.
func TestConformance(t *testing.T) {
	s := newServer(t)
	browsers := map[string]browser{"shim": newWithShim(t)}
	if *native {
		browsers["native"] = newPlain(t)
	}
	listed := differences(t)
	seen, ran := map[string]bool{}, map[string]bool{}
	for _, file := range files(t) {
		t.Run(file, func(t *testing.T) {
			ran[file] = true
			table := list(t, s, browsers["shim"], file)
			for _, c := range table {
				name := file + "/" + c.Name
				if seen[name] {
					t.Errorf("there are two of %s", name)
				}
				seen[name] = true
			}
			if !gatetest.IsNightly() {
				table = slices.DeleteFunc(table, func(c testCase) bool {
					return crc32.ChecksumIEEE([]byte(c.Name))%uint32(*every) > 0
				})
			}
			got := runAll(t, s, browsers, file, table)
			for i := range table {
				t.Run(table[i].Name, func(t *testing.T) {
					d, differs := listed[file+"/"+table[i].Name]
					outcomes := map[string]json.RawMessage{}
					for browser, all := range got {
						outcomes[browser] = all[i]
					}
					judge(t, &table[i], outcomes, d, differs)
				})
			}
		})
	}
	for name := range listed {
		if file, _, _ := strings.Cut(name, "/"); !seen[name] && (ran[file] || len(ran) == len(files(t))) {
			t.Errorf("a difference is listed for %s, which is no case", name)
		}
	}
}

// runAll returns the outcomes of a table by browser.
func runAll(t *testing.T, s *server, browsers map[string]browser, file string, table []testCase) map[string][]json.RawMessage {
	t.Helper()
	got := map[string][]json.RawMessage{}
	var wg sync.WaitGroup
	for name, b := range browsers {
		out := make([]json.RawMessage, len(table))
		got[name] = out
		next := make(chan int)
		for range atOnce {
			wg.Go(func() {
				for i := range next {
					out[i] = outcome(t.Context(), s, b, file, &table[i])
				}
			})
		}
		wg.Go(func() {
			defer close(next)
			for i := range table {
				next <- i
			}
		})
	}
	wg.Wait()
	return got
}

// judge compares what the browsers gave with the table and the differences.
func judge(t *testing.T, c *testCase, got map[string]json.RawMessage, d difference, differs bool) {
	t.Helper()
	want := map[string]json.RawMessage{"native": c.Expected, "shim": c.Expected}
	if differs {
		want = map[string]json.RawMessage{"native": d.Native, "shim": d.Shim}
		right := want[d.Right]
		if same(d.Native, d.Shim) {
			t.Error("the listed difference is none")
		}
		if !same(right, c.Expected) {
			t.Errorf("%s is right with %s, and the table has %s", d.Right, right, c.Expected)
		}
	}
	for browser, outcome := range got {
		if !same(outcome, want[browser]) {
			t.Errorf("%s gives %s\nwant %s", browser, short(outcome), short(want[browser]))
		}
	}
}

func same(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

func short(text json.RawMessage) string { return fmt.Sprintf("%.2000s", text) }

// list asks a page of the file for its table.
func list(t *testing.T, s *server, b browser, file string) (table []testCase) {
	t.Helper()
	report, err := await(t.Context(), s, b, file, nil)
	if err != nil {
		t.Fatalf("the table of %s: %v", file, err)
	}
	if err := json.Unmarshal(report, &table); err != nil || len(table) == 0 {
		t.Fatalf("the table of %s: %v", file, err)
	}
	return table
}

// outcome runs one case.
func outcome(ctx context.Context, s *server, b browser, file string, c *testCase) json.RawMessage {
	report, err := await(ctx, s, b, file, c)
	if err != nil {
		text, _ := json.Marshal(err.Error())
		return text
	}
	var r struct {
		Outcome json.RawMessage `json:"outcome"`
	}
	if err := json.Unmarshal(report, &r); err != nil || r.Outcome == nil {
		return json.RawMessage(`"a report that cannot be read"`)
	}
	return r.Outcome
}

// errCrashed and errSilent are outcomes of cases, so their texts are in the differences.
var (
	errCrashed = fmt.Errorf("the page crashed")
	errSilent  = fmt.Errorf("the page did not report")
)

// await opens a page and waits for its report.
func await(ctx context.Context, s *server, b browser, file string, c *testCase) (json.RawMessage, error) {
	address, report, done := s.expect(file, c)
	defer done()
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	// Headers can decide for all documents of a window, such as how they are keyed.
	crashed, leave, err := b.show(bounded, address, c != nil && len(c.Page.Headers) > 0)
	if err != nil {
		return nil, err
	}
	defer leave()
	select {
	case r := <-report:
		return r, nil
	case <-crashed:
		return nil, errCrashed
	case <-bounded.Done():
		return nil, errSilent
	}
}

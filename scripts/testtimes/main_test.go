package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReport: a failed test is printed with its output, one that passed is not, and the longest
// come first.
func TestReport(t *testing.T) {
	var out strings.Builder
	r := &report{w: &out, said: map[string]*strings.Builder{}}
	for _, line := range []string{
		"go: downloading x",
		`{"Action":"output","Package":"a","Test":"TestGood","Output":"nothing of interest\n"}`,
		`{"Action":"pass","Package":"a","Test":"TestGood","Elapsed":2}`,
		`{"Action":"output","Package":"a","Test":"TestBad/sub","Output":"why it is bad\n"}`,
		`{"Action":"fail","Package":"a","Test":"TestBad/sub","Elapsed":3}`,
		`{"Action":"fail","Package":"a","Test":"TestBad","Elapsed":4}`,
		`{"Action":"output","Package":"a","Test":"TestCrash","Output":"panic: x\n"}`,
		`{"Action":"output","Package":"a","Output":"FAIL\ta\t7.0s\n"}`,
		`{"Action":"fail","Package":"a","Elapsed":7}`,
		`{"Action":"pass","Package":"b","Elapsed":9}`,
	} {
		r.line([]byte(line + "\n"))
	}
	counts := filepath.Join(t.TempDir(), "counts")
	if err := os.WriteFile(counts, []byte("browser\npagetools\nbrowser\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.print(2, counts)
	const want = `go: downloading x
why it is bad
FAIL	a	7.0s
panic: x

2 packages, 3 tests. The packages that took longest, in seconds:
     9.0  b
     7.0  a
The tests that took longest, beside others:
     4.0  a TestBad
     3.0  a TestBad/sub
Started: browser 2 times.
Started: pagetools 1 times.
`
	if out.String() != want {
		t.Errorf("it prints\n%s", out.String())
	}
}

// TestRun: a command that fails fails the run, and one that is not there, too.
func TestRun(t *testing.T) {
	for words, want := range map[string]bool{"true": false, "true + false": true, "/nowhere": true, "true + true": false} {
		r := &report{w: &strings.Builder{}, said: map[string]*strings.Builder{}}
		if got := r.run(commands(strings.Fields(words))); got != want {
			t.Errorf("%s: failed is %v", words, got)
		}
	}
}

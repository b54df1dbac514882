package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"strings"
	"testing"
)

// TestBest: layers have no reference upwards, whatever order their files come in; of a
// circle the weakest reference runs upwards.
func TestBest(t *testing.T) {
	t.Parallel()
	layers := &graph{files: []string{"b", "a", "d", "c"}, uses: [][]int{{0, 0, 1, 4}, {5, 0, 2, 1}, {0, 0, 0, 0}, {0, 0, 7, 0}}}
	if order, up, all := layers.best(); up != 0 || all != 20 || layers.files[order[0]] != "a" || layers.files[order[3]] != "d" {
		t.Errorf("layers: %v, %d of %d upwards", order, up, all)
	}
	circle := &graph{files: []string{"a", "b", "c"}, uses: [][]int{{0, 9, 0}, {0, 0, 8}, {2, 0, 0}}}
	if order, up, all := circle.best(); up != 2 || all != 19 {
		t.Errorf("a circle: %v, %d of %d upwards", order, up, all)
	}
}

// TestReport reads a real package: this one has no other file to refer to, and
// bridge/policy has.
func TestReport(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if failed, err := report(t.Context(), &out, []string{"../../bridge/policy", "."}, 100, 1000, true); err != nil || failed {
		t.Fatal(failed, err)
	}
	if text := out.String(); !strings.Contains(text, "bridge/policy") || !strings.Contains(text, "rates.go") || strings.Contains(text, "scripts/uprefs") {
		t.Errorf("it says\n%s", text)
	}
}

// TestMethods: those of embedded types count, those of a local type of a function do not.
func TestMethods(t *testing.T) {
	t.Parallel()
	const text = `package p
type base struct{}
func (base) A() {}
func (*base) B() {}
type top struct{ base }
func (top) C() {}
type other interface { A(); B(); C(); D() }`
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "p.go", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	pkg, err := new(types.Config).Check("p", fset, []*ast.File{f}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if tooMany(&out, pkg, 3) || out.Len() > 0 {
		t.Errorf("at the limit it says %s", &out)
	}
	if !tooMany(&out, pkg, 2) || !strings.Contains(out.String(), "3 methods") || !strings.Contains(out.String(), "p.top ") {
		t.Errorf("it says %s", &out)
	}
}

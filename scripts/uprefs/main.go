// Command uprefs prints, for each package, which share of the references between its
// files runs upwards, in the order of files for which that is least. A package whose
// files build on each other has few; one in which everything knows everything has many.
//
//	go run ./scripts/uprefs [-max 20] [-methods 45] [-v] [packages]
//
// A reference is a use, in one file, of something that another file of the package
// declares: a function, a type, a variable, a constant, a method or a field. With -max,
// it exits with 1 when a package with at least 30 references is above that percentage.
//
// With -methods, it also prints the types with more methods than that, promoted ones
// counted, and exits with 1 when there is one.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// few is the number of references below which a share says nothing.
const few = 30

func main() {
	limit := flag.Int("max", 100, "percentage above which a package fails")
	methods := flag.Int("methods", 1000, "number of methods above which a type fails")
	verbose := flag.Bool("v", false, "print the order of the files, and the references that run upwards")
	flag.Parse()
	patterns := flag.Args()
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	failed, err := report(context.Background(), os.Stdout, patterns, *limit, *methods, *verbose)
	if err != nil {
		fmt.Fprintln(os.Stderr, "uprefs:", err)
		os.Exit(2)
	}
	if failed {
		os.Exit(1)
	}
}

// listed holds go list's facts about a package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
	DepOnly                 bool
}

func report(ctx context.Context, w io.Writer, patterns []string, limit, methods int,
	verbose bool) (failed bool, err error) {
	packages, err := list(ctx, patterns)
	if err != nil {
		return false, err
	}
	exports := map[string]string{}
	for _, p := range packages {
		exports[p.ImportPath] = p.Export
	}
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc",
		func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for _, p := range packages {
		if p.DepOnly || len(p.GoFiles) == 0 {
			continue
		}
		g, pkg, err := read(fset, imports, p)
		if err != nil {
			return false, err
		}
		failed = tooMany(w, pkg, methods) || failed
		if len(p.GoFiles) < 2 {
			continue
		}
		order, up, all := g.best()
		if all == 0 {
			continue
		}
		mark := ""
		if all >= few && 100*up > limit*all {
			mark, failed = "  above the limit", true
		}
		fmt.Fprintf(w, "%5.1f %%  %4d of %5d  %s%s\n", 100*float64(up)/float64(all), up, all,
			p.ImportPath, mark)
		if verbose {
			g.explain(w, order)
		}
	}
	return failed, nil
}

func list(ctx context.Context, patterns []string) ([]listed, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-deps", "-export", "-json=ImportPath,Dir,Export,GoFiles,DepOnly"}, patterns...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var all []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); err == io.EOF {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("reading what go list says: %w", err)
		}
		all = append(all, p)
	}
}

// graph says how often the files of a package use what others declare.
type graph struct {
	files []string
	uses  [][]int // uses[a][b] counts a's uses of b
}

func read(fset *token.FileSet, imports types.Importer, p listed) (*graph, *types.Package, error) {
	g := &graph{files: p.GoFiles}
	index := map[string]int{}
	var parsed []*ast.File
	for i, name := range p.GoFiles {
		path := filepath.Join(p.Dir, name)
		f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, nil, err
		}
		parsed, index[path] = append(parsed, f), i
		g.uses = append(g.uses, make([]int, len(p.GoFiles)))
	}
	info := types.Info{Uses: map[*ast.Ident]types.Object{}}
	checked, err := (&types.Config{Importer: imports}).Check(p.ImportPath, fset, parsed, &info)
	if err != nil {
		return nil, nil, fmt.Errorf("checking %s: %w", p.ImportPath, err)
	}
	for at, of := range info.Uses {
		if of.Pkg() != checked || of.Parent() != nil && of.Parent() != checked.Scope() {
			continue // of another package, or local
		}
		a, b := index[fset.Position(at.Pos()).Filename], index[fset.Position(of.Pos()).Filename]
		if a != b {
			g.uses[a][b]++
		}
	}
	return g, checked, nil
}

// tooMany prints the types of a package that have more methods than most, those of embedded
// types counted, and reports whether there are any.
func tooMany(w io.Writer, pkg *types.Package, most int) (found bool) {
	for _, name := range pkg.Scope().Names() {
		of, ok := pkg.Scope().Lookup(name).(*types.TypeName)
		if !ok || of.IsAlias() || types.IsInterface(of.Type()) {
			continue
		}
		if n := types.NewMethodSet(types.NewPointer(of.Type())).Len(); n > most {
			fmt.Fprintf(w, "%5d methods      %s.%s  above the limit\n", n, pkg.Path(), name)
			found = true
		}
	}
	return found
}

// best returns an order, the foundations last, in which few references run upwards. It
// moves single files until no move helps, from several beginnings.
func (g *graph) best() (order []int, up, all int) {
	n := len(g.files)
	for a := range n {
		for b := range n {
			all += g.uses[a][b]
		}
	}
	up = all + 1
	for first := range n {
		next := make([]int, 0, n)
		for i := range n {
			next = append(next, (first+i)%n)
		}
		slices.SortStableFunc(next, func(a, b int) int { return g.used(a) - g.used(b) })
		if first > 0 { // other beginnings than the obvious one
			next = append(next[first:], next[:first]...)
		}
		for g.improve(next) {
		}
		if got := g.up(next); got < up {
			order, up = next, got
		}
	}
	return order, up, all
}

// used returns how much more a file is used than it uses.
func (g *graph) used(f int) (n int) {
	for other := range g.files {
		n += g.uses[other][f] - g.uses[f][other]
	}
	return n
}

// improve moves one file to where it costs least, and reports whether that helped.
func (g *graph) improve(order []int) bool {
	for from := range order {
		best, to := 0, from
		for _, step := range []int{-1, 1} {
			cost := 0
			for at := from + step; at >= 0 && at < len(order); at += step {
				f, o := order[from], order[at]
				cost += step * (g.uses[o][f] - g.uses[f][o]) * -1
				if cost < best {
					best, to = cost, at
				}
			}
		}
		if best < 0 {
			f := order[from]
			copy(order[from:], order[from+1:])
			copy(order[to+1:], order[to:len(order)-1])
			order[to] = f
			return true
		}
	}
	return false
}

// up counts the references to files that stand earlier.
func (g *graph) up(order []int) (n int) {
	for i, a := range order {
		for _, b := range order[:i] {
			n += g.uses[a][b]
		}
	}
	return n
}

func (g *graph) explain(w io.Writer, order []int) {
	for i, a := range order {
		var back []string
		for _, b := range order[:i] {
			if n := g.uses[a][b]; n > 0 {
				back = append(back, fmt.Sprintf("%s %d", g.files[b], n))
			}
		}
		fmt.Fprintf(w, "           %-20s %s\n", g.files[a], strings.Join(back, ", "))
	}
}

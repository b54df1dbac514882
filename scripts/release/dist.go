package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// release is one that is being made.
type release struct {
	*source
	*dist
	programs []*program
	docs     []file // of every archive: LICENSE, NOTICE, README.md, CHANGELOG.md, man pages, completions
	archives map[platform]string
	bundles  []bundle
}

// makeDist builds a commit and writes everything into o.out.
func makeDist(ctx context.Context, root, commit string, o options, out io.Writer) (err error) {
	temp, err := os.MkdirTemp("", "release-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	r := &release{archives: map[platform]string{}}
	if r.source, err = newSource(ctx, root, commit, o.version, filepath.Join(temp, "source")); err != nil {
		return err
	}
	if r.dist, err = newDist(o.out); err != nil {
		return err
	}
	for _, p := range o.platforms {
		built, err := r.compile(ctx, p, filepath.Join(temp, "bin"))
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "built %s, %.1f MB\n", p, float64(len(built.data))/1e6)
		r.programs = append(r.programs, built)
	}
	if err := r.readDocs(ctx, temp); err != nil {
		return err
	}
	for _, pack := range r.steps() {
		if err := pack(ctx); err != nil {
			return err
		}
	}
	sums := r.checksums()
	if err := r.write(checksumsFile, sums); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: %d files, pagetools %s of %.12s\n", o.out, bytes.Count(sums, []byte("\n"))+1, o.version, commit)
	return nil
}

// steps write everything but the checksums, in an order in which each has what it names.
func (r *release) steps() []func(context.Context) error {
	return []func(context.Context) error{
		r.packArchives, r.packLinux, r.packNPM, r.packBundles, r.packServer, r.packShops, r.packImage,
		r.packContainerfile, r.packSBOM,
	}
}

// completions are the names of the scripts that shells read, by shell.
var completions = map[string]string{
	"bash": "completions/pagetools.bash", "zsh": "completions/_pagetools",
	"fish": "completions/pagetools.fish", "powershell": "completions/pagetools.ps1",
}

// readDocs collects what goes beside the program. The completions come from the program, and the
// man pages from a test of its command line.
func (r *release) readDocs(ctx context.Context, temp string) error {
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		data, err := os.ReadFile(filepath.Join(r.dir, name))
		if err != nil {
			return err
		}
		r.docs = append(r.docs, file{name: name, mode: 0o644, data: data})
	}
	notice, err := r.notice(ctx)
	if err != nil {
		return err
	}
	r.docs = append(r.docs, file{name: "NOTICE", mode: 0o644, data: notice})
	native, err := r.native(ctx, r.programs, filepath.Join(temp, "native"))
	if err != nil {
		return err
	}
	if err := r.starts(ctx, native); err != nil {
		return err
	}
	for shell, name := range completions {
		script, err := command(ctx, native, "completion", shell).Output()
		if err != nil {
			return fmt.Errorf("writing the completion for %s: %w", shell, err)
		}
		r.docs = append(r.docs, file{name: name, mode: 0o644, data: script})
	}
	pages := filepath.Join(temp, "man")
	man := exec.CommandContext(ctx, "go", "test", "-trimpath", "-vet=off", "-count=1", "./cmd/pagetools", "-run", "^TestManPages$",
		"-man", pages, "-man-date", r.time.Format(time.RFC3339))
	man.Dir, man.Env = r.dir, r.env
	if said, err := man.CombinedOutput(); err != nil {
		return fmt.Errorf("writing the man pages: %w\n%s", err, said)
	}
	entries, err := os.ReadDir(pages)
	if err != nil {
		return err
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(pages, e.Name()))
		if err != nil {
			return err
		}
		r.docs = append(r.docs, file{name: "man/man1/" + e.Name(), mode: 0o644, data: data})
	}
	return nil
}

// doc returns one of the files that go beside the program.
func (r *release) doc(name string) []byte {
	for _, f := range r.docs {
		if f.name == name {
			return f.data
		}
	}
	panic("no " + name)
}

// licenceFile finds the files of a module that its licence wants to be passed on.
var licenceFile = regexp.MustCompile(`(?i)^(licen[sc]e|copying|notice|copyright|unlicense)`)

// notice returns the licences of everything that a program is made of, each text once.
func (r *release) notice(ctx context.Context) ([]byte, error) {
	folders := map[string]string{}
	for _, p := range r.programs {
		more, err := r.moduleFolders(ctx, p.platform)
		if err != nil {
			return nil, err
		}
		maps.Copy(folders, more)
	}
	goRoot, err := r.goRoot(ctx)
	if err != nil {
		return nil, err
	}
	folders["Go's standard library"] = goRoot
	vendored, err := filepath.Glob(filepath.Join(r.dir, "js", "vendor", "*", "LICENSE"))
	if err != nil {
		return nil, err
	}
	for _, file := range vendored {
		dir := filepath.Dir(file)
		folders[filepath.Base(dir)+", of npm"] = dir
	}
	of := map[string][]string{} // modules by text
	for name, dir := range folders {
		texts, err := licences(dir)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, text := range texts {
			of[text] = append(of[text], name)
		}
	}
	var parts []string
	for text, names := range of {
		slices.Sort(names)
		parts = append(parts, strings.Repeat("=", 80)+"\n"+strings.Join(names, "\n")+"\n\n"+text+"\n")
	}
	slices.Sort(parts)
	return []byte("pagetools is made of these modules, too. Each stands above its licence.\n\n" + strings.Join(parts, "\n")), nil
}

// licences returns the texts of a module. One without any may not be passed on.
func licences(dir string) (texts []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !licenceFile.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		texts = append(texts, strings.TrimSpace(strings.ReplaceAll(string(data), "\r\n", "\n")))
	}
	if len(texts) == 0 {
		return nil, fmt.Errorf("no licence in %s", dir)
	}
	return texts, nil
}

// fromFile is the name of the file of one word that says which package the program came with. It
// lies beside the program; where programs of others lie there, it is from in share/pagetools.
const fromFile = "pagetools.from"

func (r *release) packArchives(context.Context) error {
	for _, p := range r.programs {
		files := append(slices.Clone(r.docs), file{name: p.binary(), mode: 0o755, data: p.data})
		name, packer := fmt.Sprintf("pagetools_%s_%s_%s.tar.gz", r.version, p.os, p.arch), tarGzip
		if p.os == "windows" {
			name, packer = strings.TrimSuffix(name, ".tar.gz")+".zip", zipOf
		}
		packed, err := packer(files, r.time)
		if err != nil {
			return err
		}
		r.archives[p.platform] = name
		if err := r.write(name, packed); err != nil {
			return err
		}
	}
	return nil
}

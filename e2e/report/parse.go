package report

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge/text"
)

// Format is one format that a report is written in.
type Format struct {
	Name string
	// Path is the file, or for html the folder; "" is standard output.
	Path string
}

type destination int

const (
	toOut    destination = iota // standard output only
	toEither                    // standard output, or a file
	toFile
	toFolder
)

// kind describes a format. Write is nil for list, which is written as cases end.
type kind struct {
	name  string
	to    destination
	write func(*Run) ([]byte, error)
}

func kinds() []kind {
	return []kind{
		{"list", toOut, nil},
		{"json", toEither, writeJSON},
		{"junit", toFile, writeJUnit},
		{"sarif", toFile, writeSARIF},
		{"github", toOut, writeGitHub},
		{"markdown", toFile, writeMarkdown},
		{"html", toFolder, writeHTML},
		{"tap", toEither, writeTAP},
	}
}

// Parse reads a list of formats, such as "list,junit:out/junit.xml": list, json[:FILE],
// junit:FILE, sarif:FILE, github, markdown:FILE, html:FOLDER, tap[:FILE]. Of those that write
// to standard output, only list and github may be there at once. A path holds no comma. An error
// names the option, what was wrong, the nearest word, and what to write.
func Parse(option, spec string) ([]Format, error) {
	var all []Format
	for item := range strings.SplitSeq(spec, ",") {
		f, err := parseOne(option, strings.TrimSpace(item))
		if err != nil {
			return nil, err
		}
		for _, other := range all {
			if err := clash(option, other, f); err != nil {
				return nil, err
			}
		}
		all = append(all, f)
	}
	return all, nil
}

func parseOne(option, item string) (Format, error) {
	name, path, named := strings.Cut(item, ":")
	known := kinds()
	i := slices.IndexFunc(known, func(k kind) bool { return k.name == name })
	if i < 0 {
		return Format{}, unknown(option, name, known)
	}
	example := name + ":report." + map[string]string{
		"junit": "xml", "sarif": "sarif", "markdown": "md", "json": "json", "tap": "tap",
	}[name]
	switch to := known[i].to; {
	case to == toOut && named:
		return Format{}, fmt.Errorf("invalid value %q for %s: %s must have no file; it writes "+
			"to standard output", item, option, name)
	case to == toFolder && path == "":
		return Format{}, fmt.Errorf("invalid value %q for %s: html needs a folder, such as "+
			"html:report", item, option)
	case (to == toFile || named) && path == "":
		return Format{}, fmt.Errorf("invalid value %q for %s: %s needs a file, such as %s",
			item, option, name, example)
	}
	return Format{Name: name, Path: path}, nil
}

func unknown(option, name string, known []kind) error {
	var names []string
	for _, k := range known {
		names = append(names, k.name)
	}
	hint := ":"
	if near := text.Nearest(name, names); near != "" {
		hint = "; did you mean " + near + "? It"
	}
	return fmt.Errorf("invalid value %q for %s%s must be one of %s",
		name, option, hint, strings.Join(names, ", "))
}

// clash says why two formats cannot be written at once.
func clash(option string, a, b Format) error {
	pair := func(x, y string) bool { return a.Name == x && b.Name == y || a.Name == y && b.Name == x }
	switch {
	case a == b:
		return fmt.Errorf("invalid value for %s: %s is there twice: remove one of them",
			option, a.Name)
	case a.Path == "" && b.Path == "" && !pair("list", "github"):
		return fmt.Errorf("invalid value for %s: %s and %s would mix on standard output: "+
			"keep one of them, or give json or tap a file, such as json:report.json", option, a.Name, b.Name)
	case a.Path != "" && b.Path != "" && a.file() == b.file():
		return fmt.Errorf("invalid value for %s: %s and %s would write the same file %q: "+
			"give each its own", option, a.Name, b.Name, b.file())
	}
	return nil
}

func (f Format) file() string {
	if f.Name == "html" {
		return filepath.Join(f.Path, "index.html")
	}
	return filepath.Clean(f.Path)
}

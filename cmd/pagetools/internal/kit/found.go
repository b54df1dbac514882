package kit

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/pagetools/pagetools/bridge/files"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/e2e/scenario"
)

const evalsEnding = "evals.json"

// source is a file of scenarios: one that the command line names, or one that was found below the
// folder within.
type source struct{ name, within string }

// read reads the files of the command line, and those below its folders.
func (t *tester) read(args []string) ([]*scenario.File, error) {
	if len(args) == 0 {
		args = []string{"."}
	}
	sources, _, err := t.found(args)
	if err != nil {
		return nil, err
	}
	if len(sources) == 0 {
		return nil, terminal.Usage("no scenarios are here: write a file such as " +
			"shop.webtool.yaml, or name one; files *evals.json need --url or --dir")
	}
	var all []*scenario.File
	var wrong error
	for _, s := range sources {
		f, err := s.read()
		if err != nil {
			wrong = errors.Join(wrong, err)
			continue
		}
		f.Within = s.within
		all = append(all, f)
	}
	return all, t.p.shown(wrong)
}

// found are the files that arguments name, those in folders among them, and these folders. With an
// error, of the first that cannot be read, it still returns them all: they may come.
func (t *tester) found(args []string) (all []source, folders []string, err error) {
	for _, arg := range args {
		info, wrong := os.Stat(arg)
		switch {
		case wrong != nil:
			all, wrong = append(all, source{name: arg}), terminal.Usage("%s %w",
				text.Line(arg), config.Problem(wrong))
		case !info.IsDir():
			all = append(all, source{name: arg})
		default:
			var below []source
			below, wrong = t.below(arg)
			all, folders = append(all, below...), append(folders, arg)
		}
		if err == nil {
			err = wrong
		}
	}
	return all, folders, err
}

func (t *tester) below(folder string) (all []source, err error) {
	within := folder
	if t.o.trust {
		within = ""
	}
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != folder && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules"):
			return filepath.SkipDir
		case !d.IsDir() && t.isScenario(path):
			all = append(all, source{path, within})
		}
		return nil
	})
	if err != nil {
		return nil, terminal.Usage("%s %w", text.Line(folder), config.Problem(err))
	}
	return all, nil
}

// isScenario reports whether a file of a folder is run.
func (t *tester) isScenario(name string) bool {
	evals := t.o.url != "" || t.o.dir != ""
	return strings.HasSuffix(name, ".webtool.yaml") || evals && strings.HasSuffix(name, evalsEnding)
}

// read reads the file. A link to a file elsewhere is followed only where it was named.
func (s source) read() (*scenario.File, error) {
	if s.within != "" && files.Inside(s.within, s.name) != nil {
		return nil, terminal.Usage("%s is a link out of %s: if you trust it, name it: pagetools test %s",
			text.Line(s.name), text.Line(s.within), text.Line(text.Operand(s.name)))
	}
	words, err := os.ReadFile(s.name)
	if err != nil {
		return nil, terminal.Usage("%s %w", text.Line(s.name), config.Problem(err))
	}
	return scenario.ReadAs(s.name, words)
}

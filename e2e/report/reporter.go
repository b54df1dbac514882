package report

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/pagetools/pagetools/bridge/files"
)

// Reporter writes about a run. It is safe for concurrent use.
type Reporter interface {
	// CaseDone is told of each case as it ends. The case is only read, and not kept.
	CaseDone(c *Case)
	// Done writes what is left to say. It is called once, also for a run that was interrupted.
	// The run has all cases, those of CaseDone included, and is only read.
	Done(run *Run) error
}

// Options say where reports go that have no file.
type Options struct {
	Out   io.Writer // standard output
	Color bool      // whether list may color what it writes
}

// New returns one reporter for all formats that [Parse] returned.
func New(formats []Format, o Options) Reporter {
	all := &reporters{out: o.Out}
	for _, f := range formats {
		if f.Name == "list" {
			all.list = &list{out: o.Out, color: o.Color}
		}
	}
	all.formats = formats
	return all
}

type reporters struct {
	mu      sync.Mutex
	out     io.Writer
	formats []Format
	list    *list // nil when it was not asked for
}

var _ Reporter = (*reporters)(nil)

// CaseDone implements Reporter.
func (r *reporters) CaseDone(c *Case) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.list != nil {
		r.list.caseDone(boundedCase(*c))
	}
}

// Done implements Reporter. One report that cannot be written keeps no other from being written.
func (r *reporters) Done(run *Run) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	run = bounded(run)
	known := kinds()
	var all []error
	for _, f := range r.formats {
		if f.Name == "list" {
			all = append(all, r.list.done(run))
			continue
		}
		i := slices.IndexFunc(known, func(k kind) bool { return k.name == f.Name })
		if i < 0 {
			all = append(all, unknown("a report", f.Name, known))
			continue
		}
		run.folder = filepath.Dir(f.file())
		text, err := known[i].write(run)
		if err == nil && f.Path == "" {
			_, err = r.out.Write(text)
		} else if err == nil {
			err = writeFile(f.file(), text)
		}
		if err != nil {
			all = append(all, fmt.Errorf("writing the report %s: %w", f.Name, err))
		}
	}
	return errors.Join(all...)
}

// writeFile writes a file whole or not at all: readers see the old one or the new one. Its folder
// is made when it is not there.
func writeFile(path string, text []byte) error {
	err := os.MkdirAll(filepath.Dir(path), 0o755) //nolint:gosec // reports are for everyone
	if err != nil {
		return err
	}
	return files.Write(path, text, 0o644)
}

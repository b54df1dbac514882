package kit

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/watch"
	"github.com/pagetools/pagetools/e2e/report"
	kitrun "github.com/pagetools/pagetools/e2e/run"
)

var errChanged = errors.New("the files have changed")

// watch runs again and again, until ctx ends: each time that something changes which the run reads.
// A change during a run ends that run. The browser stays open meanwhile.
func (t *tester) watch(ctx context.Context, args []string) error {
	w, err := watch.New()
	if err != nil {
		return err
	}
	defer func() { _ = w.Close() }()
	for ctx.Err() == nil {
		if err := w.Watch(t.reads(args)); err != nil {
			return terminal.Usage("--watch: %w", err)
		}
		running, cancel := context.WithCancelCause(ctx)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if err := t.once(running, args); running.Err() == nil {
				t.p.Finish(running, err)
				t.p.Say("watching for changes; Ctrl-C ends")
			}
		}()
		changed, err := w.Next(ctx)
		cancel(errChanged)
		<-ended
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			return terminal.Usage("--watch: %w", err)
		}
		t.sayChanged(changed)
		if slices.Contains(changed, t.configFile()) {
			t.reconfigure()
		}
	}
	return nil
}

func (t *tester) sayChanged(paths []string) {
	var names []string
	for _, path := range paths {
		names = append(names, text.Line(filepath.Base(path)))
	}
	const few = 3
	if more := len(names) - few; more > 0 {
		names = append(names[:few], "and more")
	}
	t.p.Say("changed: %s", strings.Join(names, ", "))
}

// reads lists the files that a run reads, as far as they can be read now, and none that it writes.
func (t *tester) reads(args []string) watch.Set {
	if len(args) == 0 {
		args = []string{"."}
	}
	set := watch.Set{Files: slices.Clone(t.o.hostFiles), Ignored: []string{t.o.traceDir}}
	set.Files = append(set.Files, t.p.Config().Adapters...)
	if name := t.configFile(); name != "" {
		set.Files = append(set.Files, name)
		for _, s := range t.p.Config().Sites {
			for _, a := range s.Adapters {
				set.Files = append(set.Files, config.Beside(t.p.Config().File, a.File))
			}
		}
	}
	if all, err := report.Parse("--reporter", t.o.reporter); err == nil {
		for _, f := range all {
			if f.Path != "" {
				set.Ignored = append(set.Ignored, f.Path)
			}
		}
	}
	sources, folders, _ := t.found(args) // the run says what is wrong
	for _, folder := range folders {
		set.Folders = append(set.Folders, watch.Folder{Path: folder, Below: t.isScenario})
	}
	o := kitrun.Options{Site: t.site(), Env: os.LookupEnv}
	for _, s := range sources {
		set.Files = append(set.Files, s.name)
		f, err := s.read()
		if err != nil {
			continue
		}
		reads, writes, folder := kitrun.DependsOn(f, o)
		set.Files, set.Ignored = append(set.Files, reads...), append(set.Ignored, writes...)
		if folder != "" {
			set.Folders = append(set.Folders, watch.Folder{Path: folder})
		}
	}
	if t.o.dir != "" {
		set.Folders = append(set.Folders, watch.Folder{Path: t.o.dir})
	}
	return set
}

// configFile is the absolute path of the file that settings were read from, or "".
func (t *tester) configFile() string {
	if t.p.Config().File == "" {
		return ""
	}
	abs, err := filepath.Abs(t.p.Config().File)
	if err != nil {
		return t.p.Config().File
	}
	return abs
}

// reconfigure reads the settings again, and starts another browser for them. With settings that are
// wrong, those before stay.
func (t *tester) reconfigure() {
	if err := t.p.Reload(t.headed); err != nil {
		t.p.Say("warning: the settings stay as they were: %s", text.Line(err.Error()))
		return
	}
	_ = t.browsers.Close() // the next run has its own
}

// Package watch says when files change, also those that editors replace by others of their name.
package watch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Changes that come close together are one: the last was so long ago, or the first.
const (
	quiet = 50 * time.Millisecond
	most  = 400 * time.Millisecond
)

// Set holds what is watched. Paths are as the caller names them; what is not there yet counts when
// it comes into a folder that is.
type Set struct {
	// Files are watched by their names, and of Folders everything below that Below accepts; nil is
	// all of it. What begins with a dot, and node_modules, is left out of folders.
	Files   []string
	Folders []Folder
	// Ignored are files and folders that do not count, wherever they are.
	Ignored []string
}

// Folder is one that is watched with what is below it.
type Folder struct {
	Path  string
	Below func(name string) bool
}

// Watcher watches one set. It is for one goroutine.
type Watcher struct {
	notify *fsnotify.Watcher
	set    Set
}

// New starts to watch nothing. The caller must close the watcher.
func New() (*Watcher, error) {
	n, err := fsnotify.NewBufferedWatcher(1024)
	if err != nil {
		return nil, fmt.Errorf("watching files: %w", err)
	}
	return &Watcher{notify: n}, nil
}

// Close ends it.
func (w *Watcher) Close() error { return w.notify.Close() }

// Watch watches this set from now on. The error names a folder that cannot be watched.
func (w *Watcher) Watch(s Set) error {
	s.Files, s.Ignored = absolute(s.Files), absolute(s.Ignored)
	s.Folders = slices.Clone(s.Folders)
	for i := range s.Folders {
		s.Folders[i].Path = absolute([]string{s.Folders[i].Path})[0]
	}
	w.set = s
	wanted := map[string]bool{}
	for _, name := range s.Files {
		wanted[filepath.Dir(name)] = true // an editor replaces the file, and leaves the folder
	}
	for _, f := range s.Folders {
		w.below(f.Path, wanted)
	}
	for _, name := range w.notify.WatchList() {
		if !wanted[name] {
			_ = w.notify.Remove(name) // it may be gone
		}
		delete(wanted, name)
	}
	for name := range wanted {
		if err := w.notify.Add(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("watching %s: %w", name, err)
		}
	}
	return nil
}

func absolute(names []string) []string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = filepath.Clean(name)
		if abs, err := filepath.Abs(name); err == nil {
			all[i] = abs
		}
	}
	return all
}

// below adds a folder and those in it.
func (w *Watcher) below(folder string, to map[string]bool) {
	_ = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil //nolint:nilerr // what cannot be read cannot be watched
		case !d.IsDir():
			return nil
		case path != folder && hidden(d.Name()), w.ignored(path):
			return filepath.SkipDir
		}
		to[path] = true
		return nil
	})
}

func hidden(name string) bool { return strings.HasPrefix(name, ".") || name == "node_modules" }

func (w *Watcher) ignored(path string) bool {
	return slices.ContainsFunc(w.set.Ignored, func(i string) bool { return inside(path, i) })
}

// inside reports whether a path is a folder, or below it.
func inside(path, folder string) bool {
	way, err := filepath.Rel(folder, path)
	return err == nil && way != ".." && !strings.HasPrefix(way, ".."+string(filepath.Separator))
}

func (w *Watcher) counts(path string) bool {
	if slices.Contains(w.set.Files, path) {
		return true
	}
	if w.ignored(path) {
		return false
	}
	return slices.ContainsFunc(w.set.Folders, func(f Folder) bool {
		if path == f.Path || !inside(path, f.Path) {
			return false
		}
		way, _ := filepath.Rel(f.Path, path) // inside has tried it
		return !slices.ContainsFunc(strings.Split(way, string(filepath.Separator)), hidden) &&
			(f.Below == nil || f.Below(path))
	})
}

// Next waits until something that is watched has changed, and then until that is over. It returns
// the absolute paths that have changed, each once. The error is the cause of the end of ctx, or
// that of the system.
func (w *Watcher) Next(ctx context.Context) (changed []string, err error) {
	var over, late <-chan time.Time
	for {
		select {
		case ev, ok := <-w.notify.Events:
			if !ok {
				return nil, fsnotify.ErrClosed
			}
			for _, path := range w.take(ev) {
				if !slices.Contains(changed, path) {
					changed = append(changed, path)
				}
			}
			if len(changed) > 0 {
				over = time.After(quiet)
			}
			if late == nil && len(changed) > 0 {
				late = time.After(most)
			}
		case err, ok := <-w.notify.Errors:
			if ok && errors.Is(err, fsnotify.ErrEventOverflow) { // whatever changed is not told
				return changed, nil
			}
			return nil, fmt.Errorf("watching files: %w", err)
		case <-over:
			return changed, nil
		case <-late:
			return changed, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// take returns what an event changes. Files in a folder that has just come are among it: they may
// have come before it was watched.
func (w *Watcher) take(ev fsnotify.Event) (changed []string) {
	if ev.Op == fsnotify.Chmod {
		return nil
	}
	if w.counts(ev.Name) {
		changed = append(changed, ev.Name)
	}
	info, err := os.Stat(ev.Name)
	isFolder := err == nil && info.IsDir() && !hidden(filepath.Base(ev.Name)) && !w.ignored(ev.Name)
	if !ev.Has(fsnotify.Create) || !isFolder || !slices.ContainsFunc(w.set.Folders,
		func(f Folder) bool { return inside(ev.Name, f.Path) }) {
		return changed
	}
	folders := map[string]bool{}
	w.below(ev.Name, folders)
	for folder := range folders {
		_ = w.notify.Add(folder) // it may be gone
		files, _ := os.ReadDir(folder)
		for _, f := range files {
			if path := filepath.Join(folder, f.Name()); !f.IsDir() && w.counts(path) {
				changed = append(changed, path)
			}
		}
	}
	return changed
}

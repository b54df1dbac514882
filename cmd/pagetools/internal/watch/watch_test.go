package watch_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/cmd/pagetools/internal/watch"
)

// TestNext: what is watched is told once, however it is written; what is not is not told.
func TestNext(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(name), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	replace := func(name string) { // as editors do
		t.Helper()
		write(name + "~")
		if err := os.Rename(filepath.Join(dir, name+"~"), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"conf.yaml", "site/index.html", "tests/a.webtool.yaml", "site/.git/x", "site/node_modules/y/z", "site/out/trace.zip"} {
		write(name)
	}
	w, err := watch.New()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	err = w.Watch(watch.Set{
		Files: []string{filepath.Join(dir, "conf.yaml"), filepath.Join(dir, "later.yaml")},
		Folders: []watch.Folder{{Path: filepath.Join(dir, "site")}, {Path: filepath.Join(dir, "tests"),
			Below: func(name string) bool { return strings.HasSuffix(name, ".webtool.yaml") }}},
		Ignored: []string{filepath.Join(dir, "site", "out")},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		does func(string)
		name string
	}{
		{write, "conf.yaml"}, {replace, "conf.yaml"}, {replace, "conf.yaml"}, {write, "later.yaml"}, {write, "site/index.html"},
		{write, "site/new/deep/page.html"}, {replace, "site/new/deep/page.html"}, {replace, "tests/a.webtool.yaml"}, {write, "tests/sub/b.webtool.yaml"},
	} {
		for _, other := range []string{"other.yaml", "site/.git/x", "site/node_modules/y/z", "site/out/trace.zip", "tests/notes.txt"} {
			write(other)
		}
		test.does(test.name)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		got, err := w.Next(ctx)
		cancel()
		for _, path := range got {
			name, _ := filepath.Rel(dir, path)
			if name = filepath.ToSlash(name); name != test.name && name+"~" != test.name && strings.TrimSuffix(name, "~") != test.name && !strings.HasPrefix(test.name, name+"/") {
				t.Errorf("%s changed, and %s is told", test.name, name)
			}
		}
		if err != nil || len(got) == 0 {
			t.Errorf("%s: %v, %v", test.name, got, err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := errors.New("ended")
	cancel(ended)
	if got, err := w.Next(ctx); !errors.Is(err, ended) {
		t.Errorf("after its end: %v, %v", got, err)
	}
}

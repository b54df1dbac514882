package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSafeNames: whatever a page calls a file, its cleaned name means a file in the folder, on
// every system, and is clean already.
func TestSafeNames(t *testing.T) {
	long := strings.Repeat("é", 150)
	for name, want := range map[string]string{
		"a.txt": "a.txt", "a b.txt": "a b.txt", "": "file", ".": "file", "..": "file", " . ": "file", "../../x": "_._.._x", "/etc/passwd": "_etc_passwd",
		`..\..\x`: "_._.._x", `C:\x`: "C__x", "a\x00b": "ab", "a\nb": "a b", "x\u202etxt.exe": "xtxt.exe", ".bashrc": "_bashrc", "-rf": "_rf", "~root": "_root",
		"CON": "_CON", "con.txt": "_con.txt", "NUL .txt": "_NUL .txt", "COM1": "_COM1", "lpt9.x.y": "_lpt9.x.y", "COM": "COM", "COM10": "COM10", "console": "console", "COM²": "_COM²", "CONIN$": "_CONIN$",
		"x. . .": "x", "a?b*c|d<e>f\"g:h": "a_b_c_d_e_f_g_h", "\xff\xfe": "file", long + ".txt": strings.Repeat("é", 98) + ".txt",
		"a." + strings.Repeat("b", 300): "a." + strings.Repeat("b", 198),
	} {
		got := safeName(name)
		if got != want {
			t.Errorf("%q becomes %q, want %q", name, got, want)
		}
		if safeName(got) != got || !filepath.IsLocal(got) || len(got) > maxSafeName+1 {
			t.Errorf("%q is not clean", got)
		}
	}
}

// FuzzSafeName: a cleaned name is the name of a file in the folder.
func FuzzSafeName(f *testing.F) {
	for _, name := range []string{"a.txt", "../x", "CON", "\x00", strings.Repeat("é", 200), "a/.."} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got := safeName(name)
		if got == "" || got != filepath.Base(got) || !filepath.IsLocal(got) || strings.ContainsAny(got, `/\:`) || len(got) > maxSafeName+1 {
			t.Errorf("%q becomes %q", name, got)
		}
	})
}

// TestSaveAs: nothing is written over, and no link is followed.
func TestSaveAs(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.Symlink(outside, filepath.Join(dir, "link.txt")); err != nil {
		t.Skip("this system makes no links:", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, x := range []struct{ name, want string }{
		{"a.txt", "a.txt"}, {"a.txt", "a (2).txt"}, {"a.txt", "a (3).txt"}, {"a", "a"}, {"a", "a (2)"}, {"link.txt", "link (2).txt"},
	} {
		got, err := saveAs(root, x.name, []byte(x.want))
		if err != nil || got != x.want {
			t.Errorf("%s is saved as %q, %v", x.name, got, err)
		}
		if text, err := os.ReadFile(filepath.Join(dir, x.want)); err != nil || string(text) != x.want {
			t.Errorf("%s holds %q, %v", x.want, text, err)
		}
	}
	if _, err := os.Stat(outside); !errors.Is(err, os.ErrNotExist) {
		t.Error("a link was followed")
	}
}

//go:build unix

package adapter_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pagetools/pagetools/session/adapter"
)

// TestRead (anyone 4.1): an adapter is a file that only its user can change, and never an address.
func TestRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put := func(name string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, []byte(text("@name shop", "@version 1.0.0")), 0o600), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, mode := range []os.FileMode{0o600, 0o644, 0o444} { // the controls
		if _, err := adapter.Read(put(fmt.Sprintf("ok%o.js", mode), mode)); err != nil {
			t.Errorf("mode %04o: %v", mode, err)
		}
	}
	fifo := filepath.Join(dir, "fifo.js")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		put("group.js", 0o660):        "others can write to",
		put("all.js", 0o602):          "which has mode 0602, and an adapter is code with your login: ",
		dir:                           "is not a file of JavaScript",
		fifo:                          "is not a file of JavaScript",
		filepath.Join(dir, "none.js"): "there is no file",
		"https://a.test/shop.js":      `"https://a.test/shop.js": an adapter is code with your login: download it, read it, name the file`,
		"http://a.test/shop.js":       "download it, read it, name the file",
		"data:text/javascript,1":      "download it, read it, name the file",
		"file:///tmp/shop.js":         "download it, read it, name the file",
		adapter.Builtin + "none":      `there is no adapter "builtin:none": there is builtin:page-servers`,
	} {
		if _, err := adapter.Read(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", file, err, want)
		}
	}
	if os.Geteuid() == 0 {
		theirs := put("theirs.js", 0o644)
		if err := os.Chown(theirs, 12345, -1); err != nil {
			t.Fatal(err)
		}
		if _, err := adapter.Read(theirs); err == nil || !strings.Contains(err.Error(), "belongs to the user with the number 12345") {
			t.Errorf("another user's: %v", err)
		}
	}
}

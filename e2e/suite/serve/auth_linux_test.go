package serve_test

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pagetools/pagetools/e2e/suite"
)

// TestAuthTerminal: a key that a person types is not shown, and a person who gives up leaves a
// terminal that shows what is typed.
func TestAuthTerminal(t *testing.T) {
	t.Parallel()
	api, data := newRecipes(t), filepath.Join(suite.TempDir(t), "data")
	c := converse(t, "auth", "login", api.URL, "--scheme", "key", "--data-dir", data)
	c.see(t, "the key for 127.0.0.1")
	c.see(t, "which is not shown: ")
	c.enter(t, "s3cret-key\n")
	c.see(t, "kept the key")
	if code := c.code(t); code != 0 || strings.Contains(c.shown.String(), "s3cret") {
		t.Errorf("it ends with %d:\n%s", code, c.shown)
	}
	if r := auth(t, data, "", "status"); !strings.Contains(r.stdout, "apiKey for local") {
		t.Errorf("status: %+v", r)
	}
	c = converse(t, "auth", "login", api.URL, "--scheme", "key", "--data-dir", data)
	c.see(t, "which is not shown: ")
	c.enter(t, "\x03")
	if code := c.code(t); code != 130 {
		t.Errorf("it ends with %d:\n%s", code, c.shown)
	}
	state, err := unix.IoctlGetTermios(int(c.person.Fd()), unix.TCGETS)
	if err != nil || state.Lflag&unix.ECHO == 0 || state.Lflag&unix.ICANON == 0 {
		t.Errorf("the terminal is left with %+v (%v)", state, err)
	}
}

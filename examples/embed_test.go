package examples_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/examples"
)

func ExampleStampDB() {
	names, err := fs.Glob(examples.StampDB(), "*")
	fmt.Println(strings.Join(names, " "), err)
	// Output: index.html stampdb.css stampdb.js stamps.js tools.js <nil>
}

// A page that asks the network for anything would make the demo depend on it.
func TestStampDBNeedsNoNetwork(t *testing.T) {
	t.Parallel()
	page, err := fs.ReadFile(examples.StampDB(), "index.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{`src="http`, `src="//`, `href="http`, `href="//`} {
		if strings.Contains(string(page), bad) {
			t.Errorf("index.html contains %s", bad)
		}
	}
}

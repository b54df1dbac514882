package cluster_test

import (
	"os"
	"testing"

	"github.com/pagetools/pagetools/e2e/suite"
)

// TestMain opens no spare pages. Nodes share a browser, and have contexts of their own in it, which end
// with their connection: a node starts and ends as if the browser were its own, and sooner.
func TestMain(m *testing.M) {
	if err := os.Setenv("PAGETOOLS_WARM", "0"); err != nil {
		panic(err)
	}
	os.Exit(suite.Main(m, true))
}

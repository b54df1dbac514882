package serve_test

import (
	"os"
	"testing"

	"github.com/pagetools/pagetools/e2e/suite"
)

// TestMain opens no spare pages: a test about them says how many.
func TestMain(m *testing.M) {
	if err := os.Setenv("PAGETOOLS_WARM", "0"); err != nil {
		panic(err)
	}
	os.Exit(suite.Main(m, true))
}

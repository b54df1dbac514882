package serve_test

import (
	"os"
	"testing"

	"github.com/pagetools/pagetools/e2e/suite"
)

func TestMain(m *testing.M) { os.Exit(suite.Main(m, true)) }

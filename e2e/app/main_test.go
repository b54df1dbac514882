package app

import (
	"os"
	"testing"

	"github.com/pagetools/pagetools/bridge/bridgetest"
)

func TestMain(m *testing.M) { os.Exit(bridgetest.Main(m, os.Stderr)) }

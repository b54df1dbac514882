package natstest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// EnvServers names the environment variable with what scripts/nats.sh prints.
const EnvServers = "PAGETOOLS_NATS_SERVERS"

// Program is a NATS server.
type Program struct{ Path, Version string }

// Programs returns the servers to test with. Without any the test is skipped, but not in CI, where
// there must be two.
func Programs(t testing.TB) []Program {
	t.Helper()
	var programs []Program
	for _, path := range filepath.SplitList(os.Getenv(EnvServers)) {
		programs = append(programs, program(t, path))
	}
	if path, err := exec.LookPath("nats-server"); len(programs) == 0 && err == nil {
		programs = append(programs, program(t, path))
	}
	switch {
	case os.Getenv("CI") == "true" && len(programs) < 2:
		t.Fatalf("there are %d NATS servers, and CI tests with two: %s=$(scripts/nats.sh)", len(programs), EnvServers)
	case len(programs) == 0:
		t.Skipf("there is no nats-server: %s=$(scripts/nats.sh) fetches two", EnvServers)
	}
	return programs
}

// Newest returns the last of Programs.
func Newest(t testing.TB) Program {
	t.Helper()
	programs := Programs(t)
	return programs[len(programs)-1]
}

func program(t testing.TB, path string) Program {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), path, "-v").Output()
	if err != nil {
		t.Fatalf("%s does not say its version: %v", path, err)
	}
	_, version, _ := strings.Cut(strings.TrimSpace(string(out)), ": v")
	return Program{Path: path, Version: version}
}

package docs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"

	locks "github.com/pagetools/pagetools/bridge/files"
)

// Binary returns the path of the pagetools under test: the one that PAGETOOLS_BINARY names, or
// bin/test/pagetools of the repository, which it builds. Packages whose tests run at the same time
// build it one after the other.
var Binary = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("PAGETOOLS_BINARY"); path != "" {
		_, err := os.Stat(path) // Go keeps a test's result as long as what it looked at stays
		return path, err
	}
	root, err := filepath.Abs("../../..") // tests run in their package's folder
	if err != nil {
		return "", fmt.Errorf("looking for the repository: %w", err)
	}
	dir := filepath.Join(root, "bin", "test")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("building pagetools: %w", err)
	}
	// Written now, and looked at: Go does not keep the result of such a test, which would outlive a
	// change of the program.
	lock, err := os.Create(filepath.Join(dir, "lock"))
	if err != nil {
		return "", fmt.Errorf("building pagetools: %w", err)
	}
	defer lock.Close()
	if err := locks.Lock(lock); err != nil {
		return "", fmt.Errorf("building pagetools: %w", err)
	}
	path := filepath.Join(dir, "real", "pagetools")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	build := exec.Command("go", "build", "-o", path, "./cmd/pagetools")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building pagetools: %w\n%s", err, out)
	}
	return path, nil
})

package mcp_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// errNoPackages says that packages are not available here: there is no npm, or no network.
var errNoPackages = errors.New("the packages of npm cannot be installed here")

// installWithin bounds npm, which loads about 300 packages.
const installWithin = 5 * time.Minute

// npmPackages installs what the lock of a folder of e2e/suite names into a folder of the user's
// cache, once for each lock, and returns its node_modules.
func npmPackages(ctx context.Context, folder string) (string, error) {
	lock, err := os.ReadFile(filepath.Join("..", folder, "package-lock.json"))
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("%w: %w", errNoPackages, err)
	}
	sum := sha256.Sum256(lock)
	dir := filepath.Join(cache, "pagetools", folder+"-"+hex.EncodeToString(sum[:6]))
	modules := filepath.Join(dir, "node_modules")
	if _, err := os.Stat(modules); err == nil {
		return modules, nil
	}
	// In a folder of its own until it is whole: a run that is ended leaves no half of it.
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return "", err
	}
	part, err := os.MkdirTemp(filepath.Dir(dir), "part-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(part) }() // when it was not renamed
	if err := copyFiles(part, filepath.Join("..", folder, "package.json"), filepath.Join("..", folder, "package-lock.json")); err != nil {
		return "", err
	}
	if err := npmInstall(ctx, part); err != nil {
		return "", err
	}
	if err := os.Rename(part, dir); err != nil {
		if _, gone := os.Stat(modules); gone != nil { // somebody else may have been first
			return "", err
		}
	}
	return modules, nil
}

// networkFailure are the codes with which npm says that it reached no registry.
var networkFailure = regexp.MustCompile(`\b(ENOTFOUND|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EAI_AGAIN|ENETUNREACH|ENOTCACHED)\b`)

// npmInstall runs npm in a folder. No script of a package runs.
func npmInstall(ctx context.Context, dir string) error {
	npm, err := exec.LookPath("npm")
	if err != nil {
		return fmt.Errorf("%w: %w", errNoPackages, err)
	}
	ctx, cancel := context.WithTimeout(ctx, installWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	out, err := cmd.CombinedOutput()
	switch {
	case err == nil:
		return nil
	case networkFailure.Match(out):
		return fmt.Errorf("%w: npm ci: %w\n%s", errNoPackages, err, out)
	default:
		return fmt.Errorf("npm ci: %w\n%s", err, out)
	}
}

// clientNode finds a Node that every client runs on: this machine's, or npm's.
func clientNode(modules string) (string, error) {
	if node, err := exec.LookPath("node"); err == nil {
		out, err := exec.Command(node, "--version").Output()
		if err == nil && nodeIsNew(string(out)) {
			return node, nil
		}
	}
	found, err := filepath.Glob(filepath.Join(modules, "node-*", "bin", "node"))
	if err != nil || len(found) == 0 {
		return "", fmt.Errorf("%w: Node 22.19 or newer is needed, and npm has none for this platform", errNoPackages)
	}
	return found[0], nil
}

var nodeVersion = regexp.MustCompile(`^v(\d+)\.(\d+)\.`)

// nodeIsNew says whether a version is at least 22.19, which the Inspector needs.
func nodeIsNew(version string) bool {
	match := nodeVersion.FindStringSubmatch(version)
	if match == nil {
		return false
	}
	major, _ := strconv.Atoi(match[1]) // digits
	minor, _ := strconv.Atoi(match[2])
	return major > 22 || major == 22 && minor >= 19
}

// copyFiles copies files into a folder, under their own names.
func copyFiles(dir string, paths ...string) error {
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// tally counts a client's tests.
type tally struct{ passed, failed, skipped int }

var tapLine = regexp.MustCompile(`^(not )?ok (\d+)\b(.*)$`)

// readTAP counts the tests of a report. A report without its plan, or with another number of tests
// than planned, is an error: its program did not finish.
func readTAP(report string) (tally, error) {
	var sum tally
	plan := -1
	for line := range strings.Lines(report) {
		line = strings.TrimRight(line, "\r\n")
		if n, ok := strings.CutPrefix(line, "1.."); ok {
			var err error
			if plan, err = strconv.Atoi(n); err != nil {
				return sum, fmt.Errorf("the plan %q: %w", line, err)
			}
		}
		match := tapLine.FindStringSubmatch(line)
		switch {
		case match == nil:
		case match[1] != "":
			sum.failed++
		case strings.Contains(match[3], "# SKIP"):
			sum.skipped++
		default:
			sum.passed++
		}
	}
	if all := sum.passed + sum.failed + sum.skipped; plan != all || all == 0 {
		return sum, fmt.Errorf("%d tests were reported, and %d planned", all, plan)
	}
	return sum, nil
}

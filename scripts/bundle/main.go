// Command bundle builds what registries and desktop clients take: an MCPB bundle
// for each platform, and server.json for the MCP registry. The same source and the
// same Go yield the same bytes.
//
//	go run ./scripts/bundle [-version 1.2.3] [-out bin/bundle] [-platforms linux/amd64,…]
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "bundle:", err)
		os.Exit(1)
	}
}

// allPlatforms lists the platforms that pagetools builds for.
const allPlatforms = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64"

// devVersion is the version of a bundle that is not a release.
const devVersion = "0.0.0-devel"

var semver = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$`)

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("bundle", flag.ContinueOnError)
	version := flags.String("version", devVersion, "the version, as 1.2.3")
	dir := flags.String("out", filepath.Join("bin", "bundle"),
		"the folder to write to; older bundles in it go")
	platforms := flags.String("platforms", allPlatforms, "what to build for, as GOOS/GOARCH,…")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if !semver.MatchString(*version) {
		return fmt.Errorf("the version %q is not one like 1.2.3", *version)
	}
	if err := prepare(*dir); err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "bundle")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	var bundles []bundle
	for _, text := range strings.Split(*platforms, ",") {
		p, err := parsePlatform(text)
		if err != nil {
			return err
		}
		b, err := build(ctx, p, *version, temp, *dir)
		if err != nil {
			return err
		}
		bundles = append(bundles, b)
		fmt.Fprintf(out, "%s  %s\n", b.sha256, filepath.Join(*dir, b.file))
	}
	server := filepath.Join(*dir, "server.json")
	if err := writeJSON(server, newServer(*version, bundles)); err != nil {
		return err
	}
	return check(ctx, out, temp, server, bundles)
}

// prepare makes the folder, without older bundles.
func prepare(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // what is published may be read
		return err
	}
	old, err := filepath.Glob(filepath.Join(dir, "*.mcpb"))
	for _, path := range old {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// build compiles for one platform and packs the bundle.
func build(ctx context.Context, p platform, version, temp, dir string) (bundle, error) {
	b := bundle{platform: p, file: fmt.Sprintf("pagetools-%s-%s-%s.mcpb", version, p.os, p.arch)}
	binary := filepath.Join(temp, p.os+"-"+p.arch)
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", binary,
		"./cmd/pagetools")
	cmd.Env = append(os.Environ(), "GOOS="+p.os, "GOARCH="+p.arch, "CGO_ENABLED=0")
	if said, err := cmd.CombinedOutput(); err != nil {
		return b, fmt.Errorf("building for %s/%s: %w\n%s", p.os, p.arch, err, said)
	}
	program, err := os.ReadFile(binary)
	if err != nil {
		return b, err
	}
	license, err := os.ReadFile("LICENSE")
	if err != nil {
		return b, err
	}
	b.manifest = filepath.Join(temp, b.file, "manifest.json") // the checker wants a file of that name
	if err := errors.Join(os.MkdirAll(filepath.Dir(b.manifest), 0o700),
		writeJSON(b.manifest, newManifest(version, p))); err != nil {
		return b, err
	}
	manifest, err := os.ReadFile(b.manifest)
	if err != nil {
		return b, err
	}
	packed, err := pack([]file{{"manifest.json", 0o644, manifest}, {"LICENSE", 0o644, license}, {entryPoint, 0o755, program}})
	if err != nil {
		return b, err
	}
	b.sha256 = digest(packed)
	return b, os.WriteFile(filepath.Join(dir, b.file), packed, 0o644) //nolint:gosec // what is published may be read
}

func writeJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644) //nolint:gosec // what is published may be read
}

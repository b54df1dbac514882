package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The checkers, by version: see docs/decisions/2026-11-22-checks-with-npm.md.
const (
	mcpbPackage    = "@anthropic-ai/mcpb@2.1.2"
	registryModule = "github.com/modelcontextprotocol/registry@v1.8.7"
)

// errNotChecked says that a checker is not available. That is reported, and is not a failure.
var errNotChecked = errors.New("NOT CHECKED")

// validate has the readers of server.json and of the bundles judge what was written.
func validate(ctx context.Context, out io.Writer, o options) (err error) {
	temp, err := os.MkdirTemp("", "release-validate-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	var failed error
	report := func(what string, err error) {
		switch {
		case err == nil:
			fmt.Fprintf(out, "%s: valid\n", what)
		case errors.Is(err, errNotChecked):
			fmt.Fprintf(out, "%s: %v\n", what, err)
		default:
			failed = errors.Join(failed, fmt.Errorf("%s: %w", what, err))
		}
	}
	schema, err := registrySchema(ctx, temp)
	if err == nil {
		err = checkServer(schema, filepath.Join(o.out, "server.json"))
	}
	report("server.json", err)
	bundles, err := filepath.Glob(filepath.Join(o.out, "*.mcpb"))
	if err != nil || len(bundles) == 0 {
		return errors.Join(failed, err, fmt.Errorf("%s has no bundle", o.out))
	}
	npx, err := findMCPB(ctx, temp)
	for _, path := range bundles {
		what := "the manifest of " + filepath.Base(path)
		if err != nil {
			report(what, err)
			continue
		}
		report(what, checkManifest(ctx, filepath.Join(temp, filepath.Base(path)), npx, path))
	}
	return failed
}

// registrySchema is the schema of server.json, in the source of the registry itself.
// The checksum database vouches for it.
func registrySchema(ctx context.Context, temp string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", registryModule)
	cmd.Dir = temp // no go.mod is to know
	said, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s cannot be downloaded", errNotChecked, registryModule)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(said, &module); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(module.Dir, "internal", "validators", "schemas", schemaVersion+".json"))
}

// checkServer compares server.json with its schema.
func checkServer(schema []byte, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return err
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("server.schema.json", doc); err != nil {
		return err
	}
	compiled, err := c.Compile("server.schema.json")
	if err != nil {
		return err
	}
	return compiled.Validate(instance)
}

// findMCPB looks for node and fetches the checker of manifests.
func findMCPB(ctx context.Context, temp string) (string, error) {
	npx, err := exec.LookPath("npx")
	if err != nil {
		return "", fmt.Errorf("%w: there is no node with npx", errNotChecked)
	}
	if err := mcpb(ctx, temp, npx, "--version").Run(); err != nil {
		return "", fmt.Errorf("%w: %s cannot be fetched", errNotChecked, mcpbPackage)
	}
	return npx, nil
}

func mcpb(ctx context.Context, temp, npx string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, npx, append([]string{"--yes", "--package=" + mcpbPackage, "--", "mcpb"}, args...)...)
	cmd.Dir = temp
	return cmd
}

// checkManifest takes the manifest out of a bundle: the checker wants a file of that name.
func checkManifest(ctx context.Context, temp, npx, path string) error {
	bundle, err := zip.OpenReader(path)
	if err != nil {
		return err
	}
	defer func() { _ = bundle.Close() }()
	text, err := fs.ReadFile(bundle, "manifest.json")
	if err != nil {
		return err
	}
	manifest := filepath.Join(temp, "manifest.json")
	if err := errors.Join(os.MkdirAll(temp, 0o700), os.WriteFile(manifest, text, 0o600)); err != nil {
		return err
	}
	if said, err := mcpb(ctx, temp, npx, "validate", manifest).CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, said)
	}
	return nil
}

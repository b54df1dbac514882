package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// check runs the checkers of the programs that will read the bundles.
func check(ctx context.Context, out io.Writer, temp, serverPath string, bundles []bundle) error {
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
		err = checkServer(schema, serverPath)
	}
	report("server.json", err)
	npx, err := findMCPB(ctx, temp)
	for _, b := range bundles {
		if err == nil {
			report("the manifest of "+b.file, checkManifest(ctx, temp, npx, b.manifest))
			continue
		}
		report("the manifest of "+b.file, err)
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

func checkManifest(ctx context.Context, temp, npx, path string) error {
	if said, err := mcpb(ctx, temp, npx, "validate", path).CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, said)
	}
	return nil
}

package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPack looks at a bundle as its reader does.
func TestPack(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(newManifest("1.2.3", platform{"linux", "amd64"}))
	if err != nil {
		t.Fatal(err)
	}
	files := []file{{"manifest.json", 0o644, text}, {entryPoint, 0o755, bytes.Repeat([]byte("program "), 1000)}}
	packed, err := pack(files)
	if err != nil {
		t.Fatal(err)
	}
	again, err := pack(files)
	if err != nil || !bytes.Equal(packed, again) {
		t.Errorf("the same files give other bytes (%v)", err)
	}
	r, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range r.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(in)
		if err != nil || f.Name != files[i].name || f.Mode() != files[i].mode || !bytes.Equal(data, files[i].data) {
			t.Errorf("%s has mode %v and %d bytes (%v)", f.Name, f.Mode(), len(data), err)
		}
	}
	if !strings.HasSuffix(newManifest("1.2.3", platform{}).Server.Config.Command, "/"+entryPoint) {
		t.Error("the command is not in the bundle")
	}
}

// TestServer checks what the registry demands beyond its schema, and what the
// schema says of the description and the digest.
func TestServer(t *testing.T) {
	t.Parallel()
	b := bundle{file: "pagetools-1.2.3-linux-amd64.mcpb", sha256: digest([]byte("x"))}
	s := newServer("1.2.3", []bundle{b})
	if len(s.Description) > 100 || len(s.Packages) != 1 || s.Name != "io.github.pagetools/pagetools" {
		t.Errorf("%+v", s)
	}
	p := s.Packages[0]
	if p.Identifier != "https://github.com/pagetools/pagetools/releases/download/v1.2.3/pagetools-1.2.3-linux-amd64.mcpb" ||
		p.SHA256 != "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881" || p.RegistryType != "mcpb" {
		t.Errorf("%+v", p)
	}
}

// TestCheckServer has the schema refuse something, so that it can.
func TestCheckServer(t *testing.T) {
	t.Parallel()
	schema := []byte(`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","required":["name"],"properties":{"repository":{"properties":{"url":{"format":"uri"}}}}}`)
	path := filepath.Join(t.TempDir(), "server.json")
	for text, good := range map[string]bool{`{"name":"a"}`: true, `{}`: false, `{"name":"a","repository":{"url":"a b"}}`: false, `{`: false} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := checkServer(schema, path); (err == nil) != good {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestNotChecked leaves out what is optional, and has that said.
func TestNotChecked(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var out bytes.Buffer
	if err := check(t.Context(), &out, t.TempDir(), "server.json", []bundle{{file: "x.mcpb"}}); err != nil || strings.Count(out.String(), "NOT CHECKED") != 2 {
		t.Errorf("%v\n%s", err, out.String())
	}
	if _, err := findMCPB(t.Context(), t.TempDir()); !errors.Is(err, errNotChecked) {
		t.Errorf("without node: %v", err)
	}
}

// TestPrepare keeps what is not a bundle: -out may name any folder.
func TestPrepare(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	for range 2 {
		if err := prepare(dir); err != nil {
			t.Fatal(err)
		}
		if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || strings.Contains(strings.Join(left, " "), "mcpb") {
			t.Errorf("%v is left (%v)", left, err)
		}
		for _, name := range []string{"x.mcpb", "mine"} {
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "mine")); err != nil {
		t.Error(err)
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-version", "v1.2.3"}, {"-version", "1.2"}, {"-platforms", "windows/amd64", "-out", filepath.Join(t.TempDir(), "x")}, {"-platforms", "linux", "-out", filepath.Join(t.TempDir(), "x")}} {
		if err := run(t.Context(), args, io.Discard); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
}

package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
)

var packedAt = time.Date(2026, 11, 27, 1, 2, 4, 0, time.UTC)

// made is a release of programs that nothing runs, in a folder of the test.
func made(t *testing.T, platforms ...platform) *release {
	t.Helper()
	d, err := newDist(filepath.Join(t.TempDir(), "dist"))
	if err != nil {
		t.Fatal(err)
	}
	r := &release{source: &source{version: "1.2.3", commit: strings.Repeat("0123", 10), time: packedAt}, dist: d,
		archives: map[platform]string{}}
	for _, p := range platforms {
		r.programs = append(r.programs, &program{platform: p, data: bytes.Repeat([]byte(p.String()), 100),
			info: &debug.BuildInfo{GoVersion: "go1.26.8", Deps: []*debug.Module{{Path: "x.example/" + p.os, Version: "v1.0.0", Sum: "h1:x"}}}})
	}
	for _, name := range []string{"LICENSE", "NOTICE", "README.md", "CHANGELOG.md", "man/man1/pagetools.1"} {
		r.docs = append(r.docs, file{name: name, mode: 0o644, data: []byte("the " + name)})
	}
	for _, name := range completions {
		r.docs = append(r.docs, file{name: name, mode: 0o644, data: []byte("the " + name)})
	}
	for _, pack := range r.steps() {
		if err := pack(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// TestFiles: a release has the files that the contract names, and the same bytes when it is made
// again in another folder.
func TestFiles(t *testing.T) {
	t.Parallel()
	r := made(t, allPlatforms...)
	for _, name := range []string{
		"pagetools_1.2.3_linux_amd64.tar.gz", "pagetools_1.2.3_darwin_arm64.tar.gz", "pagetools_1.2.3_windows_arm64.zip",
		"pagetools_1.2.3_amd64.deb", "pagetools_1.2.3_arm64.deb", "pagetools-1.2.3-1.x86_64.rpm", "pagetools-1.2.3-1.aarch64.rpm",
		"npm/pagetools-1.2.3.tgz", "npm/pagetools-linux-x64-1.2.3.tgz", "npm/pagetools-win32-arm64-1.2.3.tgz",
		"pagetools-1.2.3-windows-amd64.mcpb", "server.json", "homebrew/pagetools.rb", "scoop/pagetools.json",
		"winget/pagetools.pagetools.yaml", "winget/pagetools.pagetools.installer.yaml", "winget/pagetools.pagetools.locale.en-US.yaml",
		"oci/oci-layout", "oci/index.json", "Containerfile", "sbom.cdx.json",
	} {
		if r.sums[name] == "" {
			t.Errorf("%s is missing", name)
		}
	}
	if n := len(r.sums) - strings.Count(string(r.checksums()), "\n"); n != 0 || !strings.HasPrefix(string(r.checksums()), r.sums["Containerfile"]+"  Containerfile\n") {
		t.Errorf("%d files have no line:\n%s", n, r.checksums())
	}
	again := made(t, allPlatforms...)
	if err := sameFiles(r.to, again.to); err != nil {
		t.Error(err)
	}
}

// TestSameFiles sees what differs.
func TestSameFiles(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(dir string) error
		want   string
	}{
		"the same":   {func(string) error { return nil }, ""},
		"other":      {func(dir string) error { return os.WriteFile(filepath.Join(dir, "a"), []byte("2"), 0o600) }, "a differs"},
		"mode":       {func(dir string) error { return os.Chmod(filepath.Join(dir, "a"), 0o755) }, "a differs"},
		"one less":   {func(dir string) error { return os.Remove(filepath.Join(dir, "a")) }, "a is missing in the second"},
		"one more":   {func(dir string) error { return os.WriteFile(filepath.Join(dir, "b"), nil, 0o600) }, "b is missing in the first"},
		"all is out": {func(dir string) error { return os.RemoveAll(dir) }, "no such file"},
	} {
		one, two := t.TempDir(), t.TempDir()
		for _, dir := range []string{one, two} {
			if err := os.WriteFile(filepath.Join(dir, "a"), []byte("1"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := test.change(two); err != nil {
			t.Fatal(err)
		}
		if err := sameFiles(one, two); (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
	if err := sameFiles(t.TempDir(), t.TempDir()); err == nil {
		t.Error("two builds of nothing are the same")
	}
}

// TestPack looks at archives as their readers do: in order, owned by root, of one time, without
// names.
func TestPack(t *testing.T) {
	t.Parallel()
	files := []file{{name: "b/run", mode: 0o755, data: []byte("b")}, {name: "a", mode: 0o644, data: []byte("a")},
		{name: "c", mode: fs.ModeDir | fs.ModeSticky | 0o777, owner: 7}}
	packed, err := tarGzip(files, packedAt)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil || z.Name != "" || !z.ModTime.IsZero() {
		t.Errorf("gzip says %+v (%v)", z.Header, err)
	}
	var got []string
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, h.FileInfo().Mode().String()+" "+h.Name)
		if !h.ModTime.Equal(packedAt) || h.Uid != map[string]int{"c/": 7}[h.Name] || h.Uname != "" {
			t.Errorf("%s is of %v and belongs to %d", h.Name, h.ModTime, h.Uid)
		}
	}
	if want := []string{"-rw-r--r-- a", "-rwxr-xr-x b/run", "dtrwxrwxrwx c/"}; !slices.Equal(got, want) {
		t.Errorf("it has %q", got)
	}
	packed, err = zipOf(files[:2], packedAt)
	if err != nil {
		t.Fatal(err)
	}
	r, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil || len(r.File) != 2 || r.File[0].Name != "a" || r.File[1].Mode() != 0o755 || !r.File[1].Modified.Equal(packedAt) {
		t.Errorf("the zip has %+v (%v)", r.File, err)
	}
}

// TestNPMPackages: npm runs nothing of ours, takes the package that fits, and the version is the
// same everywhere.
func TestNPMPackages(t *testing.T) {
	t.Parallel()
	r := made(t)
	text, err := jsonOf(r.npmMain())
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	optional, _ := all["optionalDependencies"].(map[string]any)
	if len(optional) != 6 || optional["@pagetools/win32-x64"] != "1.2.3" || optional["@pagetools/linux-arm64"] != "1.2.3" {
		t.Errorf("the optional packages are %v", optional)
	}
	if s := newServer("1.2.3", nil); all["mcpName"] != s.Name || s.Packages[0].Identifier != all["name"] {
		t.Errorf("npm's package is %s, the server %s", all["mcpName"], s.Name)
	}
	for _, p := range allPlatforms {
		of := r.npmPlatform(p)
		text, err := jsonOf(of)
		if err != nil {
			t.Fatal(err)
		}
		if optional[of.Name] != of.Version || len(of.OS) != 1 || len(of.CPU) != 1 || !of.Unplugged {
			t.Errorf("%s", text)
		}
		for _, none := range []string{"scripts", "ependencies", "libc"} {
			if bytes.Contains(text, []byte(none)) {
				t.Errorf("%s has %s", of.Name, none)
			}
		}
	}
	if strings.Contains(string(text), "scripts") {
		t.Error("the main package has scripts")
	}
	launcher, err := assets.ReadFile("files/npm/pagetools.js")
	if n := bytes.Count(launcher, []byte("\n")); err != nil || n > 40 || bytes.Contains(launcher, []byte("stdout.")) || bytes.Contains(launcher, []byte("console.")) {
		t.Errorf("the launcher has %d lines (%v), or writes to stdout", n, err)
	}
}

// TestShops: each shop's file has the address and the digest of each archive for its system, and
// only those that were built.
func TestShops(t *testing.T) {
	t.Parallel()
	r := made(t, allPlatforms...)
	for shop, systems := range map[string]string{
		"homebrew/pagetools.rb": "linux darwin", "scoop/pagetools.json": "windows", "winget/pagetools.pagetools.installer.yaml": "windows",
	} {
		text, err := os.ReadFile(filepath.Join(r.to, shop))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range allPlatforms {
			has := bytes.Contains(text, []byte(downloads("1.2.3")+r.archives[p])) &&
				bytes.Contains(bytes.ToLower(text), []byte(r.sums[r.archives[p]]))
			if has != strings.Contains(systems, p.os) {
				t.Errorf("%s has the archive of %s: %v", shop, p, has)
			}
		}
	}
	linux := made(t, platform{"linux", "amd64"})
	for name := range linux.sums {
		if strings.HasPrefix(name, "scoop") || strings.HasPrefix(name, "winget") || strings.Contains(name, "arm64") {
			t.Errorf("%s is there without its program", name)
		}
	}
	if len(r.shopPage().Homebrew) != 2 || len(linux.shopPage().Homebrew) != 1 {
		t.Error("the formula names systems that it has no archive for")
	}
}

// TestImage follows the image from its index to the program, and checks every digest and size on
// the way.
func TestImage(t *testing.T) {
	t.Parallel()
	r := made(t, platform{"linux", "amd64"}, platform{"linux", "arm64"}, platform{"windows", "amd64"})
	oci := filepath.Join(r.to, "oci")
	index := readPart[imageIndex](t, filepath.Join(oci, "index.json"))
	if len(index.Manifests) != 1 || index.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != "1.2.3" {
		t.Fatalf("%+v", index)
	}
	all := readPart[imageIndex](t, blobOf(t, oci, index.Manifests[0]))
	if len(all.Manifests) != 2 {
		t.Fatalf("%+v", all)
	}
	for _, m := range all.Manifests {
		manifest := readPart[imageManifest](t, blobOf(t, oci, m))
		config := readPart[imageConfig](t, blobOf(t, oci, manifest.Config))
		if config.Architecture != m.Platform.Architecture || config.Config.User != "65532:65532" || !slices.Equal(config.Config.Entrypoint, []string{"/pagetools"}) ||
			config.Config.Labels["io.modelcontextprotocol.server.name"] != serverName || len(manifest.Layers) != 1 {
			t.Errorf("%+v", config)
		}
		files := unpacked(t, blobOf(t, oci, manifest.Layers[0]))
		if string(files["pagetools"]) != strings.Repeat("linux/"+m.Platform.Architecture, 100) || string(files[fromFile]) != "oci\n" {
			t.Errorf("the layer for %s has %d files", m.Platform.Architecture, len(files))
		}
	}
}

func readPart[T any](t *testing.T, path string) (v T) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// blobOf returns the path of a part of an image, after it compared it with its descriptor.
func blobOf(t *testing.T, oci string, d descriptor) string {
	t.Helper()
	path := filepath.Join(oci, "blobs", strings.Replace(d.Digest, ":", "/", 1))
	data, err := os.ReadFile(path)
	if err != nil || "sha256:"+digest(data) != d.Digest || len(data) != d.Size {
		t.Fatalf("%+v has %d bytes (%v)", d, len(data), err)
	}
	return path
}

// unpacked returns the files of a tar.gz.
func unpacked(t *testing.T, path string) map[string][]byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSBOM names every module of every program once, and what each program is made of.
func TestSBOM(t *testing.T) {
	t.Parallel()
	r := made(t, allPlatforms...)
	b := readPart[bom](t, filepath.Join(r.to, "sbom.cdx.json"))
	refs := map[string]bool{b.Metadata.Component.Ref: true}
	for _, c := range b.Components {
		if refs[c.Ref] {
			t.Errorf("%s is there twice", c.Ref)
		}
		refs[c.Ref] = true
	}
	if len(b.Components) != 6+3+1 || b.Format != "CycloneDX" || b.Spec != "1.6" || !strings.HasPrefix(b.Serial, "urn:uuid:") {
		t.Errorf("%d components: %+v", len(b.Components), b.Metadata)
	}
	for _, d := range b.Dependencies {
		for _, on := range append(d.DependsOn, d.Ref) {
			if !refs[on] {
				t.Errorf("%s is no component", on)
			}
		}
	}
}

// TestLicences: what has no licence is not passed on.
func TestLicences(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"license_test.go", "main.go"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("package x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if texts, err := licences(dir); err == nil {
		t.Errorf("without a licence: %q", texts)
	}
	for _, name := range []string{"LICENCE.md", "NOTICE", "COPYING"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("the text\r\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if texts, err := licences(dir); err != nil || !slices.Equal(texts, []string{"the text", "the text", "the text"}) {
		t.Errorf("%q (%v)", texts, err)
	}
}

// TestServer checks what the registry demands beyond its schema.
func TestServer(t *testing.T) {
	t.Parallel()
	s := newServer("1.2.3", []bundle{{"pagetools-1.2.3-linux-amd64.mcpb", digest([]byte("x"))}})
	if len(s.Description) > 100 || len(s.Packages) != 2 || s.Packages[0].RegistryType != "npm" {
		t.Errorf("%+v", s)
	}
	p := s.Packages[1]
	if p.Identifier != "https://github.com/pagetools/pagetools/releases/download/v1.2.3/pagetools-1.2.3-linux-amd64.mcpb" ||
		p.SHA256 != "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881" || p.RegistryType != "mcpb" {
		t.Errorf("%+v", p)
	}
	m := newManifest("1.2.3", platform{"windows", "amd64"})
	if m.Compatibility.Platforms[0] != "win32" || m.Server.EntryPoint != "server/pagetools.exe" || !strings.HasSuffix(m.Server.Config.Command, "/"+m.Server.EntryPoint) {
		t.Errorf("%+v", m)
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
	r := made(t, platform{"linux", "amd64"})
	t.Setenv("PATH", t.TempDir())
	var out bytes.Buffer
	if err := validate(t.Context(), &out, options{out: r.to}); err != nil || strings.Count(out.String(), "NOT CHECKED") != 2 {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		nil, {"x"}, {"build"}, {"build", "-version", "v1.2.3"}, {"build", "-version", "1.2"}, {"build", "-version", "1.2.3+x"},
		{"build", "-version", "01.2.3"}, {"build", "-version", "2.0.0"}, {"build", "-version", "1.2.3", "-platforms", "plan9/386"}, {"build", "-version", "1.2.3", "x"},
		{"check", "-platforms", "linux"}, {"check", "x"}, {"cut"}, {"cut", "v1.2.3"}, {"cut", "1.2.3", "1.2.4"}, {"notes", "1"},
	} {
		if err := run(t.Context(), args, io.Discard); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
	if got, err := parsePlatforms("linux/amd64,windows/arm64,linux/amd64"); err != nil || len(got) != 2 {
		t.Errorf("%v (%v)", got, err)
	}
}

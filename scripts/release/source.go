package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
)

const modulePath = "github.com/pagetools/pagetools"

// platform is one that pagetools builds for, in Go's words.
type platform struct{ os, arch string }

// allPlatforms are the platforms of a release.
var allPlatforms = []platform{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"},
	{"windows", "amd64"}, {"windows", "arm64"},
}

func (p platform) String() string { return p.os + "/" + p.arch }

// binary is the name of the program there.
func (p platform) binary() string {
	if p.os == "windows" {
		return "pagetools.exe"
	}
	return "pagetools"
}

func names(platforms []platform) (out []string) {
	for _, p := range platforms {
		out = append(out, p.String())
	}
	return out
}

func parsePlatforms(text string) (out []platform, err error) {
	for _, name := range strings.Split(text, ",") {
		i := slices.IndexFunc(allPlatforms, func(p platform) bool { return p.String() == name })
		if i < 0 {
			return nil, fmt.Errorf("unknown platform %q: available are %s", name,
				strings.Join(names(allPlatforms), ", "))
		}
		if !slices.Contains(out, allPlatforms[i]) {
			out = append(out, allPlatforms[i])
		}
	}
	return out, nil
}

// git returns what git says, without the white space around it.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		var said *exec.ExitError
		if errors.As(err, &said) {
			err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(said.Stderr))
		}
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}

// source is a clone of one commit in a folder of its own. It has one tag, the release's: Go stamps
// it, whatever tags and files the repository has besides.
type source struct {
	dir, version, commit string
	time                 time.Time // of the commit; SOURCE_DATE_EPOCH wins
	env                  []string  // of go
}

func newSource(ctx context.Context, root, commit, version, dir string) (*source, error) {
	s := &source{dir: dir, version: version, commit: commit}
	steps := [][]string{
		{"clone", "--quiet", "--no-tags", "--no-checkout", root, dir},
		{"-C", dir, "-c", "advice.detachedHead=false", "checkout", "--quiet", commit},
		{"-C", dir, "tag", "v" + version},
	}
	for _, step := range steps {
		if _, err := git(ctx, root, step...); err != nil {
			return nil, err
		}
	}
	epoch := os.Getenv("SOURCE_DATE_EPOCH")
	if epoch == "" {
		var err error
		if epoch, err = git(ctx, dir, "show", "--no-patch", "--format=%ct", commit); err != nil {
			return nil, err
		}
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	s.time = time.Unix(seconds, 0).UTC()
	s.env, err = goEnvironment(ctx)
	return s, err
}

// goEnvironment is ours without what changes the bytes of a program: of Go's variables, only those
// stay that say where modules come from and where things are kept.
func goEnvironment(ctx context.Context) ([]string, error) {
	keep := []string{"GOCACHE", "GOMODCACHE", "GOPATH", "GOPROXY", "GOSUMDB", "GONOSUMDB", "GOPRIVATE", "GONOPROXY",
		"GOINSECURE", "GOTMPDIR"}
	said, err := exec.CommandContext(ctx, "go", append([]string{"env", "-json"}, keep...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	values := map[string]string{}
	if err := json.Unmarshal(said, &values); err != nil {
		return nil, err
	}
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "GO") || strings.HasPrefix(v, "CGO_")
	})
	for _, key := range keep {
		if values[key] != "" {
			env = append(env, key+"="+values[key])
		}
	}
	return append(env, "GOENV=off", "GOFLAGS=", "GOTOOLCHAIN=local", "GOWORK=off", "CGO_ENABLED=0"), nil
}

// program is the binary of one platform.
type program struct {
	platform
	path string
	data []byte
	info *debug.BuildInfo
}

// compile builds for one platform, and reads back what Go stamped.
func (s *source) compile(ctx context.Context, p platform, dir string) (*program, error) {
	out := &program{platform: p, path: filepath.Join(dir, p.os+"-"+p.arch, p.binary())}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=true", "-tags=grpcnotrace", "-ldflags=-s -w -buildid=", "-o",
		out.path, "./cmd/pagetools")
	cmd.Dir = s.dir
	cmd.Env = append(slices.Clone(s.env), "GOOS="+p.os, "GOARCH="+p.arch)
	if said, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building for %s: %w\n%s", p, err, said)
	}
	var err error
	if out.data, err = os.ReadFile(out.path); err != nil {
		return nil, err
	}
	if out.info, err = buildinfo.Read(bytes.NewReader(out.data)); err != nil {
		return nil, fmt.Errorf("reading what is built for %s: %w", p, err)
	}
	if out.info.Main.Version != "v"+s.version {
		return nil, fmt.Errorf("what is built for %s says that it is %s and not v%s", p, out.info.Main.Version, s.version)
	}
	return out, nil
}

// native returns the program of this machine, which is built for it when it is not among those.
func (s *source) native(ctx context.Context, programs []*program, dir string) (*program, error) {
	here := platform{runtime.GOOS, runtime.GOARCH}
	for _, p := range programs {
		if p.platform == here {
			return p, nil
		}
	}
	return s.compile(ctx, here, dir)
}

// starts runs the program, and compares what it says of itself.
func (s *source) starts(ctx context.Context, p *program) error {
	var said struct{ Version, Commit, OS, Arch string }
	out, err := command(ctx, p, "version", "--format", "json").Output()
	if err == nil {
		err = json.Unmarshal(out, &said)
	}
	if err != nil {
		return fmt.Errorf("asking the program for its version: %w", err)
	}
	if said.Version != "v"+s.version || said.Commit != s.commit || said.OS != p.os || said.Arch != p.arch {
		return fmt.Errorf("the program for %s says that it is %+v, not v%s of %s", p, said, s.version, s.commit)
	}
	return nil
}

// command runs the program as on a machine of somebody else: no settings of ours.
func command(ctx context.Context, p *program, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.path, args...)
	cmd.Dir = filepath.Dir(p.path)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PAGETOOLS_") })
	return cmd
}

// moduleFolders returns the folder of each module that a platform's program is made of.
func (s *source) moduleFolders(ctx context.Context, p platform) (map[string]string, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-f",
		`{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}`+"\t"+`{{.Dir}}{{end}}{{end}}`, "./cmd/pagetools")
	cmd.Dir = s.dir
	cmd.Env = append(slices.Clone(s.env), "GOOS="+p.os, "GOARCH="+p.arch)
	said, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("listing the modules for %s: %w", p, err)
	}
	folders := map[string]string{}
	for line := range strings.Lines(string(said)) {
		if name, dir, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			folders[name] = dir
		}
	}
	return folders, nil
}

// goRoot returns where Go itself is, with its licence.
func (s *source) goRoot(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "env", "GOROOT")
	cmd.Env = s.env
	said, err := cmd.Output()
	return strings.TrimSpace(string(said)), err
}

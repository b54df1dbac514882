package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	nfpmfiles "github.com/goreleaser/nfpm/v2/files"
	"github.com/goreleaser/nfpm/v2/rpm"
)

// distribution holds the differences between the packages of Debian's kin and of Fedora's.
type distribution struct {
	from       string
	packager   nfpm.Packager
	recommends string
	zsh        string // the folder of completions
	fish       string
	docs       string
	name       func(version, arch string) string
}

var distributions = []distribution{
	{
		from: "deb", packager: deb.Default, recommends: "chromium-headless-shell | chromium",
		zsh: "usr/share/zsh/vendor-completions", fish: "usr/share/fish/vendor_completions.d",
		docs: "usr/share/doc/pagetools",
		name: func(version, arch string) string { return "pagetools_" + version + "_" + arch + ".deb" },
	},
	{
		from: "rpm", packager: rpm.DefaultRPM, recommends: "(chromium-headless or chromium)",
		zsh: "usr/share/zsh/site-functions", fish: "usr/share/fish/vendor_completions.d",
		docs: "usr/share/doc/pagetools",
		name: func(version, arch string) string {
			return "pagetools-" + version + "-1." + map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[arch] + ".rpm"
		},
	},
}

// packLinux writes the deb and the rpm of each architecture.
func (r *release) packLinux(context.Context) (err error) {
	temp, err := os.MkdirTemp("", "release-packages-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	for _, p := range r.programs {
		if p.os != "linux" {
			continue
		}
		for _, d := range distributions {
			packed, err := r.packageFor(d, p, filepath.Join(temp, d.from+p.arch))
			if err != nil {
				return fmt.Errorf("the %s for %s: %w", d.from, p, err)
			}
			if err := r.write(d.name(r.version, p.arch), packed); err != nil {
				return err
			}
		}
	}
	return nil
}

// installed returns the files of a package, where they will be.
func (r *release) installed(d distribution, p *program) ([]file, error) {
	unit, err := assets.ReadFile("files/pagetools.service")
	if err != nil {
		return nil, err
	}
	files := []file{
		{name: "usr/bin/pagetools", mode: 0o755, data: p.data},
		{name: "usr/lib/systemd/system/pagetools.service", mode: 0o644, data: unit},
		{name: "usr/share/pagetools/from", mode: 0o644, data: []byte(d.from + "\n")},
		{name: "usr/share/bash-completion/completions/pagetools", mode: 0o644, data: r.doc(completions["bash"])},
		{name: d.zsh + "/_pagetools", mode: 0o644, data: r.doc(completions["zsh"])},
		{name: d.fish + "/pagetools.fish", mode: 0o644, data: r.doc(completions["fish"])},
		{name: d.docs + "/copyright", mode: 0o644, data: r.doc("LICENSE")},
		{name: d.docs + "/README.md", mode: 0o644, data: r.doc("README.md")},
		{name: d.docs + "/NOTICE", mode: 0o644, data: r.doc("NOTICE")},
		{name: d.docs + "/CHANGELOG.md", mode: 0o644, data: r.doc("CHANGELOG.md")},
	}
	for _, f := range r.docs {
		if page, ok := strings.CutPrefix(f.name, "man/"); ok {
			packed, err := gzipOf(f.data)
			if err != nil {
				return nil, err
			}
			files = append(files, file{name: "usr/share/man/" + page + ".gz", mode: 0o644, data: packed})
		}
	}
	return sorted(files), nil
}

// packageFor writes one package. The library reads files, so that they are written first.
func (r *release) packageFor(d distribution, p *program, dir string) ([]byte, error) {
	files, err := r.installed(d, p)
	if err != nil {
		return nil, err
	}
	var contents nfpmfiles.Contents
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, f.data, 0o600); err != nil {
			return nil, err
		}
		contents = append(contents, &nfpmfiles.Content{Source: path, Destination: "/" + f.name,
			FileInfo: &nfpmfiles.ContentFileInfo{Owner: "root", Group: "root", Mode: f.mode, MTime: r.time,
				Size: int64(len(f.data))}})
	}
	info := &nfpm.Info{
		Name: "pagetools", Arch: p.arch, Platform: "linux", Version: r.version, Release: "1", MTime: r.time,
		Maintainer: authors + " <pagetools@users.noreply.github.com>", Vendor: authors, Homepage: repositoryURL,
		License: "MIT", Description: description + ".", DisableGlobbing: true,
		Overridables: nfpm.Overridables{Contents: contents, Recommends: []string{d.recommends},
			RPM: nfpm.RPM{BuildHost: "pagetools"}},
	}
	if d.from == "deb" { // its revision is of what is not upstream's, and this is
		info.Release, info.Section, info.Priority = "", "net", "optional"
	}
	info = nfpm.WithDefaults(info)
	if err := nfpm.PrepareForPackager(info, d.from); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = d.packager.Package(info, &out)
	return out.Bytes(), err
}

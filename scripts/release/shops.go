package main

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"strings"
	"text/template"
	"time"
)

// archive is one that a shop's file points to.
type archive struct{ CPU, URL, SHA256 string }

// Upper is the digest as winget writes it.
func (a archive) Upper() string { return strings.ToUpper(a.SHA256) }

// brewSystem has the archives of one system, in Homebrew's words.
type brewSystem struct {
	System   string
	Archives []archive
}

// shopPage fills the templates of shops.
type shopPage struct {
	Version, Date, Homepage, Description, Authors, ServerName string
	Keywords                                                  []string
	Homebrew                                                  []brewSystem
	Windows                                                   []archive
}

func (r *release) shopPage() shopPage {
	page := shopPage{Version: r.version, Date: r.time.Format(time.DateOnly), Homepage: repositoryURL,
		Description: description, Authors: authors, ServerName: serverName, Keywords: keywords}
	brew := []brewSystem{{System: "macos"}, {System: "linux"}}
	for _, p := range r.programs {
		name := r.archives[p.platform]
		a := archive{p.arch, downloads(r.version) + name, r.sums[name]}
		if p.os == "windows" {
			_, a.CPU = p.npmSystem()
			page.Windows = append(page.Windows, a)
			continue
		}
		if a.CPU == "amd64" {
			a.CPU = "intel"
		} else {
			a.CPU = "arm"
		}
		i := 0
		if p.os == "linux" {
			i = 1
		}
		brew[i].Archives = append(brew[i].Archives, a)
	}
	for _, system := range brew {
		if len(system.Archives) > 0 {
			page.Homebrew = append(page.Homebrew, system)
		}
	}
	return page
}

// fill fills a template of files.
func (page shopPage) fill(name string) ([]byte, error) {
	t, err := template.New(path.Base(name)).Option("missingkey=error").ParseFS(assets, "files/"+name)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, page)
	return out.Bytes(), err
}

// scoop is the manifest of a bucket.
type scoop struct {
	Version      string               `json:"version"`
	Description  string               `json:"description"`
	Homepage     string               `json:"homepage"`
	License      string               `json:"license"`
	Architecture map[string]scoopFile `json:"architecture"`
	PostInstall  []string             `json:"post_install"`
	Bin          string               `json:"bin"`
	Notes        string               `json:"notes"`
	CheckVersion map[string]string    `json:"checkver"`
	AutoUpdate   scoopUpdate          `json:"autoupdate"`
}

type scoopFile struct {
	URL  string `json:"url"`
	Hash string `json:"hash,omitempty"`
}

type scoopUpdate struct {
	Architecture map[string]scoopFile `json:"architecture"`
	Hash         scoopFile            `json:"hash"`
}

// scoopNames are Scoop's words for processors, by npm's.
var scoopNames = map[string]string{"x64": "64bit", "arm64": "arm64"}

func (page shopPage) scoop() scoop {
	s := scoop{Version: page.Version, Description: page.Description, Homepage: page.Homepage, License: "MIT",
		Architecture: map[string]scoopFile{}, Bin: "pagetools.exe",
		PostInstall:  []string{`Set-Content -Path "$dir\` + fromFile + `" -Value 'scoop'`},
		Notes:        "pagetools needs Chrome, Chromium or Edge. Edge is part of Windows; pagetools doctor says what it finds.",
		CheckVersion: map[string]string{"github": page.Homepage},
		AutoUpdate:   scoopUpdate{map[string]scoopFile{}, scoopFile{URL: "$baseurl/" + checksumsFile}},
	}
	for _, a := range page.Windows {
		s.Architecture[scoopNames[a.CPU]] = scoopFile{a.URL, a.SHA256}
		s.AutoUpdate.Architecture[scoopNames[a.CPU]] = scoopFile{URL: strings.ReplaceAll(a.URL, page.Version, "$version")}
	}
	return s
}

// packShops writes what Homebrew, Scoop and winget take: for a tap, a bucket, a pull request. A
// shop for whose system nothing is built gets nothing.
func (r *release) packShops(context.Context) error {
	page := r.shopPage()
	files := map[string]string{}
	if len(page.Homebrew) > 0 {
		files["homebrew/pagetools.rb"] = "shops/pagetools.rb"
	}
	if len(page.Windows) > 0 {
		for _, part := range []string{"", ".installer", ".locale.en-US"} {
			source := part
			if source == "" {
				source = ".version"
			}
			files["winget/pagetools.pagetools"+part+".yaml"] = "shops/winget" + source + ".yaml"
		}
		text, err := jsonOf(page.scoop())
		if err != nil {
			return err
		}
		if err := r.write("scoop/pagetools.json", text); err != nil {
			return err
		}
	}
	for name, source := range files {
		text, err := page.fill(source)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := r.write(name, text); err != nil {
			return err
		}
	}
	return nil
}

func (r *release) packContainerfile(context.Context) error {
	text, err := r.shopPage().fill("Containerfile")
	if err != nil {
		return err
	}
	return r.write("Containerfile", text)
}

package main

import (
	"context"
	"embed"
	"strings"
)

//go:embed files
var assets embed.FS

const (
	repositoryURL = "https://github.com/pagetools/pagetools"
	authors       = "The pagetools authors"
	// description is at most 100 characters, which the registry of MCP servers demands.
	description = "The tools that a web page declares through WebMCP, for any agent, in a browser of its own"
)

// npmPackage is a package.json. npm runs nothing when it installs one of ours: there are no
// scripts.
type npmPackage struct {
	Name        string            `json:"name"`
	Version     string            `json:"version"`
	MCPName     string            `json:"mcpName,omitempty"` // that of server.json: the registry compares them
	Description string            `json:"description"`
	Keywords    []string          `json:"keywords,omitempty"`
	Homepage    string            `json:"homepage"`
	Bugs        string            `json:"bugs"`
	Repository  repository        `json:"repository"`
	License     string            `json:"license"`
	Author      string            `json:"author"`
	Bin         map[string]string `json:"bin,omitempty"`
	Files       []string          `json:"files"`
	Engines     map[string]string `json:"engines,omitempty"`
	OS          []string          `json:"os,omitempty"`
	CPU         []string          `json:"cpu,omitempty"`
	// Unplugged is for Yarn, which would leave the program in an archive.
	Unplugged bool `json:"preferUnplugged,omitempty"`
	// Optional are the packages of all platforms; npm takes the one that fits.
	Optional map[string]string `json:"optionalDependencies,omitempty"`
}

type repository struct {
	Type string `json:"type"`
	URL  string `json:"url"`
}

// npmSystem is a platform in the words of npm and Node.
func (p platform) npmSystem() (system, cpu string) {
	system, cpu = p.os, p.arch
	if system == "windows" {
		system = "win32"
	}
	if cpu == "amd64" {
		cpu = "x64"
	}
	return system, cpu
}

func (r *release) npmBase(name, about string) npmPackage {
	return npmPackage{Name: name, Version: r.version, Description: about, Homepage: repositoryURL + "#readme",
		Bugs: repositoryURL + "/issues", Repository: repository{"git", "git+" + repositoryURL + ".git"},
		License: "MIT", Author: authors, Files: []string{"bin"}}
}

// npmMain is the package that people name.
func (r *release) npmMain() npmPackage {
	p := r.npmBase("pagetools", description)
	p.MCPName, p.Keywords = serverName, keywords
	p.Bin = map[string]string{"pagetools": "bin/pagetools.js"}
	p.Engines = map[string]string{"node": ">=18"}
	p.Optional = map[string]string{}
	for _, of := range allPlatforms { // of all, whatever is built now: the package is the same
		system, cpu := of.npmSystem()
		p.Optional["@pagetools/"+system+"-"+cpu] = r.version
	}
	return p
}

// npmPlatform is the package with the program of a platform. A static program needs no libc.
func (r *release) npmPlatform(of platform) npmPackage {
	system, cpu := of.npmSystem()
	p := r.npmBase("@pagetools/"+system+"-"+cpu, "The program of pagetools for "+system+"-"+cpu)
	p.OS, p.CPU, p.Unplugged = []string{system}, []string{cpu}, true
	return p
}

// packNPM writes the packages as npm pack would, whose bytes depend on its version.
func (r *release) packNPM(context.Context) error {
	launcher, err := assets.ReadFile("files/npm/pagetools.js")
	if err != nil {
		return err
	}
	about, err := assets.ReadFile("files/npm/README.md")
	if err != nil {
		return err
	}
	if err := r.writeNPM(r.npmMain(), file{name: "bin/pagetools.js", mode: 0o755, data: launcher},
		file{name: "README.md", mode: 0o644, data: about}); err != nil {
		return err
	}
	for _, p := range r.programs {
		of := r.npmPlatform(p.platform)
		if err := r.writeNPM(of, file{name: "bin/" + p.binary(), mode: 0o755, data: p.data},
			file{name: "bin/" + fromFile, mode: 0o644, data: []byte("npm\n")},
			file{name: "bin/NOTICE", mode: 0o644, data: r.doc("NOTICE")},
			file{name: "README.md", mode: 0o644, data: []byte("# " + of.Name + "\n\n" + of.Description +
				". Install the package pagetools, which brings it: " + repositoryURL + "\n")}); err != nil {
			return err
		}
	}
	return nil
}

func (r *release) writeNPM(of npmPackage, files ...file) error {
	text, err := jsonOf(of)
	if err != nil {
		return err
	}
	files = append(files, file{name: "package.json", mode: 0o644, data: text},
		file{name: "LICENSE", mode: 0o644, data: r.doc("LICENSE")})
	for i := range files {
		files[i].name = "package/" + files[i].name
	}
	packed, err := tarGzip(files, r.time)
	if err != nil {
		return err
	}
	name := strings.ReplaceAll(strings.TrimPrefix(of.Name, "@"), "/", "-")
	return r.write("npm/"+name+"-"+r.version+".tgz", packed)
}

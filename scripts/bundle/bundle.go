package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"strings"
	"time"
)

const (
	repositoryURL = "https://github.com/pagetools/pagetools"
	// description is at most 100 characters, which the registry demands.
	description = "The tools that a web page declares through WebMCP, for any agent, in a browser of its own"
	// entryPoint is where the program is in a bundle.
	entryPoint = "server/pagetools"
	siteHelp   = "The page whose tools are wanted, such as https://shop.example/, or a folder with an index.html"
)

type platform struct{ os, arch string }

func parsePlatform(text string) (platform, error) {
	system, arch, ok := strings.Cut(text, "/")
	if !ok || (system != "linux" && system != "darwin") || arch == "" {
		return platform{}, fmt.Errorf("the platform %q is not one of %s", text, allPlatforms)
	}
	return platform{system, arch}, nil
}

// bundle is one that was built.
type bundle struct {
	platform
	file     string // its name
	sha256   string
	manifest string // a copy outside of it, for the checker
}

type file struct {
	name string
	mode fs.FileMode
	data []byte
}

// pack makes a zip in which nothing depends on when and where it was made.
func pack(files []file) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate,
			Modified: time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)}
		h.SetMode(f.mode)
		part, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := part.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// manifest is a bundle's manifest.json, version 0.3 of the format:
// https://github.com/modelcontextprotocol/mcpb/blob/main/MANIFEST.md
type manifest struct {
	ManifestVersion string                `json:"manifest_version"`
	Name            string                `json:"name"`
	DisplayName     string                `json:"display_name"`
	Version         string                `json:"version"`
	Description     string                `json:"description"`
	Author          author                `json:"author"`
	Repository      repository            `json:"repository"`
	License         string                `json:"license"`
	Keywords        []string              `json:"keywords"`
	Server          manifestServer        `json:"server"`
	ToolsGenerated  bool                  `json:"tools_generated"` // they are the page's
	Compatibility   compatibility         `json:"compatibility"`
	UserConfig      map[string]userConfig `json:"user_config"`
}

type author struct {
	Name string `json:"name"`
}

type repository struct {
	Type string `json:"type"`
	URL  string `json:"url"`
}

type manifestServer struct {
	Type       string    `json:"type"`
	EntryPoint string    `json:"entry_point"`
	Config     mcpConfig `json:"mcp_config"`
}

type mcpConfig struct {
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
}

type compatibility struct {
	Platforms []string `json:"platforms"`
}

type userConfig struct {
	Type        string  `json:"type"`
	Title       string  `json:"title"`
	Description string  `json:"description"`
	Required    bool    `json:"required"`
	Default     *string `json:"default,omitempty"`
}

func newManifest(version string, p platform) manifest {
	none := "" // an empty variable is as none
	return manifest{
		ManifestVersion: "0.3", Name: "pagetools", DisplayName: "pagetools", Version: version, Description: description,
		Author: author{"the pagetools authors"}, Repository: repository{"git",
			repositoryURL}, License: "MIT",
		Keywords: []string{"webmcp", "browser", "web", "tools"},
		Server: manifestServer{Type: "binary", EntryPoint: entryPoint, Config: mcpConfig{
			Command: "${__dirname}/" + entryPoint, Args: []string{"mcp", "${user_config.site}"},
			Env: map[string]string{"PAGETOOLS_EXECUTABLE_PATH": "${user_config.browser}"},
		}},
		ToolsGenerated: true, Compatibility: compatibility{[]string{p.os}},
		UserConfig: map[string]userConfig{
			"site": {Type: "string", Title: "Site", Description: siteHelp, Required: true},
			"browser": {Type: "string", Title: "Browser",
				Description: "The path of Chrome or Chromium, when it is not found by itself", Default: &none},
		},
	}
}

// schemaVersion is the version of server.json's schema.
const schemaVersion = "2025-12-11"

// server is server.json. What the program is given is in the manifest of each bundle.
// https://modelcontextprotocol.io/registry/package-types
type server struct {
	Schema      string           `json:"$schema"`
	Name        string           `json:"name"`
	Title       string           `json:"title"`
	Description string           `json:"description"`
	Repository  serverRepository `json:"repository"`
	Version     string           `json:"version"`
	Packages    []serverPackage  `json:"packages"`
}

type serverRepository struct {
	URL    string `json:"url"`
	Source string `json:"source"`
}

type serverPackage struct {
	RegistryType string    `json:"registryType"`
	Identifier   string    `json:"identifier"` // where it will be; "mcp" must be in it
	Version      string    `json:"version"`
	SHA256       string    `json:"fileSha256"`
	Transport    transport `json:"transport"`
}

type transport struct {
	Type string `json:"type"`
}

func newServer(version string, bundles []bundle) server {
	s := server{
		Schema: "https://static.modelcontextprotocol.io/schemas/" + schemaVersion + "/server.schema.json",
		Name:   "io.github.pagetools/pagetools", Title: "pagetools", Description: description,
		Repository: serverRepository{repositoryURL, "github"}, Version: version,
	}
	for _, b := range bundles {
		s.Packages = append(s.Packages, serverPackage{
			RegistryType: "mcpb", Identifier: fmt.Sprintf("%s/releases/download/v%s/%s",
				repositoryURL, version, b.file), Version: version, SHA256: b.sha256,
			Transport: transport{"stdio"},
		})
	}
	return s
}

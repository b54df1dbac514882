package main

import (
	"context"
	"fmt"
)

const siteHelp = "The page whose tools are wanted, such as https://shop.example/, or a folder with an index.html"

// keywords are for the packages that have some.
var keywords = []string{"webmcp", "mcp", "browser", "web", "tools"}

// bundle is an MCPB that was written.
type bundle struct{ file, sha256 string }

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
	system, _ := p.npmSystem()
	entryPoint := "server/" + p.binary()
	return manifest{
		ManifestVersion: "0.3", Name: "pagetools", DisplayName: "pagetools", Version: version, Description: description,
		Author: author{authors}, Repository: repository{"git", repositoryURL}, License: "MIT",
		Keywords: keywords,
		Server: manifestServer{Type: "binary", EntryPoint: entryPoint, Config: mcpConfig{
			Command: "${__dirname}/" + entryPoint, Args: []string{"mcp", "${user_config.site}"},
			Env: map[string]string{"PAGETOOLS_EXECUTABLE_PATH": "${user_config.browser}"},
		}},
		ToolsGenerated: true, Compatibility: compatibility{[]string{system}},
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
	RegistryType string           `json:"registryType"`
	Identifier   string           `json:"identifier"` // of a bundle where it will be; "mcp" must be in it
	Version      string           `json:"version"`
	SHA256       string           `json:"fileSha256,omitempty"`
	Hint         string           `json:"runtimeHint,omitempty"`
	Transport    transport        `json:"transport"`
	Arguments    []serverArgument `json:"packageArguments,omitempty"`
}

type serverArgument struct {
	Type        string `json:"type"`
	Value       string `json:"value,omitempty"`
	Hint        string `json:"valueHint,omitempty"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"isRequired,omitempty"`
}

type transport struct {
	Type string `json:"type"`
}

// serverName is the name in the registry of MCP servers.
const serverName = "io.github.pagetools/pagetools"

// newServer lists npm's package first: most clients take it. What a bundle is given is in its
// manifest.
func newServer(version string, bundles []bundle) server {
	s := server{
		Schema: "https://static.modelcontextprotocol.io/schemas/" + schemaVersion + "/server.schema.json",
		Name:   serverName, Title: "pagetools", Description: description,
		Repository: serverRepository{repositoryURL, "github"}, Version: version,
		Packages: []serverPackage{{
			RegistryType: "npm", Identifier: "pagetools", Version: version, Hint: "npx", Transport: transport{"stdio"},
			Arguments: []serverArgument{{Type: "positional", Value: "mcp"},
				{Type: "positional", Hint: "target", Description: siteHelp, Required: true}},
		}},
	}
	for _, b := range bundles {
		s.Packages = append(s.Packages, serverPackage{RegistryType: "mcpb", Identifier: downloads(version) + b.file,
			Version: version, SHA256: b.sha256, Transport: transport{"stdio"}})
	}
	return s
}

// downloads returns where the files of a release are.
func downloads(version string) string { return repositoryURL + "/releases/download/v" + version + "/" }

// packBundles writes an MCPB for each platform: a manifest can vary by system, and not by CPU.
func (r *release) packBundles(context.Context) error {
	for _, p := range r.programs {
		text, err := jsonOf(newManifest(r.version, p.platform))
		if err != nil {
			return err
		}
		packed, err := zipOf([]file{
			{name: "manifest.json", mode: 0o644, data: text},
			{name: "LICENSE", mode: 0o644, data: r.doc("LICENSE")},
			{name: "NOTICE", mode: 0o644, data: r.doc("NOTICE")},
			{name: "server/" + p.binary(), mode: 0o755, data: p.data},
			{name: "server/" + fromFile, mode: 0o644, data: []byte("mcpb\n")},
		}, r.time)
		if err != nil {
			return err
		}
		b := bundle{fmt.Sprintf("pagetools-%s-%s-%s.mcpb", r.version, p.os, p.arch), digest(packed)}
		r.bundles = append(r.bundles, b)
		if err := r.write(b.file, packed); err != nil {
			return err
		}
	}
	return nil
}

func (r *release) packServer(context.Context) error {
	text, err := jsonOf(newServer(r.version, r.bundles))
	if err != nil {
		return err
	}
	return r.write("server.json", text)
}

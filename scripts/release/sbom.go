package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// bom is a bill of materials, CycloneDX 1.6: https://cyclonedx.org/docs/1.6/json/
type bom struct {
	Format       string          `json:"bomFormat"`
	Spec         string          `json:"specVersion"`
	Serial       string          `json:"serialNumber"`
	Version      int             `json:"version"`
	Metadata     bomMetadata     `json:"metadata"`
	Components   []bomComponent  `json:"components"`
	Dependencies []bomDependency `json:"dependencies"`
}

type bomMetadata struct {
	Timestamp string       `json:"timestamp"`
	Component bomComponent `json:"component"`
}

type bomComponent struct {
	Type       string        `json:"type"`
	Ref        string        `json:"bom-ref"`
	Name       string        `json:"name"`
	Version    string        `json:"version"`
	Hashes     []bomHash     `json:"hashes,omitempty"`
	Licenses   []bomLicense  `json:"licenses,omitempty"`
	PURL       string        `json:"purl,omitempty"`
	Properties []bomProperty `json:"properties,omitempty"`
}

type bomHash struct {
	Alg     string `json:"alg"`
	Content string `json:"content"`
}

type bomLicense struct {
	License map[string]string `json:"license"`
}

type bomProperty struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type bomDependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn,omitempty"`
}

func purl(path, version string) string { return "pkg:golang/" + path + "@" + version }

// library is a module that a program says it is made of.
func library(m *debug.Module) bomComponent {
	if m.Replace != nil {
		m = m.Replace
	}
	ref := purl(m.Path, m.Version)
	c := bomComponent{Type: "library", Ref: ref, Name: m.Path, Version: m.Version, PURL: ref}
	if m.Sum != "" {
		c.Properties = []bomProperty{{"golang:sum", m.Sum}}
	}
	return c
}

// packSBOM writes what each program says of itself: no scanner looks at it.
func (r *release) packSBOM(context.Context) error {
	main := purl(modulePath, "v"+r.version)
	components := map[string]bomComponent{}
	dependencies := []bomDependency{{Ref: main}}
	var all strings.Builder
	for _, p := range r.programs {
		ref := main + "?goos=" + p.os + "&goarch=" + p.arch
		sum := digest(p.data)
		all.WriteString(sum)
		components[ref] = bomComponent{Type: "application", Ref: ref, Name: p.binary() + " for " + p.String(),
			Version: "v" + r.version, Hashes: []bomHash{{"SHA-256", sum}}}
		dependencies[0].DependsOn = append(dependencies[0].DependsOn, ref)
		of := bomDependency{Ref: ref}
		std := &debug.Module{Path: "std", Version: strings.TrimPrefix(p.info.GoVersion, "go")}
		for _, m := range append([]*debug.Module{std}, p.info.Deps...) {
			c := library(m)
			components[c.Ref] = c
			of.DependsOn = append(of.DependsOn, c.Ref)
		}
		slices.Sort(of.DependsOn)
		dependencies = append(dependencies, of)
	}
	for _, ref := range slices.Sorted(maps.Keys(components)) {
		if components[ref].Type == "library" {
			dependencies = append(dependencies, bomDependency{Ref: ref})
		}
	}
	text, err := jsonOf(bom{
		Format: "CycloneDX", Spec: "1.6", Serial: uuid(all.String()), Version: 1,
		Metadata: bomMetadata{r.time.Format(time.RFC3339), bomComponent{Type: "application", Ref: main,
			Name: "pagetools", Version: "v" + r.version, PURL: main, Licenses: []bomLicense{{map[string]string{"id": "MIT"}}}}},
		Components: slices.SortedFunc(maps.Values(components), func(a, b bomComponent) int {
			return cmp.Compare(a.Ref, b.Ref)
		}),
		Dependencies: dependencies,
	})
	if err != nil {
		return err
	}
	return r.write("sbom.cdx.json", text)
}

// uuid names a document by what is in it, as a UUID of version 8.
func uuid(text string) string {
	sum := sha256.Sum256([]byte(text))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

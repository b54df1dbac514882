package main

import (
	"context"
	"encoding/json"
	"io/fs"
	"time"
)

// imageUser runs the program in the image; nothing there is root's to run.
const imageUser = 65532

// The types of the parts of an image:
// https://github.com/opencontainers/image-spec/blob/main/media-types.md
const (
	typeIndex    = "application/vnd.oci.image.index.v1+json"
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    *imagePlatform    `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type imagePlatform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
	Variant      string `json:"variant,omitempty"`
}

type imageIndex struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType"`
	Manifests     []descriptor      `json:"manifests"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

type imageManifest struct {
	SchemaVersion int               `json:"schemaVersion"`
	MediaType     string            `json:"mediaType"`
	Config        descriptor        `json:"config"`
	Layers        []descriptor      `json:"layers"`
	Annotations   map[string]string `json:"annotations,omitempty"`
}

type imageConfig struct {
	imagePlatform
	Created time.Time      `json:"created"`
	Config  imageRun       `json:"config"`
	RootFS  imageRootFS    `json:"rootfs"`
	History []imageHistory `json:"history"`
}

type imageRun struct {
	User       string              `json:"User"`
	Ports      map[string]struct{} `json:"ExposedPorts"`
	Env        []string            `json:"Env"`
	Entrypoint []string            `json:"Entrypoint"`
	WorkingDir string              `json:"WorkingDir"`
	Labels     map[string]string   `json:"Labels"`
}

type imageRootFS struct {
	Type    string   `json:"type"`
	DiffIDs []string `json:"diff_ids"`
}

type imageHistory struct {
	Created   time.Time `json:"created"`
	CreatedBy string    `json:"created_by"`
}

// blob writes a part of the image.
func (r *release) blob(mediaType string, data []byte) (descriptor, error) {
	sum := digest(data)
	return descriptor{MediaType: mediaType, Digest: "sha256:" + sum, Size: len(data)},
		r.write("oci/blobs/sha256/"+sum, data)
}

func (r *release) jsonBlob(mediaType string, v any) (descriptor, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return descriptor{}, err
	}
	return r.blob(mediaType, data)
}

// labels say what the image is; a registry of MCP servers compares the last one.
func (r *release) labels() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title": "pagetools", "org.opencontainers.image.description": description,
		"org.opencontainers.image.source": repositoryURL, "org.opencontainers.image.version": r.version,
		"org.opencontainers.image.revision": r.commit, "org.opencontainers.image.licenses": "MIT",
		"org.opencontainers.image.created":    r.time.Format(time.RFC3339),
		"io.modelcontextprotocol.server.name": serverName,
	}
}

// packImage writes an image layout for each architecture of Linux: the program alone, for a browser
// in another container, named with --browser-url.
func (r *release) packImage(context.Context) error {
	all := imageIndex{SchemaVersion: 2, MediaType: typeIndex, Annotations: r.labels()}
	for _, p := range r.programs {
		if p.os != "linux" {
			continue
		}
		manifest, err := r.imageFor(p)
		if err != nil {
			return err
		}
		all.Manifests = append(all.Manifests, manifest)
	}
	if len(all.Manifests) == 0 {
		return nil
	}
	top, err := r.jsonBlob(typeIndex, all)
	if err != nil {
		return err
	}
	top.Annotations = map[string]string{"org.opencontainers.image.ref.name": r.version}
	text, err := jsonOf(imageIndex{SchemaVersion: 2, MediaType: typeIndex, Manifests: []descriptor{top}})
	if err != nil {
		return err
	}
	if err := r.write("oci/index.json", text); err != nil {
		return err
	}
	return r.write("oci/oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`+"\n"))
}

// imageFiles returns the files of the one layer. The folders are the program's to write.
func (r *release) imageFiles(p *program) []file {
	return []file{
		{name: "pagetools", mode: 0o755, data: p.data},
		{name: fromFile, mode: 0o644, data: []byte("oci\n")},
		{name: "LICENSE", mode: 0o644, data: r.doc("LICENSE")},
		{name: "NOTICE", mode: 0o644, data: r.doc("NOTICE")},
		{name: "data", mode: fs.ModeDir | 0o700, owner: imageUser},
		{name: "tmp", mode: fs.ModeDir | fs.ModeSticky | 0o777},
	}
}

func (r *release) imageFor(p *program) (descriptor, error) {
	layer, err := tarOf(r.imageFiles(p), r.time)
	if err != nil {
		return descriptor{}, err
	}
	packed, err := gzipOf(layer)
	if err != nil {
		return descriptor{}, err
	}
	blob, err := r.blob(typeLayer, packed)
	if err != nil {
		return descriptor{}, err
	}
	of := imagePlatform{Architecture: p.arch, OS: p.os}
	if p.arch == "arm64" {
		of.Variant = "v8"
	}
	config, err := r.jsonBlob(typeConfig, imageConfig{
		imagePlatform: of, Created: r.time,
		Config: imageRun{User: "65532:65532", Ports: map[string]struct{}{"7300/tcp": {}}, WorkingDir: "/data",
			Env:        []string{"HOME=/data", "PAGETOOLS_DATA_DIR=/data", "PAGETOOLS_LISTEN=0.0.0.0:7300", "PAGETOOLS_CONSOLE_LISTEN=off"},
			Entrypoint: []string{"/pagetools"}, Labels: r.labels()},
		RootFS:  imageRootFS{"layers", []string{"sha256:" + digest(layer)}},
		History: []imageHistory{{r.time, "make release VERSION=" + r.version}},
	})
	if err != nil {
		return descriptor{}, err
	}
	manifest, err := r.jsonBlob(typeManifest, imageManifest{SchemaVersion: 2, MediaType: typeManifest, Config: config,
		Layers: []descriptor{blob}, Annotations: r.labels()})
	manifest.Platform = &of
	return manifest, err
}

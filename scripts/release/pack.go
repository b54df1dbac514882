package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
)

// file is one that goes into a package.
type file struct {
	name  string // with slashes; of a folder, too
	mode  fs.FileMode
	data  []byte
	owner int // 0 but in the image
}

func sorted(files []file) []file {
	return slices.SortedFunc(slices.Values(files), func(a, b file) int { return cmp.Compare(a.name, b.name) })
}

// tarOf packs files in the order of their names. Nothing in it depends on when and where it is
// made.
func tarOf(files []file, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, f := range sorted(files) {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Size: int64(len(f.data)), Mode: int64(f.mode.Perm()),
			Uid: f.owner, Gid: f.owner, ModTime: at, Format: tar.FormatUSTAR}
		if f.mode&fs.ModeSticky != 0 {
			h.Mode |= 0o1000
		}
		if f.mode.IsDir() {
			h.Typeflag, h.Name = tar.TypeDir, f.name+"/"
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, fmt.Errorf("packing %s: %w", f.name, err)
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, fmt.Errorf("packing %s: %w", f.name, err)
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

// gzipOf compresses without a name and a time.
func gzipOf(data []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w.ModTime = time.Unix(0, 0) // none
	_, err = w.Write(data)
	err = errors.Join(err, w.Close())
	return out.Bytes(), err
}

func tarGzip(files []file, at time.Time) ([]byte, error) {
	packed, err := tarOf(files, at)
	if err != nil {
		return nil, err
	}
	return gzipOf(packed)
}

// zipOf packs files in the order of their names, too.
func zipOf(files []file, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range sorted(files) {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at.UTC()}
		h.SetMode(f.mode)
		part, err := w.CreateHeader(h)
		if err != nil {
			return nil, fmt.Errorf("packing %s: %w", f.name, err)
		}
		if _, err := part.Write(f.data); err != nil {
			return nil, fmt.Errorf("packing %s: %w", f.name, err)
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// jsonOf writes for people who read it.
func jsonOf(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return out.Bytes(), err
}

// dist is the folder that a release is written to.
type dist struct {
	to   string
	sums map[string]string // SHA-256 by name
}

// newDist empties the folder. One that has something else than a release in it stays as it is.
func newDist(dir string) (*dist, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	ours := slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == checksumsFile })
	if len(entries) > 0 && !ours {
		return nil, fmt.Errorf("%s is not empty and has no %s of an older release: name another folder", dir, checksumsFile)
	}
	return &dist{dir, map[string]string{}}, os.RemoveAll(dir)
}

// write writes a file with everything that is above it. What is published may be read by everyone.
func (d *dist) write(name string, data []byte) error {
	path := filepath.Join(d.to, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // see above
		return err
	}
	d.sums[name] = digest(data)
	return os.WriteFile(path, data, 0o644) //nolint:gosec // see above
}

const checksumsFile = "checksums.txt"

// checksums is the list of all files, as sha256sum writes and reads it.
func (d *dist) checksums() []byte {
	var lines []string
	for name, sum := range d.sums {
		lines = append(lines, sum+"  "+name+"\n")
	}
	slices.SortFunc(lines, func(a, b string) int { return cmp.Compare(a[64:], b[64:]) })
	return []byte(strings.Join(lines, ""))
}

// sameFiles compares two folders byte by byte, and names every file that differs.
func sameFiles(a, b string) error {
	one, err := readAll(a)
	if err != nil {
		return err
	}
	two, err := readAll(b)
	if err != nil {
		return err
	}
	var wrong []error
	for name, sum := range one {
		switch other, ok := two[name]; {
		case !ok:
			wrong = append(wrong, fmt.Errorf("%s is missing in the second build", name))
		case other != sum:
			wrong = append(wrong, fmt.Errorf("%s differs between two builds", name))
		}
		delete(two, name)
	}
	for name := range two {
		wrong = append(wrong, fmt.Errorf("%s is missing in the first build", name))
	}
	if len(one) == 0 {
		wrong = append(wrong, fmt.Errorf("%s is empty", a))
	}
	return errors.Join(wrong...)
}

// readAll returns the digest and the mode of every file below a folder.
func readAll(dir string) (map[string]string, error) {
	all, tree := map[string]string{}, os.DirFS(dir)
	err := fs.WalkDir(tree, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		all[name] = info.Mode().String() + " " + digest(data)
		return nil
	})
	return all, err
}

package main

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"mime"
	"os"
	"path/filepath"
	"strings"

	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
)

// fileForm says how an argument takes a file: as a text, or as an object with these members, of
// which name and mime may be "".
type fileForm struct {
	list             bool // of files
	data, name, mime string
}

// fileFor returns how the argument takes a file; nil when it takes none.
func fileFor(declared json.RawMessage, argument string) *fileForm {
	d, of := describing(declared)
	for _, p := range d.members(of) {
		if p.name == argument {
			return d.takesFile(p.of, maxNesting)
		}
	}
	return nil
}

func (d *outline) takesFile(of []shape, depth int) *fileForm {
	if depth == 0 {
		return nil
	}
	for _, s := range of {
		if strings.EqualFold(s.get("contentEncoding").String(), "base64") {
			return &fileForm{}
		}
		if f := d.takesFile([]shape{d.at(s.get("items"))}, depth-1); f != nil && !f.list {
			f.list = true
			return f
		}
		f := &fileForm{}
		for _, p := range d.members([]shape{s}) {
			switch inner := d.takesFile(p.of, 1); {
			case inner != nil && f.data == "":
				f.data = p.name
			case p.name == "name", p.name == "filename":
				f.name = p.name
			case p.name == "type", p.name == "mediaType":
				f.mime = p.name
			}
		}
		if f.data != "" {
			return f
		}
	}
	return nil
}

// read reads a file as the argument takes it; before holds the value so far.
func (f *fileForm) read(path string, before json.RawMessage) (json.RawMessage, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, notRead(path, err)
	}
	defer func() { _ = file.Close() }()
	b, err := io.ReadAll(io.LimitReader(file, schema.MaxFile+1))
	switch {
	case err != nil:
		return nil, notRead(path, err)
	case len(b) > schema.MaxFile:
		return nil, terminal.Usage("%s must be at most %d bytes long", text.Line(path), schema.MaxFile)
	}
	var value any = base64.StdEncoding.EncodeToString(b)
	if f.data != "" {
		members := map[string]any{f.data: value}
		if f.name != "" {
			members[f.name] = filepath.Base(path)
		}
		if kind, _, err := mime.ParseMediaType(mime.TypeByExtension(filepath.Ext(path))); err == nil && f.mime != "" {
			members[f.mime] = kind
		}
		value = members
	}
	if f.list {
		var all []json.RawMessage
		if before != nil && json.Unmarshal(before, &all) != nil {
			all = nil
		}
		return json.Marshal(append(all, schema.MustEncode(value)))
	}
	return json.Marshal(value)
}

func notRead(path string, err error) error {
	return terminal.Usage("%s %w", text.Line(path), config.Problem(err))
}

// fileArgument reads KEY=@FILE where the argument takes a file. Elsewhere "@" is a character.
func fileArgument(declared json.RawMessage, key, words string, in map[string]json.RawMessage) (bool, error) {
	path, at := strings.CutPrefix(words, "@")
	if !at {
		return false, nil
	}
	f := fileFor(declared, key)
	if f == nil {
		return false, nil
	}
	value, err := f.read(path, in[key])
	if err == nil {
		in[key] = value
	}
	return true, err
}

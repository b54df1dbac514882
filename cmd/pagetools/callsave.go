package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
)

// saveDir is the folder of --save.
type saveDir string

// open opens the folder, and makes it where it is not there.
func (d saveDir) open(conf *config.Config) (*os.Root, error) {
	if d == "" {
		return nil, nil //nolint:nilnil // nothing is saved
	}
	if !conf.Saves() {
		return nil, terminal.Usage("--save cannot be used here: it needs --downloads results, and a browser that pagetools starts")
	}
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return nil, terminal.Usage("--save: %s %w", text.Line(string(d)), config.Problem(err))
	}
	root, err := os.OpenRoot(string(d)) // nothing that the page says leads out of it
	if err != nil {
		return nil, terminal.Usage("--save: %s %w", text.Line(string(d)), config.Problem(err))
	}
	return root, nil
}

// whyNoFile says in words for a person why there is no content.
var whyNoFile = map[bridge.FileState]string{
	bridge.FileTooLarge: "it is too large, and not kept", bridge.FileUnfinished: "it did not come in time",
	bridge.FileDenied: "it is denied, because a call gets few files",
}

// takeFiles says what files a call has, and writes them into the folder, where there is one.
func takeFiles(p *program, b *bridge.Bridge, saved []bridge.File, into *os.Root) error {
	for _, told := range saved {
		if why := whyNoFile[told.State]; why != "" {
			p.sayFile("%s: %s", text.Line(told.Name), why)
			continue
		}
		where := ""
		if f, ok := b.File(bridge.Local(), told.ID); ok && into != nil {
			name, err := saveAs(into, safeName(f.Name), f.Data)
			if err != nil {
				return terminal.Usage("--save: %w", err)
			}
			where = ", saved as " + text.Line(filepath.Join(into.Name(), name))
		}
		p.sayFile("%s (%d bytes)%s", text.Line(told.Name), told.Bytes, where)
	}
	return nil
}

// sayFile says what became of a file, in a line that other programs may read.
func (p *program) sayFile(format string, args ...any) {
	if !p.conf.Quiet {
		fmt.Fprintf(p.stderr, "file: "+format+"\n", args...)
	}
}

// maxSameName bounds the files of one name in a folder.
const maxSameName = 1000

// saveAs writes a file under the name, or with a number where there is a file of that name. It
// returns the name that it has.
func saveAs(into *os.Root, name string, data []byte) (string, error) {
	end := path.Ext(name)
	begin := strings.TrimSuffix(name, end)
	for n := 1; n <= maxSameName; n++ {
		if n > 1 {
			name = fmt.Sprintf("%s (%d)%s", begin, n, end)
		}
		f, err := into.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", config.Problem(err)
		}
		_, err = f.Write(data)
		if err = errors.Join(err, f.Close()); err != nil {
			_ = into.Remove(name) // a part of a file is none
			return "", config.Problem(err)
		}
		return name, nil
	}
	return "", fmt.Errorf("there are %d files named %s", maxSameName, name)
}

// maxSafeName and maxSafeEnd bound the bytes of a cleaned name, and of what follows its last dot.
const maxSafeName, maxSafeEnd = 200, 16

// devices are names that Windows keeps for itself, with any end.
var devices = map[string]bool{"con": true, "prn": true, "aux": true, "nul": true, "conin$": true, "conout$": true}

// safeName returns a page's name for a file as one that means a file in the folder on every system.
func safeName(name string) string {
	name = strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>|`, r) || r == utf8.RuneError || r < ' ' || r == 0x7f {
			return '_'
		}
		return r
	}, text.Line(name))
	name = strings.TrimRight(name, ". ")
	if name != "" && strings.ContainsRune(".-~ ", rune(name[0])) {
		name = "_" + name[1:]
	}
	if end := path.Ext(name); len(name) > maxSafeName && len(end) <= maxSafeEnd {
		name = text.Bytes(strings.TrimSuffix(name, end), maxSafeName-len(end)) + end
	}
	name = strings.TrimRight(text.Bytes(name, maxSafeName), ". ")
	first, _, _ := strings.Cut(strings.ToLower(name), ".")
	first = strings.TrimRight(first, " ")
	port := len(first) > 3 && (first[:3] == "com" || first[:3] == "lpt") && utf8.RuneCountInString(first) == 4
	switch {
	case name == "":
		return "file"
	case devices[first] || port:
		return "_" + name
	}
	return name
}

package adapter

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"

	"github.com/pagetools/pagetools/bridge/files"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/js"
)

// PageServers is the name of the adapter of the binary for MCP servers in pages.
const PageServers = "page-servers"

// Builtin opens the names of the adapters that are part of the binary.
const Builtin = "builtin:"

// address is the beginning of a URL; a drive of Windows has one letter.
var address = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]+:`)

// Read reads an adapter from a file, which only its user may be able to change.
func Read(file string) (*Adapter, error) {
	name, builtin := strings.CutPrefix(file, Builtin)
	switch {
	case builtin:
		return builtIn(name)
	case address.MatchString(file):
		return nil, fmt.Errorf("%s: an adapter is code with your login: download it, read it, "+
			"name the file", text.Quote(file))
	}
	info, err := os.Stat(file)
	if err == nil {
		err = mine(file, info)
	}
	if err != nil {
		return nil, unread(file, err)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, unread(file, err)
	}
	defer func() { _ = f.Close() }()
	if opened, err := f.Stat(); err != nil || !os.SameFile(info, opened) {
		return nil, fmt.Errorf("%s was replaced while it was read: try again", file)
	}
	content, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return nil, unread(file, err)
	}
	return Parse(file, content)
}

// errNotFile says that a name is of something else than a file.
var errNotFile = errors.New("is not a file")

func unread(file string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no file %s", file)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s is closed to this user", file)
	case errors.Is(err, errNotFile):
		return fmt.Errorf("%s is not a file of JavaScript", file)
	}
	return err
}

// mine refuses a file that others can change: they would act with the user's logins.
func mine(file string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return errNotFile
	}
	why, err := files.Writers(file)
	if err == nil && why != "" {
		err = fmt.Errorf("others can write to %s, which %s, and an adapter is code with your login: "+
			"read it, and use a copy of your own, or %s", file, why, files.ToClose(file))
	}
	return err
}

// builtIn returns an adapter of the binary.
func builtIn(name string) (*Adapter, error) {
	if name == PageServers {
		a, err := Parse(Builtin+name, []byte(js.PageServers))
		if err == nil {
			a.Quiet = true
		}
		return a, err
	}
	return nil, fmt.Errorf("there is no adapter %s: there is %s", text.Quote(Builtin+name),
		Builtin+PageServers)
}

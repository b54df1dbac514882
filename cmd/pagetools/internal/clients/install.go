package clients

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/pagetools/pagetools/bridge/files"
)

// Written is what became of a client's file.
type Written struct {
	Path   string
	Same   bool   // the server was there already
	Backup string // empty: there was no file
}

// Install puts the server into the client's file. On an error the file is as it was.
func (c *Client) Install(s Server) (Written, error) {
	path, err := c.File()
	if err != nil {
		return Written{}, err
	}
	w, err := c.write(path, s, time.Now)
	w.Path = path
	return w, err
}

// write edits the file at a path, whole or not at all. The folder may be
// missing. A link is followed: those who keep such files elsewhere link to them.
func (c *Client) write(path string, s Server, now func() time.Time) (Written, error) {
	edit := editJSON
	if c.toml {
		edit = editTOML
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	} else if _, err := os.Lstat(path); err == nil {
		return Written{}, errors.New("is a link to nothing")
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		text, err := edit("", c, s)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o700)
		}
		if err == nil {
			err = files.Write(path, []byte(text), 0o600)
		}
		return Written{}, err
	}
	switch {
	case err != nil:
		return Written{}, err
	case !info.Mode().IsRegular():
		return Written{}, errors.New("is not a file")
	}
	old, err := os.ReadFile(path)
	if err != nil {
		return Written{}, err
	}
	text, err := edit(string(old), c, s)
	if err != nil {
		return Written{}, err
	}
	if text == string(old) {
		return Written{Same: true}, nil
	}
	if info.Mode().Perm()&0o200 == 0 { // a rename would not care
		return Written{}, errors.New("is read-only")
	}
	backup, err := backUp(path, old, info.Mode().Perm(), now())
	if err != nil {
		return Written{}, err
	}
	if newest, err := os.ReadFile(path); err != nil || !bytes.Equal(newest, old) { // the client writes it, too
		return Written{}, errors.Join(errors.New("has changed meanwhile; try again when "+
			"the client does not run"), err, os.Remove(backup))
	}
	return Written{Backup: backup}, files.Write(path, []byte(text), info.Mode().Perm())
}

// backUp writes the old text next to the file, under a name that is free.
func backUp(path string, old []byte, mode fs.FileMode, now time.Time) (string, error) {
	name := path + ".bak-" + now.Format("20060102-150405")
	for n := 2; ; n++ {
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if errors.Is(err, fs.ErrExist) {
			name = fmt.Sprintf("%s.bak-%s-%d", path, now.Format("20060102-150405"), n)
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = f.Write(old)
		return name, errors.Join(err, f.Close())
	}
}

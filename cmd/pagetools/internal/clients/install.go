package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge/files"
	"github.com/pagetools/pagetools/bridge/text"
)

// Written says what became of a client's file.
type Written struct {
	Path   string
	Same   bool   // the server was there already
	Backup string // empty: there was no file, or By wrote it
	By     string // the client's own command, which wrote it; empty: we did
}

// Install puts the server into the client's file. On an error the file is as it was.
func (c *Client) Install(s Server) (Written, error) {
	path, err := c.File()
	if err != nil {
		return Written{}, err
	}
	var w Written
	if c.toml {
		w, err = c.run(s)
	} else {
		w, err = c.write(path, s, time.Now)
	}
	w.Path = path
	return w, err
}

// runTime bounds a command of the client: one that waits for a person would hang.
const runTime = time.Minute

// run has the client's own command put the server into its file.
func (c *Client) run(s Server) (Written, error) {
	words := c.words(s)
	if _, err := exec.LookPath(words[0]); err != nil {
		return Written{}, fmt.Errorf("is edited by %s itself, and %s was not found in PATH", c.Title, words[0])
	}
	ctx, cancel := context.WithTimeout(context.Background(), runTime)
	defer cancel()
	var there struct{ Transport entry }
	if out, err := exec.CommandContext(ctx, words[0], "mcp", "get", s.Name, "--json").Output(); err == nil {
		if err := json.Unmarshal(out, &there); err != nil {
			return Written{}, fmt.Errorf("cannot be read: what %s says of %s is not JSON: %w", words[0], s.Name, err)
		}
		there.Transport.Type = ""
		switch was := there.Transport; {
		case was.json() == c.entry(s).json():
			return Written{Same: true}, nil
		case !s.isOurs(was.Command, was.Args, was.URL): // the command would write over it
			return Written{}, errForeign
		}
	}
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return Written{}, fmt.Errorf("was not written: %s failed (%w): %s", strings.Join(words[:3], " "), err,
			text.Line(string(out)))
	}
	return Written{By: strings.Join(words[:3], " ")}, nil
}

// write edits the file at a path, whole or not at all. The folder may be
// missing. A link is followed: those who keep such files elsewhere link to them.
func (c *Client) write(path string, s Server, now func() time.Time) (Written, error) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	} else if _, err := os.Lstat(path); err == nil {
		return Written{}, errors.New("is a link to nothing")
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		text, err := editJSON("", c, s)
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
	text, err := editJSON(string(old), c, s)
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

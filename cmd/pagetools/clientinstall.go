package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pagetools/pagetools/cmd/pagetools/internal/files"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
)

// editTOML puts the server's table into the file of a client, as editJSON does.
func editTOML(text string, c *mcpClient, s mcpServer) (string, error) {
	all, err := readTOML(text)
	if err != nil {
		return "", err
	}
	newline := "\n"
	if strings.Contains(text, "\r\n") {
		newline = "\r\n"
	}
	path := []string{c.key, s.name}
	t := tomlEdit{text: text, path: path, entry: c.entry(s), newline: newline}
	for i, st := range all {
		if err := t.look(all, i, st); err != nil {
			return "", err
		}
	}
	if t.header == nil {
		if t.other || len(t.below) > 0 {
			return "", errors.New("describes that server in another way than with a table of its own")
		}
		return appended(text, tomlTable(path, t.entry, newline), newline), nil
	}
	return t.replace(s)
}

// appended puts a table at the end, after an empty line.
func appended(text, table, newline string) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += newline
	}
	if strings.TrimSpace(text) != "" {
		text += newline
	}
	return text + table
}

// tomlEdit is what is known of our table.
type tomlEdit struct {
	text    string
	path    []string
	entry   entry
	newline string
	header  *tomlStatement
	own     []tomlStatement // keys of ours in it
	below   [][2]int        // tables below it that are ours, such as its env
	other   bool            // something of it is elsewhere
	comment bool            // in what goes
}

// look takes note of a statement.
func (t *tomlEdit) look(all []tomlStatement, i int, st tomlStatement) error {
	n := len(t.path)
	if len(st.path) < n || !slices.Equal(st.path[:n], t.path) {
		if !st.header && slices.Equal(st.path, t.path[:1]) || st.array && slices.Equal(st.path, t.path[:1]) {
			t.other = true // mcp_servers = {…}: nothing can be added to it
		}
		return nil
	}
	switch rest := st.path[n:]; {
	case st.array && len(rest) == 0:
		return errForeign
	case st.header && len(rest) == 0:
		t.header = &all[i]
	case st.header && len(rest) == 1 && slices.Contains(entryKeys, rest[0]):
		t.below = append(t.below, t.region(all, i))
	case st.header || len(rest) == 0:
		t.other = t.other || !st.header
	case t.header == nil:
		t.other = true // mcp_servers.NAME.command = …
	case slices.Contains(entryKeys, rest[0]) && !t.inBelow(st.start):
		t.own = append(t.own, st)
		t.comment = t.comment || st.comment
	}
	return nil
}

// region is a table from its header to its last statement.
func (t *tomlEdit) region(all []tomlStatement, i int) [2]int {
	end, start := all[i].end, all[i].start
	t.comment = t.comment || all[i].comment
	for _, st := range all[i+1:] {
		if st.header {
			break
		}
		end = st.end
		t.comment = t.comment || st.comment
	}
	for line := range strings.Lines(t.text[start:end]) {
		t.comment = t.comment || strings.HasPrefix(strings.TrimSpace(line), "#")
	}
	return [2]int{start, end}
}

func (t *tomlEdit) inBelow(at int) bool {
	return slices.ContainsFunc(t.below, func(r [2]int) bool { return at >= r[0] && at < r[1] })
}

// replace writes our keys anew, right below the header. The others stay.
func (t *tomlEdit) replace(s mcpServer) (string, error) {
	was := map[string]string{}
	for _, st := range t.own {
		was[strings.Join(st.path[len(t.path):], ".")] = st.value
	}
	command, _ := tomlText(was["command"]) // what it is not is nobody's
	address, _ := tomlText(was["url"])
	if !s.isOurs(command, address) {
		return "", errForeign
	}
	same := len(t.below) == 0 && len(was) == len(t.entry)
	for _, f := range t.entry {
		same = same && was[f.key] == f.toml()
	}
	switch {
	case same:
		return t.text, nil
	case t.comment:
		return "", errComments
	}
	gone := t.below
	for _, st := range t.own {
		gone = append(gone, [2]int{st.start, st.end})
	}
	slices.SortFunc(gone, func(a, b [2]int) int { return a[0] - b[0] })
	after := t.lineEnd(t.header.end)
	head := t.text[:after]
	if !strings.HasSuffix(head, "\n") {
		head += t.newline
	}
	out := head + t.entry.toml(t.newline)
	at := after
	for _, g := range gone {
		if g[0] >= at {
			start := g[0]
			if line := strings.LastIndexByte(t.text[:start], '\n') + 1; line >= at {
				start = line // and its indent
			}
			out += t.text[at:start]
			at = t.lineEnd(g[1])
		}
	}
	return out + t.text[at:], nil
}

// lineEnd is behind the end of the line.
func (t *tomlEdit) lineEnd(at int) int {
	if n := strings.IndexByte(t.text[at:], '\n'); n >= 0 {
		return at + n + 1
	}
	return len(t.text)
}

// installClient writes the server into the client's file. A file that it cannot
// write without loss stays, and the person is given what to paste.
func (p *program) installClient(c *mcpClient, s mcpServer) error {
	l, err := thisPlace()
	if err != nil {
		return err
	}
	path := c.file(l)
	done, err := writeClient(path, c, s, time.Now())
	if err != nil {
		fmt.Fprint(p.stdout, c.snippet(s))
		return usage("%s %w. It stays as it is; what to paste into it is above", terminal.Plain(path), err)
	}
	switch {
	case done.same:
		p.say("%s has %s already", terminal.Plain(path), s.name)
	case done.backup == "":
		p.say("%s is new, with %s; %s reads it when it starts", terminal.Plain(path), s.name, c.title)
	default:
		p.say("%s has %s now; what it was is in %s. %s reads it when it starts", terminal.Plain(path), s.name, terminal.Plain(done.backup), c.title)
	}
	return nil
}

type written struct {
	same   bool
	backup string // empty: there was no file
}

// writeClient edits the file at a path, whole or not at all. The folder may be
// missing. A link is followed: those who keep such files elsewhere link to them.
func writeClient(path string, c *mcpClient, s mcpServer, now time.Time) (written, error) {
	edit := editJSON
	if c.toml {
		edit = editTOML
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	} else if _, err := os.Lstat(path); err == nil {
		return written{}, errors.New("is a link to nothing")
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		text, err := edit("", c, s)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(path), 0o700)
		}
		if err == nil {
			err = files.Replace(path, []byte(text), 0o600)
		}
		return written{}, err
	}
	switch {
	case err != nil:
		return written{}, err
	case !info.Mode().IsRegular():
		return written{}, errors.New("is not a file")
	}
	old, err := os.ReadFile(path)
	if err != nil {
		return written{}, err
	}
	text, err := edit(string(old), c, s)
	if err != nil {
		return written{}, err
	}
	if text == string(old) {
		return written{same: true}, nil
	}
	if info.Mode().Perm()&0o200 == 0 { // a rename would not care
		return written{}, errors.New("is read-only")
	}
	backup, err := backUp(path, old, info.Mode().Perm(), now)
	if err != nil {
		return written{}, err
	}
	if newest, err := os.ReadFile(path); err != nil || !bytes.Equal(newest, old) { // the client writes it, too
		return written{}, errors.Join(errors.New("has changed meanwhile; try again when the client does not run"), err, os.Remove(backup))
	}
	return written{backup: backup}, files.Replace(path, []byte(text), info.Mode().Perm())
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

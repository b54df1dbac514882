package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/pageconfig"
)

// maxStateFile is the longest file with a login, in bytes: more than a browser
// keeps for a site.
const maxStateFile = 8 << 20

// readState reads a file with a stored login. No error shows what is in it.
func readState(path string) (state json.RawMessage, info fs.FileInfo, err error) {
	if info, err = os.Stat(path); err != nil { // before it is opened: a pipe would wait
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s is not a file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(f, maxStateFile+1))
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("reading %s: %w", path, err)
	case len(text) > maxStateFile:
		return nil, nil, fmt.Errorf("%s is larger than %d MiB", path, maxStateFile>>20)
	}
	return text, info, nil
}

// loginOf reads the file with a stored login of a target. What is wrong with it is
// an error of the configuration, which where names.
func (p *program) loginOf(t *target, where, path string) (login *pageconfig.Stored, err error) {
	state, info, err := readState(path)
	if err == nil {
		if login, err = pageconfig.ParseStored(state, t.origin); err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
	}
	if err != nil {
		return nil, usage("%s: %w", where, err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		fmt.Fprintf(p.stderr, "pagetools: warning: %s holds a login, and others can read it. chmod 600 it.\n", plain(path))
	}
	return login, nil
}

// logins gives a site the stored logins that it is to have.
func (p *program) logins(pl plan, t *target, o *session.SiteOptions) (err error) {
	if p.set.storageState != "" && t.named {
		o.Login, err = p.loginOf(t, "--storage-state", p.set.storageState)
		if err != nil {
			return err
		}
	}
	c := t.config
	if pl.login { // one is about to be made
		c.profiles = nil
	}
	o.Profiles = map[string]session.Profile{}
	for _, x := range c.profiles {
		isDefault := x.name == c.defaultProfile && o.Login == nil
		if pl.single && !isDefault { // nobody can name it
			continue
		}
		if len(x.callers) == 0 && p.set.token != "" && !pl.single && !isDefault {
			return usage("%s:%d: profiles: callers of %q is empty, so that nobody may use it: without names it is for %q, and there is a token",
				p.file.path, x.line, x.name, bridge.Local().Name)
		}
		login, err := p.loginOf(t, fmt.Sprintf("%s:%d: profiles", p.file.path, x.line), x.storageState)
		if err != nil {
			return err
		}
		if isDefault {
			o.Login = login
		}
		o.Profiles[x.name] = session.Profile{Login: login, Callers: x.callers}
	}
	if p.set.userDataDir != "" && (o.Login != nil || len(o.Profiles) > 0) {
		return usage("--user-data-dir is a login of its own: stored logins cannot be put into it (%s)", t.name)
	}
	return nil
}

// stateTarget is a file that a login is going to be written to.
type stateTarget string

// check refuses what a login may not take the place of: everything that is neither
// nothing, nor empty, nor a stored login itself.
func (s stateTarget) check() error {
	if s == "" {
		return nil
	}
	path := string(s)
	dir, err := os.Stat(filepath.Dir(path))
	if err == nil && !dir.IsDir() {
		err = fmt.Errorf("%s is not a folder", filepath.Dir(path))
	}
	if err != nil {
		return usage("--save-storage-state: %w", err)
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return usage("--save-storage-state: %w", err)
	case info.Mode()&fs.ModeSymlink != 0:
		return usage("--save-storage-state: %s is a link, which is not followed", path)
	}
	state, _, err := readState(path)
	if err != nil {
		return usage("--save-storage-state: %w", err)
	}
	if len(bytes.TrimSpace(state)) > 0 && !pageconfig.IsStored(state) {
		return usage("--save-storage-state: %s is there and holds something else than a login; it stays as it is", path)
	}
	return nil
}

// page gives the page whose login is going to be saved: not the one that takes its
// place when it dies. It is nil when none is.
func (s stateTarget) page(ctx context.Context, a *app, t *target) (*session.Page, error) {
	if s == "" {
		return nil, nil //nolint:nilnil // nothing is saved
	}
	return a.manager.CataloguePage(ctx, t.name)
}

// save writes the login of the page: a file that only this user can read, which is
// there as a whole or not at all.
func (s stateTarget) save(ctx context.Context, p *program, page *session.Page) error {
	if s == "" {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, saveTime)
	defer cancel()
	state, err := page.StorageState(bounded)
	if err != nil {
		return err
	}
	if err := s.check(); err != nil { // it may have changed meanwhile
		return err
	}
	path := string(s)
	if err := replaceFile(path, append(state, '\n'), 0o600); err != nil {
		return usage("--save-storage-state: %w", err)
	}
	p.say("the login is in %s", plain(path))
	if string(state) == emptyState {
		p.say("warning: it is empty: the page holds neither cookies nor stored items")
	}
	return nil
}

// saveTime is how long a browser may take to say what it holds.
const saveTime = 30 * time.Second

// emptyState is the login of a page that has none.
const emptyState = `{"cookies":[],"origins":[]}`

// replaceFile writes a file as a whole.
func replaceFile(path string, text []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // mode 0600, and never through a link
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}

// warnOfLogins says what stored logins mean for callers, when there are some.
func (p *program) warnOfLogins(targets []*target) {
	known := map[string]bool{}
	if p.set.token != "" {
		known[tokenCaller] = true
	}
	for _, c := range p.file.callers {
		known[c.name] = true
	}
	for _, t := range targets {
		if len(known) > 0 && (t.config.defaultProfile != "" || t.named && p.set.storageState != "") {
			p.say("warning: every caller uses %s with the same stored login", t.name)
		}
		for _, x := range t.config.profiles {
			for _, name := range x.callers {
				if len(known) > 0 && !known[name] || len(known) == 0 && name != bridge.Local().Name {
					p.say("warning: %s: the profile %s is for the caller %s, and there is none of that name", t.name, x.name, plain(name))
				}
			}
		}
	}
}

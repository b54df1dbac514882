package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/files"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/pageconfig"
)

func loginCommand(p *program) *cobra.Command {
	var to string
	c := &cobra.Command{
		Use:   "login TARGET --save-storage-state FILE",
		Short: "Open a site in a visible browser, and keep the login that you make there",
		Long: "Opens a site in a visible browser. Log in there, then press Enter here: " +
			"what the browser holds\n" +
			"for the site is written to FILE, for --storage-state and for profiles of " +
			"the configuration file.",
		Args: exactly(1, "TARGET"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if to == "" {
				return terminal.Usage("login needs --save-storage-state FILE; see pagetools " +
					"login --help")
			}
			return login(cmd.Context(), p, args[0], stateTarget(to))
		},
	}
	saveFlag(c, &to)
	return c
}

// saveFlag is the flag of commands that can keep a login.
func saveFlag(c *cobra.Command, to *string) {
	c.Flags().StringVar(to, "save-storage-state", "",
		"write the login that the page holds at the end to this file, which --storage-state reads")
}

func login(ctx context.Context, p *program, arg string, to stateTarget) error {
	if p.conf.AutoConnect {
		return terminal.Usage("with --auto-connect no login is stored: log in in your browser, which keeps it")
	}
	if err := to.check(p.conf); err != nil {
		return err
	}
	if p.conf.IsDefault("headless") {
		p.conf.Headless = false
	}
	if err := needsDisplay(p.conf, "login"); err != nil {
		return err
	}
	pl := answering()
	pl.pages = entered
	a, t, err := p.one(ctx, arg, pl)
	if err != nil {
		return err
	}
	defer p.end(a)
	page, err := to.page(ctx, a, t)
	if err != nil {
		return err
	}
	p.say("log in in the browser's window, then press Enter here")
	if err := enter(ctx, p.stdin, page); err != nil {
		return err
	}
	return to.save(ctx, p, page)
}

// needsDisplay refuses to start a visible browser for a command where there is no display.
func needsDisplay(c *config.Config, command string) error {
	if c.Headless || c.IsRemote() || runtime.GOOS != "linux" ||
		os.Getenv("DISPLAY")+os.Getenv("WAYLAND_DISPLAY") != "" {
		return nil
	}
	instead := "give --headless for a page that logs in by itself"
	if command != "login" {
		instead = "leave --headed out"
	}
	return terminal.Unreachable("%s shows a browser, and there is no display: neither DISPLAY nor "+
		"WAYLAND_DISPLAY is set. Run it on a desktop, or %s.", command, instead)
}

// enter waits for a line of standard input, or its end, as long as the page lives.
func enter(ctx context.Context, stdin io.Reader, page *session.Page) error {
	pressed := make(chan struct{})
	go func() { // ends with the line, or with the program
		_, _ = bufio.NewReader(stdin).ReadString('\n') // its end counts, too
		close(pressed)
	}()
	select {
	case <-pressed:
		return nil
	case <-page.Gone():
		return bridge.Errorf(bridge.InternalError, bridge.BrowserLost, bridge.NotRun,
			"The page was closed before its login was saved. Nothing was written.")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// stateTarget is a file that a login is going to be written to.
type stateTarget string

// check refuses what a login may not take the place of: everything that is neither
// nothing, nor empty, nor a stored login itself.
func (s stateTarget) check(c *config.Config) error {
	if s == "" {
		return nil
	}
	if c.AutoConnect {
		return terminal.Usage("--auto-connect uses the login of your browser, which no file needs to hold: leave out --save-storage-state")
	}
	path := string(s)
	dir, err := os.Stat(filepath.Dir(path))
	if err == nil && !dir.IsDir() {
		err = fmt.Errorf("%s is not a folder", filepath.Dir(path))
	}
	if err != nil {
		return terminal.Usage("--save-storage-state: the folder of %s %w; "+
			"name a file in a folder that is there", path, config.Problem(err))
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return terminal.Usage("--save-storage-state: %w", err)
	case info.Mode()&fs.ModeSymlink != 0:
		return terminal.Usage("--save-storage-state: %s is a link, which is not followed: "+
			"name the file itself", path)
	}
	state, _, err := readState(path)
	if err != nil {
		return terminal.Usage("--save-storage-state: %w", err)
	}
	if len(bytes.TrimSpace(state)) > 0 && !pageconfig.IsStored(state) {
		return terminal.Usage("--save-storage-state: %s is there and holds something else than a "+
			"login; it stays as it is: name another file", path)
	}
	return nil
}

// page returns the page whose login is going to be saved: not the one that takes its
// place when it dies. It is nil when none is.
func (s stateTarget) page(ctx context.Context, a *app.App, t *target) (*session.Page, error) {
	if s == "" {
		return nil, nil //nolint:nilnil // nothing is saved
	}
	if a.Engine == nil {
		return nil, terminal.Usage("%s is an API, without a page whose login could be saved: "+
			"`pagetools auth login` is for APIs",
			text.Line(t.Text))
	}
	return a.Manager.CatalogPage(ctx, t.Name)
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
	if err := s.check(p.conf); err != nil { // it may have changed meanwhile
		return err
	}
	path := string(s)
	if err := files.Write(path, append(state, '\n'), 0o600); err != nil {
		return terminal.Usage("--save-storage-state: %w", err)
	}
	p.say("the login is in %s", text.Line(path))
	if string(state) == emptyState {
		p.say("warning: it is empty: the page holds neither cookies nor stored items")
	}
	return nil
}

// saveTime limits how long a browser may take to say what it holds.
const saveTime = 30 * time.Second

// emptyState is the login of a page that has none.
const emptyState = `{"cookies":[],"origins":[]}`

// logins reads the stored logins of a site into its options.
func logins(p *program, pl plan, t *target, o *session.SiteOptions) (err error) {
	if p.conf.StorageState != "" && t.named {
		o.Login, err = t.login("--storage-state", p.conf.StorageState, p.stderr)
		if err != nil {
			return err
		}
	}
	c := t.config
	if pl.pages == entered { // one is about to be made
		c.Profiles = nil
	}
	o.Profiles = map[string]session.Profile{}
	for _, x := range c.Profiles {
		isDefault := x.Name == c.DefaultProfile && o.Login == nil
		if pl.pages.alone() && !isDefault { // nobody can name it
			continue
		}
		if len(x.Callers) == 0 && p.conf.Token != "" && !pl.pages.alone() && !isDefault {
			return terminal.Usage("%s:%d: profiles: callers of %q is empty, so that nobody may use it: "+
				"without names it is for %q, and there is a token",
				p.conf.File, x.Line, x.Name, bridge.Local().Name)
		}
		login, err := t.login(fmt.Sprintf("%s:%d: profiles", p.conf.File, x.Line), x.StorageState,
			p.stderr)
		if err != nil {
			return err
		}
		if isDefault {
			o.Login = login
		}
		o.Profiles[x.Name] = session.Profile{Login: login, Callers: x.Callers}
	}
	if p.conf.UserDataDir != "" && (o.Login != nil || len(o.Profiles) > 0) {
		return terminal.Usage("--user-data-dir is a login of its own: stored logins "+
			"cannot be put into it (%s)", t.Name)
	}
	return nil
}

// login reads the file with a stored login of a target. What is wrong with it is
// an error of the configuration, which where names. That others can read it is a warning.
func (t *target) login(where, path string, warnings io.Writer) (*pageconfig.Stored, error) {
	if t.Folder != "" {
		return nil, terminal.Usage("%s: %s is a folder, which has another address each time, "+
			"so that no login fits it: leave it out", where, t.Text)
	}
	var login *pageconfig.Stored
	state, info, err := readState(path)
	if err == nil {
		if login, err = pageconfig.ParseStored(state, t.Origin); err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
	}
	if err != nil {
		return nil, terminal.Usage("%s: %w; `pagetools login` makes such a file", where, err)
	}
	if files.Shared(path, info) {
		fmt.Fprintf(warnings, "pagetools: warning: %s holds a login, and others can "+
			"read it. %s.\n", text.Line(path), text.Line(files.ToClose(path)))
	}
	return login, nil
}

// maxStateFile is the longest file with a login, in bytes: more than a browser
// keeps for a site.
const maxStateFile = 8 << 20

// readState reads a file with a stored login. No error shows what is in it.
func readState(path string) (state json.RawMessage, info fs.FileInfo, err error) {
	if info, err = os.Stat(path); err != nil { // before it is opened: a pipe would wait
		return nil, nil, fmt.Errorf("%s %w", path, config.Problem(err))
	}
	if !info.Mode().IsRegular() {
		return nil, nil, fmt.Errorf("%s is not a file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("%s %w", path, config.Problem(err))
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

package main

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge/files"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/transport/console"
)

const (
	// linkTime sets how long a link waits to be opened.
	linkTime = time.Minute
	// lookForUse sets how often the process that made it is asked whether it was.
	lookForUse = 100 * time.Millisecond

	linkPrefix, linkSuffix = "open-", ".html"
)

// redirect is a page that leads to a link.
const redirect = `<!doctype html><meta charset="utf-8"><title>pagetools</title><meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url=%s">
`

// openLink opens a link that logs in with the program of this desktop. All users of a machine can
// read the arguments of its processes, so that the program gets the name of a file that only this
// user can read, and that leads to the link. The file is removed when the link was used, or is too
// old.
func (a *approver) openLink(ctx context.Context, by http.RoundTripper, link string) error {
	name, err := a.inbox.keep(link)
	if err != nil {
		return terminal.Unreachable("the page cannot be opened: %w. Without --open the link is shown.", err)
	}
	defer func() { _ = os.Remove(name) }()
	words := map[string][]string{"darwin": {"open"},
		"windows": {"rundll32", "url.dll,FileProtocolHandler"}}[runtime.GOOS]
	if words == nil {
		words = []string{"xdg-open"}
	}
	opener := exec.Command(words[0], append(words[1:], name)...) //nolint:noctx // it may become the browser
	failed := make(chan error, 1)
	if err := opener.Start(); err != nil {
		return notOpened(words[0], err)
	}
	go func() { // ends with the program, or with us
		if err := opener.Wait(); err != nil {
			failed <- err
		}
	}()
	ask := time.NewTicker(lookForUse)
	defer ask.Stop()
	ctx, cancel := context.WithTimeout(ctx, linkTime)
	defer cancel()
	for {
		var state struct{ Waits bool }
		if err := a.request(ctx, by, http.MethodGet, "/api/links/"+console.LinkID(link), nil, &state); err != nil && ctx.Err() == nil {
			return err
		} else if err == nil && !state.Waits {
			a.p.say("the operators' page is open in your browser")
			return nil
		}
		select {
		case <-ask.C:
		case err := <-failed:
			return notOpened(words[0], err)
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return terminal.Unreachable("%s opened no page within a minute. Without --open the link is shown.", words[0])
			}
			return ctx.Err()
		}
	}
}

func notOpened(program string, err error) error {
	return terminal.Unreachable("%s could not open the page: %w. Without --open the link is shown.", program, err)
}

// keep writes a file that leads to a link, and returns its path. What killed commands left goes.
func (in *inbox) keep(link string) (path string, err error) {
	all, err := os.ReadDir(in.folder)
	if err != nil {
		return "", err
	}
	for _, e := range all {
		if strings.HasPrefix(e.Name(), linkPrefix) && strings.HasSuffix(e.Name(), linkSuffix) && older(e, linkTime) {
			_ = os.Remove(filepath.Join(in.folder, e.Name()))
		}
	}
	folder, err := filepath.Abs(in.folder)
	if err != nil {
		return "", err
	}
	path = filepath.Join(folder, linkPrefix+console.LinkID(link)+linkSuffix)
	return path, files.Write(path, fmt.Appendf(nil, redirect, html.EscapeString(link)), 0o600)
}

func older(e fs.DirEntry, than time.Duration) bool {
	info, err := e.Info()
	return err == nil && time.Since(info.ModTime()) > than
}

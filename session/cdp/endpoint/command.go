package endpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/session/cdp/chrome/proctree"
)

// printed holds the JSON that a command prints on stdout when it has a browser.
type printed struct {
	URL      string            `json:"url"`
	Headers  map[string]string `json:"headers"`
	Reattach string            `json:"reattach"` // auto or never, the default
}

// run has a command claim a browser.
func (e *Endpoint) run(ctx context.Context, log *slog.Logger) (*Claim, error) {
	cmd := exec.Command(e.Command[0], e.Command[1:]...) //nolint:noctx // it ends with Release
	said := &proctree.Tail{Most: mostWords}
	cmd.Stderr = said
	cmd.WaitDelay = time.Second
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	tree := proctree.New(cmd, false) // it sees the end of stdin when we die
	if err := tree.Start(); err != nil {
		return nil, fmt.Errorf("starting the command: %w", err)
	}
	read := make(chan error, 1)
	var at printed
	over := make(chan struct{})
	go func() { // ends with the command
		defer close(over)
		err := json.NewDecoder(io.LimitReader(stdout, mostReply)).Decode(&at)
		read <- err
		_, _ = io.Copy(io.Discard, stdout)
		_ = cmd.Wait() // how it ends says nothing of the browser
	}()
	release := sync.OnceFunc(func() {
		_ = stdin.Close()
		select {
		case <-over:
		case <-time.After(releaseTime):
			log.Warn("browser: a command did not end, and was ended by force", "endpoint", e.Name)
		}
		tree.Kill() // what it left behind
		<-over
	})
	select {
	case err = <-read:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err == nil {
		err = at.check()
	}
	if err != nil {
		release()
		if ctx.Err() == nil {
			err = fmt.Errorf("the command did not print where its browser is, as {\"url\":…}: %w%s", err, wordsOf(said))
		}
		return nil, err
	}
	c := &Claim{URL: at.URL, Header: http.Header{}, Once: at.Reattach != "auto", Rented: true, release: release}
	for name, value := range at.Headers {
		c.Header.Set(name, value)
	}
	return c, nil
}

// check refuses what names no browser.
func (p *printed) check() error {
	u, err := url.Parse(p.URL)
	switch {
	case err != nil || u.Host == "" || !slices.Contains([]string{"http", "https", "ws", "wss"}, u.Scheme):
		return errors.New("url must begin with http://, https://, ws:// or wss://")
	case !slices.Contains([]string{"", "auto", "never"}, p.Reattach):
		return errors.New("reattach must be auto or never")
	}
	return nil
}

// mostWords limits what is kept of the words of a command, in bytes.
const mostWords = 500

// wordsOf returns them, as the end of a sentence.
func wordsOf(t *proctree.Tail) string {
	if words := t.String(); words != "" {
		return "; it said: " + text.Brief(words, mostWords)
	}
	return ""
}

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/console"
)

// socketName is the operator's socket in the data directory.
const socketName = "console.sock"

// maxSocketPath is the longest path of a socket that every system takes.
const maxSocketPath = 100

// operatorAt is a person who reaches us in a way that only they can.
func operatorAt(where string) bridge.Caller {
	return bridge.Caller{Name: where, May: []bridge.Right{bridge.MayAnswer}}
}

// operators serves the operator's API: on the socket, and on --console-listen.
type operators struct {
	servers []*http.Server
	done    chan struct{}
	url     string // of the listener; empty without one
	token   string
}

// serveOperators begins to serve. What cannot be served is a warning: calls need
// no console.
func (p *program) serveOperators(ctx context.Context, a *app.App,
	who *callers) (*operators, error) {
	o := &operators{done: make(chan struct{})}
	mux := transport.NewMux(console.New(a.Bridge,
		console.Options{Done: o.done, Log: p.log}).Routes()...)
	if l, err := socket(ctx, p.conf); err != nil {
		p.say("warning: `pagetools approve` cannot reach this process: %v", err)
	} else {
		o.serve(transport.Server(transport.Trusted(mux, operatorAt("console.sock"),
			transport.Options{Log: p.log}), p.log), l)
	}
	if p.conf.ConsoleListen == "off" {
		return o, nil
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", p.conf.ConsoleListen)
	if err != nil {
		if !p.conf.IsDefault("console-listen") {
			return o, usage("--console-listen %s: %w", p.conf.ConsoleListen, err)
		}
		p.say("warning: no console: %s is taken; --console-listen chooses another address",
			p.conf.ConsoleListen)
		return o, nil
	}
	o.token = who.operator
	guards := transport.Options{Listen: l.Addr().String(), Hosts: p.conf.AllowHosts,
		Open: console.PagePaths, Log: p.log, Callers: who.ofConsole(p.conf),
		Credentials: &who.console}
	o.url = "http://" + l.Addr().String()
	o.serve(transport.Server(transport.Guard(mux, guards), p.log), l)
	return o, nil
}

func (o *operators) serve(s *http.Server, l net.Listener) {
	o.servers = append(o.servers, s)
	go func() { _ = s.Serve(l) }() // ends with close
}

// page is where a person can answer; empty without a listener. It has no credential.
func (o *operators) page() string {
	if o.url == "" {
		return ""
	}
	return o.url + "/"
}

func (o *operators) close() {
	close(o.done)
	for _, s := range o.servers {
		_ = s.Close()
	}
}

// socket listens on the operator's socket. One that a killed process left is
// taken over.
func socket(ctx context.Context, c *config.Config) (net.Listener, error) {
	path, err := socketPath(c)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("making the data directory: %w", err)
	}
	var d net.Dialer
	if other, err := d.DialContext(ctx, "unix", path); err == nil {
		_ = other.Close()
		return nil, errors.New("another pagetools serves " + path + "; --data-dir " +
			"gives this one its own")
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSocket != 0 {
		_ = os.Remove(path) // nobody listens there
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("listening on the socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("closing the socket to others: %w", err), l.Close())
	}
	return l, nil
}

func socketPath(c *config.Config) (string, error) {
	dir, err := c.DataFolder()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, socketName)
	if len(path) > maxSocketPath {
		return "", fmt.Errorf("the path %s is too long for a socket; --data-dir gives a shorter one", path)
	}
	return path, nil
}

// answerAtTerminal asks the person at the terminal of serve, one question after
// another, until ctx ends.
func (p *program) answerAtTerminal(ctx context.Context, b *bridge.Bridge, asker bridge.Asker) {
	operator := operatorAt("terminal")
	events := b.Watch(ctx, bridge.Interest{Caller: operator, Runs: true})
	var inbox bridge.Inbox
	for {
		open := inbox.Questions()
		if len(open) == 0 {
			ev, more := <-events
			if !more {
				return
			}
			inbox.Take(ev)
			continue
		}
		answer, over, err := askWhileOpen(ctx, asker, open[0], events, &inbox)
		switch {
		case ctx.Err() != nil:
			return
		case over:
			p.say("question: it is not open any more")
		case err != nil:
			p.say("warning: the terminal gives no answers: %v", err)
			return
		default:
			if err := b.Answer(operator, open[0].ID, answer); err != nil {
				p.say("question: %s", terminal.Plain(bridge.AsError(err).Message))
				continue
			}
			for ctx.Err() == nil && asks(&inbox, open[0].ID) { // until it is known to be closed
				inbox.Take(<-events)
			}
		}
	}
}

// asks reports whether a question is open.
func asks(inbox *bridge.Inbox, id string) bool {
	return slices.ContainsFunc(inbox.Questions(),
		func(q bridge.OpenQuestion) bool { return q.ID == id })
}

// askWhileOpen asks until there is an answer, or the question is over.
func askWhileOpen(ctx context.Context, asker bridge.Asker, q bridge.OpenQuestion,
	events <-chan bridge.Event, inbox *bridge.Inbox) (answer bridge.Answer, over bool, err error) {
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	asked := make(chan struct{})
	go func() { // ends with the question
		defer close(asked)
		answer, err = asker.Ask(asking, q.Question)
	}()
	for {
		select {
		case <-asked:
			return answer, over || ctx.Err() != nil, err
		case ev, more := <-events:
			if !more {
				events = nil // ctx ended, and with it the question
			} else if inbox.Take(ev); !asks(inbox, q.ID) {
				over = true
				cancel()
			}
		}
	}
}

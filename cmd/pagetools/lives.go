package main

import (
	"context"
	"errors"
	"net"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/e2e/app/embed"
)

// lives holds what serve keeps from one life to the next. A process has one life. A node of a cluster has
// another one whenever the others took it for dead.
type lives struct {
	p   *program
	who *callers
	// asker asks the person at the terminal; nil asks nobody.
	asker bridge.Asker
	// page and peers listen for operators and other nodes; nil listens for nobody.
	page, peers *lasting
	engine      *embed.Engine // nil: it is not ours
	// front serves agents. Between two lives it refuses calls.
	front *front
}

// serve opens the sites, serves them until ctx ends, and drains. asks says that the person at the terminal
// answers questions.
func serve(ctx context.Context, p *program, pl plan, asks bool) error {
	l, err := listen(ctx, p.conf)
	if err != nil {
		return err
	}
	s := &lives{p: p, front: newFront(l, p.log)}
	defer s.close()
	if asks {
		asker, done := p.asker(false)
		defer done()
		if s.asker = asker; asker == nil {
			return terminal.Usage("--ask terminal needs a terminal")
		}
	}
	s.who = newCallers(p, pl, true)
	for again := false; ; again = true {
		err := s.live(ctx, again)
		if !errors.Is(err, errTaken) {
			return err
		}
		if ctx.Err() != nil {
			return nil
		}
		p.conf = p.conf.WithSites(s.who.read())
	}
}

// listen listens where the faces are served.
func listen(ctx context.Context, c *config.Config) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return nil, cannotListen("--listen", c.Listen, err)
	}
	return l, nil
}

// close ends what outlives a life.
func (s *lives) close() {
	_ = s.front.Close()
	_ = s.front.listener.Close() // nothing was served
	s.page.end()
	s.peers.end()
	s.engine.Close()
}

// live serves until ctx ends, and drains, or until the other nodes took this one for dead, and returns errTaken
// then, when nothing of the life is left. again is true for all lives but the first.
func (s *lives) live(ctx context.Context, again bool) (err error) {
	p, who, front := s.p, s.who, s.front
	ctx, end := context.WithCancel(ctx)
	defer end()
	who.plan.node = nil // until it has joined
	if who.issuers, err = p.issuers(ctx); err != nil {
		return err
	}
	defer who.issuers.close()
	guards, err := who.guards(front.listener.Addr())
	if err != nil {
		return err
	}
	page, err := s.consoleListener(ctx) // before there is something to end
	if err != nil {
		return err
	}
	if who.plan.node, err = s.join(ctx, again, func() { front.wait(guards) }); err != nil {
		if again && ctx.Err() != nil {
			return nil // there is nothing to drain
		}
		return err
	}
	defer who.plan.node.leave(p)
	a, err := p.start(ctx, who.plan)
	if err != nil {
		return err
	}
	defer p.end(a)
	if err := who.begin(ctx, a, again); err != nil {
		return err
	}
	a.Keep(front.listener.Addr().String())
	console := serveOperators(ctx, a, who, page)
	defer console.close()
	streams := make(chan struct{}) // closed when what waits shall end
	face, err := mcpFace(p, a, console, who, s.asker != nil, streams, 0)
	if err != nil {
		return err
	}
	front.serve(who.handler(a, face, streams, guards, console.nodes))
	stop, err := s.begin(ctx, a, console, again)
	if err != nil {
		return err
	}
	defer stop() // behind the drain, in which somebody may still answer
	if err := who.plan.node.await(ctx, front.failed); err != nil {
		if close(streams); errors.Is(err, errTaken) {
			front.pause(guards)
			p.say("warning: %v", err)
		} else {
			front.takeNoMore() // what serves it ends now
		}
		return err
	}
	return p.drain(ctx, a, who.plan.node, front.Server, func() { close(streams) })
}

// consoleListener returns the listener for the operators' page.
func (s *lives) consoleListener(ctx context.Context) (consoleListener, error) {
	if s.page == nil {
		l, err := listenConsole(ctx, s.p.conf)
		if err != nil || l.Listener == nil {
			return l, err
		}
		s.page = newLasting(l.Listener)
	}
	return consoleListener{s.page.lend()}, nil
}

// begin opens the sites and says what is served. stop ends what follows files and asks at the terminal.
func (s *lives) begin(ctx context.Context, a *app.App, console *operators, again bool) (stop func(), err error) {
	p, who := s.p, s.who
	if err := startBrowser(ctx, p, a); err != nil {
		return nil, err
	}
	unfollow := who.follow(context.WithoutCancel(ctx), a) // also what is revoked while calls finish
	switch opened := openSites(ctx, p, a); {
	case opened && again:
		p.say("note: the node %s serves again", who.plan.node.name)
	case opened:
		collectLess()
		welcome(ctx, p, a, who.plan, "http://"+s.front.listener.Addr().String(), console)
	}
	unwatch := func() {}
	if who.plan.watched {
		if unwatch, err = p.followed(ctx, a, who); err != nil {
			unfollow()
			return nil, err
		}
	}
	if s.asker != nil {
		go console.answerAtTerminal(ctx, a.Bridge, s.asker) // ends with ctx
	}
	return func() {
		unwatch()
		unfollow()
	}, nil
}

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
	"github.com/pagetools/pagetools/transport"
)

// lives holds what serve keeps from one life to the next. A process has one life. A node of a cluster has
// another one whenever the others took it for dead.
type lives struct {
	p   *program
	who *callers
	// asker asks the person at the terminal; nil asks nobody.
	asker bridge.Asker
	// agents, page and peers listen for agents, operators and other nodes; nil listens for nobody.
	agents, page, peers *lasting
	engine              *embed.Engine // nil: it is not ours
	// front refuses calls until the life begins that it is for. It is nil before the first.
	front *front
}

// serve opens the sites, serves them until ctx ends, and drains. asks says that the person at the terminal
// answers questions.
func serve(ctx context.Context, p *program, pl plan, asks bool) error {
	s := &lives{p: p}
	if asks {
		asker, done := p.asker(false)
		defer done()
		if s.asker = asker; asker == nil {
			return terminal.Usage("--ask terminal needs a terminal")
		}
	}
	l, err := listen(ctx, p.conf)
	if err != nil {
		return err
	}
	s.agents, s.who = newLasting(l), newCallers(p, pl, true)
	defer s.close()
	for {
		err := s.live(ctx)
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
	s.agents.end()
	s.page.end()
	s.peers.end()
	s.engine.Close()
}

// live serves until ctx ends, and drains, or until the other nodes took this one for dead, which is errTaken.
// Then nothing of the life is left, and the front of the next one refuses calls.
func (s *lives) live(ctx context.Context) (err error) {
	p, who := s.p, s.who
	ctx, end := context.WithCancel(ctx)
	defer end()
	who.plan.node = nil // until it has joined
	if who.issuers, err = p.issuers(ctx); err != nil {
		return err
	}
	defer who.issuers.close()
	guards, err := who.guards(s.agents.Addr())
	if err != nil {
		return err
	}
	page, err := s.consoleListener(ctx) // before there is something to end
	if err != nil {
		return err
	}
	again := s.front != nil
	if !again {
		s.front = newFront(s.agents.lend(), p.log)
	}
	front := s.front
	defer front.end()
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
	a.Keep(s.agents.Addr().String())
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
		close(streams)
		s.ends(err, guards)
		return err
	}
	return p.drain(ctx, a, who.plan.node, front.Server, func() { close(streams) })
}

// ends has what serves a life take no more. Where another one follows, its front takes over, and refuses calls
// until that begins.
func (s *lives) ends(why error, guards transport.Options) {
	s.front.takeNoMore()
	if !errors.Is(why, errTaken) {
		return
	}
	s.p.say("warning: %v", why)
	s.front = newFront(s.agents.lend(), s.p.log)
	s.front.wait(guards)
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
		welcome(ctx, p, a, who.plan, "http://"+s.agents.Addr().String(), console)
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

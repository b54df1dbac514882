package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/pagetools/pagetools/e2e/app"
)

// finishTime limits how long calls in flight of a node may still take when its sessions had their time.
const finishTime = 25 * time.Second

// drain lets calls in flight finish, within the time of the settings. In a cluster, other nodes get what
// begins, and the sessions of this one go on for that long before.
func (p *program) drain(ctx context.Context, a *app.App, n *node, front *http.Server, endStreams func()) error {
	finish := p.conf.DrainTime
	if n != nil {
		p.say("draining: other nodes get what begins; the sessions of this one, and calls, have %s", p.conf.DrainTime)
		retire(ctx, n, a, p.conf.DrainTime)
		finish = min(finish, finishTime)
	}
	p.say("stopping: calls in flight may finish")
	endStreams()
	bounded, cancel := context.WithTimeout(context.Background(), finish)
	defer cancel()
	a.Drain(bounded)
	servers := []*http.Server{front}
	if n != nil {
		n.cluster.Drain(bounded)
		servers = append(servers, n.server)
	}
	brief, stop := context.WithTimeout(context.Background(), time.Second)
	defer stop()
	var failed error
	for _, s := range servers {
		if err := s.Shutdown(brief); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			failed = errors.Join(failed, err)
		}
		failed = errors.Join(failed, s.Close())
	}
	if failed != nil {
		return fmt.Errorf("stopping: %w", failed)
	}
	return nil
}

// retire has other nodes get what begins, and waits until the sessions of this one have ended, at most for
// that long: not for that when a signal comes after an operator asked, or the others took it for dead.
func retire(ctx context.Context, n *node, a *app.App, most time.Duration) {
	waiting, cancel := context.WithTimeout(context.WithoutCancel(ctx), most)
	defer cancel()
	if ctx.Err() == nil {
		defer context.AfterFunc(ctx, cancel)()
	}
	over := make(chan struct{})
	go func() { // ends with this function
		defer close(over)
		select {
		case <-n.cluster.Ended():
			cancel()
		case <-waiting.Done():
		}
	}()
	n.cluster.Retire(waiting, a)
	cancel()
	<-over
}

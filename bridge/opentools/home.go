package opentools

import (
	"context"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// claim makes a session this process's own, once.
func (a *api) claim(ctx context.Context, ref bridge.Ref, j *jar) *bridge.Error {
	name, ok := bridge.HomeIn(a.router.o.Homes, ref)
	if !ok {
		return nil
	}
	select {
	case j.claiming <- struct{}{}:
	case <-ctx.Done():
		return bridge.GaveUp(bridge.NotRun)
	}
	defer func() { <-j.claiming }()
	if j.home != 0 || j.over {
		return nil
	}
	home, err := a.router.o.Homes.Open(ctx, name)
	by := owner{ref.Caller.Name, ref.Session}
	if err != nil {
		a.sessions.refused(by, j)
		return bridge.NoHome(name, err)
	}
	j.home = home
	j.expiry = time.AfterFunc(idleSession, func() {
		if left := a.sessions.idle(by, j, a.router.o.Now()); left > 0 {
			j.expiry.Reset(left)
		}
	})
	return nil
}

// refused forgets a session that another process has.
func (s *jars) refused(by owner, j *jar) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all[by] == j {
		delete(s.all, by)
	}
}

// free lets other processes have a session that ended. It waits for nothing.
func (a *api) free(j *jar) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed { // the process ends, and with it what it has
		return
	}
	a.background.Go(func() { // ends within Free's bound
		j.claiming <- struct{}{}
		defer func() { <-j.claiming }()
		j.over = true
		if j.home == 0 {
			return
		}
		j.expiry.Stop()
		bridge.Free(a.router.o.Homes, j.home, a.router.o.Log)
	})
}

package store

import (
	"context"
	"time"
)

// This file is shared by the goroutines that write in groups.

const (
	// linger sets how long what comes is collected before it is written.
	linger = 5 * time.Millisecond
	// retryEvery sets how often what failed is tried again.
	retryEvery = 500 * time.Millisecond
)

// await says when there is something to do: somebody flushes, it is the last
// time, the timer says so, or wake said so a moment ago.
func await(stop <-chan struct{}, flushes <-chan chan error, wake <-chan struct{},
	timer *time.Timer) (chan<- error, bool) {
	for range 2 {
		select {
		case <-stop:
			return nil, true
		case done := <-flushes:
			return done, false
		case <-timer.C:
			return nil, false
		case <-wake:
			wake = nil
			timer.Reset(linger)
		}
	}
	return nil, false // not reached: wake is there once
}

// flush asks the goroutine behind flushes to write now, and waits for it.
func flush(ctx context.Context, flushes chan<- chan error, stop <-chan struct{}) error {
	done := make(chan error, 1)
	select {
	case flushes <- done:
	case <-stop:
		return ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// notify sets a flag that a channel of one holds.
func notify(flag chan struct{}) {
	select {
	case flag <- struct{}{}:
	default:
	}
}

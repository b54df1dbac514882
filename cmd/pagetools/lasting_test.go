package main

import (
	"errors"
	"net"
	"testing"
)

// TestLasting: a connection that comes between two servers waits for the next one, and is not refused. One that has
// ended takes nothing, whoever waits.
func TestLasting(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	all := newLasting(l)
	first, next := all.lend(), all.lend()
	ended := make(chan error, 1)
	go func() {
		_, err := first.Accept()
		ended <- err
	}()
	_ = first.Close()
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("a server that has ended takes connections: %v", err)
	}
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatalf("between two servers: %v", err)
	}
	defer func() { _ = c.Close() }()
	if _, err := first.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a server that has ended takes connections: %v", err)
	}
	got, err := next.Accept()
	if err != nil || got.RemoteAddr().String() != c.LocalAddr().String() {
		t.Fatalf("the next server has %v, %v", got, err)
	}
	_ = got.Close()
	all.end()
	if _, err := next.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a listener that has ended: %v", err)
	}
	if c, err := net.Dial("tcp", l.Addr().String()); err == nil {
		_ = c.Close()
		t.Error("it listens")
	}
}

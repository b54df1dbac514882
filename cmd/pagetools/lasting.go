package main

import (
	"net"
	"sync"
)

// lasting is a listener that outlives the servers on it. A connection that comes between two of them waits for the
// next one.
type lasting struct {
	net.Listener

	next chan accepted
	over chan struct{} // closed when it has ended
}

// accepted is the result of an Accept.
type accepted struct {
	net.Conn
	error
}

// newLasting begins to accept connections. Call end.
func newLasting(l net.Listener) *lasting {
	s := &lasting{Listener: l, next: make(chan accepted), over: make(chan struct{})}
	go s.accept() // ends with end
	return s
}

func (s *lasting) accept() {
	for {
		c, err := s.Accept()
		select {
		case s.next <- accepted{c, err}:
		case <-s.over:
			if err == nil {
				_ = c.Close()
			}
			return
		}
	}
}

// end closes the listener. A nil one is none.
func (s *lasting) end() {
	if s != nil {
		close(s.over)
		_ = s.Close()
	}
}

// lend returns the listener for one server, whose Close leaves it to the next.
func (s *lasting) lend() net.Listener { return &loan{lasting: s, closed: make(chan struct{})} }

type loan struct {
	*lasting

	closed chan struct{}
	once   sync.Once
}

// Accept implements net.Listener.
func (l *loan) Accept() (net.Conn, error) {
	select {
	case <-l.closed:
		return nil, net.ErrClosed
	default:
	}
	select {
	case is := <-l.next:
		return is.Conn, is.error
	case <-l.closed:
	case <-l.over:
	}
	return nil, net.ErrClosed
}

// Close implements net.Listener.
func (l *loan) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

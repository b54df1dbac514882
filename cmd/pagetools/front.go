package main

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport"
)

// rpcPaths have errors in the form of JSON-RPC.
var rpcPaths = []string{"/mcp"}

// front serves agents, and, in a cluster, says why it cannot before it can.
type front struct {
	*http.Server

	listener net.Listener
	handler  atomic.Pointer[http.Handler]
	begin    sync.Once
	failed   chan error // 1: why it serves no more
}

func newFront(l net.Listener, log *slog.Logger) *front {
	f := &front{listener: l, failed: make(chan error, 1)}
	f.Server = transport.Server(f, log)
	return f
}

// ServeHTTP implements http.Handler.
func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	(*f.handler.Load()).ServeHTTP(w, r)
}

// serve serves by h from now on.
func (f *front) serve(h http.Handler) {
	f.handler.Store(&h)
	f.listen()
}

func (f *front) listen() {
	f.begin.Do(func() {
		go func() { f.failed <- f.Serve(f.listener) }() // ends with the server
	})
}

// takeNoMore takes no more connections, and ends each that is there with the reply that it waits for.
func (f *front) takeNoMore() {
	at, cancel := context.WithCancel(context.Background())
	cancel() // nobody waits for the replies
	_ = f.Shutdown(at)
}

// end ends the server. Connections end with the replies that they wait for, where those come soon: what served them has
// ended.
func (f *front) end() {
	brief, stop := context.WithTimeout(context.Background(), time.Second)
	defer stop()
	_ = f.Shutdown(brief)
	_ = f.Close()
}

// wait refuses calls, because this node has not joined its cluster. It can come late: what serves stays.
func (f *front) wait(guards transport.Options) {
	guards.JSONRPCUnder, guards.Credentials = rpcPaths, nil // those of who serves are not touched
	e := bridge.Errorf(bridge.InternalError, bridge.NoQuorum, bridge.NotRun,
		"This node of pagetools has not joined its cluster yet. Nothing ran.")
	e.Retry = bridge.QuorumRetry
	if guards.Verifier != nil {
		guards.Verifier = waits{e}
	}
	h := transport.Guard(transport.Waiting(e), guards)
	if f.handler.CompareAndSwap(nil, &h) {
		f.listen()
	}
}

// waits verifies no token: nobody can yet.
type waits struct{ why *bridge.Error }

// Verify implements transport.Verifier.
func (w waits) Verify(*http.Request, string) (bridge.Caller, *transport.Refusal) {
	return bridge.Caller{}, &transport.Refusal{Error: w.why}
}

// Challenge implements transport.Verifier.
func (w waits) Challenge(*http.Request) string { return "Bearer" }

package mcp

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/pagetools/pagetools/bridge"
)

const (
	// maxLine bounds one message on stdin.
	maxLine = 4 << 20
	// maxAtOnce bounds the requests that run at once. Further ones wait to be read,
	// cancellations with them.
	maxAtOnce = 1000
	// maxKept bounds the goroutines that wait for the next request.
	maxKept = 16
	// finishTime is the usual one of Options.Finish, and endTime how long a call may take to end
	// after it was cancelled then.
	finishTime, endTime = 2500 * time.Millisecond, 500 * time.Millisecond
)

// ServeStdio serves one caller on a pair of streams, such as stdin and stdout: one
// message in each line, of any protocol version, until in ends or ctx does. The caller's sites
// are all on one list; site limits it to one.
func (f *Face) ServeStdio(ctx context.Context, in io.Reader, out io.Writer, caller bridge.Caller,
	site string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := &stdio{face: f, scope: scope{caller: caller, site: site, session: defaultSession},
		peer: newPeer(), out: &lines{w: bufio.NewWriter(out)},
		room: make(chan struct{}, maxAtOnce), kept: make(chan struct{},
			maxKept), next: make(chan request)}
	ended := make(chan error, 1)
	go func() { ended <- s.read(ctx, in) }() // ends with in, or with the process
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	s.peer.leave()
	all := make(chan struct{})
	go func() { // ends with the last request
		s.requests.Wait()
		close(all)
	}()
	select {
	case <-all:
	case <-ctx.Done():
	case <-time.After(cmp.Or(f.o.Finish, finishTime)):
	}
	cancel(errNoClient)
	s.peer.end()
	select {
	case <-all:
	case <-time.After(endTime):
	}
	s.watching.Wait()
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// stdio is one client on a pair of streams.
type stdio struct {
	face               *Face
	scope              scope
	peer               *peer
	out                *lines
	room               chan struct{} // a place for each request that runs
	kept               chan struct{} // one for each goroutine that waits for a request
	next               chan request
	requests, watching sync.WaitGroup
	watched            sync.Once
}

// read takes messages until in ends.
func (s *stdio) read(ctx context.Context, in io.Reader) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for ctx.Err() == nil {
		line, tooLong, err := readLine(r)
		switch {
		case tooLong != nil:
			_ = s.out.event(s.refusal(tooLong.found(),
				badRequest("The message is longer than %d bytes.", maxLine)))
		case len(line) > 0:
			s.take(ctx, line)
		}
		if err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// readLine reads one line without its end. One that is too long is read and dropped, but
// for its id.
func readLine(r *bufio.Reader) (line []byte, tooLong *idFinder, err error) {
	for {
		part, err := r.ReadSlice('\n')
		switch {
		case tooLong != nil:
			_, _ = tooLong.Write(part)
		case len(line)+len(part) > maxLine:
			tooLong = &idFinder{}
			_, _ = tooLong.Write(line)
			_, _ = tooLong.Write(part)
			line = nil
		default:
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			for len(line) > 0 && (line[len(line)-1] == '\n' || line[len(line)-1] == '\r') {
				line = line[:len(line)-1]
			}
			return line, tooLong, err
		}
	}
}

// take serves one message. Replies and cancellations never wait for requests.
func (s *stdio) take(ctx context.Context, line []byte) {
	if isBatch(line) {
		s.batch(ctx, line)
		return
	}
	m, failed := readMessage(line)
	switch {
	case failed != nil:
		_ = s.out.event(s.refusal(m.id, failed))
		return
	case m.isReply():
		s.peer.replied(m)
		return
	case m.id == nil:
		s.notified(ctx, m)
		return
	}
	select {
	case s.room <- struct{}{}:
	case <-ctx.Done():
		return
	}
	r := request{message: m}
	r.ctx, r.end = s.peer.begin(ctx, m.id)
	select {
	case s.next <- r:
	default:
		s.requests.Go(func() { s.work(r) })
	}
}

// notified takes a notification.
func (s *stdio) notified(ctx context.Context, m *message) {
	s.peer.notified(m)
	if m.method == "notifications/initialized" {
		s.watched.Do(func() { s.watching.Go(func() { s.watch(ctx) }) })
	}
}

// batch serves a batch, beside other requests.
func (s *stdio) batch(ctx context.Context, line []byte) {
	texts, failed := s.peer.readBatch(line)
	if failed != nil {
		_ = s.out.event(s.refusal(nil, failed))
		return
	}
	for n := range texts {
		select {
		case s.room <- struct{}{}:
		case <-ctx.Done():
			for range n {
				<-s.room
			}
			return
		}
	}
	b := s.peer.beginBatch(ctx, texts, func(m *message) { s.notified(ctx, m) }, s.exchange, s.refusal)
	s.requests.Go(func() {
		reply := b.reply(ctx)
		for range texts {
			<-s.room
		}
		if reply != nil {
			b.deliver(func() error { return s.out.event(reply) })
		}
	})
}

// refusal is a reply to what could not be read.
func (s *stdio) refusal(id json.RawMessage, e *rpcError) []byte {
	return s.face.refusal(rand.Text(), s.scope.caller.Name, id, e)
}

// exchange is a request of the client.
func (s *stdio) exchange(m *message) *exchange {
	x := &exchange{face: s.face, scope: s.scope, message: m, peer: s.peer, out: s.out,
		id: rand.Text()}
	x.protocol, x.can = s.peer.client()
	if v := protocol(m.meta.version); v.Modern() {
		x.protocol = v
	}
	return x
}

// request is a message that has to be answered.
type request struct {
	ctx     context.Context //nolint:containedctx // of this one request
	end     func()
	message *message
}

// work answers a request, and then those that come while it has nothing to do. A new
// goroutine for each would grow its stack anew on the way into the page.
func (s *stdio) work(r request) {
	for {
		s.serve(r.ctx, r.message)
		r.end()
		<-s.room
		select {
		case s.kept <- struct{}{}:
		default:
			return // enough of them wait
		}
		select {
		case r = <-s.next:
			<-s.kept
		case <-s.peer.gone:
			return
		}
	}
}

// serve answers a request. One that the client cancelled is not answered.
func (s *stdio) serve(ctx context.Context, m *message) {
	x := s.exchange(m)
	reply, _ := x.serve(ctx)
	if errors.Is(context.Cause(ctx), errCancelled) {
		return
	}
	x.pause(ctx)
	_ = x.deliver(func() error { return s.out.event(reply) })
}

// watch tells a client of an older protocol version of changes.
func (s *stdio) watch(ctx context.Context) {
	tell := func() error {
		return s.out.event(callText(nil, mcpgo.MethodNotificationToolsListChanged,
			map[string]any{}))
	}
	protocol, can := s.peer.client()
	card := s.face.drawsCards(s.scope.caller, can)
	s.face.watch(ctx, s.scope, protocol, card).knows(s.peer.list()).run(ctx, tell, func() error { return nil })
}

// lines writes one message in each line.
type lines struct {
	mu sync.Mutex
	w  *bufio.Writer
}

func (l *lines) event(text []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.w.Write(append(text, '\n')); err != nil {
		return err
	}
	return l.w.Flush()
}

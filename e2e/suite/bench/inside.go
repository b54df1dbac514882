package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp"
	"github.com/pagetools/pagetools/session/cdp/chrome"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/webtool"
)

// stack is the bridge with its HTTP face, in this process, and the tabs that it
// opened.
type stack struct {
	engine  *recorder
	manager *session.Manager
	server  *http.Server
	base    string
}

// recorder is an engine that remembers its tabs, so that the floor is measured
// on the very page that the calls run on.
type recorder struct {
	*cdp.Engine
	mu   sync.Mutex
	tabs []session.Tab
}

// Open remembers the tab.
func (r *recorder) Open(ctx context.Context, o session.TabOptions) (session.Tab, error) {
	t, err := r.Engine.Open(ctx, o)
	if err == nil {
		r.mu.Lock()
		r.tabs = append(r.tabs, t)
		r.mu.Unlock()
	}
	return t, err
}

// newest returns the tab that was opened last.
func (r *recorder) newest() session.Tab {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tabs[len(r.tabs)-1]
}

// newStack serves one site. Without spare pages the last session gets the newest tab.
func newStack(url string, shared bool) (*stack, error) {
	return newStackWith(url, stackOptions{shared: shared})
}

// stackOptions shape a stack.
type stackOptions struct {
	shared bool
	warm   int // spare pages
}

func newStackWith(url string, o stackOptions) (*stack, error) {
	e, err := cdp.NewLocal(cdp.LocalOptions{Options: chrome.Options{
		Path: os.Getenv("PAGETOOLS_EXECUTABLE_PATH"), NoSandbox: os.Getenv("PAGETOOLS_NO_SANDBOX") == "1",
	}})
	if err != nil {
		return nil, err
	}
	s := &stack{engine: &recorder{Engine: e}}
	s.manager = session.New(session.Options{Engine: s.engine, Sites: []session.SiteOptions{{
		Site: bridge.Site{Name: "bench", Target: url,
			Origin: url}, URL: url + "/", Shared: o.shared, Warm: o.warm,
	}}})
	b, err := bridge.New(s.manager, bridge.Options{})
	if err != nil {
		return nil, errors.Join(err, s.manager.Close())
	}
	l, err := listen()
	if err != nil {
		return nil, errors.Join(err, s.manager.Close())
	}
	s.base = "http://" + l.Addr().String()
	mux := transport.NewMux(webtool.New(b, webtool.Options{}).Routes()...)
	s.server = transport.Server(transport.Guard(mux, transport.Options{Listen: l.Addr().String()}), nil)
	go func() { _ = s.server.Serve(l) }()
	return s, s.manager.WaitOpened(context.Background())
}

func (s *stack) close() {
	_ = s.server.Close()
	_ = s.manager.Close()
}

// agent makes a caller of its own for each goroutine that calls.
func (s *stack) agent(method string, body []byte) func() (func() error, func(), error) {
	return agentOf(s.base, method, "/webtools/bench", body)
}

func agentOf(base, method, path string, body []byte) func() (func() error, func(), error) {
	return func() (func() error, func(), error) {
		c, err := dial(base)
		if err != nil {
			return nil, nil, err
		}
		return func() error { _, err := c.do(method, path, argued(body)); return err }, c.close, nil
	}
}

// plain is for a side that needs no connection of its own.
func plain(f func() error) func() (func() error, func(), error) {
	return func() (func() error, func(), error) { return f, func() {}, nil }
}

// floorExpression is evaluated by the floor: an awaited promise of a string. It
// carries an argument as calls do.
const floorExpression = `Promise.resolve("1", "ARG")`

// evaluate is the floor of a call: one round trip to the page.
func evaluate(ctx context.Context, tab session.Tab) func() error {
	return func() error {
		_, err := cdp.Evaluate(ctx, tab, string(argued([]byte(floorExpression))))
		return err
	}
}

var arguments atomic.Int64

// argued replaces ARG in a text by an argument of 200 bytes: another one each time, so that it
// cannot have been compiled or parsed before.
func argued(text []byte) []byte {
	before, after, ok := bytes.Cut(text, []byte("ARG"))
	if !ok {
		return text
	}
	return fmt.Appendf(nil, "%s%0200d%s", before, arguments.Add(1), after)
}

// insideRows measures calls and metadata.
func insideRows(ctx context.Context, url string) ([]row, error) {
	one, err := oneSession(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("one session: %w", err)
	}
	many, err := manyCallers(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("64 callers: %w", err)
	}
	meta, err := metadata(url)
	if err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	return append(one, many, meta), nil
}

// oneSession compares the latency of warm calls of one session.
func oneSession(ctx context.Context, url string) ([]row, error) {
	s, err := newStack(url, false)
	if err != nil {
		return nil, err
	}
	defer s.close()
	ours, hangUp, err := s.agent(http.MethodPost, []byte(`{"sessionId":"bench","action":"noop","request":{"s":"ARG"}}`))()
	if err != nil {
		return nil, err
	}
	defer hangUp()
	if _, err := sample(size.calls/4, ours); err != nil { // warms up, and opens the page
		return nil, err
	}
	tab := s.engine.newest()
	floor := evaluate(ctx, tab)
	if _, err := sample(size.calls/4, floor); err != nil {
		return nil, err
	}
	var p50, p99, f50, f99 []time.Duration
	for range size.rounds {
		a, err := sample(size.calls, ours)
		if err != nil {
			return nil, err
		}
		b, err := sample(size.calls, floor)
		if err != nil {
			return nil, err
		}
		p50, p99 = append(p50, quantile(a, .5)), append(p99, quantile(a, .99))
		f50, f99 = append(f50, quantile(b, .5)), append(f99, quantile(b, .99))
	}
	return []row{
		latency("warm call of a no-op, p50", median(p50), median(f50), 1.6),
		latency("warm call of a no-op, p99", median(p99), median(f99), 3),
	}, nil
}

func latency(what string, ours, floor time.Duration, target float64) row {
	ratio := float64(ours) / float64(floor)
	return row{what, ours.Round(time.Microsecond).String(),
		floor.Round(time.Microsecond).String(), fmt.Sprintf("%.2f", ratio),
		fmt.Sprintf("at most %.1f", target), ratio <= target}
}

// callers sets how many call at once.
const callers = 64

// throughput runs n calls from many goroutines, and returns calls a second.
func throughput(n int, agent func() (func() error, func(), error)) (float64, error) {
	var left atomic.Int64
	left.Store(int64(n))
	errs := make(chan error, callers)
	began := time.Now()
	for range callers {
		go func() { errs <- work(&left, agent) }()
	}
	var all error
	for range callers {
		all = errors.Join(all, <-errs)
	}
	return float64(n) / time.Since(began).Seconds(), all
}

// work is one caller's share.
func work(left *atomic.Int64, agent func() (func() error, func(), error)) error {
	f, hangUp, err := agent()
	if err != nil {
		return err
	}
	defer hangUp()
	for left.Add(-1) >= 0 {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

// manyCallers compares how many calls a second the shared page takes.
func manyCallers(ctx context.Context, url string) (row, error) {
	s, err := newStack(url, true)
	if err != nil {
		return row{}, err
	}
	defer s.close()
	tab := s.engine.newest()
	floor := plain(evaluate(ctx, tab))
	ours := s.agent(http.MethodPost, []byte(`{"action":"noop","request":{"s":"ARG"}}`))
	return rates("64 callers on the shared page, calls/s", size.calls*4, ours, floor, .35)
}

// rates compares two rates over alternating rounds.
func rates(what string, n int, ours, floor func() (func() error, func(), error),
	target float64) (row, error) {
	if _, err := throughput(n/4, ours); err != nil {
		return row{}, err
	}
	var a, b []float64
	for range size.rounds {
		x, err := throughput(n, ours)
		if err != nil {
			return row{}, err
		}
		y, err := throughput(n, floor)
		if err != nil {
			return row{}, err
		}
		a, b = append(a, x), append(b, y)
	}
	ratio := median(a) / median(b)
	return row{what, fmt.Sprintf("%.0f", median(a)), fmt.Sprintf("%.0f", median(b)),
		fmt.Sprintf("%.2f", ratio), fmt.Sprintf("at least %.2f", target), ratio >= target}, nil
}

// metadata compares GET with a bare handler that writes the same bytes.
func metadata(url string) (row, error) {
	s, err := newStack(url, false)
	if err != nil {
		return row{}, err
	}
	defer s.close()
	first, err := dial(s.base)
	if err != nil {
		return row{}, err
	}
	defer first.close()
	doc, err := first.do(http.MethodGet, "/webtools/bench", nil)
	if err != nil {
		return row{}, err
	}
	l, err := listen()
	if err != nil {
		return row{}, err
	}
	bare := &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(doc)
	})}
	go func() { _ = bare.Serve(l) }()
	defer bare.Close()
	ours := s.agent(http.MethodGet, nil)
	floor := agentOf("http://"+l.Addr().String(), http.MethodGet, "/", nil)
	return rates("metadata GET, requests/s", size.calls*8, ours, floor, 1.0/3)
}

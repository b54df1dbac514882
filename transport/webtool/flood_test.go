package webtool_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/webtool"
)

const clients = 50

// meeting makes the calls of one round wait for one another in the page, so that
// all of them are under way at once.
type meeting struct {
	mu   sync.Mutex
	here []json.RawMessage
	all  chan struct{}
}

// meet returns the inputs of the round, and which of them is the call's.
func (m *meeting) meet(ctx context.Context, input json.RawMessage) (all []json.RawMessage, own int, err error) {
	m.mu.Lock()
	if m.all == nil {
		m.all, m.here = make(chan struct{}), make([]json.RawMessage, 0, clients)
	}
	own = len(m.here)
	m.here = append(m.here, input)
	all, met := m.here[:clients], m.all
	if len(m.here) == clients {
		close(met)
		m.all = nil
	}
	m.mu.Unlock()
	select {
	case <-met:
		return all, own, nil
	case <-ctx.Done():
		return nil, 0, errors.New("the others of the round never came")
	}
}

// mixUps makes 50 clients, each with its own credential, call that many times at once
// with the same ids, the same sessionId and the same keys; in each tenth round they
// meet. It returns how many replies were not the client's own, and how many calls
// reached the page.
func mixUps(t *testing.T, rounds int, answer func(all []json.RawMessage, own int) json.RawMessage) (mixed, ran int) {
	t.Helper()
	callers := make([]transport.Credential, clients)
	for i := range callers {
		callers[i] = transport.Credential{Caller: bridge.Caller{Name: fmt.Sprint("c", i), May: []bridge.Right{bridge.MayCall}}, Token: fmt.Sprint("token-of-client-", i)}
	}
	w := newWorld(t, bridge.Options{}, callers...)
	w.client.Transport = &http.Transport{MaxIdleConnsPerHost: clients}
	w.client.Timeout = time.Minute // a round waits for its slowest client
	var m meeting
	w.Handle("shop", func(ctx context.Context, inv bridge.Invocation) bridge.Step {
		if !bytes.HasSuffix(inv.Input, []byte("0}")) {
			return bridge.Step{Data: inv.Input}
		}
		all, own, err := m.meet(ctx, inv.Input)
		if err != nil {
			return bridge.AsError(err).Step()
		}
		return bridge.Step{Data: answer(all, own)}
	})
	var ids sync.Map // ours, of every reply
	call := func(client, n int) (string, error) {
		body := fmt.Sprintf(`{"sessionId":"same","action":"add","request":{"client":%d,"n":%d}}`, client, n)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url+"/webtools/shop", strings.NewReader(body))
		if err != nil {
			return "", err
		}
		for name, value := range map[string]string{
			"Content-Type": "application/json", "Authorization": "Bearer " + callers[client].Token, "X-Request-Id": "same-id",
			"Traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		} {
			req.Header.Set(name, value)
		}
		if n%2 == 0 {
			req.Header.Set("Idempotency-Key", fmt.Sprint("key-", n))
		}
		res, err := w.client.Do(req)
		if err != nil {
			return "", err
		}
		defer func() { _ = res.Body.Close() }()
		got, err := io.ReadAll(res.Body)
		if id := res.Header.Get("X-Request-Id"); id != "same-id" {
			t.Errorf("the reply has the id %q", id)
		}
		if _, again := ids.LoadOrStore(res.Header.Get("Pagetools-Request-Id"), true); again {
			t.Error("two requests have one id of ours")
		}
		return string(got), err
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for client := range clients {
		wg.Go(func() {
			for i := range rounds + 1 {
				n := i % rounds // the last one repeats the first one, by its key
				got, err := call(client, n)
				if err != nil {
					t.Error(err)
					return
				}
				if got != fmt.Sprintf(`{"status":"ok","data":{"client":%d,"n":%d}}`, client, n) {
					mu.Lock()
					mixed++
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return mixed, len(w.Calls())
}

// TestX2EqualIDs: clients that use the same ids get their own results.
func TestX2EqualIDs(t *testing.T) {
	t.Parallel()
	rounds := gatetest.Amount(50, 200)
	mixed, ran := mixUps(t, rounds, func(all []json.RawMessage, own int) json.RawMessage { return all[own] })
	if mixed != 0 || ran != clients*rounds {
		t.Errorf("%d results of others, of %d calls that ran", mixed, ran)
	}
}

// TestX2IsNoticed is the control: a page that gives two calls each other's result.
func TestX2IsNoticed(t *testing.T) {
	t.Parallel()
	mixed, _ := mixUps(t, 20, func(all []json.RawMessage, own int) json.RawMessage {
		if own < 2 {
			return all[1-own]
		}
		return all[own]
	})
	if mixed < 2*2 { // two rounds in which they meet; a repetition is one more
		t.Errorf("%d results of others were noticed", mixed)
	}
}

// flooded asks a bridge without a listener, at a time that the test sets.
type flooded struct {
	handler http.Handler
	now     time.Time
}

func newFlooded(t *testing.T, rate policy.Rate) *flooded {
	t.Helper()
	f := &flooded{now: time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)}
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("add", ""), bridgetest.Asking("buy", ""))
	b, err := bridge.New(r, bridge.Options{Rates: map[string]policy.Rate{"local": rate}, Now: func() time.Time { return f.now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	mux := transport.NewMux(transport.Health(func() transport.Readiness { return transport.Readiness{Ready: true} })...)
	mux.Add(webtool.New(b, webtool.Options{}).Routes()...)
	f.handler = transport.Guard(mux, transport.Options{Listen: "127.0.0.1:7300"})
	return f
}

func (f *flooded) ask(method, path, body, key string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Host = "127.0.0.1:7300"
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	rec := httptest.NewRecorder()
	f.handler.ServeHTTP(rec, r)
	return rec
}

// call makes call number i, with a session, a key and arguments of its own.
func (f *flooded) call(i int) *httptest.ResponseRecorder {
	tool := []string{"add", "buy"}[i%2]
	return f.ask(http.MethodPost, "/webtools/shop", fmt.Sprintf(`{"sessionId":"s%d","action":%q,"request":{"a":"%0100d"}}`, i, tool, i), fmt.Sprint("key-", i))
}

// grows returns by how many bytes the heap grows with what f leaves behind.
func grows(f func()) int64 {
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	f()
	return heap() - before
}

// TestR39Flood: a caller over its rate is refused with the whole seconds after
// which it is served again, at once. Refusals leave nothing behind. Who asks
// whether we live is never refused.
func TestR39Flood(t *testing.T) { // not parallel: it looks at the heap
	const many = 5000
	f := newFlooded(t, policy.Rate{N: 10, Per: time.Minute})
	for i := range 10 {
		if got := f.call(2 * i); got.Code != http.StatusOK {
			t.Fatalf("call %d: %d %s", i, got.Code, got.Body)
		}
	}
	var wait int
	grown := grows(func() {
		for i := range many {
			got := f.call(100 + i)
			seconds, err := strconv.Atoi(got.Header().Get("Retry-After"))
			if wait = seconds; got.Code != http.StatusTooManyRequests || err != nil || seconds < 1 || seconds > 6 || !bytes.Contains(got.Body.Bytes(), []byte(`"limit":"caller"}`)) {
				t.Fatalf("%d %v %s", got.Code, got.Header(), got.Body)
			}
			if i%50 == 0 {
				for _, path := range []string{"/healthz", "/readyz"} {
					if got := f.ask(http.MethodGet, path, "", ""); got.Code != http.StatusOK {
						t.Fatalf("%s: %d %s", path, got.Code, got.Body)
					}
				}
			}
			f.now = f.now.Add(time.Millisecond / 10) // half a second in all
		}
	})
	if grown > 1<<20 {
		t.Errorf("the heap grew by %d bytes in %d refusals", grown, many)
	}
	f.now = f.now.Add(time.Duration(wait) * time.Second)
	if got := f.call(100); got.Code != http.StatusOK {
		t.Errorf("after the wait: %d %s", got.Code, got.Body)
	}

	// The control: as many calls that are let through leave their keys behind.
	open := newFlooded(t, policy.Rate{})
	if grown := grows(func() {
		for i := range many / 2 {
			if got := open.call(2 * i); got.Code != http.StatusOK {
				t.Fatalf("%d %s", got.Code, got.Body)
			}
		}
	}); grown < 1<<20 {
		t.Errorf("%d keys take %d bytes", many/2, grown)
	}
}

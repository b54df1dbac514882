package calls_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/calls"
)

// bench is a bridge whose tool read returns at once, and hold when the benchmark ends it.
type bench struct {
	addr string
	end  chan struct{}
}

const benchCallers = 32

func newBench(b *testing.B) *bench {
	b.Helper()
	x := &bench{end: make(chan struct{})}
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("read", ""), bridgetest.Tool("hold", ""))
	r.Handle("shop", func(ctx context.Context, inv bridge.Invocation) bridge.Step {
		if inv.Tool.Name() == "hold" {
			select {
			case <-x.end:
			case <-ctx.Done():
			}
		}
		return bridge.Step{Data: json.RawMessage("1")}
	})
	br, err := bridge.New(r, bridge.Options{})
	if err != nil {
		b.Fatal(err)
	}
	w := &world{b: br}
	mux := transport.NewMux(calls.New(br, calls.Options{Forms: map[string]transport.Form{"": form}}).Routes()...)
	mux.Add(transport.Route{Pattern: "/run/{tool}", Methods: map[string]http.HandlerFunc{http.MethodPost: w.run}})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	var callers []transport.Credential
	for i := range benchCallers + 1 {
		callers = append(callers, transport.Credential{Token: benchToken(i), Caller: bridge.Caller{Name: fmt.Sprint("caller", i), May: []bridge.Right{bridge.MayCall}}})
	}
	srv := transport.Server(transport.Guard(mux, transport.Options{Listen: l.Addr().String(), Callers: callers}), nil)
	done := make(chan struct{})
	go func() { defer close(done); _ = srv.Serve(l) }()
	b.Cleanup(func() { br.Close(); _ = srv.Close(); <-done })
	x.addr = l.Addr().String()
	return x
}

func benchToken(i int) string { return fmt.Sprintf("token-%d-of-the-benchmark", i) }

// peer is one connection of a caller. It holds little memory.
type peer struct {
	net.Conn

	b      *testing.B
	caller int
}

func (x *bench) dial(b *testing.B, caller int) *peer {
	b.Helper()
	c, err := net.Dial("tcp", x.addr)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	return &peer{c, b, caller}
}

func (p *peer) write(method, path, body, header string) {
	_, err := fmt.Fprintf(p.Conn, "%s %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n%s",
		method, path, p.RemoteAddr(), benchToken(p.caller), len(body), header, body)
	if err != nil {
		p.b.Fatal(err)
	}
}

// read returns the head of the reply.
func (p *peer) read(status int) http.Header {
	res, err := http.ReadResponse(bufio.NewReader(p.Conn), nil)
	if err != nil {
		p.b.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != status {
		p.b.Fatal(err, res.StatusCode)
	}
	return res.Header
}

// timed returns how long a request takes.
func (p *peer) timed(status int, method, path, body, header string) (time.Duration, http.Header) {
	began := time.Now()
	p.write(method, path, body, header)
	h := p.read(status)
	return time.Since(began), h
}

// BenchmarkAccepted makes a plain call and one that is answered by 202, in turns over one
// connection, and prints how many times as long the second takes ("of-plain"), and how long a
// change takes to whoever waits for it ("change-µs").
func BenchmarkAccepted(b *testing.B) {
	x := newBench(b)
	p, waits := x.dial(b, 0), x.dial(b, 0)
	var plain, accepted, changed []time.Duration
	for b.Loop() {
		d, _ := p.timed(http.StatusOK, http.MethodPost, "/run/read", "{}", "")
		plain = append(plain, d)
		d, h := p.timed(http.StatusAccepted, http.MethodPost, "/run/hold", "{}", "Prefer: respond-async\r\n")
		accepted = append(accepted, d)
		at := h.Get("Location")
		waits.write(http.MethodGet, at+"?wait=60", "", "")
		_, _ = p.timed(http.StatusOK, http.MethodGet, at, "", "") // so that the other one waits by now
		began := time.Now()
		x.end <- struct{}{}
		waits.read(http.StatusOK)
		changed = append(changed, time.Since(began))
		_, _ = p.timed(http.StatusNoContent, http.MethodDelete, at, "", "")
	}
	b.ReportMetric(median(accepted).Seconds()/median(plain).Seconds(), "of-plain")
	b.ReportMetric(float64(median(accepted).Microseconds()), "accepted-µs")
	b.ReportMetric(float64(median(plain).Microseconds()), "plain-µs")
	b.ReportMetric(float64(median(changed).Microseconds()), "change-µs")
}

func median(all []time.Duration) time.Duration { return quantile(all, 50) }

func quantile(all []time.Duration, q int) time.Duration {
	slices.Sort(all)
	return all[(len(all)-1)*q/100]
}

// BenchmarkThousandWait lets 1,000 requests of 32 callers wait for their calls, and prints the
// memory that they take ("MiB"), and the p99 of another caller's plain call beside what it was
// before ("p99-of-before").
func BenchmarkThousandWait(b *testing.B) {
	x := newBench(b)
	other := x.dial(b, benchCallers)
	plain := func() time.Duration {
		all := make([]time.Duration, 2000)
		for i := range all {
			all[i], _ = other.timed(http.StatusOK, http.MethodPost, "/run/read", "{}", "")
		}
		return quantile(all, 99)
	}
	plain()
	for b.Loop() {
		var at []string
		for i := range benchCallers {
			p := x.dial(b, i)
			_, h := p.timed(http.StatusAccepted, http.MethodPost, "/run/hold", "{}", "Prefer: respond-async\r\n")
			at = append(at, h.Get("Location"))
			_ = p.Close()
		}
		before, memory := plain(), inUse()
		var waiting []*peer
		for i := range 1000 {
			p := x.dial(b, i%benchCallers)
			p.write(http.MethodGet, at[p.caller]+"?wait=60", "", "")
			waiting = append(waiting, p)
		}
		plain() // until all of them wait
		after := plain()
		b.ReportMetric(float64(inUse()-memory)/(1<<20), "MiB")
		b.ReportMetric(after.Seconds()/before.Seconds(), "p99-of-before")
		close(x.end)
		for _, p := range waiting {
			p.read(http.StatusOK)
			_ = p.Close()
		}
		x.end = make(chan struct{})
	}
}

// inUse is the memory of the process, without what was freed.
func inUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

package webtool_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/webtool"
)

// BenchmarkMetadata reads a document over one kept connection, from the guarded
// face and from a bare handler that writes the same bytes, and prints how many
// times the bare handler's rate the face reaches ("of-bare"). The client only
// counts bytes, so that it hides nothing.
func BenchmarkMetadata(b *testing.B) {
	decls := make([]bridge.Declaration, 20)
	for i := range decls {
		decls[i] = bridgetest.Tool(fmt.Sprintf("tool_%02d", i), weatherSchema)
	}
	br, err := bridge.New(bridgetest.NewRouter().Add("weather", decls...), bridge.Options{})
	if err != nil {
		b.Fatal(err)
	}
	document := serveOnce(b, br, http.MethodGet, "/webtools/weather", "").Body.Bytes()

	bare := listen(b)
	start(b, bare, &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(document)
	})})
	guarded := listen(b)
	mux := transport.NewMux(webtool.New(br, webtool.Options{}).Routes()...)
	start(b, transport.Listener(guarded), transport.Server(transport.Guard(mux, transport.Options{Listen: guarded.Addr().String()}), nil))

	b.ResetTimer()
	var of [2]time.Duration
	for range b.N {
		for i, addr := range []string{bare.Addr().String(), guarded.Addr().String()} {
			began := time.Now()
			fetch(b, addr, 200)
			of[i] += time.Since(began)
		}
	}
	b.ReportMetric(of[0].Seconds()/of[1].Seconds(), "of-bare")
	b.ReportMetric(200*float64(b.N)/of[1].Seconds(), "replies/s")
	b.ReportMetric(float64(len(document)), "document-bytes")
}

// BenchmarkCall makes calls that run nothing, without a listener, to see what the
// stages of the bridge cost: without limits, and with all of them.
func BenchmarkCall(b *testing.B) {
	much := policy.Rate{N: 1_000_000, Per: time.Millisecond}
	for name, o := range map[string]bridge.Options{
		"unlimited":   {},
		"caller-rate": {Rates: map[string]policy.Rate{bridge.Local().Name: much}},
		"all-rates": {Rates: map[string]policy.Rate{bridge.Local().Name: much}, Sites: map[string]bridge.SiteOptions{"shop": {
			Rate: much, Rates: []policy.RateRule{{Pattern: "a*", Rate: much}, {Pattern: "delete-*", Rate: much}}}}},
	} {
		b.Run(name, func(b *testing.B) {
			br, err := bridge.New(bridgetest.NewRouter().Add("shop", bridgetest.Tool("add", "")), o)
			if err != nil {
				b.Fatal(err)
			}
			h := transport.Guard(transport.NewMux(webtool.New(br, webtool.Options{}).Routes()...), transport.Options{Listen: "127.0.0.1:7300"})
			w := &sink{header: http.Header{}}
			r := httptest.NewRequest(http.MethodPost, "/webtools/shop", nil)
			r.Host = "127.0.0.1:7300"
			r.Header.Set("Content-Type", "application/json")
			filler := strings.Repeat("x", 180)
			bodies := make([][]byte, 1000) // other arguments of 200 bytes each time
			for n := range bodies {
				bodies[n] = fmt.Appendf(nil, `{"action":"add","request":{"n":%d,"s":%q}}`, 10_000_000+n, filler)
			}
			var body bytes.Reader
			r.Body = io.NopCloser(&body)
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				body.Reset(bodies[n%len(bodies)])
				again := *r
				again.ContentLength = body.Size()
				h.ServeHTTP(w, &again)
			}
			if w.status != http.StatusOK {
				b.Fatal(w.status)
			}
		})
	}
}

func listen(b *testing.B) net.Listener {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	return l
}

func start(b *testing.B, l net.Listener, srv *http.Server) {
	b.Helper()
	var wait sync.WaitGroup
	wait.Go(func() { _ = srv.Serve(l) })
	b.Cleanup(func() { _ = srv.Close(); wait.Wait() })
}

// fetch reads the document n times over one connection.
func fetch(b *testing.B, addr string, n int) {
	b.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	r := bufio.NewReaderSize(c, 64<<10)
	for range n {
		_, _ = io.WriteString(c, "GET /webtools/weather HTTP/1.1\r\nHost: "+addr+"\r\n\r\n")
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK {
			b.Fatal(err, res.StatusCode)
		}
	}
}

// TestMetadataIsNotEncoded holds the work per read: it does not grow with the
// document. A time would depend on the machine.
func TestMetadataIsNotEncoded(t *testing.T) {
	allocs := func(tools int) float64 {
		decls := make([]bridge.Declaration, tools)
		for i := range decls {
			decls[i] = bridgetest.Tool(fmt.Sprintf("tool_%03d", i), weatherSchema)
		}
		br, err := bridge.New(bridgetest.NewRouter().Add("weather", decls...), bridge.Options{})
		if err != nil {
			t.Fatal(err)
		}
		h := transport.Guard(transport.NewMux(webtool.New(br, webtool.Options{}).Routes()...), transport.Options{Listen: "127.0.0.1:7300"})
		r := httptest.NewRequest(http.MethodGet, "/webtools/weather", strings.NewReader(""))
		r.Host = "127.0.0.1:7300"
		w := &sink{header: http.Header{}}
		h.ServeHTTP(w, r) // builds the document
		return testing.AllocsPerRun(100, func() {
			clear(w.header)
			h.ServeHTTP(w, r)
		})
	}
	small, large := allocs(1), allocs(100)
	if large > small+2 || large > 60 {
		t.Errorf("a read of 1 tool makes %v allocations, of 100 tools %v", small, large)
	}
}

// sink is a ResponseWriter that keeps nothing.
type sink struct {
	header http.Header
	status int
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) Write(p []byte) (int, error) { return len(p), nil }
func (s *sink) WriteHeader(status int)      { s.status = status }

// A listener's own can do these, too.
func (s *sink) SetReadDeadline(time.Time) error  { return nil }
func (s *sink) SetWriteDeadline(time.Time) error { return nil }

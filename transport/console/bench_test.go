package console

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
)

// BenchmarkCall measures what the operators' page costs a call: with none who watches, with Records, and
// with a reader of the one stream.
func BenchmarkCall(b *testing.B) {
	for _, watched := range []string{"unwatched", "remembered", "streamed"} {
		b.Run(watched, func(b *testing.B) {
			br, err := bridge.New(bridgetest.NewRouter().Add("shop", bridgetest.Tool("find", "")), bridge.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer br.Close()
			var rs Records
			if watched != "unwatched" {
				rs.Gather(b.Context(), br, "here")
			}
			if watched == "streamed" {
				done, ended := make(chan struct{}), make(chan struct{})
				f := New(br, Options{Done: done, Node: "here", Records: &rs})
				go func() {
					defer close(ended)
					f.stream(nowhere{http.Header{}}, httptest.NewRequest(http.MethodGet, "/api/events", http.NoBody), bridge.Local())
				}()
				defer func() { close(done); <-ended }()
			}
			input := bridgetest.JSON(`{}`)
			for b.Loop() {
				if _, err := br.Do(b.Context(), &bridge.Call{Site: "shop", Tool: "find", Caller: bridge.Local(), Input: input}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// nowhere is a reader that takes all, and keeps nothing.
type nowhere struct{ header http.Header }

func (n nowhere) Header() http.Header            { return n.header }
func (nowhere) WriteHeader(int)                  {}
func (nowhere) Write(p []byte) (int, error)      { return len(p), nil }
func (nowhere) Flush()                           {}
func (nowhere) SetWriteDeadline(time.Time) error { return nil }

// BenchmarkFilter measures a filter of all that is remembered.
func BenchmarkFilter(b *testing.B) {
	var rs Records
	for n := range maxRecords {
		rs.take(&callJSON{Call: time.Duration(n).String(), Site: "shop", Tool: "find", Caller: "agent", Status: statusOK, Began: time.Unix(int64(n), 0)})
	}
	for b.Loop() {
		want, err := readFilter("site:shop status:error duration:>500ms agent", time.Now())
		if err != nil {
			b.Fatal(err)
		}
		rs.list(want, nil, 1000)
	}
}

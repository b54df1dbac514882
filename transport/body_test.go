package transport_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport"
)

const head = "POST / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n"

// TestMediaType is the second half of N3 and N4. The bodies never come: the
// answer must not wait for them.
func TestMediaType(t *testing.T) {
	t.Parallel()
	s := serve(t, http.HandlerFunc(whoami), transport.Options{BodyTimeout: time.Minute})
	for kind, ok := range map[string]bool{
		"Content-Type: application/json":                               true,
		"Content-Type: Application/JSON":                               true,
		"Content-Type: application/json; charset=utf-8":                true,
		"content-type: application/json;charset=\"UTF-8\"":             true,
		"Content-Type: application/json\r\nContent-Encoding: identity": true,
		"X-Nothing: 1":                                                             false,
		"Content-Type:":                                                            false,
		"Content-Type: text/plain":                                                 false,
		"Content-Type: text/plain; application/json":                               false,
		"Content-Type: application/x-www-form-urlencoded":                          false,
		"Content-Type: multipart/form-data; boundary=x":                            false,
		"Content-Type: application/json; charset=utf-16":                           false,
		"Content-Type: application/json; profile=x":                                false,
		"Content-Type: application/jsonp":                                          false,
		"Content-Type: application/json, text/plain":                               false,
		"Content-Type: application/json\r\nContent-Type: text/plain":               false,
		"Content-Type: application/json\r\nContent-Encoding: gzip":                 false,
		"Content-Type: text/plain\r\nExpect: 100-continue":                         false,
		"Content-Type: text/plain\r\nTransfer-Encoding: chunked\r\nX-No-Length: 1": false,
	} {
		if ok {
			s.raw(t, head+kind+"\r\nContent-Length: 2\r\n\r\n{}").wantStatus(t, 200)
			continue
		}
		length := "Content-Length: 1000\r\n"
		if strings.Contains(kind, "chunked") {
			length = ""
		}
		got := s.raw(t, head+kind+"\r\n"+length+"\r\n")
		got.wantError(t, 415, bridge.SchemaError)
		if !got.Close {
			t.Errorf("%s: the connection is kept, though the body is still to come", kind)
		}
	}
	// No body, nothing to refuse.
	s.raw(t, head+"Content-Length: 0\r\n\r\n").wantStatus(t, 200)
	s.raw(t, head+"\r\n").wantStatus(t, 200)
	s.raw(t, strings.Replace(head, "POST", "GET", 1)+"Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}").wantError(t, 415, bridge.SchemaError)
}

// TestBodySize is N11, at the limit and one past it.
func TestBodySize(t *testing.T) {
	t.Parallel()
	s := serve(t, http.HandlerFunc(whoami), transport.Options{MaxBody: 100, MaxBodyUnder: map[string]int64{"/mcp": 200, "/mcp/small": 50}})
	for path, limit := range map[string]int{"/": 100, "/mcp": 200, "/mcp/x": 200, "/mcpx": 100, "/mcp/small": 50} {
		s.post(t, path, strings.Repeat("x", limit)).wantStatus(t, 200)
		s.post(t, path, strings.Repeat("x", limit+1)).wantError(t, 413, bridge.SchemaError)
	}
	// An announced gigabyte is refused before it comes.
	got := s.raw(t, head+"Content-Type: application/json\r\nContent-Length: 1073741824\r\n\r\n")
	got.wantError(t, 413, bridge.SchemaError)
	if !got.Close {
		t.Error("the connection is kept, though a gigabyte is still to come")
	}
	// The default of the contract.
	whole := serve(t, http.HandlerFunc(whoami), transport.Options{})
	whole.post(t, "/", strings.Repeat("x", 1<<20)).wantStatus(t, 200)
	whole.post(t, "/", strings.Repeat("x", 1<<20+1)).wantError(t, 413, bridge.SchemaError)
}

func TestEndlessChunks(t *testing.T) {
	t.Parallel()
	s := serve(t, http.HandlerFunc(whoami), transport.Options{MaxBody: 1000})
	c := s.dial(t)
	s.send(t, c, head+"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
	stop := make(chan struct{})
	go func() { // writes until the server hangs up
		defer close(stop)
		chunk := []byte("400\r\n" + strings.Repeat("x", 0x400) + "\r\n")
		for {
			if _, err := c.Write(chunk); err != nil {
				return
			}
		}
	}()
	got := read(t, bufio.NewReader(c), false)
	got.wantError(t, 413, bridge.SchemaError)
	if !got.Close {
		t.Error("the connection is kept")
	}
	<-stop
}

// TestChunksEndTheConnection: net/http takes chunks over a length without
// saying so (RFC 9112, 6.1), so what follows could be a smuggled request.
func TestChunksEndTheConnection(t *testing.T) {
	t.Parallel()
	s := serve(t, http.HandlerFunc(whoami), transport.Options{})
	for name, length := range map[string]string{"both": "Content-Length: 40\r\n", "chunks alone": ""} {
		c := s.dial(t)
		s.send(t, c, head+"Content-Type: application/json\r\n"+length+"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"+
			"GET /smuggled HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n")
		all, _ := io.ReadAll(c)
		if n := strings.Count(string(all), "HTTP/1.1 "); n != 1 || !strings.Contains(string(all), `"read":2`) {
			t.Errorf("%s: %d replies: %q", name, n, all)
		}
	}
	if strings.Contains(s.log.String(), "smuggled") {
		t.Error("the smuggled request was served")
	}
	for name, te := range map[string]string{"unknown": "gzip, chunked", "twice": "chunked\r\nTransfer-Encoding: chunked", "obscured": "xchunked"} {
		got := s.raw(t, head+"Content-Type: application/json\r\nTransfer-Encoding: "+te+"\r\n\r\n2\r\n{}\r\n0\r\n\r\n")
		if got.StatusCode != http.StatusNotImplemented && got.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %d", name, got.StatusCode)
		}
		if !got.Close {
			t.Errorf("%s: %v", name, got.Header)
		}
	}
}

// TestSlowBody is N12: what stops half way is answered, not waited for.
func TestSlowBody(t *testing.T) {
	t.Parallel()
	s := serve(t, http.HandlerFunc(whoami), transport.Options{BodyTimeout: 500 * time.Millisecond})
	got := s.raw(t, head+"Content-Type: application/json\r\nContent-Length: 10\r\n\r\n{")
	got.wantError(t, 400, bridge.SchemaError)
	if !strings.Contains(got.body, "in time") || !got.Close {
		t.Errorf("close %v: %s", got.Close, got.body)
	}
	s.post(t, "/", "{}").wantStatus(t, 200)
}

// TestLongCall: the deadline of the body ends with the body.
func TestLongCall(t *testing.T) {
	t.Parallel()
	const deadline = time.Second // a busy machine may stop for a while between a head and its body
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := transport.ReadBody(r)
		select {
		case <-time.After(deadline + deadline/2):
		case <-r.Context().Done():
			t.Error("the call was cut")
		}
		transport.WriteJSON(w, r, 200, len(body))
	}), transport.Options{BodyTimeout: deadline, WriteTimeout: deadline})
	c := s.dial(t)
	r := bufio.NewReader(c)
	for range 2 {
		s.send(t, c, head+"Content-Type: application/json\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
		if line, _ := r.ReadString('\n'); !strings.HasPrefix(line, "HTTP/1.1 100") {
			t.Fatalf("no 100 Continue: %q", line)
		}
		if _, err := r.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		s.send(t, c, "{}")
		if got := read(t, r, false); got.body != "2" {
			t.Errorf("%d %s", got.StatusCode, got.body)
		}
	}
}

// TestDeafClient is the third shape of N12: who never reads the reply holds a
// connection for a bounded time.
func TestDeafClient(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, err := w.Write(make([]byte, 64<<20))
		ended <- err
	}), transport.Options{WriteTimeout: 50 * time.Millisecond})
	c := s.dial(t)
	s.send(t, c, "GET / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n")
	select {
	case err := <-ended:
		if err == nil {
			t.Error("64 MiB were written to nobody")
		}
	case <-time.After(10 * time.Second):
		t.Error("the reply is still being written")
	}
}

// TestStream: a stream has no such deadline.
func TestStream(t *testing.T) {
	t.Parallel()
	const deadline = 500 * time.Millisecond
	s := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		<-time.After(2 * deadline)
		_, _ = io.WriteString(w, "data: 1\n\n")
	}), transport.Options{WriteTimeout: deadline})
	if got := s.get(t, "/"); got.body != "data: 1\n\n" {
		t.Errorf("%q", got.body)
	}
}

func TestBodyThatBreaksOff(t *testing.T) {
	t.Parallel()
	s := serve(t, http.HandlerFunc(whoami), transport.Options{})
	s.raw(t, head+"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n").wantError(t, 400, bridge.SchemaError)
}

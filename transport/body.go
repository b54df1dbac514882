package transport

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
)

// errMediaType is the cause of an Error about a body whose Content-Type is not JSON.
var errMediaType = errors.New("media type")

// hasBody reports whether a body follows the head, as far as the head says.
func hasBody(r *http.Request) bool {
	return r.Body != nil && r.Body != http.NoBody && r.ContentLength != 0
}

// guardedBody knows whether it was read to its end. Until then a deadline is on
// the connection; it must not outlive the body, or it would end a long call.
type guardedBody struct {
	io.ReadCloser
	ended atomic.Bool
	clear func()
}

func (b *guardedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) && !b.ended.Swap(true) {
		b.clear()
	}
	return n, err
}

// guardBody puts the deadline on the body, before anything is decided: also a
// body that nobody wants is drained by the server.
func (g *guard) guardBody(w *recorder, r *http.Request) {
	if !hasBody(r) {
		return
	}
	control := http.NewResponseController(w.ResponseWriter)
	// A recorder of a test has no connection; a server's has one. The write
	// deadline of an earlier reply would keep "100 Continue" from being sent.
	_ = control.SetReadDeadline(time.Now().Add(g.o.BodyTimeout))
	_ = control.SetWriteDeadline(time.Time{})
	w.body = &guardedBody{ReadCloser: r.Body,
		clear: func() { _ = control.SetReadDeadline(time.Time{}) }}
	// Content-Length beside chunks smuggles requests past a proxy.
	// The server has removed the length before we could see it, so no second
	// request is read from a connection that sent chunks.
	w.closes = len(r.TransferEncoding) > 0
	r.Body = w.body
}

// checkBody refuses bodies by type and by announced size, before a byte of them
// is read, and caps what is read.
func (g *guard) checkBody(w http.ResponseWriter, r *http.Request, _ *info) (answered bool) {
	if !hasBody(r) {
		return false
	}
	media := "application/json"
	if slices.Contains(g.o.FormsAt, strings.TrimSuffix(r.URL.EscapedPath(), "/")) {
		media = "application/x-www-form-urlencoded"
	}
	if !isOf(r.Header, media) {
		WriteError(w, r, bridge.Errorf(bridge.SchemaError, "", bridge.NotRun,
			"The body must be %s, and not %q.", media, text.Brief(strings.Join(r.Header.Values("Content-Type"), ", "), maxShown)).With(errMediaType))
		return true
	}
	limit := g.o.bodyLimit(r.URL.Path)
	if r.ContentLength > limit {
		WriteError(w, r, TooLarge(limit))
		return true
	}
	under := w
	if rec, ok := w.(*recorder); ok {
		under = rec.ResponseWriter // MaxBytesReader knows the server's own writer
	}
	r.Body = http.MaxBytesReader(under, r.Body, limit)
	return false
}

// isOf accepts one media type, with charset=utf-8 or without, and no coding.
func isOf(h http.Header, want string) bool {
	types, codings := h.Values("Content-Type"), h.Values("Content-Encoding")
	if len(types) != 1 || len(codings) > 1 || len(codings) == 1 &&
		!strings.EqualFold(codings[0], "identity") {
		return false
	}
	if types[0] == want {
		return true
	}
	media, params, err := mime.ParseMediaType(types[0])
	if err != nil || media != want {
		return false
	}
	for key, value := range params {
		if key != "charset" || !strings.EqualFold(value, "utf-8") {
			return false
		}
	}
	return true
}

// maxShown limits how much of a header a message repeats.
const maxShown = 100

// PlainBody limits a body without files, and withFiles one that may have some, in bytes.
const PlainBody, withFiles = 1 << 20, 4 << 20

// BodiesWithFiles returns the limits of bodies below the paths of calls, for Options.MaxBodyUnder:
// a face must refuse what is longer than PlainBody without a reason.
func BodiesWithFiles() map[string]int64 {
	return map[string]int64{"/mcp": withFiles, "/webtools": withFiles}
}

// TooLarge returns the error of a body that is longer than the limit.
func TooLarge(limit int64) *bridge.Error {
	return bridge.Errorf(bridge.SchemaError, "", bridge.NotRun,
		"The body must be at most %d bytes long.", limit).With(bridge.ErrTooLarge)
}

// ReadBody reads the whole body. A face reads it before it starts a call: only
// then the server notices that a client goes away. Errors are *bridge.Error.
func ReadBody(r *http.Request) ([]byte, error) {
	var buf bytes.Buffer
	if n := r.ContentLength; n > 0 {
		buf.Grow(int(min(n, 1<<20)) + bytes.MinRead)
	}
	_, err := buf.ReadFrom(r.Body)
	if err == nil {
		return buf.Bytes(), nil
	}
	if big, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, TooLarge(big.Limit)
	}
	e := bridge.Errorf(bridge.SchemaError, "", bridge.NotRun,
		"The body could not be read to its end.")
	if errors.Is(err, os.ErrDeadlineExceeded) {
		e.Message = "The body did not arrive in time."
	}
	return nil, e.With(fmt.Errorf("reading the body: %w", err))
}

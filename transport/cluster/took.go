package cluster

import (
	"net/http"
	"strconv"
	"time"
)

// tookHeader says of a reply to another node how long this one took until it began, in microseconds. It does
// not leave the cluster.
const tookHeader = "Pagetools-Hop-Took"

// tookWriter adds it.
type tookWriter struct {
	http.ResponseWriter

	began time.Time
	done  bool
}

// WriteHeader implements http.ResponseWriter.
func (w *tookWriter) WriteHeader(status int) {
	if status >= http.StatusOK && !w.done {
		w.done = true
		w.Header().Set(tookHeader, strconv.FormatInt(time.Since(w.began).Microseconds(), 10))
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *tookWriter) Write(p []byte) (int, error) {
	if !w.done {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(p) //nolint:wrapcheck // as it is
}

// FlushError sends what was written, for http.ResponseController.
func (w *tookWriter) FlushError() error {
	if !w.done {
		w.WriteHeader(http.StatusOK)
	}
	return http.NewResponseController(w.ResponseWriter).Flush() //nolint:wrapcheck // as it is
}

// Unwrap lets http.ResponseController find what the writer can do.
func (w *tookWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// tookOf removes the header, and returns what it says.
func tookOf(h http.Header) (took time.Duration, ok bool) {
	n, err := strconv.ParseInt(h.Get(tookHeader), 10, 64)
	h.Del(tookHeader)
	return time.Duration(n) * time.Microsecond, err == nil
}

package session

import (
	"net/http"
	"time"
)

// Network stands between the pages of a test and the network. Tabs that were opened with
// TabOptions.Network ask it about each request of the page, of its frames and of the dedicated
// workers of those, redirects and preflights included. WebSockets, service workers, shared
// workers, and windows that are not bridged do not ask. It is safe for concurrent use, and does
// not wait for anything.
type Network interface {
	// Ask decides about a request before it is sent. With Answer, it has filled in the response.
	Ask(x *Exchange) Ruling
	// Answered reports the response of an exchange about which Ask returned Watch.
	Answered(x *Exchange)
}

// Ruling decides what becomes of a request.
type Ruling int

const (
	// Send sends it.
	Send Ruling = iota
	// Watch sends it, and reports the response, which the page gets afterwards.
	Watch
	// Answer returns the response of the exchange to the page.
	Answer
	// Refuse fails it, as if it was blocked.
	Refuse
)

// MaxExchange is the longest body of a response that is read, in bytes.
const MaxExchange = 5 << 20

// Exchange is a request and its response.
type Exchange struct {
	// Began says when the page asked for it.
	Began       time.Time
	Method, URL string // URL has no fragment
	Header      http.Header
	// Body is the request's body; nil also for one that is made of files.
	Body []byte

	// Status is the response's; zero when there is none, and then Failed says why.
	Status     int
	StatusText string
	Answer     http.Header
	// Content is the response's body, its encoding undone. Cut is true when it was not read: it
	// is longer than MaxExchange, or a stream of events.
	Content []byte
	Cut     bool
	Failed  string
}

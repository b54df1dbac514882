package endpoint

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge/origin"
)

// Endpoint is a place where a browser is had from. Exactly one of URL, WebDriver and Command is set.
type Endpoint struct {
	// Name is the operator's name of it, for logs and metrics; "" for the only one.
	Name string
	// URL is http://host:port, from which the WebSocket address is read, or a WebSocket address.
	URL string
	// Header is sent with the requests to URL.
	Header http.Header
	// WebDriver is the address of a WebDriver server whose sessions have the capability se:cdp.
	WebDriver string
	// Insecure accepts any certificate of a site, in browsers of WebDriver.
	Insecure bool
	// Command is a program with its arguments. It prints where the browser is, and gives it back when its
	// stdin is closed.
	Command []string
	// Max bounds the tabs that are open in it at once; zero means any number.
	Max int
	// Once says that its pages end with the connection, so that nobody attaches to them again.
	Once bool
}

// String names the endpoint, without what may be a key.
func (e Endpoint) String() string {
	at := Shown(e.URL)
	switch {
	case e.WebDriver != "":
		at = "WebDriver at " + Shown(e.WebDriver)
	case len(e.Command) > 0:
		at = "the command " + e.Command[0]
	}
	if e.Name == "" {
		return at
	}
	return e.Name + ", " + at
}

// Claim is a browser that was had from an endpoint. The caller must call Release.
type Claim struct {
	// URL and Header are as those of an Endpoint, and Once is, too.
	URL    string
	Header http.Header
	Once   bool
	// Rented is true for a browser that is there for us alone, and ends with Release.
	Rented bool

	release func()
}

// Release gives the browser back, and waits for that a few seconds. It is idempotent.
func (c *Claim) Release() {
	if c.release != nil {
		c.release()
	}
}

// Claim has a browser, within ctx. The error is a [*BusyError] when the endpoint has none now.
func (e *Endpoint) Claim(ctx context.Context, log *slog.Logger) (*Claim, error) {
	switch {
	case e.WebDriver != "":
		return e.newSession(ctx, log)
	case len(e.Command) > 0:
		return e.run(ctx, log)
	case e.URL != "":
		return &Claim{URL: e.URL, Header: e.Header, Once: e.Once}, nil
	}
	return nil, errors.New("a remote browser needs an address")
}

// BusyError says that an endpoint took no further connection: it is full, or has much to do.
type BusyError struct {
	Status int
	// After says when to ask again, as far as the endpoint said; zero otherwise.
	After time.Duration
}

// Error returns the status of the response.
func (e *BusyError) Error() string {
	return fmt.Sprintf("it is busy: %d %s", e.Status, http.StatusText(e.Status))
}

// Busy returns a [*BusyError] for a response that says so; nil otherwise. Retry-After has seconds, or a
// date.
func Busy(status int, h http.Header) error {
	if status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable {
		return nil
	}
	e := &BusyError{Status: status}
	text := strings.TrimSpace(h.Get("Retry-After"))
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		e.After = time.Duration(n) * time.Second
	} else if at, err := http.ParseTime(text); err == nil {
		e.After = max(0, time.Until(at))
	}
	return e
}

// Shown returns an address without what may be a key in it: its user, its path and what follows.
func Shown(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "what was given"
	}
	return u.Scheme + "://" + u.Host
}

// Safe returns an error of net/http without the address, which it repeats.
func Safe(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// isHere reports whether a host is this machine, or none.
func isHere(host string) bool { return origin.Loopback(host) || host == "0.0.0.0" || host == "::" }

package endpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/session/cdp/wire"
)

// lookTime bounds how long a browser may take to say its WebSocket address.
const lookTime = 10 * time.Second

// Dial connects to the browser. The error is a [*BusyError] when it took no connection for now.
func (c *Claim) Dial(ctx context.Context) (chromedp.Transport, error) {
	ws, err := webSocketURL(ctx, c.URL, c.Header)
	if err != nil {
		return nil, err
	}
	conn, err := wire.Dial(ctx, ws, c.Header)
	if err == nil {
		return conn, nil
	}
	if busy := whyRefused(ctx, ws, c.Header, err); busy != nil {
		return nil, busy
	}
	if e, ok := errors.AsType[*url.Error](err); ok { // which repeats the address
		return nil, &silentError{ws, e.Err}
	}
	return nil, err
}

// silentError says that no browser answers at an address.
type silentError struct {
	address string
	err     error
}

func (e *silentError) Unwrap() error { return e.err }

// Error says why, and what makes a browser answer there.
func (e *silentError) Error() string {
	why := "it does not answer as a browser does"
	_, unknown := errors.AsType[*net.DNSError](e.err)
	timed, isNet := errors.AsType[net.Error](e.err)
	switch {
	case unknown:
		why = "there is no such host"
	case origin.IsRefused(e.err):
		why = "nothing listens there"
	case isNet && timed.Timeout():
		why = "it does not answer in time"
	}
	return fmt.Sprintf("%s is not the address of a browser: %s. Start one with remote debugging, and give the address that it prints", Shown(e.address), why)
}

// webSocketURL returns the browser's WebSocket address. An http address is asked
// for it at /json/version, as every Chromium with a debugging port offers it.
func webSocketURL(ctx context.Context, raw string, header http.Header) (string, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return "", errors.New("the browser's address is not a URL")
	}
	switch u.Scheme {
	case "ws", "wss":
		return raw, nil
	case "http", "https":
	default:
		return "", fmt.Errorf("invalid browser address: must begin with http, https, ws or wss, not %q", u.Scheme)
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	at := *u
	at.Path = strings.TrimSuffix(at.Path, "/") + "/json/version"
	resp, err := get(ctx, &at, header)
	if err != nil {
		return "", &silentError{raw, Safe(err)}
	}
	defer func() { _ = resp.Body.Close() }()
	if err := Busy(resp.StatusCode, resp.Header); err != nil {
		return "", err
	}
	var v struct {
		WebSocket string `json:"webSocketDebuggerUrl"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, mostReply)).Decode(&v); err != nil || v.WebSocket == "" {
		return "", fmt.Errorf("%s is not a browser's debugging address", Shown(raw))
	}
	ws, err := url.Parse(v.WebSocket)
	if err != nil {
		return "", errors.New("the browser's WebSocket address is not a URL")
	}
	ws.Host, ws.User = u.Host, u.User // the browser may know itself under another name
	if u.Scheme == "https" {
		ws.Scheme = "wss"
	}
	if ws.RawQuery == "" {
		ws.RawQuery = u.RawQuery // a key
	}
	return ws.String(), nil
}

// get asks for an address, with the user that stands in it.
func get(ctx context.Context, u *url.URL, header http.Header) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		r.Header[name] = values
	}
	return client.Do(r)
}

// whyRefused returns a [*BusyError] for a handshake that failed because the endpoint is busy; nil for
// any other. The client of WebSockets says the status in words only, and no headers, so that the
// endpoint is asked once more.
func whyRefused(ctx context.Context, ws string, header http.Header, failed error) error {
	u, err := url.Parse(ws)
	said := failed.Error()
	if err != nil || !strings.Contains(said, `unexpected status "429`) && !strings.Contains(said, `unexpected status "503`) {
		return nil //nolint:nilerr // it did not fail because of that
	}
	u.Scheme = map[bool]string{true: "https", false: "http"}[u.Scheme == "wss"]
	header = header.Clone()
	if header == nil {
		header = http.Header{}
	}
	for name, value := range map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-Websocket-Version": "13", "Sec-Websocket-Key": "MDEyMzQ1Njc4OWFiY2RlZg=="} {
		header.Set(name, value)
	}
	resp, err := get(ctx, u, header)
	if err != nil {
		return &BusyError{Status: http.StatusServiceUnavailable}
	}
	_ = resp.Body.Close()
	if busy := Busy(resp.StatusCode, resp.Header); busy != nil {
		return busy
	}
	return &BusyError{Status: http.StatusServiceUnavailable} // it has room by now
}

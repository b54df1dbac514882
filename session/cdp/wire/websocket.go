package wire

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
	"github.com/chromedp/chromedp/remote"

	"github.com/pagetools/pagetools/bridge/origin"
)

// Dial connects to a browser that runs elsewhere: at http://host:port, from which
// the WebSocket address is read, or at a WebSocket address itself. The header is
// sent with the handshake.
func Dial(ctx context.Context, address string, header http.Header) (chromedp.Transport, error) {
	ws, err := webSocketURL(ctx, address)
	if err != nil {
		return nil, err
	}
	return remote.DialContext(ctx, ws, remote.WithConnHTTPHeader(header))
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
	return fmt.Sprintf("%s is not the address of a browser: %s. Start one with remote debugging, and give the address that it prints", e.address, why)
}

// webSocketURL returns the browser's WebSocket address. An http address is asked
// for it at /json/version, as every Chromium with a debugging port offers it.
func webSocketURL(ctx context.Context, raw string) (string, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return "", fmt.Errorf("reading the browser's address: %w", err)
	}
	switch u.Scheme {
	case "ws", "wss":
		return raw, nil
	case "http", "https":
	default:
		return "", fmt.Errorf("invalid browser address %q: must begin with http, https, ws or wss",
			raw)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet,
		strings.TrimSuffix(u.String(), "/")+"/json/version", nil)
	if err != nil {
		return "", fmt.Errorf("asking the browser: %w", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", &silentError{raw, err}
	}
	defer resp.Body.Close()
	var v struct {
		WebSocket string `json:"webSocketDebuggerUrl"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&v); err != nil ||
		v.WebSocket == "" {
		return "", fmt.Errorf("%s is not a browser's debugging address", raw)
	}
	ws, err := url.Parse(v.WebSocket)
	if err != nil {
		return "", fmt.Errorf("reading the browser's WebSocket address: %w", err)
	}
	ws.Host = u.Host // the browser may know itself under another name
	return ws.String(), nil
}

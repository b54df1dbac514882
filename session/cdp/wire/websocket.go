package wire

import (
	"context"
	"net/http"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/remote"
)

// Dial connects to a browser that runs elsewhere, at its WebSocket address. The header is sent with
// the handshake.
func Dial(ctx context.Context, address string, header http.Header) (chromedp.Transport, error) {
	return remote.DialContext(ctx, address, remote.WithConnHTTPHeader(header))
}

package transport

import (
	"cmp"
	"log/slog"
	"net/http"
	"time"
)

// The limits of a connection. A whole request has none: calls are long.
const (
	maxHeader         = 16 << 10
	readHeaderTimeout = 5 * time.Second
	idleTimeout       = 2 * time.Minute
)

// Server serves h with the limits of the contract. The guards bound how long a
// body and a reply may take. log gets what the server reports about connections; nil is
// silent. What is not HTTP, or has a head of several times the
// limit, gets the text of net/http, which answers it before any handler.
func Server(h http.Handler, log *slog.Logger) *http.Server {
	log = cmp.Or(log, slog.New(slog.DiscardHandler))
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true) // and no HTTP/2 in clear text
	return &http.Server{
		Handler:                      h,
		ReadHeaderTimeout:            readHeaderTimeout,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               4 * maxHeader, // the guards refuse what is above maxHeader
		Protocols:                    protocols,
		DisableGeneralOptionsHandler: true, // it answers OPTIONS * in text
		ErrorLog:                     slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

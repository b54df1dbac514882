package transport

import (
	"bytes"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/schema"
)

// The limits of a connection. A whole request has none: calls are long.
const (
	maxHeader         = 16 << 10
	readHeaderTimeout = 5 * time.Second
	idleTimeout       = 2 * time.Minute
)

// Server serves h with the limits of the contract. The guards bound how long a
// body and a reply may take. log gets what the server has to say about
// connections; nil is silent. Serve it on a [Listener].
func Server(h http.Handler, log *slog.Logger) *http.Server {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true) // and no HTTP/2 in clear text
	return &http.Server{
		Handler:                      h,
		ReadHeaderTimeout:            readHeaderTimeout,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               maxHeader,
		Protocols:                    protocols,
		DisableGeneralOptionsHandler: true, // it answers OPTIONS * in text
		ErrorLog:                     slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// Listener makes the replies that net/http writes before any handler runs (400,
// 417, 431, 501, 505: the request could not be read) as JSON as all others.
func Listener(l net.Listener) net.Listener { return listener{l} }

type listener struct{ net.Listener }

// Accept waits for the next connection.
func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &conn{c}, nil
}

// conn replaces the replies of net/http itself. Handlers never write such a
// one: theirs are JSON, in which a line end is always escaped.
type conn struct{ net.Conn }

// CloseWrite lets the server end a connection so that the client still reads
// the reply.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}

// Write writes p, or the JSON form of it.
func (c *conn) Write(p []byte) (int, error) {
	reply := jsonReply(p)
	if reply == nil {
		return c.Conn.Write(p)
	}
	// The deadline of an earlier reply on this connection may be over.
	if err := c.SetWriteDeadline(time.Now().Add(readHeaderTimeout)); err != nil {
		return 0, err
	}
	if _, err := c.Conn.Write(reply); err != nil {
		return 0, err
	}
	return len(p), nil
}

// builtinHead is how net/http ends the head of its own error replies.
var builtinHead = []byte("\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n")

// maxBuiltin is longer than any of those replies.
const maxBuiltin = 512

// jsonReply gives the JSON form of a reply of net/http itself, or nil.
func jsonReply(p []byte) []byte {
	if len(p) < len("HTTP/1.1 400 ") || len(p) > maxBuiltin || !bytes.HasPrefix(p, []byte("HTTP/1.1 ")) || p[9] != '4' && p[9] != '5' {
		return nil
	}
	line, _, _ := bytes.Cut(p, []byte("\r\n"))
	if !bytes.HasPrefix(p[len(line):], builtinHead) && !bytes.HasPrefix(line, []byte("HTTP/1.1 417 ")) {
		return nil
	}
	var status int
	if _, err := fmt.Sscanf(string(line[9:12]), "%d", &status); err != nil {
		return nil
	}
	e := bridge.Errorf(bridge.SchemaError, "", bridge.NotRun, "This is not an HTTP request that can be answered.")
	switch {
	case status == http.StatusRequestHeaderFieldsTooLarge:
		e.Message = fmt.Sprintf("The head of the request is longer than %d bytes.", maxHeader)
	case status >= http.StatusInternalServerError: // a protocol or a coding that we do not speak
		e.Code, e.Reason = bridge.InternalError, bridge.Internal
	}
	body, err := schema.Encode(envelope{"error", NewErrorBody(e)})
	if err != nil {
		return nil
	}
	return fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nCache-Control: no-store\r\n"+
		"X-Content-Type-Options: nosniff\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		status, http.StatusText(status), len(body), body)
}

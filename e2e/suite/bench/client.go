package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
)

// caller is one keep-alive connection of an agent that waits for each answer:
// what the load generator costs is a write and a read, and no goroutine.
type caller struct {
	conn net.Conn
	in   *bufio.Reader
	out  bytes.Buffer
	host string
}

// dial connects to the server at base, such as http://127.0.0.1:7300.
func dial(base string) (*caller, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	conn, err := d.DialContext(context.Background(), "tcp", u.Host)
	if err != nil {
		return nil, err
	}
	return &caller{conn: conn, in: bufio.NewReader(conn), host: u.Host}, nil
}

// errStatus says that the server refused or failed.
var errStatus = errors.New("it answers")

func (c *caller) close() { _ = c.conn.Close() }

// do sends one request and reads its whole reply. body may be nil.
func (c *caller) do(method, path string, body []byte) ([]byte, error) {
	return c.doWith(method, path, body, nil)
}

// doWith is do with further header fields.
func (c *caller) doWith(method, path string, body []byte, header http.Header) ([]byte, error) {
	c.out.Reset()
	fmt.Fprintf(&c.out, "%s %s HTTP/1.1\r\nHost: %s\r\n", method, path, c.host)
	for name, values := range header {
		fmt.Fprintf(&c.out, "%s: %s\r\n", name, values[0])
	}
	if body != nil {
		fmt.Fprintf(&c.out, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	c.out.WriteString("\r\n")
	c.out.Write(body)
	if _, err := c.conn.Write(c.out.Bytes()); err != nil {
		return nil, err
	}
	resp, err := http.ReadResponse(c.in, nil)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, errors.Join(err, resp.Body.Close())
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%w %s: %s", errStatus, resp.Status, b)
	}
	return b, resp.Body.Close()
}

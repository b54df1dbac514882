package egress

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/proxy"
)

// upstream is the operator's own proxy.
type upstream struct {
	url     *url.URL
	address string // host:port
}

// defaultPorts maps the schemes of an operator's proxy to their ports.
var defaultPorts = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}

// ParseUpstream reads the address of an operator's proxy: host:port, or a URL whose scheme
// is http, https, socks5 or socks5h.
func ParseUpstream(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		u, err = url.Parse("http://" + text)
	}
	if err != nil || u.Hostname() == "" || strings.ContainsAny(u.Host, "=;, ") ||
		defaultPorts[u.Scheme] == "" || u.Path != "" && u.Path != "/" {
		return nil, fmt.Errorf("%q is not a proxy: it must be host:port, or such a URL with http, https or socks5", text)
	}
	return u, nil
}

func newUpstream(u *url.URL) (*upstream, error) {
	if u == nil {
		return nil, nil
	}
	port := cmp.Or(u.Port(), defaultPorts[u.Scheme])
	if port == "" {
		return nil, fmt.Errorf("a proxy cannot have the scheme %q", u.Scheme)
	}
	return &upstream{url: u, address: net.JoinHostPort(u.Hostname(), port)}, nil
}

// connect opens a connection to host:port through the proxy.
func (u *upstream) connect(ctx context.Context, d *net.Dialer, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	if u.url.Scheme == "socks5" || u.url.Scheme == "socks5h" {
		via, err := proxy.FromURL(u.url, d)
		if err != nil {
			return nil, err
		}
		return via.(proxy.ContextDialer).DialContext(ctx, "tcp", address)
	}
	conn, err := d.DialContext(ctx, "tcp", u.address)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	if u.url.Scheme == "https" {
		conn = tls.Client(conn, &tls.Config{ServerName: u.url.Hostname(), MinVersion: tls.VersionTLS12})
	}
	ask := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: http.Header{}}
	if value := basic(u.url); value != "" {
		ask.Header.Set("Proxy-Authorization", value)
	}
	if err := ask.WithContext(ctx).Write(conn); err != nil {
		_ = conn.Close()
		return nil, err
	}
	// Nothing of the far side comes before we speak, so that nothing is left in the buffer.
	resp, err := http.ReadResponse(bufio.NewReader(conn), ask)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	_ = resp.Body.Close() // of a reply to CONNECT it is empty
	if resp.StatusCode != http.StatusOK {
		_ = conn.Close()
		return nil, fmt.Errorf("the proxy answered %s", resp.Status)
	}
	return conn, nil
}

// dialTime bounds the opening of a connection.
const dialTime = 20 * time.Second

// basic is the value of Proxy-Authorization for an address with a user, "" without.
func basic(u *url.URL) string {
	if u.User == nil {
		return ""
	}
	password, _ := u.User.Password()
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(strings.Join([]string{u.User.Username(), password}, ":")))
}

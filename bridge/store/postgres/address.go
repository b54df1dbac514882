package postgres

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/lib/pq"
)

// ErrAddress is the error of an address that cannot be one. It does not have the address.
var ErrAddress = errors.New("must be an address such as postgres://pagetools:PASSWORD@db.example/pagetools, with parameters that PostgreSQL has")

// address says where a database is, and how to get in.
type address struct {
	text       string
	config     pq.Config
	unverified bool // the certificate of the server is not looked at
}

// Check returns ErrAddress for what is not the address of a database.
func Check(text string) error {
	_, err := parse(text, "", defaultTimeout)
	return err
}

// parse reads an address, and adds what each connection must have.
func parse(text, name string, timeout time.Duration) (address, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" || u.Opaque != "" {
		return address{}, ErrAddress
	}
	q := u.Query()
	local := isLocal(u.Hostname() + q.Get("host"))
	mode := q.Get("sslmode")
	switch {
	case mode != "":
	case local:
		mode = "prefer"
	default:
		mode = "verify-full"
	}
	for name, value := range map[string]string{
		"sslmode":                       mode,
		"synchronous_commit":            "on",
		"default_transaction_isolation": "read committed",
		"target_session_attrs":          "read-write",
		"statement_timeout":             fmt.Sprint(timeout.Milliseconds()),
		"connect_timeout":               fmt.Sprint(max(1, int(timeout.Seconds()))),
		"binary_parameters":             "yes",
		"jit":                           "off", // it compiles statements of a third of a millisecond for seven
		"application_name":              strings.TrimSpace("pagetools " + name),
	} {
		q.Set(name, value)
	}
	u.RawQuery = q.Encode()
	config, err := pq.NewConfig(u.String())
	if err != nil {
		return address{}, ErrAddress
	}
	return address{u.String(), config, !local && !strings.HasPrefix(mode, "verify-")}, nil
}

// isLocal reports whether a host is this machine: nobody is between.
func isLocal(host string) bool {
	ip := net.ParseIP(host)
	return host == "" || host == "localhost" || strings.HasPrefix(host, "/") || strings.HasPrefix(host, "@") || ip != nil && ip.IsLoopback()
}

package oauth

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge/origin"
)

// maxAddress is the most bytes of an address that a server names.
const maxAddress = 2048

// canonical is the address of a server as a resource indicator (RFC 8707 2): without query,
// fragment and the last slash.
func canonical(u *url.URL) string {
	return origin.OfURL(u) + strings.TrimRight(u.EscapedPath(), "/")
}

// within reports whether an address equals a resource's, or is below it.
func within(address, resource string) bool {
	rest, ok := strings.CutPrefix(address, resource)
	return ok && (rest == "" || rest[0] == '/')
}

// secure refuses an address that a secret must not be sent to: https is needed but for servers of
// this machine, which only an API of this machine may name.
func secure(u *url.URL, local bool) error {
	switch {
	case u.Scheme == "https" && !origin.Loopback(u.Hostname()), u.Scheme == "https" && local:
		return nil
	case u.Scheme != "https" && u.Scheme != "http":
		return errors.New("it must begin with https://")
	case origin.Loopback(u.Hostname()) && local:
		return nil
	case origin.Loopback(u.Hostname()):
		return errors.New("it is an address of this machine, which an API of another one must not name")
	}
	return errors.New("it must begin with https://: secrets would cross the network as they are")
}

// reserved are parameters of requests that no endpoint may have in its address (RFC 6749 3.1).
var reserved = []string{"response_type", "client_id", "redirect_uri", "scope", "state",
	"code_challenge", "code_challenge_method", "resource", "code", "grant_type", "request",
	"request_uri", "response_mode"}

// endpoint reads the address of an endpoint that a server or a document names.
func endpoint(what, text string, base *url.URL, local bool) (*url.URL, error) {
	u, err := readAddress(text, base)
	if err == nil {
		err = secure(u, local)
	}
	if err == nil {
		for name := range u.Query() {
			if slices.Contains(reserved, name) {
				err = fmt.Errorf("its query must not have %s", name)
			}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: the address %q cannot be used: %w", what, clean(text, 200), err)
	}
	return u, nil
}

func readAddress(text string, base *url.URL) (*url.URL, error) {
	if text == "" || len(text) > maxAddress || !isVisible(text, maxAddress) {
		return nil, fmt.Errorf("it must have 1 to %d characters of ASCII", maxAddress)
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("it is not a URL")
	}
	if base != nil {
		u = base.ResolveReference(u)
	}
	if u.Hostname() == "" || u.User != nil || u.Fragment != "" || u.Opaque != "" {
		return nil, errors.New("it must be a URL with a host, without a user and a fragment")
	}
	return u, nil
}

// ErrRedirected is the error of a redirect that credentials must not follow.
var ErrRedirected = errors.New("it leads to another origin, which must not get the credentials")

// maxRedirects limits how many redirects a signed request follows.
const maxRedirects = 5

// CheckRedirect follows redirects within one origin only. It is for the CheckRedirect of an
// [http.Client] that sends signed requests: by itself the client would send API keys in headers,
// and addresses with API keys in Referer, to wherever a server redirects.
func CheckRedirect(next *http.Request, via []*http.Request) error {
	switch {
	case len(via) > maxRedirects:
		return errors.New("it redirects without end")
	case !origin.SameURL(next.URL, via[0].URL):
		return ErrRedirected
	}
	return nil
}

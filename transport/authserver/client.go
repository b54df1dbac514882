package authserver

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pagetools/pagetools/bridge/text"
)

// client is a program that people are asked to let in.
type client struct {
	id   string
	host string // that its document is at; empty: it registered itself, and nobody knows who it is
	name string // that it gave itself
	to   []string
}

// What a client may say of itself, in bytes.
const (
	maxName      = 200
	maxRedirect  = 2048
	maxRedirects = 10
	maxClientID  = 2048
)

// client finds a client by its ID.
func (s *Server) client(ctx context.Context, r *http.Request, id string) (*client, *problem) {
	unknown := fault("invalid_client", "No client with this client_id is known here. Remove the connection in the client, and add it again.")
	switch {
	case id == "" || len(id) > maxClientID:
		return nil, fault("invalid_client", "The request needs one client_id.")
	case strings.Contains(id, ":"):
		return s.document(ctx, r, id)
	}
	c, found, err := s.o.Clients.Client(ctx, id)
	switch {
	case err != nil:
		return nil, failed(err)
	case !found:
		return nil, unknown
	}
	return &client{id: c.ID, name: c.Name, to: c.Redirects}, nil
}

// returnsTo reports whether a client may have people sent to an address: one that it registered,
// where on this machine the port does not count (RFC 8252, 7.3).
func (c *client) returnsTo(address string) bool {
	if checkRedirect(address) != "" {
		return false
	}
	own, local := withoutPort(address)
	return slices.ContainsFunc(c.to, func(registered string) bool {
		if !local {
			return registered == address
		}
		other, is := withoutPort(registered)
		return is && other == own
	})
}

// localRedirect is an address of this machine, with its port.
var localRedirect = regexp.MustCompile(`^(http://(?:127\.0\.0\.1|\[::1\]|localhost))(?::[0-9]{1,5})?([/?].*)?$`)

// withoutPort returns an address on this machine without its port, or reports that it is not one.
func withoutPort(address string) (string, bool) {
	parts := localRedirect.FindStringSubmatch(address)
	if parts == nil {
		return "", false
	}
	return parts[1] + parts[2], true
}

var (
	formOfRedirect = regexp.MustCompile(`^[!$%&()*+,./0-9:;=?@A-Z\[\]_a-z~'-]+$`)
	formOfHost     = regexp.MustCompile(`^[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*(?::[0-9]{1,5})?$`) // no dot at its end, which makes another name of one host
	formOfPrivate  = regexp.MustCompile(`^([a-z][a-z0-9+.-]*):/`)
)

// notPrivate are schemes that no app has for itself: they run scripts, show files, or start
// something else than the client.
var notPrivate = []string{
	"about", "blob", "chrome", "chrome-extension", "content", "data", "edge", "feed", "file", "filesystem", "ftp", "ftps", "http", "https", "intent",
	"irc", "jar", "javascript", "ldap", "livescript", "mailto", "mhtml", "mocha", "moz-extension", "res", "resource", "search", "search-ms", "shell", "sip", "sms",
	"smb", "ssh", "telnet", "tel", "vbscript", "view-source", "vnd.ms.radio", "wais", "ws", "wss", "x-apple-helpbasic",
}

// checkRedirect returns why nobody is sent to an address, or "". Programs of every kind read what
// passes here in the same way.
func checkRedirect(address string) string {
	u, err := url.Parse(address)
	private := formOfPrivate.FindStringSubmatch(address)
	switch {
	case err != nil || len(address) > maxRedirect || !formOfRedirect.MatchString(address):
		return "is not an address in ASCII, of 2,048 bytes at most, without a fragment"
	case u.User != nil:
		return "has a user in it"
	case strings.HasPrefix(address, "https://"):
		if !formOfHost.MatchString(u.Host) {
			return "has no host"
		}
		return ""
	case localRedirect.MatchString(address):
		return ""
	case strings.HasPrefix(address, "http:"):
		return "must have https, or be of this machine: http://127.0.0.1, http://[::1] or http://localhost"
	case len(private) == 0 || slices.Contains(notPrivate, private[1]) || strings.HasPrefix(private[1], "ms-"):
		return "has no scheme that an app has for itself"
	}
	return ""
}

// startsApp reports whether an address that checkRedirect lets through is one of an app's own scheme.
func startsApp(address string) bool {
	return !strings.HasPrefix(address, "https:") && !strings.HasPrefix(address, "http:")
}

// place says where an address leads, for a person.
func place(address string) string {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return "nowhere"
	case u.Scheme == "https":
		return u.Host
	case u.Scheme == "http":
		return "a program on the computer of this browser (" + u.Host + ")"
	}
	return "the app on this device that opens addresses with " + u.Scheme + ":"
}

// called returns a name that a client gave itself, in a form that can do no harm between quotes.
func called(name string) string {
	if !utf8.ValidString(name) {
		name = strings.ToValidUTF8(name, "\uFFFD")
	}
	return text.Short(text.EscapeLine(name), maxName)
}

// checkRedirects returns why a client cannot have these addresses, or nil.
func checkRedirects(all []string) *problem {
	if len(all) == 0 || len(all) > maxRedirects {
		return fault("invalid_redirect_uri", "redirect_uris must have 1 to 10 addresses.")
	}
	for _, one := range all {
		if why := checkRedirect(one); why != "" {
			return fault("invalid_redirect_uri", text.Quote(one)+" "+why+".")
		}
	}
	return nil
}

// checkUse returns why a client cannot use this server, or nil.
func checkUse(grants, responses []string) *problem {
	if len(grants) > 0 && !slices.Contains(grants, grantCode) || len(responses) > 0 && !slices.Contains(responses, "code") {
		return fault("invalid_client_metadata", "The client must take the grant authorization_code and the response type code.")
	}
	return nil
}

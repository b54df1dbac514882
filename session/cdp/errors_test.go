package cdp

import (
	"testing"

	"github.com/pagetools/pagetools/bridge"
)

// TestLoadErrors (D7): a site that does not open has the reason that is true of it. Only a
// certificate that can be accepted is CERTIFICATE. It names the origin, and nothing that may be
// secret.
func TestLoadErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		reason bridge.Reason
		says   string
	}{
		"net::ERR_CERT_AUTHORITY_INVALID":         {bridge.Certificate, "https://shop.example:8443 cannot be opened: the site's certificate is not accepted (ERR_CERT_AUTHORITY_INVALID)."},
		"net::ERR_CERT_DATE_INVALID":              {bridge.Certificate, "https://shop.example:8443 cannot be opened: the site's certificate is not accepted (ERR_CERT_DATE_INVALID)."},
		"net::ERR_SSL_PROTOCOL_ERROR":             {bridge.Unreachable, "https://shop.example:8443 cannot be opened: the site does not speak https on this port; maybe it speaks http (ERR_SSL_PROTOCOL_ERROR)."},
		"net::ERR_SSL_VERSION_OR_CIPHER_MISMATCH": {bridge.Unreachable, "https://shop.example:8443 cannot be opened: the site and the browser agree on no way to speak https (ERR_SSL_VERSION_OR_CIPHER_MISMATCH)."},
		"net::ERR_SSL_CLIENT_AUTH_CERT_NEEDED":    {bridge.Unreachable, "https://shop.example:8443 cannot be opened: the site asks the browser for a certificate (ERR_SSL_CLIENT_AUTH_CERT_NEEDED)."},
		"net::ERR_BAD_SSL_CLIENT_AUTH_CERT":       {bridge.Unreachable, "https://shop.example:8443 cannot be opened: the site asks the browser for a certificate (ERR_BAD_SSL_CLIENT_AUTH_CERT)."},
		"net::ERR_NAME_NOT_RESOLVED":              {bridge.Unreachable, "https://shop.example:8443 cannot be opened: the site's name cannot be resolved (ERR_NAME_NOT_RESOLVED)."},
		"net::ERR_CONNECTION_REFUSED":             {bridge.Unreachable, "https://shop.example:8443 cannot be opened: the site refuses the connection (ERR_CONNECTION_REFUSED)."},
		"net::ERR_TOO_MANY_REDIRECTS":             {bridge.Unreachable, "https://shop.example:8443 cannot be opened: the site redirects without end (ERR_TOO_MANY_REDIRECTS)."},
		"net::ERR_EMPTY_RESPONSE":                 {bridge.Unreachable, "https://shop.example:8443 cannot be opened: the site cannot be reached (ERR_EMPTY_RESPONSE)."},
		"net::ERR_UNSAFE_PORT":                    {bridge.OriginBlocked, "https://shop.example:8443 cannot be opened: browsers never open this port, which other protocols use; serve the site on another one (ERR_UNSAFE_PORT)."},
	} {
		e := loadError(text, "https://me:pw@shop.example:8443/path?token=1")
		if e.Reason != want.reason || e.Message != want.says || e.Outcome != bridge.NotRun {
			t.Errorf("%s: %s %s %q, want %s %q", text, e.Reason, e.Outcome, e.Message, want.reason, want.says)
		}
	}
}

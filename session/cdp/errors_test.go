package cdp

import (
	"testing"

	"github.com/pagetools/pagetools/bridge"
)

// TestLoadErrors (D7): a site that does not open has the reason that is true of it. Only a
// certificate that can be accepted is CERTIFICATE.
func TestLoadErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		reason bridge.Reason
		says   string
	}{
		"net::ERR_CERT_AUTHORITY_INVALID":         {bridge.Certificate, "The site's certificate is not accepted (ERR_CERT_AUTHORITY_INVALID)."},
		"net::ERR_CERT_DATE_INVALID":              {bridge.Certificate, "The site's certificate is not accepted (ERR_CERT_DATE_INVALID)."},
		"net::ERR_SSL_PROTOCOL_ERROR":             {bridge.Unreachable, "The site does not speak https on this port; maybe it speaks http (ERR_SSL_PROTOCOL_ERROR)."},
		"net::ERR_SSL_VERSION_OR_CIPHER_MISMATCH": {bridge.Unreachable, "The site and the browser agree on no way to speak https (ERR_SSL_VERSION_OR_CIPHER_MISMATCH)."},
		"net::ERR_SSL_CLIENT_AUTH_CERT_NEEDED":    {bridge.Unreachable, "The site asks the browser for a certificate (ERR_SSL_CLIENT_AUTH_CERT_NEEDED)."},
		"net::ERR_BAD_SSL_CLIENT_AUTH_CERT":       {bridge.Unreachable, "The site asks the browser for a certificate (ERR_BAD_SSL_CLIENT_AUTH_CERT)."},
		"net::ERR_NAME_NOT_RESOLVED":              {bridge.Unreachable, "The site's name cannot be resolved (ERR_NAME_NOT_RESOLVED)."},
		"net::ERR_CONNECTION_REFUSED":             {bridge.Unreachable, "The site refuses the connection (ERR_CONNECTION_REFUSED)."},
		"net::ERR_TOO_MANY_REDIRECTS":             {bridge.Unreachable, "The site redirects without end (ERR_TOO_MANY_REDIRECTS)."},
		"net::ERR_EMPTY_RESPONSE":                 {bridge.Unreachable, "The site cannot be reached (ERR_EMPTY_RESPONSE)."},
		"net::ERR_UNSAFE_PORT":                    {bridge.OriginBlocked, "The address is blocked (ERR_UNSAFE_PORT)."},
	} {
		e := loadError(text)
		if e.Reason != want.reason || e.Message != want.says || e.Outcome != bridge.NotRun {
			t.Errorf("%s: %s %s %q, want %s %q", text, e.Reason, e.Outcome, e.Message, want.reason, want.says)
		}
	}
}

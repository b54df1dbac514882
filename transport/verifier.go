package transport

import (
	"errors"
	"net/http"
	"strings"

	"github.com/pagetools/pagetools/bridge"
)

// Verifier finds the callers of tokens that are none of Options.Callers, such as those that an
// issuer signed. It is safe for concurrent use.
type Verifier interface {
	// Verify returns the caller of a token for a request, or why it has none.
	Verify(r *http.Request, token string) (bridge.Caller, *Refusal)
	// Challenge is the WWW-Authenticate of the answer to a request without a token.
	Challenge(r *http.Request) string
}

// ErrIssuerAway is the cause of an Error about a token that cannot be verified now, because its
// issuer does not answer.
var ErrIssuerAway = errors.New("the issuer of a token does not answer")

// Refusal says why a token does not count.
type Refusal struct {
	Error *bridge.Error
	// Challenge is the WWW-Authenticate of the answer; empty for none.
	Challenge string
}

// ResourceMetadata begins the paths at which a server says where to log in (RFC 9728). They are
// open to everybody, pages of every origin included.
const ResourceMetadata = "/.well-known/oauth-protected-resource"

// isMetadata reports whether a path is one of the metadata, in a server that has it.
func (g *guard) isMetadata(path string) bool {
	return g.o.Verifier != nil && isUnder(strings.TrimSuffix(path, "/"), ResourceMetadata)
}

// verify finds the caller of a token that none of the callers has.
func (g *guard) verify(w http.ResponseWriter, r *http.Request, in *info, token string) (answered bool) {
	caller, refused := g.o.Verifier.Verify(r, token)
	if refused == nil {
		in.caller = caller
		return false
	}
	if refused.Challenge != "" {
		w.Header().Set("WWW-Authenticate", refused.Challenge)
	}
	g.deny(w, r, "credential", refused.Error)
	return true
}

package transport

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/bridge/text"
)

// Options configures [Guard]. The zero value refuses every request, because it
// names no address.
type Options struct {
	// Listen is the address that the listener is bound to, with its real port.
	// On a loopback address only loopback names are accepted as Host.
	Listen string
	// Hosts are accepted as Host too: "name" with any port, or "name:port".
	Hosts []string
	// Origins may call from a browser: "https://app.example", or "*" for any,
	// which needs Callers. "null" is never accepted.
	Origins []string
	// PublicURL is the origin under which a proxy or a tunnel is reached that leads here: it is
	// accepted as Host and as Origin. Unless it is of this machine, it needs Callers. Empty: none.
	PublicURL string
	// Callers are the credentials. Without any, a loopback listener serves the
	// caller bridge.Local, and any other listener serves nobody.
	Callers []Credential
	// Verifier finds the callers of other tokens; nil knows none.
	Verifier Verifier
	// Tokens finds the callers of tokens that the listener itself gave out, and that are none of
	// Callers; nil knows none. The error says that nobody can know now.
	Tokens func(r *http.Request, token string) (c bridge.Caller, found bool, err error)
	// Open are paths that need no credential, without a trailing slash ("" is the
	// root), besides those of health. What they answer is for everybody.
	Open []string
	// ForPages are open paths that pages of every origin may use, because nothing that a browser
	// adds by itself counts there.
	ForPages []string
	// FormsAt are paths whose bodies are forms, and not JSON.
	FormsAt []string
	// Credentials, when it is not nil, gets the Callers and can replace them
	// while the listener serves. It belongs to one listener.
	Credentials *Credentials
	// MaxBody is the most bytes of a request's body; zero means 1 MiB.
	MaxBody int64
	// MaxBodyUnder overrides MaxBody for a path and what is below it.
	MaxBodyUnder map[string]int64
	// BodyTimeout limits how long a body may take to arrive; zero means 10 s.
	BodyTimeout time.Duration
	// WriteTimeout limits how long a client may take to read a JSON reply; zero
	// means 30 s.
	WriteTimeout time.Duration
	// JSONRPCUnder lists the paths at and below which errors have the form of JSON-RPC.
	JSONRPCUnder []string
	// Words words errors and refusals for whoever chose the options.
	Words text.Words
	// Metrics counts the requests; nil counts none.
	Metrics *Metrics
	// Log gets one line for each request; nil is silent.
	Log *slog.Logger
}

// Credential is a caller and the token that proves it.
type Credential struct {
	bridge.Caller
	// Token follows "Bearer". It is never empty.
	Token string
}

// String hides the token.
func (c Credential) String() string { return "credential of " + c.Name }

// LogValue hides the token.
func (c Credential) LogValue() slog.Value { return slog.StringValue(c.String()) }

func (o Options) withDefaults() Options {
	o.MaxBody = cmp.Or(o.MaxBody, PlainBody)
	o.BodyTimeout = cmp.Or(o.BodyTimeout, 10*time.Second)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, 30*time.Second)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return o
}

// Validate says what an operator has to change before the options can be
// served. Guard refuses the same combinations request by request.
func (o Options) Validate() error {
	var errs []error
	fail := func(format, option string, args ...any) {
		errs = append(errs, fmt.Errorf(format, append([]any{o.Words.Of(option)}, args...)...))
	}
	if _, port, err := net.SplitHostPort(o.Listen); err != nil || port == "0" {
		fail("%s %q must be an address with a port", "Listen", o.Listen)
	} else if !isLoopback(o.Listen) && len(o.Callers) == 0 && o.Verifier == nil {
		fail("%s %s can be reached from other machines, so it needs %s", "Listen", o.Listen,
			o.Words.Of("Callers"))
	}
	if _, ok := publicHost(o.PublicURL); o.PublicURL != "" && !ok {
		fail("%s must be an origin with https, such as https://tools.example, not %q", "PublicURL", o.PublicURL)
	} else if o.reachedFromElsewhere() && len(o.Callers) == 0 && o.Verifier == nil {
		fail("%s %s can be reached from other machines, so it needs %s; or %s", "PublicURL", o.PublicURL,
			o.Words.Of("Callers"), o.Words.Of("Verifier"))
	}
	for _, h := range o.Hosts {
		if _, ok := parseHost(h); !ok {
			fail("%s must be a host name, such as pagetools.example, not %q", "Hosts", h)
		}
	}
	for _, allowed := range o.Origins {
		switch {
		case allowed == "*" && len(o.Callers) == 0 && o.Verifier == nil:
			fail("%s * needs %s", "Origins", o.Words.Of("a token"))
		case allowed != "*" && !validOrigin(allowed):
			fail("%s must be an origin, such as https://app.example, not %q", "Origins", allowed)
		}
	}
	if err := ValidateCallers(o.Callers); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// reachedFromElsewhere reports whether the public URL leads other machines here.
func (o Options) reachedFromElsewhere() bool {
	public, ok := publicHost(o.PublicURL)
	return ok && !origin.Loopback(public.name)
}

// isLoopback reports whether only this machine can reach the address.
func isLoopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	return err == nil && origin.Loopback(host)
}

// speaksRPC reports whether errors at the path have the form of JSON-RPC.
func (o Options) speaksRPC(path string) bool {
	return slices.ContainsFunc(o.JSONRPCUnder, func(p string) bool { return isUnder(path, p) })
}

// isUnder reports whether a path is another one, or below it.
func isUnder(path, prefix string) bool {
	return path == prefix || strings.HasPrefix(path, prefix+"/")
}

// bodyLimit is the cap for the path.
func (o Options) bodyLimit(path string) int64 {
	limit, longest := o.MaxBody, -1
	for prefix, n := range o.MaxBodyUnder {
		if len(prefix) > longest && isUnder(path, prefix) {
			limit, longest = n, len(prefix)
		}
	}
	return limit
}

func validPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0
}

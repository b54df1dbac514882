package authserver

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
)

// Options configures a [Server].
type Options struct {
	// Public is the origin under which people and hosts reach the server. It is the issuer.
	Public string
	// People may let clients in.
	People []Person
	// Clients, Connections and Browsers keep what must survive; see bridge.
	Clients     bridge.Clients
	Connections bridge.Connections
	Browsers    bridge.Browsers
	// Once keeps codes, and which pages were answered; nil keeps them in this process. Key seals pages, with 32
	// bytes; nil makes one for this process. Servers with the same of both, and of what must survive, are
	// one.
	Once bridge.Once
	Key  []byte
	// Resource returns the form in which a resource of this server is kept, and whether it is one.
	Resource func(string) (string, bool)
	// Client fetches the documents of clients: it decides which addresses may be reached. Nil means
	// http.DefaultClient.
	Client *http.Client
	// Revoked is called after callers were revoked; nil is not.
	Revoked func()
	// Words replaces words of the page, for whoever chose the options.
	Words text.Words
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Log gets what strangers are not told; nil is silent.
	Log *slog.Logger
}

// Person may let clients in, with rights of theirs.
type Person struct {
	// Name is in the names of callers, as in pagetools:NAME.
	Name string
	May  []bridge.Right
	// Sites names the sites that they may use; nil means all.
	Sites []string
	// Password holds the result of Hash for their password; empty means that only codes let them
	// in.
	Password string
}

// prefix begins the names of callers.
const prefix = "pagetools:"

// Scope names the scope of all tokens.
const Scope = "call"

var formOfName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// Validate says what an operator has to change.
func (p *Person) Validate() error {
	switch {
	case !formOfName.MatchString(p.Name):
		return fmt.Errorf("the name %q is not one for a person: use up to 64 letters, digits, dots, _ and -", p.Name)
	case slices.Contains(p.May, bridge.MayAnswer):
		return fmt.Errorf("%s cannot have the right answer: nobody answers for the operator this way", p.Name)
	}
	if p.Password != "" {
		if _, err := parseHash(p.Password); err != nil {
			return fmt.Errorf("the password-hash of %s cannot be used: %w", p.Name, err)
		}
	}
	return nil
}

// same reports whether two people are one, with the same rights.
func (p *Person) same(o *Person) bool {
	return p.Name == o.Name && slices.Equal(p.May, o.May) && slices.Equal(p.Sites, o.Sites) && (p.Sites == nil) == (o.Sites == nil)
}

func (o Options) withDefaults() Options {
	o.Client = cmp.Or(o.Client, http.DefaultClient)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Once == nil {
		o.Once = newOnce(o.Now)
	}
	if o.Revoked == nil {
		o.Revoked = func() {}
	}
	return o
}

// host is the name of the server, for people.
func (o Options) host() string {
	_, host, _ := strings.Cut(o.Public, "://")
	return host
}

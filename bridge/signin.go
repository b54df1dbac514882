package bridge

import (
	"context"
	"errors"
	"time"
)

// This file says what the built-in authorization server wants remembered. Secrets are kept as their
// SHA-256 only: nothing that is kept lets anybody in.

// The bounds of what is kept, in one process as in a cluster.
const (
	MaxClients     = 1000
	UnusedClient   = 24 * time.Hour // for which a client that nobody let in is kept
	MaxConnections = 100            // of a person
	MaxAccess      = 10             // tokens of a connection
	MaxSpent       = 1000           // refresh tokens of a connection
	MaxBrowsers    = 20             // of a person
)

// TouchAfter says how precisely it is known when a connection or a login was used.
const TouchAfter = time.Minute

// Digest is the SHA-256 of a secret that somebody else holds.
type Digest [32]byte

// Client is a program that registered itself (RFC 7591).
type Client struct {
	ID, Name  string
	Redirects []string
	At        time.Time
}

// Clients keeps the clients that registered themselves. At most 1,000: those that nobody ever let
// in go after 24 hours, and the oldest of them when there are too many.
type Clients interface {
	// Register keeps a client. ErrTooManyClients refuses it when each of the others has a
	// connection.
	Register(ctx context.Context, c Client) error
	// Client returns the client with an ID, and false when there is none.
	Client(ctx context.Context, id string) (Client, bool, error)
}

// ErrTooManyClients refuses a client, because all that are kept are in use.
var ErrTooManyClients = errors.New("too many clients")

// Connection is a client that a person let in.
type Connection struct {
	// ID is 8 characters, by which people name it.
	ID, Person string
	// Client is the ID of the client, and ClientName the name that it gave itself.
	Client, ClientName string
	// Redirect says where it returned to, and Resource what its tokens are for.
	Redirect, Resource string
	// Since says when the person let it in, Used when it came last, to the minute, and Until when
	// it ends unless it comes before.
	Since, Used, Until time.Time
}

// SecretKind says what a secret of a connection is.
type SecretKind string

// The kinds of secrets.
const (
	SecretCode    SecretKind = "code"    // of the person's consent: it was used
	SecretAccess  SecretKind = "access"  // lets the client in
	SecretRefresh SecretKind = "refresh" // is good for new tokens, once
	SecretSpent   SecretKind = "spent"   // was a refresh token, and was used
)

// Secret holds the digest of a secret.
type Secret struct {
	Digest Digest
	Kind   SecretKind
	Until  time.Time
}

// Connections keeps the clients that people let in, with the digests of their tokens. At most 100
// of a person: the one that was used least recently goes first.
type Connections interface {
	// Open keeps a connection with its first secrets. They are on the disk when it returns.
	Open(ctx context.Context, c Connection, secrets ...Secret) error
	// Find returns the connection of a secret that is not over, and notes that it was used. It sees
	// what any process changed before. Without one, the ID is empty.
	Find(ctx context.Context, d Digest) (Connection, Secret, error)
	// Renew spends a refresh token, and keeps the next secrets of its connection, until when that
	// goes on. Of any number of attempts with one token one succeeds; false is each other one.
	Renew(ctx context.Context, old Digest, until time.Time, secrets ...Secret) (bool, error)
	// All lists the connections, oldest first.
	All(ctx context.Context) ([]Connection, error)
	// Disconnect removes a connection with its secrets; false means that there was none. The
	// removal is on the disk when it returns.
	Disconnect(ctx context.Context, id string) (bool, error)
}

// Browsers keeps which browsers are logged in. At most 20 of a person: the oldest go first.
type Browsers interface {
	// Remember keeps the secret of a browser that a person logged in with.
	Remember(ctx context.Context, person string, s Secret) error
	// Person returns whom a browser is logged in as, or "".
	Person(ctx context.Context, d Digest) (string, error)
	// Forget logs a browser out, and ForgetPerson all of a person.
	Forget(ctx context.Context, d Digest) error
	ForgetPerson(ctx context.Context, person string) error
}

// Once keeps what counts once, for some minutes: codes, and answers to pages. Names have digests of
// secrets.
type Once interface {
	// Put keeps a value, which is not empty, under a name until a time. It is false where the name has one.
	Put(ctx context.Context, name string, value []byte, until time.Time) (bool, error)
	// Take returns the value of a name, and whether nobody took it before. It is nil where there is none, or
	// where its time is over. What was taken keeps its name until then.
	Take(ctx context.Context, name string) (value []byte, first bool, err error)
}

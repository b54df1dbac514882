package bridge

import (
	"context"
	"time"
)

// Login is a person's login at the operators' page. Its token is kept as its SHA-256 only.
type Login struct {
	// ID is 8 characters, by which people name it.
	ID, Name string
	May      []Right
	// Since says when it began, Used when it came last, to the minute, and Until when it ends at
	// the latest.
	Since, Used, Until time.Time
}

// LoginIdle sets after how long without a use a login is over.
const LoginIdle = 12 * time.Hour

// MaxLogins bounds the logins that are kept: the one that was used least recently goes first.
const MaxLogins = 100

// Logins keeps who is logged in at the operators' page, for all processes of a data folder, or all nodes
// of a cluster. At most MaxLogins.
type Logins interface {
	// Begin keeps a login with the digest of its token. It is on the disk when Begin returns.
	Begin(ctx context.Context, l Login, token Digest) error
	// Find returns the login of a token that is not over, and notes that it was used. It sees what
	// any process changed before. Without one, the ID is empty.
	Find(ctx context.Context, token Digest) (Login, error)
	// Use notes that a login is in use without a request, such as by a stream, and reports whether
	// it is not over.
	Use(ctx context.Context, id string) (bool, error)
	// All lists the logins that are not over, oldest first.
	All(ctx context.Context) ([]Login, error)
	// End removes a login; false means that there was none. The removal is on the disk when End
	// returns.
	End(ctx context.Context, id string) (bool, error)
}

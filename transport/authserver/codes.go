package authserver

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// codeTime says how long a code is good.
const codeTime = time.Minute

// given records the consent of a person.
type given struct {
	request

	Person     string
	Connection string // the ID that it gets
}

// newSecret returns 32 random bytes after a prefix, and their digest.
func newSecret(prefix string) (text string, digest bridge.Digest) {
	var b [32]byte
	_, _ = rand.Read(b[:]) // it never fails: it ends the program instead
	text = prefix + b64.EncodeToString(b[:])
	return text, sha256.Sum256([]byte(text))
}

// newID returns the ID of a connection: 8 characters, for people.
func newID() string { return rand.Text()[:8] }

// What counts once has names of digests, of secrets that somebody else holds.
func answerOf(q *request) string     { return "answer " + b64.EncodeToString(q.Cookie) }
func codeOf(d bridge.Digest) string  { return "code " + b64.EncodeToString(d[:]) }
func twiceOf(d bridge.Digest) string { return "twice " + b64.EncodeToString(d[:]) }
func pairingOf(code string) string   { return "pairing " + digestOf(code) }
func digestOf(text string) string    { d := sha256.Sum256([]byte(text)); return b64.EncodeToString(d[:]) }

// codes keeps what counts once.
type codes struct {
	once bridge.Once
	now  func() time.Time
}

// began reports whether a request was not answered yet.
func (c codes) began(ctx context.Context, q *request) (bool, error) {
	value, _, err := c.once.Take(ctx, answerOf(q))
	return value == nil, err
}

// end notes that a request was answered. It returns false for one that was answered before.
func (c codes) end(ctx context.Context, q *request) (bool, error) {
	return c.once.Put(ctx, answerOf(q), []byte("answered"), q.Until)
}

// add keeps what a person let a client have, and returns the code for it.
func (c codes) add(ctx context.Context, g given) (string, error) {
	code, digest := newSecret("ptc_")
	value, err := json.Marshal(g)
	if err == nil {
		_, err = c.once.Put(ctx, codeOf(digest), value, c.now().Add(codeTime))
	}
	if err != nil {
		return "", fmt.Errorf("keeping a code: %w", err)
	}
	return code, nil
}

// take returns what a code is for, the first time. Afterwards it says which connection was made of
// it.
func (c codes) take(ctx context.Context, d bridge.Digest) (g *given, again string, err error) {
	value, first, err := c.once.Take(ctx, codeOf(d))
	if err != nil || value == nil {
		return nil, "", err
	}
	g = &given{}
	if err := json.Unmarshal(value, g); err != nil {
		return nil, "", fmt.Errorf("reading a code: %w", err)
	}
	if first {
		return g, "", nil
	}
	_, err = c.wasTwice(ctx, d)
	return nil, g.Connection, err
}

// wasTwice notes that a code was used, and reports whether that was noted before: of two uses one sees the
// other.
func (c codes) wasTwice(ctx context.Context, d bridge.Digest) (bool, error) {
	first, err := c.once.Put(ctx, twiceOf(d), []byte("used"), c.now().Add(2*codeTime))
	return !first, err
}

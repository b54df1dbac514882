package records

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// The errors of records that are facts. Each can be wrapped.
var (
	// ErrNone says that there is no record under the key.
	ErrNone = errors.New("no such record")
	// ErrExists says that a record is there already, and was not changed.
	ErrExists = errors.New("the record exists")
	// ErrChanged says that the record has another revision, or is gone. It was not changed.
	ErrChanged = errors.New("the record has changed")
	// ErrInvalid says that no engine takes this key or value, and that nothing was done. It is a
	// mistake of the caller's.
	ErrInvalid = errors.New("not a record")
)

// ErrNewer says that a record was written by a newer version of pagetools, in a form that this one
// does not know.
var ErrNewer = errors.New("the record is from a newer version of pagetools")

const (
	// MaxValue limits the bytes of a value.
	MaxValue = 64 << 10
	// MaxKey limits the bytes of a key.
	MaxKey = 128
	// version stands in the values that this build writes, and is the highest that it reads.
	version = 1
)

// Record is one record at one moment.
type Record struct {
	// Key is "" in the mark of Watch only.
	Key string
	// Value belongs to the reader. It is nil where the record is deleted.
	Value []byte
	// Revision grows with each change of any record of the same bucket (see Bucket), and is never 0.
	Revision uint64
	// Deleted marks a change that removed the record. Its Revision must not be passed to Update.
	Deleted bool
}

// IsMark reports whether Watch has told everything that was there when it began.
func (r Record) IsMark() bool { return r.Key == "" }

// Records are kept by an engine. Safe for concurrent use. Values are at most 64 KiB.
type Records interface {
	// Get returns the record as it is, at least as new as every change that was acknowledged to any
	// node before. ErrNone.
	Get(ctx context.Context, key string) (Record, error)
	// Create makes a record under a key that has none. ErrExists.
	Create(ctx context.Context, key string, value []byte) (revision uint64, err error)
	// Update changes the record whose revision is was, and returns its new revision. ErrChanged.
	Update(ctx context.Context, key string, value []byte, was uint64) (revision uint64, err error)
	// Delete removes the record whose revision is was. ErrChanged.
	Delete(ctx context.Context, key string, was uint64) error
	// Watch sends all records whose keys begin with the prefix, a mark (see Record.IsMark), and then
	// changes, of which several of one key can come as the last. The prefix ends in a dot. What the
	// engine removes because its time is over is no change. The channel is closed when ctx ends, and
	// when some changes may be missing: watch again then.
	Watch(ctx context.Context, prefix string) (<-chan Record, error)
}

// Sealer hides values from the engine. A value opens at its place only.
type Sealer interface {
	Seal(bucket, key string, value []byte) []byte
	Open(bucket, key string, sealed []byte) ([]byte, error)
}

// ShortAge is for how long an engine keeps a record of PT_SHORT at least, after its last change: longer than
// a taint counts, and than whoever passed a call on relies on a ticket that is not there.
const ShortAge = 20 * time.Minute

// DayAge is for how long an engine keeps a record of PT_DAY at least, after its last change.
const DayAge = 24 * time.Hour

// Bucket returns the name of what holds the record in an engine: a sealed value opens there only. The
// engine removes a record some time after its last change: leases of nodes, tickets, rates and taints
// ("n.", "t.", "r.", "x.") after ShortAge, and idempotency keys ("k.") after DayAge. It keeps the others
// until they are deleted: the directory of sessions, owners of catalogs, revocations and marks ("s.", "c.",
// "v.", "m."), and grants, known tools, histories, their documents and logins ("g.", "w.", "h.", "d.", "l.").
func Bucket(key string) string {
	switch key[0] {
	case 'n', 'r', 't', 'x':
		return "PT_SHORT"
	case 'k':
		return "PT_DAY"
	}
	return "PT_KEEP"
}

// kinds has the letters with which keys begin.
const kinds = "nrtxkscvmgwhdloe"

// CheckKey returns ErrInvalid for a key that is not a letter of Bucket and further words, with dots
// between them. Words have letters, digits, "_", "-" and "=".
func CheckKey(key string) error {
	kind, words, _ := strings.Cut(key, ".")
	if len(kind) != 1 || !strings.Contains(kinds, kind) || len(key) > MaxKey {
		return fmt.Errorf("%w: %.40q is not a key", ErrInvalid, key)
	}
	for word := range strings.SplitSeq(words, ".") {
		if word == "" || strings.ContainsFunc(word, notOfWords) {
			return fmt.Errorf("%w: %.40q is not a key", ErrInvalid, key)
		}
	}
	return nil
}

func notOfWords(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_-=", r)
}

// CheckPrefix returns ErrInvalid for what is not the beginning of keys, up to a dot.
func CheckPrefix(prefix string) error {
	if !strings.HasSuffix(prefix, ".") {
		return fmt.Errorf("%w: %.40q does not end in a dot", ErrInvalid, prefix)
	}
	return CheckKey(prefix + "x")
}

// CheckValue returns ErrInvalid for a value that is too long.
func CheckValue(value []byte) error {
	if len(value) > MaxValue {
		return fmt.Errorf("%w: %d bytes, and %d at most", ErrInvalid, len(value), MaxValue)
	}
	return nil
}

// Check returns the error of CheckKey or of CheckValue.
func Check(key string, value []byte) error {
	return errors.Join(CheckKey(key), CheckValue(value))
}

// Encode returns the value that holds v, a struct, as JSON that begins with the version.
func Encode(v any) ([]byte, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("making a record: %w", err)
	}
	if len(body) < 2 || body[0] != '{' {
		return nil, fmt.Errorf("%w: %T is not an object", ErrInvalid, v)
	}
	head := fmt.Appendf(nil, `{"v":%d`, version)
	if len(body) > 2 {
		head = append(head, ',')
	}
	return append(head, body[1:]...), nil
}

// Decode reads a value that Encode made, here or in another build, into the struct. ErrNewer.
func Decode(value []byte, into any) error {
	var head struct {
		V int `json:"v"`
	}
	if err := json.Unmarshal(value, &head); err != nil {
		return fmt.Errorf("reading a record: %w", err)
	}
	if head.V > version {
		return fmt.Errorf("%w: its form is %d, and this one knows %d", ErrNewer, head.V, version)
	}
	if head.V < 1 {
		return errors.New("reading a record: it does not say its version")
	}
	if err := json.Unmarshal(value, into); err != nil {
		return fmt.Errorf("reading a record: %w", err)
	}
	return nil
}

// Probe makes a record and removes it, or returns why the engine takes no changes.
func Probe(ctx context.Context, r Records) error {
	key := "t.PROBE-" + rand.Text() + ".1"
	revision, err := r.Create(ctx, key, []byte(`{"v":1}`))
	if err != nil {
		return err
	}
	return r.Delete(ctx, key, revision)
}

// Put makes the record of v, a struct, where was is 0, and changes it else. The error is ErrChanged where
// somebody else was first.
func Put(ctx context.Context, r Records, key string, v any, was uint64) (revision uint64, err error) {
	value, err := Encode(v)
	if err != nil {
		return 0, err
	}
	if was != 0 {
		return r.Update(ctx, key, value, was)
	}
	if revision, err = r.Create(ctx, key, value); errors.Is(err, ErrExists) {
		err = fmt.Errorf("%w: %w", ErrChanged, err)
	}
	return revision, err
}

// Pause waits before something is tried again, and reports whether ctx goes on.
func Pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

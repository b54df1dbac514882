package vault

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/records"
)

const (
	// inline limits what the first record of a box holds: in base64, with what is around it, it is a value
	// of an engine. What is longer is in parts.
	inline = 46 << 10
	// part limits the bytes of a part before it is sealed.
	part = 60 << 10
	// maxBox limits what a box holds.
	maxBox = 16 << 20
	// patience limits one operation of the vault, with all that it repeats.
	patience = 2 * time.Second
	// rest sets how long to wait before something is tried again, at first.
	rest = 10 * time.Millisecond
)

// Options say where the records are, and who this node is.
type Options struct {
	Records records.Records
	Sealer  records.Sealer
	// Name hides names: letters and digits, the same on all nodes.
	Name func(parts ...string) string
	// Self returns the life of this node, and Dead whether another one has ended for good, or that nobody
	// can know.
	Self func() string
	Dead func(ctx context.Context, id string) (bool, error)
	// MaxKeys limits the idempotency keys that a caller has in use at this node, and MaxReplyBytes the
	// replies that are kept for it; zero means 10,000 and 32 MiB. MaxAllBytes limits the replies of all
	// callers that this node keeps; zero means 256 MiB. The oldest replies go first, and their keys stay.
	MaxKeys                    int
	MaxReplyBytes, MaxAllBytes int64
	// MaxVersionBytes limits the documents that are kept of a site; zero means 64 MiB.
	MaxVersionBytes int64
}

// box holds one thing that a vault keeps.
type box struct {
	key      string
	data     []byte
	revision uint64 // 0: there is none
	once     string // of the write
	parts    int
}

// form is the first record of a box. Box is sealed: head in JSON, a line feed, and the data.
type form struct {
	Box []byte `json:"box"`
}

// head says what else there is.
type head struct {
	Once  string `json:"once"`
	Parts int    `json:"parts,omitempty"`
	Bytes int    `json:"bytes"`
}

// errOther says that a record is none of ours.
var errOther = errors.New("it has another form")

// errTorn says that parts of a box are not there any more.
var errTorn = errors.New("parts of what is kept are missing")

// vault reads and writes boxes.
type vault struct{ o Options }

func partOf(key, once string, i int) string { return fmt.Sprintf("%s.%s.%d", key, once, i) }

// read returns a box as it is; revision 0 where there is none. With errTorn it has all but its data.
func (v vault) read(ctx context.Context, key string) (box, error) {
	for last := uint64(0); ; {
		r, err := v.o.Records.Get(ctx, key)
		if errors.Is(err, records.ErrNone) {
			return box{key: key}, nil
		}
		if err != nil {
			return box{}, err
		}
		b, err := v.open(ctx, r)
		if !errors.Is(err, errTorn) || r.Revision == last {
			return b, err
		}
		last = r.Revision // it was changed meanwhile, or its parts are gone
	}
}

// open returns the box of a record.
func (v vault) open(ctx context.Context, r records.Record) (box, error) {
	var is form
	if err := records.Decode(r.Value, &is); err != nil {
		return box{}, err
	}
	text, err := v.o.Sealer.Open(records.Bucket(r.Key), r.Key, is.Box)
	if err != nil {
		return box{}, fmt.Errorf("reading what is kept: %w", err)
	}
	first, data, found := bytes.Cut(text, []byte{'\n'})
	var h head
	if err := json.Unmarshal(first, &h); err != nil || !found || h.Bytes > maxBox || h.Parts > maxBox/part+1 {
		return box{}, fmt.Errorf("reading what is kept: %w", errOther)
	}
	b := box{key: r.Key, data: data, revision: r.Revision, once: h.Once, parts: h.Parts}
	for i := range h.Parts {
		key := partOf(b.key, b.once, i)
		is, err := v.o.Records.Get(ctx, key)
		if errors.Is(err, records.ErrNone) {
			return b, errTorn
		}
		if err != nil {
			return box{}, err
		}
		one, err := v.o.Sealer.Open(records.Bucket(key), key, is.Value)
		if err != nil {
			return box{}, fmt.Errorf("reading a part of what is kept: %w", err)
		}
		b.data = append(b.data, one...)
	}
	if len(b.data) != h.Bytes {
		return b, errTorn
	}
	return b, nil
}

// write puts data in the place of a box that was read, and returns the box of now. The error is
// records.ErrChanged where somebody else was first. A lost answer is asked for again until ctx ends.
func (v vault) write(ctx context.Context, was box, data []byte) (box, error) {
	if len(data) > maxBox {
		return box{}, fmt.Errorf("%w: %d bytes, and %d at most", records.ErrInvalid, len(data), maxBox)
	}
	b := box{key: was.key, data: data, once: rand.Text()}
	in := data
	if len(data) > inline {
		in = nil
		for b.parts*part < len(data) {
			if err := v.writePart(ctx, partOf(b.key, b.once, b.parts), data[b.parts*part:min(len(data), (b.parts+1)*part)]); err != nil {
				v.forget(b)
				return box{}, err
			}
			b.parts++
		}
	}
	first, err := json.Marshal(head{Once: b.once, Parts: b.parts, Bytes: len(data)})
	if err != nil {
		return box{}, fmt.Errorf("writing what is kept: %w", err)
	}
	value := form{v.o.Sealer.Seal(records.Bucket(b.key), b.key, append(append(first, '\n'), in...))}
	for wait := rest; ; wait *= 2 {
		b.revision, err = records.Put(ctx, v.o.Records, b.key, value, was.revision)
		if err == nil {
			v.forget(was)
			return b, nil
		}
		if errors.Is(err, records.ErrChanged) && wait > rest { // perhaps by the try before
			is, readErr := v.read(ctx, b.key)
			if is.once == b.once {
				v.forget(was)
				return is, readErr
			}
			if readErr != nil {
				err = readErr // nobody knows
			}
		}
		if errors.Is(err, records.ErrChanged) || errors.Is(err, records.ErrInvalid) {
			v.forget(b)
			return box{}, err
		}
		if !records.Pause(ctx, wait) {
			return box{}, err // it may happen yet, so its parts stay
		}
	}
}

// writePart makes a part, whose key nobody else has.
func (v vault) writePart(ctx context.Context, key string, data []byte) error {
	sealed := v.o.Sealer.Seal(records.Bucket(key), key, data)
	for wait := rest; ; wait *= 2 {
		_, err := v.o.Records.Create(ctx, key, sealed)
		if err == nil || errors.Is(err, records.ErrExists) { // by the try before
			return nil
		}
		if errors.Is(err, records.ErrInvalid) || !records.Pause(ctx, wait) {
			return err
		}
	}
}

// remove removes a box that was read. The error is records.ErrChanged where somebody else was first.
func (v vault) remove(ctx context.Context, was box) error {
	for wait := rest; ; wait *= 2 {
		err := v.o.Records.Delete(ctx, was.key, was.revision)
		if errors.Is(err, records.ErrChanged) && wait > rest { // perhaps by the try before
			switch is, readErr := v.read(ctx, was.key); {
			case readErr != nil:
				err = readErr // nobody knows
			case is.revision == 0:
				err = nil
			}
		}
		if err == nil {
			v.forget(was)
			return nil
		}
		if errors.Is(err, records.ErrChanged) || errors.Is(err, records.ErrInvalid) || !records.Pause(ctx, wait) {
			return err
		}
	}
}

// update changes a box by what change makes of its data. Without data there is no box after it. The error
// can be records.ErrChanged although the change was made, before somebody else's: change must not mind.
func (v vault) update(ctx context.Context, key string, change func(data []byte) ([]byte, error)) error {
	was, err := v.read(ctx, key)
	if err != nil {
		return err
	}
	data, err := change(was.data)
	switch {
	case err != nil:
	case len(data) > 0 && !bytes.Equal(data, was.data):
		_, err = v.write(ctx, was, data)
	case len(data) == 0 && was.revision != 0:
		err = v.remove(ctx, was)
	}
	return err
}

// edit changes the JSON in a box by what do makes of it, which may be made more than once; nil is no box.
func edit[T any](ctx context.Context, v vault, key string, do func(is *T) *T) error {
	return v.update(ctx, key, func(data []byte) ([]byte, error) {
		var is *T
		if len(data) > 0 {
			if err := json.Unmarshal(data, &is); err != nil {
				return nil, fmt.Errorf("reading what is kept: %w", err)
			}
		}
		if is = do(is); is == nil {
			return nil, nil
		}
		return json.Marshal(is) //nolint:wrapcheck // of plain fields
	})
}

// firsts returns the first records of all boxes whose keys are a prefix and one word, by their keys.
func (v vault) firsts(ctx context.Context, prefix string) (map[string]records.Record, error) {
	watching, stop := context.WithCancel(ctx)
	defer stop()
	changes, err := v.o.Records.Watch(watching, prefix)
	if err != nil {
		return nil, err
	}
	firsts, whole := map[string]records.Record{}, false
	for r := range changes {
		if whole = r.IsMark(); whole {
			break
		}
		if !strings.Contains(r.Key[len(prefix):], ".") {
			firsts[r.Key] = r
		}
	}
	if !whole {
		return nil, cmp.Or(ctx.Err(), errors.New("listing what is kept: the engine did not tell all"))
	}
	return firsts, nil
}

// list returns all boxes whose keys are a prefix and one word, by their keys.
func (v vault) list(ctx context.Context, prefix string) ([]box, error) {
	firsts, err := v.firsts(ctx, prefix)
	if err != nil {
		return nil, err
	}
	all := make([]box, 0, len(firsts))
	for _, key := range slices.Sorted(maps.Keys(firsts)) {
		b, err := v.open(ctx, firsts[key])
		if errors.Is(err, errTorn) { // it was changed meanwhile
			b, err = v.read(ctx, key)
		}
		if err != nil {
			return nil, err
		}
		if b.revision != 0 {
			all = append(all, b)
		}
	}
	return all, nil
}

// forget removes the parts of a box that is no more, where that can be done: nobody reads them.
func (v vault) forget(b box) {
	if b.parts == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for i := range b.parts {
		key := partOf(b.key, b.once, i)
		if r, err := v.o.Records.Get(ctx, key); err == nil {
			_ = v.o.Records.Delete(ctx, key, r.Revision)
		}
	}
}

// patiently does something until it succeeds, or cannot, or took too long. Somebody else who was first is
// no success. The error is as whoever makes a call gets it.
func patiently(ctx context.Context, what string, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for wait := rest; ; wait *= 2 {
		err := do(ctx)
		if err == nil {
			return nil
		}
		if fact, ok := errors.AsType[fact](err); ok {
			return fact.error
		}
		if errors.Is(err, records.ErrInvalid) || errors.Is(err, records.ErrNewer) || !records.Pause(ctx, wait) {
			return unreachable(fmt.Errorf("%s: %w", what, err))
		}
	}
}

// fact is an error that is known to be so, and is told as it is.
type fact struct{ error }

// unreachable returns an error that whoever makes a call gets: NO_QUORUM, because what the nodes keep could
// not be reached or read.
func unreachable(err error) error {
	e := bridge.Errorf(bridge.InternalError, bridge.NoQuorum, bridge.NotRun,
		"What the nodes of pagetools keep together cannot be reached or read. Nothing ran.").With(err)
	e.Retry = bridge.QuorumRetry
	return e
}

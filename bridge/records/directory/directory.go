package directory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge/records"
)

// ErrTaken says that another node has the session, or that somebody else has changed its record.
var ErrTaken = errors.New("another node has the session")

// Options say where the records are.
type Options struct {
	Records records.Records
	Sealer  records.Sealer
	// Dead reports whether a life of a node has ended for good, or that nobody can know.
	Dead func(ctx context.Context, id string) (bool, error)
	// Dispose closes the pages of a session that no node has, by its box; Tidy calls it. nil closes none.
	Dispose func(ctx context.Context, box []byte)
}

// Directory knows the homes of sessions. Safe for concurrent use. One node does not change the record
// of one session twice at once.
type Directory struct {
	o     Options
	cache cache
	idle  map[string]idle // of Tidy
}

// New returns the directory of the cluster.
func New(o Options) *Directory { return &Directory{o: o} }

// Entry is the record of a session, as it was read or written.
type Entry struct {
	// Key is the name of caller and session, as a word of a key.
	Key string
	// Home is the life of the node that has the session; "" while it waits for one.
	Home string
	// Epoch counts the homes from 1.
	Epoch int64
	// Expired means that the session has ended, and its caller was not told yet.
	Expired bool
	// Box holds what a new home must know, up to 47 KiB.
	Box []byte

	revision uint64
}

type form struct {
	Home  string `json:"home"`
	Epoch int64  `json:"epoch"`
	State string `json:"state"`
	Box   []byte `json:"box,omitempty"` // sealed
}

const stateOpen, stateExpired = "open", "expired"

func keyOf(key string) string { return "s." + key }

// Home returns the home of a session and its epoch, from memory where it was asked for before, or
// records.ErrNone. A node that does not have the session says so: call Forget then, and ask again.
func (d *Directory) Home(ctx context.Context, key string) (home string, epoch int64, err error) {
	if p, ok := d.cache.get(key); ok {
		return p.home, p.epoch, nil
	}
	e, err := d.Find(ctx, key)
	return e.Home, e.Epoch, err
}

// Forget makes the next Home read the record.
func (d *Directory) Forget(key string) { d.cache.forget(key) }

// Find reads the record of a session, or returns records.ErrNone.
func (d *Directory) Find(ctx context.Context, key string) (Entry, error) {
	r, err := d.o.Records.Get(ctx, keyOf(key))
	if err != nil {
		d.cache.forget(key)
		return Entry{}, err
	}
	e, err := d.read(r)
	if err != nil {
		return Entry{}, err
	}
	d.remember(e)
	return e, nil
}

// read opens a record.
func (d *Directory) read(r records.Record) (Entry, error) {
	var is form
	err := records.Decode(r.Value, &is)
	if err != nil {
		return Entry{}, err
	}
	e := Entry{Key: strings.TrimPrefix(r.Key, keyOf("")), Home: is.Home, Epoch: is.Epoch, Expired: is.State != stateOpen, revision: r.Revision}
	if len(is.Box) > 0 {
		if e.Box, err = d.o.Sealer.Open(records.Bucket(r.Key), r.Key, is.Box); err != nil {
			return Entry{}, fmt.Errorf("directory: %w", err)
		}
	}
	return e, nil
}

func (d *Directory) remember(e Entry) {
	if e.Home == "" || e.Expired {
		d.cache.forget(e.Key)
		return
	}
	d.cache.put(e.Key, place{e.Home, e.Epoch})
}

// Open makes the record of a session, with its first home. ErrTaken comes with the record that is
// there.
func (d *Directory) Open(ctx context.Context, key, home string, box []byte) (Entry, error) {
	e := Entry{Key: key, Home: home, Epoch: 1, Box: box}
	value, err := d.value(e)
	if err != nil {
		return Entry{}, err
	}
	e.revision, err = d.o.Records.Create(ctx, keyOf(key), value)
	return d.settle(ctx, e, err)
}

// Take makes a node the home of a session whose home is dead, or that waits for one, in the next
// epoch. ErrTaken comes with the record that is there.
func (d *Directory) Take(ctx context.Context, e Entry, home string) (Entry, error) {
	if e.Expired {
		return e, ErrTaken
	}
	if e.Home != "" {
		switch dead, err := d.o.Dead(ctx, e.Home); {
		case err != nil:
			return Entry{}, err
		case !dead:
			return e, ErrTaken
		}
	}
	to := e
	to.Home = home
	to.Epoch++
	return d.change(ctx, e, to)
}

// Note changes the box of a session of this home.
func (d *Directory) Note(ctx context.Context, e Entry, box []byte) (Entry, error) {
	to := e
	to.Box = box
	return d.change(ctx, e, to)
}

// Detach lets the next node that is asked have the session.
func (d *Directory) Detach(ctx context.Context, e Entry) (Entry, error) {
	to := e
	to.Home = ""
	return d.change(ctx, e, to)
}

// Expire ends a session whose caller must be told.
func (d *Directory) Expire(ctx context.Context, e Entry) (Entry, error) {
	to := e
	to.Expired, to.Box = true, nil
	return d.change(ctx, e, to)
}

// Remove removes the record. It reports whether it was this one that did so: whoever removes an
// expired one tells the caller. After a lost answer two can have done so, which is better than none.
func (d *Directory) Remove(ctx context.Context, e Entry) (removed bool, err error) {
	d.cache.forget(e.Key)
	err = d.o.Records.Delete(ctx, keyOf(e.Key), e.revision)
	if err == nil || errors.Is(err, records.ErrChanged) {
		return err == nil, nil
	}
	if _, found := d.Find(ctx, e.Key); errors.Is(found, records.ErrNone) {
		return true, nil
	}
	return false, err
}

func (d *Directory) value(e Entry) ([]byte, error) {
	is := form{Home: e.Home, Epoch: e.Epoch, State: stateOpen}
	if e.Expired {
		is.State = stateExpired
	}
	if len(e.Box) > 0 {
		key := keyOf(e.Key)
		is.Box = d.o.Sealer.Seal(records.Bucket(key), key, e.Box)
	}
	return records.Encode(is)
}

func (d *Directory) change(ctx context.Context, from, to Entry) (Entry, error) {
	value, err := d.value(to)
	if err != nil {
		return Entry{}, err
	}
	to.revision, err = d.o.Records.Update(ctx, keyOf(to.Key), value, from.revision)
	return d.settle(ctx, to, err)
}

// patience limits how long a record is read again after an answer was lost.
const patience = 2 * time.Second

// settle returns an entry that was written, or finds out whether it was.
func (d *Directory) settle(ctx context.Context, e Entry, err error) (Entry, error) {
	if err == nil {
		d.remember(e)
		return e, nil
	}
	if errors.Is(err, records.ErrInvalid) {
		return Entry{}, err
	}
	// A fact is read once, to return what is there; a lost answer also when ctx has ended.
	lost := !errors.Is(err, records.ErrExists) && !errors.Is(err, records.ErrChanged)
	if lost {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer cancel()
	}
	is, found := d.Find(ctx, e.Key)
	switch {
	case errors.Is(found, records.ErrNone) && !lost:
		return Entry{}, ErrTaken // it was removed in the meantime
	case found != nil:
		return Entry{}, err
	case lost && is.Home == e.Home && is.Epoch == e.Epoch && is.Expired == e.Expired && bytes.Equal(is.Box, e.Box):
		return is, nil
	case lost && is.Epoch < e.Epoch:
		return is, err // it can still happen
	}
	return is, ErrTaken
}

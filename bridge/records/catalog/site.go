package catalog

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/records"
)

// partBytes is the content of a part, which is longer when it is sealed and written as JSON.
const partBytes = 45 << 10

// ErrNotOwner says that another node has the page of the site.
var ErrNotOwner = errors.New("another node has the page of the site")

// Site is one site, as this node follows it. Safe for concurrent use.
type Site struct {
	of        *Catalogs
	key, name string
	users     int           // behind the lock of Catalogs
	wake      chan struct{} // 1: something may have changed
	tells     chan told
	done      chan struct{}
	stop      context.CancelFunc
	changes   bridge.Changes
	state     atomic.Pointer[state]

	// The rest is the goroutine's.
	free     time.Time // since when nobody has it; zero: somebody has
	freed    uint64    // of that revision
	unopened uint64    // the revision whose box did not open, which is said once
}

// state has the last words of a site's owner.
type state struct {
	own bool
	set string
	why []byte
}

// told has the news of the owner.
type told struct {
	ctx          context.Context //nolint:containedctx // of who waits
	content, why []byte
	done         chan error // 1
}

// Follow begins to follow a site: its name, and its target in the operator's words. Close it.
func (c *Catalogs) Follow(name, target string) *Site {
	key := c.keyOf(name, target)
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sites[key]
	if s == nil {
		s = &Site{of: c, key: key, name: name, wake: make(chan struct{}, 1), tells: make(chan told), done: make(chan struct{})}
		s.state.Store(&state{})
		var life context.Context
		life, s.stop = context.WithCancel(c.life)
		c.sites[key] = s
		c.run.Go(func() { s.run(life) })
	}
	s.users++
	return s
}

// Close ends following the site. The last one lets other nodes have it.
func (s *Site) Close() {
	s.of.mu.Lock()
	s.users--
	last := s.users == 0
	if last && s.of.sites[s.key] == s {
		delete(s.of.sites, s.key)
	}
	s.of.mu.Unlock()
	if last {
		s.stop()
		<-s.done
		s.letGo()
	}
}

// LetGo lets other nodes have the sites, because this one is about to end. Here the pages stay as they are.
func (c *Catalogs) LetGo() {
	c.mu.Lock()
	all := make([]*Site, 0, len(c.sites))
	for _, s := range c.sites {
		all = append(all, s)
	}
	c.mu.Unlock()
	var gone sync.WaitGroup
	for _, s := range all {
		gone.Go(func() {
			s.stop()
			<-s.done
			s.letGo()
		})
	}
	gone.Wait()
}

// letGo gives the site up, when its goroutine has ended.
func (s *Site) letGo() {
	is, _ := s.of.find(s.key)
	if is.Owner != s.of.o.Self() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	a, err := s.open(is.head)
	if err == nil {
		err = s.put(ctx, s.freedFrom(is.head), a, is.revision)
	}
	if err != nil {
		s.of.o.Log.Debug("cluster: a site is free when this node has ended", slog.String("site", s.name), slog.Any("error", err))
	}
}

// freedFrom returns the record of a site that this node gives up.
func (s *Site) freedFrom(h head) head {
	h.Owner, h.Left = "", s.of.o.Self()
	return h
}

// Next returns a channel that is closed when Now returns something else. Ask for it before.
func (s *Site) Next() <-chan struct{} { return s.changes.Next() }

// Now reports whether this node has the page; and, of the owner's, the name of the content, "" where there
// was none yet, and why the last attempt to open the page failed, nil where it did not.
func (s *Site) Now() (own bool, set string, why []byte) {
	is := s.state.Load()
	return is.own, is.set, is.why
}

// Tell tells the other nodes what the page shows; or, with why, that it could not be opened: then another
// node tries, where there is one. The error is ErrNotOwner, or nobody knows whether they hear it.
func (s *Site) Tell(ctx context.Context, content, why []byte) error {
	t := told{ctx: ctx, content: content, why: why, done: make(chan error, 1)}
	select {
	case s.tells <- t:
		return <-t.done
	case <-s.done:
		return ErrNotOwner
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *Site) kick() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run follows the site until ctx ends.
func (s *Site) run(ctx context.Context) {
	defer close(s.done)
	for {
		timer := time.NewTimer(s.step(ctx))
		select {
		case <-s.wake:
		case <-timer.C:
		case t := <-s.tells:
			t.done <- s.tell(ctx, t)
		case <-ctx.Done():
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

// step looks at the record, and takes the site where it is this node's turn. It returns when to look
// again if nothing happens.
func (s *Site) step(ctx context.Context) time.Duration {
	is, known := s.of.find(s.key)
	if !known {
		return s.of.o.Lease
	}
	owned := is.foreign || is.Owner != ""
	if owned && !is.foreign && is.Owner != s.of.o.Self() {
		dead, err := s.of.dead(ctx, is.Owner)
		owned = err != nil || !dead
	}
	s.show(is)
	if owned {
		s.free = time.Time{}
		return s.of.o.Lease
	}
	if s.free.IsZero() || s.freed != is.revision {
		s.free, s.freed = time.Now(), is.revision
	}
	if wait := time.Until(s.free.Add(time.Duration(s.of.rank(s.key, is.Left)) * s.of.o.Lease / 2)); wait > 0 {
		return wait
	}
	if err := s.take(ctx, is); err != nil {
		s.of.o.Log.Debug("cluster: a site cannot be taken", slog.String("site", s.name), slog.Any("error", err))
		return rest
	}
	s.kick()
	return 0
}

// show makes what is known of the site what Now returns.
func (s *Site) show(is seen) {
	now := state{own: is.Owner != "" && is.Owner == s.of.o.Self(), set: is.Set}
	if is.revision > 0 && !is.foreign {
		a, err := s.open(is.head)
		if err != nil && s.unopened != is.revision {
			s.unopened = is.revision
			s.of.o.Log.Warn("cluster: what another node says of a site cannot be opened", slog.String("site", s.name), slog.Any("error", err))
		}
		if now.why = a.Why; err != nil {
			now.set = ""
		}
	}
	if was := s.state.Load(); was.own != now.own || was.set != now.set || !bytes.Equal(was.why, now.why) {
		s.state.Store(&now)
		s.changes.Signal()
	}
}

// take makes this node the owner. What the last one said stays until there is something else.
func (s *Site) take(ctx context.Context, is seen) error {
	if is.revision == 0 { // a watch can be behind
		if err := s.read(ctx); err == nil || !errors.Is(err, records.ErrNone) {
			return err
		}
	}
	to, a := is.head, about{Site: s.name}
	if was, err := s.open(is.head); err == nil {
		a.Digest = was.Digest
	} else {
		to.Set, to.Parts = "", 0
	}
	to.Owner, to.Left = s.of.o.Self(), ""
	to.Epoch++
	err := s.put(ctx, to, a, is.revision)
	if err == nil {
		s.of.o.Log.Info("cluster: this node opens the page of a site for all", slog.String("site", s.name), slog.Int64("epoch", to.Epoch))
	}
	return err
}

// put writes the record. After an error it was read again, where that can be done.
func (s *Site) put(ctx context.Context, to head, a about, was uint64) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	key := heads + s.key
	text, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("making the record of a site: %w", err)
	}
	to.At = time.Now().UTC().Format(time.RFC3339)
	to.Box = s.of.o.Sealer.Seal(records.Bucket(key), key, text)
	revision, err := records.Put(ctx, s.of.o.Records, key, to, was)
	if err == nil {
		s.of.put(s.key, seen{head: to, revision: revision, since: time.Now()})
		return nil
	}
	if again := s.read(ctx); again == nil {
		if is, _ := s.of.find(s.key); is.revision > was && bytes.Equal(is.Box, to.Box) {
			return nil // the answer was lost
		}
	}
	return err
}

// read reads the record.
func (s *Site) read(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	r, err := s.of.o.Records.Get(ctx, heads+s.key)
	if err == nil {
		s.of.see(r)
	}
	return err
}

// put takes note of a record that was written here.
func (c *Catalogs) put(key string, is seen) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if is.revision > c.heads[key].revision {
		c.heads[key] = is
	}
}

// open opens what the engine does not see.
func (s *Site) open(h head) (about, error) { return open(s.of.o.Sealer, heads+s.key, h) }

func open(sealer records.Sealer, key string, h head) (a about, err error) {
	text, err := sealer.Open(records.Bucket(key), key, h.Box)
	if err != nil {
		return a, fmt.Errorf("opening the record of a site: %w", err)
	}
	if err = json.Unmarshal(text, &a); err != nil {
		return about{}, fmt.Errorf("reading the record of a site: %w", err)
	}
	return a, nil
}

// tell writes what the owner has to tell.
func (s *Site) tell(ctx context.Context, t told) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(t.ctx, cancel)()
	is, _ := s.of.find(s.key)
	if is.Owner != s.of.o.Self() {
		return ErrNotOwner
	}
	a, err := s.open(is.head)
	if err != nil {
		return err
	}
	to := is.head
	if t.why != nil {
		if a.Why = t.why; len(s.of.o.Others()) > 0 {
			to = s.freedFrom(to)
		}
		return s.wrote(s.put(ctx, to, a, is.revision))
	}
	digest := sha256.Sum256(t.content)
	name := hex.EncodeToString(digest[:])
	if a.Digest == name && to.Set != "" && a.Why == nil {
		return nil
	}
	if len(t.content) > s.of.o.MaxContent {
		return fmt.Errorf("the list of a site has %d bytes, and %d at most", len(t.content), s.of.o.MaxContent)
	}
	a.Digest, a.Why = name, nil
	if to.Set, to.Parts, err = s.write(ctx, t.content); err != nil {
		return err
	}
	if err := s.wrote(s.put(ctx, to, a, is.revision)); err != nil {
		return err
	}
	if err := s.of.sweep(ctx, s.key, to.Set); err != nil {
		s.of.o.Log.Debug("cluster: an old list of a site stays in the engine", slog.String("site", s.name), slog.Any("error", err))
	}
	return nil
}

// wrote looks at the record again after it was written, or was not.
func (s *Site) wrote(err error) error {
	s.kick()
	return err
}

// write writes content in parts, under a name that no other has.
func (s *Site) write(ctx context.Context, content []byte) (set string, n int, err error) {
	s.of.mu.Lock()
	s.of.sets++
	set = s.of.o.Self() + "-" + strconv.FormatInt(s.of.sets, 36)
	s.of.mu.Unlock()
	for ; n == 0 || n*partBytes < len(content); n++ {
		key := partKey(s.key, set, strconv.Itoa(n))
		text := content[n*partBytes : min(len(content), (n+1)*partBytes)]
		value, err := records.Encode(part{s.of.o.Sealer.Seal(records.Bucket(key), key, text)})
		if err != nil {
			return "", 0, err
		}
		if err = s.create(ctx, key, value); err != nil {
			return "", 0, fmt.Errorf("writing the list of a site: %w", err)
		}
	}
	return set, n, nil
}

// create makes a part, of which nobody else makes another one.
func (s *Site) create(ctx context.Context, key string, value []byte) error {
	until, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		_, err := s.of.o.Records.Create(until, key, value)
		if err == nil || errors.Is(err, records.ErrExists) { // whose answer was lost
			return nil
		}
		if errors.Is(err, records.ErrInvalid) || !records.Pause(until, rest/10) {
			return err
		}
	}
}

// part is a part of the content.
type part struct {
	Box []byte `json:"box"` // sealed
}

// Read returns the content that the owner told last, with its name. An error says that it could not be
// read now.
func (s *Site) Read(ctx context.Context) (content []byte, set string, err error) {
	is, _ := s.of.find(s.key)
	a, err := s.open(is.head)
	if err != nil {
		return nil, "", err
	}
	if is.Set == "" || is.Parts < 1 || (is.Parts-1)*partBytes > s.of.o.MaxContent {
		return nil, "", fmt.Errorf("the list of a site has %d parts", is.Parts)
	}
	for n := range is.Parts {
		key := partKey(s.key, is.Set, strconv.Itoa(n))
		r, err := s.of.o.Records.Get(ctx, key)
		var p part
		if err = cmp.Or(err, records.Decode(r.Value, &p)); err != nil {
			return nil, "", fmt.Errorf("reading the list of a site: %w", err)
		}
		text, err := s.of.o.Sealer.Open(records.Bucket(key), key, p.Box)
		if err != nil {
			return nil, "", fmt.Errorf("opening the list of a site: %w", err)
		}
		if content = append(content, text...); len(content) > s.of.o.MaxContent {
			return nil, "", fmt.Errorf("the list of a site has more than %d bytes", s.of.o.MaxContent)
		}
	}
	if digest := sha256.Sum256(content); hex.EncodeToString(digest[:]) != a.Digest {
		return nil, "", errors.New("the list of a site is not as its owner wrote it")
	}
	return content, is.Set, nil
}

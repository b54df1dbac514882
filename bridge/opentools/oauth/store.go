package oauth

import (
	"bytes"
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge/files"
)

// The files of a store, in the data folder.
const (
	storeFile = "credentials"
	keyFile   = "credentials.key"
	lockFile  = "credentials.lock"
)

// Key names a credential.
type Key struct {
	// Principal is the caller that the credential is of.
	Principal string `json:"principal"`
	// Resource is the address of the API's server for tokens, and its origin for other secrets.
	Resource string `json:"resource"`
	// Scheme is the name of the security scheme in the document.
	Scheme string `json:"scheme"`
	// Issuer is the authorization server of a token; "" for other secrets.
	Issuer string `json:"issuer,omitempty"`
}

// sealed is a record as the file has it: encrypted, and bound to its key, so that it opens under no
// other one.
type sealed struct {
	Key  Key    `json:"key"`
	Data []byte `json:"data"` // nonce, ciphertext and tag of AES-256-GCM
}

type content struct {
	Version int      `json:"version"`
	Records []sealed `json:"records"`
}

// entry is a record that was read; damaged is true when it does not open.
type entry struct {
	key     Key
	record  record
	damaged bool
}

// ErrDamaged is the error of credentials that something else than pagetools has changed.
var ErrDamaged = errors.New("the stored credentials were changed by something else than " +
	"pagetools, or their key was")

// Store keeps credentials in a folder, in memory, or in a File that several machines share. Several
// processes may use one folder. It is
// safe for concurrent use. Anyone who can read the folder with the rights of its user can read the
// credentials. Encryption adds that a copy of the file without its key is unreadable, and that
// records cannot be changed or exchanged.
type Store struct {
	root *os.Root // nil: memory, or file
	file File     // nil: root, or memory

	mu     sync.Mutex
	gates  map[string]chan struct{} // of locks, by name
	cipher cipher.AEAD              // nil until there is a key
	memory []byte                   // the file, where there is no folder
	// revision belongs to the memory in file, which is read again after until.
	revision uint64
	until    time.Time
	seen     fs.FileInfo    // of what entries were read from
	last     func() []entry // a function: fmt finds nothing in it; nil is nothing
}

// OpenStore opens the credentials of a folder, which is made when it is missing. The folder must
// belong to this user alone. "" keeps credentials in memory.
func OpenStore(dir string) (*Store, error) {
	s := &Store{gates: map[string]chan struct{}{}}
	if dir == "" {
		return s, nil
	}
	if err := files.MakePrivate(dir); err != nil {
		return nil, fmt.Errorf("making the data folder: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the data folder: %w", err)
	}
	s.root = root
	return s, nil
}

// Format implements fmt.Formatter: no verb looks into a store.
func (s *Store) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "oauth.Store") }

// Close ends the use of the folder.
func (s *Store) Close() error {
	if s.root == nil {
		return nil
	}
	return s.root.Close()
}

// lock waits for a lock of that name, in this process and in others. It ends with unlock, or with
// the process.
func (s *Store) lock(ctx context.Context, name string) (unlock func(), err error) {
	s.mu.Lock()
	gate := s.gates[name]
	if gate == nil {
		gate = make(chan struct{}, 1)
		s.gates[name] = gate
	}
	s.mu.Unlock()
	select {
	case gate <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if s.file != nil {
		unlock, err := s.file.Lock(ctx, name)
		if err != nil {
			<-gate
			return nil, fmt.Errorf("locking the credentials: %w", err)
		}
		return func() { unlock(); <-gate }, nil
	}
	if s.root == nil {
		return func() { <-gate }, nil
	}
	f, err := s.root.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		<-gate
		return nil, fmt.Errorf("locking the credentials: %w", err)
	}
	got := make(chan struct{})
	var failed error
	go func() { // ends when the other process does, or lets go
		defer close(got)
		failed = files.Lock(f)
	}()
	release := func() { _ = f.Close(); <-gate } // closing unlocks
	select {
	case <-got:
	case <-ctx.Done():
		go func() { // ends when the other process lets go
			<-got
			release()
		}()
		return nil, context.Cause(ctx)
	}
	if failed != nil {
		release()
		return nil, fmt.Errorf("locking the credentials: %w", failed)
	}
	return release, nil
}

// lockKey waits for the lock of one record: a renewal, a login and a logout of it come one after
// the other, so that none brings back what another one has replaced.
func (s *Store) lockKey(ctx context.Context, key Key) (unlock func(), err error) {
	sum := sha256.Sum256(key.bound())
	unlock, err = s.lock(ctx, lockFile+"."+hex.EncodeToString(sum[:8]))
	if err == nil && s.file != nil { // whoever had it may have changed the record
		if err = s.refresh(ctx, true); err != nil {
			unlock()
		}
	}
	return unlock, err
}

// entries returns what is kept now. The caller must not change it.
func (s *Store) entries() ([]entry, error) {
	if s.file != nil {
		_ = s.refresh(context.Background(), false) // no error: it need not be new
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	text, changed, err := s.readFile()
	if err != nil {
		return nil, err
	}
	if !changed {
		if s.last == nil {
			return nil, nil
		}
		return s.last(), nil
	}
	s.last = nil
	c, err := parse(text)
	if err != nil {
		s.seen = nil
		return nil, fmt.Errorf("%s: %w; remove it, and log in again", s.path(storeFile), err)
	}
	if len(c.Records) > 0 {
		if err := s.readKey(false); err != nil {
			s.seen = nil
			return nil, err
		}
	}
	all := make([]entry, 0, len(c.Records))
	for _, r := range c.Records {
		e := entry{key: r.Key}
		if text, err := s.open(r); err != nil || json.Unmarshal(text, &e.record) != nil {
			e.damaged, e.record = true, record{}
		}
		all = append(all, e)
	}
	s.last = func() []entry { return all }
	return all, nil
}

func (s *Store) path(name string) string {
	if s.root == nil {
		return name
	}
	return filepath.Join(s.root.Name(), name)
}

// maxStore is the most bytes of the file.
const maxStore = 16 << 20

// readFile returns the file; changed is false when it is the same as at the last read.
func (s *Store) readFile() (text []byte, changed bool, err error) {
	if s.root == nil {
		return s.memory, s.file == nil || s.last == nil, nil
	}
	info, err := s.root.Lstat(storeFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.seen, s.last = nil, nil
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("reading the credentials: %w", err)
	case !info.Mode().IsRegular() || info.Size() > maxStore:
		return nil, false, fmt.Errorf("%s is not a file of credentials: remove it", s.path(storeFile))
	case s.seen != nil && os.SameFile(s.seen, info) && s.seen.ModTime().Equal(info.ModTime()) &&
		s.seen.Size() == info.Size():
		return nil, false, nil
	}
	if text, err = s.root.ReadFile(storeFile); err != nil {
		return nil, false, fmt.Errorf("reading the credentials: %w", err)
	}
	s.seen = info
	return text, true, nil
}

// readKey reads the key, or makes it. Without it nothing opens, which is no error here.
func (s *Store) readKey(create bool) error {
	if s.root == nil && s.cipher != nil {
		return nil
	}
	s.cipher = nil
	var key []byte
	if s.root != nil {
		info, err := s.root.Lstat(keyFile)
		switch {
		case err == nil && (!info.Mode().IsRegular() || files.Shared(s.path(keyFile), info)):
			return fmt.Errorf("others can read %s: %s, or remove it and log in again",
				s.path(keyFile), files.ToClose(s.path(keyFile)))
		case err == nil:
			key, err = s.root.ReadFile(keyFile)
		case errors.Is(err, fs.ErrNotExist):
			err = nil
		}
		if err != nil {
			return fmt.Errorf("reading the key of the credentials: %w", err)
		}
	}
	if key == nil {
		if !create {
			return nil
		}
		key = make([]byte, 32)
		_, _ = rand.Read(key) // it never fails: it ends the program instead
		if err := s.replace(keyFile, key); err != nil {
			return err
		}
	}
	block, err := aes.NewCipher(key)
	if err != nil || len(key) != 32 {
		return fmt.Errorf("%s is not a key: remove it, and log in again", s.path(keyFile))
	}
	s.cipher, err = cipher.NewGCMWithRandomNonce(block)
	return err
}

// replace writes a file as a whole. The caller has the lock of the file.
func (s *Store) replace(name string, text []byte) error {
	if s.root == nil {
		return nil
	}
	if err := files.WriteIn(s.root, name, text, 0o600); err != nil {
		return fmt.Errorf("writing the credentials: %w", err)
	}
	return nil
}

func parse(text []byte) (c content, err error) {
	if len(text) == 0 {
		return content{Version: 1}, nil
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&c); err != nil || c.Version != 1 {
		return c, ErrDamaged
	}
	return c, nil
}

// bound returns the additional data that binds a record to its key.
func (k Key) bound() []byte {
	text, _ := json.Marshal(k) // texts always can be
	return append([]byte("pagetools credential 1\n"), text...)
}

func (s *Store) open(r sealed) ([]byte, error) {
	if s.cipher == nil {
		return nil, ErrDamaged
	}
	return s.cipher.Open(nil, nil, r.Data, r.Key.bound())
}

// change replaces records: those for which without is true are removed, and r is added unless it is
// nil. It is written when change returns.
func (s *Store) change(ctx context.Context, without func(Key) bool, key Key, r *record) error {
	edit := func(text []byte) ([]byte, error) { return s.edit(text, without, key, r) }
	if s.file != nil {
		return s.changeShared(ctx, edit)
	}
	unlock, err := s.lock(ctx, lockFile)
	if err != nil {
		return err
	}
	defer unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = nil // other processes may have written
	text, _, err := s.readFile()
	if err != nil {
		return err
	}
	s.seen, s.last = nil, nil
	if text, err = edit(text); err != nil {
		return err
	}
	if s.root == nil {
		s.memory = text
	}
	return s.replace(storeFile, text)
}

// edit returns the file after a change. Called with s.mu held.
func (s *Store) edit(text []byte, without func(Key) bool, key Key, r *record) ([]byte, error) {
	c, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; remove it, and log in again", s.path(storeFile), err)
	}
	c.Records = slices.DeleteFunc(c.Records, func(x sealed) bool {
		return x.Key == key || without(x.Key)
	})
	if r != nil {
		if err := s.readKey(true); err != nil {
			return nil, err
		}
		plain, err := json.Marshal(r)
		if err != nil {
			return nil, fmt.Errorf("writing the credentials: %w", err)
		}
		data := s.cipher.Seal(nil, nil, plain, key.bound()) //nolint:gosec // it makes the nonce itself
		c.Records = append(c.Records, sealed{key, data})
	}
	slices.SortFunc(c.Records, func(a, b sealed) int {
		return cmp.Or(cmp.Compare(a.Key.Principal, b.Key.Principal),
			cmp.Compare(a.Key.Resource, b.Key.Resource), cmp.Compare(a.Key.Scheme, b.Key.Scheme))
	})
	if text, err = json.Marshal(c); err != nil {
		return nil, fmt.Errorf("writing the credentials: %w", err)
	}
	return text, nil
}

// put keeps a record, in the place of all others of the same principal, resource and scheme.
func (s *Store) put(ctx context.Context, key Key, r *record) error {
	return s.change(ctx, func(k Key) bool {
		k.Issuer = key.Issuer
		return k == key
	}, key, r)
}

func (s *Store) remove(ctx context.Context, key Key) error {
	return s.change(ctx, func(Key) bool { return false }, key, nil)
}

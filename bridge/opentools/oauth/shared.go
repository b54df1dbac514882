package oauth

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"fmt"
	"time"
)

// File keeps the file of a Store for several machines. Implementations are safe for concurrent use.
type File interface {
	// Read returns the file and its revision; 0 where there is none.
	Read(ctx context.Context) (text []byte, revision uint64, err error)
	// Write replaces the file of that revision. It is false where somebody else did so before.
	Write(ctx context.Context, text []byte, was uint64) (written bool, err error)
	// Lock waits for a lock of that name, at all machines. It ends with unlock, or with this machine.
	Lock(ctx context.Context, name string) (unlock func(), err error)
}

const (
	// readFor limits how long a store goes by what it read of a shared file, and readTime how long that
	// takes.
	readFor  = time.Second
	readTime = 2 * time.Second
)

// ShareStore opens the credentials in a file that several machines share, encrypted with a key of 32 bytes.
// While the file cannot be read, the store goes by what it read last.
func ShareStore(ctx context.Context, f File, key []byte) (*Store, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("opening the credentials: %w", err)
	}
	s := &Store{gates: map[string]chan struct{}{}, file: f}
	if s.cipher, err = cipher.NewGCMWithRandomNonce(block); err != nil {
		return nil, fmt.Errorf("opening the credentials: %w", err)
	}
	if err = s.refresh(ctx, true); err != nil {
		return nil, err
	}
	return s, nil
}

// refresh reads a shared file, where that was not done in the last second, or where it must be as new as it
// is: then an error says that it cannot be read.
func (s *Store) refresh(ctx context.Context, must bool) error {
	s.mu.Lock()
	now := time.Now()
	fresh := !must && now.Before(s.until)
	s.until = now.Add(readFor)
	s.mu.Unlock()
	if fresh {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	text, revision, err := s.file.Read(ctx)
	switch {
	case err == nil:
		s.took(text, revision)
	case must:
		return fmt.Errorf("reading the credentials: %w", err)
	}
	return nil
}

// took takes over a file that was read or written.
func (s *Store) took(text []byte, revision uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if revision > s.revision || revision == 0 {
		s.memory, s.revision, s.last = text, revision, nil
	}
}

// changeShared is change for a shared file: the lock of its readers is not held meanwhile.
func (s *Store) changeShared(ctx context.Context, edit func([]byte) ([]byte, error)) error {
	for {
		if err := s.refresh(ctx, true); err != nil {
			return err
		}
		s.mu.Lock()
		was := s.revision
		text, err := edit(s.memory)
		s.mu.Unlock()
		if err != nil {
			return err
		}
		written, err := s.file.Write(ctx, text, was)
		if err != nil {
			return fmt.Errorf("writing the credentials: %w", err)
		}
		if written {
			return s.refresh(ctx, true)
		}
	}
}

package authserver

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/argon2"
)

// The cost of a password (RFC 9106, 4, second choice), and what a configuration may ask for
// instead.
const (
	hashTime, hashMemory, hashThreads = 3, 64 << 10, 4
	mostTime, mostMemory              = 16, 256 << 10
	saltSize, sumSize                 = 16, 32
	// MaxPassword is the most bytes of a password.
	MaxPassword = 1 << 10
)

// hash holds a hash of argon2id with its costs.
type hash struct {
	time, memory uint32
	threads      uint8
	salt, sum    []byte
}

// Hash returns what the configuration has of a password: argon2id, in the form that other programs
// have, too.
func Hash(password string) string {
	h := hash{time: hashTime, memory: hashMemory, threads: hashThreads, salt: make([]byte, saltSize)}
	_, _ = rand.Read(h.salt) // it never fails: it ends the program instead
	b := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, h.memory, h.time, h.threads,
		b.EncodeToString(h.salt), b.EncodeToString(h.of(password, sumSize)))
}

func (h *hash) of(password string, size uint32) []byte {
	return argon2.IDKey([]byte(password), h.salt, h.time, h.memory, h.threads, size)
}

// errHash says what a hash is like.
var errHash = errors.New("it must be one of argon2id, such as $argon2id$v=19$m=65536,t=3,p=4$SALT$HASH")

// parseHash reads what Hash made, within bounds of what it may cost.
func parseHash(text string) (*hash, error) {
	parts := strings.Split(text, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" {
		return nil, errHash
	}
	h := &hash{}
	var version int
	_, err := fmt.Sscanf(parts[2], "v=%d", &version)
	if err == nil {
		_, err = fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &h.memory, &h.time, &h.threads)
	}
	if err == nil {
		h.salt, err = base64.RawStdEncoding.DecodeString(parts[4])
	}
	if err == nil {
		h.sum, err = base64.RawStdEncoding.DecodeString(parts[5])
	}
	switch {
	case err != nil || version != argon2.Version:
		return nil, errHash
	case h.time == 0 || h.time > mostTime || h.memory < 8 || h.memory > mostMemory || h.threads == 0 || len(h.salt) < 8 || len(h.sum) < 16 || len(h.sum) > 64:
		return nil, fmt.Errorf("it must cost at most t=%d and m=%d, with a salt of 8 bytes and 16 bytes of hash at least", mostTime, mostMemory)
	}
	return h, nil
}

// nobodys is compared with the password of somebody who is not there, so that this takes as long.
var nobodys = hash{time: hashTime, memory: hashMemory, threads: hashThreads, salt: make([]byte, saltSize), sum: make([]byte, sumSize)}

// byPassword returns the person whose password it is, or nil. One password at a time is looked at:
// each takes much memory.
func (s *Server) byPassword(ctx context.Context, name, password string) *Person {
	select {
	case s.hashing <- struct{}{}:
		defer func() { <-s.hashing }()
	case <-ctx.Done():
		return nil
	}
	h, p := &nobodys, s.person(name)
	if p != nil && p.Password != "" {
		if own, err := parseHash(p.Password); err == nil {
			h = own
		}
	}
	if len(password) > MaxPassword || subtle.ConstantTimeCompare(h.of(password, uint32(len(h.sum))), h.sum) != 1 || h == &nobodys {
		return nil
	}
	return p
}

// hasPasswords reports whether anybody can log in with a password.
func (s *Server) hasPasswords() bool {
	for _, p := range s.everybody() {
		if p.Password != "" {
			return true
		}
	}
	return false
}

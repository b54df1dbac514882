package key

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
)

// format begins what is sealed; salted is the length of the salt behind it.
const format, salted = 1, 16

// Overhead says by how many bytes a sealed value is longer.
const Overhead = 1 + salted + 12 + 16

// Sealer seals the values of an engine. Whoever reads the engine cannot read them, and whoever
// writes to it cannot change one, or put it under another key. It can put an older one back. It is
// safe for concurrent use.
type Sealer struct{ keys [][]byte } // that of now first

// Sealer returns the sealer of a purpose, which opens what either key sealed.
func (k Keys) Sealer(p Purpose) Sealer {
	var s Sealer
	for _, one := range k.All() {
		s.keys = append(s.keys, one.Subkey(p))
	}
	return s
}

// Seal seals a value that is kept in the bucket under the key. Each value has an AES key of its own,
// because random nonces under one key are good for 2^32 values only.
func (s Sealer) Seal(bucket, key string, value []byte) []byte {
	out := make([]byte, 1+salted, Overhead+len(value))
	out[0] = format
	_, _ = rand.Read(out[1:])                                                   // it never fails: it ends the program instead
	return aeadOf(s.keys[0], out[1:]).Seal(out, nil, value, place(bucket, key)) //nolint:gosec // it makes a random nonce itself
}

// ErrSealed is the error of a value that the cluster did not seal for its place.
var ErrSealed = errors.New("the value was not sealed with the cluster key for its place")

// Open returns the value that Seal sealed for the same place, under one of the keys. The error is
// ErrSealed.
func (s Sealer) Open(bucket, key string, sealed []byte) ([]byte, error) {
	if len(sealed) < Overhead || sealed[0] != format {
		return nil, ErrSealed
	}
	salt, box := sealed[1:1+salted], sealed[1+salted:]
	for _, of := range s.keys {
		if value, err := aeadOf(of, salt).Open(nil, nil, box, place(bucket, key)); err == nil {
			return value, nil
		}
	}
	return nil, ErrSealed
}

// place is the associated data of a value: no two places have the same.
func place(bucket, key string) []byte {
	out := binary.BigEndian.AppendUint64(nil, uint64(len(bucket)))
	return append(append(out, bucket...), key...)
}

func aeadOf(key, salt []byte) cipher.AEAD {
	own, err := hkdf.Key(sha256.New, key, salt, "pagetools value", Size)
	if err != nil {
		panic("deriving a key: " + err.Error()) // the length is ours
	}
	block, err := aes.NewCipher(own)
	if err == nil {
		var aead cipher.AEAD
		if aead, err = cipher.NewGCMWithRandomNonce(block); err == nil {
			return aead
		}
	}
	panic("sealing: " + err.Error()) // the key has the right length
}

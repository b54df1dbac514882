package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"errors"
)

// Size is the length of keys in bytes.
const Size = 32

// overhead counts the bytes of a nonce and of a tag.
const overhead = 12 + 16

// ErrSealed says that a value was sealed with another key, for another place, or is not one.
var ErrSealed = errors.New("the value cannot be opened with the cluster's key")

// Box seals values with AES-256-GCM under random nonces, which one key may do four billion times.
// Safe for concurrent use.
type Box struct{ keys []cipher.AEAD }

// NewBox returns a box that seals with a key, and opens what was sealed with it or with one that is
// on its way out.
func NewBox(key [Size]byte, old ...[Size]byte) (*Box, error) {
	b := &Box{}
	for _, k := range append([][Size]byte{key}, old...) {
		block, err := aes.NewCipher(k[:])
		if err != nil {
			return nil, err
		}
		gcm, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, err
		}
		b.keys = append(b.keys, gcm)
	}
	return b, nil
}

// Seal encrypts a value for the place that has it: a bucket, and a key in it. Only there it opens.
func (b *Box) Seal(bucket, key string, value []byte) []byte {
	return b.keys[0].Seal(make([]byte, 0, len(value)+overhead), nil, value, place(bucket, key))
}

// Open returns what was sealed for the place, or ErrSealed.
func (b *Box) Open(bucket, key string, sealed []byte) ([]byte, error) {
	for _, k := range b.keys {
		value, err := k.Open(nil, nil, sealed, place(bucket, key)) //nolint:gosec // the nonce is random, and in the value
		if err == nil {
			return value, nil
		}
	}
	return nil, ErrSealed
}

// place returns the associated data of a place. No two places have the same.
func place(bucket, key string) []byte { return join(bucket, key) }

// join writes strings so that no other strings are written so.
func join(parts ...string) []byte {
	var joined []byte
	for _, part := range parts {
		joined = binary.AppendUvarint(joined, uint64(len(part)))
		joined = append(joined, part...)
	}
	return joined
}

// Names makes parts of keys. Safe for concurrent use.
type Names struct{ key [Size]byte }

// NewNames returns the names under a key.
func NewNames(key [Size]byte) *Names { return &Names{key} }

// letters encodes names in the alphabet of tokens.
var letters = base32.StdEncoding.WithPadding(base32.NoPadding)

// Of returns 26 characters A-Z and 2-7 for a name of several parts: the HMAC-SHA256 of them, of which
// it shows 130 bits.
func (n *Names) Of(parts ...string) string {
	mac := hmac.New(sha256.New, n.key[:])
	mac.Write(join(parts...))
	return letters.EncodeToString(mac.Sum(nil))[:26]
}

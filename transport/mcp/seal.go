package mcp

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// seal closes what a client carries for us, so that it can neither read nor change
// it: AES-GCM, with a key that only we have.
type seal struct {
	node    func() string // begins what is sealed: see bridge.NodeOf
	aead    cipher.AEAD
	cardKey []byte // proves that a request is the card's
}

// KeySize is the size of Options' key in bytes: AES-256.
const KeySize = 32

func newSeal(key []byte, node func() string) (*seal, error) {
	if key == nil {
		key = make([]byte, KeySize)
		_, _ = rand.Read(key) // it never fails: it ends the program instead
	}
	if len(key) != KeySize {
		return nil, fmt.Errorf("the key of MCP has %d bytes, not %d", len(key), KeySize)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("the key of MCP: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("the key of MCP: %w", err)
	}
	cardKey, err := hkdf.Key(sha256.New, key, nil, forCardKey, KeySize)
	if err != nil {
		return nil, fmt.Errorf("the key of MCP: %w", err)
	}
	return &seal{node, aead, cardKey}, nil
}

// carried is the content of a requestState: which call waits with which question, its caller, and
// how long the state is valid.
type carried struct {
	Token    string    `json:"t"`
	Question string    `json:"q"`
	Caller   string    `json:"c"`
	Call     string    `json:"d"` // the digest of the call
	URL      bool      `json:"u,omitempty"`
	Until    time.Time `json:"e"`
}

// What is sealed for one purpose is good for nothing else.
const (
	forState   = "pagetools requestState 1"
	forSession = "pagetools session 1"
	forTicket  = "pagetools ticket 1"
	forCardKey = "pagetools card 1"
)

// close seals a value of ours. In a cluster the name of the node stands before it, and is sealed with
// it: a text with another node's name opens nowhere.
func (s *seal) close(purpose string, v any) string {
	node := s.node()
	return node + base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, encode(v), []byte(purpose+node))) //nolint:gosec // it makes a random nonce itself
}

// madeHere reports whether close of this node made a text.
func (s *seal) madeHere(text string) bool { return strings.HasPrefix(text, s.node()) }

var errSeal = errors.New("not sealed by us")

// open reads what close sealed for the purpose, in whichever process.
func (s *seal) open(purpose, text string, v any) error {
	n := len(s.node())
	if len(text) < n {
		return errSeal
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(text[n:])
	if err != nil {
		return errSeal
	}
	plain, err := s.aead.Open(nil, nil, sealed, []byte(purpose+text[:n]))
	if err != nil || json.Unmarshal(plain, v) != nil {
		return errSeal
	}
	return nil
}

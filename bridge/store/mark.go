package store

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// The domains of signatures.
const (
	markDomain = "pagetools audit mark 1\n"
	listDomain = "pagetools audit list 1\n"
)

// The kinds of marks.
const (
	markBegin      = "begin"      // the first line of a file: where its chain stands
	markCheckpoint = "checkpoint" // where the chain stands now
	markNext       = "next"       // the last line of a full file: the chain goes on in the next one
	markEnd        = "end"        // the last line of a chain whose process closed it
)

// markOpens begins the line of a mark, and no record's.
const markOpens = `{"mark":`

// mark is a signed line: it says where a chain stands. Marks are not links of the
// chain themselves.
type mark struct {
	Mark  string `json:"mark"`
	Chain string `json:"chain"`
	File  int    `json:"file"`
	Seq   int64  `json:"seq"`
	Hash  string `json:"hash"` // hex
	Time  string `json:"time"` // RFC 3339, UTC
	// Key is the public key and Signature that of the rest, both in base64. They
	// are missing in the list, which is signed as a whole.
	Key       string `json:"key,omitempty"`
	Signature string `json:"signature,omitempty"`
}

func newMark(kind, id string, file int, end chain, at time.Time) mark {
	return mark{
		Mark: kind, Chain: id, File: file, Seq: end.seq, Hash: hex.EncodeToString(end.hash[:]),
		Time: at.UTC().Format(time.RFC3339Nano),
	}
}

// decodeExactly reads JSON as Marshal wrote it, and nothing else that means the
// same.
func decodeExactly(text []byte, v any) error {
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("decoding a checkpoint: %w", err)
	}
	if again, err := json.Marshal(v); err != nil || !bytes.Equal(again, text) {
		return errors.New("decoding a checkpoint: it is not as it was written")
	}
	return nil
}

// signer holds the key of the data folder.
type signer struct{ key ed25519.PrivateKey }

func (s *signer) public() ed25519.PublicKey { return ed25519.PublicKey(s.key[ed25519.SeedSize:]) }

// publicText returns the public key in base64.
func (s *signer) publicText() string { return base64.StdEncoding.EncodeToString(s.public()) }

// openSigner reads the key, or makes it. The file is PKCS #8 in PEM.
func openSigner(root *os.Root) (*signer, error) {
	content, err := readOwn(root, keyFile)
	if errors.Is(err, fs.ErrNotExist) {
		content, err = makeKey(root)
	}
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(content)
	if block == nil {
		return nil, fmt.Errorf("%s is not in PEM: %w", keyFile, ErrCorrupt)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", keyFile, ErrCorrupt, err)
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s is not an Ed25519 key: %w", keyFile, ErrCorrupt)
	}
	return &signer{key}, nil
}

func makeKey(root *os.Root) ([]byte, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making the audit key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("making the audit key: %w", err)
	}
	return createOnce(root, keyFile,
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// sign returns a signature of v under a domain, so that it cannot be used as a signature
// of something else.
func (s *signer) sign(domain string, v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encoding a checkpoint: %w", err)
	}
	return base64.StdEncoding.EncodeToString(ed25519.Sign(s.key, append([]byte(domain), b...))), nil
}

// signed reports whether sign returned the signature for v.
func (s *signer) signed(domain string, v any, signature string) bool {
	b, err := json.Marshal(v)
	raw, notBase64 := base64.StdEncoding.DecodeString(signature)
	return err == nil && notBase64 == nil &&
		ed25519.Verify(s.public(), append([]byte(domain), b...), raw)
}

// line signs the mark and returns its line.
func (s *signer) line(m mark) (line []byte, err error) {
	m.Key = s.publicText()
	if m.Signature, err = s.sign(markDomain, m); err != nil {
		return nil, err
	}
	if line, err = json.Marshal(m); err != nil {
		return nil, fmt.Errorf("encoding a checkpoint: %w", err)
	}
	return append(line, '\n'), nil
}

// own reports whether our key signed the mark.
func (s *signer) own(m mark) bool {
	signature := m.Signature
	m.Signature = ""
	return m.Key == s.publicText() && s.signed(markDomain, m, signature)
}

package store

import (
	"bufio"
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
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/pagetools/pagetools/bridge/schema"
)

// checkpointDomain keeps a signature of a checkpoint from being one of anything
// else.
const checkpointDomain = "pagetools audit checkpoint 1\n"

// checkpoint is a line of audit.checkpoints: the end of the chain at one moment.
// A line with a key only, the first one, names the key.
type checkpoint struct {
	Seq  int64  `json:"seq,omitempty"`
	Hash string `json:"hash,omitempty"` // hex
	Time string `json:"time,omitempty"` // RFC 3339, UTC
	// Key is the public key and Signature that of the rest, both in base64.
	Key       string `json:"key"`
	Signature string `json:"signature,omitempty"`
}

// signer holds the key of the data folder.
type signer struct {
	root   *os.Root
	key    ed25519.PrivateKey
	public string
}

// openSigner reads the key, or makes it. The file is PKCS #8 in PEM.
func openSigner(root *os.Root, owner string) (*signer, error) {
	content, err := readOwn(root, keyFile)
	if errors.Is(err, fs.ErrNotExist) {
		content, err = makeKey(root, owner+".key")
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
		return nil, fmt.Errorf("%s is no Ed25519 key: %w", keyFile, ErrCorrupt)
	}
	public, ok := key.Public().(ed25519.PublicKey)
	if !ok {
		return nil, fmt.Errorf("%s has no public half: %w", keyFile, ErrCorrupt)
	}
	s := &signer{root: root, key: key, public: base64.StdEncoding.EncodeToString(public)}
	if err := s.announce(); err != nil {
		return s, err
	}
	return s, nil
}

func makeKey(root *os.Root, draft string) ([]byte, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making the audit key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("making the audit key: %w", err)
	}
	return createOnce(root, keyFile, draft, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// announce writes the public key to audit.checkpoints unless it is there.
func (s *signer) announce() error {
	lines, _, err := s.read()
	if err != nil {
		return err
	}
	for _, line := range lines {
		if line.Key == s.public {
			return nil
		}
	}
	line, err := json.Marshal(checkpoint{Key: s.public})
	if err != nil {
		return fmt.Errorf("encoding the audit key: %w", err)
	}
	return s.append([]string{string(line)})
}

// sign makes the line for an end of the chain.
func (s *signer) sign(end chain, at time.Time) (string, error) {
	c := checkpoint{Seq: end.seq, Hash: hex.EncodeToString(end.hash[:]), Time: at.UTC().Format(time.RFC3339Nano), Key: s.public}
	message, err := c.message()
	if err != nil {
		return "", err
	}
	c.Signature = base64.StdEncoding.EncodeToString(ed25519.Sign(s.key, message))
	line, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("encoding a checkpoint: %w", err)
	}
	return string(line), nil
}

// signed reports whether our key signed the checkpoint.
func (s *signer) signed(c checkpoint) bool {
	signature, err := base64.StdEncoding.DecodeString(c.Signature)
	if err != nil || c.Key != s.public {
		return false
	}
	message, err := c.message()
	public, ok := s.key.Public().(ed25519.PublicKey)
	return err == nil && ok && ed25519.Verify(public, message, signature)
}

// message is what is signed.
func (c checkpoint) message() ([]byte, error) {
	c.Signature = ""
	b, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encoding a checkpoint: %w", err)
	}
	if b, err = schema.Canonical(b); err != nil {
		return nil, fmt.Errorf("encoding a checkpoint: %w", err)
	}
	return append([]byte(checkpointDomain), b...), nil
}

// append adds lines to audit.checkpoints, and waits for the disk. What a full
// disk left half written gets an end of line, and is skipped by who reads.
func (s *signer) append(lines []string) error {
	f, err := openOwn(s.root, checkpointsFile, os.O_RDWR|os.O_APPEND)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if size, err := f.Seek(0, io.SeekEnd); err == nil && size > 0 {
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, size-1); err == nil && last[0] != '\n' {
			text.WriteByte('\n')
		}
	}
	for _, line := range lines {
		text.WriteString(line)
		text.WriteByte('\n')
	}
	_, err = f.Write(text.Bytes())
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("adding to %s: %w", checkpointsFile, classify(err))
	}
	return nil
}

// read gives the lines of audit.checkpoints, and how many are unreadable. A
// missing file has none.
func (s *signer) read() (lines []checkpoint, torn int, err error) {
	content, err := readOwn(s.root, checkpointsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	scanner := bufio.NewScanner(bytes.NewReader(content))
	scanner.Buffer(nil, len(content)+1)
	for scanner.Scan() {
		c, err := decodeCheckpoint(scanner.Bytes())
		if err != nil {
			torn++
			continue
		}
		lines = append(lines, c)
	}
	return lines, torn, nil
}

func decodeCheckpoint(line []byte) (checkpoint, error) {
	var c checkpoint
	if err := json.Unmarshal(line, &c); err != nil {
		return checkpoint{}, fmt.Errorf("decoding a checkpoint: %w", err)
	}
	if c.Key == "" || c.Seq < 0 {
		return checkpoint{}, errors.New("decoding a checkpoint: it has no key, or a negative number")
	}
	return c, nil
}

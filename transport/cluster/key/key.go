package key

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strings"

	"github.com/pagetools/pagetools/bridge/files"
)

const (
	// Size is the length of a key, and of what is derived from it, in bytes.
	Size = 32
	// textLength is the length of a key's text: base64url (RFC 4648, 5) without padding.
	textLength = 43
	// nameLength is the length of a name: base32 of 130 bits.
	nameLength = 26
)

// Purpose names what a subkey is for. What one subkey made means nothing to another.
type Purpose string

// The purposes. Each ends with the number of its format.
const (
	Authority    Purpose = "ca 1"           // signs the certificates of nodes
	Records      Purpose = "records 1"      // seals what an engine keeps
	Names        Purpose = "names 1"        // names callers and sessions in the keys of an engine
	RequestState Purpose = "requestState 1" // seals what MCP clients carry
	Egress       Purpose = "egress 1"       // seals grants of proxies
	Logins       Purpose = "logins 1"       // encrypts the logins at APIs
	SignIn       Purpose = "signIn 1"       // seals pages on which people let clients in
	Engine       Purpose = "engine 1"       // signs the certificates of engines that nodes start
)

// Purposes lists every purpose.
func Purposes() []Purpose {
	return []Purpose{Authority, Records, Names, RequestState, Egress, Logins, SignIn, Engine}
}

// Key is the key of a cluster. The zero Key is none.
type Key struct{ secret [Size]byte }

// New makes a key.
func New() (k Key) {
	_, _ = rand.Read(k.secret[:]) // it never fails: it ends the program instead
	return k
}

// Text returns the key as its file has it, without the end of the line. It is a secret.
func (k Key) Text() string { return base64.RawURLEncoding.EncodeToString(k.secret[:]) }

// String hides the key.
func (k Key) String() string { return "a cluster key" }

// GoString hides the key.
func (k Key) GoString() string { return k.String() }

// LogValue hides the key.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

// Parse reads the text of a key. One line end after it does not count.
func Parse(text string) (k Key, err error) {
	text = strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
	if len(text) != textLength {
		return Key{}, fmt.Errorf("a cluster key has %d characters, not %d", textLength, len(text))
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return Key{}, fmt.Errorf("a cluster key is one of %d characters of base64url: letters, digits, - and _", textLength)
	}
	if copy(k.secret[:], raw); k == (Key{}) {
		return Key{}, errors.New("a cluster key is random, and not zero")
	}
	return k, nil
}

// ErrShared is the error of a file of a key that others can read.
var ErrShared = errors.New("others can read it")

// Load reads the file of a key. Errors name the file, and never hold any of its content: ErrShared
// with the command that mends it, or that it is not there, cannot be read or has no key.
func Load(path string) (Key, error) {
	f, err := os.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Key{}, fmt.Errorf("there is no file %s: %w", path, fs.ErrNotExist)
	case err != nil:
		return Key{}, err //nolint:wrapcheck // it names the file
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	switch {
	case err != nil:
		return Key{}, err //nolint:wrapcheck // it names the file
	case info.IsDir():
		return Key{}, fmt.Errorf("%s is a folder, and not the file of a cluster key", path)
	case files.Shared(path, info):
		return Key{}, fmt.Errorf("%s has the cluster key, and %w: %s", path, ErrShared, files.ToClose(path))
	}
	content, err := io.ReadAll(io.LimitReader(f, textLength+3))
	if err != nil {
		return Key{}, err //nolint:wrapcheck // it names the file
	}
	k, err := Parse(string(content))
	if err != nil {
		return Key{}, fmt.Errorf("%s has no cluster key: %w", path, err)
	}
	return k, nil
}

// Subkey derives the key of a purpose, of Size bytes.
func (k Key) Subkey(p Purpose) []byte {
	sub, err := hkdf.Key(sha256.New, k.secret[:], nil, "pagetools cluster "+string(p), Size)
	if err != nil {
		panic("deriving a key: " + err.Error()) // the length is ours
	}
	return sub
}

// Keys holds the keys of a node.
type Keys struct {
	// Now seals, signs and names.
	Now Key
	// Also is accepted beside it while a key is being replaced; the zero Key is none.
	Also Key
}

// All lists the keys that are accepted: that of now first.
func (k Keys) All() []Key {
	if k.Also == (Key{}) || k.Also == k.Now {
		return []Key{k.Now}
	}
	return []Key{k.Now, k.Also}
}

// Namer names callers, sessions and others in the keys of an engine, which tells nobody who they
// are. It is safe for concurrent use.
type Namer struct{ key []byte }

// Namers returns the namers of the keys: that of now first. What was named under another one has
// that name until it is gone.
func (k Keys) Namers() []Namer {
	all := make([]Namer, 0, 2)
	for _, one := range k.All() {
		all = append(all, Namer{one.Subkey(Names)})
	}
	return all
}

// Name returns the name of these parts, such as a caller and a session: 26 characters, A to Z and 2 to
// 7. Other parts, or the same ones cut elsewhere, have another name.
func (n Namer) Name(parts ...string) string {
	h := hmac.New(sha256.New, n.key)
	for _, part := range parts {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		_, _ = h.Write(length[:])
		_, _ = io.WriteString(h, part)
	}
	return base32.StdEncoding.EncodeToString(h.Sum(nil))[:nameLength]
}

package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

// The kinds of audit records.
const (
	kindIntent  = "intent"
	kindOutcome = "outcome"
	// kindLost says that records could not be kept while writing failed. Its
	// ticket is their number.
	kindLost = "lost"
)

// recordDomain keeps the hash of a record from being the hash of anything else.
const recordDomain = "pagetools audit record 1\n"

// maxText bounds a text in a record, in bytes; the rest is cut off.
const maxText = 512

// record is a line of a chain, without its hash. Ticket joins an outcome to its
// intent.
type record struct {
	Seq    int64  `json:"seq"`
	Kind   string `json:"kind"`
	Ticket int64  `json:"ticket"`
	Time   string `json:"time"` // RFC 3339, UTC
	Mono   int64  `json:"mono"` // nanoseconds since the process opened the folder
	bridge.AuditRecord
}

// newRecord returns what is kept of r. Its number is set when it is written.
func newRecord(kind string, ticket int64, at, began time.Time, r bridge.AuditRecord) *record {
	for _, s := range []*string{
		&r.Call, &r.Trace, &r.Claim, &r.Caller, &r.Client, &r.CredentialID, &r.Session, &r.Site, &r.Origin, &r.Frame, &r.Tool, &r.Adapter,
		&r.Definition, &r.Arguments, &r.Requested, &r.Decision, &r.Rule, &r.Approval, &r.Approver, &r.Persons,
		&r.Outcome, &r.Code, &r.Reason, &r.Result,
	} {
		*s = clip(*s)
	}
	return &record{
		Kind: kind, Ticket: ticket, Time: at.UTC().Format(time.RFC3339Nano), Mono: int64(at.Sub(began)), AuditRecord: r,
	}
}

// clip bounds text, and makes it valid UTF-8.
func clip(s string) string {
	return strings.ToValidUTF8(text.Bytes(s, maxText), "\uFFFD")
}

// chain holds the end of a chain: the number and the hash of its newest record. The
// zero value is the end of a chain without records.
type chain struct {
	seq  int64
	hash [sha256.Size]byte
}

// link returns the hash of a record that follows this end.
func (c chain) link(body []byte) [sha256.Size]byte {
	h := sha256.New()
	h.Write([]byte(recordDomain))
	h.Write(c.hash[:])
	h.Write(body)
	return [sha256.Size]byte(h.Sum(nil))
}

// A line is the JSON of its record with the hash as its last member, so that
// what was hashed is found again byte for byte.
const (
	hashOpens  = `,"hash":"`
	hashCloses = `"}`
	hashTail   = len(hashOpens) + 2*sha256.Size + len(hashCloses)
)

// seal numbers the record. It returns its line, and the end of the
// chain once the line is written.
func (c chain) seal(r *record) ([]byte, chain, error) {
	r.Seq = c.seq + 1
	body, err := json.Marshal(r)
	if err != nil {
		return nil, c, fmt.Errorf("encoding an audit record: %w", err)
	}
	next := chain{seq: r.Seq, hash: c.link(body)}
	return append(withHash(body, next.hash[:]), '\n'), next, nil
}

func withHash(body, hash []byte) []byte {
	body = append(body[:len(body)-1], hashOpens...)
	return append(hex.AppendEncode(body, hash), hashCloses...)
}

// unseal splits a line into its record and its hash, which is not checked.
func unseal(line []byte) (body []byte, hash string, err error) {
	n := len(line) - hashTail
	if n < 1 || !bytes.HasPrefix(line[n:], []byte(hashOpens)) ||
		!bytes.HasSuffix(line, []byte(hashCloses)) {
		return nil, "", errors.New("it is not a record with a hash")
	}
	hash = string(line[n+len(hashOpens) : len(line)-len(hashCloses)])
	return append(bytes.Clone(line[:n]), '}'), hash, nil
}

// recordDepth sets how deep records are nested: not at all.
const recordDepth = 1

func decodeRecord(body []byte) (*record, error) {
	if err := schema.CheckJSON(body, recordDepth); err != nil {
		return nil, fmt.Errorf("decoding an audit record: %w", err)
	}
	var r record
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, fmt.Errorf("decoding an audit record: %w", err)
	}
	return &r, nil
}

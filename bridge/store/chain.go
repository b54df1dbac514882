package store

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/schema"
)

// The kinds of audit records.
const (
	kindIntent  = "intent"
	kindOutcome = "outcome"
	// kindLost says that records could not be kept while writing failed. Its
	// ticket is their number.
	kindLost = "lost"
)

// recordDomain keeps a hash of a record from being one of anything else.
const recordDomain = "pagetools audit record 1\n"

// maxText is where text in records is cut, in bytes.
const maxText = 512

// entry is a record that waits to be written.
type entry struct {
	kind   string
	ticket int64
	at     time.Time
	record bridge.AuditRecord
	done   chan error // nil: nobody waits; else it takes one error without blocking
}

// auditRow is a record as it is hashed. Owner and Ticket join an outcome to its
// intent.
type auditRow struct {
	Seq           int64  `json:"seq"`
	Kind          string `json:"kind"`
	Owner         string `json:"owner"`
	Ticket        int64  `json:"ticket"`
	Time          string `json:"time"` // RFC 3339, UTC
	Mono          int64  `json:"mono"` // nanoseconds since the owner began, by a clock that is never set
	Call          string `json:"call,omitempty"`
	Trace         string `json:"trace,omitempty"`
	Caller        string `json:"caller,omitempty"`
	Session       string `json:"session,omitempty"`
	Site          string `json:"site,omitempty"`
	Origin        string `json:"origin,omitempty"`
	Frame         string `json:"frame,omitempty"`
	Tool          string `json:"tool,omitempty"`
	Definition    string `json:"definition,omitempty"`
	Arguments     string `json:"arguments,omitempty"`
	ArgumentBytes int64  `json:"argumentBytes,omitempty"`
	Decision      string `json:"decision,omitempty"`
	Rule          string `json:"rule,omitempty"`
	Approval      string `json:"approval,omitempty"`
	Approver      string `json:"approver,omitempty"`
	Outcome       string `json:"outcome,omitempty"`
	Code          string `json:"code,omitempty"`
	Reason        string `json:"reason,omitempty"`
	Result        string `json:"result,omitempty"`
	ResultBytes   int64  `json:"resultBytes,omitempty"`
}

// clip bounds text, and makes it UTF-8.
func clip(s string) string {
	if len(s) > maxText {
		n := maxText
		for n > maxText-utf8.UTFMax && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n]
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// chain is where the audit ends: the number and hash of the newest record. The
// zero chain is that of no record.
type chain struct {
	seq  int64
	hash [sha256.Size]byte
}

// link is the hash of a record after this end.
func (c *chain) link(record []byte) [sha256.Size]byte {
	h := sha256.New()
	h.Write([]byte(recordDomain))
	h.Write(c.hash[:])
	h.Write(record)
	return [sha256.Size]byte(h.Sum(nil))
}

// seal gives the entry the next number, and makes it the end of the chain.
func (c *chain) seal(e *entry, owner string, began time.Time) ([]byte, error) {
	r := &e.record
	record, err := encodeRow(&auditRow{
		Seq: c.seq + 1, Kind: e.kind, Owner: owner, Ticket: e.ticket,
		Time: e.at.UTC().Format(time.RFC3339Nano), Mono: int64(e.at.Sub(began)),
		Call: clip(r.Call), Trace: clip(r.Trace), Caller: clip(r.Caller), Session: clip(r.Session),
		Site: clip(r.Site), Origin: clip(r.Origin), Frame: clip(r.Frame), Tool: clip(r.Tool),
		Definition: clip(r.Definition), Arguments: clip(r.Arguments), ArgumentBytes: r.ArgumentBytes,
		Decision: clip(r.Decision), Rule: clip(r.Rule), Approval: clip(r.Approval), Approver: clip(r.Approver),
		Outcome: clip(r.Outcome), Code: clip(r.Code), Reason: clip(r.Reason), Result: clip(r.Result), ResultBytes: r.ResultBytes,
	})
	if err != nil {
		return nil, err
	}
	c.seq, c.hash = c.seq+1, c.link(record)
	return record, nil
}

// recordDepth is how deep records are nested: not at all.
const recordDepth = 1

func encodeRow(r *auditRow) ([]byte, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encoding an audit record: %w", err)
	}
	if b, err = schema.Canonical(b); err != nil {
		return nil, fmt.Errorf("encoding an audit record: %w", err)
	}
	return b, nil
}

func decodeRow(record []byte) (*auditRow, error) {
	if err := schema.CheckJSON(record, recordDepth); err != nil {
		return nil, fmt.Errorf("decoding an audit record: %w", err)
	}
	var r auditRow
	if err := json.Unmarshal(record, &r); err != nil {
		return nil, fmt.Errorf("decoding an audit record: %w", err)
	}
	return &r, nil
}

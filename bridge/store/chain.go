package store

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strconv"
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
	// kindDamaged says that a stretch of a dead owner's journal could not be
	// read. Its reason says where.
	kindDamaged = "damaged"
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
	// done is nil when nobody waits; else it takes one error without blocking.
	done chan error
	// journal: who waits does so for the journal first.
	journal bool
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

// row is what is kept of the entry. Its number is that of no record yet.
func (e *entry) row(owner string, began time.Time) *auditRow {
	r := &e.record
	return &auditRow{
		Kind: e.kind, Owner: owner, Ticket: e.ticket,
		Time: e.at.UTC().Format(time.RFC3339Nano), Mono: int64(e.at.Sub(began)),
		Call: clip(r.Call), Trace: clip(r.Trace), Caller: clip(r.Caller), Session: clip(r.Session),
		Site: clip(r.Site), Origin: clip(r.Origin), Frame: clip(r.Frame), Tool: clip(r.Tool),
		Definition: clip(r.Definition), Arguments: clip(r.Arguments), ArgumentBytes: r.ArgumentBytes,
		Decision: clip(r.Decision), Rule: clip(r.Rule), Approval: clip(r.Approval), Approver: clip(r.Approver),
		Outcome: clip(r.Outcome), Code: clip(r.Code), Reason: clip(r.Reason), Result: clip(r.Result), ResultBytes: r.ResultBytes,
	}
}

// seal gives the row the next number, and makes it the end of the chain.
func (c *chain) seal(r *auditRow) []byte {
	r.Seq = c.seq + 1
	record := r.appendTo(make([]byte, 0, usualRow))
	c.seq, c.hash = r.Seq, c.link(record)
	return record
}

// usualRow is room for most records, in bytes.
const usualRow = 1024

// appendTo adds the record as canonical JSON. The members are in their order
// here: putting them in order for each record costs ten times as much.
func (r *auditRow) appendTo(b []byte) []byte {
	b = append(b, '{')
	b = appendText(b, "approval", r.Approval)
	b = appendText(b, "approver", r.Approver)
	b = appendSize(b, "argumentBytes", r.ArgumentBytes)
	b = appendText(b, "arguments", r.Arguments)
	b = appendText(b, "call", r.Call)
	b = appendText(b, "caller", r.Caller)
	b = appendText(b, "code", r.Code)
	b = appendText(b, "decision", r.Decision)
	b = appendText(b, "definition", r.Definition)
	b = appendText(b, "frame", r.Frame)
	b = schema.AppendString(appendName(b, "kind"), r.Kind)
	b = strconv.AppendInt(appendName(b, "mono"), r.Mono, 10)
	b = appendText(b, "origin", r.Origin)
	b = appendText(b, "outcome", r.Outcome)
	b = schema.AppendString(appendName(b, "owner"), r.Owner)
	b = appendText(b, "reason", r.Reason)
	b = appendText(b, "result", r.Result)
	b = appendSize(b, "resultBytes", r.ResultBytes)
	b = appendText(b, "rule", r.Rule)
	b = strconv.AppendInt(appendName(b, "seq"), r.Seq, 10)
	b = appendText(b, "session", r.Session)
	b = appendText(b, "site", r.Site)
	b = strconv.AppendInt(appendName(b, "ticket"), r.Ticket, 10)
	b = schema.AppendString(appendName(b, "time"), r.Time)
	b = appendText(b, "tool", r.Tool)
	b = appendText(b, "trace", r.Trace)
	return append(b, '}')
}

func appendName(b []byte, name string) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	return append(append(append(b, '"'), name...), '"', ':')
}

// appendText and appendSize leave out what is empty.
func appendText(b []byte, name, text string) []byte {
	if text == "" {
		return b
	}
	return schema.AppendString(appendName(b, name), text)
}

func appendSize(b []byte, name string, size int64) []byte {
	if size == 0 {
		return b
	}
	return strconv.AppendInt(appendName(b, name), size, 10)
}

// recordDepth is how deep records are nested: not at all.
const recordDepth = 1

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

package bridge

import (
	"context"
	"errors"
	"time"

	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/bridge/webtool"
)

// This file says what the bridge wants remembered: record types, and the
// interfaces that bridge/store implements with SQLite and in memory. All of
// them are safe for concurrent use, also by several processes that share one
// data folder. Times are kept in UTC with nanoseconds.

// Memory holds the stores of a Bridge. A part that is nil is not remembered:
// versions, keys and consent then end with the process, and nothing is audited.
type Memory struct {
	Versions   webtool.Store
	Grants     Grants
	KnownTools KnownTools
	Taints     Taints
	Rates      Rates
	Homes      Homes
	Ended      Ended
	Replies    Replies
	Audit      Audit
	Calls      Calls
}

// Grants keeps the consent that persons gave for more than one call.
type Grants interface {
	// Put keeps a grant and returns it with its ID, which must be empty before. The
	// grant is on the disk when Put returns.
	Put(ctx context.Context, g Grant) (Grant, error)
	// All lists the grants, oldest first.
	All(ctx context.Context) ([]Grant, error)
	// Find returns the newest grant that covers the use, and false when none does.
	// It sees what any process put or revoked before.
	Find(ctx context.Context, u GrantUse) (Grant, bool, error)
	// Revoke removes a grant; false means that there was none. The removal is on the
	// disk when Revoke returns.
	Revoke(ctx context.Context, id string) (bool, error)
}

// Grant is consent of a person that stands.
type Grant struct {
	// ID is 128 random bits in hex.
	ID string
	GrantUse
	// GivenBy names the person.
	GivenBy string
	GivenAt time.Time
}

// Check returns why a store does not keep the grant: it has an ID already, or lacks a name. One without a
// digest would cover whatever the page makes of the tool later.
func (g Grant) Check() error {
	if g.ID != "" {
		return errors.New("a new grant has no ID yet")
	}
	if g.Caller == "" || g.Site == "" || g.Tool == "" || g.Digest == "" || g.GivenBy == "" {
		return errors.New("a grant names the caller, the site, the tool, its digest and the person")
	}
	return nil
}

// GrantUse describes the calls that a grant covers, and the call that looks for one. Every part is
// compared byte for byte.
type GrantUse struct {
	// Caller, Site and Tool name the caller and what it may run.
	Caller, Site, Tool string
	// Credential is the caller's: a new one gets new consent. Empty where the caller
	// has none.
	Credential string
	// Digest identifies the tool's definition, with its origin: a changed definition needs new
	// consent.
	Digest string
	// Config is the digest of what config changes about the page; empty when it
	// changes nothing.
	Config string
}

// KnownTools keeps which tools of a site a person has seen, so that new and
// renamed ones can be held back. At most 4,096 a site: the oldest go first.
type KnownTools interface {
	// Known lists the tools of the site, by name.
	Known(ctx context.Context, site string) ([]KnownTool, error)
	// SetKnown adds tools, or replaces what was known under their names. All of
	// them are on the disk when it returns, or none.
	SetKnown(ctx context.Context, site string, tools []KnownTool) error
}

// KnownTool is a tool that a person has seen.
type KnownTool struct {
	Tool   string
	SeenAt time.Time
}

// Taints keeps whose untrusted content callers have read, so that it counts in every process.
type Taints interface {
	// Taint notes that a caller counts as one that has read content of an origin until then; the
	// later time of several holds. An empty origin stands for any. Where Options.Node is set, what a
	// call reads is withheld after an error.
	Taint(ctx context.Context, caller, origin string, until time.Time) error
	// Tainted reports whether the caller counts as one that has read content of another origin than
	// this one. It sees what any process noted before.
	Tainted(ctx context.Context, caller, but string, now time.Time) (bool, error)
}

// Rates counts calls for all processes of a data folder.
type Rates interface {
	// Take takes up to n calls of a rate at the time now, and returns how many it got. When it is
	// none, wait says how long until there is one. The callers of a rate share it equally, as in
	// policy.Rates.
	Take(ctx context.Context, u policy.Use, n int, now time.Time) (got int, wait time.Duration, err error)
}

// Homes says which process of a data folder has a session. What a process had is free when it has
// ended, however it ended.
type Homes interface {
	// Here names this process: 8 characters, A to Z and 2 to 7. No other life of a process has the
	// same name. What only this process can go on with begins with it.
	Here() string
	// Lives reports whether another process of that name has the folder open.
	Lives(home string) bool
	// Open makes a session this process's own until Close of the epoch. Of any number of processes
	// one gets it; the others get ErrElsewhere. A process may open again what it has: the epoch
	// before counts no more.
	Open(ctx context.Context, s SessionName) (epoch int64, err error)
	// Elsewhere reports whether another process has the session.
	Elsewhere(ctx context.Context, s SessionName) (bool, error)
	// Close ends an epoch. One that is over already is no error.
	Close(ctx context.Context, epoch int64) error
}

// SessionName names a session: another caller's id names another one.
type SessionName struct{ Caller, Site, ID string }

// ErrElsewhere refuses a session that another process has.
var ErrElsewhere = errors.New("another process has the session")

// Ended keeps the ids that clients ended although they are still good, so that no process of the
// data folder takes them. At most 1,000 of a caller, and 10,000 in all: the oldest go first.
type Ended interface {
	// End notes that an id of a caller is not good any more. It is forgotten at until.
	End(ctx context.Context, caller, id string, until time.Time) error
	// HasEnded reports whether any process ended the id before.
	HasEnded(ctx context.Context, id string) (bool, error)
	// Changes returns another number than before when a process has ended an id since. It reads no
	// database.
	Changes() int64
}

// Replies keeps what a call with an Idempotency-Key answered, for 24 hours
// (webtools reference, A19).
type Replies interface {
	// Begin claims the key for one run of the call, or says why not. Of any
	// number of concurrent calls, in any number of processes, one gets the
	// claim. A claim is on the disk when it returns. ErrTooManyKeys refuses a
	// caller that has used too many.
	Begin(ctx context.Context, caller, key, bodyDigest string) (ReplyState, error)
	// Begun notes that the call of a claim is about to be dispatched, where the audit does not tell
	// whoever finds the claim. It may be asked again. After an error the call must not run.
	Begun(ctx context.Context, claim string) error
	// Finish ends a claim with the reply to repeat. ErrClaimLost means that it
	// is not open.
	Finish(ctx context.Context, claim string, reply []byte) error
	// Abandon ends a claim of a call of which nothing ran: the key is free
	// again. ErrClaimLost as for Finish.
	Abandon(ctx context.Context, claim string) error
}

// ErrStoreClosed is of every store that was closed, because the process ends.
var ErrStoreClosed = errors.New("the store is closed")

// What Replies refuses.
var (
	ErrClaimLost   = errors.New("the claim is not open")
	ErrTooManyKeys = errors.New("too many idempotency keys in use")
)

// ReplyStatus says what a key is.
type ReplyStatus string

// The states of a key.
const (
	// ReplyClaimed: the key is ours; run the call, then Finish or Abandon.
	ReplyClaimed ReplyStatus = "claimed"
	// ReplyInFlight: the first call still runs, in this process or another one.
	ReplyInFlight ReplyStatus = "in_flight"
	// ReplyFinished: the call is over, and Reply holds its reply.
	ReplyFinished ReplyStatus = "finished"
	// ReplyUnknown: the call began, and its reply is lost: its process was
	// killed, or the reply was too large to keep. It must not run again. When it is
	// known that a killed process had not begun the call, the key is free.
	ReplyUnknown ReplyStatus = "unknown"
	// ReplyNodeLost is ReplyUnknown of a call whose node of a cluster has ended.
	ReplyNodeLost ReplyStatus = "node_lost"
	// ReplyOtherBody: the key was used with a different body.
	ReplyOtherBody ReplyStatus = "other_body"
)

// ReplyState is the answer of Replies.Begin.
type ReplyState struct {
	Status ReplyStatus
	// Claim is the token of the claim: ours when ReplyClaimed, that of the first
	// call otherwise.
	Claim string
	// Reply is set when ReplyFinished.
	Reply []byte
}

// Audit keeps a record of every call that nobody can change unseen. The
// records of each process are a chain.
type Audit interface {
	// Intent notes that a call is about to be dispatched, or that it was
	// refused before. With r.Wait it returns when the record cannot be lost by
	// the death of this process; an error then means that it is not written, and
	// the call must not run. Without, it returns at once, and the record follows
	// within 10 ms, or when it can be written.
	// The ticket goes to Outcome. It counts in this process, from 1.
	Intent(ctx context.Context, r AuditRecord) (ticket int64, err error)
	// Outcome notes how the call ended. Wait as for Intent.
	Outcome(ctx context.Context, ticket int64, r AuditRecord) error
	// Healthy is nil, or why the last write failed. It stays until a write
	// succeeds. It does no I/O and takes no lock.
	Healthy() error
}

// AuditRecord is an intent or an outcome. It holds digests and sizes, never
// payloads: what a caller or a page wrote, besides names, is not in it. Text is
// cut at 512 bytes.
type AuditRecord struct {
	// Wait asks for the record to be safe before the call goes on. It is on the
	// disk some 5 ms later, which nobody waits for. Wait is not part of the
	// record.
	Wait bool `json:"-"`
	// Call is the call's own id and Trace its trace id, both as in the log.
	Call  string `json:"call,omitempty"`
	Trace string `json:"trace,omitempty"`
	// Claim is the claim of its idempotency key, if it has one: it tells whether
	// the call of a process that was killed had begun.
	Claim string `json:"claim,omitempty"`
	// Caller, Session, Site and Tool are as in Call. Origin and Frame describe the document that
	// offers the tool.
	Caller  string `json:"caller,omitempty"`
	Session string `json:"session,omitempty"`
	Site    string `json:"site,omitempty"`
	Origin  string `json:"origin,omitempty"`
	Frame   string `json:"frame,omitempty"`
	Tool    string `json:"tool,omitempty"`
	// Adapter is name, version and SHA-256 of the operator's script that added the tool to its
	// page.
	Adapter string `json:"adapter,omitempty"`
	// Credential is the caller's, as in Caller.
	Credential string `json:"credential,omitempty"`
	// Client and CredentialID are the caller's, too.
	Client       string `json:"client,omitempty"`
	CredentialID string `json:"credentialId,omitempty"`
	// Page says what config changed about the page, without the secrets in it, and
	// PageDigest is the digest of that description.
	Page       string `json:"page,omitempty"`
	PageDigest string `json:"pageDigest,omitempty"`
	// Definition and Arguments are digests; ArgumentBytes is a size.
	Definition    string `json:"definition,omitempty"`
	Arguments     string `json:"arguments,omitempty"`
	ArgumentBytes int64  `json:"argumentBytes,omitempty"`
	// Requested is the digest of the arguments that the caller sent, where the approver changed them:
	// Arguments then has those with which the call ran.
	Requested string `json:"requested,omitempty"`
	// Decision is the policy's decision, and Rule its reason.
	Decision string `json:"decision,omitempty"`
	Rule     string `json:"rule,omitempty"`
	// Approval is the grant or question that the call ran under, and Approver
	// the person.
	Approval string `json:"approval,omitempty"`
	Approver string `json:"approver,omitempty"`
	// Persons names everybody who answered a question of the call or acted in its page, in the order
	// in which they did first, with ", " between: "agent via card, ada". It ends in "and others" where
	// not all fit. It is empty in an intent.
	Persons string `json:"persons,omitempty"`
	// Outcome is "ok" or an Outcome, Code and Reason those of the error, Result
	// the digest of the result. They are empty in an intent.
	Outcome     string `json:"outcome,omitempty"`
	Code        string `json:"code,omitempty"`
	Reason      string `json:"reason,omitempty"`
	Result      string `json:"result,omitempty"`
	ResultBytes int64  `json:"resultBytes,omitempty"`
}

// Calls keeps the log of calls that a console shows: the newest 100,000 of the
// last 30 days.
type Calls interface {
	// Log adds a call. It returns at once, and the record follows within 10 ms;
	// it waits only while too many records are unwritten.
	Log(ctx context.Context, r CallRecord) error
	// Calls lists calls, newest first.
	Calls(ctx context.Context, f CallFilter) ([]CallRecord, error)
}

// CallRecord is one call in the log. It holds no payloads.
type CallRecord struct {
	// ID counts upwards. Log ignores it.
	ID   int64
	Time time.Time
	// Took says how long the call took, the waiting for a person included.
	Took time.Duration
	// Waited says how much of it the call waited for persons.
	Waited time.Duration
	// Call is the call's own id and Trace its trace id.
	Call, Trace                 string
	Site, Tool, Caller, Session string
	Version, Decision           string
	// Outcome is "ok" or an Outcome, Code and Reason those of the error.
	Outcome, Code, Reason      string
	ArgumentBytes, ResultBytes int64
}

// CallFilter selects calls. Empty fields select all.
type CallFilter struct {
	Site, Tool, Caller, Outcome string
	// Before selects calls with a lower ID, for the next page. Zero means the
	// newest.
	Before int64
	// Limit bounds the list. Zero means 100; the most is 1,000.
	Limit int
}

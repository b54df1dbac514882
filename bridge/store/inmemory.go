package store

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// Memory gives a store that ends with the process. It keeps at most 10,000
// audit records; the others are counted as good when they go.
func Memory(o Options) *Store {
	o = o.withDefaults()
	audit := &memoryAudit{now: o.Now, began: o.Now(), owner: newID()}
	return &Store{
		Memory: bridge.Memory{
			Versions:   &memoryVersions{histories: map[string][]bridge.VersionRecord{}},
			Grants:     &memoryGrants{now: o.Now},
			KnownTools: &memoryKnown{sites: map[string]map[string]bridge.KnownTool{}},
			Replies:    &memoryReplies{o: o, byKey: map[[2]string]*memoryReply{}, byClaim: map[string]*memoryReply{}, keys: map[string]int{}},
			Audit:      audit,
			Calls:      &memoryCalls{o: o},
		},
		verify: audit.verify,
		flush:  func(context.Context) error { return audit.Healthy() },
		close:  audit.close,
	}
}

type memoryVersions struct {
	mu        sync.Mutex
	histories map[string][]bridge.VersionRecord
}

var _ bridge.Versions = (*memoryVersions)(nil)

// Load implements bridge.Versions.
func (m *memoryVersions) Load(_ context.Context, webtool string) ([]bridge.VersionRecord, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	history := slices.Clone(m.histories[webtool])
	for i := range history {
		history[i].Document = slices.Clone(history[i].Document)
	}
	return history, nil
}

// Append implements bridge.Versions.
func (m *memoryVersions) Append(_ context.Context, webtool string, r bridge.VersionRecord) error {
	if err := checkVersion(webtool, r); err != nil {
		return err
	}
	r.Document = slices.Clone(r.Document)
	r.FirstSeen, r.LastSeen = fromNano(toNano(r.FirstSeen)), fromNano(toNano(r.LastSeen))
	m.mu.Lock()
	defer m.mu.Unlock()
	history := m.histories[webtool]
	for i, there := range history {
		if there.Version != r.Version && there.Digest != r.Digest {
			continue
		}
		if !sameVersion(there, r) {
			return bridge.ErrVersionConflict
		}
		history[i].LastSeen = later(there.LastSeen, r.LastSeen)
		return nil
	}
	history = append(history, r)
	m.histories[webtool] = history[max(0, len(history)-maxVersions):]
	return nil
}

// Seen implements bridge.Versions.
func (m *memoryVersions) Seen(_ context.Context, webtool, version string, at time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, there := range m.histories[webtool] {
		if there.Version == version {
			m.histories[webtool][i].LastSeen = later(there.LastSeen, fromNano(toNano(at)))
		}
	}
	return nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

type memoryGrants struct {
	now func() time.Time
	mu  sync.Mutex
	all []bridge.Grant // oldest first
}

var _ bridge.Grants = (*memoryGrants)(nil)

// Put implements bridge.Grants.
func (m *memoryGrants) Put(_ context.Context, g bridge.Grant) (bridge.Grant, error) {
	g, err := newGrant(g)
	if err != nil {
		return bridge.Grant{}, err
	}
	now := m.now()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all = append(slices.DeleteFunc(m.all, func(g bridge.Grant) bool { return expired(g, now) }), g)
	return g, nil
}

// All implements bridge.Grants.
func (m *memoryGrants) All(context.Context) ([]bridge.Grant, error) {
	now := m.now()
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(m.all), func(g bridge.Grant) bool { return expired(g, now) }), nil
}

// Find implements bridge.Grants.
func (m *memoryGrants) Find(_ context.Context, u bridge.GrantUse) (bridge.Grant, bool, error) {
	now := m.now()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, g := range slices.Backward(m.all) {
		if g.Caller == u.Caller && g.Site == u.Site && g.Tool == u.Tool && g.Digest == u.Digest &&
			(g.Arguments == "" || g.Arguments == u.Arguments) && !expired(g, now) {
			return g, true, nil
		}
	}
	return bridge.Grant{}, false, nil
}

// Revoke implements bridge.Grants.
func (m *memoryGrants) Revoke(_ context.Context, id string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := len(m.all)
	m.all = slices.DeleteFunc(m.all, func(g bridge.Grant) bool { return g.ID == id })
	return len(m.all) < before, nil
}

func expired(g bridge.Grant, now time.Time) bool {
	return !g.ExpiresAt.IsZero() && !g.ExpiresAt.After(now)
}

type memoryKnown struct {
	mu    sync.Mutex
	sites map[string]map[string]bridge.KnownTool
}

var _ bridge.KnownTools = (*memoryKnown)(nil)

// Known implements bridge.KnownTools.
func (m *memoryKnown) Known(_ context.Context, site string) ([]bridge.KnownTool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return sortedTools(m.sites[site], func(a, b bridge.KnownTool) int { return strings.Compare(a.Tool, b.Tool) }), nil
}

// SetKnown implements bridge.KnownTools.
func (m *memoryKnown) SetKnown(_ context.Context, site string, tools []bridge.KnownTool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.sites[site]
	if known == nil {
		known = map[string]bridge.KnownTool{}
		m.sites[site] = known
	}
	for _, k := range tools {
		k.SeenAt = fromNano(toNano(k.SeenAt))
		known[k.Tool] = k
	}
	if len(known) <= maxKnown {
		return nil
	}
	newest := sortedTools(known, func(a, b bridge.KnownTool) int {
		return cmp.Or(b.SeenAt.Compare(a.SeenAt), strings.Compare(a.Tool, b.Tool))
	})
	for _, k := range newest[maxKnown:] {
		delete(known, k.Tool)
	}
	return nil
}

func sortedTools(known map[string]bridge.KnownTool, order func(a, b bridge.KnownTool) int) []bridge.KnownTool {
	var tools []bridge.KnownTool
	for _, k := range known {
		tools = append(tools, k)
	}
	slices.SortFunc(tools, order)
	return tools
}

type memoryCalls struct {
	o     Options
	mu    sync.Mutex
	last  int64
	calls []bridge.CallRecord // oldest first
}

var _ bridge.Calls = (*memoryCalls)(nil)

// Log implements bridge.Calls.
func (m *memoryCalls) Log(_ context.Context, r bridge.CallRecord) error {
	r = cleanCall(r)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last++
	r.ID = m.last
	m.calls = append(m.calls, r)
	// A quarter more than is kept, so that few calls pay for the copy.
	if len(m.calls) > m.o.MaxCalls+m.o.MaxCalls/4 {
		m.calls = slices.Clone(m.calls[len(m.calls)-m.o.MaxCalls:])
	}
	return nil
}

// Calls implements bridge.Calls.
func (m *memoryCalls) Calls(_ context.Context, f bridge.CallFilter) ([]bridge.CallRecord, error) {
	oldest, limit := m.o.Now().Add(-m.o.CallAge), pageSize(f)
	m.mu.Lock()
	defer m.mu.Unlock()
	var calls []bridge.CallRecord
	for _, r := range slices.Backward(m.calls) {
		if len(calls) == limit || r.ID <= m.last-int64(m.o.MaxCalls) {
			break
		}
		if selects(f, r) && !r.Time.Before(oldest) {
			calls = append(calls, r)
		}
	}
	return calls, nil
}

func selects(f bridge.CallFilter, r bridge.CallRecord) bool {
	is := func(want, got string) bool { return want == "" || want == got }
	return is(f.Site, r.Site) && is(f.Tool, r.Tool) && is(f.Caller, r.Caller) && is(f.Outcome, r.Outcome) &&
		(f.Before <= 0 || r.ID < f.Before)
}

// maxMemoryAudit is how many records are kept without a disk.
const maxMemoryAudit = 10_000

type memoryAudit struct {
	now   func() time.Time
	began time.Time
	owner string

	mu      sync.Mutex
	base    chain // of the records that went
	end     chain
	records []sealed
	tickets int64
	closed  bool
}

type sealed struct {
	record []byte
	hash   [32]byte
}

var _ bridge.Audit = (*memoryAudit)(nil)

// Intent implements bridge.Audit.
func (m *memoryAudit) Intent(_ context.Context, r bridge.AuditRecord) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tickets++
	return m.tickets, m.add(&entry{kind: kindIntent, ticket: m.tickets, at: m.now(), record: r})
}

// Outcome implements bridge.Audit.
func (m *memoryAudit) Outcome(_ context.Context, ticket int64, r bridge.AuditRecord) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.add(&entry{kind: kindOutcome, ticket: ticket, at: m.now(), record: r})
}

// Healthy implements bridge.Audit. Memory does not fail.
func (m *memoryAudit) Healthy() error { return nil }

// add is called with m.mu held.
func (m *memoryAudit) add(e *entry) error {
	if m.closed {
		return ErrClosed
	}
	record := m.end.seal(e.row(m.owner, m.began))
	m.records = append(m.records, sealed{record, m.end.hash})
	if over := len(m.records) - maxMemoryAudit; over > maxMemoryAudit/4 {
		m.base = chain{seq: m.base.seq + int64(over), hash: m.records[over-1].hash}
		m.records = slices.Clone(m.records[over:])
	}
	return nil
}

func (m *memoryAudit) verify(context.Context) (Report, error) {
	m.mu.Lock()
	base, records := m.base, slices.Clone(m.records)
	m.mu.Unlock()
	w := newWalker(nil)
	w.end, w.report.Records = base, base.seq
	for i, r := range records {
		if !w.row(base.seq+1+int64(i), r.record, r.hash[:]) {
			break
		}
	}
	return w.finish(), nil
}

func (m *memoryAudit) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	m.closed = true
	return nil
}

type memoryReply struct {
	caller, key, body string
	claimed           time.Time
	size              int64
	state             bridge.ReplyState
}

type memoryReplies struct {
	o Options

	mu      sync.Mutex
	byKey   map[[2]string]*memoryReply
	byClaim map[string]*memoryReply
	order   []*memoryReply // oldest first
	keys    map[string]int // of each caller
	kept    int64
}

var _ bridge.Replies = (*memoryReplies)(nil)

// Begin implements bridge.Replies.
func (m *memoryReplies) Begin(_ context.Context, caller, key, bodyDigest string) (bridge.ReplyState, error) {
	now := m.o.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.expire(now.Add(-m.o.ReplyAge))
	r := m.byKey[[2]string{caller, key}]
	switch {
	case r == nil && m.keys[caller] >= m.o.MaxKeys:
		return bridge.ReplyState{}, bridge.ErrTooManyKeys
	case r == nil:
		r = &memoryReply{caller: caller, key: key, body: bodyDigest, claimed: now, state: bridge.ReplyState{Status: bridge.ReplyInFlight, Claim: newID()}}
		m.byKey[[2]string{caller, key}], m.byClaim[r.state.Claim] = r, r
		m.order = append(m.order, r)
		m.keys[caller]++
		return bridge.ReplyState{Status: bridge.ReplyClaimed, Claim: r.state.Claim}, nil
	case r.body != bodyDigest:
		return bridge.ReplyState{Status: bridge.ReplyOtherBody, Claim: r.state.Claim}, nil
	}
	return r.state, nil
}

// Finish implements bridge.Replies.
func (m *memoryReplies) Finish(_ context.Context, claim string, reply bridge.Reply) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.byClaim[claim]
	if r == nil || r.state.Status != bridge.ReplyInFlight {
		return bridge.ErrClaimLost
	}
	size := replySize(reply)
	if size > m.o.MaxReplyBytes {
		r.state.Status = bridge.ReplyUnknown
		return nil
	}
	r.state.Status, r.state.Reply, r.size = bridge.ReplyFinished, cloneReply(reply), size
	m.kept += size
	for _, old := range m.order {
		if m.kept <= m.o.MaxReplyBytes {
			break
		}
		if old.size > 0 {
			m.kept -= old.size
			old.size, old.state.Reply, old.state.Status = 0, bridge.Reply{}, bridge.ReplyUnknown
		}
	}
	return nil
}

// Abandon implements bridge.Replies.
func (m *memoryReplies) Abandon(_ context.Context, claim string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.byClaim[claim]
	if r == nil || r.state.Status != bridge.ReplyInFlight {
		return bridge.ErrClaimLost
	}
	m.forget(r)
	m.order = slices.DeleteFunc(m.order, func(o *memoryReply) bool { return o == r })
	return nil
}

func (m *memoryReplies) expire(before time.Time) {
	n := 0
	for n < len(m.order) && !m.order[n].claimed.After(before) {
		m.forget(m.order[n])
		n++
	}
	m.order = m.order[n:]
}

func (m *memoryReplies) forget(r *memoryReply) {
	delete(m.byKey, [2]string{r.caller, r.key})
	delete(m.byClaim, r.state.Claim)
	m.kept -= r.size
	if m.keys[r.caller]--; m.keys[r.caller] == 0 {
		delete(m.keys, r.caller)
	}
}

// cloneReply keeps what the caller does with its reply from changing ours.
func cloneReply(r bridge.Reply) bridge.Reply {
	r.Body = slices.Clone(r.Body)
	header := make(map[string][]string, len(r.Header))
	for name, values := range r.Header {
		header[name] = slices.Clone(values)
	}
	r.Header = header
	return r
}

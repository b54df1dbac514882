package console

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
)

// What a process remembers of calls. The oldest make room.
const (
	maxRecords     = 10_000
	maxRecordBytes = 8 << 20
	recordBytes    = 400 // of a record besides its words, about
	maxWord        = 128 // bytes of a name that its caller made up
	// gatherFor sets how late a change is remembered: a short call costs one event then.
	gatherFor = 20 * time.Millisecond
)

// callJSON is a call and how far it is.
type callJSON struct {
	Node    string       `json:"node"`
	Call    string       `json:"call"`
	Site    string       `json:"site"`
	Tool    string       `json:"tool"`
	Caller  string       `json:"caller"`
	Session string       `json:"session"`
	Stage   bridge.Stage `json:"stage"`
	// Status is running, ok, refused (by a person, a rule or a limit) or error.
	Status   string    `json:"status"`
	Began    time.Time `json:"began"`
	At       time.Time `json:"at"`
	Question string    `json:"question,omitempty"` // the id of the one that is open
	Outcome  string    `json:"outcome,omitempty"`
	Code     string    `json:"code,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	// Replays is the id of an older call that a person made anew by this one.
	Replays string `json:"replays,omitempty"`

	factsJSON
}

// factsJSON tells how a call came to where it is; see bridge.Facts. Waited is in milliseconds.
type factsJSON struct {
	Asked         time.Time `json:"asked,omitzero"`
	Answered      time.Time `json:"answered,omitzero"`
	Ran           time.Time `json:"ran,omitzero"`
	Delivered     time.Time `json:"delivered,omitzero"`
	Waited        int64     `json:"waited,omitempty"`
	Decision      string    `json:"decision,omitempty"`
	Layer         string    `json:"layer,omitempty"`
	Rule          string    `json:"rule,omitempty"`
	Approval      string    `json:"approval,omitempty"`
	Approver      string    `json:"approver,omitempty"`
	Version       string    `json:"version,omitempty"`
	Trace         string    `json:"trace,omitempty"`
	ArgumentBytes int64     `json:"argumentBytes"`
	ResultBytes   int64     `json:"resultBytes"`
}

func callOf(node string, s *bridge.RunState) callJSON {
	c := callJSON{Node: node, Call: s.Call, Site: text.Brief(s.Site, maxWord), Tool: text.Brief(s.Tool, maxWord), Caller: text.Brief(s.Caller, maxWord),
		Session: text.Brief(s.Session, maxWord), Stage: s.Stage, Began: s.Began, At: s.At, Outcome: s.Outcome, Code: s.Code, Reason: s.Reason,
		factsJSON: factsJSON{Asked: s.Asked, Answered: s.Answered, Ran: s.Ran, Delivered: s.Delivered, Waited: s.Waited.Milliseconds(), Decision: s.Decision, Layer: s.Layer,
			Rule: text.Brief(s.Rule, 2*maxWord), Approval: s.Approval, Approver: text.Brief(s.Approver, maxWord), Version: text.Brief(s.Version, maxWord),
			Trace: s.Trace, ArgumentBytes: s.ArgumentBytes, ResultBytes: s.ResultBytes}}
	if s.Question != nil {
		c.Question = s.Question.ID
	}
	c.Status = statusOf(c.Outcome, c.Code)
	return c
}

// The statuses of a call.
const (
	statusRunning = "running"
	statusOK      = "ok"
	statusRefused = "refused"
	statusError   = "error"
)

var statuses = []string{statusRunning, statusOK, statusRefused, statusError}

func statusOf(outcome, code string) string {
	switch outcome {
	case "":
		return statusRunning
	case statusOK:
		return statusOK
	}
	switch bridge.Code(code) {
	case bridge.ApprovalDenied, bridge.ApprovalRequired, bridge.Forbidden, bridge.Unauthorized, bridge.RateLimit:
		return statusRefused
	default:
		return statusError
	}
}

// took says how long a call took, or takes until now.
func (c *callJSON) took(now time.Time) time.Duration {
	if c.Status != statusRunning {
		now = c.At
	}
	return now.Sub(c.Began)
}

func (c *callJSON) bytes() int {
	return recordBytes + len(c.Call) + len(c.Site) + len(c.Tool) + len(c.Caller) + len(c.Session) + len(c.Rule) + len(c.Approver) + len(c.Version) + len(c.Trace)
}

// Records remember the newest calls of a process without arguments and results, and with these what people
// made on the page. The zero value remembers only the latter. They are safe for concurrent use.
type Records struct {
	runs   runs
	others runs // calls that were made elsewhere

	mu   sync.Mutex
	all  []*callJSON // by compareAge, the oldest first; what they point to does not change
	byID map[string]*callJSON
	sum  int // of bytes
	// ids has the calls of a tool by a caller, as they came, and since the time from which all are remembered.
	ids   map[calledTool][]string
	since time.Time

	stats stats
}

// Observe keeps the arguments and the result of a call, for bridge.Options.Observe. Arguments that a
// schema marks as secret are left out. What people made on the page is kept anyway, apart, so that no
// other call takes its room.
func (rs *Records) Observe(o bridge.Observed) {
	if o.Question != nil {
		return
	}
	if input, known := o.Shown(); known {
		if _, made := rs.runs.find(o.Call.ID); !made {
			end := o.End
			rs.others.keep(&madeCall{caller: o.Call.Caller.Name, input: input.Text(), end: &end,
				call: callJSON{Call: o.Call.ID, Site: o.Call.Site}})
		}
	}
}

// Gather remembers the calls of a bridge from now on, until ctx ends. node names this process.
func (rs *Records) Gather(ctx context.Context, b *bridge.Bridge, node string) {
	rs.mu.Lock()
	rs.since = time.Now()
	rs.stats.known = func(site string) bool {
		return slices.ContainsFunc(b.Sites(everyone), func(s bridge.Site) bool { return s.Name == site })
	}
	rs.mu.Unlock()
	events := b.Watch(ctx, bridge.Interest{Caller: everyone, Calls: true, Every: gatherFor})
	go rs.gather(node, events) // ends with ctx
}

func (rs *Records) gather(node string, events <-chan bridge.Event) {
	for ev := range events {
		open := make(map[string]bool, len(ev.Runs))
		for i := range ev.Runs {
			open[ev.Runs[i].Call] = true
			c := callOf(node, &ev.Runs[i])
			rs.take(&c)
		}
		if ev.Kind == bridge.Snapshot {
			rs.miss(open)
		}
	}
}

// compareAge orders calls by their age; their nodes and ids tell those of one moment apart.
func compareAge(a, b *callJSON) int {
	return cmp.Or(a.Began.Compare(b.Began), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Call, b.Call))
}

// take remembers what a call is now.
func (rs *Records) take(c *callJSON) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.byID == nil {
		rs.byID, rs.ids = map[string]*callJSON{}, map[calledTool][]string{}
	}
	was := rs.byID[c.Call]
	rs.stats.count(was, c)
	if was == nil || toolOf(was) != toolOf(c) {
		rs.unlist(was)
		rs.ids[toolOf(c)] = append(rs.ids[toolOf(c)], c.Call)
	}
	rs.byID[c.Call] = c
	at, known := slices.BinarySearchFunc(rs.all, c, compareAge)
	rs.sum += c.bytes()
	if known {
		rs.sum -= rs.all[at].bytes()
		rs.all[at] = c
		return
	}
	rs.all = slices.Insert(rs.all, at, c)
	for len(rs.all) > maxRecords || rs.sum > maxRecordBytes {
		oldest := rs.all[0]
		rs.sum -= oldest.bytes()
		rs.stats.count(oldest, nil)
		rs.unlist(oldest)
		rs.since = oldest.Began
		delete(rs.byID, oldest.Call)
		rs.all[0], rs.all = nil, rs.all[1:]
	}
}

// calledTool names a tool as one caller calls it.
type calledTool struct{ site, tool, caller string }

func toolOf(c *callJSON) calledTool { return calledTool{c.Site, c.Tool, c.Caller} }

// unlist forgets that a call was one of its tool.
func (rs *Records) unlist(c *callJSON) {
	if c == nil {
		return
	}
	of := toolOf(c)
	ids := rs.ids[of]
	switch at := slices.Index(ids, c.Call); {
	case at == 0:
		ids = ids[1:]
	case at > 0:
		ids = slices.Delete(ids, at, at+1)
	}
	if rs.ids[of] = ids; len(ids) == 0 {
		delete(rs.ids, of)
	}
}

// firstSince says since when no earlier call of the tool by the caller is known; zero where there was one.
func (rs *Records) firstSince(s *bridge.RunState) time.Time {
	c := callOf("", s)
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if ids := rs.ids[toolOf(&c)]; len(ids) > 0 && ids[0] != c.Call {
		return time.Time{}
	}
	return rs.since
}

// miss ends the calls that are not open any more and whose end nobody saw: so much happened at once.
func (rs *Records) miss(open map[string]bool) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for i, c := range rs.all {
		if c.Status == statusRunning && !open[c.Call] {
			ended := *c
			ended.Stage, ended.Outcome, ended.Question, ended.At = bridge.StageEnded, string(bridge.Unknown), "", time.Now()
			ended.Status = statusOf(ended.Outcome, "")
			rs.stats.count(c, &ended)
			rs.all[i], rs.byID[c.Call] = &ended, &ended
		}
	}
}

// find returns a call that is remembered.
func (rs *Records) find(id string) (callJSON, bool) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	c := rs.byID[id]
	if c == nil {
		return callJSON{}, false
	}
	return *c, true
}

// list returns at most so many calls that want wants, the newest first, from before a call on; nil is
// the newest of all. more says that there are others.
func (rs *Records) list(want func(*callJSON) bool, from *callJSON, most int) (all []callJSON, more bool) {
	rs.mu.Lock()
	now := slices.Clone(rs.all)
	rs.mu.Unlock()
	for _, c := range slices.Backward(now) {
		if from != nil && compareAge(c, from) >= 0 || !want(c) {
			continue
		}
		if len(all) == most {
			return all, true
		}
		all = append(all, *c)
	}
	return all, false
}

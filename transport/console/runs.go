package console

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/transport"
)

// What the page keeps of the calls that people made on it. Those that are over make room, the oldest
// first.
const (
	maxRuns     = 100
	maxRunBytes = 32 << 20
	maxKey      = 128 // bytes
)

// runs keeps the calls that people made on the page, with arguments and results, in memory only. It is
// safe for concurrent use.
type runs struct {
	mu  sync.Mutex
	all []*madeCall // oldest first
}

// madeCall is a call that a person made on the page. The lock of runs guards it.
type madeCall struct {
	caller, key string
	call        callJSON
	input       json.RawMessage
	token       string // names it in the bridge
	end         *bridge.Step
}

func (m *madeCall) bytes() int {
	n := len(m.input)
	if m.end != nil {
		n += len(m.end.Data)
	}
	return n
}

// begin notes a call, unless the same person made one with its key: that is known, then.
func (rs *runs) begin(m *madeCall) (known *madeCall, ok bool) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for _, x := range rs.all {
		if x.caller == m.caller && x.key == m.key {
			return x, true
		}
	}
	rs.all = append(rs.all, m)
	if !rs.makeRoom() {
		rs.all = rs.all[:len(rs.all)-1]
		return nil, false
	}
	return nil, true
}

// keep notes a call that is over.
func (rs *runs) keep(m *madeCall) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.all = append(rs.all, m)
	rs.makeRoom()
}

// makeRoom drops calls that are over until the rest is within the bounds.
func (rs *runs) makeRoom() bool {
	sum := 0
	for _, x := range rs.all {
		sum += x.bytes()
	}
	for len(rs.all) > maxRuns || sum > maxRunBytes {
		i := slices.IndexFunc(rs.all, func(x *madeCall) bool { return x.end != nil })
		if i < 0 {
			return false
		}
		sum -= rs.all[i].bytes()
		rs.all = slices.Delete(rs.all, i, i+1)
	}
	return true
}

// find returns a copy of a call.
func (rs *runs) find(id string) (madeCall, bool) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for _, x := range rs.all {
		if x.call.Call == id {
			return *x, true
		}
	}
	return madeCall{}, false
}

// replayed lists the calls that were made from another one.
func (rs *runs) replayed(id string) (all []string) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for _, x := range rs.all {
		if x.call.Replays == id {
			all = append(all, x.call.Call)
		}
	}
	return all
}

// note takes what the bridge says of a call.
func (rs *runs) note(m *madeCall, s *bridge.State) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	m.token, m.call.At = s.ID, s.Updated
	switch {
	case s.IsOver():
		m.end, m.call.Stage, m.call.Outcome = &s.End, bridge.StageEnded, statusOK
		if e := s.End.Err; e != nil {
			m.call.Outcome, m.call.Code, m.call.Reason = string(e.Outcome), string(e.Code), string(e.Reason)
		}
		m.call.Question, m.call.Status = "", statusOf(m.call.Outcome, m.call.Code)
		rs.makeRoom()
	case s.Question != nil:
		m.call.Stage, m.call.Question = bridge.StageAsked, s.Question.ID
	default:
		m.call.Stage, m.call.Question = bridge.StageRuns, ""
	}
}

// runJSON is a call with its arguments and what it came to, where Kept is true.
type runJSON struct {
	callJSON

	// Recorded is true when its page was recorded.
	Recorded bool `json:"recorded"`
	// Replayed are the ids of calls that were made from this one.
	Replayed []string `json:"replayed,omitempty"`

	Kept   bool                 `json:"kept"`
	Input  json.RawMessage      `json:"input"`
	Result json.RawMessage      `json:"result"` // null before its end, and of one that failed
	Error  any                  `json:"error"`  // null where there is none
	Files  []transport.FileBody `json:"files,omitempty"`
}

// madeID names a call that was made.
type madeID struct {
	Call string `json:"call"`
}

// running serves a person who may see what operators see and run tools.
func (f *Face) running(serve operation) http.HandlerFunc {
	return f.viewing(func(w http.ResponseWriter, r *http.Request, c bridge.Caller) {
		if !may(w, r, c, bridge.MayCall) {
			return
		}
		c.Name = ownName(c)
		serve(w, r, c)
	})
}

// runningAt is running on the process that ?node= names.
func (x callsFace) runningAt(serve operation) http.HandlerFunc {
	here := x.running(serve)
	at := x.atNode(func(w http.ResponseWriter, r *http.Request, _ bridge.Caller) { here(w, r) })
	return x.running(func(w http.ResponseWriter, r *http.Request, _ bridge.Caller) { at(w, r) })
}

// ownName names a caller who runs tools here: with own rates and sessions, never those of a program.
func ownName(c bridge.Caller) string {
	return callerPrefix + strings.TrimPrefix(c.Name, callerPrefix)
}

// run is POST /api/calls: a person runs a tool. What it comes to is told by the stream, and by madeCall.
func (x callsFace) run(w http.ResponseWriter, r *http.Request, c bridge.Caller) {
	f := x.Face
	in, m, err := readRun(r, c, f.node)
	if err != nil {
		transport.WriteError(w, r, bridge.AsError(err))
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	known, room := f.records.runs.begin(m)
	switch {
	case !room:
		transport.WriteError(w, r, bridge.Errorf(bridge.RateLimit, "", bridge.NotRun, "Too many calls of this page are not over."))
		return
	case known != nil:
		transport.WriteJSON(w, r, http.StatusAccepted, madeID{known.call.Call})
		return
	}
	_, s := f.b.Detach(context.WithoutCancel(r.Context()), in, 0)
	f.records.runs.note(m, &s)
	if !s.IsOver() {
		go followRun(x, c, m, s.ID) // ends with the call, or with the program
	}
	f.log.InfoContext(r.Context(), "call: run by hand", "call", in.ID, "site", in.Site, "tool", in.Tool, "by", c.Name)
	transport.WriteJSON(w, r, http.StatusAccepted, madeID{in.ID})
}

// followRun notes what becomes of a call until it is over.
func followRun(x callsFace, c bridge.Caller, m *madeCall, token string) {
	f := x.Face
	for {
		long, err := f.b.LongCall(c, token)
		if err != nil {
			f.records.runs.note(m, &bridge.State{ID: token, Status: bridge.Completed, Updated: time.Now(), End: bridge.AsError(err).Step()})
			return
		}
		s, changed := long.State()
		f.records.runs.note(m, &s)
		if s.IsOver() {
			return
		}
		select {
		case <-changed:
		case <-f.done:
			return
		}
	}
}

// readRun reads the call that a person makes, on this node.
func readRun(r *http.Request, c bridge.Caller, node string) (*bridge.Call, *madeCall, error) {
	body, err := readObject(r, "site", "tool", "input", "config", "session", "version", "key", "confirm", "record", "replays")
	if err != nil {
		return nil, nil, err
	}
	for _, name := range []string{"site", "tool", "key"} {
		if s := body.Get(name); !s.IsString() || s.String() == "" {
			return nil, nil, transport.Malformed(name + " is missing: a text.")
		}
	}
	for _, name := range []string{"session", "version", "replays"} {
		if s := body.Get(name); s.Exists() && !s.IsString() {
			return nil, nil, transport.Malformed(name + " must be a text.")
		}
	}
	if !body.Get("input").Exists() {
		return nil, nil, transport.Malformed("input is missing: the arguments, such as {}.")
	}
	key, replays := body.Get("key").String(), body.Get("replays").String()
	for name, text := range map[string]string{"key": key, "replays": replays} {
		if len(text) > maxKey {
			return nil, nil, transport.Malformed(name + " has more than " + strconv.Itoa(maxKey) + " bytes.")
		}
	}
	in := &bridge.Call{Site: body.Get("site").String(), Tool: body.Get("tool").String(), Session: body.Get("session").String(),
		Version: body.Get("version").String(), Caller: c, Input: body.Get("input"), TellsChanges: true}
	if config := body.Get("config"); config.Exists() {
		in.Config = config.Text()
	}
	if in.Session != "" && !transport.ValidSession(in.Session) {
		return nil, nil, transport.BadSession()
	}
	if in.ByHand, err = readConfirm(body.Get("confirm"), c); err == nil {
		in.Record, err = readRecord(body.Get("record"), c)
	}
	in.ID = cmp.Or(transport.RequestID(r.Context()), rand.Text())
	now := time.Now()
	return in, &madeCall{caller: c.Name, key: key, input: in.Input.Text(), call: callJSON{Node: node, Call: in.ID, Site: in.Site, Tool: in.Tool,
		Caller: c.Name, Session: in.Session, Replays: replays, Stage: bridge.StageQueued, Status: statusRunning, Began: now, At: now}}, err
}

// readRecord reads whether the page of the call is recorded: for who may see pages.
func readRecord(v bridge.Value, c bridge.Caller) (on bool, err error) {
	switch {
	case !v.Exists():
		return false, nil
	case v.IsNull() || json.Unmarshal(v.Text(), &on) != nil:
		return false, transport.Malformed("record must be true or false.")
	case on && !c.Can(bridge.MayAnswer):
		return false, bridge.Errorf(bridge.Forbidden, "", bridge.NotRun, "A page is recorded for people with the right answer.").Detail("right", string(bridge.MayAnswer))
	}
	return on, nil
}

// readConfirm reads what the person had on the screen. Only one who came by a link had one: an agent that
// holds a token that was configured gets a question, as everywhere.
func readConfirm(v bridge.Value, c bridge.Caller) (*bridge.ByHand, error) {
	if !v.Exists() || v.IsNull() {
		return nil, nil //nolint:nilnil // nothing was confirmed
	}
	if loginOf(c) == "" {
		return nil, bridge.Errorf(bridge.Forbidden, "", bridge.NotRun, "confirm counts from a person who logged in by a link only.")
	}
	saw := &bridge.ByHand{Definition: v.Get("definition").String(), Arguments: v.Get("arguments").String()}
	if err := saw.Level.UnmarshalText([]byte(v.Get("level").String())); err != nil {
		return nil, transport.Malformed("confirm.level: " + text.Short(err.Error(), 2*maxKey) + ".")
	}
	return saw, nil
}

// cancel is POST /api/calls/{id}/cancel: it ends a call that the person made, and does not wait for that.
func (x callsFace) cancel(w http.ResponseWriter, r *http.Request, c bridge.Caller) {
	f := x.Face
	m, made := f.records.runs.find(r.PathValue("id"))
	if !made || m.caller != c.Name {
		transport.WriteError(w, r, bridge.Errorf(bridge.WebtoolNotFound, "", bridge.NotRun, "You made no call with this id on this page, or it made room for others."))
		return
	}
	ended := false
	if m.end == nil {
		if long, err := f.b.LongCall(c, m.token); err == nil {
			ended = long.Cancel(c)
		}
	}
	write(w, r, struct {
		Cancelled bool `json:"cancelled"`
	}{ended})
}

package console

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport"
)

// Traces records the pages of this process, and writes what happened in them. It is safe for
// concurrent use.
type Traces interface {
	// Call returns the recording of a call's page, and Session that of a session's page, by its ID.
	Call(id string) (Recorded, bool)
	Session(id string) (Recorded, bool)
	// RecordSession records the page of a session for some time. The error is a *bridge.Error.
	RecordSession(ctx context.Context, s bridge.SessionState) error
	// StopSession ends that.
	StopSession(id string)
	// WriteTrace writes a call, with what was recorded of its page, as a trace for Playwright's viewer.
	WriteTrace(w io.Writer, c *TracedCall) error
}

// Recorded is a recording of a page.
type Recorded struct {
	Site string
	// Since says when it began, and Until when it ends, or ended.
	Since, Until time.Time
	Over         bool
	// Before and After are pictures of the page of a call, as PNG; nil is none.
	Before, After []byte
	// HAR returns the requests of the page as HAR 1.2.
	HAR func(ctx context.Context) ([]byte, error)
	// Did lists what the page of a call did; nil for a session.
	Did func() []PageEvent
}

// PageEvent is something that a page did during a call.
type PageEvent struct {
	At   time.Time
	Took time.Duration // zero where it has no length, or is under way
	// Kind is request, console, question or progress; Bad marks what failed.
	Kind string
	Bad  bool
	// Text is the page's own, without logins.
	Text string
}

// TracedCall is a call as operators see it.
type TracedCall struct {
	Call, Node, Site, Tool, Caller, Session, Version string
	// Status is running, ok, refused or error; Failure says why it failed.
	Status, Outcome, Code, Reason, Failure string
	Decision, Layer, Rule, Approver        string
	// Asked, Answered and Ran are zero where it did not come so far, and Ended is the newest time
	// that is known of one that runs.
	Began, Asked, Answered, Ran, Ended, Delivered time.Time
	// Kept is true when Input and Result, without secrets, were kept.
	Kept          bool
	Input, Result json.RawMessage
}

// tracesFace serves what is about recordings.
type tracesFace struct{ *Face }

func (f tracesFace) routes() []transport.Route {
	return []transport.Route{
		transport.Get("/api/calls/{id}/trace", f.ofCall(f.trace)),
		transport.Get("/api/calls/{id}/har", f.ofCall(f.har)),
		transport.Get("/api/calls/{id}/page", f.ofCall(f.did)),
		transport.Get("/api/calls/{id}/scenario", f.ofCall(callAsScenario(f.Face))),
		transport.Get("/api/calls/{id}/picture/{when}", f.ofCall(f.picture)),
		{Pattern: "/api/sessions/{id}/record", Methods: map[string]http.HandlerFunc{http.MethodPost: answeringAt(f.Face, f.record)}},
		transport.Get("/api/sessions/{id}/har", answeringAt(f.Face, f.sessionHAR)),
	}
}

// ofCall serves a call of any node to a person who may answer: pages show logins of people. The
// process that remembers the call serves it.
func (f tracesFace) ofCall(serve func(http.ResponseWriter, *http.Request, runJSON)) http.HandlerFunc {
	return f.operating(func(w http.ResponseWriter, r *http.Request, c bridge.Caller) {
		id := r.PathValue("id")
		call, found := callsFace(f).callHere(r, c, id)
		if found {
			serve(w, r, call)
			return
		}
		if f.mayLookElsewhere(c) {
			if holder := holderOf(r.Context(), f.peers(), id); holder != nil {
				passOn(holder, c).ServeHTTP(w, r)
				return
			}
		}
		noCall(w, r)
	})
}

func noCall(w http.ResponseWriter, r *http.Request) {
	transport.WriteError(w, r, bridge.Errorf(bridge.WebtoolNotFound, "", bridge.NotRun, "No call with this id is remembered: it made room for newer ones, or its process ended."))
}

// trace is GET /api/calls/{id}/trace.
func (f tracesFace) trace(w http.ResponseWriter, r *http.Request, call runJSON) {
	if f.traces == nil {
		unrecorded(w, r, "This process writes no traces.")
		return
	}
	var b bytes.Buffer
	if err := f.traces.WriteTrace(&b, tracedOf(&call)); err != nil {
		transport.WriteError(w, r, bridge.AsError(err))
		return
	}
	writeFile(w, r, "trace-"+fileWord(call.Call)+".zip", b.Bytes())
}

func tracedOf(c *runJSON) *TracedCall {
	t := &TracedCall{Call: c.Call, Node: c.Node, Site: c.Site, Tool: c.Tool, Caller: c.Caller, Session: c.Session, Version: c.Version,
		Status: c.Status, Outcome: c.Outcome, Code: c.Code, Reason: c.Reason, Decision: c.Decision, Layer: c.Layer, Rule: c.Rule, Approver: c.Approver,
		Began: c.Began, Asked: c.Asked, Answered: c.Answered, Ran: c.Ran, Ended: c.At, Delivered: c.Delivered, Kept: c.Kept, Input: c.Input, Result: c.Result}
	if e, is := c.Error.(transport.ErrorBody); is {
		t.Failure = e.Message
	}
	return t
}

// har is GET /api/calls/{id}/har.
func (f tracesFace) har(w http.ResponseWriter, r *http.Request, call runJSON) {
	rec, there := recordedCall(f.Face, call.Call)
	if !there {
		unrecorded(w, r, "The page of this call was not recorded.")
		return
	}
	writeHAR(w, r, rec, call.Call)
}

// eventJSON is something that a page did. Took is in milliseconds.
type eventJSON struct {
	At   time.Time `json:"at"`
	Took float64   `json:"took"`
	Kind string    `json:"kind"`
	Bad  bool      `json:"bad"`
	Text string    `json:"text"`
}

// did is GET /api/calls/{id}/page.
func (f tracesFace) did(w http.ResponseWriter, r *http.Request, call runJSON) {
	rec, there := recordedCall(f.Face, call.Call)
	if !there {
		unrecorded(w, r, "The page of this call was not recorded.")
		return
	}
	out := listJSON[eventJSON]{Items: []eventJSON{}}
	for _, e := range rec.Did() {
		out.Items = append(out.Items, eventJSON{e.At, float64(e.Took.Microseconds()) / 1000, e.Kind, e.Bad, e.Text})
	}
	write(w, r, out)
}

// picture is GET /api/calls/{id}/picture/before, or after.
func (f tracesFace) picture(w http.ResponseWriter, r *http.Request, call runJSON) {
	rec, _ := recordedCall(f.Face, call.Call)
	png := map[string][]byte{"before": rec.Before, "after": rec.After}[r.PathValue("when")]
	if png == nil {
		unrecorded(w, r, "There is no such picture of this call.")
		return
	}
	writePicture(w, r, png, nil)
}

// recordedCall returns the recording of a call's page.
func recordedCall(f *Face, call string) (Recorded, bool) {
	if f.traces == nil {
		return Recorded{}, false
	}
	return f.traces.Call(call)
}

func unrecorded(w http.ResponseWriter, r *http.Request, why string) {
	transport.WriteError(w, r, bridge.Errorf(bridge.WebtoolNotFound, "", bridge.NotRun, "%s", why))
}

// record is POST /api/sessions/{id}/record: it begins to record the page of a session, or ends that.
func (f tracesFace) record(w http.ResponseWriter, r *http.Request, c bridge.Caller) {
	in, err := readObject(r, "on")
	var on bool
	if err == nil && (in.Get("on").IsNull() || json.Unmarshal(in.Get("on").Text(), &on) != nil) {
		err = transport.Malformed("on must be true or false.")
	}
	if err != nil {
		transport.WriteError(w, r, bridge.AsError(err))
		return
	}
	all, id := bridge.OpenSessions(f.b, c), r.PathValue("id")
	i := slices.IndexFunc(all, func(s bridge.SessionState) bool { return s.ID == id })
	switch {
	case i < 0 || f.traces == nil:
		unrecorded(w, r, "This session is not there any more.")
		return
	case !on:
		f.traces.StopSession(id)
	default:
		if err := f.traces.RecordSession(context.WithoutCancel(r.Context()), all[i]); err != nil {
			transport.WriteError(w, r, bridge.AsError(err))
			return
		}
	}
	f.log.InfoContext(r.Context(), "session: recorded", "session", id, "by", c.Name, "on", on)
	write(w, r, struct {
		Recording *recordingJSON `json:"recording"`
	}{recordingOf(f.Face, id)})
}

// recordingJSON says since when a page is recorded, and until when.
type recordingJSON struct {
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
	Over  bool      `json:"over"`
}

// recordingOf returns the recording of a session's page; nil is none.
func recordingOf(f *Face, id string) *recordingJSON {
	if f.traces == nil {
		return nil
	}
	rec, there := f.traces.Session(id)
	if !there {
		return nil
	}
	return &recordingJSON{rec.Since, rec.Until, rec.Over}
}

// sessionHAR is GET /api/sessions/{id}/har, also of a session that is over.
func (f tracesFace) sessionHAR(w http.ResponseWriter, r *http.Request, c bridge.Caller) {
	id := r.PathValue("id")
	var rec Recorded
	there := false
	if f.traces != nil {
		rec, there = f.traces.Session(id)
	}
	if !there || !c.Sees(rec.Site) {
		unrecorded(w, r, "The page of this session was not recorded.")
		return
	}
	writeHAR(w, r, rec, id)
}

func writeHAR(w http.ResponseWriter, r *http.Request, rec Recorded, id string) {
	text, err := rec.HAR(r.Context())
	if err != nil {
		transport.WriteError(w, r, bridge.AsError(err))
		return
	}
	writeFile(w, r, fileWord(id)+".har", text)
}

// fileWord returns of an id, which its caller may have made up, what a name of a file may have.
func fileWord(id string) string {
	const most = 40
	word := strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == '-' {
			return c
		}
		return -1
	}, id)
	return cmp.Or(word[:min(len(word), most)], "call")
}

// writeFile writes bytes that no browser opens.
func writeFile(w http.ResponseWriter, r *http.Request, name string, data []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(data)))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(data)
	}
}

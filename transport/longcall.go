package transport

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/schema"
)

// What the faces share of calls that outlive their request (RFC 7240, respond-async).

// MaxWait bounds how long a request waits for a call, in seconds.
const MaxWait = 60

// preference holds the preferences of a request.
type preference struct {
	async bool
	wait  time.Duration
}

// preferred reads the header Prefer. What it does not know, or cannot read, it ignores; of a
// preference that is there twice, the first counts (RFC 7240, 2).
func preferred(h http.Header) (p preference) {
	waits := false
	for _, line := range h.Values("Prefer") {
		for one := range strings.SplitSeq(line, ",") {
			one, _, _ = strings.Cut(one, ";")
			name, value, _ := strings.Cut(one, "=")
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "respond-async":
				p.async = true
			case "wait":
				n, err := strconv.ParseUint(strings.Trim(strings.TrimSpace(value), `"`), 10, 32)
				if err == nil && !waits {
					waits, p.wait = true, time.Duration(min(n, MaxWait))*time.Second
				}
			}
		}
	}
	return p
}

// PrefersAsync reports whether a request may be answered before its call is over.
func PrefersAsync(h http.Header) bool { return preferred(h).async }

// Serve runs a call, and has its outcome written. A request that prefers respond-async is answered
// by 202 and the address of the call, when the call is not over in time.
func Serve(w http.ResponseWriter, r *http.Request, b *bridge.Bridge, c *bridge.Call, write func(bridge.Step)) {
	p := preferred(r.Header)
	if !p.async {
		run, end := b.Serve(r.Context(), c)
		Deliver(w, r, run, end.Err, func() { write(end) })
		return
	}
	run, s := b.Detach(r.Context(), c, p.wait)
	kept := s.ID != ""
	if kept {
		w.Header().Set("Location", "/calls/"+s.ID)
		w.Header().Set("Preference-Applied", "respond-async")
	}
	if kept && s.Status != bridge.Completed {
		w.Header().Set("Retry-After", "1")
		WriteAccepted(w, r, NewLongCall(&s))
		return
	}
	Deliver(w, r, run, s.End.Err, func() { write(s.End) })
}

// LongCall is a call as clients read it between requests.
type LongCall struct {
	ID        string           `json:"id"`
	Site      string           `json:"site"`
	Action    string           `json:"action"`
	State     bridge.Status    `json:"state"`
	CreatedAt time.Time        `json:"createdAt"`
	UpdatedAt time.Time        `json:"updatedAt"`
	ExpiresAt time.Time        `json:"expiresAt"`
	Progress  *progress        `json:"progress,omitempty"`
	Question  *bridge.Question `json:"question,omitempty"`
	// HTTPStatus and Reply repeat what the request of a completed call would have got.
	HTTPStatus int             `json:"httpStatus,omitempty"`
	Reply      json.RawMessage `json:"reply,omitempty"`
	// Error says of a cancelled call whether it ran.
	Error *ErrorBody `json:"error,omitempty"`
}

type progress struct {
	Parts int             `json:"parts"`
	Last  json.RawMessage `json:"last"`
}

// NewLongCall returns the public form of a call, without its reply.
func NewLongCall(s *bridge.State) LongCall {
	c := LongCall{ID: s.ID, Site: s.Site, Action: s.Tool, State: s.Status, Question: s.Question,
		CreatedAt: s.Created.UTC(), UpdatedAt: s.Updated.UTC(), ExpiresAt: s.Expires.UTC().Truncate(time.Second)}
	if p := s.Progress; p != nil {
		last, err := schema.WellFormed(p.Last)
		if err != nil || !json.Valid(last) {
			last = schema.MustEncode(p.Told().Message)
		}
		c.Progress = &progress{p.Parts, last}
	}
	if s.Status == bridge.CancelledCall {
		body := InRequest(NewErrorBody(s.End.Err), "")
		c.Error = &body
	}
	return c
}

// WriteAccepted answers 202: the call goes on.
func WriteAccepted(w http.ResponseWriter, r *http.Request, c LongCall) {
	w.Header().Set("Cache-Control", "no-store")
	WriteJSON(w, r, http.StatusAccepted, struct {
		Status string   `json:"status"`
		Call   LongCall `json:"call"`
	}{"accepted", c})
}

// Form writes the outcome of a call as the face does that has calls of this form: as a status and
// JSON text, with addresses as the request has them.
type Form func(r *http.Request, end bridge.Step) (status int, reply []byte)

// ErrorText returns what WriteError writes of the error of a call.
func ErrorText(e *bridge.Error) []byte {
	return schema.MustEncode(envelope{"error", InRequest(NewErrorBody(e), "")})
}

package console

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/transport"
)

// Audit reads the audit of all processes of a data folder. Its reports become JSON as they are.
type Audit struct {
	// Healthy returns nil, or why this process cannot write its records now. It must not wait.
	Healthy func() error
	// Verify reads the whole audit. tell gets now and then how many records were read, and of how many
	// about.
	Verify func(ctx context.Context, tell func(read, of int64)) (report any, err error)
	// Of returns the records of a call.
	Of func(ctx context.Context, call string) (records any, err error)
}

// The bounds of reading the audit.
const (
	verifyTime = 10 * time.Minute
	lookupTime = time.Minute
	maxCallID  = 128 // bytes
)

// auditing is the verification that runs, and the last one. It is safe for concurrent use.
type auditing struct {
	mu     sync.Mutex
	now    *runningJSON
	last   *verifiedJSON
	lookup sync.Mutex // one reads at a time
}

// auditJSON says how the audit is.
type auditJSON struct {
	Node string `json:"node"`
	// Kept is false where the process has no data folder.
	Kept bool `json:"kept"`
	// Writers says of each process whether it can write.
	Writers []writerJSON `json:"writers"`
	// Missing names the nodes that did not answer.
	Missing []missingNode `json:"missing,omitempty"`
	// Running is the verification that goes on now, and Last the one before, in this process; null is none.
	Running *runningJSON  `json:"running"`
	Last    *verifiedJSON `json:"last"`
}

// writerJSON says whether a process can write its records.
type writerJSON struct {
	Node    string `json:"node"`
	Healthy bool   `json:"healthy"`
}

// runningJSON tells how far a verification is. Of is about how many records there are.
type runningJSON struct {
	Since time.Time `json:"since"`
	By    string    `json:"by"`
	Read  int64     `json:"read"`
	Of    int64     `json:"of"`
}

// verifiedJSON holds what a verification found. Error says why it came to no report; "" where it did.
type verifiedJSON struct {
	At     time.Time `json:"at"`
	By     string    `json:"by"`
	Took   int64     `json:"took"` // milliseconds
	Report any       `json:"report"`
	Error  string    `json:"error,omitempty"`
}

// recordsJSON lists the records of a call.
type recordsJSON struct {
	Node  string `json:"node"`
	Items any    `json:"items"`
}

// auditFace serves what is about the audit.
type auditFace struct{ *Face }

func (f auditFace) routes() []transport.Route {
	return []transport.Route{
		transport.Get("/api/audit", f.viewing(ofAllSites(f.audited))),
		{Pattern: "/api/audit/verify", Methods: map[string]http.HandlerFunc{http.MethodPost: f.viewing(ofAllSites(f.verify))}},
	}
}

// audited is GET /api/audit: how the audit is, or with ?call= the records of that call.
func (f auditFace) audited(w http.ResponseWriter, r *http.Request, c bridge.Caller) {
	if r.URL.Query().Has("call") {
		f.lookUp(w, r)
		return
	}
	out := auditJSON{Node: f.node, Kept: f.audit != nil, Writers: []writerJSON{}}
	if f.audit != nil {
		out.Writers = append(out.Writers, writerJSON{f.node, f.audit.Healthy() == nil})
	}
	if f.mayLookElsewhere(c) {
		for _, node := range eachPeer(r.Context(), f.peers(), "/api/audit", func(_ string, resp *http.Response) {
			var theirs auditJSON
			if json.NewDecoder(resp.Body).Decode(&theirs) == nil {
				out.Writers = append(out.Writers, theirs.Writers...)
			}
		}) {
			out.Missing = append(out.Missing, missingNode{node})
		}
	}
	a := &f.auditing
	a.mu.Lock()
	if a.now != nil {
		now := *a.now
		out.Running = &now
	}
	out.Last = a.last
	a.mu.Unlock()
	write(w, r, out)
}

// lookUp finds the records of a call.
func (f auditFace) lookUp(w http.ResponseWriter, r *http.Request) {
	call := r.URL.Query().Get("call")
	switch {
	case call == "" || len(call) > maxCallID:
		transport.WriteError(w, r, bridge.AsError(transport.Malformed("call must be the id of a call.")))
		return
	case f.audit == nil:
		noAudit(w, r)
		return
	case !f.auditing.lookup.TryLock():
		e := bridge.Errorf(bridge.RateLimit, "", bridge.NotRun, "Another call is looked up now: try again in a moment.")
		e.Retry = time.Second
		transport.WriteError(w, r, e)
		return
	}
	defer f.auditing.lookup.Unlock()
	ctx, cancel := context.WithTimeout(r.Context(), lookupTime)
	defer cancel()
	records, err := f.audit.Of(ctx, call)
	if err != nil {
		transport.WriteError(w, r, bridge.Errorf(bridge.InternalError, bridge.Internal, bridge.NotRun, "The audit cannot be read now; the log of pagetools says why.").With(err))
		return
	}
	write(w, r, recordsJSON{f.node, records})
}

// verify is POST /api/audit/verify: it begins a verification, unless one runs, and returns at once. What
// it found is told by GET /api/audit.
func (f auditFace) verify(w http.ResponseWriter, r *http.Request, c bridge.Caller) {
	if f.audit == nil {
		noAudit(w, r)
		return
	}
	a := &f.auditing
	a.mu.Lock()
	begins := a.now == nil
	if begins {
		a.now = &runningJSON{Since: time.Now(), By: text.Brief(strings.TrimPrefix(c.Name, callerPrefix), maxName)}
	}
	now := *a.now
	a.mu.Unlock()
	if begins {
		f.log.InfoContext(r.Context(), "audit: verification begins", "by", c.Name)
		go f.verifyNow(now) // ends with the audit, verifyTime or the program
	}
	w.Header().Set("Cache-Control", "no-store")
	transport.WriteJSON(w, r, http.StatusAccepted, now)
}

func (f auditFace) verifyNow(begun runningJSON) {
	ctx, cancel := context.WithTimeout(context.Background(), verifyTime)
	defer cancel()
	over := make(chan struct{})
	defer close(over)
	go func() { // ends with verifyNow
		select {
		case <-f.done:
			cancel()
		case <-over:
		}
	}()
	a := &f.auditing
	report, err := f.audit.Verify(ctx, func(read, of int64) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.now.Read, a.now.Of = read, of
	})
	found := &verifiedJSON{At: time.Now(), By: begun.By, Took: time.Since(begun.Since).Milliseconds(), Report: report}
	if err != nil {
		found.Report, found.Error = nil, "The audit cannot be read now; the log of pagetools says why."
		f.log.Warn("audit: it was not verified", "error", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.now, a.last = nil, found
}

func noAudit(w http.ResponseWriter, r *http.Request) {
	transport.WriteError(w, r, bridge.Errorf(bridge.WebtoolNotFound, "", bridge.NotRun, "This process keeps no audit: it has no data folder."))
}

// gatherAudit tells when this process cannot write its records any more, and when it can again, until
// ctx ends.
func (h *hub) gatherAudit(ctx context.Context) {
	if h.face.audit == nil {
		return
	}
	tick := time.NewTicker(lookAtBrowsers)
	defer tick.Stop()
	for was := true; ; {
		if now := h.face.audit.Healthy() == nil; now != was {
			h.note(ctx, h.face.node, event{name: evAudit, data: mustJSON(writerJSON{h.face.node, now})}, "", "", nil)
			was = now
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

package life_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/pagetools/pagetools/e2e/suite"
)

// long is a caller that does not wait for its calls: it leaves the request, looks how they are,
// answers or cancels, and makes the request once more with the same key.
func (c *chaos) long(ctx context.Context, name string, d *rand.Rand) {
	running := context.WithoutCancel(ctx)
	for i := 0; pause(ctx, time.Duration(d.IntN(300))*time.Millisecond); i++ {
		x := call{caller: name, token: chaosToken(name), id: fmt.Sprintf("%s-%d", name, i), tool: chaosTools[d.IntN(len(chaosTools))], timeout: chaosCall}
		if x.tool == "never" || x.tool == "spin" {
			x.timeout = time.Duration(200+d.IntN(800)) * time.Millisecond
		}
		if d.IntN(3) == 0 {
			x.session = fmt.Sprint("l", d.IntN(2))
		}
		x.key = "key-" + x.id
		c.note(c.longCall(running, x, plan{leaves: d.IntN(4) == 0, cancels: d.IntN(4) == 0, yes: d.IntN(2) == 0, forgets: d.IntN(2) == 0,
			after: time.Duration(d.IntN(600)) * time.Millisecond}))
	}
}

// plan says what a caller does with a call.
type plan struct {
	leaves, cancels, yes, forgets bool
	after                         time.Duration
}

// longCall makes a call, and returns its outcome.
func (c *chaos) longCall(ctx context.Context, x call, p plan) entry {
	e := entry{id: x.id, tool: x.tool, by: x.caller}
	bounded, cancel := context.WithTimeout(ctx, max(x.timeout, chaosLeast)+chaosGrace)
	defer cancel()
	began := time.Now()
	prefer := []string{"Prefer", "respond-async"}
	if p.leaves {
		gone, leave := context.WithTimeout(bounded, p.after)
		x.send(gone, c.Server, "Prefer", "respond-async, wait=60")
		leave()
	}
	r := x.send(bounded, c.Server, prefer...)
	at := r.Header.Get("Location")
	if r.Status != http.StatusAccepted {
		e.took = time.Since(began)
		if e.outcome, e.why, _ = suite.OutcomeOf(r); p.leaves && e.outcome == "not_run" {
			e.outcome = "left" // of this request; what the first one did is not told
		}
		return e
	}
	if p.cancels {
		pause(bounded, p.after)
		if r := c.In(bounded, x.token, http.MethodDelete, c.URL+at, ""); r.Status == http.StatusNoContent { // it was over, and is forgotten
			x.send(bounded, c.Server, prefer...)
			e.outcome = "left"
			return e
		}
	}
	if e.outcome, e.why = c.follow(bounded, x, at, p.yes); e.outcome == "none" {
		return e
	}
	e.took = time.Since(began)
	e.over = e.took - max(x.timeout, chaosLeast)
	again := c.In(bounded, x.token, http.MethodGet, c.URL+at, "") // readable more than once
	if outcome, _, _ := longOutcome(again); outcome != e.outcome {
		return entry{id: x.id, tool: x.tool, by: x.caller, outcome: "none", why: fmt.Sprintf("%s, and read again %s", e.outcome, again.Body)}
	}
	if p.forgets && e.outcome != "not_run" { // what never ran would run
		c.In(bounded, x.token, http.MethodDelete, c.URL+at, "")
	}
	x.send(bounded, c.Server, prefer...) // never runs it once more
	return e
}

// follow waits for the end of a call.
func (c *chaos) follow(ctx context.Context, x call, at string, yes bool) (outcome, why string) {
	answered := ""
	for tag := ""; ; {
		var header []string
		if tag != "" {
			header = []string{"If-None-Match", tag}
		}
		r := c.In(ctx, x.token, http.MethodGet, c.URL+at+"?wait=2", "", header...)
		if r.Status == http.StatusNotModified {
			continue
		}
		tag = r.Header.Get("ETag")
		outcome, why, question := longOutcome(r)
		if outcome != "" {
			return outcome, why
		}
		if question != "" && question != answered {
			answered = question
			body := fmt.Sprintf(`{"question":%q,"ok":%t}`, question, yes)
			c.In(ctx, x.token, http.MethodPost, c.URL+at+"/answer", body) // it may be over by now
		}
	}
}

// longOutcome reads what is said of a long call; the outcome is "" while it goes on.
func longOutcome(r suite.Reply) (outcome, why, question string) {
	var read struct {
		Call struct {
			State    string
			Question struct{ ID string }
			Reply    json.RawMessage
			Error    suite.Failure
		}
	}
	if r.Err != nil || r.Status != http.StatusOK || json.Unmarshal(r.Body, &read) != nil {
		return "none", fmt.Sprintf("%d %s %v", r.Status, suite.Shorten(r.Body), r.Err), ""
	}
	switch read.Call.State {
	case "completed":
		outcome, why, _ = suite.OutcomeOf(suite.Reply{Body: read.Call.Reply})
		return outcome, why, ""
	case "cancelled":
		return read.Call.Error.Outcome, "cancelled", ""
	}
	return "", "", read.Call.Question.ID
}

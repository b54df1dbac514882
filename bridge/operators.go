package bridge

import (
	"context"
	"time"

	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/bridge/text"
)

// OpenQuestion is a question that waits, as an operator sees it.
type OpenQuestion struct {
	Question

	Site   string    `json:"site"`
	Caller string    `json:"caller"`
	Since  time.Time `json:"since"`
	// Always is true when the answer may be kept for further calls, Picture when
	// the page that asks can be seen.
	Always  bool `json:"always"`
	Picture bool `json:"picture"`
	// Edit is true when the arguments may be changed with a yes.
	Edit bool `json:"edit"`
	// Why has the layers of the policy that wanted consent, in their order; none for other kinds.
	Why []Wanted `json:"why,omitempty"`
}

// Wanted says what a layer of the policy wanted of a call, and why, in words for a person.
type Wanted struct {
	Name    string `json:"name"`
	Level   string `json:"level"`
	Reason  string `json:"reason"`
	Decided bool   `json:"decided"` // the decision is this layer's
}

// wantedBy lists the layers that do not let a call run unasked.
func wantedBy(in policy.Input) (why []Wanted) {
	_, layers := policy.Explain(in)
	for _, l := range layers {
		if l.Level != policy.Auto {
			why = append(why, Wanted{l.Name, l.Level.String(), text.Brief(l.Reason, maxReasonText), l.Decided})
		}
	}
	return why
}

// maxReasonText bounds why a layer wants something, in bytes: it may repeat a rule of the operator.
const maxReasonText = 256

// openQuestion returns the call's open question as an operator sees it, or nil.
// Called with r.mu held.
func (r *Run) openQuestion() *OpenQuestion {
	q := r.asks()
	if q == nil {
		return nil
	}
	return &OpenQuestion{
		Question: *q, Site: r.pass.call.Site, Caller: r.pass.call.Caller.Name,
		Since:  q.ExpiresAt.Add(-r.pass.bridge.pipe.limits.Question),
		Always: q.always, Picture: r.page != nil, Edit: r.pause.amendable != nil,
		Why: q.why,
	}
}

// OpenQuestions counts the calls that wait for a person now.
func (b *Bridge) OpenQuestions() int { return b.runs.questions() }

// Answer takes an operator's answer to a question. The first one wins; the error for a
// later one names who was first. Errors are *Error: WEBTOOL_NOT_FOUND for a question
// that never was, CONFLICT for one that is not open any more, FORBIDDEN for a
// credential without the right.
func (b *Bridge) Answer(by Caller, id string, a Answer) error {
	return AnswerWith(b, by, id, a, Amendment{})
}

// Asked reports whether a question is open here, or was of late.
func (b *Bridge) Asked(id string) bool {
	r, _, known := b.runs.asking(id)
	return r != nil || known
}

// AnsweredBy names who answered a question of late, and whether they said yes; "" and nil mean nobody:
// it is open, expired, or its page took it back. Of a person whose acts in the page were the answer, ok
// is nil.
func (b *Bridge) AnsweredBy(id string) (who string, ok *bool) {
	b.runs.mu.Lock()
	defer b.runs.mu.Unlock()
	c := b.runs.answered[id]
	return c.by, c.ok
}

// pictureTime limits how long a picture may take.
const pictureTime = 5 * time.Second

// Screenshot shows the page that asks a question, as a PNG. It returns the errors of Live.
func (b *Bridge) Screenshot(ctx context.Context, by Caller, id string) ([]byte, error) {
	_, page, e := pageThatAsks(b, by, id)
	if e != nil {
		return nil, e
	}
	ctx, cancel := context.WithTimeout(ctx, pictureTime)
	defer cancel()
	return page.Screenshot(ctx)
}

// pageThatAsks finds the call that asks a question, and its page.
func pageThatAsks(b *Bridge, by Caller, id string) (*Run, Page, *Error) {
	if !by.Can(MayAnswer) {
		return nil, nil, mayNotAnswer()
	}
	r, _, _ := b.runs.asking(id)
	if r == nil || !by.Sees(r.pass.call.Site) {
		return nil, nil, Errorf(WebtoolNotFound, "", NotRun, "There is no such question.")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if q := r.asks(); r.page == nil || q == nil || q.ID != id {
		return nil, nil, Errorf(WebtoolNotFound, "", NotRun,
			"There is no picture of this question.")
	}
	return r, r.page, nil
}

package bridge

import (
	"context"
	"time"
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
}

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

// AnsweredBy names who answered a question of late; "" means nobody: it is open, expired, or its page
// took it back.
func (b *Bridge) AnsweredBy(id string) string {
	_, who, _ := b.runs.asking(id)
	return who
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

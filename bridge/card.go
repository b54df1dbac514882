package bridge

import (
	"context"

	"github.com/pagetools/pagetools/bridge/policy"
)

// This file is about cards: the caller's own client shows an open question to its person, with the
// page that asks, and the person answers there. A card is worth what elicitation is worth.

// viaCard follows the name of a caller whose person answered, or acted, on a card.
const viaCard = " via card"

// Asks reports whether a call of the tool would be asked about for this caller, as far as that is
// known without its arguments. ref names the site and the caller's state.
func Asks(ctx context.Context, b *Bridge, ref Ref, t *Tool) bool {
	s, err := b.pipe.siteFor(ref.Site, ref.Caller)
	if err != nil {
		return false
	}
	r := &Run{pass: passage{bridge: b, site: s, tool: t,
		call: Call{Site: ref.Site, Session: ref.Session, Caller: ref.Caller}}}
	in := s.policyInput(t)
	in.Tainted = b.pipe.taints.of(ref.Caller.Name, t.origin, b.pipe.now())
	in.Unseen = b.pipe.consents.unseen(ctx, s, t.name)
	r.pass.decision = policy.Decide(in)
	asks := r.pass.decision.Level == policy.Once || r.pass.decision.Level == policy.Ask
	return asks && !b.pipe.consents.granted(ctx, r)
}

// Glance is a call as a card shows it.
type Glance struct {
	// Question is open; nil while the call runs, and when it is over.
	Question *Question
	// Picture reports that the page which asks can be seen, and acted in.
	Picture bool
	Over    bool
}

// Glance returns the call as it is, and a channel that is closed when that has changed. Unlike
// State it tells the caller nothing: neither the question nor the outcome counts as fetched.
func (c *LongCall) Glance() (g Glance, changed <-chan struct{}) {
	r := c.run
	r.mu.Lock()
	defer r.mu.Unlock()
	g.Over = r.done
	if q := r.asks(); q != nil {
		g.Question = q.forCaller()
		g.Picture = r.page != nil && q.Kind == Interact && !q.Foreign
	}
	return g, r.tally.moved.Next()
}

// AnswerOnCard takes the answer that the caller's person gave on a card. Errors are *Error:
// FORBIDDEN without the right to elicit and for a question that may be another caller's, CONFLICT
// for one that is not open any more, SCHEMA_ERROR for an answer that does not fit.
func (c *LongCall) AnswerOnCard(by Caller, question string, a Answer) error {
	if e := c.mayUseCard(by, question); e != nil {
		return e
	}
	a.Always = false // consent on a card is for one call
	return asPlain(c.run.answer(question, &a, by.Name+viaCard))
}

// LiveOnCard shows the page that asks a question, until Close; whoever looks at it acts in it like
// an operator, with the pen. Errors are *Error: those of AnswerOnCard, and WEBTOOL_NOT_FOUND for a
// question without a page to act in.
func (c *LongCall) LiveOnCard(ctx context.Context, by Caller, question string) (*Live, error) {
	if e := c.mayUseCard(by, question); e != nil {
		return nil, e
	}
	page, e := c.pageToActIn(question)
	if e != nil {
		return nil, e
	}
	ctx, cancel := context.WithTimeout(ctx, pictureTime)
	defer cancel()
	view, err := page.View(ctx)
	if err != nil {
		return nil, AsError(err)
	}
	by.Name += viaCard
	return &Live{run: c.run, by: by, view: view, question: question}, nil
}

func (c *LongCall) mayUseCard(by Caller, question string) *Error {
	q := c.run.Asks()
	if !by.Can(MayElicit) || by.IsRevoked() || by.Name != c.run.pass.call.Caller.Name ||
		q != nil && q.ID == question && q.Foreign {
		return mayNotAnswer()
	}
	return nil
}

// pageToActIn returns the page of an open question whose person acts in it.
func (c *LongCall) pageToActIn(question string) (Page, *Error) {
	c.run.mu.Lock()
	defer c.run.mu.Unlock()
	switch q := c.run.asks(); {
	case q == nil || q.ID != question:
		return nil, Errorf(Conflict, "", NotRun, "The question is not open any more.")
	case c.run.page == nil || q.Kind != Interact:
		return nil, Errorf(WebtoolNotFound, "", NotRun, "There is no picture of this question.")
	}
	return c.run.page, nil
}

// ActAll does in the page what its person did, in this order; or none of it, when no mouse and keyboard do a part of it. Errors are those of Act.
func (l *Live) ActAll(ctx context.Context, all []Input) error {
	for _, in := range all {
		if e := in.check(); e != nil {
			return e
		}
	}
	for _, in := range all {
		if err := l.Act(ctx, in); err != nil {
			return err
		}
	}
	return nil
}

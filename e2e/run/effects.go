package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pagetools/pagetools/e2e/check"
	"github.com/pagetools/pagetools/e2e/effects"
	"github.com/pagetools/pagetools/e2e/report"
	"github.com/pagetools/pagetools/e2e/scenario"
	"github.com/pagetools/pagetools/session"
)

// settleTime sets how long a page does nothing whose call is over.
const settleTime = 100 * time.Millisecond

// comparison looks at what a call touched, after it.
type comparison func(context.Context) *report.Failure

// nothing compares nothing, where a step does not say what its call touches.
func nothing(context.Context) *report.Failure { return nil }

// touches begins to look at what a call touches, as far as the step wants to know, and returns
// what compares it.
func (t *attempt) touches(ctx context.Context, s *scenario.Step) (comparison, error) {
	seen, err := t.seen(ctx, s)
	if err != nil {
		return nil, err
	}
	rest, err := t.effects(ctx, s)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) *report.Failure {
		if f := seen(ctx); f != nil {
			return f
		}
		return rest(ctx)
	}, nil
}

// seen counts how often the page's own code was run.
func (t *attempt) seen(ctx context.Context, s *scenario.Step) (comparison, error) {
	if s.Seen == nil {
		return nothing, nil
	}
	before, err := t.probe.Record(ctx)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) *report.Failure {
		after, err := t.probe.Record(ctx)
		switch {
		case err != nil:
			return failed(s, said(ctx, err))
		case after.Since != before.Since:
			return failed(s, "the page went elsewhere, so that its calls cannot be counted: remove "+
				"calls-seen-by-page")
		case after.Calls-before.Calls != *s.Seen:
			return failed(s, fmt.Sprintf("the page saw %d calls, and must see %d",
				after.Calls-before.Calls, *s.Seen))
		}
		return nil
	}, nil
}

// effects looks at what happens in the page. What happens in the moment before the call is the
// page's own doing, such as asking its server for news.
func (t *attempt) effects(ctx context.Context, s *scenario.Step) (comparison, error) {
	if s.Effects == nil {
		return nothing, nil
	}
	want, err := s.Effects.Expand(t.scope)
	if err != nil {
		return nil, err
	}
	before, err := t.probe.Mark(ctx)
	if err != nil {
		return nil, err
	}
	own, err := t.probe.Since(ctx, before, settleTime)
	if err != nil {
		return nil, err
	}
	alone := &effects.Alone{}
	alone.Add(own)
	from, err := t.probe.Mark(ctx)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) *report.Failure {
		all, err := t.sinceQuiet(ctx, from)
		if err != nil {
			return failed(s, said(ctx, err))
		}
		got := touched(all, alone)
		if m := want.Match(*got); m != nil {
			return mismatched(s, "the effects", s.Effects.Position, m)
		}
		return nil
	}, nil
}

// errCut is the error of a page that did more than is kept.
var errCut = errors.New("the page did more than can be seen: its effects cannot be compared")

// sinceQuiet waits until the page is quiet, and returns what happened since a moment.
func (t *attempt) sinceQuiet(ctx context.Context, from session.Mark) (*session.Activity, error) {
	all, err := t.probe.Since(ctx, from, settleTime)
	if err == nil && all.Cut {
		return nil, errCut
	}
	return all, err
}

// touched returns the effects that a scenario compares: submitting a form counts as
// navigating.
func touched(all *session.Activity, alone *effects.Alone) *check.Effects {
	got := effects.Of(all, alone)
	got.Navigated = append(got.Navigated, got.Submitted...)
	return got
}

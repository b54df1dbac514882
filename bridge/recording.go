package bridge

import (
	"context"
	"maps"
	"slices"

	"github.com/pagetools/pagetools/bridge/schema"
)

// Recorder records the pages of calls, for operators. It is safe for concurrent use.
type Recorder interface {
	// Record begins to record the page of a call that is about to be dispatched, if somebody asked for
	// that. Otherwise it returns nil, at once: it is asked about each call.
	Record(ctx context.Context, c *RecordedCall) Recording
}

// Recording follows one call in its page.
type Recording interface {
	// Asked notes that the page asks a person. The function that it returns notes the answer; nil is
	// none.
	Asked(q *Question) (answered func(a *Answer))
	// Progressed notes how far the result has come. It does not wait.
	Progressed(p Progress)
	// End ends the recording, before the call leaves its page.
	End()
}

// RecordedCall is a call and the page that it runs in.
type RecordedCall struct {
	*Call

	Page Source
	pass *passage
}

// Conceal returns the texts of the call that nobody may read: arguments that the schema marks as secret,
// and logins in its config.
func (c *RecordedCall) Conceal() []string {
	all := c.pass.input.LeavesAt(slices.Sorted(maps.Keys(c.pass.tool.secretsIn(c.pass.input))))
	config, err := schema.Read(c.Config, maxInputDepth)
	if err != nil {
		return all // it has none
	}
	for key, declared := range pageKeys {
		switch {
		case declared["writeOnly"] != true:
		case key == "cookies":
			for cookie := range config.Get(key).Elements() {
				all = append(all, cookie.Get("value").Leaves()...)
			}
		default:
			all = append(all, config.Get(key).Leaves()...)
		}
	}
	return all
}

// record begins to record the page of the call, where somebody asked for that.
func (pl *pipeline) record(ctx context.Context, r *Run) {
	if pl.recorder == nil {
		return
	}
	r.pass.recording = pl.recorder.Record(ctx, &RecordedCall{Call: &r.pass.call, Page: r.pass.source, pass: &r.pass})
}

// recorded ends the recording of the call's page.
func (r *passage) recorded() {
	if r.recording != nil {
		r.recording.End()
	}
}

// asking notes a question of the page, and returns what notes its answer.
func (r *passage) asking(q *Question) (answered func(*Answer)) {
	if r.recording == nil {
		return func(*Answer) {}
	}
	return r.recording.Asked(q)
}

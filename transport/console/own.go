package console

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// everyone sees the calls of all sites. Streams leave out what their callers may not see.
var everyone = bridge.Caller{Name: "console", May: []bridge.Right{bridge.MayView}}

// questionJSON is an open question.
type questionJSON struct {
	Node string `json:"node"`
	Call string `json:"call"`
	bridge.OpenQuestion

	Domain string `json:"domain"` // the registrable part of its origin's host; "" is none
	// FirstSince says since when this process knows of no earlier call of the tool by the caller; it
	// is zero where there was one, where nothing is remembered, and for other kinds than consent.
	FirstSince time.Time `json:"firstSince,omitzero"`
}

func (o *ownNode) questionOf(s *bridge.RunState, q *bridge.OpenQuestion) questionJSON {
	out := questionJSON{Node: o.face.node, Call: s.Call, OpenQuestion: *q, Domain: domainOf(q.Origin)}
	if q.Kind == bridge.Approve {
		out.FirstSince = o.face.records.firstSince(s)
	}
	return out
}

// closedJSON says that a question is not open any more. AnsweredBy is "" when it expired, or its
// page took it back. OK is null then, and where a person's acts in the page were the answer.
type closedJSON struct {
	Node       string `json:"node"`
	ID         string `json:"id"`
	Call       string `json:"call"`
	AnsweredBy string `json:"answeredBy"`
	OK         *bool  `json:"ok"`
}

// penJSON says who holds the pen of a live view.
type penJSON struct {
	Node string `json:"node"`
	Call string `json:"call"`
	Pen  string `json:"pen"`
}

// toolsJSON says how the tools of a site changed, by name.
type toolsJSON struct {
	Node    string   `json:"node"`
	Site    siteJSON `json:"site"`
	Added   []string `json:"added"`
	Removed []string `json:"removed"`
	Changed []string `json:"changed"`
}

// ownNode turns the events of the bridge into those of the stream. One goroutine uses it.
type ownNode struct {
	*hub

	calls    map[string]bridge.RunState   // by the call's id
	sessions map[string]item              // by id
	tools    map[string]map[string]string // digests, by site and name
	weighed  time.Time                    // when the browsers were
}

// gatherOwn follows this process until ctx ends.
func (h *hub) gatherOwn(ctx context.Context) {
	o := &ownNode{hub: h}
	tick := time.NewTicker(statsEvery)
	defer tick.Stop()
	_, told := h.face.records.statsOf("", time.Now(), 0, 0)
	events := h.face.b.Watch(ctx, bridge.Interest{Caller: everyone, Tools: true, Calls: true, Sessions: true})
	for {
		select {
		case ev, more := <-events:
			if !more {
				return
			}
			o.take(ctx, ev)
		case now := <-tick.C:
			told = o.tellStats(ctx, now, told)
		}
	}
}

func (o *ownNode) take(ctx context.Context, ev bridge.Event) {
	switch ev.Kind {
	case bridge.Snapshot:
		o.snapshot(ctx, ev.Runs)
	case bridge.ToolsChanged:
		o.toolsChanged(ctx, ev.Site)
	case bridge.SessionsChanged:
		o.sessionsChanged(ctx)
	case bridge.RunChanged:
		o.moved(ctx, ev.Runs[0])
	}
}

func (o *ownNode) snapshot(ctx context.Context, runs []bridge.RunState) {
	o.calls, o.tools = map[string]bridge.RunState{}, map[string]map[string]string{}
	o.sessions = o.sessionsNow()
	open := map[string]map[string]item{ofQuestions: {}, ofCalls: {}, ofSites: {}, ofSessions: maps.Clone(o.sessions)}
	for _, s := range runs {
		o.calls[s.Call] = s
		open[ofCalls][s.Call] = item{s.Site, mustJSON(callOf(o.face.node, &s))}
		if s.Question != nil {
			open[ofQuestions][s.Question.ID] = item{s.Site, mustJSON(o.questionOf(&s, s.Question))}
		}
	}
	for _, site := range o.face.b.Sites(everyone) {
		now, digests := o.face.siteOf(ctx, site)
		o.tools[site.Name] = digests
		open[ofSites][site.Name] = item{site.Name, mustJSON(now)}
	}
	o.replace(ctx, o.face.node, true, open)
}

// moved tells what became of a call. A call that ended before anybody looked has call.ended alone.
func (o *ownNode) moved(ctx context.Context, s bridge.RunState) {
	was, known := o.calls[s.Call]
	o.question(ctx, s, was)
	if s.Pen != was.Pen {
		o.note(ctx, o.face.node, event{name: evPen, site: s.Site, data: mustJSON(penJSON{o.face.node, s.Call, s.Pen})}, "", "", nil)
	}
	x := &item{s.Site, mustJSON(callOf(o.face.node, &s))}
	e := event{name: evStage, site: s.Site, data: x.data}
	switch {
	case s.Over:
		e.name = evEnded
		delete(o.calls, s.Call)
		o.note(ctx, o.face.node, e, ofCalls, s.Call, nil)
		return
	case !known:
		e.name = evStarted
	}
	o.calls[s.Call] = s
	if !known || s.Stage != was.Stage {
		o.note(ctx, o.face.node, e, ofCalls, s.Call, x)
	}
}

// question tells what became of a call's question.
func (o *ownNode) question(ctx context.Context, s, was bridge.RunState) {
	if was.Question != nil && (s.Question == nil || s.Question.ID != was.Question.ID) {
		id := was.Question.ID
		who, ok := o.face.b.AnsweredBy(id)
		o.note(ctx, o.face.node, event{name: evClosed, site: s.Site, data: mustJSON(closedJSON{o.face.node, id, s.Call, who, ok})}, ofQuestions, id, nil)
	}
	if s.Question == nil {
		return
	}
	x := &item{s.Site, mustJSON(o.questionOf(&s, s.Question))}
	switch {
	case was.Question == nil || was.Question.ID != s.Question.ID:
		o.note(ctx, o.face.node, event{name: evOpened, site: s.Site, data: x.data}, ofQuestions, s.Question.ID, x)
	case !slices.Equal(x.data, mustJSON(o.questionOf(&s, was.Question))):
		o.note(ctx, o.face.node, event{name: evChanged, site: s.Site, data: x.data}, ofQuestions, s.Question.ID, x)
	}
}

// toolsChanged tells how the tools of a site changed, if they did.
func (o *ownNode) toolsChanged(ctx context.Context, name string) {
	for _, site := range o.face.b.Sites(everyone) {
		if site.Name != name {
			continue
		}
		now, digests := o.face.siteOf(ctx, site)
		out := toolsJSON{Node: o.face.node, Site: now, Added: []string{}, Removed: []string{}, Changed: []string{}}
		was := o.tools[name]
		for tool, digest := range digests {
			switch before, known := was[tool]; {
			case !known:
				out.Added = append(out.Added, tool)
			case before != digest:
				out.Changed = append(out.Changed, tool)
			}
		}
		for tool := range was {
			if _, still := digests[tool]; !still {
				out.Removed = append(out.Removed, tool)
			}
		}
		slices.Sort(out.Added)
		slices.Sort(out.Removed)
		slices.Sort(out.Changed)
		o.tools[name] = digests
		if len(out.Added)+len(out.Removed)+len(out.Changed) > 0 {
			o.note(ctx, o.face.node, event{name: evTools, site: name, data: mustJSON(out)}, ofSites, name, &item{name, mustJSON(now)})
		}
	}
}

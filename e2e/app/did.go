package app

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"

	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/transport/console"
)

// maxDid bounds what is listed of a page, and maxDidText the bytes of a line of it.
const maxDid, maxDidText = 500, 300

// did lists what the page of a call did, in the order of time.
func (x *recordedCall) did() []console.PageEvent {
	hidden := schema.Conceal(x.secrets).In
	all := []console.PageEvent{}
	add := func(e console.PageEvent) {
		e.Text = text.Short(text.Escape(quiet(hidden(e.Text))), maxDidText)
		all = append(all, e)
	}
	for i := range x.seen.Requests {
		r := &x.seen.Requests[i]
		said := cmp.Or(r.Failed, "no answer yet")
		if r.Status != 0 {
			said = strconv.Itoa(r.Status)
		}
		add(console.PageEvent{At: r.At, Took: r.Took, Kind: "request", Bad: r.Failed != "" || r.Status >= http.StatusBadRequest, Text: r.Method + " " + r.URL + ": " + said})
	}
	for _, m := range x.seen.Messages {
		add(console.PageEvent{At: m.At, Kind: "console", Bad: m.Level == "error", Text: m.Level + ": " + m.Text})
	}
	x.following.Lock()
	defer x.following.Unlock()
	for _, q := range x.questions {
		e := console.PageEvent{At: q.Began, Kind: "question", Text: q.Title + ": " + q.Params[1].Text}
		if !q.Ended.IsZero() {
			e.Took = q.Ended.Sub(q.Began)
		}
		add(e)
	}
	for _, l := range x.lines {
		add(console.PageEvent{At: l.at, Kind: "progress", Text: l.text})
	}
	slices.SortStableFunc(all, func(a, b console.PageEvent) int { return a.At.Compare(b.At) })
	return all[:min(len(all), maxDid)]
}

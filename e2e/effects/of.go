package effects

import (
	"context"
	"regexp"
	"strings"
	"time"

	"github.com/pagetools/pagetools/e2e/check"
	"github.com/pagetools/pagetools/session"
)

// Alone records what a page does while nobody calls a tool in it, such as asking its server for
// news every few seconds. The zero value is nothing.
type Alone struct{ seen map[string]bool }

// Add adds what a page was seen to do.
func (a *Alone) Add(x *session.Activity) {
	if a.seen == nil {
		a.seen = map[string]bool{}
	}
	for _, r := range x.Requests {
		a.seen[requestKey(r)] = true
	}
	for _, w := range x.Writes {
		a.seen[alike("wrote", w.Area, w.Key)] = true
	}
	for _, list := range placesOf(x) {
		for _, address := range list.of {
			a.seen[alike(list.what, address)] = true
		}
	}
	for _, r := range x.Refused {
		a.seen[alike("refused", r.URL)] = true
	}
}

// Watch adds what a page did that nobody called a tool in: since it was opened, until it was quiet
// for so long, and while it loaded.
func (a *Alone) Watch(ctx context.Context, p *session.Probe, opened session.Mark, quiet time.Duration) error {
	since, err := p.Since(ctx, opened, quiet)
	if err != nil {
		return err
	}
	whole, err := p.Since(ctx, session.Mark{Cookies: opened.Cookies}, 0)
	if err != nil {
		return err
	}
	// A page keeps things while it loads that its tools change later; what it sends then is its
	// own.
	whole.Writes = nil
	a.Add(since)
	a.Add(whole)
	return nil
}

func (a *Alone) has(key string) bool { return a != nil && a.seen[key] }

// counted is a word with a digit in it: a time, a counter or an id, which differs each time.
var counted = regexp.MustCompile(`[0-9A-Za-z_.-]*[0-9][0-9A-Za-z_.-]*`)

// alike names what happened, so that it has the same name when it happens again. An address
// keeps its host.
func alike(what string, texts ...string) string {
	for i, text := range texts {
		head := ""
		if at := strings.Index(text, "://"); at >= 0 {
			end := at + 3 + strings.IndexAny(text[at+3:]+"/", "/?#")
			head, text = text[:end], text[end:]
		}
		texts[i] = head + counted.ReplaceAllString(text, "0")
	}
	return what + "\x00" + strings.Join(texts, "\x00")
}

func requestKey(r session.Request) string { return alike("sent "+r.Method, r.URL, r.Body) }

type placesSeen struct {
	what string
	of   []string
}

func placesOf(x *session.Activity) []placesSeen {
	return []placesSeen{{"went", x.Navigated}, {"submitted", x.Submitted}, {"opened", x.Windows}, {"loaded", x.Downloads}}
}

// Of returns what a call touched: what happened in its page from its dispatch until the page was
// quiet, without what the page does alone. A request, a write or an address is the page's own when
// the page alone did the same, where words with a digit in them are taken for equal. Cookies that
// responses set are their server's doing, and a database or cache that only came or went holds
// nothing: both are left out.
func Of(x *session.Activity, alone *Alone) *check.Effects {
	e := &check.Effects{}
	for _, r := range x.Requests {
		if !alone.has(requestKey(r)) {
			e.Requests = append(e.Requests, check.Request{Method: r.Method, URL: r.URL, Body: r.Body})
		}
	}
	written := map[string]bool{}
	for _, w := range x.Writes {
		made := w.Key == "" && (w.Area == "indexedDB" || w.Area == "cache")
		if w.Answered || made || written[w.Area] || alone.has(alike("wrote", w.Area, w.Key)) {
			continue
		}
		written[w.Area] = true
		e.Storage = append(e.Storage, w.Area)
	}
	into := []*[]string{&e.Navigated, &e.Submitted, &e.Windows, &e.Downloads}
	for i, list := range placesOf(x) {
		for _, address := range list.of {
			if !alone.has(alike(list.what, address)) {
				*into[i] = append(*into[i], address)
			}
		}
	}
	blocked := map[string]bool{}
	for _, r := range x.Refused {
		if !blocked[r.URL] && !alone.has(alike("refused", r.URL)) {
			blocked[r.URL] = true
			e.Blocked = append(e.Blocked, r.URL)
		}
	}
	return e
}

// Package tape records what the network answers to the pages of tests, and plays it back. A [Tape]
// is one recording; each page has a [Track] of it, which is its session.Network.
package tape

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/e2e/har"
	"github.com/pagetools/pagetools/session"
)

// What one recording holds at most, in bytes: of the bodies of responses, and of requests.
const (
	maxContent = 50 << 20
	maxSent    = 50 << 20
)

// Tape is a recording that is played, or made. It is safe for concurrent use.
type Tape struct {
	plays *har.File // nil when it records
	holds held

	mu      sync.Mutex
	opening []*Track // of pages that no test has
	kept    map[string]kept
}

// held says how much is held: numbers of requests, their bytes, and those of responses.
type held struct{ requests, sent, content atomic.Int64 }

type kept struct {
	*Track
	by string
}

// Play returns a tape that answers from a recording, which must not change.
func Play(f *har.File) *Tape { return &Tape{plays: f} }

// Record returns an empty tape, which records.
func Record() *Tape { return &Tape{kept: map[string]kept{}} }

// Records reports whether the tape records.
func (t *Tape) Records() bool { return t.plays == nil }

// Track returns that of a page of the test with this title; "" is a page that no test has. Served
// is the origin of a folder that is served for the tests, or "": what is there is not recorded, and
// does not have to be.
func (t *Tape) Track(title, served string) *Track {
	track := &Track{tape: t, title: title, served: served}
	if t.plays != nil {
		track.player = t.plays.Player(title)
	}
	if title == "" {
		t.mu.Lock()
		t.opening = append(t.opening, track)
		t.mu.Unlock()
	}
	return track
}

// Keep keeps what the page of a test recorded. Of a test that runs in several ways, the first one
// is kept; one that is repeated in the same way, the last time.
func (t *Tape) Keep(track *Track, way string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.Records() {
		return
	}
	before, there := t.kept[track.title]
	if there && before.by != way {
		t.drop(track)
		return
	}
	if there {
		t.drop(before.Track)
	}
	t.kept[track.title] = kept{track, way}
}

// drop makes room that a track took which is not kept.
func (t *Tape) drop(track *Track) {
	t.holds.requests.Add(-track.holds.requests.Load())
	t.holds.sent.Add(-track.holds.sent.Load())
	t.holds.content.Add(-track.holds.content.Load())
}

// Full says why the recording is not whole, or is "".
func (t *Tape) Full() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := slices.Clone(t.opening)
	for _, one := range t.kept {
		all = append(all, one.Track)
	}
	for _, track := range all {
		if track.full.Load() {
			return fmt.Sprintf("with the page of %q there were more than %d requests, or %d bytes of "+
				"them", cmp.Or(track.title, "the site"), har.MaxEntries, maxSent)
		}
	}
	return ""
}

// Lacks lists the requests of pages that no test has, which the recording lacks.
func (t *Tape) Lacks() (all []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, track := range t.opening {
		all = append(all, track.Lacks()...)
	}
	return all
}

// File returns the recording: first what the pages that no test has got, then a page for each of
// the tests, in this order. What a test got as those pages did is in it once.
func (t *Tape) File(version string, titles []string) *har.File {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := &har.File{}
	f.Log.Version, f.Log.Creator = "1.2", har.Creator{Name: "pagetools", Version: version}
	f.Log.Comment = "Cookies and the headers Authorization and Proxy-Authorization are left out."
	shared := map[string][]string{}
	for _, track := range t.opening {
		if entries := track.entries(); len(entries) > 0 {
			f.Log.Entries, shared = entries, byRequest(entries)
			break
		}
	}
	for i, title := range titles {
		track, there := t.kept[title]
		if !there {
			continue
		}
		page := har.Page{ID: fmt.Sprintf("case-%d", i+1), Title: title}
		entries := track.entries()
		own := byRequest(entries)
		for _, e := range entries {
			page.Started = cmp.Or(page.Started, e.Started)
			if key := requestOf(&e); slices.Equal(own[key], shared[key]) {
				continue
			}
			e.Page = page.ID
			f.Log.Entries = append(f.Log.Entries, e)
		}
		page.Started = cmp.Or(page.Started, dated(time.Now()))
		f.Log.Pages = append(f.Log.Pages, page)
	}
	return f
}

// byRequest returns the responses of the entries, by their requests.
func byRequest(entries []har.Entry) map[string][]string {
	all := map[string][]string{}
	for i := range entries {
		e := &entries[i]
		key := requestOf(e)
		all[key] = append(all[key], fmt.Sprint(e.Response.Status, e.Response.RedirectURL,
			"\n", e.Response.Content.Text))
	}
	return all
}

func requestOf(e *har.Entry) string {
	return e.Request.Method + " " + e.Request.URL + "\n" + string(e.Request.Body())
}

// Track is the part of a tape that is for one page.
type Track struct {
	// Hide, when set, masks in the recording what the page must not leave there, from the time on
	// at which it is known. It is set before the page asks for anything.
	Hide func(string) string

	tape   *Tape
	title  string
	served string
	player *har.Player // nil when it records
	holds  held
	full   atomic.Bool // what it was asked last is not in it

	mu    sync.Mutex
	asked []*taken
	lacks []string
}

type taken struct {
	x     *session.Exchange // nil when it is answered
	entry *har.Entry        // nil until then
}

var _ session.Network = (*Track)(nil)

// Ask implements session.Network.
func (t *Track) Ask(x *session.Exchange) session.Ruling {
	u, err := url.Parse(x.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return session.Send // it does not reach the network
	}
	served := origin.Same(x.URL, t.served)
	switch {
	case t.player != nil:
		return t.answer(x, served)
	case served:
		return session.Send
	}
	if !t.room(x) {
		t.full.Store(true)
		return session.Send
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked = append(t.asked, &taken{x: x})
	return session.Watch
}

// room takes the room for a request, and reports whether there was so much.
func (t *Track) room(x *session.Exchange) bool {
	size := int64(len(x.URL) + len(x.Body))
	for name, values := range x.Header {
		for _, value := range values {
			size += int64(len(name) + len(value))
		}
	}
	t.holds.requests.Add(1)
	t.holds.sent.Add(size)
	sent := t.tape.holds.sent.Add(size)
	return t.tape.holds.requests.Add(1) <= har.MaxEntries && sent <= maxSent
}

func (t *Track) answer(x *session.Exchange, served bool) session.Ruling {
	e := t.player.Next(x.Method, x.URL, x.Header, x.Body)
	if e == nil && t.Hide != nil {
		e = t.player.Next(x.Method, t.Hide(x.URL), x.Header, []byte(t.Hide(string(x.Body))))
	}
	if e == nil && served {
		return session.Send
	}
	var why string
	if e == nil {
		why = x.Method + " " + x.URL
		if len(x.Body) > 0 {
			why += fmt.Sprintf(" with this body of %d bytes", len(x.Body))
		}
	} else if body, there := e.Response.Body(); there {
		x.Content = body
		x.Status, x.StatusText = e.Response.Status, e.Response.StatusText
		x.Failed = e.Response.Failed
		x.Answer = e.Answer(x.Header.Get("Origin"))
		return session.Answer
	} else {
		why = "the body of " + x.Method + " " + x.URL
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !slices.Contains(t.lacks, why) {
		t.lacks = append(t.lacks, why)
	}
	return session.Refuse
}

// Lacks lists the requests that the recording lacks, in the order in which they came.
func (t *Track) Lacks() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.lacks)
}

// Answered implements session.Network.
func (t *Track) Answered(x *session.Exchange) {
	e := t.entry(x)
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, a := range slices.Backward(t.asked) { // it is one of the last
		if a.x == x {
			a.x, a.entry = nil, e // whose body is held once
			return
		}
	}
}

// entries returns the answered requests, in the order in which they were asked.
func (t *Track) entries() (all []har.Entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, a := range t.asked {
		if a.entry != nil {
			all = append(all, *a.entry)
		}
	}
	return all
}

// unknown is a version of HTTP that the browser does not tell.
const unknown = "unknown"

func dated(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }

func (t *Track) entry(x *session.Exchange) *har.Entry {
	took := float64(time.Since(x.Began).Microseconds()) / 1000 // HAR wants milliseconds
	e := &har.Entry{Started: dated(x.Began), Time: took, Timings: har.Timings{Wait: took}}
	e.Request = har.Request{Method: x.Method, URL: x.URL, HTTPVersion: unknown, HeadersSize: -1,
		Cookies: []har.Pair{}, Headers: har.Headers(x.Header), QueryString: har.Query(x.URL)}
	e.Request.SetBody(x.Body, x.Header.Get("Content-Type"))
	kind := x.Answer.Get("Content-Type")
	e.Response = har.Response{Status: x.Status, StatusText: x.StatusText, HTTPVersion: unknown,
		Cookies: []har.Pair{}, Headers: har.Headers(x.Answer), HeadersSize: -1,
		RedirectURL: x.Answer.Get("Location"), Failed: x.Failed,
		Content: har.Content{MimeType: cmp.Or(kind, "x-unknown")}}
	size := int64(len(x.Content))
	t.holds.content.Add(size)
	switch held := t.tape.holds.content.Add(size); {
	case x.Cut:
		e.Response.LeaveOut(size, fmt.Sprintf("The body was left out: it has more than %d bytes, or "+
			"no end.", session.MaxExchange))
	case held > maxContent:
		e.Response.LeaveOut(size, fmt.Sprintf("The body was left out: all bodies together have more "+
			"than %d bytes.", maxContent))
	default:
		e.Response.SetBody(x.Content)
	}
	if t.Hide != nil {
		e.Rewrite(t.Hide)
	}
	return e
}

// Lacking is the failure of a test whose recording lacks requests.
func Lacking(name string, lacks []string) string {
	const most = 5
	list := lacks[:min(len(lacks), most)]
	text := strings.Join(list, ", ")
	if more := len(lacks) - len(list); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("the recording %s lacks %s: record it again, with site: {network: {record: "+
		"%s}}", name, text, name)
}

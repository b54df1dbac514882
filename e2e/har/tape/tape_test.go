package tape_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/e2e/har"
	"github.com/pagetools/pagetools/e2e/har/tape"
	"github.com/pagetools/pagetools/session"
)

const shop = "http://shop.example"

// ask asks a track for a path. While it records, it answers with answer.
func ask(t *tape.Track, path, answer string) string {
	x := &session.Exchange{Method: http.MethodGet, URL: shop + path, Header: http.Header{}}
	switch t.Ask(x) {
	case session.Watch:
		x.Status, x.Content, x.Answer = http.StatusOK, []byte(answer), http.Header{}
		t.Answered(x)
		return "recorded"
	case session.Answer:
		return string(x.Content)
	case session.Refuse:
		return "refused"
	default:
		return "sent"
	}
}

// TestTape: what a page gets anyway is in the recording once; each test has what differs; one that
// ran in two ways has what it got first.
func TestTape(t *testing.T) {
	t.Parallel()
	record := tape.Record()
	opening := record.Track("", "")
	ask(opening, "/", "page")
	ask(opening, "/cart", "empty")
	for _, way := range []string{"page", "webtool"} {
		for _, title := range []string{"two", "one"} {
			track := record.Track(title, "http://127.0.0.1:1")
			ask(track, "/", "page")
			ask(track, "/cart", way+" of "+title)
			x := &session.Exchange{Method: http.MethodGet, URL: "http://127.0.0.1:1/style.css"}
			if got := track.Ask(x); got != session.Send {
				t.Errorf("a file of the folder that is served: %v", got)
			}
			_ = track.Ask(&session.Exchange{Method: http.MethodGet, URL: shop + "/never"})
			record.Keep(track, way)
		}
	}
	f := record.File("1.0", []string{"one", "two", "three"})
	var got []string
	for _, e := range f.Log.Entries {
		got = append(got, e.Page+" "+strings.TrimPrefix(e.Request.URL, shop)+" "+e.Response.Content.Text)
	}
	want := []string{" / page", " /cart empty", "case-1 /cart page of one", "case-2 /cart page of two"}
	if !slices.Equal(got, want) {
		t.Errorf("the recording has %q", got)
	}
	play := tape.Play(f)
	for _, c := range [][3]string{{"one", "/", "page"}, {"one", "/cart", "page of one"},
		{"two", "/cart", "page of two"}, {"new", "/cart", "empty"}, {"one", "/never", "refused"}} {
		track := play.Track(c[0], "")
		if got := ask(track, c[1], ""); got != c[2] {
			t.Errorf("%s gets %s of %s, not %s", c[0], got, c[1], c[2])
		}
		if lacks := len(track.Lacks()) > 0; lacks != (c[2] == "refused") {
			t.Errorf("%s: %s is lacking: %v", c[0], c[1], lacks)
		}
	}
	if served := play.Track("one", shop); ask(served, "/never", "") != "sent" || served.Lacks() != nil {
		t.Error("a file of the folder that is served is lacking")
	}
}

// TestTapeBounds: bodies beyond the bounds are left out, which the file says, and a replay that
// needs one names it.
func TestTapeBounds(t *testing.T) {
	gatetest.NoRace(t)
	t.Parallel()
	record := tape.Record()
	track := record.Track("", "")
	body := strings.Repeat("x", session.MaxExchange)
	const all = 11 // ten of them are 50 MiB
	for i := range all {
		ask(track, fmt.Sprintf("/%d", i), body)
	}
	cut := &session.Exchange{Method: http.MethodGet, URL: shop + "/events"}
	track.Ask(cut)
	cut.Status, cut.Cut = http.StatusOK, true
	track.Answered(cut)
	play := tape.Play(record.File("1.0", nil)).Track("x", "")
	for path, want := range map[string]string{"/9": body, "/10": "refused", "/events": "refused"} {
		if got := ask(play, path, ""); got != want {
			t.Errorf("%s answers %d bytes, %.20s", path, len(got), got)
		}
	}
	if got := tape.Lacking("a.har", []string{"GET x", "b", "c", "d", "e", "f"}); !strings.Contains(got,
		"a.har lacks GET x, b, c, d, e and 1 more: record it again") {
		t.Error(got)
	}
	failed := &har.File{}
	failed.Log.Entries = []har.Entry{{Request: har.Request{Method: "GET", URL: shop + "/"},
		Response: har.Response{Failed: "ConnectionRefused"}}}
	x := &session.Exchange{Method: http.MethodGet, URL: shop + "/", Status: 7}
	if tape.Play(failed).Track("", "").Ask(x) != session.Answer || x.Status != 0 || x.Failed == "" {
		t.Errorf("a request that failed is answered so: %+v", x)
	}
}

// TestTapeFull: what one page holds of a recording is free again when the test has another way, and
// a page that sends without end makes the recording full instead of the memory.
func TestTapeFull(t *testing.T) {
	gatetest.NoRace(t)
	t.Parallel()
	record := tape.Record()
	body := strings.Repeat("x", session.MaxExchange)
	for _, title := range []string{"one", "two"} {
		for _, way := range []string{"page", "webtool", "mcp"} { // each has 15 MiB
			for range 2 { // and is repeated
				track := record.Track(title, "")
				for n := range 3 {
					ask(track, fmt.Sprintf("/%s/%d", title, n), way+body[len("webtool"):])
				}
				record.Keep(track, way)
			}
		}
	}
	file := record.File("1.0", []string{"one", "two"})
	for _, title := range []string{"one", "two"} {
		if got := ask(tape.Play(file).Track(title, ""), "/"+title+"/2", ""); !strings.HasPrefix(got, "pagex") {
			t.Errorf("the recording answers %.20q", got)
		}
	}
	if why := record.Full(); why != "" {
		t.Errorf("it is full: %s", why)
	}
	flood := record.Track("flood", "")
	post := func() session.Ruling {
		return flood.Ask(&session.Exchange{Method: http.MethodPost, URL: shop, Body: []byte(body[1000:])})
	}
	for range 10 {
		if got := post(); got != session.Watch {
			t.Fatalf("there is room, and it is %v", got)
		}
	}
	if got := post(); got != session.Send {
		t.Errorf("beyond 50 MiB of requests, one is kept: %v", got)
	}
	if record.Full() != "" {
		t.Error("a page whose recording is not kept makes it full")
	}
	record.Keep(flood, "page")
	if why := record.Full(); !strings.Contains(why, "flood") {
		t.Errorf("it is not full: %q", why)
	}
	many := tape.Record().Track("", "")
	for range har.MaxEntries {
		ask(many, "/", "")
	}
	if got := many.Ask(&session.Exchange{Method: http.MethodGet, URL: shop}); got != session.Send {
		t.Errorf("beyond the entries that can be read, one is kept: %v", got)
	}
}

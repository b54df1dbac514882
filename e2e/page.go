package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/e2e/report"
	"github.com/pagetools/pagetools/e2e/run"
	"github.com/pagetools/pagetools/e2e/scenario"
)

// Page is a page of the app in a browser context of its own: nothing of other pages is there,
// neither cookies nor storage. It belongs to the test that opened it, which calls one method at a
// time.
type Page struct {
	app   *App
	visit *run.Visit
	t     testing.TB
}

// Open opens a page by its path, such as "/stamps.html", or the app's first one with "". It waits
// until the tools of the page are there. The page is closed when the test ends, which fails then
// when an answer of [Page.Human] was not asked for.
func (a *App) Open(tb testing.TB, path string) *Page {
	tb.Helper()
	visit, err := a.stand.Visit(tb.Context(), path)
	if err != nil {
		tb.Fatalf("opening %q of %s: %s", path, a.name, plain(err))
	}
	p := &Page{app: a, visit: visit, t: tb}
	tb.Cleanup(func() {
		tb.Helper()
		p.end()
	})
	return p
}

// end closes the page. A test that failed has no answers left over: it did not come so far.
func (p *Page) end() {
	p.t.Helper()
	defer p.visit.End()
	if p.t.Failed() || p.t.Skipped() {
		return
	}
	for _, e := range p.visit.Left() {
		p.t.Errorf("an answer was not asked for: %s of Human in line %d, for %s", e.Answer.Act, e.Line,
			kindOf(&e))
	}
}

// Goto opens another address of the app in the page, relative to the one that it shows, or loads
// that one again with "". It waits until the tools are there.
func (p *Page) Goto(tb testing.TB, address string) {
	tb.Helper()
	if err := p.visit.Goto(tb.Context(), address); err != nil {
		tb.Fatalf("opening %q: %s", address, plain(err))
	}
}

// Tools returns the names of the tools that are there now, as agents see them.
func (p *Page) Tools(tb testing.TB) []string {
	tb.Helper()
	names, err := p.visit.Names(tb.Context())
	if err != nil {
		tb.Fatalf("listing the tools: %s", plain(err))
	}
	return names
}

// Call calls a tool and returns its result. The arguments are a Go value that JSON has for an
// object, or that as json.RawMessage; nil is {}, as is a nil map. It ends the test when the call
// fails, and fails it when a question has no answer, which counts as declined.
func (p *Page) Call(tb testing.TB, tool string, arguments any) *Result {
	tb.Helper()
	r := p.call(tb, tool, arguments)
	fatal(tb, r.called.Ended(tb.Context(), false))
	return r
}

// CallError calls a tool that must fail and returns its error, an object with the members code,
// message, outcome and, for some codes, reason. Otherwise it is as [Page.Call]. It ends the test
// when the call succeeds.
func (p *Page) CallError(tb testing.TB, tool string, arguments any) *Result {
	tb.Helper()
	r := p.call(tb, tool, arguments)
	fatal(tb, r.called.Ended(tb.Context(), true))
	return r
}

func (p *Page) call(tb testing.TB, tool string, arguments any) *Result {
	tb.Helper()
	with := json.RawMessage("{}")
	if arguments != nil {
		var err error
		if with, err = json.Marshal(arguments); err != nil {
			tb.Fatalf("the arguments of %s cannot be written as JSON: %s", tool, err)
		}
		if _, raw := arguments.(json.RawMessage); !raw && string(with) == "null" { // a map that is nil
			with = json.RawMessage("{}")
		}
	}
	if tool == "" {
		tb.Fatal("the name of the tool is empty: give one of those of Page.Tools")
	}
	called, unanswered, err := p.visit.Call(tb.Context(), tool, with)
	if err != nil {
		tb.Fatalf("calling %s: %s", tool, plain(err))
	}
	if unanswered != nil {
		tb.Error(textOf(unanswered))
	}
	return &Result{page: p, called: called}
}

// Result holds a call's result, or its error where it comes from [Page.CallError].
type Result struct {
	page   *Page
	called *run.Called
}

// JSON returns the result as a webtool has it in data: a string, an object, or {"content": …}.
func (r *Result) JSON() json.RawMessage { return r.called.JSON() }

// Match fails the test when the result is not as expected. The expectation is JSON text as a
// string, a []byte or a json.RawMessage, with matchers, or another Go value, which is written as
// JSON.
func (r *Result) Match(tb testing.TB, expectation any) {
	tb.Helper()
	want, err := expected(expectation)
	if err != nil {
		tb.Fatalf("the expectation cannot be read: %s", plain(err))
	}
	f, err := r.called.Match(tb.Context(), want)
	if err != nil {
		tb.Fatalf("the expectation cannot be read: %s", plain(err))
	}
	if f != nil {
		tb.Error(textOf(f))
	}
}

func expected(expectation any) (scenario.Value, error) {
	switch x := expectation.(type) {
	case string:
		v, err := scenario.Expected([]byte(x))
		if err != nil && !strings.ContainsAny(x, "{[\"") {
			return v, fmt.Errorf("%s; a text needs quotes, such as `%s`", plain(err), `"done"`)
		}
		return v, err
	case []byte:
		return scenario.Expected(x)
	}
	text, err := json.Marshal(expectation)
	if err != nil {
		return scenario.Value{}, err
	}
	return scenario.Expected(text)
}

// textOf is a failure as pagetools test prints it.
func textOf(f *report.Failure) string {
	return "\n" + strings.TrimRight((&report.Case{Failure: f}).Text(), "\n")
}

func fatal(tb testing.TB, f *report.Failure) {
	tb.Helper()
	if f != nil {
		tb.Fatal(textOf(f))
	}
}

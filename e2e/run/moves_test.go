package run_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/e2e/report"
	"github.com/pagetools/pagetools/e2e/run"
	"github.com/pagetools/pagetools/e2e/scenario"
)

// formPage returns a page with a form that submits itself, and a script.
func formPage(attributes, script string) string {
	return fmt.Sprintf(`<!doctype html><title>Form</title><h1>Form</h1><iframe name=inner srcdoc="<p>in"></iframe>
<form id=f toolname=send tooldescription="Sends the form" toolautosubmit %s><input name=q value=x><button>Go</button></form>
<script>const f = document.getElementById('f'); %s</script>`, attributes, script)
}

// toolPage returns a page with a tool.
func toolPage(execute string) string {
	return `<!doctype html><title>Tool</title><h1>Tool</h1><form id=f action=/done></form><script>
const tool = (name, execute) => document.modelContext.registerTool({ name, description: 'The tool ' + name, execute });
tool('send', ` + execute + `);</script>`
}

// done is the page that all of them lead to. Its tool comes a moment after it is loaded.
const done = `<!doctype html><title>Done</title><h1>Done</h1><p role=status>All done</p><script>
setTimeout(() => document.modelContext.registerTool({ name: 'next', description: 'The next tool', execute: () => 'reached' }), 30);
</script>`

// movers lists pages of which a call moves the tab, with the steps of a scenario.
var movers = []struct {
	name, page string
	via        string // page: the others have something else
	steps      string
	status     report.Status // in the page's own way; passed without it
}{
	{name: "a form with GET (K2)", page: formPage("action=/done", ""), steps: "[{call: send, page: {text: h1, matches: Done}}, {call: next, expect: reached}]"},
	{name: "its result", page: formPage("action=/done", ""),
		steps: "[{call: send, expect: {page: {status: 200, title: Done, statuses: [All done]}}}, {tools: {exactly: [next]}}]"},
	{name: "a form with POST", page: formPage("action=/done method=post", ""),
		steps: "[{call: send, page: {text: h1, matches: Done}}, {call: next, expect: reached}]"},
	{name: "a redirect after POST", page: formPage("action=/redirect method=post", ""),
		steps: "[{call: send, expect: {page: {title: Done}}, page: {text: h1, matches: Done}}, {call: next, expect: reached}]"},
	{name: "a slow document", page: formPage("action=/slow", ""), steps: "[{call: send, page: {text: h1, matches: Done}}, {call: next}]"},
	{name: "a document that leads on at once", page: formPage("action=/onwards", ""), steps: "[{call: send, page: {text: h1, matches: Done}}, {call: next}]"},
	{name: "a window of its own", page: formPage("action=/done target=_blank", ""),
		steps: "[{call: send, expect-error: {reason: PAGE_NAVIGATED, outcome: unknown}}, {page: {text: h1, matches: Form}}]"},
	{name: "a frame", page: formPage("action=/done target=inner", ""), steps: "[{call: send, expect: {page: {title: Done}}}, {page: {text: h1, matches: Form}}]"},
	{name: "no content", page: formPage("action=/nothing", ""), steps: "[{call: send, expect: {page: {status: 204}}}, {page: {text: h1, matches: Form}}, {call: send}]"},
	{name: "a download", page: formPage("action=/file", ""), steps: "[{call: send, expect: {page: {status: 200}}}, {page: {text: h1, matches: Form}}, {call: send}]"},
	{name: "a refusal", page: formPage("action=/missing", ""),
		steps: "[{call: send, expect-error: {code: TOOL_ERROR, reason: SITE_REFUSED, outcome: failed}, page: {text: h1, matches: Missing}}]"},
	{name: "a broken server", page: formPage("action=/broken method=post", ""), steps: "[{call: send, expect-error: {reason: SITE_REFUSED, outcome: unknown}}]"},
	{name: "a handler that assigns", page: formPage("", "f.onsubmit = (e) => { e.preventDefault(); location.assign('/done') }"),
		steps: "[{call: send, page: {text: h1, matches: Done}}, {call: next, expect: reached}]"},
	{name: "a handler that submits", page: formPage("action=/done", "f.onsubmit = (e) => { e.preventDefault(); f.submit() }"),
		steps: "[{call: send, page: {text: h1, matches: Done}}, {call: next, expect: reached}]"},
	{name: "a handler that sends later", page: formPage("", "f.onsubmit = async (e) => { e.preventDefault(); await fetch('/done', { method: 'POST' }); location.href = '/done' }"),
		steps: "[{call: send, page: {text: h1, matches: Done}}, {call: next, expect: reached}]"},
	{name: "a handler that stops it", page: formPage("", "f.onsubmit = (e) => e.preventDefault()"),
		steps: "[{call: send, expect-error: {reason: NOT_SUBMITTED}}, {page: {text: h1, matches: Form}}]"},
	{name: "a handler that answers", page: formPage("", "f.onsubmit = (e) => { e.preventDefault(); e.respondWith(Promise.resolve('kept')) }"),
		steps: "[{call: send, expect: kept}]"},
	{name: "a handler whose answer fails", page: formPage("", "f.onsubmit = (e) => { e.preventDefault(); e.respondWith(Promise.reject(new Error('no'))) }"),
		steps: "[{call: send, expect-error: {code: TOOL_ERROR, outcome: failed}}]"},
	{name: "a tool that assigns", page: toolPage("() => { location.assign('/done'); return 'went' }"),
		steps: "[{call: send, expect: went, page: {text: h1, matches: Done}}, {call: next, expect: reached}]"},
	{name: "a tool that submits", page: toolPage("() => { document.getElementById('f').submit(); return 'went' }"),
		steps: "[{call: send, expect: went, page: {text: h1, matches: Done}}, {wait-for: {tool: next}}, {call: next, expect: reached}]"},
	{name: "in the middle of a tool", page: toolPage("() => { location.href = '/done'; return new Promise(() => {}) }"),
		steps: "[{call: send, expect-error: {code: $any}, page: {text: h1, matches: Done}}, {tools: {exactly: [next]}}]"},
	{name: "a tool that changes the route", page: toolPage("() => { history.pushState(0, '', '/there'); setTimeout(() => tool('next', () => 'reached'), 300); return 'went' }"),
		steps: "[{call: send, expect: went}, {call: next, expect: reached}]"},
	{name: "a form for a person", page: strings.Replace(formPage("action=/done", ""), "toolautosubmit", "", 1), via: "page",
		steps: "[{call: send, page: {text: h1, matches: Done}}]", status: report.NotApplicable},
}

// movedSite serves the pages of movers by their number, and what they lead to.
func movedSite(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	page := func(path, text string, status int) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(status)
			_, _ = w.Write([]byte(text))
		})
	}
	page("/{$}", toolPage("() => 'start'"), http.StatusOK)
	for i := range movers {
		page(fmt.Sprintf("/%d", i), movers[i].page, http.StatusOK)
	}
	page("/done", done, http.StatusOK)
	page("/nothing", "", http.StatusNoContent)
	page("/missing", "<h1>Missing</h1>", http.StatusNotFound)
	page("/broken", "<h1>Broken</h1>", http.StatusInternalServerError)
	page("/onwards", "<script>location.replace('/done')</script>", http.StatusOK)
	mux.Handle("/redirect", http.RedirectHandler("/done", http.StatusSeeOther))
	mux.HandleFunc("/file", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Disposition", "attachment; filename=a.txt")
		_, _ = w.Write([]byte("a"))
	})
	mux.HandleFunc("/slow", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(300 * time.Millisecond): // the server works
		case <-r.Context().Done():
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(done))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// TestPagesThatMove: in the page's own way, too, a step ends when what it led to is there, with the
// result that the other ways have; or the case is not applicable there, with the reason.
func TestPagesThatMove(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	fmt.Fprintf(&b, "site: {url: %s}\ncases:\n", movedSite(t))
	want := map[string]report.Status{}
	for i, m := range movers {
		if !gatetest.Runs(i, 2) {
			continue
		}
		via := "page"
		if m.via == "" && gatetest.Runs(i, 6) { // in all ways
			via = "all"
		}
		fmt.Fprintf(&b, "- {name: %q, via: %s, steps: [{open: /%d}, %s}\n", m.name, via, i, m.steps[1:])
		want[m.name] = m.status
	}
	finished, err := run.Files(t.Context(), []*scenario.File{readScenario(t, b.String())}, run.Options{Open: open, Parallel: 8})
	if err != nil || len(finished.Cases) < len(want) {
		t.Fatalf("%d cases ended: %v", len(finished.Cases), err)
	}
	for _, c := range finished.Cases {
		status := report.Passed
		if c.Door == "page" && want[c.Name] != "" {
			status = want[c.Name]
		}
		if c.Status != status || status == report.NotApplicable && c.Reason == "" {
			t.Errorf("%s (%s) is %s: %s %+v", c.Name, c.Door, c.Status, c.Reason, c.Failure)
		}
	}
}

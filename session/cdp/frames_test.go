package cdp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/session"
)

// framesSite serves a top page and frames that register a tool "where", which
// tells the address and the name of the frame that it runs in.
func framesSite(t *testing.T, top string) string {
	t.Helper()
	const where = `<script>tool('where', () => origin + ' ' + window.name)</script>`
	return site(t, map[string]http.HandlerFunc{
		"/":       html(top),
		"/frame":  html(where),
		"/nested": html(where + `<iframe name=inner src="/frame"></iframe>`),
		"/other":  html(`<script>tool('other', () => 'other')</script>`),
		"/hang":   html(`<script>tool('hang', () => new Promise(() => {}))</script>`),
		"/loop":   html(`<script>tool('loop', () => { for (;;); })</script>`),
		"/policy": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Security-Policy", "sandbox allow-scripts")
			html(where)(w, r)
		},
	})
}

// offers lists the frames that have tools, as "path name".
func offers(all []session.ToolsChanged) (list []string) {
	for _, set := range all {
		for _, d := range set.Tools {
			list = append(list, set.Frame.Path+" "+d.Name)
		}
	}
	slices.Sort(list)
	return list
}

func (s *shown) untilOffers(want ...string) {
	s.t.Helper()
	slices.Sort(want)
	s.until(fmt.Sprintf("the frames offer %q", want), func(all []session.ToolsChanged) bool { return slices.Equal(offers(all), want) })
}

// in calls a tool of the frame.
func (s *shown) in(ctx context.Context, path, name string) (string, error) {
	s.t.Helper()
	inv := session.Invocation{Input: json.RawMessage("{}"), MaxBytes: 1 << 20}
	s.until("the frame "+path+" has "+name, func(all []session.ToolsChanged) bool {
		for _, set := range all {
			for _, d := range set.Tools {
				if set.Frame.Path == path && d.Name == name {
					inv.Document, inv.Tool = d.Document, d.ID
					return true
				}
			}
		}
		return false
	})
	r, err := came(s.Invoke(ctx, inv))
	return string(r.Data), err
}

// elsewhere is the same server under another site, which Chromium shows in
// another process.
func elsewhere(origin string) string { return strings.Replace(origin, "127.0.0.1", "localhost", 1) }

// TestFrames (P4, P5): which frames may have tools, where a call runs, and under
// which origin its tool is told.
func TestFrames(t *testing.T) {
	t.Parallel()
	other := framesSite(t, "")
	base := framesSite(t, `<script>tool('where', () => 'top')</script>
		<iframe name=same src="/frame"></iframe>
		<iframe name=inline srcdoc="<script>navigator.modelContext.registerTool({name: 'where', description: 'where', execute: () => 'inline'})</script>"></iframe>
		<iframe name=blank></iframe>
		<iframe name=nested src="/nested"></iframe>
		<iframe name=port allow="tools" src="`+other+`/frame"></iframe>
		<iframe name=site allow="camera; tools" src="`+elsewhere(other)+`/frame"></iframe>
		<iframe name=named allow="tools `+elsewhere(other)+`" src="`+elsewhere(other)+`/nested"></iframe>
		<iframe name=portdenied src="`+other+`/frame"></iframe>
		<iframe name=sitedenied src="`+elsewhere(other)+`/nested"></iframe>
		<iframe name=someoneelse allow="tools https://example.com" src="`+elsewhere(other)+`/frame"></iframe>
		<iframe name=selfdenied allow="tools 'none'" src="/frame"></iframe>
		<iframe name=sandboxed sandbox="allow-scripts" allow="tools *" src="/frame"></iframe>
		<iframe name=csp allow="tools *" src="/policy"></iframe>
		<script>blank.document.modelContext.registerTool({name: 'where', description: 'where', execute: () => 'blank'})</script>`)
	p := showPage(t, shared, base+"/")
	p.untilOffers(" where", "same where", "inline where", "blank where", "nested where", "nested/inner where", "port where", "site where",
		"named where", "named/inner where")
	for path, want := range map[string]string{
		"": "top", "same": base + " same", "inline": "inline", "blank": "blank", "nested": base + " nested", "nested/inner": base + " inner",
		"port": other + " port", "site": elsewhere(other) + " site", "named/inner": elsewhere(other) + " inner",
	} {
		got, err := p.in(t.Context(), path, "where")
		if err != nil || got != `"`+want+`"` {
			t.Errorf("%q: %s, %v", path, got, err)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, set := range p.sets {
		want := base
		switch set.Frame.Path {
		case "port":
			want = other
		case "site", "named", "named/inner":
			want = elsewhere(other)
		}
		if set.Tools[0].Origin != want || set.Frame.Depth != strings.Count(set.Frame.Path, "/")+min(len(set.Frame.Path), 1) {
			t.Errorf("%q: origin %s, depth %d", set.Frame.Path, set.Tools[0].Origin, set.Frame.Depth)
		}
	}
}

// TestFramesComeAndGo: what a frame offers follows what it shows, and its calls
// end with it.
func TestFramesComeAndGo(t *testing.T) {
	t.Parallel()
	other := framesSite(t, "")
	base := framesSite(t, `<script>
		const frame = (name) => document.querySelector('iframe[name=' + name + ']');
		tool('add', ({name, src}) => new Promise((loaded) => {
			const f = document.createElement('iframe'); f.name = name; f.allow = 'tools *'; f.src = src; f.onload = () => loaded(1); document.body.append(f) }));
		tool('go', ({name, src}) => { frame(name).src = src });
		tool('remove', ({name}) => { frame(name).remove() });
	</script><body>`)
	p := showPage(t, shared, base+"/")
	top := []string{" add", " go", " remove"}
	p.untilOffers(top...)
	for _, from := range []string{base, other, elsewhere(other)} {
		add := func(path string) { p.must("add", `{"name":"f","src":"`+from+path+`"}`) }
		add("/frame")
		p.untilOffers(append(top, "f where")...)
		p.must("go", `{"name":"f","src":"`+base+`/other"}`)
		p.untilOffers(append(top, "f other")...)
		p.must("go", `{"name":"f","src":"`+from+`/hang"}`)
		p.untilOffers(append(top, "f hang")...)
		for _, end := range []string{"go", "remove"} {
			errs := make(chan error, 1)
			before := p.calls.inFlight()
			go func() {
				_, err := p.in(t.Context(), "f", "hang")
				errs <- err
			}()
			for p.calls.inFlight() == before && len(errs) == 0 { // it may be over: the frame showed another document
				runtime.Gosched()
			}
			p.must(end, `{"name":"f","src":"`+from+`/hang"}`)
			if got := reasonOf(<-errs); got != "INTERNAL_ERROR PAGE_NAVIGATED unknown" && got != "WEBTOOL_NOT_FOUND  not_run" {
				t.Errorf("%s, %s: %s", from, end, got)
			}
			if end == "go" {
				p.untilOffers(append(top, "f hang")...)
			}
		}
		p.untilOffers(top...)
	}
}

// TestWorkers: a page's workers run, those of its frames and of other workers too.
func TestWorkers(t *testing.T) {
	t.Parallel()
	other := site(t, map[string]http.HandlerFunc{"/": html(`<script>` + workerScript + `</script>`)})
	p := showPage(t, shared, site(t, map[string]http.HandlerFunc{"/": html(`<iframe name=f allow=tools src="` + elsewhere(other) + `/"></iframe><script>` + workerScript + `</script>`)})+"/")
	for _, path := range []string{"", "f"} {
		if got, err := p.in(t.Context(), path, "work"); err != nil || got != `"inner"` {
			t.Errorf("in %q: %s, %v", path, got, err)
		}
	}
}

// workerScript registers a tool that starts a worker, which starts another one.
const workerScript = `tool('work', () => new Promise((r) => {
	const start = (text) => new Worker(URL.createObjectURL(new Blob([text])));
	start("const w = new Worker(URL.createObjectURL(new Blob(['postMessage(\\'inner\\')']))); w.onmessage = (e) => postMessage(e.data)").onmessage = (e) => r(e.data);
}));`

// TestLargeDocuments (B2): documents that declare more than is read at any time are read one
// after the other, each as far as there is room, and again when they change.
func TestLargeDocuments(t *testing.T) {
	const many = `for (let i = 0; i < 30; i++) tool(prefix + i, () => i, {description: 'x'.repeat(16000)});`
	address := site(t, map[string]http.HandlerFunc{
		"/": html(`<script>const prefix = 'top';` + many + `tool("more", () => { navigator.modelContext.unregisterTool("top0"); tool("late", () => 1); return 1; });</script>
			<iframe name=a src="/frame"></iframe><iframe name=b src="/frame"></iframe>`),
		"/frame": html(`<script>const prefix = 'f';` + many + `</script>`),
	})
	account := policy.NewAccount(1200<<10, nil)
	s := showPageWith(t, shared, session.TabOptions{Bytes: account}, address)
	offered := func(all []session.ToolsChanged) (n int, bytes int64, left bool) {
		for _, set := range all {
			n += len(set.Tools)
			for i := range set.Tools {
				bytes += set.Tools[i].Bytes()
			}
			left = left || slices.ContainsFunc(set.Findings, func(f bridge.Finding) bool { return f.Rule == "declarations-too-large" })
		}
		return n, bytes, left
	}
	s.until("what fits of all three documents", func(all []session.ToolsChanged) bool {
		n, bytes, left := offered(all)
		return n > 65 && bytes <= 1200<<10 && left && len(all) == 3
	})
	s.must("more", "{}")
	s.until("the new tool of a large document", func(all []session.ToolsChanged) bool { return slices.Contains(offers(all), " late") })
}

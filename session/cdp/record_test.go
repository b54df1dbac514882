package cdp

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/session"
)

// recorded is a page that does with its tools what a recorder notes.
const recorded = `<script>
window.heard = [];
addEventListener('message', (e) => heard.push(e.data));
addEventListener('unhandledrejection', (e) => e.preventDefault());
const one = new AbortController();
const declared = (name, more) => ({name, description: name, inputSchema: {type: 'object'}, execute() {}, ...more});
(async () => {
  await document.modelContext.registerTool(declared('kept', {annotations: {readOnlyHint: 'true'}}), {exposedTo: ['https://a.example']});
  await navigator.modelContext.registerTool(declared('gone'), {signal: one.signal});
  one.abort();
  document.modelContext.registerTool(declared('kept'));
  await document.modelContext.registerTool(declared('kept')).catch(() => {});
  document.modelContext.provideContext({tools: [declared('kept'), declared('new')]});
  agent.unregisterTool('new');
  postMessage('mine', '*');
})();
</script>
<form toolname=send tooldescription=Sends toolautosubmit action=/go method=post>
<label>Password <input name=pw type=password required autocomplete=off toolparamdescription=Secret></label><button name=b>Go</button></form>
<iframe name=pay src=/frame allow="camera; tools"></iframe>`

// TestRecord: what a page does with its tools is noted, with the line, and the page notices
// nothing of it.
func TestRecord(t *testing.T) {
	t.Parallel()
	origin := site(t, map[string]http.HandlerFunc{
		"/":      html(recorded),
		"/frame": html(`<script>tool('framed', () => {})</script>`),
	})
	p := showPageWith(t, shared, session.TabOptions{Record: true}, origin+"/")
	p.until("the frame's tool and the page's", func(all []session.ToolsChanged) bool {
		var names []string
		for _, c := range all {
			for _, d := range c.Tools {
				names = append(names, d.Name)
			}
		}
		slices.Sort(names)
		return slices.Equal(names, []string{"framed", "kept", "send"})
	})
	r, err := p.Probe().Record(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range r.Notes {
		line := fmt.Sprintf("%s %s %s", n.Kind, n.Tool, n.Surface)
		if n.Unhandled {
			line += " unhandled"
		}
		if n.Script == nil || n.Script.URL != origin+"/" || n.Script.Line < 10 || n.At <= 0 {
			t.Errorf("%s was at %+v, after %v ms", line, n.Script, n.At)
		}
		got = append(got, line)
	}
	want := []string{"register kept document", "register gone navigator", "unregister gone navigator",
		"refuse kept document unhandled", "refuse kept document", "replace kept provideContext", "register new provideContext", "unregister new agent"}
	if !slices.Equal(got, want) {
		t.Errorf("noted\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if first := r.Notes[0]; !slices.Equal(first.ExposedTo, []string{"https://a.example"}) || first.Annotations != `{"readOnlyHint":"true"}` {
		t.Errorf("the first one is %+v", first)
	}
	if refused := r.Notes[3]; !strings.Contains(refused.Message, "Duplicate") {
		t.Errorf("it was refused because of %q", refused.Message)
	}
	if len(r.Told) != 1 || r.Told[0].Tool != "framed" || r.Told[0].URL != origin+"/frame" || r.Told[0].Origin != origin {
		t.Errorf("the frame said %+v", r.Told)
	}
	if len(r.Frames) != 1 || !r.Frames[0].Allowed || r.Frames[0].Name != "pay" {
		t.Errorf("the frames are %+v", r.Frames)
	}
	if len(r.Forms) != 1 || r.Forms[0].Name != "send" || !r.Forms[0].AutoSubmit || len(r.Forms[0].Fields) != 1 {
		t.Fatalf("the forms are %+v", r.Forms)
	}
	if f := r.Forms[0].Fields[0]; f != (session.RecordedField{Name: "pw", Type: "password", Label: "Password", Description: "Secret", Autocomplete: "off", Required: true}) {
		t.Errorf("the field is %+v", f)
	}
	if heard, err := Evaluate(t.Context(), p.tab, "JSON.stringify(heard)"); err != nil || heard != `["mine"]` {
		t.Errorf("the page heard %s, %v", heard, err)
	}
	// The control: a page that nobody records tells nothing, and its frame sends nothing.
	plain := showPage(t, shared, origin+"/")
	if plain.Probe() != nil {
		t.Error("a page that is not recorded tells")
	}
}

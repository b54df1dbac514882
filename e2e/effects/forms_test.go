package effects

import (
	"net/http"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
)

// TestFormMismatch: what the schema of a form's tool admits and what its form takes are compared in
// the browser, and no script of the page sees that.
func TestFormMismatch(t *testing.T) {
	t.Parallel()
	form := func(name, fields string) string {
		return `<form toolname=` + name + ` tooldescription="Orders what is asked for.">` + fields + `</form>`
	}
	a, site := opened(t, map[string]http.HandlerFunc{"/": document(`<script>
		addEventListener('input', () => document.title = 'seen');
		addEventListener('change', () => document.title = 'seen');
		addEventListener('invalid', () => document.title = 'seen', true);
		</script>` +
		form("anchored", `<input name=code pattern="^[A-Z]{3}$" required>`) +
		form("unanchored", `<input name=code pattern="[A-Z]{3}" required>`) +
		form("steps", `<input type=number name=n min=1 step=5 required>`) +
		form("whole", `<input type=number name=n min=0 step=5 required>`) +
		form("all", `<input type=email name=mail required><input type=url name=page required><input type=date
			name=day min=2030-01-01 required><input type=time name=at required><input type=month name=month>
			<input type=color name=color><input type=range name=size><select name=kind required><option value="">Choose
			<option>tea<option>coffee</select><select name=kinds multiple><option>a<option>b</select><input type=radio
			name=way value=mail required><input type=radio name=way value=phone><input type=checkbox name=ok required>
			<textarea name=text required></textarea><input type=checkbox name=of value=x><input type=checkbox name=of
			value=y><input type=password name=secret minlength=12 maxlength=20>`) +
		form("named", `<input name=elements pattern="[A-Z]{3}" required><input name=contains><input name=append>
			<input name=getAttribute>`) +
		form("preset", `<select name=kind required><option>tea<option>coffee</select><input name=text value=preset required>`) +
		form("apart", `<input name=here required>`) + `<input form=outside name=far pattern="^[a-z]+$" required>
		<form id=outside toolname=outside tooldescription="Orders what is asked for."></form>`)})
	page, err := Look(t.Context(), a, site)
	if err != nil || len(page.Forms) != 9 {
		t.Fatalf("%d forms, %v", len(page.Forms), err)
	}
	want := map[string]string{
		"named":      `the schema admits {`,
		"unanchored": `the schema admits {"code":"- ABC -"}, and the form refuses it (code: `,
		"steps":      `the schema admits {"n":2}, and the form refuses it (n: `,
	}
	for _, f := range page.Forms {
		w, bad := want[f.Name]
		if !strings.HasPrefix(f.Mismatch, w) || !bad && f.Mismatch != "" {
			t.Errorf("%s: %q", f.Name, f.Mismatch)
		}
	}
	probe, err := a.Manager.Probe(t.Context(), bridge.Ref{Site: site})
	if err != nil {
		t.Fatal(err)
	}
	if title, err := probe.Evaluate(t.Context(), "document.title"); err != nil || title != `"page"` {
		t.Errorf("the page saw it: %s, %v", title, err)
	}
}

package effects

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/e2e/check"
	"github.com/pagetools/pagetools/session"
)

// Look returns what the page of a site declares, and what it did for that. The page is opened a
// second time meanwhile, whose tools are Again; nil when that failed. The pages of the site must
// record. Errors come from [session.Manager.See].
func Look(ctx context.Context, a *app.App, site string) (check.Page, error) {
	return LookAt(ctx, a, bridge.Ref{Site: site})
}

// LookAt is Look at the page of a session.
func LookAt(ctx context.Context, a *app.App, ref bridge.Ref) (check.Page, error) {
	again := make(chan []check.Tool, 1)
	go func() {
		seen, err := a.Manager.See(ctx, ref, true)
		if err != nil {
			again <- nil
			return
		}
		offered, _ := split(seen, tools(seen))
		again <- offered
	}()
	page, err := At(ctx, a, ref)
	page.Again = <-again
	if err != nil || len(page.Forms) == 0 {
		return page, err
	}
	probe, err := a.Manager.Probe(ctx, ref)
	if err != nil {
		return page, err
	}
	for i := range page.Forms {
		if f := &page.Forms[i]; f.Schema != nil {
			f.Mismatch = mismatch(ctx, probe, f.Name, f.Schema)
		}
	}
	return page, nil
}

// At returns what the page that ref names declares now, as in [session.Manager.See], and what it
// did for that.
func At(ctx context.Context, a *app.App, ref bridge.Ref) (check.Page, error) {
	seen, err := a.Manager.See(ctx, ref, false)
	if err != nil {
		return check.Page{}, err
	}
	declared := tools(seen)
	offered, refused := split(seen, declared)
	return check.Page{
		URL: seen.URL, Tools: offered, Rejected: refused, Findings: findings(a, ref.Site, seen), Left: seen.Catalog.Left(),
		Timeline: timeline(seen.Record), Frames: frames(seen), Forms: forms(seen),
	}, nil
}

// findings returns the findings of a site that other commands tell, too.
func findings(a *app.App, site string, seen *session.Seen) []bridge.Finding {
	all := append(slices.Clone(seen.Catalog.Findings()), a.Bridge.Findings(site)...)
	if a.APIs != nil {
		all = append(all, a.APIs.Findings(site)...)
	}
	return all
}

// tools are the declarations, with what was noted when they were registered.
func tools(seen *session.Seen) []check.Tool {
	all := make([]check.Tool, 0, len(seen.Declared))
	for _, d := range seen.Declared {
		t := check.Tool{
			Name: d.Name, Title: d.Title, Description: d.Description,
			Input: d.Input, Output: d.Output, Annotations: d.Annotations, Origin: d.Origin, Frame: d.Frame,
			Adapter: d.Adapter,
		}
		if d.Frame == "" {
			t.Surface = surface(seen, d.Name)
			if n := registration(seen.Record, d.Name); n != nil {
				t.Surface, t.Script, t.ExposedTo = n.Surface, position(n.Script), n.ExposedTo
				t.Others = noted(n.Others)
				if said := noted(n.Annotations); said != nil {
					t.Annotations = said
				}
			}
		}
		all = append(all, t)
	}
	return all
}

// noted returns JSON that a page was seen to write, or nil.
func noted(words string) json.RawMessage {
	if !json.Valid([]byte(words)) {
		return nil
	}
	return json.RawMessage(words)
}

// surface returns how a tool came that no script of the top document registered.
func surface(seen *session.Seen, name string) string {
	isForm := func(f session.RecordedForm) bool { return f.Declares && f.Name == name }
	if slices.ContainsFunc(seen.Record.Forms, isForm) {
		return "form"
	}
	return "manifest"
}

// registration is the last note of a tool that made it what it is.
func registration(r *session.Record, name string) *session.Note {
	for i := len(r.Notes) - 1; i >= 0; i-- {
		if n := &r.Notes[i]; n.Tool == name && (n.Kind == "register" || n.Kind == "replace") {
			return n
		}
	}
	return nil
}

func position(at *session.Place) *check.Position {
	if at == nil {
		return nil
	}
	return &check.Position{URL: at.URL, Line: at.Line, Column: at.Column}
}

// split tells the declarations that are offered from those that are not: those that the page script
// refused, with what the page did about that, and those that the bridge did not admit.
func split(seen *session.Seen, declared []check.Tool) (offered []check.Tool, refused []check.Rejected) {
	told := map[string]bool{}
	for i := range seen.Record.Notes {
		n := &seen.Record.Notes[i]
		if n.Kind != "refuse" {
			continue
		}
		told[n.Tool] = true
		t := check.Tool{Name: n.Tool, Title: n.Title, Description: n.Description, Surface: n.Surface, Script: position(n.Script),
			ExposedTo: n.ExposedTo, Others: noted(n.Others)}
		refused = append(refused, check.Rejected{Tool: t,
			Reason: reason(seen.Catalog, n.Tool), Message: n.Message, Unhandled: n.Unhandled})
	}
	known := func(f bridge.Finding) bool { // without a name it may be about the page
		return told[f.Tool] && (f.Tool != "" || f.Rule == "registration-refused")
	}
	refusals := map[string]bridge.Finding{}
	for _, f := range seen.Catalog.Findings() {
		if f.Refused && !known(f) {
			refusals[f.Tool] = f
		}
	}
	for _, t := range declared { // which the page script handed over, so that it is another one that it refused
		f, is := refusals[text.Brief(t.Name, maxFindingName)]
		if !is || f.Rule == "registration-refused" || f.Rule == "duplicate-name" && !slices.ContainsFunc(offered, func(o check.Tool) bool { return o.Name == t.Name }) {
			offered = append(offered, t)
			continue
		}
		delete(refusals, f.Tool)
		refused = append(refused, check.Rejected{Tool: t, Reason: f.Rule, Message: f.Message})
	}
	for _, f := range seen.Catalog.Findings() { // of what the page script did not hand over
		if _, left := refusals[f.Tool]; left && f.Refused && !known(f) {
			refused = append(refused, check.Rejected{Tool: check.Tool{Name: f.Tool}, Reason: f.Rule, Message: f.Message})
		}
	}
	return offered, refused
}

// maxFindingName limits how long the name of a tool is in a finding.
const maxFindingName = 64

// reason is the rule of the finding about a tool that was refused, or "".
func reason(c *bridge.Catalog, tool string) string {
	for _, f := range c.Findings() {
		if f.Tool == tool && f.Refused {
			return f.Rule
		}
	}
	return ""
}

func timeline(r *session.Record) []check.Event {
	var all []check.Event
	for _, n := range r.Notes {
		if n.Kind != "refuse" {
			at := time.Duration(n.At * float64(time.Millisecond))
			all = append(all, check.Event{At: at, Kind: n.Kind, Tool: n.Tool})
		}
	}
	return all
}

// frames returns the frames of the document, and the frames inside of them that
// registered a tool.
func frames(seen *session.Seen) []check.Frame {
	top := origin.Of(seen.URL)
	var all []check.Frame
	for _, f := range seen.Record.Frames {
		said := func(t session.RecordedFrame) bool { return t.URL == f.URL }
		all = append(all, check.Frame{
			URL: f.URL, Allowed: f.Allowed || cmp.Or(origin.Of(f.URL), top) == top,
			Registers: slices.ContainsFunc(seen.Record.Told, said),
		})
	}
	return all
}

func forms(seen *session.Seen) []check.Form {
	var all []check.Form
	for _, f := range seen.Record.Forms {
		form := check.Form{
			Name: f.Name, Description: f.Description, Declares: f.Declares,
			AutoSubmit: f.AutoSubmit, Action: f.Action,
		}
		for _, x := range f.Fields {
			form.Fields = append(form.Fields, check.Field{
				Name: x.Name, Type: x.Type, Label: x.Label, Description: x.Description,
				Autocomplete: x.Autocomplete,
			})
		}
		for _, d := range seen.Declared {
			if f.Declares && d.Name == f.Name && d.Frame == "" {
				form.Schema = d.Input
			}
		}
		all = append(all, form)
	}
	return all
}

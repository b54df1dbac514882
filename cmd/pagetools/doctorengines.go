package main

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/e2e/app"
)

// engines opens the page with the other kind of engine too, and says what each
// sees and where they differ. A difference is not a failure: it shows what another --engine
// would change.
func (d *doctor) engines(ctx context.Context, a *app.App, t *target,
	catalog *bridge.Catalog) error {
	kind := a.Kind
	if d.p.conf.AutoConnect { // which would ask its person again
		return nil
	}
	if kind == app.Native {
		d.ok("progress", "%s", nativeParts)
	}
	for _, other := range app.EngineKinds() {
		if other == kind {
			continue
		}
		seen, findings, err := d.see(ctx, other, t)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			d.ok("engines", "%s: %s; %s is not available here: %s", kind,
				text.Count(len(catalog.Tools()), "tool"), other, cause(err))
			continue
		}
		d.ok("engines", "%s: %s, %s: %s", kind, text.Count(len(catalog.Tools()), "tool"), other,
			text.Count(len(seen.Tools()), "tool"))
		if other == app.Native {
			d.ok("progress", "%s", nativeParts)
		}
		for _, line := range append(findingsOfOne(kind, a.Findings(t.Name), other, findings),
			differences(kind, catalog, other, seen)...) {
			d.ok("difference", "%s", line)
		}
	}
	return nil
}

// nativeParts says what the browser's own WebMCP does not do.
const nativeParts = "native tells no progress: of what a tool yields, only the result arrives"

// see opens the page with a kind of engine, and returns its tools. A folder is
// served already.
func (d *doctor) see(ctx context.Context, kind string,
	t *target) (*bridge.Catalog, []bridge.Finding, error) {
	served := *t.Target
	served.Folder = ""
	again := *t
	again.Target = &served
	pl := listing(&again)
	pl.engine = kind
	a, err := d.p.start(ctx, pl)
	if err != nil {
		return nil, nil, err
	}
	defer d.p.end(a)
	catalog, err := a.Manager.Await(ctx, bridge.Ref{Site: t.Name, Caller: bridge.Local()})
	if err != nil {
		return nil, nil, err
	}
	return catalog, a.Findings(t.Name), nil
}

// findingsOfOne says what one of two engines found and the other did not, one line each.
func findingsOfOne(one string, a []bridge.Finding, two string,
	b []bridge.Finding) (lines []string) {
	only := func(kind string, mine, others []bridge.Finding) {
		for _, f := range mine {
			if !slices.Contains(others, f) && f.Rule != bridge.RuleLate { // when it came differs each time
				lines = append(lines, "only "+kind+" finds: "+
					strings.TrimPrefix(f.Tool+": "+f.Message, ": "))
			}
		}
	}
	only(one, a, b)
	only(two, b, a)
	return lines
}

// differences says in which tools two catalogs differ, one line each, by name.
func differences(one string, a *bridge.Catalog, two string, b *bridge.Catalog) (lines []string) {
	inA, inB := byName(a), byName(b)
	names := slices.AppendSeq(slices.Collect(maps.Keys(inA)), maps.Keys(inB))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		x, y := inA[name], inB[name]
		switch {
		case y == nil:
			lines = append(lines, name+" is seen by "+one+" only")
		case x == nil:
			lines = append(lines, name+" is seen by "+two+" only")
		default:
			if parts := unlike(x, y); len(parts) > 0 {
				lines = append(lines, name+" has another "+strings.Join(parts, ", "))
			}
		}
	}
	return lines
}

func byName(c *bridge.Catalog) map[string]*bridge.Tool {
	all := map[string]*bridge.Tool{}
	for _, t := range c.Tools() {
		all[t.Name()] = t
	}
	return all
}

// unlike names what two declarations of a tool do not share.
func unlike(x, y *bridge.Tool) (parts []string) {
	for _, part := range []struct {
		name string
		same bool
	}{
		{"title", x.Title() == y.Title()},
		{"description", x.Description() == y.Description()},
		{"input schema", sameJSON(x.InputSchema(), y.InputSchema())},
		{"output schema", sameJSON(x.OutputSchema(), y.OutputSchema())},
		{"set of annotations", sameJSON(x.Annotations(), y.Annotations())},
		{"origin", x.Origin() == y.Origin()},
	} {
		if !part.same {
			parts = append(parts, part.name)
		}
	}
	return parts
}

// sameJSON compares texts as JSON; the order of members does not count.
func sameJSON(a, b json.RawMessage) bool {
	x, _ := bridge.ReadValue("", a) // they were admitted, or are not there
	y, _ := bridge.ReadValue("", b)
	return x.Equal(y)
}

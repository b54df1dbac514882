package scenario

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/e2e/effects"
	"github.com/pagetools/pagetools/e2e/hosts"
	"github.com/pagetools/pagetools/session"
)

// hostDoor is a door as it is under a host: what the host would not have of the page at that
// moment is neither listed nor called.
type hostDoor struct {
	door
	t    *attempt
	host hosts.Host
}

// underHost lets the page meet the interface of the host, and calls end in its time.
func (r *runner) underHost(o *app.Options) {
	h := r.o.Host
	if h == nil {
		return
	}
	if s := h.Surface; s != nil {
		o.Sites[0].Page.Tab.Surface = &session.Surface{Objects: s.Objects,
			Methods: append([]string{}, s.Methods...), Frozen: s.Frozen}
	}
	if t := h.Limits.CallTime; t != nil {
		o.Limits.CallTimeout = min(o.Limits.WithDefaults().CallTimeout, t.Max)
		o.Sites[0].Tools.CallTimeout = o.Limits.CallTimeout
	}
}

// row is what becomes of the page's tools in the host.
func (d *hostDoor) row(ctx context.Context) (hosts.Row, error) {
	page, err := effects.At(ctx, d.t.app, d.t.ref)
	if err != nil {
		return hosts.Row{}, err
	}
	row := hosts.Matrix(page.Tools, hosts.Facts(page), []hosts.Host{d.host}).Rows[0]
	for _, reason := range row.Reasons {
		d.t.note("%s: %s.", d.host.Name, reason.Text)
	}
	return row, nil
}

func (d *hostDoor) names(ctx context.Context) ([]string, error) {
	row, err := d.row(ctx)
	if err != nil {
		return nil, err
	}
	names, err := d.door.names(ctx)
	return slices.DeleteFunc(names, func(name string) bool { return row.Lost(name) != "" }), err
}

// call calls what the host has. What it does not have is not found, with the host's reason.
func (d *hostDoor) call(ctx context.Context, tool string, with json.RawMessage) (result, error) {
	row, err := d.row(ctx)
	if err != nil {
		return result{}, err
	}
	if why := row.Lost(tool); why != "" {
		return result{err: schema.MustEncode(map[string]any{"code": bridge.WebtoolNotFound,
			"message": why, "outcome": bridge.NotRun})}, nil
	}
	r, err := d.door.call(ctx, tool, with)
	if l := d.host.Limits.Result; l != nil && l.Max > 0 && r.err == nil && len(r.forms[0]) > l.Max {
		d.t.person.complain("the result has %d bytes; %s takes %d", len(r.forms[0]), d.host.Name, l.Max)
	}
	return r, err
}

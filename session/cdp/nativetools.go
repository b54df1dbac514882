package cdp

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/webmcp"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp/wire"
	"github.com/pagetools/pagetools/shim"
)

// firstForm says where the ids of forms begin: above those of a page script, and within
// what JavaScript counts to.
const firstForm = 1 << 52

// nativeState stores what the browser told the owner of a document.
type nativeState struct {
	forms []nativeForm
	ids   map[string]webmcp.ToolID // of scripts' tools, in newer browsers
	count int64                    // changes so far
	last  int64                    // id of a form
	wait  []chan struct{}          // closed when all forms are known
}

type nativeForm struct {
	id    int64
	tool  *webmcp.Tool
	title string
	known bool // the title is
}

// describe reads a form's title, which only its element has. It ends with the page.
func (n *native) describe(d *document, f nativeForm) {
	bounded, cancel := farewell()
	defer cancel()
	title := d.attributes(bounded, f.tool.BackendNodeID)["tooltitle"]
	n.watcher.tasks.add(context.Background(), 0, func() { n.titled(d, f.id, title) })
}

// attributes returns those of an element as it is now; nil when it is gone.
func (d *document) attributes(ctx context.Context, node cdp.BackendNodeID) map[string]string {
	described, err := cdp.Call(ctx, d.target, dom.DescribeNode, dom.DescribeNodeParams{BackendNodeID: node})
	if err != nil || described.Node == nil {
		return nil
	}
	return attributesOf(described.Node)
}

// titled makes a form known.
func (n *native) titled(d *document, id int64, title string) {
	for i := range d.native.forms {
		if f := &d.native.forms[i]; f.id == id {
			f.title, f.known = title, true
			n.formsChanged(d)
		}
	}
	d.native.tell()
}

// tell ends the waits for forms that are known by now.
func (s *nativeState) tell() {
	if slices.ContainsFunc(s.forms, func(f nativeForm) bool { return !f.known }) {
		return
	}
	for _, known := range s.wait {
		close(known)
	}
	s.wait = nil
}

// busyPatience limits how long a page that does something else may take to answer what belongs to a
// call that has ended.
const busyPatience = 3 * time.Second

// catchUp waits until the forms that the document has now are known. The browser reports
// a change in a task of its own: it comes before the answer to whatever it is asked next.
// A page that does not answer soon is not waited for.
func (n *native) catchUp(ctx context.Context, d *document) {
	bounded, cancel := context.WithTimeout(ctx, busyPatience)
	defer cancel()
	after, err := d.target.CallAfter(bounded, runtime.CommandEvaluate, nothing, nil)
	if err != nil {
		return
	}
	known := make(chan struct{})
	n.watcher.tasks.add(bounded, after, func() {
		d.native.wait = append(d.native.wait, known)
		d.native.tell()
	})
	select {
	case <-known:
	case <-d.gone:
	case <-bounded.Done():
	}
}

// event handles what the browser reports of tools and calls.
func (n *native) event(from *wire.Session, msg *cdproto.Message) {
	switch msg.Method {
	case cdproto.EventWebMCPToolsAdded:
		if ev, ok := wire.Decode[webmcp.EventToolsAdded](msg); ok {
			for _, x := range ev.Tools {
				n.added(n.documentOf(from, x.FrameID), x)
			}
		}
	case cdproto.EventWebMCPToolsRemoved:
		if ev, ok := wire.Decode[webmcp.EventToolsRemoved](msg); ok {
			for _, x := range ev.Tools {
				n.removed(n.documentOf(from, x.FrameID), x)
			}
		}
	case cdproto.EventWebMCPToolResponded:
		if ev, ok := wire.Decode[webmcp.EventToolResponded](msg); ok {
			n.responses.responded(nativeResponse{of: invocation{from, ev.InvocationID},
				after: n.watcher.frames.handled, EventToolResponded: ev})
		}
	}
}

// documentOf returns what a frame shows, nil when another target shows the frame.
func (n *native) documentOf(from *wire.Session, id cdp.FrameID) *document {
	f := n.watcher.frames.all[id]
	if f == nil || f.target != from {
		return nil
	}
	return f.doc
}

// added takes a tool that the browser found. Those of scripts are reported by the page
// script; here their ids are kept. A document without a policy that allows tools has
// none in the browser either.
func (n *native) added(d *document, x *webmcp.Tool) {
	switch {
	case d == nil:
	case x.BackendNodeID != 0:
		known := &d.native
		known.forms = slices.DeleteFunc(known.forms,
			func(old nativeForm) bool { return old.tool.Name == x.Name })
		known.last++
		form := nativeForm{id: firstForm + known.last, tool: x}
		known.forms = append(known.forms, form)
		go n.describe(d, form)
	case x.ToolID != "":
		if d.native.ids == nil {
			d.native.ids = map[string]webmcp.ToolID{}
		}
		d.native.ids[x.Name] = x.ToolID
		d.knowNative()
	}
}

func (n *native) removed(d *document, x *webmcp.RemovedTool) {
	if d == nil {
		return
	}
	known := &d.native
	if id, ok := known.ids[x.Name]; ok && id == x.ToolID {
		delete(known.ids, x.Name)
	}
	before := len(known.forms)
	known.forms = slices.DeleteFunc(known.forms, func(old nativeForm) bool {
		return old.tool.Name == x.Name && old.tool.ToolID == x.ToolID
	})
	if len(known.forms) < before {
		n.formsChanged(d)
		known.tell()
	}
}

// maxForms bounds the forms of a document.
const maxForms = 256

// formsChanged reports forms that came or went, when the page script has reported its
// tools: its first report has both.
func (n *native) formsChanged(d *document) {
	d.native.count++
	if d.state != nil && n.watcher.frames.shown.find(d.id) == d {
		n.watcher.report(d)
	}
}

// complete adds the forms of a document to what its page script reports.
func (n *native) complete(d *document, set *session.ToolsChanged) {
	for i, f := range d.native.forms {
		if i >= maxForms {
			break
		}
		if !f.known {
			continue
		}
		set.Tools = append(set.Tools, bridge.Declaration{
			ID: f.id, Document: d.id, Origin: d.origin, Frame: d.where.Path,
			Name: f.tool.Name, Title: f.title, Description: f.tool.Description,
			Input: json.RawMessage(f.tool.InputSchema), Annotations: nativeHints(f.tool.Annotations),
		})
	}
	set.Revision += d.native.count % revisions
	d.newest.Store(set.Revision)
	d.knowNative()
}

// nativeHints returns the claims that the browser passes on.
func nativeHints(a *webmcp.Annotation) json.RawMessage {
	if a == nil {
		return nil
	}
	claims := shim.Annotations{}
	for _, c := range []struct {
		set bool
		to  **bool
	}{
		{a.ReadOnly, &claims.ReadOnlyHint}, {a.UntrustedContent, &claims.UntrustedHint},
		{a.Consequential, &claims.ConsequentialHint}, {a.Debugging, &claims.Debugging},
	} {
		if c.set {
			*c.to = &c.set
		}
	}
	return annotations(claims)
}

// knowNative makes the tools of a document known to calls.
func (d *document) knowNative() {
	all := map[int64]nativeTool{}
	if d.state != nil {
		for _, x := range d.state.Tools {
			all[x.ID] = nativeTool{name: x.Name, id: d.native.ids[x.Name]}
		}
	}
	for _, f := range d.native.forms {
		alone := f.tool.Annotations != nil && f.tool.Annotations.Autosubmit
		all[f.id] = nativeTool{name: f.tool.Name, id: f.tool.ToolID, form: true, node: f.tool.BackendNodeID, alone: alone}
	}
	d.tools.Store(&all)
}

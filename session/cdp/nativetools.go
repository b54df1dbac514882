package cdp

import (
	"encoding/json"
	"slices"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/webmcp"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp/wire"
	"github.com/pagetools/pagetools/shim"
)

// firstForm is where the ids of forms begin: above those that a page script
// gives, and within what JavaScript counts to.
const firstForm = 1 << 52

// revisions is how many changes that only the browser knows of fit between two
// revisions of a page script.
const revisions = 1 << 20

// nativeState is what the owner knows of a document through the browser.
type nativeState struct {
	script *shim.State // the newest of the page script
	forms  []nativeForm
	ids    map[string]webmcp.ToolID // of scripts' tools, in newer browsers
	count  int64                    // changes so far
	last   int64                    // id of a form
}

type nativeForm struct {
	id    int64
	tool  *webmcp.Tool
	title string
	known bool // the title is
}

// titled is the title of a form, which only its element has.
type titled struct {
	doc   *document
	id    int64
	title string
}

// describeForm reads the element's title. It ends with the page.
func (t *tab) describeForm(d *document, f nativeForm) {
	bounded, cancel := farewell()
	defer cancel()
	found := titled{doc: d, id: f.id}
	described, err := cdp.Call(bounded, d.target, dom.DescribeNode, dom.DescribeNodeParams{BackendNodeID: f.tool.BackendNodeID})
	if err == nil && described.Node != nil {
		found.title = attributesOf(described.Node)["tooltitle"]
	}
	select {
	case t.native.titles <- found:
	case <-t.target.Gone():
	}
}

// formTitled makes a form known.
func (t *tab) formTitled(s *ownerState, found titled) {
	for i := range found.doc.native.forms {
		if f := &found.doc.native.forms[i]; f.id == found.id {
			f.title, f.known = found.title, true
			t.formsChanged(s, found.doc)
		}
	}
}

// nativeEvent handles what the browser tells of tools and calls.
func (t *tab) nativeEvent(s *ownerState, from *wire.Session, msg *cdproto.Message) {
	if t.native == nil {
		return
	}
	switch msg.Method {
	case cdproto.EventWebMCPToolsAdded:
		var ev webmcp.EventToolsAdded
		if decode(msg, &ev) {
			for _, x := range ev.Tools {
				t.nativeAdded(s, from, x)
			}
		}
	case cdproto.EventWebMCPToolsRemoved:
		var ev webmcp.EventToolsRemoved
		if decode(msg, &ev) {
			for _, x := range ev.Tools {
				t.nativeRemoved(s, from, x)
			}
		}
	case cdproto.EventWebMCPToolResponded:
		r := nativeResponse{after: s.handled}
		if decode(msg, &r.EventToolResponded) {
			r.of = invocation{from, r.InvocationID}
			t.native.responded(r)
		}
	}
}

// nativeAdded takes a tool that the browser found. Those of scripts are told by
// the page script; here their ids are kept. A document without a policy that
// allows tools has none in the browser either.
func (t *tab) nativeAdded(s *ownerState, from *wire.Session, x *webmcp.Tool) {
	f := s.frames[x.FrameID]
	if f == nil || f.doc == nil || f.target != from {
		return
	}
	n := &f.doc.native
	if x.BackendNodeID == 0 {
		if x.ToolID != "" {
			if n.ids == nil {
				n.ids = map[string]webmcp.ToolID{}
			}
			n.ids[x.Name] = x.ToolID
			t.knowNative(f.doc)
		}
		return
	}
	n.forms = slices.DeleteFunc(n.forms, func(old nativeForm) bool { return old.tool.Name == x.Name })
	n.last++
	form := nativeForm{id: firstForm + n.last, tool: x}
	n.forms = append(n.forms, form)
	go t.describeForm(f.doc, form)
}

func (t *tab) nativeRemoved(s *ownerState, from *wire.Session, x *webmcp.RemovedTool) {
	f := s.frames[x.FrameID]
	if f == nil || f.doc == nil || f.target != from {
		return
	}
	n := &f.doc.native
	if id, ok := n.ids[x.Name]; ok && id == x.ToolID {
		delete(n.ids, x.Name)
	}
	before := len(n.forms)
	n.forms = slices.DeleteFunc(n.forms, func(old nativeForm) bool {
		return old.tool.Name == x.Name && old.tool.ToolID == x.ToolID
	})
	if len(n.forms) < before {
		t.formsChanged(s, f.doc)
	}
}

// maxForms bounds the forms of a document.
const maxForms = 256

// formsChanged tells of forms that came or went, when the page script has told
// of its tools: its first word tells of both.
func (t *tab) formsChanged(s *ownerState, d *document) {
	d.native.count++
	if t.document(d.id) != d || d.native.script == nil {
		return
	}
	t.tell(s, d, d.native.script)
}

// withForms adds the forms of a document to what its page script tells.
func (t *tab) withForms(d *document, set *session.ToolsChanged) {
	if t.native == nil {
		return
	}
	for i, f := range d.native.forms {
		if i >= maxForms {
			break
		}
		if !f.known {
			continue
		}
		set.Tools = append(set.Tools, bridge.Declaration{
			ID: f.id, Document: d.id, Origin: d.origin, Frame: d.where.Path, Name: f.tool.Name, Title: f.title, Description: f.tool.Description,
			Input: json.RawMessage(f.tool.InputSchema), Annotations: nativeHints(f.tool.Annotations),
		})
	}
	set.Revision = set.Revision*revisions + d.native.count%revisions
	d.reported.Store(set.Revision)
	t.knowNative(d)
}

// nativeHints gives the claims that the browser passes on.
func nativeHints(a *webmcp.Annotation) json.RawMessage {
	if a == nil {
		return nil
	}
	claims := shim.Annotations{}
	for _, c := range []struct {
		set bool
		to  **bool
	}{{a.ReadOnly, &claims.ReadOnlyHint}, {a.UntrustedContent, &claims.UntrustedHint}, {a.Consequential, &claims.ConsequentialHint}, {a.Debugging, &claims.Debugging}} {
		if c.set {
			*c.to = &c.set
		}
	}
	return annotations(claims)
}

// knowNative makes the tools of a document known to calls.
func (t *tab) knowNative(d *document) {
	all := map[int64]nativeTool{}
	if d.native.script != nil {
		for _, x := range d.native.script.Tools {
			all[x.ID] = nativeTool{name: x.Name, id: d.native.ids[x.Name]}
		}
	}
	for _, f := range d.native.forms {
		all[f.id] = nativeTool{name: f.tool.Name, id: f.tool.ToolID, form: true, alone: f.tool.Annotations != nil && f.tool.Annotations.Autosubmit}
	}
	d.tools.Store(&all)
}

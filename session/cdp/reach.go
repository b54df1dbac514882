package cdp

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"

	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/session/cdp/wire"
)

// reach says how the document of a frame is found, and by which policy.
type reach struct {
	needed        bool
	via           *wire.Session // of the document that holds the frame
	frame         cdp.FrameID
	root          bool
	origin, about string // of the document, by the browser; about is its address when that has no origin
	parent        string // origin of the document that holds the frame
}

// holder stores the policy and origin that a frame's element sets for its document.
type holder struct {
	policy mayOffer
	origin string
}

// reach says what has to be found out before the document can be watched.
func (f *frame) reach() reach {
	if f.parent == nil || f.doc.policy == allowed {
		return reach{}
	}
	r := reach{needed: true, via: f.parent.doc.target, frame: f.id, root: f.root,
		origin: f.doc.origin, parent: f.parent.doc.origin}
	if f.doc.origin == "null" {
		r.about = f.doc.url
	}
	return r
}

// find asks the browser for the element that holds the frame, which has the
// policy, and for a handle of its document. Chromium needs no enabled domain for
// that.
func (r reach) find(ctx context.Context, d *document) (*holder, error) {
	held, err := cdp.Call(ctx, r.via, dom.GetFrameOwner, dom.GetFrameOwnerParams{FrameID: r.frame})
	if err != nil {
		return nil, err
	}
	described, err := cdp.Call(ctx, r.via, dom.DescribeNode,
		dom.DescribeNodeParams{BackendNodeID: held.BackendNodeID})
	if err != nil {
		return nil, err
	}
	if described.Node == nil {
		return nil, errNoFrame
	}
	attributes := attributesOf(described.Node)
	found := &holder{policy: denied, origin: r.origin}
	if sandbox, has := attributes["sandbox"]; has &&
		!slices.Contains(strings.Fields(strings.ToLower(sandbox)), "allow-same-origin") {
		found.origin = "null"
		return found, nil
	}
	if r.about == "about:blank" || r.about == "about:srcdoc" {
		found.origin = r.parent
	}
	if !toolsAllowed(attributes, found.origin, r.parent) {
		return found, nil
	}
	found.policy = allowed
	if r.root {
		return found, nil
	}
	if described.Node.ContentDocument == nil {
		return nil, errNoFrame
	}
	resolved, err := cdp.Call(ctx, r.via, dom.ResolveNode,
		dom.ResolveNodeParams{BackendNodeID: described.Node.ContentDocument.BackendNodeID})
	if err != nil {
		return nil, err
	}
	d.object.Store(&resolved.Object.ObjectID)
	return found, nil
}

// errNoFrame says that a frame went away, or to another target, meanwhile.
var errNoFrame = errors.New("the frame has no document here")

func attributesOf(n *cdp.Node) map[string]string {
	all := map[string]string{}
	for i := 0; i+1 < len(n.Attributes); i += 2 {
		all[strings.ToLower(n.Attributes[i])] = n.Attributes[i+1]
	}
	return all
}

// toolsAllowed decides by the policy-controlled feature "tools" whether the
// document in a frame may have tools. Its default is the origin of the document
// that holds the frame; the frame's attribute allow says otherwise (Permissions
// Policy, "define an inherited policy for a feature in a container at an origin").
func toolsAllowed(attributes map[string]string, from, parent string) bool {
	if from == "null" {
		return false
	}
	list, declared := toolsDirective(attributes["allow"])
	if !declared {
		return from == parent
	}
	for _, entry := range list {
		switch strings.ToLower(entry) {
		case "*":
			return true
		case "'none'":
		case "'self'":
			if from == parent {
				return true
			}
		case "'src'":
			if from == sourceOrigin(attributes, parent) {
				return true
			}
		default:
			if from == origin.Of(entry) {
				return true
			}
		}
	}
	return false
}

// toolsDirective returns the allow list of "tools" in an attribute allow. Without a
// list it is the origin of the frame's attribute src.
func toolsDirective(allow string) (list []string, declared bool) {
	for directive := range strings.SplitSeq(allow, ";") {
		words := strings.Fields(directive)
		if len(words) == 0 || !strings.EqualFold(words[0], "tools") {
			continue
		}
		if len(words) == 1 {
			return []string{"'src'"}, true
		}
		return words[1:], true // the first one counts
	}
	return nil, false
}

// sourceOrigin is the origin that a frame's attributes name.
func sourceOrigin(attributes map[string]string, parent string) string {
	src := strings.TrimSpace(attributes["src"])
	if _, inline := attributes["srcdoc"]; inline || src == "" {
		return parent
	}
	base, err := url.Parse(parent + "/")
	if err != nil {
		return ""
	}
	u, err := base.Parse(src)
	if err != nil {
		return ""
	}
	if u.Scheme == "about" {
		return parent
	}
	return origin.OfURL(u)
}

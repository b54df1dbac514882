package cdp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/shim"
)

// What a submit that a script of the page took has started is over when no request of it is under
// way, and the document has not changed for settledAfter. A document that always changes is looked
// at after quietPatience. One in which nothing happens at all is given idlePatience, and one that
// shows that it is at work busyPage.
const (
	settledAfter  = 250 * time.Millisecond
	busyPage      = 3 * time.Second
	quietPatience = 2 * time.Second
	idlePatience  = time.Second
)

// answersWorld is the name of the world in which documents are asked what they show.
const answersWorld = "pagetools answers"

// inWorld runs an expression in a world of its own in the document, where the page changes nothing.
// It returns how many events of the page came before the reply.
func (d *document) inWorld(ctx context.Context, expression string) (string, int64, error) {
	world, err := cdp.Call(ctx, d.target, page.CreateIsolatedWorld,
		page.CreateIsolatedWorldParams{FrameID: d.frameID, WorldName: answersWorld})
	if err != nil {
		return "", 0, err
	}
	yes := true
	var res evaluateResult
	after, err := d.target.CallAfter(ctx, runtime.CommandEvaluate, runtime.EvaluateParams{Expression: expression,
		ContextID: world.ExecutionContextID, AwaitPromise: &yes, ReturnByValue: &yes, Silent: &yes}, &res)
	if err != nil {
		return "", after, err
	}
	said, err := res.text()
	return said, after, err
}

// watchForm notes what the page does from now on, for a call of a form.
func (c *call) watchForm(ctx context.Context) {
	began := make(chan int64, 1)
	if !c.of.tasks.add(ctx, 0, func() { c.of.traffic.begin(); began <- c.of.submissions.frames.handled }) {
		return
	}
	select {
	case c.since = <-began:
		c.watches = true
	case <-c.of.tasks.gone:
		return
	}
	stores(c.doc.target, c.doc.origin, true)
	_, _, _ = c.doc.inWorld(ctx, shim.Arm()) // a document that goes away is told by the call
}

// unwatchForm ends what watchForm began.
func (c *call) unwatchForm() {
	if c.watches {
		c.watches = false
		stores(c.doc.target, c.doc.origin, false)
		c.of.tasks.add(context.Background(), 0, c.of.traffic.end) // or the page is gone
	}
}

// pageAnswer has the words of a page about a form, in the shape of details.page, and of the result
// without JSON-LD.
type pageAnswer struct {
	shim.Page

	Requests []sentRequest   `json:"requests,omitempty"`
	Linked   json.RawMessage `json:"jsonld,omitempty"` // in errors
}

// sentRequest is a request of a page's script.
type sentRequest struct {
	Method  string `json:"method"`
	Address string `json:"address"`
	Status  int    `json:"status"` // 0: no answer came
}

// maxSent bounds the requests that are told, and maxErrorLinked the JSON-LD of an error, in bytes.
const maxSent, maxErrorLinked = 16, 64 << 10

// loaded makes a step of a document that came, which the browser says has the status; 0 when it
// does not.
func loaded(d *document, p *shim.Page, status int) bridge.Step {
	if status != 0 {
		p.Status = status
	}
	return concluded(d, &pageAnswer{Page: *p})
}

// withoutContent makes a step of a response without a document: one without content, or a file.
func withoutContent(d *document, r *request) bridge.Step {
	return concluded(d, &pageAnswer{Page: shim.Page{Status: r.status, Address: r.url,
		Alerts: []string{}, Statuses: []string{}}})
}

// concluded makes a step of what a page says: its JSON-LD, or else what it shows. A site that
// refused is an error.
func concluded(d *document, a *pageAnswer) bridge.Step {
	s := bridge.Step{Document: d.id, Revision: max(d.newest.Load(), d.revision.Load()*revisions)}
	switch {
	case a.Status >= http.StatusBadRequest:
		s.Err = a.refused(a.Status)
	case a.TooLarge:
		s.Err = bridge.TooLarge()
	case a.Page.Linked != nil:
		s.Data = a.Page.Linked
	default:
		s.Data = schema.MustEncode(map[string]any{"page": a})
	}
	return s
}

// refused makes the error of a site that refused a form with a status.
func (a *pageAnswer) refused(status int) *bridge.Error {
	outcome := bridge.Failed
	if status >= http.StatusInternalServerError || status == 0 {
		outcome = bridge.Unknown
	}
	what := fmt.Sprintf("The site answered the form with status %d", status)
	if status == 0 {
		what = "The form was sent, and the site did not answer"
	}
	return a.fail(bridge.SiteRefused, outcome, what)
}

// fail makes an error with the page's own words.
func (a *pageAnswer) fail(reason bridge.Reason, outcome bridge.Outcome, what string) *bridge.Error {
	said := ""
	switch {
	case len(a.Alerts) > 0:
		said = a.Alerts[0]
	case len(a.Invalid) > 0:
		if said = a.Invalid[0].Message; said == "" {
			what += ", and the field " + text.Quote(a.Invalid[0].Field) + " is invalid"
		} else {
			said = a.Invalid[0].Field + ": " + said
		}
	case len(a.Statuses) > 0:
		said = a.Statuses[0]
	case a.Title != "" && reason == bridge.SiteRefused:
		said = a.Title
	}
	if said != "" {
		what += ", and the page says " + text.Quote(said)
	}
	if len(a.Page.Linked) <= maxErrorLinked {
		a.Linked = a.Page.Linked
	}
	return bridge.Errorf(bridge.ToolError, reason, outcome, "%s.", what).Detail("page", a)
}

// handled makes a step of a page whose script took the submit, and sent requests or none. fault
// says what the script threw, if it did.
func handled(d *document, p *shim.Page, sent []request, fault string) bridge.Step {
	a := &pageAnswer{Page: *p}
	a.Status = 0 // of the document that was there before
	for _, r := range sent[:min(len(sent), maxSent)] {
		a.Requests = append(a.Requests, sentRequest{r.method, r.url, r.status})
	}
	s := bridge.Step{Document: d.id, Revision: max(d.newest.Load(), d.revision.Load()*revisions)}
	complains, sends := len(a.Alerts)+len(a.Invalid) > 0, func(r request) bool { return r.changes() && !r.beacon() }
	own := func(r request) bool {
		return !r.beacon() || r.kind == network.ResourceTypeWebSocket || origin.Of(r.url) == d.origin
	}
	switch refused := decisive(d, sent, complains || len(a.Changed) > 0); {
	case refused != nil:
		s.Err = a.refused(refused.status)
	case fault != "" && !complains && !slices.ContainsFunc(sent, sends):
		s.Err = a.threw(fault, len(sent) > 0)
	case !complains && (len(a.Changed) > 0 || slices.ContainsFunc(sent, own)), slices.ContainsFunc(sent, sends):
		return concluded(d, a)
	case complains && len(sent) > 0:
		s.Err = a.fail(bridge.NotSubmitted, bridge.Failed, "The page stopped the form, and only read from the site or reported to it")
	case complains:
		s.Err = a.fail(bridge.NotSubmitted, bridge.Failed, "The page stopped the form, and nothing was sent")
	default:
		s.Err = a.fail(bridge.NotSubmitted, bridge.Unknown,
			"The page stopped the form: nothing was sent, and nothing in the page changed")
	}
	return s
}

// threw makes the error of a page whose script took a submit and failed. What it had done until
// then nobody knows, where it did anything.
func (a *pageAnswer) threw(fault string, read bool) *bridge.Error {
	outcome, what := bridge.Failed, "nothing was sent"
	if len(a.Changed) > 0 {
		outcome = bridge.Unknown
	}
	if read {
		what = "only read from the site"
	}
	return a.fail(bridge.NotSubmitted, outcome, "The page stopped the form, "+what+", and its script failed: "+text.Quote(fault))
}

// decisive returns the request that the site refused, or did not answer; nil when all went well.
// Those that change something at the document's own site count before those of others, and before
// what is only read. Of a request that was repeated the last one counts, and what the page gave up
// or still waits for counts only where it may have changed something. Beacons, of which pages see
// no answer, count when nothing else says what came of the submit.
func decisive(d *document, all []request, shown bool) *request {
	sent := make([]request, 0, len(all))
	for i, r := range all {
		repeated := slices.ContainsFunc(all[i+1:], r.same)
		idle := !r.changes() && r.status == 0 && (r.given || !r.ended)
		foreign := r.beacon() && (shown || origin.Of(r.url) != d.origin)
		if !repeated && !idle && !foreign {
			sent = append(sent, r)
		}
	}
	for _, group := range []func(*request) bool{
		func(r *request) bool { return r.changes() && origin.Of(r.url) == d.origin },
		func(r *request) bool { return r.changes() },
		func(r *request) bool { return origin.Of(r.url) == d.origin },
		func(*request) bool { return true },
	} {
		some := false
		for i := range sent {
			r := &sent[i]
			if !group(r) {
				continue
			}
			some = true
			if status := r.status; status == 0 || status >= http.StatusBadRequest {
				return r
			}
		}
		if some {
			return nil
		}
	}
	return nil
}

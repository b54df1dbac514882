package app

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/e2e/har"
	"github.com/pagetools/pagetools/e2e/trace"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/transport/console"
)

// traceOf makes the trace of a call, with what was recorded of its page; nil is nothing. address is the
// site's: viewers show no picture without one.
func traceOf(c *console.TracedCall, x *recordedCall, address string) *trace.Trace {
	whole := &trace.Action{Title: "call " + c.Tool, Began: c.Began, Ended: c.Ended, Error: failureOf(c),
		Params: params("site", c.Site, "tool", c.Tool, "caller", c.Caller, "session", c.Session, "version", c.Version, "process", c.Node),
		Result: params("status", c.Status, "outcome", c.Outcome)}
	if c.Kept {
		whole.Params = append(whole.Params, params("arguments", string(c.Input))...)
		whole.Result = append(whole.Result, params("result", string(c.Result))...)
	} else {
		whole.Log = append(whole.Log, "pagetools keeps no arguments and no result of this call.")
	}
	if c.Decision != "" {
		whole.Log = append(whole.Log, fmt.Sprintf("decision: %s: %s (%s)", c.Decision, c.Rule, c.Layer))
	}
	if c.Approver != "" {
		whole.Log = append(whole.Log, "approved, or refused, by "+c.Approver)
	}
	t := &trace.Trace{Title: c.Tool + " on " + c.Site, URL: cmp.Or(address, "about:blank"), Began: c.Began, Actions: []*trace.Action{whole}}
	hidden := schema.Conceal(nil)
	ran := stages(whole, c)
	switch {
	case x != nil:
		if ran == nil { // nobody watched the call
			ran = &trace.Action{Title: "ran in the page", Began: x.began, Ended: x.ended}
			whole.Children = append(whole.Children, ran)
		}
		hidden = schema.Conceal(x.secrets)
		x.tell(t, ran)
	case c.Status == "running":
		whole.Log = append(whole.Log, "The call is not over: what is recorded of its page comes with its end.")
	default:
		whole.Log = append(whole.Log, "The page was not recorded: its pictures, console and network are not here.")
	}
	t.Mask(func(s string) string { return quiet(hidden.In(s)) })
	return t
}

// params makes params of names and texts, without those that are empty.
func params(all ...string) (out []trace.Param) {
	for pair := range slices.Chunk(all, 2) {
		if pair[1] != "" {
			out = append(out, trace.Param{Name: pair[0], Text: pair[1]})
		}
	}
	return out
}

// failureOf says why a call failed; "" is success, or not yet.
func failureOf(c *console.TracedCall) string {
	if c.Code == "" {
		return ""
	}
	return strings.Trim(c.Code+" "+c.Reason, " ") + ": " + cmp.Or(c.Failure, "pagetools keeps no more of it")
}

// stages adds the stages of a call, and returns the one in the page; nil: it did not come so far.
func stages(whole *trace.Action, c *console.TracedCall) (ran *trace.Action) {
	add := func(title string, from, to time.Time) *trace.Action {
		if to.IsZero() {
			to = c.Ended
		}
		a := &trace.Action{Title: title, Began: from, Ended: to}
		whole.Children = append(whole.Children, a)
		return a
	}
	first := c.Ran
	asked := !c.Asked.IsZero() && (c.Ran.IsZero() || c.Asked.Before(c.Ran))
	if asked {
		first = c.Asked
	}
	add("queued: checked, and waits for its page", c.Began, first)
	if asked {
		answered := c.Answered
		if !c.Ran.IsZero() && answered.After(c.Ran) { // the page asked, too
			answered = c.Ran
		}
		add("asked a person for consent", c.Asked, answered)
	}
	if !c.Ran.IsZero() {
		ran = add("ran in the page", c.Ran, c.Ended)
	}
	if !c.Delivered.IsZero() {
		add("delivered to its caller", c.Ended, c.Delivered)
		whole.Ended = c.Delivered
	}
	return ran
}

// tell adds what was recorded of the page.
func (x *recordedCall) tell(t *trace.Trace, ran *trace.Action) {
	x.following.Lock()
	defer x.following.Unlock()
	ran.Before, ran.After = x.pictures[0], x.pictures[1]
	if x.problem != "" {
		ran.Log = append(ran.Log, x.problem)
	}
	for _, q := range x.questions {
		own := *q
		own.Params, own.Result = slices.Clone(q.Params), slices.Clone(q.Result) // they are masked
		ran.Children = append(ran.Children, &own)
	}
	for _, l := range x.lines {
		ran.Log = append(ran.Log, fmt.Sprintf("progress after %s: %s", l.at.Sub(ran.Began).Round(time.Millisecond), l.text))
	}
	if x.seen.Cut {
		ran.Log = append(ran.Log, "The page said, or asked for, more than is recorded.")
	}
	for _, m := range x.seen.Messages {
		t.Messages = append(t.Messages, trace.Message{At: m.At, Level: m.Level, Text: m.Text, Uncaught: m.Kind == "exception", URL: m.URL, Line: m.Line})
	}
	t.Requests = requests(&x.seen)
	for i := range t.Requests {
		quietHeaders(&t.Requests[i])
	}
}

func requests(seen *session.Traced) (all []trace.Request) {
	for i := range seen.Requests {
		x := &seen.Requests[i]
		all = append(all, trace.Request{At: x.At, Took: x.Took, Method: x.Method, URL: x.URL, Status: x.Status, StatusText: x.StatusText,
			Failed: x.Failed, Protocol: x.Protocol, MIMEType: x.MIMEType, Size: x.Size, RequestHeaders: x.Headers, ResponseHeaders: x.Answered})
	}
	return all
}

// harOf writes the requests of a page as HAR 1.2, without bodies, logins and secrets.
func harOf(version, title string, began time.Time, seen *session.Traced, secrets *schema.Concealer) ([]byte, error) {
	hidden := func(s string) string { return quiet(secrets.In(s)) }
	f := &har.File{Log: har.Log{Version: "1.2", Creator: har.Creator{Name: "pagetools", Version: cmp.Or(version, "dev")},
		Comment: "Without bodies and cookies; logins and secrets are ***."}}
	if seen.Cut {
		f.Log.Comment += " The page asked for more than is recorded."
	}
	const page = "page_1"
	f.Log.Pages = []har.Page{{Started: began.UTC().Format("2006-01-02T15:04:05.000Z"), ID: page, Title: text.Escape(hidden(title))}}
	all := requests(seen)
	for i := range all {
		r := &all[i]
		quietHeaders(r)
		r.Mask(hidden)
		r.URL, _, _ = strings.Cut(r.URL, "#")
		e := r.Entry(text.Escape, text.Escape)
		e.Page = page
		e.Response.Content.Comment = "bodies are not recorded"
		f.Log.Entries = append(f.Log.Entries, e)
	}
	return f.Text()
}

// What holds logins, by the end of its name: words that say so wherever they stand, and words that do
// when they are words of their own.
const (
	loginWords = `token|secret|passw(?:or)?d|passphrase|credential|signature|assertion|samlresponse|sessionid|api[-_.]?key|authorization|jwt`
	shortWords = `session|sid|sig|pwd|code|otp|pin|key|auth|cookie|csrf|xsrf`
	loginName  = `(?:[\w.\-]*(?:` + loginWords + `)s?|(?:[\w.\-]*[-_.])?(?:` + shortWords + `)s?)`
)

var (
	loginParam  = regexp.MustCompile(`(?i)((?:^|[?&#;\s"'])` + loginName + `=)[^&#;\s"'<>]+`)
	loginHeader = regexp.MustCompile(`(?i)^` + loginName + `$`)
	bearer      = regexp.MustCompile(`(?i)\b((?:bearer|basic)\s+)[\w\-.~+/=]{6,}`)
)

// quiet masks logins in a text of a page: parameters of addresses that are called like one, and
// credentials of HTTP.
func quiet(s string) string {
	if strings.Contains(s, "=") {
		s = loginParam.ReplaceAllString(s, "${1}"+schema.Masked)
	}
	return bearer.ReplaceAllString(s, "${1}"+schema.Masked)
}

// quietHeaders masks the values of headers that are called like a login.
func quietHeaders(r *trace.Request) {
	for _, h := range []*http.Header{&r.RequestHeaders, &r.ResponseHeaders} {
		out := make(http.Header, len(*h))
		for name, values := range *h {
			if loginHeader.MatchString(name) {
				values = []string{schema.Masked}
			}
			out[name] = values
		}
		*h = out
	}
}

package webtool

import (
	"log/slog"
	"net/http"
	"slices"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/transport"
)

// post runs a call.
func (f *Face) post(w http.ResponseWriter, r *http.Request) {
	body, err := transport.ReadBody(r)
	if err != nil {
		transport.WriteError(w, r, bridge.AsError(err))
		return
	}
	m, e := decode(body)
	if len(body) > transport.PlainBody && len(m.request.Text()) <= transport.PlainBody {
		e = transport.TooLarge(transport.PlainBody) // only arguments are long: the bridge judges these by their tool
	}
	if e == nil {
		e = m.addResume(r.Header)
	}
	reply := codecs[m.older]
	if e != nil {
		reply.fail(w, r, e, false)
		return
	}
	call := f.call(r, &m)
	if call.Key, e = transport.KeyOf(r.Header); e != nil {
		reply.fail(w, r, e, false)
		return
	}
	if e := f.wrongAction(call, &m); e != nil {
		reply.fail(w, r, e, true)
		return
	}
	if m.correlation != "" {
		f.log.DebugContext(r.Context(), "webtool: correlation", slog.String("request", call.ID),
			slog.String("session_id", text.Short(m.correlation, transport.MaxSession)))
	}
	call.Form, call.TellsChanges = formOf(m.older, call.Single), !m.older
	transport.Serve(w, r, f.b, call, func(end bridge.Step) {
		if end.Err != nil {
			reply.fail(w, r, transport.WithFiles(r, end), !call.Single && isUnknownAction(end.Err))
		} else {
			reply.succeed(w, r, end)
		}
	})
}

// call makes the bridge's call of a message.
func (f *Face) call(r *http.Request, m *message) *bridge.Call {
	c := &bridge.Call{
		Site: r.PathValue("site"), Tool: m.action, Session: m.session, Caller: transport.CallerOf(r.Context()),
		Input: m.request, Config: m.config, Version: m.version, ID: transport.RequestID(r.Context()),
		TraceParent: transport.TraceParent(r.Header.Values("Traceparent")...),
	}
	if action := r.PathValue("action"); action != "" {
		c.Tool, c.Single = action, true
	}
	return c
}

// wrongAction refuses an action that differs from the path's. It does not reveal whether the site
// exists: a caller that may not know it gets the bridge's own answer.
func (f *Face) wrongAction(c *bridge.Call, m *message) *bridge.Error {
	if !c.Single || m.action == "" || m.action == c.Tool || !c.Caller.Can(bridge.MayCall) {
		return nil
	}
	if !slices.ContainsFunc(f.b.Sites(c.Caller),
		func(s bridge.Site) bool { return s.Name == c.Site }) {
		return nil
	}
	return bridge.Errorf(bridge.WebtoolNotFound, "", bridge.NotRun,
		"The action %q is not the one of this webtool: leave it out, or send %q.", text.Brief(m.action, transport.MaxSession), c.Tool).
		Detail("reason", "action").Detail("actions", []string{c.Tool})
}

// isUnknownAction reports whether the webtool exists and its action does not: both errors
// have one code.
func isUnknownAction(e *bridge.Error) bool {
	return e.Code == bridge.WebtoolNotFound && e.Details["reason"] == "action"
}

package openapi

import (
	"net/http"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/transport"
)

// call runs a tool: the body is the arguments, the reply the data. What a session, a key and the
// token of a call that waits for a person are, is said beside them.
func (f *Face) call(w http.ResponseWriter, r *http.Request) {
	c, e := f.decode(r)
	if e != nil {
		transport.WriteError(w, r, e)
		return
	}
	transport.Serve(w, r, f.b, c, func(end bridge.Step) {
		if end.Err != nil {
			transport.SetResume(w, end.Err)
			transport.WriteError(w, r, transport.WithFiles(r, end))
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		transport.LinkFiles(w, r, end.Files)
		transport.WriteBytes(w, r, http.StatusOK, end.Data)
	})
}

// form names the form of the replies of tools.
const form = "tools"

// Forms returns the form of the replies of tools, by Call.Form.
func Forms() map[string]transport.Form {
	return map[string]transport.Form{form: func(r *http.Request, end bridge.Step) (int, []byte) {
		if end.Err != nil {
			return transport.Status(end.Err), transport.ErrorText(transport.WithFiles(r, end))
		}
		return http.StatusOK, end.Data
	}}
}

func (f *Face) decode(r *http.Request) (*bridge.Call, *bridge.Error) {
	body, err := transport.ReadBody(r)
	if err != nil {
		return nil, bridge.AsError(err)
	}
	if len(body) == 0 {
		body = []byte("{}") // a tool without arguments
	}
	c := &bridge.Call{Site: r.PathValue("site"), Tool: r.PathValue("tool"), Caller: transport.CallerOf(r.Context()), Form: form,
		ID: transport.RequestID(r.Context()), TraceParent: transport.TraceParent(r.Header.Values("Traceparent")...)}
	if c.Input, err = bridge.ReadValue("The body", body); err != nil {
		return nil, bridge.AsError(err)
	}
	var e *bridge.Error
	if c.Session, e = transport.SessionOf(r.URL); e != nil {
		return nil, e
	}
	if c.Key, e = transport.KeyOf(r.Header); e != nil {
		return nil, e
	}
	token, e := transport.ResumeOf(r.Header)
	if e == nil && token != "" {
		c.Config = schema.MustEncode(struct {
			Resume string `json:"resume"`
		}{token})
	}
	return c, e
}

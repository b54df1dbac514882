package trace

import "net/http"

// Mask replaces each text of the trace by what hidden makes of it. Headers are copied first: the
// maker of the trace may need them.
func (t *Trace) Mask(hidden func(string) string) {
	t.Title, t.URL = hidden(t.Title), hidden(t.URL)
	for _, a := range t.Actions {
		a.mask(hidden)
	}
	for i := range t.Messages {
		m := &t.Messages[i]
		m.Text, m.URL = hidden(m.Text), hidden(m.URL)
	}
	for i := range t.Requests {
		t.Requests[i].Mask(hidden)
	}
	for name, text := range t.Sources {
		t.Sources[name] = hidden(text)
	}
}

func (a *Action) mask(hidden func(string) string) {
	a.Title, a.Error = hidden(a.Title), hidden(a.Error)
	for i := range a.Log {
		a.Log[i] = hidden(a.Log[i])
	}
	for _, all := range [][]Param{a.Params, a.Result} {
		for i := range all {
			all[i].Text = hidden(all[i].Text)
		}
	}
	for _, child := range a.Children {
		child.mask(hidden)
	}
}

// Mask is Trace.Mask for one request.
func (r *Request) Mask(hidden func(string) string) {
	r.URL, r.Failed, r.StatusText = hidden(r.URL), hidden(r.Failed), hidden(r.StatusText)
	r.RequestHeaders, r.ResponseHeaders = masked(r.RequestHeaders, hidden), masked(r.ResponseHeaders, hidden)
}

func masked(h http.Header, hidden func(string) string) http.Header {
	out := make(http.Header, len(h))
	for name, values := range h {
		name = hidden(name)
		for _, value := range values {
			out[name] = append(out[name], hidden(value))
		}
	}
	return out
}

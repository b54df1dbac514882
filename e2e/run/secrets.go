package run

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/e2e/scenario"
	"github.com/pagetools/pagetools/e2e/trace"
)

// hide returns the arguments of a call for a trace: without what the tool's schema marks as secret,
// which is masked also wherever else the trace repeats it.
func (t *attempt) hide(tool string, with json.RawMessage) json.RawMessage {
	r := t.tracing
	c, err := t.on.app.Manager.Catalog(t.ref)
	if r == nil || err != nil || c.Tool(tool) == nil {
		return with
	}
	v := scenario.ReadAgain(with)
	marked := schema.Secrets(scenario.ReadAgain(c.Tool(tool).InputSchema()), v)
	r.collecting.Lock()
	defer r.collecting.Unlock()
	for at := range marked {
		r.secrets = append(r.secrets, v.At(at).Leaves()...)
	}
	return v.Mask(marked).Text()
}

// inBrowser makes of what Go escapes for a query what a browser's encodeURIComponent does.
var inBrowser = strings.NewReplacer("+", "%20", "%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*")

// mask masks the secrets in all texts of the trace. Called with r.collecting held.
func (r *tracing) mask() {
	slices.SortFunc(r.secrets, func(a, b string) int { return len(b) - len(a) }) // one may hold another
	var pairs []string
	for _, secret := range r.secrets {
		if len(secret) < scenario.ShortestSecret {
			continue
		}
		quoted, query := string(schema.MustEncode(secret)), url.QueryEscape(secret)
		for _, form := range []string{secret, quoted[1 : len(quoted)-1], query, url.PathEscape(secret),
			strings.ReplaceAll(query, "+", "%20"), inBrowser.Replace(query)} {
			pairs = append(pairs, form, schema.Masked)
		}
	}
	if pairs == nil {
		return
	}
	hidden := strings.NewReplacer(pairs...).Replace
	for _, a := range r.all.Actions {
		maskAction(a, hidden)
	}
	for i := range r.all.Messages {
		m := &r.all.Messages[i]
		m.Text, m.URL = hidden(m.Text), hidden(m.URL)
	}
	for i := range r.all.Requests {
		x := &r.all.Requests[i]
		x.URL, x.Failed = hidden(x.URL), hidden(x.Failed)
		x.RequestHeaders, x.ResponseHeaders = maskHeader(x.RequestHeaders, hidden), maskHeader(x.ResponseHeaders, hidden)
	}
	for name, text := range r.all.Sources {
		r.all.Sources[name] = hidden(text)
	}
}

func maskHeader(h http.Header, hidden func(string) string) http.Header {
	h = h.Clone() // it is the page's
	for _, values := range h {
		for i := range values {
			values[i] = hidden(values[i])
		}
	}
	return h
}

func maskAction(a *trace.Action, hidden func(string) string) {
	a.Title, a.Error = hidden(a.Title), hidden(a.Error)
	for i := range a.Log {
		a.Log[i] = hidden(a.Log[i])
	}
	for _, all := range [][]trace.Param{a.Params, a.Result} {
		for i := range all {
			all[i].Text = hidden(all[i].Text)
		}
	}
	for _, child := range a.Children {
		maskAction(child, hidden)
	}
}

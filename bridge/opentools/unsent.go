package opentools

import (
	"encoding/json"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/pagetools/pagetools/bridge/text"
)

// unsendable are headers that no argument sets: they are the connection's, or say who calls and
// from where. unsendablePrefixes adds names by their beginning, and ignored those that the client
// sets itself (OpenAPI 4.7.12.1).
var (
	unsendable = []string{"host", "cookie", "cookie2", "content-length", "content-encoding", "connection", "keep-alive",
		"te", "trailer", "transfer-encoding", "upgrade", "http2-settings", "expect", "forwarded", "via", "origin",
		"referer", "user-agent"}
	unsendablePrefixes = []string{"proxy-", "sec-", "x-forwarded-"}
	ignored            = []string{"accept", "content-type", "authorization"}
)

// overrides matches names of headers, and of parameters of the query, from which servers and the
// proxies before them take another method, address or host than that of the request.
var overrides = regexp.MustCompile(`^-method$|^x-(method|verb|ur[il]|path|host)$` +
	`|(^|-)(method|verb|ur[il]|path|host)-overrides?$|^-http-?method$|(^|-)override-(method|verb|ur[il]|path|host)$` +
	`|^(x-)?(http|request|requested|rest)-(method|verb|ur[il]|path|host)$` +
	`|^(x-)?(original|rewrite|rewritten|proxy|base)-(method|ur[il]|path|host)$` +
	`|^(x-)?(ur[il]|path)-rewrite$|^x-http-destinationurl$|^destination$`)

// overridesRequest reports whether an argument of that name may change what is requested. Programs
// behind gateways read "_" of a name as "-".
func overridesRequest(name string) bool {
	return overrides.MatchString(strings.ReplaceAll(strings.ToLower(name), "_", "-"))
}

// whyUnsent returns why an argument must not set the header (its name in lower case), or "".
func whyUnsent(name string) string {
	folded := strings.ReplaceAll(name, "_", "-") // as programs behind gateways read it
	begins := func(prefix string) bool { return strings.HasPrefix(folded, prefix) }
	switch {
	case !httpguts.ValidHeaderFieldName(name):
		return "no header has such a name"
	case overridesRequest(name):
		return "it can change the method or the address of the request"
	case slices.Contains(unsendable, folded), slices.ContainsFunc(unsendablePrefixes, begins):
		return "no tool may set it"
	}
	return ""
}

// unsent returns what the parameter is, and why it is never sent, or "".
func (p *parameter) unsent(name string) (what, why string) {
	switch {
	case p.In == "header":
		return "header", whyUnsent(name)
	case p.In == "query" && strings.Contains(name, "method") && overridesRequest(name):
		return "parameter", "it can change the method of the request"
	}
	return "", ""
}

// inBraces matches the name of a parameter in a path.
var inBraces = regexp.MustCompile(`\{([^{}/?#]+)\}`)

// undeclared returns the parameters of the path that nothing declares. They can only be read in one
// way: as texts.
func (t *Tool) undeclared(all []parameter) (more []parameter) {
	for _, m := range inBraces.FindAllStringSubmatch(t.Path, maxParameters) {
		is := func(p parameter) bool { return p.In == "path" && p.Name == m[1] }
		if !slices.ContainsFunc(all, is) && !slices.ContainsFunc(more, is) {
			t.note("the path has {%s}, and no parameter declares it: it is taken for a text", text.Line(text.Short(m[1], maxShown)))
			more = append(more, parameter{Name: m[1], In: "path", Required: true,
				Schema: json.RawMessage(`{"type":"string","minLength":1}`)})
		}
	}
	return more
}

// checkPath finds what of the path no parameter fills.
func (t *Tool) checkPath() error {
	rest := t.Path
	for _, p := range t.parameters {
		if p.In == "path" {
			rest = strings.ReplaceAll(rest, "{"+p.Name+"}", "")
		}
	}
	switch _, err := url.PathUnescape(rest); {
	case err != nil:
		return errors.New(`its path has "%" that no two digits follow: write %25`)
	case strings.Contains(rest, "?"):
		return errors.New(`its path has "?": what comes then must be parameters in the query`)
	case strings.Contains(rest, "#"):
		return errors.New(`its path has "#", behind which nothing is sent`)
	case strings.ContainsAny(rest, "{}"):
		return errors.New("its path has braces that are not around the name of a parameter")
	}
	return nil
}

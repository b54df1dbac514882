package adapter

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/pagetools/pagetools/bridge/origin"
)

// pattern is a match pattern of browser extensions, as regular expressions of a page's address
// without its fragment, and of its origin.
type pattern struct{ address, origin string }

// patternForm is SCHEME://HOST/PATH; the host may have a port.
var patternForm = regexp.MustCompile(`^(\*|[A-Za-z][A-Za-z0-9+.-]*)://(\[[^\]/]*\]|[^/:]*)(?::([^/]*))?(/.*)$`)

// like says what a pattern must be.
const like = "a pattern such as https://shop.example/* or https://*.example/cart/*"

// parsePattern reads a match pattern, or says what it must be.
func parsePattern(s string) (p pattern, must string) {
	if s == "<all_urls>" {
		s = "*://*/*"
	}
	parts := patternForm.FindStringSubmatch(s)
	if parts == nil {
		return p, like
	}
	scheme, host, port, path := strings.ToLower(parts[1]), parts[2], parts[3], parts[4]
	var schemes []string
	switch scheme {
	case "*":
		schemes = []string{"http", "https"}
	case "http", "https":
		schemes = []string{scheme}
	default:
		return p, "a pattern of http or https, or of * for both"
	}
	if strings.Contains(path, "#") {
		return p, "a pattern without #: what follows it is not compared"
	}
	hosts, must := hostPattern(host)
	if must != "" {
		return p, must
	}
	if port == "" && s != parts[1]+"://"+host+path { // there is a colon
		return p, like
	}
	var all []string
	for _, scheme := range schemes {
		ports, ok := portPattern(scheme, port)
		if !ok {
			return p, "a pattern whose port is a number or *"
		}
		all = append(all, scheme+"://"+hosts+ports)
	}
	p.origin = "^(?:" + strings.Join(all, "|") + ")"
	p.address = p.origin + glob(path) + "$"
	return p, ""
}

// hostPattern matches a host as browsers write it.
func hostPattern(host string) (expression, must string) {
	const anyHost = `(?:\[[^\]]*\]|[^/:]+)`
	if host == "*" {
		return anyHost, ""
	}
	rest, below := strings.CutPrefix(host, "*.")
	if rest == "" || strings.Contains(rest, "*") {
		return "", "a pattern whose host has * only alone, or as *. in front"
	}
	u, err := url.Parse("http://" + rest + "/")
	if err != nil || u.User != nil || strings.HasPrefix(rest, "[") && below {
		return "", like
	}
	written := origin.OfURL(u)
	if written == "" {
		return "", like
	}
	expression = regexp.QuoteMeta(strings.TrimPrefix(written, "http://"))
	if below {
		expression = `(?:[^/:]+\.)?` + expression
	}
	return expression, ""
}

// portPattern matches the port of an origin: any where none is given.
func portPattern(scheme, port string) (expression string, ok bool) {
	if port == "" || port == "*" {
		return `(?::\d+)?`, true
	}
	n, err := strconv.ParseUint(port, 10, 16)
	switch {
	case err != nil:
		return "", false
	case scheme == "http" && n == 80, scheme == "https" && n == 443:
		return "", true
	}
	return ":" + strconv.FormatUint(n, 10), true
}

// glob is a path in which * stands for any characters.
func glob(path string) string {
	for strings.Contains(path, "**") {
		path = strings.ReplaceAll(path, "**", "*")
	}
	return strings.ReplaceAll(regexp.QuoteMeta(path), `\*`, ".*")
}

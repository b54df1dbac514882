package check

import (
	"net/url"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/bridge/text"
)

const exposed = exampleHead + `"exposedTo":["`

var exposureRules = []Rule{
	{ID: "exposed-to-secure-origins", Severity: Error, find: findInsecureExposure,
		What:   "An entry of exposedTo is not an origin that browsers trust: https, or http on this machine.",
		Why:    "registerTool rejects the whole tool with a SecurityError.",
		Source: "WebMCP draft, exposedTo; playwright-webmcp, exposed-to-secure-origins",
		Bad:    exposed + `http://partner.example"]}`, Good: exposed + `https://partner.example"]}`, At: "/exposedTo/0"},
	{ID: "exposed-to-origin-only", Severity: Warning, find: findMoreThanOrigin,
		What:   "An entry of exposedTo has a path, a query, a fragment or a user name.",
		Why:    "Browsers use the origin alone, so that the tool is offered to more pages than the entry says.",
		Source: "playwright-webmcp, exposed-to-origin-only",
		Bad:    exposed + `https://partner.example/shop"]}`, Good: exposed + `https://partner.example"]}`, At: "/exposedTo/0"},
	{ID: "exposed-to-wildcard", Severity: Warning, find: findWildcard,
		What:   "An entry of exposedTo has a wildcard. An error where the browser refused the tool for it.",
		Why:    "Browsers reject it; a polyfill or a host that takes it offers the tool to every page.",
		Source: "WebMCP draft, exposedTo",
		Bad:    exposed + `*"]}`, Good: exposed + `https://partner.example"]}`, At: "/exposedTo/0"},
	{ID: "iframe-allow-tools", Severity: Warning, find: each((*run).eachPage, findFrames),
		What:   "A frame registers tools, and has no permission to.",
		Why:    "Browsers reject its registrations: a frame of another origin needs allow=\"tools\".",
		Source: "WebMCP draft, permissions policy \"tools\"",
		Bad:    `{"frames":[{"url":"https://widget.example/","origin":"https://widget.example","crossOrigin":true,"registers":true}]}`,
		Good:   `{"frames":[{"url":"https://widget.example/","origin":"https://widget.example","crossOrigin":true,"registers":true,"allowed":true}]}`},
	{ID: "third-party-registration", Severity: Warning, find: each((*run).tools, findThirdParty),
		Options: []Option{{Name: "origins", Words: []string{}, What: "origins whose scripts may register tools, such as your own CDN"}},
		What:    "A script from another origin than the document's registered the tool.",
		Why:     "The tool acts with the rights of the page, and is not in its source.",
		Source:  "playwright-webmcp, third-party-registration",
		Bad:     exampleHead + `"script":{"url":"https://cdn.example/tools.js","line":3}}`, Good: exampleHead + `"script":{"url":"https://shop.example/tools.js","line":3}}`},
	{ID: "insecure-origin", Severity: Warning, find: each((*run).eachPage, findInsecureOrigin),
		What:   "The page comes over http, and not from this machine.",
		Why:    "Browsers offer WebMCP in secure contexts only, so that the page has no tools there.",
		Source: "WebMCP draft, [SecureContext]",
		Bad:    `{"url":"http://shop.example/"}`, Good: `{"url":"http://localhost:8080/"}`},
}

// Trustworthy reports whether an address is potentially trustworthy (W3C Secure Contexts, 3.1).
func Trustworthy(u *url.URL) bool {
	switch u.Scheme {
	case "https", "wss":
		return u.Host != ""
	case "http", "ws":
		return origin.Loopback(u.Hostname())
	}
	return u.Scheme == "file"
}

// exposures calls a function for every entry of exposedTo; u is nil where it is not an address.
func (r *run) exposures(visit func(t *tool, at place, entry string, u *url.URL)) {
	r.declarations(func(t *tool) {
		const most = 1000 // entries that are looked at
		for i, entry := range t.ExposedTo[:min(len(t.ExposedTo), most)] {
			visit(t, t.at("/exposedTo/"+decimal(i)), entry, address(entry))
		}
	})
}

// address reads an entry of exposedTo; nil is none.
func address(entry string) *url.URL {
	u, err := url.Parse(entry)
	if err != nil || u.Scheme == "" {
		return nil
	}
	return u
}

func findInsecureExposure(r *run) {
	r.exposures(func(_ *tool, at place, entry string, u *url.URL) {
		if !strings.Contains(entry, "*") && (u == nil || !Trustworthy(u)) {
			r.report(at, "The entry %s is not a secure origin: write one that begins with "+
				"https://.", text.Quote(entry))
		}
	})
}

func findMoreThanOrigin(r *run) {
	r.exposures(func(t *tool, at place, entry string, _ *url.URL) {
		if only := onlyOrigin(entry); only != "" && t.rejected == nil {
			at.certain = true
			r.report(at, "The entry %s is more than an origin, and the rest does not count: write %s.",
				text.Quote(entry), text.Quote(only))
		}
	})
}

func findWildcard(r *run) {
	r.exposures(func(t *tool, at place, entry string, _ *url.URL) {
		if strings.Contains(entry, "*") {
			if t.rejected != nil {
				at.severity = Error
			}
			r.report(at, "The entry %s has a wildcard: list the origins.", text.Quote(entry))
		}
	})
}

func findFrames(r *run, p *page) {
	for _, f := range p.Frames {
		if f.Registers && !f.Allowed {
			r.report(place{page: p}, "The frame %s registers tools, and may not: add allow=\"tools\" to "+
				"its iframe.", text.Quote(f.URL))
		}
	}
}

func findThirdParty(r *run, t *tool) {
	trusted := r.words("origins")
	from := t.scriptOrigin()
	if own := t.origin(); own != "" && from != own && !slices.Contains(trusted, from) {
		r.report(t.at(""), "A script of %s registered the tool in a document of %s: serve it "+
			"yourself, or list its origin in the option origins.", text.Quote(from), text.Quote(own))
	}
}

func findInsecureOrigin(r *run, p *page) {
	u, err := url.Parse(p.URL)
	if err == nil && u.Scheme == "http" && !Trustworthy(u) {
		r.report(place{page: p}, "The page comes over http from %s: serve it over https.", text.Quote(u.Host))
	}
}

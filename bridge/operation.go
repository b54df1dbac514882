package bridge

import (
	"strings"

	"github.com/pagetools/pagetools/bridge/policy"
)

// Operation says of a tool that it is an operation of an API, and no page's: what a person is told of
// it, and what its site published of consent. Its arguments are sent as they are written: no page
// makes doubles of their numbers.
type Operation struct {
	// Method is that of its requests, and URL their address with the names of its parameters.
	Method string `json:"method"`
	URL    string `json:"url"`
	// API is what the site calls itself, and Cost what it says that a call costs; "" is nothing.
	API  string `json:"api,omitempty"`
	Cost string `json:"cost,omitempty"`
	// Level is the least consent that the site wants.
	Level policy.Level `json:"level"`
}

// Operation is nil for a tool of a page.
func (t *Tool) Operation() *Operation { return t.operation }

// siteLevel is the least consent that the site's published terms want.
func (t *Tool) siteLevel() policy.Level {
	if t.operation == nil {
		return policy.Auto
	}
	return t.operation.Level
}

// facts are what a person is told of the operation; none of a page's tool.
func (o *Operation) facts(add func(name, text string)) {
	if o == nil {
		return
	}
	add("The site calls itself", o.API)
	add("Request", strings.TrimSpace(o.Method+" "+o.URL))
	add("A call costs", o.Cost)
}

// Beside returns the tools of c with those of other whose names c has not, for a site that offers
// both an API and a page. The findings are those of both.
func (c *Catalog) Beside(other *Catalog) *Catalog {
	both := &Catalog{byName: make(map[string]*Tool, len(c.tools)+len(other.tools))}
	for _, t := range c.tools {
		both.add(t)
	}
	for _, t := range other.tools {
		if both.byName[t.name] == nil {
			both.add(t)
		}
	}
	both.seal()
	both.findings = append(append(both.findings, c.findings...), other.findings...)
	return both
}

package main

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/kit"
	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/transport/mcp/toolset"
)

// listed returns the tools of a site as clients of MCP get them by the settings. The name of the
// site stands before those of its tools where the configuration file has several sites.
func (p *program) listed(site bridge.Site, tools []*bridge.Tool) kit.List {
	server := "pagetools" // as config writes it for several
	if site.Name != "" && len(p.conf.Sites) < 2 {
		server = site.Name
	}
	mode, _ := toolset.ParseMode(p.conf.MCPTools)
	o := toolset.Options{Prefixed: len(p.conf.Sites) > 1, Mode: toolset.Direct, Faithful: p.conf.MCPSchemas == "faithful"}
	from := []toolset.Source{{Site: site, Tools: tools}}
	all := toolset.New(from, o)
	o.Mode = mode
	return kit.List{Server: server, Tools: wholeList(all), First: count(wholeList(toolset.New(from, o))), Findings: all.Findings()}
}

// wholeList returns all pages of a list as one array.
func wholeList(l *toolset.List) json.RawMessage {
	var all [][]byte
	for cursor, more := "", true; more; more = cursor != "" {
		page, next, _ := l.Page("", cursor)
		if one := page[1 : len(page)-1]; len(one) > 0 {
			all = append(all, one)
		}
		cursor = next
	}
	return append(append([]byte{'['}, bytes.Join(all, []byte{','})...), ']')
}

// siteOf returns a site as the faces know it.
func siteOf(a *app.App, name string) bridge.Site {
	sites := a.Router.Sites()
	if i := slices.IndexFunc(sites, func(s bridge.Site) bool { return s.Name == name }); i >= 0 {
		return sites[i]
	}
	return bridge.Site{Name: name}
}

func count(list json.RawMessage) int {
	var all []json.RawMessage
	_ = json.Unmarshal(list, &all) // it is our own
	return len(all)
}

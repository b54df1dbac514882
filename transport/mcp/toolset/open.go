package toolset

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
)

// opens reports whether the list has Open: a page that has no tools leaves its caller
// without a way back. An API has no page.
func (l *List) opens() bool {
	pages := l.withPages()
	return l.mode == Meta && (len(pages) > 0 || len(l.sources) == 0) ||
		slices.ContainsFunc(pages, func(s Source) bool { return len(s.Tools) == 0 })
}

// withPages are the sources that have pages.
func (l *List) withPages() []Source {
	return slices.DeleteFunc(slices.Clone(l.sources), func(s Source) bool { return s.Site.API })
}

// openTool is the entry of Open. It says how the pages without tools are.
func (l *List) openTool() entry {
	var sites, states, paths []string
	for _, s := range l.withPages() {
		sites = append(sites, s.Site.Name)
		if s.Paths {
			paths = append(paths, s.Site.Name)
		}
		switch {
		case s.Down != nil:
			states = append(states, fmt.Sprintf("%q cannot be reached now: %s", s.Site.Name, s.Down.Message))
		case len(s.Tools) == 0 && l.pages[s.Site.Name] != "":
			states = append(states, fmt.Sprintf("%q shows %s, which has no tools.", s.Site.Name, l.pages[s.Site.Name]))
		case len(s.Tools) == 0:
			states = append(states, fmt.Sprintf("%q has no tools now.", s.Site.Name))
		}
	}
	properties, required := map[string]any{}, []string{}
	if len(sites) > 1 {
		properties["site"] = map[string]any{"type": "string", "enum": sites}
		required = append(required, "site")
	}
	if len(paths) > 0 {
		properties["path"] = map[string]any{"type": "string", "maxLength": 2048,
			"description": "A path of the site, in the place of its start. Sites that take it: " + strings.Join(paths, ", ") + "."}
	}
	slices.Sort(states)
	return ownEntry(definition{
		Name: Open, Title: "Go to the start of a web application",
		Annotations: annotations{ReadOnlyHint: new(false), DestructiveHint: new(false),
			IdempotentHint: new(true), OpenWorldHint: new(true)},
		Description: strings.TrimSpace("Sends your page back to the start of its site, where the site's tools are, and lists them. " +
			"What was typed into the page is lost; logins and cookies stay. " + text.Short(strings.Join(states, " "), maxStates)),
		InputSchema: encode(map[string]any{"type": "object", "properties": properties,
			"required": required, "additionalProperties": false}),
	})
}

// maxStates bounds what is said of sites in a description, in bytes.
const maxStates = 1000

// Opened reads what Open is asked for: one of the list's sites, and a path or "".
func (l *List) Opened(arguments bridge.Value) (site, path string, err *bridge.Error) {
	members, err := readArguments(arguments, "site", "path")
	if err != nil {
		return "", "", err
	}
	if members.Get("path").Exists() {
		if path, err = textArgument(members, "path"); err != nil {
			return "", "", err
		}
	}
	var sites []string
	for _, s := range l.withPages() {
		sites = append(sites, s.Site.Name)
	}
	if len(sites) == 1 && !members.Get("site").Exists() {
		return sites[0], path, nil
	}
	if site, err = textArgument(members, "site"); err != nil {
		return "", "", err
	}
	if !slices.Contains(sites, site) {
		return "", "", bridge.Errorf(bridge.SchemaError, "", bridge.NotRun,
			"\"site\" is one of: %s.", strings.Join(sites, ", "))
	}
	return site, path, nil
}

// Shown says what is there after a page was opened.
func (l *List) Shown(site string) string {
	if page := l.pages[site]; page != "" {
		return fmt.Sprintf("The page of %q shows %s. %s", site, page, l.told())
	}
	return fmt.Sprintf("The page of %q is open. %s", site, l.told())
}

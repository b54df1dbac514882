package config

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"golang.org/x/net/http/httpguts"
)

// Browser is one entry of browsers: where a browser that runs elsewhere is had from.
type Browser struct {
	Name      string   `key:"name" unique:"true" required:"true" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$" must:"must have up to 32 of A-Z, a-z, 0-9, ., _ and -, and begin with a letter or a digit" help:"by which logs, metrics and the operators' page name it; the same on all nodes of a cluster"`
	URL       string   `key:"url" secret:"true" help:"its debugging address, such as http://10.0.1.7:9222"`
	WS        string   `key:"ws" secret:"true" help:"its WebSocket address, such as wss://b.example/?token=…"`
	WebDriver string   `key:"webdriver" secret:"true" help:"a WebDriver server whose sessions have the capability se:cdp, such as a Selenium Grid: one session is one browser for max pages, and is deleted when they are not needed any more"`
	Command   []string `key:"command" help:"a program with its arguments: it prints {\"url\":…} with, where needed, \"headers\" and \"reattach\", and gives the browser back when its stdin is closed"`
	Headers   Headers  `key:"headers" secret:"true" help:"headers for url or ws, by name"`
	Max       int      `key:"max" required:"true" min:"1" help:"pages that are open in it at once, with those that stand by and those of catalogs"`
	Reattach  string   `key:"reattach" enum:"auto,never" help:"for url and ws in a cluster: auto (the default) has another node go on with the pages of one that ended, where the browser keeps them; never"`
	Line      int
}

// Headers are headers of HTTP by name.
type Headers map[string]string

func (h *Headers) decode(d *decoder, key string, n *yaml.Node) error {
	*h = Headers{}
	return d.pairs(n, key, func(k, v *yaml.Node) error {
		if v.Kind != yaml.ScalarNode || !httpguts.ValidHeaderFieldName(k.Value) || !httpguts.ValidHeaderFieldValue(v.Value) {
			return d.errorf(v, "%s: each must be a name and a text, such as {Authorization: \"Bearer …\"}", key)
		}
		(*h)[k.Value] = v.Value
		return nil
	})
}

func (*Headers) schema() object { return mapOf(object{"type": "string"}) }

// check refuses what names no browser, or two. Addresses may hold keys, so that they are not shown.
func (b *Browser) check() error {
	given := []string{}
	for _, one := range []struct {
		key, value string
		schemes    []string
	}{{"url", b.URL, []string{"http", "https"}}, {"ws", b.WS, []string{"ws", "wss"}}, {"webdriver", b.WebDriver, []string{"http", "https"}}} {
		if one.value == "" {
			continue
		}
		given = append(given, one.key)
		u, err := url.Parse(one.value)
		if err != nil || u.Host == "" || !slices.Contains(one.schemes, u.Scheme) {
			return fmt.Errorf("browsers: the %s of %s must begin with %s://, and name a host", one.key, b.Name, strings.Join(one.schemes, ":// or "))
		}
	}
	if len(b.Command) > 0 {
		given = append(given, "command")
	}
	direct := b.URL+b.WS != ""
	switch {
	case len(given) != 1:
		return fmt.Errorf("browsers: %s must have one of url, ws, webdriver and command", b.Name)
	case len(b.Command) > 0 && b.Command[0] == "":
		return fmt.Errorf("browsers: the command of %s must begin with a program", b.Name)
	case !direct && b.Reattach != "":
		return fmt.Errorf("browsers: reattach of %s is for url and ws: a command prints it, and a session of WebDriver ends with its node", b.Name)
	case !direct && len(b.Headers) > 0:
		return fmt.Errorf("browsers: headers of %s are for url and ws", b.Name)
	}
	return nil
}

// checkBrowsers refuses browsers beside another way to one.
func (c *Config) checkBrowsers() error {
	if len(c.Browsers) == 0 {
		return nil
	}
	for key, is := range map[string]bool{"browser-url": c.BrowserURL != "", "ws-endpoint": c.WSEndpoint != "", "auto-connect": c.AutoConnect} {
		if is {
			return fmt.Errorf("%s and browsers of %s are two ways to a browser: give one of them", c.said(key), c.File)
		}
	}
	return nil
}

// browsersHaveKeys reports whether knowing what the file says of browsers is enough to use one.
func (c *Config) browsersHaveKeys() bool {
	return slices.ContainsFunc(c.Browsers, func(b Browser) bool {
		return strings.ContainsAny(b.URL+b.WS+b.WebDriver, "?@") || len(b.Headers) > 0
	})
}

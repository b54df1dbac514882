package main

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/net/idna"

	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
)

// target is one site as named on the command line or in the file.
type target struct {
	name   string // unique
	text   string // as named
	url    string // what pages open; empty for a folder until it is served
	origin string
	folder string // not empty: a folder that we serve
	config siteConfig
	named  bool // on the command line
}

// parseTarget reads [NAME=]TARGET. What stands before = is a name only when it
// is a legal one; otherwise the whole argument is the target.
func parseTarget(arg string) (*target, error) {
	t := &target{text: arg, named: true}
	if name, rest, ok := strings.Cut(arg, "="); ok && siteName.MatchString(name) && rest != "" {
		t.name, t.text = name, rest
	}
	err := t.read()
	return t, err
}

// read tells a URL from a folder.
func (t *target) read() error {
	if u, err := url.Parse(t.text); err == nil && u.Scheme != "" && strings.Contains(t.text, "://") {
		if u.Scheme != "http" && u.Scheme != "https" {
			return usage("%s: only http and https pages can be opened", terminal.Plain(t.text))
		}
		if u.Host == "" || u.Opaque != "" {
			return usage("%s: the URL has no host", terminal.Plain(t.text))
		}
		t.url, t.origin = u.String(), originOf(u)
		return nil
	}
	info, err := os.Stat(t.text)
	switch {
	case err != nil:
		return usage("%s is neither an http(s) URL nor a folder", terminal.Plain(t.text))
	case !info.IsDir():
		return usage("%s is not a folder; give the folder of its index.html", terminal.Plain(t.text))
	}
	if _, err := os.Stat(filepath.Join(t.text, "index.html")); err != nil {
		return usage("%s has no index.html", terminal.Plain(t.text))
	}
	t.folder = t.text
	return nil
}

// originOf gives the origin of a URL as browsers write it.
func originOf(u *url.URL) string {
	host := strings.ToLower(u.Hostname())
	if ascii, err := idna.Lookup.ToASCII(host); err == nil {
		host = ascii
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	port := u.Port()
	if port == "" || (u.Scheme == "http" && port == "80") || (u.Scheme == "https" && port == "443") {
		return u.Scheme + "://" + host
	}
	return u.Scheme + "://" + host + ":" + port
}

// parseOrigin reads an origin as a person writes it.
func parseOrigin(s string) (string, bool) {
	u, err := url.Parse(s)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || (u.Path != "" && u.Path != "/") ||
		u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return "", false
	}
	return originOf(u), true
}

// defaultName makes a name from the host or the folder.
func (t *target) defaultName() string {
	base := ""
	if t.folder != "" {
		if abs, err := filepath.Abs(t.folder); err == nil {
			base = filepath.Base(abs)
		}
	} else if u, err := url.Parse(t.url); err == nil {
		base = strings.TrimPrefix(u.Hostname(), "www.")
	}
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '_':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return '_'
	}, base)
	name = strings.TrimLeft(name, "_")
	if name == "" || name[0] < 'a' || name[0] > 'z' {
		name = "site_" + name
	}
	return strings.TrimRight(name[:min(len(name), 32)], "_")
}

// nameAll gives every target a unique name. Names that somebody chose are kept,
// and must not collide.
func nameAll(targets []*target) error {
	taken := map[string]bool{}
	for _, t := range targets {
		if t.name == "" {
			continue
		}
		if taken[t.name] {
			return usage("two sites have the name %q", t.name)
		}
		taken[t.name] = true
	}
	for _, t := range targets {
		if t.name != "" {
			continue
		}
		base := t.defaultName()
		name := base
		for i := 2; taken[name]; i++ {
			suffix := fmt.Sprintf("_%d", i)
			name = base[:min(len(base), 32-len(suffix))] + suffix
		}
		t.name = name
		taken[name] = true
	}
	return nil
}

// targets reads those of the command line and those of the file.
func (p *program) targets(args []string) ([]*target, error) {
	var out []*target
	for _, c := range p.file.sites {
		t := &target{name: c.name, text: c.target, config: c}
		if err := t.read(); err != nil {
			return nil, usage("%s:%d: %w", p.file.path, c.line, err)
		}
		out = append(out, t)
	}
	for _, a := range args {
		t, err := parseTarget(a)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nameAll(out)
}

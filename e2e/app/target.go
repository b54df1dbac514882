package app

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/session/pageconfig"
)

// SiteName matches the name of a site.
var SiteName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`)

var notInNames = regexp.MustCompile(`[^a-z0-9_]`)

// Target is a web application that we were pointed at: a URL, or a folder.
type Target struct {
	Name   string // unique
	Text   string // as named
	URL    string // what pages open; empty for a folder until it is served
	Origin string
	Folder string             // not empty: a folder that we serve
	Path   string             // the first page of a folder, from its root; "" is index.html
	pass   *pageconfig.Cookie // with which our own server lets browsers in
}

// ParseTarget reads [NAME=]TARGET. What stands before = is a name only when it
// is a legal one; otherwise the whole argument is the target.
func ParseTarget(arg string) (*Target, error) {
	t := &Target{Text: arg}
	if name, rest, ok := strings.Cut(arg, "="); ok && SiteName.MatchString(name) && rest != "" {
		t.Name, t.Text = name, rest
	}
	err := t.Read()
	return t, err
}

// Read tells a URL from a folder.
func (t *Target) Read() error {
	if strings.Contains(t.Text, "://") {
		return t.readURL()
	}
	info, err := os.Stat(t.Text)
	switch {
	case t.Text == "":
		return errors.New("the TARGET is empty: give an http(s) URL, or the folder of an index.html")
	case errors.Is(err, fs.ErrNotExist) && !named.MatchString(t.Text) && !hostLike.MatchString(t.Text):
		return fmt.Errorf("there is no folder %s, and it is not an http(s) URL; "+
			"give https://HOST/, or the path of a folder", t.Text)
	case err != nil:
		return fmt.Errorf("%s is neither an http(s) URL nor a folder%s", t.Text, meant(t.Text))
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder; give the folder of its index.html", t.Text)
	}
	if _, err := os.Stat(filepath.Join(t.Text, "index.html")); err != nil {
		return fmt.Errorf("%s has no index.html; give the folder of one", t.Text)
	}
	t.Folder = t.Text
	return nil
}

func (t *Target) readURL() error {
	u, err := url.Parse(t.Text)
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	if err == nil && u.Port() != "" {
		if _, e := strconv.ParseUint(u.Port(), 10, 16); e != nil {
			err = fmt.Errorf("the port %s is more than 65535", u.Port())
		}
	}
	switch {
	case err != nil:
		return fmt.Errorf("%s is not a URL, such as https://shop.example/: %w", t.Text, err)
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("%s: only http and https pages can be opened, and folders by their path", t.Text)
	case u.Hostname() == "" || u.Opaque != "":
		return fmt.Errorf("%s: the URL has no host, such as in https://shop.example/", t.Text)
	}
	t.URL, t.Origin = u.String(), origin.OfURL(u)
	if t.Origin == "" {
		return fmt.Errorf("%s: the URL has no host that can be opened", t.Text)
	}
	return nil
}

// hostLike are texts that are probably addresses without their scheme.
var hostLike = regexp.MustCompile(`^(?i)(localhost|[a-z0-9-]+(\.[a-z0-9-]+)+)(:[0-9]+)?(/.*)?$`)

// fileLike are texts that are probably the names of files.
var fileLike = regexp.MustCompile(`(?i)\.(lock|json|ya?ml|html?|har|txt|md|js|mjs|ts|csv|zip|xml|png)$`)

// named are texts that probably begin with the name of a site.
var named = regexp.MustCompile(`^[A-Za-z0-9_.-]+=`)

// meant guesses the URL that a text was meant to be.
func meant(text string) string {
	u, err := url.Parse("//" + text)
	switch {
	case fileLike.MatchString(text):
		return "; there is no such file or folder: give one that is there"
	case named.MatchString(text):
		return "; a NAME before = must be of a-z, 0-9 and _, such as shop"
	case !hostLike.MatchString(text):
		return "; give https://HOST/, or the path of a folder"
	case err == nil && origin.Loopback(u.Hostname()):
		return "; did you mean http://" + text + "?"
	}
	return "; did you mean https://" + text + "?"
}

// defaultName makes a name from the host or the folder.
func (t *Target) defaultName() string {
	base := ""
	if t.Folder != "" {
		if abs, err := filepath.Abs(t.Folder); err == nil {
			base = filepath.Base(abs)
		}
	} else if u, err := url.Parse(t.URL); err == nil {
		base = strings.TrimPrefix(u.Hostname(), "www.")
	}
	name := strings.TrimLeft(notInNames.ReplaceAllString(strings.ToLower(base), "_"), "_")
	if name == "" || name[0] < 'a' || name[0] > 'z' {
		name = "site_" + name
	}
	return strings.TrimRight(name[:min(len(name), 32)], "_")
}

// NameAll names every target, each differently. Names that somebody chose are kept,
// and must not collide.
func NameAll(targets []*Target) error {
	taken := map[string]bool{}
	for _, t := range targets {
		if t.Name == "" {
			continue
		}
		if taken[t.Name] {
			return fmt.Errorf("two sites have the name %q: give one of them another, as NAME=TARGET", t.Name)
		}
		taken[t.Name] = true
	}
	for _, t := range targets {
		if t.Name != "" {
			continue
		}
		base := t.defaultName()
		name := base
		for i := 2; taken[name]; i++ {
			suffix := fmt.Sprintf("_%d", i)
			name = base[:min(len(base), 32-len(suffix))] + suffix
		}
		t.Name = name
		taken[name] = true
	}
	return nil
}

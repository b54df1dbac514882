package config

import (
	"fmt"
	"net/netip"
	"net/url"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/e2e/app"
)

// This file holds what a pagetools.yaml may say that was only found in the current folder.
// It may have come with somebody else's repository, so it may say which of its pages to
// open, and make things stricter. It must not start programs, reach into private networks,
// or loosen consent.

// unnamed checks one value of a file that nobody named, by the tag of its field.
func (d *decoder) unnamed(n *yaml.Node, f field) error {
	reason := ""
	switch rule := f.tag.Get("unnamed"); {
	case rule == "":
		reason = "is not allowed"
	case rule == "target":
		reason = notOfFolder(f.value.String())
	case rule == "stricter" && loosens(f.value.Interface()):
		reason = "may only be ask, never, strict or deny, with rules that are ask or never"
	case strings.HasPrefix(rule, "most "):
		most := reflect.New(f.value.Type()).Elem()
		if err := set(most, "", strings.TrimPrefix(rule, "most ")); err != nil {
			panic(f.key + ": " + err.Error()) // the tag is ours
		}
		if f.value.Int() > most.Int() {
			reason = fmt.Sprintf("may be at most %v", most)
		}
	}
	if reason == "" {
		return nil
	}
	return d.errorf(n, "%s %s in a %s that is only found in the current folder; "+
		"if you trust this file, name it: --config %s", f.key, reason, defaultFile, defaultFile)
}

// loosens reports whether an approval lets anything run that would be asked about by default.
func loosens(v any) bool {
	a, both := v.(Approval)
	if !both {
		a.Mode, _ = v.(string)
	}
	return a.Mode == policy.ModeAuto || a.Mode == policy.ModeAskOnce || slices.ContainsFunc(a.Tools,
		func(r policy.Rule) bool { return r.Level < policy.Ask })
}

// notOfFolder says what is wrong with a target that is neither a public URL nor a folder
// below the current one; "" where nothing is. Whether there is such a folder is not its
// business.
func notOfFolder(text string) string {
	t := app.Target{Text: text}
	err := t.Read()
	switch {
	case t.URL != "":
		if !isPublic(t.Origin) {
			return fmt.Sprintf("%q must be a public address", text)
		}
	case err == nil || !strings.Contains(text, "://"):
		if !isBelow(text) {
			return fmt.Sprintf("%q must be a public http(s) URL or a folder below this one", text)
		}
	}
	return ""
}

// isBelow reports whether a path is below the current folder, links included.
func isBelow(path string) bool {
	if !filepath.IsLocal(path) || filepath.Clean(path) == "." {
		return false
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return true // it is not there: nothing is served
	}
	return filepath.IsLocal(real) && filepath.Clean(real) != "."
}

// privateNames are endings of names that networks give to their own machines.
var privateNames = []string{"local", "internal", "intranet", "lan", "home",
	"corp", "private", "home.arpa"}

// notPublic are the ranges of addresses that are neither private by netip's word nor public.
var notPublic = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"),
	netip.MustParsePrefix("192.0.0.0/24"), netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("64:ff9b::/96"),
	netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2001::/32"),
	netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("fec0::/10"),
}

// isPublic reports whether the host of an origin has a public address, or a name that is not
// one of a private network. Browsers read numbers in more forms than netip: a name that ends
// in a number is an address, and refused.
func isPublic(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	host := strings.TrimSuffix(u.Hostname(), ".")
	if ip, err := netip.ParseAddr(host); err == nil {
		ip = ip.Unmap()
		in := func(p netip.Prefix) bool { return p.Contains(ip) }
		return ip.Zone() == "" && ip.IsGlobalUnicast() && !ip.IsPrivate() &&
			!slices.ContainsFunc(notPublic, in)
	}
	last := host[strings.LastIndex(host, ".")+1:]
	ascii := !strings.ContainsFunc(host, func(r rune) bool { return r > 0x7e || r <= ' ' })
	private := func(name string) bool { return host == name || strings.HasSuffix(host, "."+name) }
	return ascii && !origin.Loopback(host) &&
		last != "" && last != host && (last[0] < '0' || last[0] > '9') &&
		!slices.ContainsFunc(privateNames, private)
}

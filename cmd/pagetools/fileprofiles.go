package main

import (
	"regexp"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/pagetools/pagetools/bridge"
)

// profileConfig is one entry of the profiles of a site.
type profileConfig struct {
	name, storageState string
	callers            []string
	line               int
}

var profileName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

func (r *reader) profiles(n *yaml.Node, s *siteConfig) error {
	if n.Kind != yaml.SequenceNode {
		return r.errorf(n, "profiles must be a list")
	}
	for _, item := range n.Content {
		x := profileConfig{line: item.Line}
		err := r.fields(item, "profiles", map[string]func(*yaml.Node) error{
			"name":          value(r, "name", &x.name),
			"storage-state": value(r, "storage-state", &x.storageState),
			"callers":       value(r, "callers", &x.callers),
		})
		switch {
		case err != nil:
			return err
		case !profileName.MatchString(x.name):
			return r.errorf(item, "profiles: name %q: a name has up to 64 of A-Z, a-z, 0-9, ., _ and -, and begins with a letter or a digit", x.name)
		case slices.ContainsFunc(s.profiles, func(o profileConfig) bool { return o.name == x.name }):
			return r.errorf(item, "profiles: the name %q is there twice", x.name)
		case x.storageState == "":
			return r.errorf(item, "profiles: the storage-state of %q is missing", x.name)
		}
		s.profiles = append(s.profiles, x)
	}
	return nil
}

// checkProfiles looks at what sites and callers say of each other.
func (r *reader) checkProfiles() error {
	for _, s := range r.out.sites {
		if s.defaultProfile != "" && !slices.ContainsFunc(s.profiles, func(x profileConfig) bool { return x.name == s.defaultProfile }) {
			return usage("%s:%d: sites: default-profile %q is not one of the site's profiles", r.path, s.line, s.defaultProfile)
		}
		for _, x := range s.profiles {
			if len(r.out.callers) > 0 && len(x.callers) == 0 && x.name != s.defaultProfile {
				return usage("%s:%d: profiles: callers of %q is empty, so that nobody may use it: without names it is for %q, and there are callers",
					r.path, x.line, x.name, bridge.Local().Name)
			}
		}
	}
	return nil
}

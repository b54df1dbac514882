package config

import (
	"fmt"
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
		if !origin.Public(t.Origin) {
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

package toolset

import (
	"testing"

	"github.com/pagetools/pagetools/bridge"
)

// TestMissingOfALostSite: that a tool does not exist is said only when its site can be asked.
func TestMissingOfALostSite(t *testing.T) {
	lost := func(name string) Source {
		s := siteOf(name)
		s.Down = bridge.Errorf(bridge.InternalError, bridge.BrowserLost, bridge.Unknown, "The browser was lost.")
		return s
	}
	kept := siteOf("shop", named("look")...)
	kept.Down = lost("shop").Down
	past := New([]Source{siteOf("shop", named("look")...), siteOf("other", named("see")...)}, Options{}).Past()
	for name, c := range map[string]struct {
		sources []Source
		call    string
		want    bridge.Code
	}{
		"lost":                        {[]Source{lost("shop")}, "look", bridge.InternalError},
		"lost, of two, was known":     {[]Source{lost("shop"), siteOf("other", named("see")...)}, "look", bridge.InternalError},
		"lost, of two, never was":     {[]Source{lost("shop"), siteOf("other", named("see")...)}, "nothing", bridge.WebtoolNotFound},
		"the other is lost":           {[]Source{siteOf("shop"), lost("other")}, "look", bridge.WebtoolNotFound},
		"lost, and the list is there": {[]Source{kept}, "nothing", bridge.WebtoolNotFound},
		"there":                       {[]Source{siteOf("shop")}, "look", bridge.WebtoolNotFound},
	} {
		e := New(c.sources, Options{}).After(past).Missing(c.call)
		if e.Code != c.want || e.Outcome != bridge.NotRun || (e.Reason == bridge.BrowserLost) != (c.want == bridge.InternalError) {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

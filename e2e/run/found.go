package run

import (
	"fmt"

	"github.com/pagetools/pagetools/bridge/files"
	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/e2e/scenario"
)

// overreach lists what a file asks for and does not get, because it was found and nobody named it.
// It may have come with somebody else's repository: it may open pages that are public or below the
// folder in which it was found, and touch no file elsewhere. It starts no program, and reads
// nothing of the environment.
func (o *Options) overreach(f *scenario.File) (all []scenario.Problem) {
	if f.Within == "" {
		return nil
	}
	refuse := func(at scenario.Position, format string, args ...any) {
		all = append(all, problem(f, at, "%s, and nobody named this file; "+
			o.Words.Of("name %s if you trust it"), fmt.Sprintf(format, args...), text.Operand(f.Name)))
	}
	file := func(at scenario.Position, key, name string) {
		if name != "" && files.Inside(f.Within, beside(f, name)) != nil {
			refuse(at, "invalid value %s for %s: it is outside of %s", scenario.Quoted(name), key,
				scenario.Quoted(f.Within))
		}
	}
	s := f.Site
	if o.Site.Dir == "" && o.Site.URL == "" { // else that is the site, and somebody named it
		file(s.Position, "dir", s.Dir)
		if s.Dir == "" && s.URL != "" && !origin.Public(s.URL) {
			refuse(s.Position, "invalid value %s for url: it is not a public address", scenario.Quoted(s.URL))
		}
		if s.Serve != "" {
			refuse(s.Position, "serve starts the command %s", scenario.Quoted(s.Serve))
		}
	}
	for _, name := range s.Adapter {
		refuse(s.Position, "adapter puts the script %s into pages", scenario.Quoted(name))
	}
	if f.Env.Name != "" {
		refuse(f.Env.Position, "${env.%s} reads the environment", f.Env.Name)
	}
	if n := s.Network; n != nil {
		file(n.Position, "record", n.Record)
		file(n.Position, "replay", n.Replay)
	}
	file(s.Config.Position(), "storageState", s.Config.Member("storageState"))
	file(f.Position, "lock", f.Lock)
	return all
}

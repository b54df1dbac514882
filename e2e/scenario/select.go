package scenario

import (
	"regexp"
	"slices"
	"strings"
)

// Options say which cases run. The zero value selects all.
type Options struct {
	// Run must match somewhere in the [Selected.Name]; nil matches all.
	Run *regexp.Regexp
	// Tags are those of which a case must have one; none means that tags do not count.
	Tags []string
	// Via are the doors that are used of those that a case has; none means all.
	Via []Door
	// CI makes only an error.
	CI bool
}

// Selected is one case through one door. A case with a reason in Skip, and one whose Eval expects
// no call, is selected, too: whoever runs it reports the reason.
type Selected struct {
	File *File
	Case *Case
	Door Door
}

// Name is "file/case/door", which --run is matched with.
func (s *Selected) Name() string {
	return s.File.Name + "/" + s.Case.Name + "/" + string(s.Door)
}

// Again is the command line that repeats just this case through this door, for a POSIX shell.
func (s *Selected) Again() string {
	run := "^" + regexp.QuoteMeta(s.Name()) + "$"
	words := []string{"pagetools", "test", s.File.Name, "--run", run}
	if strings.HasPrefix(s.File.Name, "-") {
		words = []string{"pagetools", "test", "--run", run, "--", s.File.Name}
	}
	for i, w := range words {
		words[i] = shellWord(visible(w))
	}
	return strings.Join(words, " ")
}

var bareWord = regexp.MustCompile(`^[A-Za-z0-9_./-]+$`)

func shellWord(w string) string {
	if bareWord.MatchString(w) {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// Select returns the cases that run, in the order of the files and their lines. With a case that
// has only, no others are selected; under CI that is a [*Problems] with the place of each.
func Select(files []*File, o Options) ([]Selected, error) {
	only := false
	wrong := &Problems{}
	for _, f := range files {
		for _, c := range f.Cases {
			only = only || c.Only
			if !c.Only || !o.CI {
				continue
			}
			if len(wrong.List) == mostProblems {
				wrong.More++
				continue
			}
			wrong.List = append(wrong.List, Problem{f.Name, c.Position,
				visible("the case " + quoted(c.Name) + " has only, with which all others are left out: " +
					"remove it before CI")})
		}
	}
	if len(wrong.List) > 0 {
		return nil, wrong
	}
	var all []Selected
	for _, f := range files {
		for _, c := range f.Cases {
			if only && !c.Only {
				continue
			}
			for _, door := range c.Via {
				if s := (Selected{f, c, door}); o.fits(&s) {
					all = append(all, s)
				}
			}
		}
	}
	return all, nil
}

func (o *Options) fits(s *Selected) bool {
	hasTag := func(t string) bool { return slices.Contains(s.Case.Tags, t) }
	switch {
	case len(o.Tags) > 0 && !slices.ContainsFunc(o.Tags, hasTag):
		return false
	case len(o.Via) > 0 && !slices.Contains(o.Via, s.Door):
		return false
	}
	return o.Run == nil || o.Run.MatchString(s.Name())
}

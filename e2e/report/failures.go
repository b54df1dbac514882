package report

import (
	"slices"
	"strings"
)

// failure is a failed case as people read it: one for all ways in which it failed alike. Programs
// read each way by itself.
type failure struct {
	ways  []*Case  // that failed alike, in the order of the run; the first one explains it
	first *failure // of the same case, which was told before and is another; nil for none
}

// failures returns the failed cases of a run, in their order.
func (r *Run) failures() (all []failure) {
	for i := range r.Cases {
		c := &r.Cases[i]
		if c.Status != Failed {
			continue
		}
		same := slices.IndexFunc(all, func(f failure) bool { return f.is(c) })
		alike := slices.IndexFunc(all, func(f failure) bool { return f.is(c) && f.ways[0].reason() == c.reason() })
		switch {
		case alike >= 0:
			all[alike].ways = append(all[alike].ways, c)
		case same >= 0:
			first := all[same]
			all = append(all, failure{ways: []*Case{c}, first: &first})
		default:
			all = append(all, failure{ways: []*Case{c}})
		}
	}
	return all
}

func (f *failure) is(c *Case) bool {
	first := f.ways[0]
	return first.File == c.File && first.Line == c.Line && first.Name == c.Name
}

// label names the case, and all ways in which it failed alike.
func (f *failure) label() string {
	named := *f.ways[0]
	for _, c := range f.ways[1:] {
		named.Door += ", " + c.Door
	}
	return named.label()
}

// reason returns a text of why the case failed, without what is each way's own.
func (c *Case) reason() string {
	var b strings.Builder
	for _, p := range c.explain() {
		if !p.own {
			b.WriteString(p.Title + "\x00" + p.Text + "\x00")
		}
	}
	return b.String()
}

// explain returns what there is to say of the failure: after one of the same case that was told,
// only what differs from it.
func (f *failure) explain() []part {
	all := f.ways[0].explain()
	for _, c := range f.ways[1:] {
		if trace := c.traced(); trace != "" {
			all = append(all, part{Title: "trace of " + c.Door, Text: trace})
		}
	}
	if f.first == nil {
		return all
	}
	told := f.first.ways[0].explain()
	before := len(all)
	all = slices.DeleteFunc(all, func(p part) bool { return slices.Contains(told, p) })
	if len(all) < before {
		all = append(all, part{Title: "the rest", Text: "as in " + f.first.label()})
	}
	return all
}

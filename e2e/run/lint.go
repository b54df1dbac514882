package run

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/e2e/check"
	"github.com/pagetools/pagetools/e2e/effects"
	"github.com/pagetools/pagetools/e2e/report"
	"github.com/pagetools/pagetools/e2e/scenario"
)

// contractChanged is the rule that holds declarations against a lock file.
const contractChanged = "contract-changed"

// lint judges the declarations of the site, as the file asks. What it finds is in the report; lint
// and lock are cases, which fail by it.
func (on *Stand) lint(ctx context.Context) {
	f := on.file
	if f.Lint == nil && f.Lock == "" {
		return
	}
	o, at, err := rules(f)
	var found []check.Finding
	if err == nil {
		found, err = on.judge(ctx, o)
	}
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		on.runner.pseudo(on.file, "lint", at, err.Error())
		return
	}
	ofLock := func(x check.Finding) bool { return x.Rule == contractChanged }
	if f.Lock != "" {
		on.verdict("lock", f.Position, check.Error, slices.DeleteFunc(slices.Clone(found),
			func(x check.Finding) bool { return !ofLock(x) }))
	}
	if f.Lint != nil {
		least := cmp.Or(check.Severity(f.Lint.FailOn), check.Error)
		on.verdict("lint", f.Lint.Position, least, slices.DeleteFunc(found, ofLock))
	}
}

// rules are the settings of the rules, and the place of the first that is wrong.
func rules(f *scenario.File) (o check.Options, at scenario.Position, err error) {
	o.Rules = map[string]check.Setting{}
	if f.Lint == nil {
		for _, r := range check.Rules() {
			if r.ID != contractChanged {
				o.Rules[r.ID] = check.Setting{Severity: check.Off}
			}
		}
		return o, f.Position, nil
	}
	for _, r := range f.Lint.Rules {
		setting, err := settingOf(&r)
		if err == nil {
			_, err = check.Judge(&check.Snapshot{}, check.Options{Rules: map[string]check.Setting{
				r.ID: setting}})
		}
		if err != nil {
			return o, r.Position, err
		}
		o.Rules[r.ID] = setting
	}
	return o, f.Lint.Position, nil
}

// settingOf reads the options of a rule: a severity, or an object that may have one.
func settingOf(r *scenario.Rule) (s check.Setting, err error) {
	text, err := r.Options.JSON()
	if err != nil {
		return s, fmt.Errorf("invalid value for %s: %w", r.ID, err)
	}
	v := scenario.ReadAgain(text)
	if v.IsString() {
		s.Severity = check.Severity(v.String())
		return s, nil
	}
	s.Values = map[string]any{}
	for name, option := range v.Members() {
		var value any
		if err := json.Unmarshal(option.Text(), &value); err != nil {
			return s, err
		}
		switch name {
		case "severity":
			s.Severity = check.Severity(option.String())
		case "allow":
			for x := range option.Elements() {
				s.Allow = append(s.Allow, x.String())
			}
		default:
			s.Values[name] = value
		}
	}
	return s, nil
}

func (on *Stand) judge(ctx context.Context, o check.Options) ([]check.Finding, error) {
	page, err := effects.Look(ctx, on.app, on.site)
	if err != nil {
		return nil, err
	}
	o.Words = on.runner.o.Words
	s := &check.Snapshot{Target: on.file.Name, Live: true, Pages: []check.Page{page}}
	if name := on.file.Lock; name != "" {
		if s.Locked, err = locked(beside(on.file, name)); err != nil {
			return nil, fmt.Errorf(on.runner.o.Words.Of("lock: %w"), err)
		}
	}
	return check.Judge(s, o)
}

// locked are the tools of a lock file, of all its targets.
func locked(name string) (map[string]check.Tool, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	s, err := check.FromFile(text)
	if err != nil {
		return nil, err
	}
	all := map[string]check.Tool{}
	for _, page := range s.Pages {
		for _, t := range page.Tools {
			all[t.Name] = t
		}
	}
	return all, nil
}

// verdict is a case that fails by findings from a severity on.
func (on *Stand) verdict(name string, at scenario.Position, least check.Severity,
	found []check.Finding) {
	bad := 0
	for i := range found {
		if found[i].Severity.AtLeast(least) {
			bad++
		}
	}
	why := ""
	if bad > 0 {
		why = fmt.Sprintf("%d of %d findings are as bad as %s or worse", bad, len(found), least)
	}
	on.runner.reporting.Lock()
	on.runner.run.Findings = append(on.runner.run.Findings, found...)
	on.runner.reporting.Unlock()
	on.runner.pseudo(on.file, name, at, why)
}

// pseudo reports what is not a case of the file, and failed when there is a reason.
func (r *runner) pseudo(f *scenario.File, name string, at scenario.Position, why string) {
	c := report.Case{File: f.Name, Line: at.Line, Name: name, Status: report.Passed, Attempts: 1}
	if why != "" {
		c.Status = report.Failed
		c.Failure = &report.Failure{Step: name, Line: at.Line, Message: text.EscapeLine(why),
			Again: r.o.again(f.Name, "")}
	}
	r.done(c)
}

// coverage compares the tools that were called with those that were there.
func (on *Stand) coverage() {
	if on.runner.o.MinCoverage <= 0 {
		return
	}
	var never []string
	for _, name := range slices.Sorted(maps.Keys(on.tools.declared)) {
		if !on.tools.called[name] {
			never = append(never, name)
		}
	}
	all := len(on.tools.declared)
	percent := 100.0
	if all > 0 {
		percent = 100 * float64(all-len(never)) / float64(all)
	}
	said := fmt.Sprintf("%d of %d tools are called (%.0f %%)", all-len(never), all, percent)
	if len(never) > 0 {
		said += "; never called: " + strings.Join(never, ", ")
	}
	if percent >= on.runner.o.MinCoverage {
		on.runner.note("%s: %s.", on.file.Name, said)
		said = ""
	} else {
		said += fmt.Sprintf(on.runner.o.Words.Of("; at least %g %% must be"), on.runner.o.MinCoverage)
	}
	on.runner.pseudo(on.file, "coverage", scenario.Position{Line: 1, Column: 1}, said)
}

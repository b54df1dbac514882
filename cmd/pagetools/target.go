package main

import (
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/e2e/app"
)

// target is one site as named on the command line or in the file.
type target struct {
	*app.Target
	config config.Site
	named  bool // on the command line
}

// targets reads those of the command line and those of the file.
func (p *program) targets(args []string) ([]*target, error) {
	var out []*target
	for _, c := range p.conf.Sites {
		t := &target{Target: &app.Target{Name: c.Name, Text: c.Target}, config: c}
		if err := t.Read(); err != nil {
			return nil, usage("%s:%d: %w", p.conf.File, c.Line, err)
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
	return out, nameAll(out...)
}

// parseTarget reads [NAME=]TARGET.
func parseTarget(arg string) (*target, error) {
	t, err := app.ParseTarget(arg)
	if err != nil {
		return nil, usage("%w", err)
	}
	return &target{Target: t, named: true}, nil
}

// nameAll names every target, each differently.
func nameAll(targets ...*target) error {
	all := make([]*app.Target, len(targets))
	for i, t := range targets {
		all[i] = t.Target
	}
	if err := app.NameAll(all); err != nil {
		return usage("%w", err)
	}
	return nil
}

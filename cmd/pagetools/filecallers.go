package main

import (
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/policy"
)

// shortToken is the length, in bytes, below which a token is warned about: it can
// be guessed.
const shortToken = 16

func (r *reader) callers(n *yaml.Node) error {
	if n.Kind != yaml.SequenceNode {
		return r.errorf(n, "callers must be a list")
	}
	names, tokens := map[string]bool{}, map[string]bool{}
	for _, item := range n.Content {
		c := callerConfig{line: item.Line, may: []bridge.Right{bridge.MayCall, bridge.MayElicit}}
		if err := r.caller(item, &c); err != nil {
			return err
		}
		switch {
		case c.name == "":
			return r.errorf(item, "callers: name is missing")
		case names[c.name]:
			return r.errorf(item, "callers: the name %q is there twice", c.name)
		case c.token == "":
			return r.errorf(item, "callers: the token of %q is missing", c.name)
		case tokens[c.token]:
			return r.errorf(item, "callers: the token of %q is another one's too", c.name)
		}
		names[c.name], tokens[c.token] = true, true
		r.out.callers = append(r.out.callers, c)
	}
	return nil
}

func (r *reader) caller(n *yaml.Node, c *callerConfig) error {
	return r.fields(n, "callers", map[string]func(*yaml.Node) error{
		"name":  value(r, "name", &c.name),
		"token": value(r, "token", &c.token),
		"sites": value(r, "sites", &c.sites),
		"may": func(n *yaml.Node) error {
			c.may = nil
			for _, item := range n.Content {
				switch right := bridge.Right(item.Value); right {
				case bridge.MayCall, bridge.MayElicit, bridge.MayAnswer:
					c.may = append(c.may, right)
				default:
					return r.errorf(item, "may: %q is not one of call, elicit, answer", item.Value)
				}
			}
			if n.Kind != yaml.SequenceNode {
				return r.errorf(n, "may must be a list")
			}
			return nil
		},
		"rate": func(n *yaml.Node) error { return r.rate(n, "rate", &c.rate) },
	})
}

// rate reads so many calls in so much time.
func (r *reader) rate(n *yaml.Node, key string, to *policy.Rate) error {
	rate, err := policy.ParseRate(n.Value)
	if err != nil {
		return r.errorf(n, "%s: %q is not like 60/1m", key, n.Value)
	}
	*to = rate
	return nil
}

// rates are the rates of single tools, by patterns of their names.
func (r *reader) rates(n *yaml.Node, s *siteConfig) error {
	if n.Kind != yaml.MappingNode {
		return r.errorf(n, "rates must be a mapping of patterns to rates")
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		rule := policy.RateRule{Pattern: n.Content[i].Value}
		if slices.ContainsFunc(s.rates, func(x policy.RateRule) bool { return x.Pattern == rule.Pattern }) {
			return r.errorf(n.Content[i], "rates: the key %q is there twice", rule.Pattern)
		}
		if err := r.rate(n.Content[i+1], "rates: "+rule.Pattern, &rule.Rate); err != nil {
			return err
		}
		s.rates = append(s.rates, rule)
	}
	return nil
}

// limits are bounds of the contract's section of that name. Two of them are
// flags as well.
func (r *reader) limits(n *yaml.Node) error {
	l := &r.out.limits
	return r.fields(n, "limits", map[string]func(*yaml.Node) error{
		"call-timeout":      func(n *yaml.Node) error { return r.flag("call-timeout", n) },
		"max-sessions":      func(n *yaml.Node) error { return r.flag("max-sessions", n) },
		"queue":             r.positive("queue", &l.queue),
		"recycle-after":     r.positive("recycle-after", &l.recycle),
		"first-idle":        r.duration("first-idle", &l.firstIdle),
		"question":          r.duration("question", &l.bridge.Question),
		"idle":              r.duration("idle", &l.idle),
		"max-age":           r.duration("max-age", &l.maxAge),
		"tools":             r.positive("tools", &l.bridge.Tools),
		"name":              r.positive("name", &l.bridge.Name),
		"description":       r.positive("description", &l.bridge.Description),
		"schema-bytes":      r.positive("schema-bytes", &l.bridge.Schema.Bytes),
		"schema-depth":      r.positive("schema-depth", &l.bridge.Schema.Depth),
		"schema-subschemas": r.positive("schema-subschemas", &l.bridge.Schema.Subschemas),
		"schema-expansions": r.positive("schema-expansions", &l.bridge.Schema.Expansions),
		"schema-pattern":    r.positive("schema-pattern", &l.bridge.Schema.Pattern),
		"arguments":         r.positive("arguments", &l.bridge.Arguments),
		"result":            r.positive("result", &l.bridge.Result),
	})
}

func (r *reader) positive(key string, to *int) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if err := n.Decode(to); err != nil || *to <= 0 {
			return r.errorf(n, "%s: %q is not a positive number", key, n.Value)
		}
		return nil
	}
}

func (r *reader) duration(key string, to *time.Duration) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		d, err := time.ParseDuration(n.Value)
		if err != nil || d <= 0 {
			return r.errorf(n, "%s: %q is not a duration, such as 60s", key, n.Value)
		}
		*to = d
		return nil
	}
}

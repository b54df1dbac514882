package console

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/transport"
)

// maxFilter bounds a filter of calls, in bytes.
const maxFilter = 1024

// condition tells which calls are wanted.
type condition func(c *callJSON, now time.Time) bool

// keys are the words before a colon in a filter of calls, in the order in which a person reads them.
var keys = []string{"site", "tool", "caller", "session", "status", "code", "duration", "waited", "since", "until", "version", "id"}

// readFilter reads a filter of calls: words, and conditions such as site:shop. All of them must hold. A
// dash in front of one excludes, a comma in a value means or, a star stands for anything, and quotes hold
// spaces together. The error says what there is.
func readFilter(q string, now time.Time) (func(*callJSON) bool, error) {
	if len(q) > maxFilter {
		return nil, transport.Malformed("q has more than " + strconv.Itoa(maxFilter) + " bytes.")
	}
	var all []condition
	for _, word := range words(q) {
		bare, excludes := strings.CutPrefix(word, "-")
		if bare == "" {
			continue
		}
		one, err := readCondition(bare)
		if err != nil {
			return nil, err
		}
		if excludes {
			wanted := one
			one = func(c *callJSON, now time.Time) bool { return !wanted(c, now) }
		}
		all = append(all, one)
	}
	return func(c *callJSON) bool {
		return !slices.ContainsFunc(all, func(one condition) bool { return !one(c, now) })
	}, nil
}

// words splits at spaces outside of quotes, which are left out.
func words(q string) (all []string) {
	var word strings.Builder
	quoted := false
	for _, c := range q + " " {
		switch {
		case c == '"':
			quoted = !quoted
		case c == ' ' && !quoted:
			if word.Len() > 0 {
				all = append(all, word.String())
			}
			word.Reset()
		default:
			word.WriteRune(c)
		}
	}
	if quoted { // the last one has no end
		all = append(all, strings.TrimSuffix(word.String(), " "))
	}
	return all
}

// readCondition reads one word of a filter, without its dash.
func readCondition(word string) (condition, error) {
	key, value, has := strings.Cut(word, ":")
	if !has {
		wanted := strings.ToLower(word)
		return func(c *callJSON, _ time.Time) bool {
			return slices.ContainsFunc([]string{c.Site, c.Tool, c.Caller, c.Session, c.Node}, func(name string) bool { return strings.Contains(strings.ToLower(name), wanted) })
		}, nil
	}
	if !slices.Contains(keys, key) {
		return nil, transport.Malformed("unknown word " + text.Quote(key) + " in the filter: must be one of " + text.List(keys, "and") + ".")
	}
	if value == "" {
		return nil, transport.Malformed("invalid filter " + key + ": must have a value behind its colon.")
	}
	switch key {
	case "duration":
		return readLength(key, value, (*callJSON).took)
	case "waited":
		return readLength(key, value, func(c *callJSON, _ time.Time) time.Duration { return time.Duration(c.Waited) * time.Millisecond })
	case "since", "until":
		return readMoment(key, value)
	case "status":
		for one := range strings.SplitSeq(value, ",") {
			if !slices.Contains(statuses, one) {
				return nil, invalid(one, key, text.List(statuses, "or"))
			}
		}
	}
	return readNames(key, value)
}

func invalid(value, key, what string) error {
	return transport.Malformed("invalid value " + text.Quote(value) + " for " + key + ": must be " + what + ".")
}

// readNames reads names of what the key says: a call that has one of them is wanted.
func readNames(key, value string) (condition, error) {
	wanted := strings.Split(strings.ToLower(value), ",")
	return func(c *callJSON, _ time.Time) bool {
		for _, name := range c.named(key) {
			if slices.ContainsFunc(wanted, func(one string) bool { return matches(one, strings.ToLower(name)) }) {
				return true
			}
		}
		return false
	}, nil
}

// named returns the names of a call that a key of a filter is about.
func (c *callJSON) named(key string) []string {
	switch key {
	case "site":
		return []string{c.Site}
	case "tool":
		return []string{c.Tool}
	case "caller":
		return []string{c.Caller}
	case "session":
		return []string{c.Session}
	case "status":
		return []string{c.Status}
	case "code":
		return []string{c.Code, c.Reason}
	case "version":
		return []string{c.Version}
	default:
		return []string{c.Call}
	}
}

// matches reports whether a name fits a pattern, in which a star stands for anything.
func matches(written, name string) bool {
	parts := strings.Split(written, "*")
	if len(parts) == 1 {
		return written == name
	}
	rest, begins := strings.CutPrefix(name, parts[0])
	if !begins {
		return false
	}
	for _, part := range parts[1 : len(parts)-1] {
		_, behind, has := strings.Cut(rest, part)
		if !has {
			return false
		}
		rest = behind
	}
	return strings.HasSuffix(rest, parts[len(parts)-1])
}

// readLength reads a time such as >500ms, <2s.
func readLength(key, value string, of func(*callJSON, time.Time) time.Duration) (condition, error) {
	d, err := duration(strings.TrimLeft(value, "<>"))
	sign := value[0]
	if err != nil || sign != '<' && sign != '>' || strings.TrimLeft(value, "<>") != value[1:] {
		return nil, invalid(value, key, "such as >500ms or <2s")
	}
	return func(c *callJSON, now time.Time) bool {
		took := of(c, now)
		return sign == '>' && took > d || sign == '<' && took < d
	}, nil
}

// duration reads a positive duration, also one in days.
func duration(value string) (time.Duration, error) {
	if days, has := strings.CutSuffix(value, "d"); has {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err //nolint:wrapcheck // nobody reads it
	}
	d, err := time.ParseDuration(value)
	if err == nil && d < 0 {
		err = strconv.ErrRange
	}
	return d, err //nolint:wrapcheck // nobody reads it
}

// readMoment reads a time, or how long ago it was.
func readMoment(key, value string) (condition, error) {
	ago, notAgo := duration(value)
	at, notTime := time.Parse(time.RFC3339, value)
	if notAgo != nil && notTime != nil {
		return nil, invalid(value, key, "such as 15m, 2d or 2026-01-31T12:00:00Z")
	}
	return func(c *callJSON, now time.Time) bool {
		limit := at
		if notAgo == nil {
			limit = now.Add(-ago)
		}
		return key == "since" && !c.Began.Before(limit) || key == "until" && !c.Began.After(limit)
	}, nil
}

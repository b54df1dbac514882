package webtool

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

const (
	// maxResolved bounds the arguments of a step with what its references bring, in bytes. The
	// bridge judges them by their tool then.
	maxResolved = 1 << 20
	// maxReferred bounds the results that the references of one step lead into, in bytes together,
	// and maxVisited the values that they visit there.
	maxReferred, maxVisited = 2 << 20, 200_000
	// maxPath limits how much of a path a message repeats, in characters.
	maxPath = 100
)

// references puts results of earlier steps into the arguments of one step (RFC 8620, 3.7).
type references struct {
	results map[string][]byte // the data of the steps that succeeded
	read    map[string]bridge.Value
	bytes   int // of what was read
	visited int
	out     []byte
	at      []string // where in the arguments it writes
}

// resolve returns arguments in which every member "#name" is a member "name" with the value that it
// refers to. What comes from a result is never looked at for further references. Errors are
// SCHEMA_ERROR.
func (rs *references) resolve(request bridge.Value) (bridge.Value, *bridge.Error) {
	if !refers(request) {
		return request, nil
	}
	if e := rs.write(request); e != nil {
		return bridge.Value{}, e
	}
	v, err := bridge.ReadValue("request", rs.out)
	if err != nil {
		return v, bridge.AsError(err)
	}
	return v, nil
}

// refers reports whether a member's name begins with "#", at any depth.
func refers(v bridge.Value) bool {
	for name, member := range v.Members() {
		if strings.HasPrefix(name, "#") || refers(member) {
			return true
		}
	}
	for item := range v.Elements() {
		if refers(item) {
			return true
		}
	}
	return false
}

func (rs *references) write(v bridge.Value) *bridge.Error {
	switch {
	case v.IsObject():
		rs.out = append(rs.out, '{')
		for name, member := range v.Members() {
			if e := rs.member(v, name, member); e != nil {
				return e
			}
		}
		rs.out = append(rs.out, '}')
	case v.IsArray():
		rs.out = append(rs.out, '[')
		for i, item := range v.Items() {
			if i > 0 {
				rs.out = append(rs.out, ',')
			}
			if e := rs.under(strconv.Itoa(i), item); e != nil {
				return e
			}
		}
		rs.out = append(rs.out, ']')
	default:
		rs.out = append(rs.out, v.Text()...)
	}
	if len(rs.out) > maxResolved {
		return rs.wrong("the arguments are longer than %d bytes with what the references bring", maxResolved)
	}
	return nil
}

func (rs *references) under(token string, v bridge.Value) *bridge.Error {
	rs.at = append(rs.at, token)
	defer func() { rs.at = rs.at[:len(rs.at)-1] }()
	return rs.write(v)
}

// member writes a member of an object, or what it refers to.
func (rs *references) member(of bridge.Value, name string, v bridge.Value) *bridge.Error {
	as, marked := strings.CutPrefix(name, "#")
	literal := !marked || strings.HasPrefix(as, "#")
	if rs.out[len(rs.out)-1] != '{' {
		rs.out = append(rs.out, ',')
	}
	rs.out = append(append(rs.out, schema.MustEncode(as)...), ':')
	if literal {
		return rs.under(name, v)
	}
	rs.at = append(rs.at, name)
	defer func() { rs.at = rs.at[:len(rs.at)-1] }()
	if of.Get(as).Exists() {
		return rs.wrong("it is there as %s, too: send one of them", text.Quote(text.Brief(as, maxPath)))
	}
	return rs.reference(v)
}

// reference writes what a reference leads to.
func (rs *references) reference(v bridge.Value) *bridge.Error {
	step, path := v.Get("resultOf"), v.Get("path")
	if !v.IsObject() || v.Len() != 2 || !step.IsString() || !path.IsString() {
		return rs.wrong(`a reference must be {"resultOf": the id of an earlier step, "path": a JSON Pointer into its data}; ` +
			`a member whose name begins with # is sent as ##name`)
	}
	tokens, ok := schema.SplitPointer(path.String())
	if !ok {
		return rs.wrong("%s is not a JSON Pointer, such as /stamps/0/name", text.Quote(text.Brief(path.String(), maxPath)))
	}
	whole, e := rs.result(step.String())
	if e != nil {
		return e
	}
	found, ok := rs.follow(whole, tokens)
	switch {
	case rs.visited > maxVisited:
		return rs.wrong("the references visit more than %d values", maxVisited)
	case !ok:
		return rs.wrong("the step %s has nothing at %s", text.Quote(step.String()), text.Quote(text.Brief(path.String(), maxPath)))
	case !found.mapped:
		rs.out = append(rs.out, found.values[0].Text()...)
		return rs.fits()
	}
	rs.out = append(rs.out, '[')
	for i, one := range found.values {
		if i > 0 {
			rs.out = append(rs.out, ',')
		}
		rs.out = append(rs.out, one.Text()...)
		if e := rs.fits(); e != nil {
			return e
		}
	}
	rs.out = append(rs.out, ']')
	return nil
}

// result returns the data of a step.
func (rs *references) result(step string) (bridge.Value, *bridge.Error) {
	if v, there := rs.read[step]; there {
		return v, nil
	}
	data, there := rs.results[step]
	if !there {
		return bridge.Value{}, rs.wrong("there is no result of a step %s: it must be an earlier step that succeeded",
			text.Quote(text.Brief(step, maxPath)))
	}
	if rs.bytes += len(data); rs.bytes > maxReferred {
		return bridge.Value{}, rs.wrong("the results that the references lead into are longer than %d bytes together", maxReferred)
	}
	v, err := bridge.ReadValue("The result", data)
	if err != nil {
		return v, rs.wrong("the result of the step %s cannot be read", text.Quote(step))
	}
	if rs.read == nil {
		rs.read = map[string]bridge.Value{}
	}
	rs.read[step] = v
	return v, nil
}

// found holds the target of a path: one value or, where the path maps over a list, a list of them.
type found struct {
	values []bridge.Value
	mapped bool
}

// follow returns the target of a path. It is false where there is none, also for one element of a
// list that it maps over.
func (rs *references) follow(v bridge.Value, tokens []string) (found, bool) {
	for i, token := range tokens {
		if rs.visited++; rs.visited > maxVisited {
			return found{}, false
		}
		if v.IsArray() && token == "*" {
			return rs.over(v, tokens[i+1:])
		}
		if v = v.Step(token); !v.Exists() {
			return found{}, false
		}
	}
	return found{values: []bridge.Value{v}}, true
}

// over maps the rest of a path over a list. Where that leads to lists, their elements are in the
// result, in the place of the lists.
func (rs *references) over(list bridge.Value, rest []string) (found, bool) {
	all := found{mapped: true}
	for item := range list.Elements() {
		one, ok := rs.follow(item, rest)
		if !ok {
			return found{}, false
		}
		values := one.values
		if !one.mapped && values[0].IsArray() {
			values = slices.Collect(values[0].Elements())
		}
		if rs.visited += 1 + len(values); rs.visited > maxVisited {
			return found{}, false
		}
		all.values = append(all.values, values...)
	}
	return all, true
}

func (rs *references) fits() *bridge.Error {
	if len(rs.out) > maxResolved {
		return rs.wrong("the arguments are longer than %d bytes with what the references bring", maxResolved)
	}
	return nil
}

// wrong is the error of the place in the arguments that is being written.
func (rs *references) wrong(format string, args ...any) *bridge.Error {
	where, message := schema.Pointer(rs.at...), fmt.Sprintf(format, args...)
	return bridge.Errorf(bridge.SchemaError, "", bridge.NotRun, "request%s: %s.", text.Brief(where, maxPath), message).
		Detail("errors", []map[string]string{{"pointer": where, "message": message}})
}

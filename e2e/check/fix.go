package check

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

// This file corrects declarations. A correction covers all findings of the tool whose correction is
// certain: one text to copy, and no known mistake is left in it.

// corrected returns the declaration as its author meant it, as far as that is certain.
func (t *tool) corrected() Tool {
	x := Tool{Name: t.Name, Title: t.Title, Description: t.Description, Input: t.Input,
		Output: t.Output, Annotations: t.Annotations, ExposedTo: slices.Clone(t.ExposedTo)}
	if better := t.betterName(); better != "" {
		x.Name = better
	}
	visibly(&x)
	if notes := t.literalNotes(); notes != nil {
		x.Annotations = notes
	}
	for i, entry := range x.ExposedTo {
		if only := onlyOrigin(entry); only != "" {
			x.ExposedTo[i] = only
		}
	}
	if t.input.IsObject() {
		x.Input = correctedInput(t.input)
	}
	if len(t.outputSlips) > 0 {
		x.Output = t.output.Text()
	}
	return x
}

// fix returns the text of the corrected declaration, or "": it is long, what the page declares is
// not known, or the correction would bring other findings.
func (t *tool) fix() string {
	if t.fixed == nil {
		words := ""
		if x := t.corrected(); t.rejected == nil && !t.loses() {
			if b, err := schema.Encode(x); err == nil && len(b) <= maxFix {
				words = string(b)
			}
		}
		t.fixed = &words
	}
	return *t.fixed
}

// verify takes the corrections back that do not remove their finding, or bring others.
func verify(s *Snapshot, o Options, fixes map[string]*tool, found []Finding) {
	type counts struct{ before, after map[string]int }
	known := map[*tool]*counts{}
	for i := range found {
		f := &found[i]
		t := fixes[f.Fix]
		if f.Fix == "" || t == nil {
			continue
		}
		n := known[t]
		if n == nil {
			n = &counts{t.judged(s, o, *t.declared), t.judged(s, o, t.corrected())}
			known[t] = n
		}
		brings := n.after[f.Rule] >= n.before[f.Rule]
		for rule, after := range n.after {
			brings = brings || after > n.before[rule]
		}
		if brings {
			f.Fix = ""
		}
	}
}

// judged counts the findings of a tool alone in its page.
func (t *tool) judged(s *Snapshot, o Options, as Tool) map[string]int {
	as.Origin, as.Frame, as.Surface, as.Script = t.Origin, t.Frame, t.Surface, t.Script
	o.Hosts, o.alone = nil, true
	alone := &Snapshot{Target: s.Target, Live: s.Live, Pages: []Page{{URL: t.page.URL, Forms: t.page.Forms, Tools: []Tool{as}}}}
	found, err := Judge(alone, o)
	if err != nil {
		return nil // the options were tried before
	}
	counts := map[string]int{}
	for _, f := range found {
		counts[f.Rule]++
	}
	return counts
}

// betterName is the legal name that an illegal one was meant to be, or "".
func (t *tool) betterName() string {
	if isName(t.Name) {
		return ""
	}
	better := replaceable.ReplaceAllString(strings.TrimSpace(t.Name), "_")
	taken := func(o *tool) bool { return o.Name == better }
	if !isName(better) || slices.ContainsFunc(t.page.all, taken) {
		return ""
	}
	return better
}

// literalNotes are the annotations with true in the place of "true", or nil.
func (t *tool) literalNotes() json.RawMessage {
	notes := t.notes
	changed := false
	for _, name := range hintNames {
		meant := strings.ToLower(notes.Get(name).String())
		if meant != "true" && meant != "false" {
			continue
		}
		text, err := edited(notes, []string{name}, []byte(meant))
		if err != nil {
			return nil
		}
		if notes, err = schema.Read(text, maxDepth); err != nil {
			return nil
		}
		changed = true
	}
	if !changed {
		return nil
	}
	return notes.Text()
}

// onlyOrigin is the origin of an entry of exposedTo that says more, or "".
func onlyOrigin(entry string) string {
	u := address(entry)
	if u == nil || u.Host == "" || !Trustworthy(u) || strings.Contains(entry, "*") ||
		u.User == nil && u.RawQuery == "" && u.Fragment == "" && (u.Path == "" || u.Path == "/") {
		return ""
	}
	return origin.OfURL(u)
}

// correctedInput is a schema of arguments without what rules find in it and know to correct,
// besides its slips.
func correctedInput(in schema.Value) json.RawMessage {
	const most = 200 // corrections
	for range most {
		path, value := nextCorrection(in)
		if path == nil {
			break
		}
		text, err := edited(in, path, value)
		if err != nil {
			break
		}
		next, err := schema.Read(text, maxDepth)
		if err != nil {
			break
		}
		in = next
	}
	return in.Text()
}

// nextCorrection finds a place in a schema that is wrong for certain, and what must be there; nil
// leaves it out. The path is nil when there is none.
func nextCorrection(in schema.Value) (path []string, value []byte) {
	if !in.Get("type").Exists() {
		return []string{"type"}, []byte(`"object"`)
	}
	if path := nullDefault(in, nil); path != nil {
		return path, nil
	}
	for _, n := range nodesOf(in, "") {
		if listed := nearRequired(n); listed != nil {
			tokens, _ := schema.SplitPointer(n.pointer)
			return append(tokens, "required"), schema.MustEncode(listed)
		}
	}
	return nil, nil
}

// nullDefault returns the path to the first default of null, or nil.
func nullDefault(v schema.Value, path []string) []string {
	for name, held := range v.Members() {
		at := slices.Concat(path, []string{name})
		if held.IsNull() && name == "default" {
			return at
		}
		if found := nullDefault(held, at); found != nil {
			return found
		}
	}
	for i, held := range v.Items() {
		if found := nullDefault(held, append(path[:len(path):len(path)], strconv.Itoa(i))); found != nil {
			return found
		}
	}
	return nil
}

// nearRequired returns the names that a schema requires with the first one that is misspelled
// corrected, or nil.
func nearRequired(n node) []string {
	if open(n.schema) || inPlace.MatchString(n.pointer) {
		return nil
	}
	var listed []string
	for name := range n.schema.Get("required").Elements() {
		if !name.IsString() {
			return nil
		}
		listed = append(listed, name.String())
	}
	for i, name := range listed {
		if near := misspelled(n, listed, name); near != "" {
			listed[i] = near
			return listed
		}
	}
	return nil
}

// misspelled returns the parameter that a required name was meant to be, where it has nearly the
// name of one that is not required yet, or "".
func misspelled(n node, listed []string, name string) string {
	properties := n.schema.Get("properties")
	if properties.Get(name).Exists() {
		return ""
	}
	const few = 200 // names that are compared
	names := properties.Names()
	near := text.Nearest(name, names[:min(len(names), few)])
	if slices.Contains(listed, near) {
		return ""
	}
	return near
}

// edited returns a value with another one at a path of members and elements; nil leaves it out.
func edited(v schema.Value, path []string, value []byte) ([]byte, error) {
	if len(path) == 0 {
		return value, nil
	}
	if v.IsArray() {
		return editedItem(v, path, value)
	}
	inner, err := edited(v.Get(path[0]), path[1:], value)
	if err != nil {
		return nil, err
	}
	var out []schema.Member
	there := false
	for name, held := range v.Members() {
		switch {
		case name != path[0]:
			out = append(out, schema.Member{Name: name, Value: held.Text()})
		case inner != nil:
			out, there = append(out, schema.Member{Name: name, Value: inner}), true
		}
	}
	if !there && inner != nil {
		out = append(out, schema.Member{Name: path[0], Value: inner})
	}
	all, err := v.Edit(func(string) bool { return true }, out...)
	return all.Text(), err
}

func editedItem(v schema.Value, path []string, value []byte) ([]byte, error) {
	var out []json.RawMessage
	for i, held := range v.Items() {
		text := held.Text()
		if strconv.Itoa(i) == path[0] {
			inner, err := edited(held, path[1:], value)
			if err != nil {
				return nil, err
			}
			text = inner
		}
		if text != nil {
			out = append(out, text)
		}
	}
	return schema.Encode(out)
}

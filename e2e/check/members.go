package check

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

// This file finds members of declarations that no browser reads, because other interfaces have
// their names, or they are misspelled. What they say is judged as if it was written rightly.

var memberRule = Rule{
	ID: "member-misnamed", Severity: Error, find: each((*run).declarations, findMisnamed),
	What: "A member of the declaration has a name that browsers do not read, and that nearly is, " +
		"or elsewhere is, the name of one that they do: parameters or input_schema for inputSchema, " +
		"handler for execute, readonlyHint, a hint outside of annotations, exposedTo outside of the " +
		"options. Or the inputSchema is a function, as some libraries have it, or has types of JavaScript.",
	Why: "Browsers ignore it without a word: agents are told that the tool has no arguments, or hosts " +
		"do not know the hint.",
	Source: "WebMCP draft, ModelContextTool and ToolAnnotations; function calling documentation of " +
		"model APIs; SDKs of MCP",
	Bad: exampleHead + `"others":{"parameters":{"type":"object","properties":{` + goodYear + `}}}}`, Good: goodTool, At: "/parameters",
}

// elsewhere lists what other interfaces call the members that browsers read, without capitals and
// separators. Those of the second list may be something else, too.
var elsewhere = []struct{ member, certain, perhaps string }{
	{"name", "toolname id identifier", ""},
	{"description", "desc descr summary tooldescription", ""},
	{"inputSchema", "parameters parameterschema parametersschema parametersjsonschema paramsschema " +
		"argsschema argumentsschema inputjsonschema jsonschema schema",
		"input inputs params args arguments properties"},
	{"outputSchema", "outputjsonschema resultschema returnschema returnsschema responseschema",
		"output returns"},
	{"annotations", "toolannotations hints", ""},
	{"execute", "handler callback run call invoke fn func function action implementation cb exec " +
		"handle perform oncall onexecute executor toolhandler", ""},
}

// misnamed is one member with a wrong name.
type misnamed struct {
	pointer, message string
	means            string // the member that browsers read; "" is a hint or an option
	fixed            bool   // the correction is certain
}

// plainName returns a name without capitals and separators.
func plainName(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", ".", "").Replace(name))
}

// mostOthers bounds the members that are looked at.
const mostOthers = 64

// meant returns the declaration as its author meant it, and which members have wrong names.
func (t *Tool) meant(live bool) (*Tool, []misnamed) {
	m := &memberReader{tool: *t, live: live}
	m.notes = parsed(t.Annotations)
	others := parsed(t.Others)
	n := 0
	for name, held := range others.Members() {
		if n++; n <= mostOthers {
			m.member(name, held, others)
		}
	}
	n = 0
	for name, held := range m.notes.Members() {
		if n++; n <= mostOthers {
			m.misspelledHint(name, held)
		}
	}
	if len(m.found) == 0 {
		return t, nil
	}
	m.tool.Others = nil
	return &m.tool, m.found
}

type memberReader struct {
	tool  Tool // as it is meant
	notes schema.Value
	live  bool
	found []misnamed
}

func (m *memberReader) add(at, means string, fixed bool, format string, args ...any) {
	m.found = append(m.found, misnamed{at, fmt.Sprintf(format, args...), means, fixed})
}

// member reads one that browsers do not.
func (m *memberReader) member(name string, held, all schema.Value) {
	at := schema.Pointer(name)
	plain := plainName(name)
	means, weak := memberOf(plain)
	switch hint := hintOf(plain); {
	case name == "inputSchema" && held.IsArray():
		var names []string
		for one := range held.Elements() {
			names = append(names, one.String())
		}
		m.add(at, "inputSchema", false, "The inputSchema has functions such as String and Number in the place "+
			"of types (%s), which get lost: write names of types, such as \"string\".", quoteAll(names))
	case name == "inputSchema":
		m.add(at, "inputSchema", false, "The inputSchema is a function, such as a schema of arktype or "+
			"Effect: convert it to JSON Schema, as the library's documentation says.")
	case name == "exposedTo" && held.IsArray() || name == "signal" && held.IsObject():
		m.add(at, "", false, "Browsers read %q in the second argument of registerTool only: write it "+
			"there.", name)
	case m.tool.Name == "" && held.Get("name").IsString() && slices.Contains(around, plain):
		m.add(at, "name", false, "Browsers read the members of the declaration itself: take name, "+
			"description and the rest out of %s.", text.Quote(name))
		m.tool.Name = held.Get("name").String()
		m.tool.Description = held.Get("description").String()
	case hint != "" && isFlag(held) && !m.notes.Get(hint).Exists():
		m.add(at, "", true, "Browsers read hints in annotations only: did you mean "+
			`"annotations": {%q: %s}?`, hint, flagOf(held))
		m.note(hint, held, "")
	case means != "" && m.lacks(means) && m.takes(means, held, weak):
		m.add(at, means, means != "execute", "Browsers do not read %s: did you mean %q?%s",
			text.Quote(name), means, lost[means])
		m.move(means, name, held, all)
	}
}

// around are members in which other interfaces have a whole declaration.
var around = []string{"function", "tool", "definition", "declaration"}

// lost says what follows when a member is missing.
var lost = map[string]string{
	"inputSchema": " Agents are told that the tool has no arguments.",
	"execute":     " Nothing runs when the tool is called.",
}

// memberOf returns the member that a name stands for, or "", and whether it may be something else.
func memberOf(plain string) (means string, weak bool) {
	names := make([]string, len(elsewhere))
	for i, x := range elsewhere {
		names[i] = x.member
		switch {
		case strings.EqualFold(plain, x.member), slices.Contains(strings.Fields(x.certain), plain):
			return x.member, false
		case slices.Contains(strings.Fields(x.perhaps), plain):
			return x.member, true
		}
	}
	const least = 4 // letters of a name that may be misspelled
	near := text.Nearest(plain, names)
	if len(plain) >= least && near != "" && !strings.HasPrefix(strings.ToLower(near), plain) {
		return near, false
	}
	return "", false
}

// lacks reports whether a declaration does not have a member.
func (m *memberReader) lacks(member string) bool {
	switch member {
	case "name":
		return m.tool.Name == ""
	case "description":
		return m.tool.Description == ""
	case "inputSchema":
		return isNone(m.tool.Input)
	case "outputSchema":
		return isNone(m.tool.Output)
	case "annotations":
		return isNone(m.tool.Annotations)
	}
	return true // functions are noted only where there is no execute
}

func isNone(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// takes reports whether a member may have a value; weak names only have what can be nothing else.
func (m *memberReader) takes(member string, held schema.Value, weak bool) bool {
	switch member {
	case "name", "description":
		return held.IsString()
	case "execute":
		return held.IsNull()
	case "annotations":
		return held.IsObject()
	}
	if !held.IsObject() {
		return false
	}
	meant, _ := schema.Correct(held)
	return !weak || meant.Get("type").String() == "object" || meant.Get("properties").IsObject()
}

// move puts what a member says where browsers read it.
func (m *memberReader) move(means, name string, held, all schema.Value) {
	switch means {
	case "name":
		m.tool.Name = held.String()
	case "description":
		m.tool.Description = held.String()
	case "outputSchema":
		m.tool.Output = held.Text()
	case "annotations":
		m.tool.Annotations, m.notes = held.Text(), held
	case "inputSchema":
		m.tool.Input = held.Text()
		if names := all.Get("required"); name == "properties" && names.IsArray() {
			m.tool.Input = schema.MustEncode(map[string]json.RawMessage{
				"type": json.RawMessage(`"object"`), "properties": held.Text(), "required": names.Text()})
		}
	}
}

// misspelledHint reads a member of the annotations.
func (m *memberReader) misspelledHint(name string, held schema.Value) {
	hint := hintOf(plainName(name))
	isProtocol := !m.live && name == strings.TrimSuffix(hint, "Hint") // the names of the DevTools protocol
	if hint == "" || hint == name || isProtocol || m.notes.Get(hint).Exists() {
		return
	}
	m.add("/annotations"+schema.Pointer(name), "", true, "Browsers do not read %s: did you mean %q?",
		text.Quote(name), hint)
	m.note(hint, held, name)
}

// note writes a hint in the place of a wrong one.
func (m *memberReader) note(hint string, held schema.Value, wrong string) {
	said := held.Text()
	if isFlag(held) {
		said = []byte(flagOf(held))
	}
	before := m.notes
	if !before.IsObject() {
		before = parsed(json.RawMessage("{}"))
	}
	drop := func(name string) bool { return name == wrong }
	if all, err := before.Edit(drop, schema.Member{Name: hint, Value: said}); err == nil {
		m.notes, m.tool.Annotations = all, all.Text()
	}
}

// isFlag reports whether a value is true or false, if only in words.
func isFlag(v schema.Value) bool { return flagOf(v) != "" }

func flagOf(v schema.Value) string {
	words := strings.ToLower(strings.Trim(string(v.Text()), `"`))
	if words == "true" || words == "false" {
		return words
	}
	return ""
}

// hintOf returns the hint that a name stands for, or "".
func hintOf(plain string) string {
	word := strings.TrimPrefix(strings.TrimSuffix(strings.TrimSuffix(plain, "s"), "hint"), "is")
	switch word {
	case "untrusted":
		return "untrustedContentHint"
	case "debug":
		return "debugging"
	}
	stems := make([]string, len(hintNames))
	for i, hint := range hintNames {
		stems[i] = strings.TrimSuffix(strings.ToLower(hint), "hint")
		if strings.EqualFold(plain, hint) || word == stems[i] {
			return hint
		}
	}
	const least = 6 // letters of a name that may be misspelled
	near := text.Nearest(strings.TrimSuffix(word, "hnt"), stems)
	if len(word) < least || near == "" || strings.HasPrefix(near, word) {
		return ""
	}
	return hintNames[slices.Index(stems, near)]
}

// loses reports whether a part of the schema is not known.
func (t *tool) loses() bool {
	return slices.ContainsFunc(t.misnamed, func(m misnamed) bool { return m.means == "inputSchema" && !m.fixed })
}

// wanting are the members without which nothing is registered.
var wanting = []string{"name", "description", "execute", "inputSchema"}

func findMisnamed(r *run, t *tool) {
	for _, m := range t.misnamed {
		if t.rejected == nil || slices.Contains(wanting, m.means) {
			at := t.at(m.pointer)
			at.certain = m.fixed
			r.report(at, "%s", m.message)
		}
	}
}

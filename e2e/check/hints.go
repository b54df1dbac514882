package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

// hintChange rates that a claim is made, and that it is not made any more.
type hintChange struct {
	made, dropped  schema.Change
	whyMade, whyNo string
}

// hintChanges say who is hurt when a claim changes. What asks a person more than before breaks
// programs that call without one; what asks less breaks no call, but takes a question away that
// people counted on, so that it is a minor change and not a patch.
var hintChanges = map[string]hintChange{
	"readOnlyHint": {schema.Minor, schema.Major,
		"hosts run the tool without asking a person: see that it changes nothing",
		"a person is asked before calls that ran by themselves"},
	"destructiveHint": {schema.Major, schema.Minor,
		"a person is asked, and policies may refuse what destroys something",
		"hosts may not ask a person any more: see that nothing is destroyed"},
	"consequentialHint": {schema.Major, schema.Minor,
		"a person is asked before calls that ran by themselves",
		"hosts may not ask a person any more: see that calls have no consequences"},
	"untrustedContentHint": {schema.Minor, schema.Minor,
		"calls still work, and hosts treat what comes back with more care",
		"hosts treat what comes back as the site's own words: see that it is"},
	"idempotentHint": {schema.Minor, schema.Major, "callers may repeat a call",
		"a call that was repeated safely may be done twice"},
	"openWorldHint": {schema.Minor, schema.Minor,
		"calls still work, and hosts may treat what comes back with more care",
		"calls still work, and hosts may treat what comes back with less care"},
	"debugging": {schema.Major, schema.Minor, "agents may not be offered the tool any more",
		"agents may be offered the tool now"},
}

func compareHints(before, now *Tool) (all []Change) {
	if string(before.Annotations) == string(now.Annotations) {
		return nil
	}
	old, fresh := claimsOf(before), claimsOf(now)
	either := maps.Clone(old)
	maps.Copy(either, fresh)
	for _, name := range slices.Sorted(maps.Keys(either)) {
		a, b := old[name], fresh[name]
		if a == b {
			continue
		}
		c := Change{Tool: now.Name, Pointer: "/annotations", Gone: b == ""}
		if name != "" {
			c.Pointer += schema.Pointer(name)
		}
		c.What = quoteName(name) + " " + said(a, b, quoteLong)
		c.Change, c.Reason = meaningOf(name, a, b)
		all = append(all, c)
	}
	return all
}

// said says how a value changed; "" means no value.
func said(before, now string, quote func(string) string) string {
	switch "" {
	case before:
		return quote(now) + " is new"
	case now:
		return quote(before) + " is gone"
	}
	return fmt.Sprintf("was %s and is %s now", quote(before), quote(now))
}

func meaningOf(name, before, now string) (schema.Change, string) {
	h, known := hintChanges[name]
	isWord := func(s string) bool { return s == "true" || s == "false" || s == "" }
	switch {
	case name == "title":
		return schema.Patch, "people see another name"
	case !known || !isWord(before) || !isWord(now):
		return schema.Minor, "calls still work, and hosts decide what they make of it"
	case now == "true":
		return h.made, h.whyMade
	case before == "true":
		return h.dropped, h.whyNo
	case name == "destructiveHint" || name == "openWorldHint":
		return schema.Minor, "calls still work, but hosts of MCP take the claim for made when " +
			"nothing is said"
	}
	return schema.Patch, "false is what hosts assume when nothing is said"
}

// claimsOf are the members of annotations as canonical JSON, under the names of the specification.
// What is not an object is one member without a name.
func claimsOf(t *Tool) map[string]string {
	all := map[string]string{}
	raw := strings.TrimSpace(string(t.Annotations))
	notes, err := schema.Read([]byte(raw), maxDepth)
	if err != nil || !notes.IsObject() {
		if raw != "" && raw != "null" {
			all[""] = raw
		}
		return all
	}
	for name, v := range notes.Members() {
		if long := name + "Hint"; slices.Contains(hintNames, long) { // as the DevTools protocol has it
			name = long
		}
		all[name] = string(v.Canonical())
	}
	return all
}

// quoteName is the name of a claim: a stranger's, unless we know it.
func quoteName(name string) string {
	if slices.Contains(hintNames, name) || name == "title" {
		return name
	}
	if name == "" {
		return "the value"
	}
	return text.Quote(name)
}

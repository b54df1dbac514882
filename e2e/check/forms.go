package check

import (
	"slices"
	"strconv"
	"strings"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
)

const formHead = `{"forms":[{"declares":true,"name":"find_stamps","description":"Finds rarities by their country.",`

var formRules = []Rule{
	{ID: "declarative-name", Severity: Error, find: findFormName,
		What:   "A form with tooldescription has no toolname, or one that is not valid.",
		Why:    "The browser ignores the form without a word.",
		Source: "WebMCP explainer, declarative API",
		Bad:    `{"forms":[{"declares":true,"description":"Finds rarities by their country."}]}`, Good: formHead + `"fields":[]}]}`, At: "/forms/0/name"},
	{ID: "declarative-description", Severity: Error, find: findFormDescription,
		What:   "A form with toolname has no tooldescription.",
		Why:    "The browser ignores the form without a word.",
		Source: "playwright-webmcp, declarative-description",
		Bad:    `{"forms":[{"declares":true,"name":"find_stamps"}]}`, Good: formHead + `"fields":[]}]}`, At: "/forms/0/description"},
	{ID: "declarative-field-name", Severity: Warning, find: findFieldName,
		What:   "A field of a form with toolname has no name.",
		Why:    "It does not become a parameter, so that the agent cannot fill it.",
		Source: "WebMCP explainer, declarative API",
		Bad:    formHead + `"fields":[{"type":"text","label":"Country"}]}]}`, Good: formHead + `"fields":[{"name":"country","type":"text","label":"Country"}]}]}`, At: "/forms/0/fields/0"},
	{ID: "declarative-field-description", Severity: Warning, find: findFieldDescription,
		What:   "A field of a form with toolname has neither a label nor toolparamdescription.",
		Why:    "The agent guesses what to fill in from the name.",
		Source: "playwright-webmcp, declarative-field-description",
		Bad:    formHead + `"fields":[{"name":"country","type":"text"}]}]}`, Good: formHead + `"fields":[{"name":"country","type":"text","label":"Country"}]}]}`, At: "/forms/0/fields/0"},
	{ID: "declarative-autosubmit-sensitive", Severity: Error, find: findAutoSubmit,
		What:   "A form with toolautosubmit has a field for a password, a card or another secret.",
		Why:    "The agent sends it without a person who looks.",
		Source: "playwright-webmcp, declarative-autosubmit-sensitive",
		Bad:    formHead + `"autoSubmit":true,"fields":[{"name":"pass","type":"password","label":"Password"}]}]}`,
		Good:   formHead + `"fields":[{"name":"pass","type":"password","label":"Password"}]}]}`, At: "/forms/0/fields/0"},
	{ID: "form-schema-mismatch", Severity: Error, find: findFormMismatch,
		What:   "What the schema of the tool admits and what the form accepts differ.",
		Why:    "The agent sends what the schema admits, and the form refuses it, or the other way round.",
		Source: "measured: the form is filled with values of its schema and validated",
		Bad:    formHead + `"mismatch":"The schema admits 1000 for \"year\", and the form takes 1840 and more.","fields":[]}]}`, Good: formHead + `"fields":[]}]}`, At: "/forms/0/schema"},
	{ID: "form-coverage", Severity: Info, find: each((*run).eachPage, findFormCoverage),
		What:   "Forms of the page declare no tool.",
		Why:    "What people can do there, agents cannot.",
		Source: "WebMCP explainer, declarative API",
		Bad:    `{"forms":[{"action":"/order","fields":[{"name":"country","type":"text","label":"Country"}]}]}`, Good: formHead + `"fields":[]}]}`},
}

func decimal(i int) string { return strconv.Itoa(i) }

// declaring calls a function for every form that declares a tool.
func (r *run) declaring(visit func(f *Form, at place)) {
	for _, p := range r.pages {
		for i := range p.Forms {
			if f := &p.Forms[i]; f.Declares {
				visit(f, place{page: p, name: f.Name, pointer: "/forms/" + decimal(i)})
			}
		}
	}
}

// fields calls a function for every field that can be filled of forms that declare a tool.
func (r *run) fields(visit func(f *Form, field *Field, at place)) {
	idle := []string{"submit", "reset", "button", "image", "hidden", "output", "fieldset"}
	r.declaring(func(f *Form, at place) {
		form := at.pointer
		for i := range f.Fields {
			if field := &f.Fields[i]; !slices.Contains(idle, strings.ToLower(field.Type)) {
				at.pointer = form + "/fields/" + decimal(i)
				visit(f, field, at)
			}
		}
	})
}

func findFormName(r *run) {
	r.declaring(func(f *Form, at place) {
		at.pointer += "/name"
		switch {
		case f.Name == "":
			r.report(at, "The form has tooldescription and no toolname: add one.")
		case !bridge.IsLegalName(f.Name) || len(f.Name) > 128:
			r.report(at, "The toolname %s is not valid: use up to 128 letters, digits, '_', '.' and '-'.",
				text.Quote(f.Name))
		}
	})
}

func findFormDescription(r *run) {
	r.declaring(func(f *Form, at place) {
		if text.Line(f.Description) == "" {
			at.pointer += "/description"
			r.report(at, "The form %s has no tooldescription: say what submitting it does.", text.Quote(f.Name))
		}
	})
}

func findFieldName(r *run) {
	r.fields(func(_ *Form, field *Field, at place) {
		if field.Name == "" {
			r.report(at, "The field %s has no name: add one, or the agent cannot fill it.",
				text.Quote(field.Label+field.Description))
		}
	})
}

func findFieldDescription(r *run) {
	r.fields(func(_ *Form, field *Field, at place) {
		if field.Name != "" && text.Line(field.Label+field.Description) == "" {
			r.report(at, "The field %s has no label: add one, or toolparamdescription.", text.Quote(field.Name))
		}
	})
}

// delicate are values of autocomplete for secrets (HTML, autofill).
var delicate = []string{"current-password", "new-password", "one-time-code", "cc-number", "cc-csc", "cc-exp",
	"cc-exp-month", "cc-exp-year"}

// isSecret reports whether a field asks for a secret, by its type or its purpose.
func (f *Field) isSecret() bool {
	return strings.EqualFold(f.Type, "password") || slices.ContainsFunc(strings.Fields(strings.ToLower(f.Autocomplete)),
		func(word string) bool { return slices.Contains(delicate, word) })
}

func findAutoSubmit(r *run) {
	r.fields(func(f *Form, field *Field, at place) {
		if f.AutoSubmit && (field.isSecret() || secret(field.Name)) {
			r.report(at, "The field %s asks for a secret, and the form has toolautosubmit: let a "+
				"person submit it.", text.Quote(field.Name))
		}
	})
}

func findFormMismatch(r *run) {
	r.declaring(func(f *Form, at place) {
		if f.Mismatch != "" {
			at.pointer += "/schema"
			r.report(at, "The schema and the form differ: %s Let the field's pattern (from ^ to $), min, max "+
				"and step say all that the form asks for.", quoteLong(f.Mismatch))
		}
	})
}

// quoteLong is a text that was made from a stranger's, in a message: what cannot be seen is
// escaped.
func quoteLong(s string) string {
	const most = 400
	return strings.ReplaceAll(text.Escape(text.Short(s, most)), "\n", " ")
}

func findFormCoverage(r *run, p *page) {
	var without []string
	for _, f := range p.Forms {
		named := slices.ContainsFunc(f.Fields, func(x Field) bool { return x.Name != "" })
		if !f.Declares && named {
			without = append(without, f.Action)
		}
	}
	if len(without) > 0 {
		r.report(place{page: p}, "%d of %d forms declare no tool (%s): add toolname and "+
			"tooldescription where agents may fill them.", len(without), len(p.Forms), quoteAll(without))
	}
}

package check

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

var parameterRules = []Rule{
	{ID: "param-type-missing", Severity: Warning, find: each((*run).params, findType),
		What:   "A parameter has neither a type nor another keyword that says which values it takes.",
		Why:    "The model guesses between a text and a number, and some APIs refuse the tool.",
		Source: "function calling documentation of model APIs",
		Bad:    schemaStart + `"year":{"description":"Year of issue."}}}}`, Good: goodTool, At: "/inputSchema/properties/year"},
	{ID: "param-description-missing", Severity: Warning, find: each((*run).tools, findParamDescription),
		What:   "A parameter has no description.",
		Why:    "The model guesses the meaning from the name: units, formats and where an id comes from.",
		Source: "playwright-webmcp, param-description-missing",
		Bad:    schemaStart + `"year":{"type":"integer"}}}}`, Good: goodTool, At: "/inputSchema/properties/year"},
	{ID: "param-description-length", Severity: Warning, find: each((*run).params, findParamLength),
		Options: []Option{{Name: "max", Number: 150, What: "characters that the description of a parameter may have"}},
		What:    "The description of a parameter is longer than 150 characters.",
		Why:     "It costs tokens in every request; what is true for the whole tool belongs into its description.",
		Source:  "playwright-webmcp, param-description-length",
		Bad: schemaStart + `"year":{"type":"integer","description":"Year of issue, as it is printed on the stamp, or as the catalog of the collector says, or, ` +
			`where neither of them is there, the year in which the post office first sold it."}}}}`, Good: goodTool, At: "/inputSchema/properties/year/description"},
	{ID: "param-name-budget", Severity: Warning, find: each((*run).params, findParamName),
		Options: []Option{{Name: "max", Number: 30, What: "characters that the name of a parameter may have"}},
		What:    "The name of a parameter is longer than 30 characters.",
		Why:     "The model repeats it in every call, and APIs have limits (64 characters in most).",
		Source:  "limits of model APIs",
		Bad:     schemaStart + `"year_in_which_the_stamp_was_issued":{"type":"integer","description":"Year of issue."}}}}`, Good: goodTool, At: "/inputSchema/properties/year_in_which_the_stamp_was_issued"},
	{ID: "string-unconstrained", Severity: Info, Off: true, find: each((*run).params, findUnconstrained),
		What:   "A text has no maxLength, pattern, format, enum or const.",
		Why:    "A model may send a page of text where a word is meant; the limit costs few tokens.",
		Source: "OWASP guidance on input validation",
		Bad:    schemaStart + `"name":{"type":"string","description":"Name of the stamp."}}}}`,
		Good:   schemaStart + `"name":{"type":"string","description":"Name of the stamp.","maxLength":80}}}}`, At: "/inputSchema/properties/name"},
	{ID: "sensitive-params", Severity: Warning, find: each((*run).params, findSensitive),
		What:   "A parameter asks for a password, a key, a card number or another secret: by its schema, the field of the page, its name or its description.",
		Why:    "What an agent sends is in the model's context, in logs and in transcripts. The page can ask the person itself.",
		Source: "playwright-webmcp, sensitive-params",
		Bad:    schemaStart + `"card_number":{"type":"string","description":"Card to pay with."}}}}`, Good: goodTool, At: "/inputSchema/properties/card_number"},
	{ID: "arbitrary-exec", Severity: Error, find: each((*run).tools, findExec),
		What: "A parameter takes a program (code, SQL, a shell command), or any address for a tool that goes there, without enum, const, pattern, or format with const. " +
			"A name that may be harmless, such as code or query, counts only where the texts say that a program is meant. " +
			"An address is a warning where untrustedContentHint is declared.",
		Why:    "Whoever talks the agent into a call runs what they like with the rights of the signed-in user.",
		Source: "OWASP Top 10 for LLM applications, excessive agency",
		Bad:    schemaStart + `"sql":{"type":"string","description":"Statement to run on the collection."}}}}`,
		Good:   schemaStart + `"sql":{"type":"string","description":"Which report to run.","enum":["by_year","by_country"]}}}}`, At: "/inputSchema/properties/sql"},
	{ID: "schema-description-drift", Severity: Warning, Allows: true, find: each((*run).tools, findDrift),
		What:   "A description names a parameter that the schema does not have, or lists a value that the enum does not have. Only names in quotes or backticks, and names with '_', beside the word parameter, argument, option or field count.",
		Why:    "The model sends what the text says, and the call is refused.",
		Source: "tool description smells in public MCP servers",
		Bad:    `{"name":"add_stamp","title":"Add stamp","description":"Adds a stamp. The parameter issue_year is the year of issue.","inputSchema":{"type":"object","properties":{` + goodYear + `}}}`,
		Good:   `{"name":"add_stamp","title":"Add stamp","description":"Adds a stamp. The parameter ` + "`year`" + ` is the year of issue.","inputSchema":{"type":"object","properties":{` + goodYear + `}}}`, At: "/description"},
}

// typing are keywords that say which values a parameter takes.
var typing = []string{"type", "enum", "const", "$ref", "$dynamicRef", "anyOf", "oneOf", "allOf",
	"properties", "items", "not", "if"}

func hasOne(v schema.Value, keys []string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { return v.Get(key).Exists() })
}

func findType(r *run, n node) {
	if !hasOne(n.schema, typing) {
		r.report(n.at(""), "The parameter %s has no type: add one.", text.Quote(n.name))
	}
}

func findParamDescription(r *run, t *tool) {
	if t.mute() {
		return // declarative-field-description says it where it is written
	}
	t.params(func(n node) {
		if strings.TrimSpace(n.schema.Get("description").String()) == "" && !n.schema.Get("$ref").Exists() {
			r.report(t.at(n.pointer), "The parameter %s has no description: say what "+
				"it is, with its unit or format.", text.Quote(n.name))
		}
	})
}

func findParamLength(r *run, n node) {
	most := r.number("max")
	if has := float64(utf8.RuneCountInString(n.schema.Get("description").String())); has > most {
		r.report(n.at("/description"), "The description of the "+
			"parameter %s has %g characters: use at most %g.", text.Quote(n.name), has, most)
	}
}

func findParamName(r *run, n node) {
	most := r.number("max")
	if has := float64(utf8.RuneCountInString(n.name)); has > most {
		r.report(n.at(""), "The name of the parameter %s has %g characters: "+
			"use at most %g.", text.Quote(n.name), has, most)
	}
}

func findUnconstrained(r *run, n node) {
	if n.schema.Get("type").String() == "string" &&
		!hasOne(n.schema, []string{"maxLength", "pattern", "format", "enum", "const"}) {
		r.report(n.at(""), "The text %s has no limit: add maxLength.", text.Quote(n.name))
	}
}

// IsSecretName reports whether something of that name is a password, a key, a token or another
// secret.
func IsSecretName(name string) bool { return secret(name) }

func secret(name string) bool {
	v, words := vocabulary(), splitWords(name)
	return (v.names("secret", words) || v.isNamed("secret-alone", words)) && !v.names("harmless", words)
}

// calledSecret reports whether a description begins with what a secret is called: "Your password".
func calledSecret(description string) bool {
	words := wordsOf(text.Head(description, 80))
	for len(words) > 0 && slices.Contains([]string{"a", "an", "the", "your", "their", "user", "users", "user's", "s", "account", "current", "new", "login"}, words[0]) {
		words = words[1:]
	}
	v := vocabulary()
	words = words[:min(len(words), 3)]
	return len(words) > 0 && !v.names("harmless", words) && (v.names("secret", words[:1]) || v.isNamed("secret", words[:min(len(words), 2)]))
}

// isSecretField reports whether the page has a field of that name whose type or purpose is a
// secret's.
func (p *page) isSecretField(name string) bool {
	for i := range p.Forms {
		if slices.ContainsFunc(p.Forms[i].Fields, func(x Field) bool { return x.Name == name && x.isSecret() }) {
			return true
		}
	}
	return false
}

func findSensitive(r *run, n node) {
	marked := string(n.schema.Get("writeOnly").Text()) == "true" ||
		n.schema.Get("format").String() == "password" || n.tool.page.isSecretField(n.name)
	if marked || holdsText(n.schema) && (secret(n.name) || calledSecret(n.schema.Get("description").String())) {
		r.report(n.at(""), "The parameter %s asks an agent for a secret: "+
			"let the page ask the person.", text.Quote(n.name))
	}
}

// holdsText reports whether a parameter can carry a secret or a program: a text, or a number of a
// card. Booleans, lists and objects cannot; those inside of them are judged by themselves.
func holdsText(v schema.Value) bool {
	kind := v.Get("type")
	return !hasOne(v, []string{"enum", "const"}) && kind.String() != "boolean" &&
		kind.String() != "array" && kind.String() != "object"
}

func findExec(r *run, t *tool) {
	v := vocabulary()
	goes := slices.ContainsFunc(t.words, func(w string) bool { return v.has("fetches", w) })
	t.params(func(n node) {
		kind := n.schema.Get("type").String()
		limited := hasOne(n.schema, []string{"enum", "const", "pattern"})
		if kind != "string" && kind != "" || limited || hasOne(n.schema, []string{"$ref", "anyOf", "oneOf", "allOf"}) {
			return
		}
		words := splitWords(n.name)
		at := t.at(n.pointer)
		said := append(wordsOf(n.schema.Get("description").String()), t.words...)
		switch {
		case v.isNamed("program", words),
			v.isNamed("perhaps", words) && v.has("evidence", said...),
			v.isNamed("runnable", words) && v.has("runs", t.words...):
			r.report(at, "The parameter %s takes any program: offer what it is needed for as tools of "+
				"their own, or limit it by enum or pattern.", text.Quote(n.name))
		case goes && v.names("address", words):
			if t.claims("untrustedContentHint") { // the host knows, and can guard the agent
				at.severity = Warning
			}
			r.report(at, "The parameter %s takes any address, and the tool goes there: limit it by enum, "+
				"or by a pattern that begins with your origin.", text.Quote(n.name))
		}
	})
}

var (
	// namedBefore and namedAfter find a name beside a word for parameters.
	namedBefore = regexp.MustCompile("(?i)\\b(?:parameter|argument|param)s? (?:called |named )?(?:[`'\"]([A-Za-z_][\\w.-]*)[`'\"]|([a-z]+(?:_[a-z0-9]+)+))")
	namedAfter  = regexp.MustCompile("(?i)(?:[`'\"]([A-Za-z_][\\w.-]*)[`'\"]|\\b([a-z]+(?:_[a-z0-9]+)+)) (?:parameter|argument|param)\\b")
	// choice finds the list of values in the description of a parameter.
	choice = regexp.MustCompile("(?i)\\b(?:one of|either|allowed values?(?: are)?|possible values?(?: are)?|valid values?(?: are)?)[: ]+((?:(?:[`'\"][^`'\"]{1,40}[`'\"])(?:,? or |, and |, | and |\\|| \\| )?)+)")
	quoted = regexp.MustCompile("[`'\"]([^`'\"]{1,40})[`'\"]")
)

func findDrift(r *run, t *tool) {
	known := map[string]bool{}
	for _, n := range t.nodes {
		if n.param {
			known[strings.ToLower(n.name)] = true
		}
	}
	whole := t.input.IsObject() || len(t.Input) == 0
	words := without(r.allowed, strings.ToLower(clipped(t.Description)))
	for _, find := range []*regexp.Regexp{namedBefore, namedAfter} {
		for _, match := range find.FindAllStringSubmatch(words, 20) {
			name := match[1] + match[2]
			if whole && !known[name] && !slices.ContainsFunc(t.nodes, func(n node) bool { return open(n.schema) }) {
				r.report(t.at("/description"), "The description names the parameter %s, "+
					"which the schema does not have: correct the text or the schema.", text.Quote(name))
			}
		}
	}
	t.params(func(n node) { r.choiceDrift(t, n) })
}

// choiceDrift compares the values that the description of a parameter lists with its enum.
func (r *run) choiceDrift(t *tool, n node) {
	values := map[string]bool{}
	for value := range n.schema.Get("enum").Elements() {
		values[value.String()] = true
	}
	if len(values) == 0 {
		return
	}
	description := clipped(n.schema.Get("description").String())
	for _, list := range choice.FindAllStringSubmatch(description, 5) {
		for _, value := range quoted.FindAllStringSubmatch(list[1], 20) {
			if !values[value[1]] && !slices.Contains(r.allowed, strings.ToLower(value[1])) {
				r.report(t.at(n.pointer+"/description"), "The description lists the "+
					"value %s, which the enum does not have: correct one of them.", text.Quote(value[1]))
			}
		}
	}
}

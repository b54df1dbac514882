package check

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

// apiExample is a document with one operation, and what else stands beside its paths.
func apiExample(method, operation, more string) string {
	return `{"api":{"url":"https://shop.example/openapi.json","document":{"openapi":"3.1.1","info":{"title":"Shop","version":"1"},` + more +
		`"paths":{"/stamps":{"` + method + `":{` + operation + `}}}}}}`
}

const (
	apiRoot = `"x-llm":{"version":"0.1","name":"Shop"},`
	apiID   = `"operationId":"addStamp","summary":"Add a stamp",`
	opPath  = "/paths/~1stamps/post"
)

// leftExample is a document of which something is left out.
func leftExample(reason, more string) string {
	if reason == "" {
		return apiExample("post", apiID+`"x-llm":{}`, apiRoot)
	}
	return fmt.Sprintf(`{"api":{"url":"https://shop.example/openapi.json","document":{},"left":[{"operation":"POST /stamps","reason":%q%s}]}}`, reason, more)
}

var apiRules = []Rule{
	{ID: "api-unreadable", Severity: Error, find: findUnreadable,
		What:   "The document cannot be read: it is not JSON or YAML, not OpenAPI 3, longer than 20 MiB, or of another version of x-llm.",
		Why:    "Clients offer none of its operations.",
		Source: "OpenAPI 3.1, 4.8.1; OpenTools, version of x-llm",
		Bad:    `{"api":{"url":"https://shop.example/openapi.json","document":{"swagger":"2.0"},"problem":"the document is of Swagger 2: OpenAPI 3.0 or later is needed"}}`,
		Good:   apiExample("post", apiID+`"x-llm":{}`, apiRoot)},
	{ID: "api-unmarked", Severity: Info, find: findUnmarked,
		What:   "Operations have no x-llm.",
		Why:    "Models do not see them. That may be meant: x-llm is added endpoint by endpoint.",
		Source: "OpenTools, incremental adoption",
		Bad:    apiExample("post", `"operationId":"addStamp","summary":"Add a stamp"`, apiRoot), Good: apiExample("post", apiID+`"x-llm":{"enabled":false}`, apiRoot), At: "/paths"},
	{ID: "api-operation-unusable", Severity: Error, find: findUnusable,
		What:   "An operation cannot be a tool: a reference leads nowhere, a part of the path has no parameter, no media type of its body is known, or its x-llm has a value that is not allowed.",
		Why:    "Clients leave it out, and nobody is told.",
		Source: "OpenAPI 3.1, 4.8.10 and 4.8.12; OpenTools, x-llm of operations",
		Bad:    leftExample(`a parameter cannot be read: the reference "common.yaml#/id" leads nowhere in the document`, `,"unusable":true`), Good: leftExample("", "")},
	{ID: "api-ref-unusable", Severity: Warning, find: findRefs,
		What:   "A reference in the schema of an operation leads nowhere in the document, or to what is not a schema. References to other documents are not followed.",
		Why:    "A model is told nothing about that part of its arguments, and guesses.",
		Source: "OpenAPI 3.1, 4.8.23; security of clients: a document must not make them fetch others",
		Bad:    leftExample(`the reference "stamp.yaml" leads nowhere in the document`, ""), Good: leftExample("", "")},
	{ID: "api-oversize", Severity: Warning, find: findOversize,
		What:   "The schema of an operation has more than 16 KiB with all that it refers to.",
		Why:    "Clients leave out examples, then descriptions, then what is deep in it, or send all of it with every request to the model.",
		Source: "measured on the documents of large APIs; the context of models",
		Bad:    leftExample("what is deep in it was left out: it is too long", ""), Good: leftExample("", "")},
	{ID: "api-operation-id-missing", Severity: Warning, find: each((*run).operations, findNoID),
		What:   "An operation with x-llm has no operationId.",
		Why:    "Some clients do not see it, and others make a name of its path, which changes with the path.",
		Source: "the reference client of OpenTools; OpenAPI 3.1, 4.8.10",
		Bad:    apiExample("post", `"summary":"Add a stamp","x-llm":{}`, apiRoot), Good: apiExample("post", apiID+`"x-llm":{}`, apiRoot), At: opPath},
	{ID: "api-operation-id-duplicate", Severity: Error, find: findSameID,
		What:   "Two operations have the same operationId.",
		Why:    "A client calls one where the model meant the other, or offers one of them only.",
		Source: "OpenAPI 3.1, 4.8.10: the id must be unique",
		Bad:    strings.Replace(apiExample("post", apiID+`"x-llm":{}`, apiRoot), `"/stamps":`, `"/more":{"post":{"operationId":"addStamp","summary":"Add more","x-llm":{}}},"/stamps":`, 1), Good: apiExample("post", apiID+`"x-llm":{}`, apiRoot), At: opPath + "/operationId"},
	{ID: "api-text-missing", Severity: Warning, find: each((*run).operations, findNoText),
		What:   "An operation with x-llm has no summary, no description and no hint.",
		Why:    "A model knows its name only, and not when to use it.",
		Source: "OpenTools, hint",
		Bad:    apiExample("post", `"operationId":"addStamp","x-llm":{}`, apiRoot), Good: apiExample("post", `"operationId":"addStamp","x-llm":{"hint":"Use it when a person bought a stamp."}`, apiRoot), At: opPath},
	{ID: "api-auto-changes", Severity: Warning, find: each((*run).operations, findAuto),
		What:   "Approval is auto, and the operation changes something: by its method, or as destructive.",
		Why:    "It runs without a person where a client believes the site. Careful clients ask all the same.",
		Source: "OpenTools, approval; RFC 9110, 9.2.1 (safe methods)",
		Bad:    apiExample("post", apiID+`"x-llm":{"approval":"auto"}`, apiRoot), Good: apiExample("get", apiID+`"x-llm":{"approval":"auto"}`, apiRoot), At: opPath + "/x-llm/approval"},
	{ID: "api-auto-no-blanket", Severity: Warning, find: each((*run).operations, findAutoNoBlanket),
		What:   "Approval is auto, and blanketApprovalAllowed is false.",
		Why:    "The two contradict each other: nobody is asked once, so nobody can be asked each time. Auto wins.",
		Source: "OpenTools, approval and blanketApprovalAllowed",
		Bad:    apiExample("get", apiID+`"x-llm":{"approval":"auto","blanketApprovalAllowed":false}`, apiRoot), Good: apiExample("get", apiID+`"x-llm":{"approval":"auto"}`, apiRoot), At: "/paths/~1stamps/get/x-llm/blanketApprovalAllowed"},
	{ID: "api-blanket-destructive", Severity: Error, find: each((*run).operations, findBlanket),
		What:   "An operation is destructive, and blanketApprovalAllowed is true.",
		Why:    "After one \"always allow\" a model destroys without a person.",
		Source: "OpenTools, destructive and blanketApprovalAllowed",
		Bad:    apiExample("post", apiID+`"x-llm":{"destructive":true,"blanketApprovalAllowed":true}`, apiRoot), Good: apiExample("post", apiID+`"x-llm":{"destructive":true}`, apiRoot), At: opPath + "/x-llm/blanketApprovalAllowed"},
	{ID: "api-rate-limit", Severity: Error, find: each((*run).operations, findRate),
		What:   "A rateLimit is neither a number above 0, nor an object with max and a window such as 1m.",
		Why:    "Clients leave the operation out, or do not keep the limit.",
		Source: "OpenTools, rateLimit",
		Bad:    apiExample("post", apiID+`"x-llm":{"rateLimit":{"max":30,"window":"1 minute"}}`, apiRoot), Good: apiExample("post", apiID+`"x-llm":{"rateLimit":{"max":30,"window":"1m"}}`, apiRoot), At: opPath + "/x-llm/rateLimit"},
	{ID: "api-security-undefined", Severity: Error, find: findSchemes,
		What:   "Security names a scheme that components.securitySchemes does not define.",
		Why:    "No client can sign in for the operation.",
		Source: "OpenAPI 3.1, 4.8.30",
		Bad:    apiExample("post", apiID+`"security":[{"oauth":[]}],"x-llm":{}`, apiRoot), Good: apiExample("post", apiID+`"security":[{"oauth":[]}],"x-llm":{}`, apiRoot+`"components":{"securitySchemes":{"oauth":{"type":"oauth2","flows":{}}}},`), At: opPath + "/security"},
	{ID: "api-auth-disagrees", Severity: Warning, find: findAuth,
		What:   "What llm.json says of signing in is not what the document says: another kind of scheme, or none.",
		Why:    "A client asks a person to sign in in a way that does not work. The document counts.",
		Source: "OpenTools, discovery and securitySchemes",
		Bad:    authExample("oauth2"), Good: authExample("bearer"), At: "/components/securitySchemes"},
	{ID: "api-server-elsewhere", Severity: Warning, find: findServers,
		What:   "A server is of another origin than the document, or has no address that can be read.",
		Why:    "Clients do not send arguments and tokens to another origin without asking a person.",
		Source: "OpenAPI 3.1, 4.8.5; OpenTools, servers",
		Bad:    apiExample("post", apiID+`"x-llm":{}`, apiRoot+`"servers":[{"url":"https://api.shop.example/v1"}],`), Good: apiExample("post", apiID+`"x-llm":{}`, apiRoot+`"servers":[{"url":"/v1"}],`), At: "/servers/0/url"},
	{ID: "api-xllm-unknown", Severity: Warning, find: findUnknown,
		What:   "x-llm has a member that it does not know, and that does not begin with x-.",
		Why:    "It is mostly a typing error, and what was meant, such as a consent, does not hold.",
		Source: "OpenTools, the JSON Schema of x-llm",
		Bad:    apiExample("post", apiID+`"x-llm":{"destuctive":true}`, apiRoot), Good: apiExample("post", apiID+`"x-llm":{"destructive":true,"x-team":"stamps"}`, apiRoot), At: opPath + "/x-llm/destuctive"},
	{ID: "api-xllm-version", Severity: Error, find: findVersion,
		What:   "x-llm at the root is missing where operations have it, has no name, or has no version 0.x.",
		Why:    "Clients look for it to know that a document is meant for them, and refuse versions that they do not know.",
		Source: "OpenTools, x-llm of the document",
		Bad:    apiExample("post", apiID+`"x-llm":{}`, `"x-llm":{"version":"2.0","name":"Shop"},`), Good: apiExample("post", apiID+`"x-llm":{}`, apiRoot), At: "/x-llm/version"},
}

func authExample(auth string) string {
	return strings.Replace(apiExample("post", apiID+`"x-llm":{}`, apiRoot+`"security":[{"key":[]}],"components":{"securitySchemes":{"key":{"type":"http","scheme":"bearer"}}},`),
		`"document":`, `"auth":"`+auth+`","document":`, 1)
}

const maxReason = 300

// reason is a sentence of the reader of documents, which quotes what strangers wrote.
func reason(s string) string { return text.Short(text.Line(s), maxReason) }

func findUnreadable(r *run) {
	if r.api != nil && r.api.Problem != "" {
		r.report(r.api.at(""), "The document cannot be read: %s.", reason(r.api.Problem))
	}
}

func findUnmarked(r *run) {
	var unmarked []string
	r.operations(func(o *operation) {
		if o.XLLM == nil {
			unmarked = append(unmarked, o.name())
		}
	})
	if n := len(unmarked); n > 0 {
		r.report(r.api.at("/paths"), "%d of %d operations have no x-llm, so that models do not see them: %s.", n, len(r.api.operations), quoteAll(unmarked))
	}
}

// left reports what of the operations is left out for such a reason.
func (r *run) left(is func(Left) bool, format string) {
	if r.api == nil {
		return
	}
	for _, l := range r.api.Left {
		if is(l) {
			r.report(place{url: r.api.URL, name: l.Operation}, format, reason(l.Reason))
		}
	}
}

// aboutLength and aboutReference are words of the reader of documents: the script checkapi of
// e2e/suite holds them.
var (
	aboutLength    = regexp.MustCompile(`too long|too many`)
	aboutReference = regexp.MustCompile(`leads nowhere|is not a schema`)
)

func findUnusable(r *run) {
	r.left(func(l Left) bool { return l.Unusable }, "No model can use this operation: %s. Correct it, or take its x-llm away.")
}

func findOversize(r *run) {
	r.left(func(l Left) bool { return !l.Unusable && aboutLength.MatchString(l.Reason) }, "The schema is too long for a model: %s. Offer fewer parameters, or shorter texts.")
}

func findRefs(r *run) {
	r.left(func(l Left) bool {
		return !l.Unusable && !aboutLength.MatchString(l.Reason) && aboutReference.MatchString(l.Reason)
	},
		"A part of the arguments is unknown: %s. Put what it refers to into the components of this document.")
}

func findNoID(r *run, o *operation) {
	if o.offered() && o.ID == "" {
		r.report(r.api.of(o, ""), "%s has x-llm and no operationId: give it one, such as the name of a function.", text.Quote(o.name()))
	}
}

func findSameID(r *run) {
	first := map[string]*operation{}
	r.operations(func(o *operation) {
		if other := first[o.ID]; o.ID != "" && other != nil {
			r.report(r.api.of(o, "/operationId"), "%s has the operationId %s of %s: give it one of its own.", text.Quote(o.name()), text.Quote(o.ID), text.Quote(other.name()))
			return
		}
		first[o.ID] = o
	})
}

func findNoText(r *run, o *operation) {
	var hint string
	_ = json.Unmarshal(o.XLLM["hint"], &hint)
	if o.offered() && strings.TrimSpace(o.Summary+o.Description+hint) == "" {
		r.report(r.api.of(o, ""), "%s says nowhere what it is for: give it a summary, and a hint that says when to use it.", text.Quote(o.name()))
	}
}

// auto reports whether the operation runs without consent, and where that is said.
func (d *description) auto(o *operation) (is bool, where string) {
	if o.XLLM["approval"] != nil {
		return says(o.XLLM, "approval", `"auto"`), "/x-llm/approval"
	}
	return says(d.XLLM, "defaultApproval", `"auto"`), "/x-llm"
}

func findAuto(r *run, o *operation) {
	is, where := r.api.auto(o)
	destructive := says(o.XLLM, "destructive", "true")
	if !o.offered() || !is || o.reads() && !destructive {
		return
	}
	why := "its method is " + strings.ToUpper(o.method)
	if destructive {
		why = "it is destructive"
	}
	r.report(r.api.of(o, where), `%s needs no consent, and %s: make its approval "per-call".`, text.Quote(o.name()), why)
}

func findAutoNoBlanket(r *run, o *operation) {
	if is, _ := r.api.auto(o); is && o.offered() && says(o.XLLM, "blanketApprovalAllowed", "false") {
		r.report(r.api.of(o, "/x-llm/blanketApprovalAllowed"), `%s needs no consent, and allows none for all calls: make its approval "per-call", or take blanketApprovalAllowed away.`, text.Quote(o.name()))
	}
}

func findBlanket(r *run, o *operation) {
	if o.offered() && says(o.XLLM, "destructive", "true") && says(o.XLLM, "blanketApprovalAllowed", "true") {
		r.report(r.api.of(o, "/x-llm/blanketApprovalAllowed"), "%s is destructive, and people may agree to all of its calls at once: make blanketApprovalAllowed false.", text.Quote(o.name()))
	}
}

var window = regexp.MustCompile(`^[1-9][0-9]*(ms|s|m|h|d)$`)

func findRate(r *run, o *operation) {
	words := o.XLLM["rateLimit"]
	if words == nil {
		return
	}
	var n float64
	var limit struct {
		Max    float64
		Window string
	}
	if json.Unmarshal(words, &n) == nil && n > 0 || json.Unmarshal(words, &limit) == nil && limit.Max >= 1 && window.MatchString(limit.Window) {
		return
	}
	r.report(r.api.of(o, "/x-llm/rateLimit"), `%s has the rateLimit %s: write {"max":30,"window":"1m"}, with ms, s, m, h or d.`, text.Quote(o.name()), text.Quote(string(words)))
}

func findSchemes(r *run) {
	undefined := func(at place, all []map[string][]string) {
		for _, alternative := range all {
			for _, name := range sortedKeys(alternative) {
				if _, there := r.api.Components.Schemes[name]; !there {
					r.report(at, "Security needs the scheme %s, which components.securitySchemes does not define (it has [%s]): define it there.", text.Quote(name), quoteAll(sortedKeys(r.api.Components.Schemes)))
				}
			}
		}
	}
	if r.api != nil {
		undefined(r.api.at("/security"), r.api.Security)
	}
	r.operations(func(o *operation) {
		if o.Security != nil {
			undefined(r.api.of(o, "/security"), *o.Security)
		}
	})
}

// kindOf returns how llm.json calls a scheme.
func kindOf(kind, scheme string) string {
	switch kind {
	case "apiKey":
		return "api-key"
	case "http":
		return strings.ToLower(scheme)
	}
	return kind
}

func findAuth(r *run) {
	if r.api == nil || r.api.Auth == "" || r.api.Problem != "" {
		return
	}
	kinds := []string{}
	for _, name := range sortedKeys(r.api.Components.Schemes) {
		s := r.api.Components.Schemes[name]
		kinds = append(kinds, kindOf(s.Type, s.Scheme))
	}
	switch {
	case r.api.Auth == "none" && len(r.api.Security) > 0:
		r.report(r.api.at("/security"), `llm.json says that no one signs in ("none"), and the document requires security: write %s in llm.json.`, quoteAll(kinds))
	case r.api.Auth != "none" && !slices.Contains(kinds, r.api.Auth):
		r.report(r.api.at("/components/securitySchemes"), "llm.json says %s, and the document has the schemes [%s]: make them agree.", text.Quote(r.api.Auth), quoteAll(kinds))
	}
}

func findServers(r *run) {
	if r.api == nil {
		return
	}
	for i, s := range r.api.Servers {
		if r.api.elsewhere(s) {
			r.report(r.api.at(fmt.Sprintf("/servers/%d/url", i)), "The server %s is of another origin than the document: publish the document there, or say to people that they must allow it.", text.Quote(s.URL))
		}
	}
	r.operations(func(o *operation) {
		for _, s := range o.Servers {
			if r.api.elsewhere(s) {
				r.report(r.api.of(o, "/servers"), "The server %s of %s is of another origin than the document.", text.Quote(s.URL), text.Quote(o.name()))
			}
		}
	})
}

// The members that x-llm has.
var (
	rootMembers      = []string{"version", "name", "description", "defaultApproval"}
	operationMembers = []string{"enabled", "approval", "blanketApprovalAllowed", "destructive", "rateLimit", "hint", "costIndicator", "rendering", "chaining"}
)

func findUnknown(r *run) {
	if r.api == nil {
		return
	}
	look := func(x map[string]json.RawMessage, known []string, at func(string) place) {
		for _, name := range sortedKeys(x) {
			if !slices.Contains(known, name) && !strings.HasPrefix(name, "x-") {
				r.report(at(schema.Pointer("x-llm", name)), "x-llm has no member %s: %s.", text.Quote(name), cmp.Or(text.DidYouMean(name, known), "it has "+strings.Join(known, ", ")))
			}
		}
	}
	look(r.api.XLLM, rootMembers, r.api.at)
	r.operations(func(o *operation) {
		look(o.XLLM, operationMembers, func(part string) place { return r.api.of(o, part) })
	})
}

var knownVersion = regexp.MustCompile(`^0(\.\d+){1,2}$`)

func findVersion(r *run) {
	if r.api == nil {
		return
	}
	if r.api.XLLM == nil {
		if slices.ContainsFunc(r.api.operations, (*operation).offered) {
			r.report(r.api.at(""), `Operations have x-llm, and the document has none at its root: add {"version":"0.1","name":"…"}.`)
		}
		return
	}
	var version, name string
	_ = json.Unmarshal(r.api.XLLM["version"], &version)
	_ = json.Unmarshal(r.api.XLLM["name"], &name)
	if !knownVersion.MatchString(version) {
		r.report(r.api.at("/x-llm/version"), "The version of x-llm is %s: it must be 0.1.", text.Quote(version))
	}
	if strings.TrimSpace(name) == "" {
		r.report(r.api.at("/x-llm"), "x-llm has no name: people are asked in the name of the application.")
	}
}

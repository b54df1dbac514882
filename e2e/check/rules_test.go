package check

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// judge returns the findings of one rule alone.
func judge(t *testing.T, s *Snapshot, rule string, values map[string]any) []Finding {
	t.Helper()
	r, err := ruleByID(rule)
	if err != nil {
		t.Fatal(err)
	}
	all, err := Judge(s, Options{Rules: map[string]Setting{rule: {Severity: "", Values: values}}})
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(f Finding) bool { return f.Rule != r.ID })
}

func pageOf(tools ...Tool) *Snapshot {
	return &Snapshot{Target: "shop", Live: true, Pages: []Page{{URL: "https://shop.example/", Tools: tools}}}
}

func withParam(name, schema string) Tool {
	return Tool{Name: "add_stamp", Input: json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{%q:%s}}`, name, schema))}
}

func several(n int) *Snapshot {
	s := pageOf()
	for i := range n {
		s.Pages[0].Tools = append(s.Pages[0].Tools, Tool{Name: fmt.Sprint("t", i)})
	}
	return s
}

func nested(levels int) Tool {
	schema := `{"type":"string"}`
	for range levels {
		schema = `{"type":"object","properties":{"a":` + schema + `}}`
	}
	return Tool{Name: "x", Input: json.RawMessage(schema)}
}

func called(c Call) *Snapshot {
	s := pageOf(Tool{Name: "add_stamp"})
	c.Page, c.Tool, c.Valid = s.Pages[0].URL, "add_stamp", true
	s.Calls = []Call{c}
	return s
}

func repeated(n int) *Snapshot {
	s := pageOf()
	for i := range n + 1 {
		s.Pages[0].Timeline = append(s.Pages[0].Timeline, Event{At: time.Duration(i), Kind: "replace", Tool: "x"})
	}
	return s
}

// TestLimits: at its limit a rule finds nothing, and one past it it does. The option moves it.
func TestLimits(t *testing.T) {
	t.Parallel()
	long := func(n int) string { return strings.Repeat("é", n) }
	late := func(n int) *Snapshot {
		s := pageOf()
		s.Pages[0].Timeline = []Event{{At: time.Duration(n) * time.Second / 10, Kind: "register", Tool: "x"}}
		return s
	}
	for _, test := range []struct {
		rule, option string
		limit        int
		least        bool // the limit is the least, and not the most
		scale        float64
		make         func(n int) *Snapshot
	}{
		{"tool-name-budget", "max", 30, false, 1, func(n int) *Snapshot { return pageOf(Tool{Name: long(n)}) }},
		{"description-length", "max", 500, false, 1, func(n int) *Snapshot { return pageOf(Tool{Description: long(n)}) }},
		{"description-length", "min", 20, true, 1, func(n int) *Snapshot { return pageOf(Tool{Description: long(n)}) }},
		{"too-many-tools", "max", 40, false, 1, several},
		{"tool-tokens", "max", 1000, false, 1, func(n int) *Snapshot { return pageOf(Tool{Description: long(4 * n)}) }},
		{"list-budget", "max", 32 << 10, false, 1, func(n int) *Snapshot { return pageOf(Tool{Description: strings.Repeat("x", n-80)}) }},
		{"schema-depth", "max", 3, false, 1, func(n int) *Snapshot { return pageOf(nested(n)) }},
		{"param-description-length", "max", 150, false, 1, func(n int) *Snapshot { return pageOf(withParam("a", `{"description":"`+long(n)+`"}`)) }},
		{"param-name-budget", "max", 30, false, 1, func(n int) *Snapshot { return pageOf(withParam(long(n), `{}`)) }},
		{"registers-late", "max", 30, false, 10, late},
		{"churn", "max", 3, false, 1, repeated},
		{"result-too-large", "max", 1500, false, 1, func(n int) *Snapshot { return called(Call{Result: json.RawMessage(`"` + long(n-2) + `"`)}) }},
		{"slow", "max", 50, false, 10, func(n int) *Snapshot {
			return called(Call{Result: json.RawMessage(`1`), Took: time.Duration(n) * time.Second / 10})
		}},
	} {
		past := 1
		if test.least {
			past = -1
		}
		for _, moved := range []int{0, 2} {
			var values map[string]any
			if moved > 0 {
				values = map[string]any{test.option: float64(test.limit+moved) / test.scale}
			}
			if found := judge(t, test.make(test.limit+moved), test.rule, values); len(found) > 0 {
				t.Errorf("%s at its limit %d: %+v", test.rule, test.limit+moved, found)
			}
			if found := judge(t, test.make(test.limit+moved+past), test.rule, values); len(found) != 1 {
				t.Errorf("%s past its limit %d: %+v", test.rule, test.limit+moved, found)
			}
		}
	}
}

// TestSecondSeverity: rules with a worse case say so.
func TestSecondSeverity(t *testing.T) {
	t.Parallel()
	lock := func(old, now string) *Snapshot {
		s := pageOf(Tool{Name: "x", Description: "A.", Input: json.RawMessage(now)})
		s.Locked = map[string]Tool{"x": {Name: "x", Description: "A.", Input: json.RawMessage(old)}}
		return s
	}
	words := lock(`{}`, `{}`)
	words.Pages[0].Tools[0].Description = "B."
	fresh := lock(`{}`, `{}`)
	fresh.Pages[0].Tools = append(fresh.Pages[0].Tools, Tool{Name: "y"})
	gone := lock(`{}`, `{}`)
	gone.Pages[0].Tools = nil
	output := lock(`{}`, `{}`)
	output.Pages[0].Tools[0].Output = json.RawMessage(`{"type":"object"}`)
	optional := `{"type":"object","properties":{"a":{"type":"string"}}}`
	required := `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`
	address := json.RawMessage(`{"properties":{"url":{"type":"string"}}}`)
	for _, test := range []struct {
		rule string
		s    *Snapshot
		want Severity
	}{
		{"slow", called(Call{Result: json.RawMessage(`1`), Took: 29 * time.Second}), Warning},
		{"slow", called(Call{Result: json.RawMessage(`1`), Took: 30 * time.Second}), Error},
		{"result-too-large", called(Call{Result: json.RawMessage(`"` + strings.Repeat("x", 16381) + `"`)}), Warning},
		{"result-too-large", called(Call{Result: json.RawMessage(`"` + strings.Repeat("x", 16382) + `"`)}), Error},
		{"result-too-large", called(Call{Error: "too large", Code: "TOOL_ERROR", Reason: "RESULT_TOO_LARGE"}), Error},
		{"arbitrary-exec", pageOf(Tool{Name: "fetch_page", Input: address}), Error},
		{"arbitrary-exec", pageOf(Tool{Name: "fetch_page", Input: address, Annotations: json.RawMessage(`{"untrustedContentHint":true}`)}), Warning},
		{"contract-changed", lock(optional, required), Error},
		{"contract-changed", lock(required, optional), Warning},
		{"contract-changed", words, Info},
		{"contract-changed", fresh, Warning},
		{"contract-changed", gone, Error},
		{"contract-changed", output, Warning},
	} {
		found := judge(t, test.s, test.rule, nil)
		if len(found) != 1 || found[0].Severity != test.want {
			t.Errorf("%s: %+v, want %s", test.rule, found, test.want)
		}
		all, err := Judge(test.s, Options{Rules: map[string]Setting{test.rule: {Severity: Info}}})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range all {
			if f.Rule == test.rule && f.Severity != Info {
				t.Errorf("%s: a setting of the severity does not hold: %+v", test.rule, f)
			}
		}
	}
	if found := judge(t, lock(`{"type":"object","properties":{}}`, ``), "contract-changed", nil); len(found) > 0 {
		t.Errorf("a tool without an input schema is not the locked one: %+v", found)
	}
	digests := lock(optional, required)
	digests.Locked["x"] = Tool{Name: "x"}
	if found := judge(t, digests, "contract-changed", nil); len(found) > 0 {
		t.Errorf("a lock file with digests only: %+v", found)
	}
}

// TestNames: what parameters and tools are taken for by their names.
func TestNames(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		rule string
		tool Tool
		want int
	}{
		{"sensitive-params", withParam("apiKey", `{"type":"string"}`), 1},
		{"sensitive-params", withParam("user_password", `{"type":"string"}`), 1},
		{"sensitive-params", withParam("pageToken", `{"type":"string"}`), 0},
		{"sensitive-params", withParam("max_tokens", `{"type":"integer"}`), 0},
		{"sensitive-params", withParam("token", `{"type":"string"}`), 1},
		{"sensitive-params", withParam("reset_password", `{"type":"boolean"}`), 0},
		{"sensitive-params", withParam("x", `{"type":"string","format":"password"}`), 1},
		{"sensitive-params", withParam("author", `{"type":"string"}`), 0},
		{"sensitive-params", withParam("pw", `{"type":"string"}`), 1},
		{"sensitive-params", withParam("userPwd", `{"type":"string"}`), 1},
		{"sensitive-params", withParam("pin", `{"type":"string"}`), 1},
		{"sensitive-params", withParam("map_pin", `{"type":"string"}`), 0},
		{"sensitive-params", withParam("boarding_pass", `{"type":"string"}`), 0},
		{"sensitive-params", withParam("p", `{"type":"string","description":"The user's password."}`), 1},
		{"sensitive-params", withParam("p", `{"type":"string","description":"Credit card to pay with."}`), 1},
		{"sensitive-params", withParam("p", `{"type":"string","description":"Email to which a password link is sent."}`), 0},
		{"untrusted-hint-missing", Tool{Name: "scrapePage"}, 1},
		{"untrusted-hint-missing", Tool{Name: "crawl_site"}, 1},
		{"untrusted-hint-missing", Tool{Name: "summarizeReviews"}, 1},
		{"untrusted-hint-missing", Tool{Name: "translate_comments"}, 1},
		{"untrusted-hint-missing", Tool{Name: "extractThreadText"}, 1},
		{"untrusted-hint-missing", Tool{Name: "get_texts", Description: "Returns texts written by other users."}, 1},
		{"untrusted-hint-missing", Tool{Name: "summarizeCart"}, 0},
		{"untrusted-hint-missing", Tool{Name: "addReview"}, 0},
		{"untrusted-hint-missing", Tool{Name: "scrapePage", Annotations: json.RawMessage(`{"untrustedContentHint":true}`)}, 0},
		{"navigation-consequential", Tool{Name: "track_visit"}, 0},
		{"navigation-consequential", Tool{Name: "trackVisit"}, 0},
		{"navigation-consequential", Tool{Name: "log_redirect"}, 0},
		{"navigation-consequential", Tool{Name: "shop_visit"}, 0},
		{"navigation-consequential", Tool{Name: "visitShop"}, 1},
		{"navigation-consequential", Tool{Name: "page_goto"}, 1},
		{"consequential-missing", Tool{Name: "track_purchase"}, 0},
		{"consequential-missing", Tool{Name: "planTransfer"}, 0},
		{"consequential-missing", Tool{Name: "cart_purchase"}, 1},
		{"mutating-name-readonly", Tool{Name: "calculate_transfer", Annotations: json.RawMessage(`{"readOnlyHint":true}`)}, 0},
		{"arbitrary-exec", withParam("code", `{"type":"string","description":"Discount code."}`), 0},
		{"arbitrary-exec", withParam("country_code", `{"type":"string"}`), 0},
		{"arbitrary-exec", withParam("code", `{"type":"string","description":"JavaScript to run."}`), 1},
		{"arbitrary-exec", withParam("query", `{"type":"string","description":"Words to look for."}`), 0},
		{"arbitrary-exec", withParam("query", `{"type":"string","description":"An SQL query."}`), 1},
		{"arbitrary-exec", Tool{Name: "runCommand", Input: json.RawMessage(`{"properties":{"cmd":{"type":"string"}}}`)}, 1},
		{"arbitrary-exec", Tool{Name: "run_search", Input: json.RawMessage(`{"properties":{"query":{"type":"string"}}}`)}, 0},
		{"arbitrary-exec", withParam("sqlQuery", `{"type":"string"}`), 1},
		{"arbitrary-exec", withParam("sql", `{"type":"string","pattern":"^SELECT name$"}`), 0},
		{"arbitrary-exec", Tool{Name: "fetch_page", Input: json.RawMessage(`{"properties":{"url":{"type":"string","format":"uri"}}}`)}, 1},
		{"arbitrary-exec", Tool{Name: "fetch_page", Input: json.RawMessage(`{"properties":{"url":{"type":"string","pattern":"^https://shop.example/"}}}`)}, 0},
		{"arbitrary-exec", Tool{Name: "add_bookmark", Input: json.RawMessage(`{"properties":{"url":{"type":"string","format":"uri"}}}`)}, 0},
		{"annotations-literal", Tool{Name: "x", Annotations: json.RawMessage(`[]`)}, 1},
		{"annotations-literal", Tool{Name: "x", Annotations: json.RawMessage(`{"readOnlyHint":1,"idempotentHint":null,"title":"x"}`)}, 2},
		{"annotations-literal", Tool{Name: "x", Annotations: json.RawMessage(`{"x":"` + strings.Repeat("x", 4089) + `"}`)}, 1},
		{"annotations-literal", Tool{Name: "x", Annotations: json.RawMessage(`{"x":"` + strings.Repeat("x", 4088) + `"}`)}, 0},
		{"mutating-name-readonly", Tool{Name: "deleteItem", Annotations: json.RawMessage(`{"readOnlyHint":true}`)}, 1},
		{"mutating-name-readonly", Tool{Name: "cart-remove", Annotations: json.RawMessage(`{"readOnly":true}`)}, 1},
		{"mutating-name-readonly", Tool{Name: "get_update_history", Annotations: json.RawMessage(`{"readOnlyHint":true}`)}, 0},
		{"mutating-name-readonly", Tool{Name: "update_history", Annotations: json.RawMessage(`{"readOnlyHint":true}`)}, 0},
		{"mutating-name-readonly", Tool{Name: "add_wish_list", Annotations: json.RawMessage(`{"readOnlyHint":true}`)}, 1},
		{"read-named-not-readonly", Tool{Name: "show_dialog"}, 0},
		{"mutating-name-readonly", Tool{Name: "preview_delete", Annotations: json.RawMessage(`{"readOnlyHint":true}`)}, 0},
		{"mutating-name-readonly", Tool{Name: "book_search", Annotations: json.RawMessage(`{"readOnlyHint":true}`)}, 0},
		{"read-named-not-readonly", Tool{Name: "getOrCreateCart"}, 0},
		{"read-named-not-readonly", Tool{Name: "getCart"}, 1},
		{"read-named-not-readonly", Tool{Name: "getCart", Annotations: json.RawMessage(`{"readOnlyHint":false}`)}, 1},
		{"consequential-missing", Tool{Name: "list_deleted"}, 0},
		{"consequential-missing", Tool{Name: "buyProduct", Annotations: json.RawMessage(`{"destructiveHint":true}`)}, 0},
		{"consequential-missing", Tool{Name: "buyProduct"}, 1},
		{"required-unknown", Tool{Name: "x", Input: json.RawMessage(`{"properties":{"a":{}},"required":["a","b","c"]}`)}, 2},
		{"required-unknown", Tool{Name: "x", Input: json.RawMessage(`{"allOf":[{"properties":{"a":{}}}],"required":["a"]}`)}, 0},
		{"required-unknown", Tool{Name: "x", Input: json.RawMessage(`{"properties":{"a":{}},"anyOf":[{"required":["a"]}]}`)}, 0},
		{"required-unknown", withParam("notes", `{"type":"object","required":["x"]}`), 1},
		{"schema-description-drift", withParam("a", `{"enum":["x","y"],"description":"One of 'x' or 'z'."}`), 1},
		{"schema-description-drift", withParam("a", `{"enum":["x","y"],"description":"One of 'x', 'y'."}`), 0},
		{"schema-unsupported-keywords", Tool{Name: "x", Surface: "form", Input: json.RawMessage(`{"properties":{"a":{"anyOf":[]}}}`)}, 0},
		{"x-mcp-header-invalid", Tool{Name: "x", Input: json.RawMessage(`{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}`)}, 1},
		{"x-mcp-header-invalid", withParam("a", `{"type":"number","x-mcp-header":"A"}`), 1},
		{"schema-uncompilable", Tool{Name: "x", Input: json.RawMessage(`{"type":"object"`)}, 1},
		{"schema-uncompilable", Tool{Name: "x", Input: json.RawMessage(`{"type":"object","$comment":"` + strings.Repeat("x", 64<<10) + `"}`)}, 1},
		{"schema-shape", Tool{Name: "x", Input: json.RawMessage(`[]`)}, 1},
		{"schema-shape", Tool{Name: "x", Input: json.RawMessage(`null`)}, 1},
		{"schema-shape", Tool{Name: "x", Input: json.RawMessage(`{"type":"array"}`)}, 1},
		{"schema-shape", Tool{Name: "x", Input: json.RawMessage(`{"type":"object","properties":[],"required":"a"}`)}, 2},
		{"exposed-to-secure-origins", Tool{Name: "x", ExposedTo: []string{"http://127.0.0.1:8080", "https://a.example", "shop", "::"}}, 2},
		{"exposed-to-wildcard", Tool{Name: "x", ExposedTo: []string{"https://*.example"}}, 1},
	} {
		if found := judge(t, pageOf(test.tool), test.rule, nil); len(found) != test.want {
			t.Errorf("%s on %+v: %+v, want %d", test.rule, test.tool, found, test.want)
		}
	}
}

// TestSecretFields (L11): a parameter is a secret by the type of its field, whatever its name is.
func TestSecretFields(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		field Field
		want  int
	}{
		{Field{Name: "x", Type: "password"}, 1}, {Field{Name: "x", Type: "PASSWORD"}, 1}, {Field{Name: "x", Type: "text", Autocomplete: "section-a cc-number"}, 1},
		{Field{Name: "x", Type: "text", Autocomplete: "one-time-code"}, 1}, {Field{Name: "x", Type: "text"}, 0}, {Field{Name: "y", Type: "password"}, 0},
		{Field{Name: "x", Type: "email", Autocomplete: "username"}, 0},
	} {
		tool := withParam("x", `{"type":"string"}`)
		tool.Surface = "form"
		s := pageOf(tool)
		s.Pages[0].Forms = []Form{{Name: tool.Name, Declares: true, AutoSubmit: true, Fields: []Field{c.field}}}
		if found := judge(t, s, "sensitive-params", nil); len(found) != c.want {
			t.Errorf("%+v: %+v, want %d", c.field, found, c.want)
		}
	}
}

// TestTwoLoads: a tool that one load lacks is a finding, unless a manifest declares it.
func TestTwoLoads(t *testing.T) {
	t.Parallel()
	for surface, want := range map[string]int{"document": 1, "form": 1, "manifest": 0} {
		one := []Tool{{Name: "x", Surface: surface}}
		for _, loads := range [][2][]Tool{{one, {}}, {{}, one}} {
			s := pageOf(loads[0]...)
			s.Pages[0].Again = loads[1]
			if found := judge(t, s, "unstable-version", nil); len(found) != want {
				t.Errorf("%s: %+v, want %d", surface, found, want)
			}
		}
	}
}

func TestShadowing(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b string
		o    string
		want int
	}{
		{"search_products", "searchProducts", "https://shop.example", 1}, {"search_products", "search_product", "https://shop.example", 0},
		{"search_products", "search_product", "https://widget.example", 1}, {"list", "lost", "https://widget.example", 0},
		{"search_products", "search_products", "https://widget.example", 0},
	} {
		s := pageOf(Tool{Name: test.a}, Tool{Name: test.b, Frame: "0", Origin: test.o})
		if found := judge(t, s, "tool-shadowing", nil); len(found) != test.want {
			t.Errorf("%+v: %+v", test, found)
		}
	}
}

func TestConfirmation(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		arguments, asked, body string
		want                   int
	}{
		{`{"amount":1999}`, "Pay 19.99 €?", "amount=1999", 0}, {`{"amount":1000}`, "Pay 1'000.00?", "amount=1000", 0},
		{`{"amount":1000}`, "Pay 1.000,00 Euro?", "amount=1000", 0}, {`{"amount":1000}`, "Pay 100?", "amount=1000", 1},
		{`{"recipient":"Mallory"}`, "Send 5 to Alice?", "to=Mallory", 1}, {`{"recipient":"alice"}`, "Send 5 to Alice?", "to=alice", 0},
		{`{"product_id":"42"}`, "Buy the Inverted Jenny?", "id=42", 0}, {`{"amount":1000}`, "Pay 100?", "nothing=1", 0},
	} {
		s := called(Call{Arguments: json.RawMessage(test.arguments), Asked: []string{test.asked}, Result: json.RawMessage(`1`),
			Effects: &Effects{Requests: []Request{{Method: "post", URL: "/", Body: test.body}}}})
		if found := judge(t, s, "confirmation-mismatch", nil); len(found) != test.want {
			t.Errorf("%+v: %+v", test, found)
		}
	}
}

func TestCallsOfMCPShape(t *testing.T) {
	t.Parallel()
	failed := Call{Result: json.RawMessage(`{"isError":true,"content":[{"type":"text","text":"no"}]}`)}
	for rule, c := range map[string]Call{"throws-on-valid": failed, "result-missing": {Result: json.RawMessage(`{"content":[]}`)}} {
		if found := judge(t, called(c), rule, nil); len(found) != 1 {
			t.Errorf("%s: %+v", rule, found)
		}
	}
	for _, c := range []Call{{Error: "asked", Code: "APPROVAL_REQUIRED"}, {Error: "late", Code: "INTERNAL_ERROR", Reason: "TIMEOUT"}} {
		if found := judge(t, called(c), "throws-on-valid", nil); len(found) > 0 {
			t.Errorf("what the bridge or a person ended: %+v", found)
		}
	}
	left := Call{Result: json.RawMessage(`null`), Effects: &Effects{Navigated: []string{"/x"}}}
	if found := judge(t, called(left), "result-missing", nil); len(found) > 0 {
		t.Errorf("a page that was left: %+v", found)
	}
}

// lesson records what real applications taught the rules (docs/corpus.md): a finding that was
// wrong, or one beside it that is right.
type lesson struct {
	rule string
	s    *Snapshot
	want int
}

func learned(t *testing.T, all map[string]lesson) {
	t.Helper()
	for name, test := range all {
		if found := judge(t, test.s, test.rule, nil); len(found) != test.want {
			t.Errorf("%s: %s found %+v", name, test.rule, found)
		}
	}
}

// calledOnce is a page with a tool that was called once.
func calledOnce(name string, e *Effects) *Snapshot {
	s := pageOf(Tool{Name: name})
	s.Calls = []Call{{Page: s.Pages[0].URL, Tool: name, Valid: true, Result: json.RawMessage(`1`), Effects: e}}
	return s
}

// looked is a page with a tool that returned nothing.
func looked(name string, invented bool) *Snapshot {
	s := calledOnce(name, nil)
	s.Calls[0].Result, s.Calls[0].Invented = json.RawMessage(`null`), invented
	return s
}

// formed is a page with a form that was called as a tool.
func formed(c Call) *Snapshot {
	s := calledOnce("find_stamps", nil)
	s.Pages[0].Tools[0].Surface, c.Page, c.Tool = "form", s.Calls[0].Page, s.Calls[0].Tool
	s.Calls[0] = c
	return s
}

// result returns a snapshot of a call whose arguments the schema refuses, with its
// result.
func result(text string) *Snapshot {
	return &Snapshot{Calls: []Call{{Page: "https://shop.example/", Tool: "x", Arguments: json.RawMessage(`{}`), Result: json.RawMessage(text)}}}
}

// twice makes the call of a snapshot once more.
func twice(s *Snapshot) *Snapshot {
	s.Calls = append(s.Calls, s.Calls[0])
	return s
}

func TestCorpusDeclarations(t *testing.T) {
	t.Parallel()
	views := json.RawMessage(`{"type":"object","properties":{"view":{"type":"string","enum":["list","edit"]}}}`)
	address := json.RawMessage(`{"type":"object","properties":{"url":{"type":"string"}}}`)
	optional := `{"anyOf":[{"not":{}},{"type":"string"}]}`
	learned(t, map[string]lesson{
		"a form that looks cannot declare it":    {"read-named-not-readonly", pageOf(Tool{Name: "get_tasks", Surface: "form"}), 0},
		"a script that looks can":                {"read-named-not-readonly", pageOf(Tool{Name: "get_tasks", Surface: "document"}), 1},
		"a look in a group of names":             {"read-named-not-readonly", pageOf(Tool{Name: "wsg.get_guideline"}), 1},
		"a change in a group of names":           {"consequential-missing", pageOf(Tool{Name: "list.delete"}), 1},
		"a group that is named as a change":      {"mutating-name-readonly", pageOf(Tool{Name: "archive.search", Annotations: json.RawMessage(`{"readOnlyHint":true}`)}), 0},
		"a search may set the page's filters":    {"read-named-not-readonly", pageOf(Tool{Name: "search_tasks"}), 0},
		"a look that was seen to leave the page": {"read-named-not-readonly", calledOnce("get_size", &Effects{Navigated: []string{"/size"}}), 0},
		"a look that was seen":                   {"read-named-not-readonly", calledOnce("get_size", &Effects{}), 1},
		"a form with strangers' texts":           {"untrusted-hint-missing", pageOf(Tool{Name: "list_reviews", Surface: "form"}), 0},
		"a form that leaves the page":            {"navigation-consequential", pageOf(Tool{Name: "visit", Surface: "form"}), 0},
		"views to choose from":                   {"navigation-consequential", pageOf(Tool{Name: "navigate", Input: views}), 0},
		"an address to go to":                    {"navigation-consequential", pageOf(Tool{Name: "navigate", Input: address}), 1},
		"keywords within a keyword":              {"schema-unsupported-keywords", pageOf(withParam("a", optional)), 1},
		"keywords side by side":                  {"schema-unsupported-keywords", pageOf(withParam("a", `{"anyOf":[{}],"not":{}}`)), 2},
		"Chinese says more in a character":       {"description-length", pageOf(Tool{Description: "将指定的菜品添加到购物车"}), 0},
		"as much as this":                        {"description-length", pageOf(Tool{Description: "获取购物车内容"}), 0},
		"Japanese less":                          {"description-length", pageOf(Tool{Description: "カートをみせる"}), 1},
		"but not all in four":                    {"description-length", pageOf(Tool{Description: "提交订单"}), 1},
		"a long text of it is as long as it is":  {"description-length", pageOf(Tool{Description: strings.Repeat("订", 500)}), 0},
	})
	hidden := judge(t, pageOf(Tool{Name: "x", Description: "Deletes\u202e an account."}), "unicode-smuggling", nil)
	if len(hidden) != 1 || !strings.Contains(hidden[0].Message, `(['\u202e'])`) {
		t.Errorf("the characters that people do not see: %+v", hidden)
	}
}

func TestCorpusCalls(t *testing.T) {
	t.Parallel()
	unknown := Call{Valid: true, Arguments: json.RawMessage(`{"id":"a"}`), Error: "No product with id a.", Code: "TOOL_ERROR", Thrown: "Error"}
	invented, crash := unknown, unknown
	invented.Invented, crash.Invented, crash.Thrown = true, true, "TypeError"
	learned(t, map[string]lesson{
		"an invented id may be unknown":            {"throws-on-valid", called(invented), 0},
		"an invented id, and a mistake":            {"throws-on-valid", called(crash), 1},
		"an id of the schema":                      {"throws-on-valid", called(unknown), 1},
		"a result that refuses":                    {"accepts-invalid", result(`{"ok":false}`), 0},
		"one with an error":                        {"accepts-invalid", result(`{"error":"which date?"}`), 0},
		"one with no error":                        {"accepts-invalid", result(`{"error":null,"items":[]}`), 1},
		"a text that refuses":                      {"accepts-invalid", result(`{"content":[{"type":"text","text":"Error: product \"a\" not found."}]}`), 0},
		"a text that nothing was found":            {"accepts-invalid", result(`"No note found with ID x."`), 0},
		"nothing for what was invented":            {"result-missing", looked("get_note", true), 0},
		"nothing for what there should be":         {"result-missing", looked("get_note", false), 1},
		"nothing of a tool that changes something": {"result-missing", looked("add_note", true), 1},
		"nothing for what the schema refuses":      {"accepts-invalid", result(`null`), 0},
		"two calls of one tool":                    {"accepts-invalid", twice(result(`{}`)), 1},
		"two large results of one tool":            {"result-too-large", twice(result(`"` + strings.Repeat("x", 2000) + `"`)), 1},
		"a text that asks for what is missing":     {"accepts-invalid", result(`"Please provide a height."`), 0},
		"a status that refuses":                    {"accepts-invalid", result(`{"status":"error","message":"Which city?"}`), 0},
		"a status that does not":                   {"accepts-invalid", result(`{"status":"success"}`), 1},
		"several words that were not found":        {"accepts-invalid", result(`"No undefined toppings found"`), 0},
		"a form keeps what is not given":           {"accepts-invalid", formed(Call{Result: json.RawMessage(`{}`)}), 0},
		"a form cannot declare what it changes":    {"effect-undeclared", formed(Call{Valid: true, Effects: &Effects{Submitted: []string{"/x"}}}), 0},
		"one change of a tool is enough":           {"effect-undeclared", twice(calledOnce("put_stamp", &Effects{Storage: []string{"cookie"}})), 1},
		"JSON in a text":                           {"accepts-invalid", result(`"{\"success\":false}"`), 0},
		"a text about what is missing":             {"accepts-invalid", result(`"startDate is required"`), 0},
		"an empty result":                          {"accepts-invalid", result(`{}`), 1},
		"a text that answers":                      {"accepts-invalid", result(`"No products match the filters."`), 1},
		"what is asked of a tool is not a refusal": {"accepts-invalid", result(`{"text":"All errors of the log"}`), 1},
	})
}

package docs

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// threat is one row of docs/threats.md. What is not ours, or is left to the client, says so in
// does, and has no test.
type threat struct {
	id, can, does string
	where         []string // folders of this repository
	tests         []string
	more          string // where users read on: a link, which TestLinks follows
}

// leftPrefixes begin what pagetools does about a threat where it does nothing.
var leftPrefixes = []string{"Not ours: ", "Left to the client: "}

// modelThreats lists the threats of the draft threat model for WebMCP.
var modelThreats = []threat{
	{"T-01", "The name, the description or the schema of a tool holds instructions for the model.",
		"Names are plain, invisible characters are taken out, lengths are bounded. Which words persuade a model is not decided here: what changes something asks a person, and the question quotes the page line by line.",
		[]string{"bridge", "transport/mcp"}, []string{"TestAdmission", "TestHiddenCharactersAreTakenOutAndReported", "TestPageCannotLeaveItsQuotation"}, "security.md"},
	{"T-02", "A result holds instructions, and the model obeys.",
		"A caller that has read the words of strangers is asked before it changes something. `results` marks, cuts and redacts, when the operator wants it. Whether a model obeys is left to the client.",
		[]string{"bridge", "bridge/policy"}, []string{"TestTaint", "TestUntrustedResultsAreMarked", "TestRulesForResults"}, "configuration.md#what-callers-get-of-results"},
	{"T-03", "Something of consequence happens, and nobody was asked.",
		"Every call passes one pipeline. What does not claim to only read asks a person, and hints of a page can only raise that.",
		[]string{"bridge", "bridge/policy"}, []string{"TestNothingRunsUnagreed", "TestNothingLoosens", "TestOrderOfStages"}, "questions.md"},
	{"T-04", "A tool asks for more of the user's data than it needs.",
		"Left to the client: which arguments a model gives is its choice. A question shows them before a call that asks runs, and arguments that the schema does not know are refused where it is closed.",
		nil, nil, "questions.md"},
	{"T-05", "Whoever runs the model keeps what passed through it.",
		"Not ours: pagetools sends nothing to a model. `redact` keeps back what its rules cover.",
		nil, nil, "configuration.md#what-callers-get-of-results"},
	{"T-06", "A document or an origin finds or runs a tool that is not meant for it.",
		"Tools of frames need the page's permission, have their own origin in every list, and count as the site's own from its own top page only. A document cannot run another's calls.",
		[]string{"session/cdp", "bridge"}, []string{"TestFrames", "TestFramesKeepApart", "TestOriginIsLockedAndPinned"}, "security.md"},
	{"T-07", "A tool or a call is taken for that of another document, origin or script.",
		"Lists, questions and the audit name site, origin, frame and the digest of the definition. Which script of a document registered it is not known.",
		[]string{"bridge", "session/cdp", "transport/mcp/toolset"}, []string{"TestWhosePage", "TestNamesOfFrames", "TestWhatAListSaysOfATool", "TestAuditOfPersons"}, "operate.md#records"},
	{"T-08", "A tool is replaced between list, consent and call, or outlives what it was about.",
		"A call runs only if the definition, and after consent the document too, is what was shown: compared where it is dispatched. `lock` and versions hold definitions over time.",
		[]string{"session", "bridge"}, []string{"TestToolChanged", "TestConsentIsForWhatWasShown", "TestUnseenTools", "TestLocked"}, "questions.md"},
	{"T-09", "A call is given up, and its work goes on in the page.",
		"The tool gets an abort, and the outcome says `unknown` where it may have run; nothing is sent twice. What a page does after an abort cannot be undone here.",
		[]string{"session", "transport/webtool"}, []string{"TestDisconnect", "TestNothingRunsTwice", "TestCallsThatNavigate"}, "errors.md#may-i-repeat-it"},
	{"T-10", "Tools, words, results, questions or calls without end exhaust browser, model or person.",
		"All of them are bounded, per page, caller and process; rates and queues are shared fairly; the sixth question of a call is declined.",
		[]string{"bridge", "bridge/policy", "session"}, []string{"TestAdmission", "TestHugeResult", "TestFiveQuestions", "TestCallsEndAtTheirDeadline", "TestBudget"}, "configuration.md#limits"},
	{"T-11", "Arguments that do not fit the schema reach the tool, or results fit no schema.",
		"Arguments are checked before the page is touched; a result that breaks its outputSchema says so, or is refused with `strict-output`.",
		[]string{"bridge", "bridge/schema"}, []string{"TestBadArgumentsNeverReachThePage", "TestAPromiseOfAPageIsChecked"}, "errors.md#all-errors"},
	{"T-12", "The schema of a form, how it is filled and what it checks disagree.",
		"The schema of each control is held to the browser's own; what the form would refuse is refused, and nothing is submitted.",
		[]string{"session/cdp", "js"}, []string{"TestFormSchemas", "TestFormFills"}, "testing.md"},
	{"T-13", "A form submits itself, and that is of consequence.",
		"A form is a tool like any other: without a claim to only read, a person is asked before it is filled.",
		[]string{"bridge/policy", "session/cdp"}, []string{"TestDecide", "TestFormAnswers", "TestFormWaits"}, "questions.md"},
	{"T-14", "A file input is filled without anybody choosing a file.",
		"A caller sends the bytes, never a path, and a person is asked with the file's name, size and digest. A chooser that the page opens is answered as cancelled.",
		[]string{"js", "bridge", "session/cdp"}, []string{"TestFormFiles", "TestFilesInQuestions", "TestChoosersAreCancelled"}, "agent.md#files"},
	{"T-15", "A custom element gets a value that it does not expect.",
		"Custom elements are no parameters of a form, as in the browser, and nothing fills them.",
		[]string{"js", "session/cdp"}, []string{"TestFormSchemas"}, ""},
	{"T-16", "The result of a form is JSON-LD or a text of the page that has nothing to do with the call.",
		"After a plain submit only the JSON-LD of the document that comes is the result; it is the page's word, as every result is.",
		[]string{"session/cdp"}, []string{"TestFormNavigates"}, ""},
	{"T-17", "Private and other browsing become linkable through the agent.",
		"Each session has a browser context of its own, and the profile of a browser that pagetools starts is removed with it. What an agent remembers is left to the client.",
		[]string{"session", "session/cdp/chrome"}, []string{"TestIsolation", "TestCleanEndsBrowsers"}, "security.md"},
	{"T-18", "Files and opaque origins are treated as if they had an origin.",
		"A target is an http(s) address or a folder, which is served under an origin of its own; an opaque origin is never the site's own.",
		[]string{"e2e/app", "session/cdp"}, []string{"TestParseTarget", "TestFrames"}, ""},
	{"T-19", "Nobody can tell who asked for an action, who allowed it, and what happened.",
		"An intent is recorded before a call that may change something runs, and an outcome after, in chains that cannot be changed unseen: caller, approver, digests. Each error names its call.",
		[]string{"bridge", "bridge/store"}, []string{"TestAudit", "TestAuditOfPersons", "TestErrorsNameTheirCall", "TestTampering"}, "operate.md#records"},
	{"T-20", "Errors that say too little hide a cause, or make a repeat unsafe.",
		"Each error has a code, a reason, and an outcome that says whether it may be repeated; the cause is in the log, under the same id.",
		[]string{"bridge", "transport"}, []string{"TestErrors", "TestErrorsReference", "TestErrorsNameTheirCall"}, "errors.md"},
	{"T-21", "Arguments, results or secrets leak through logs and diagnostics.",
		"Logs, records and traces hold digests and sizes. Arguments of tools that take secrets have no digest either.",
		[]string{"bridge", "cmd/pagetools"}, []string{"TestTheLogHoldsNoArgumentsAndNoResults", "TestSecretsHaveNoDigest", "TestTraces", "TestSecretsStayBehind"}, "operate.md#traces"},
	{"T-22", "A script of somebody else in the page registers tools, or takes a name.",
		"It has the page's authority, and pagetools cannot tell it from the page. The first tool of a name stays; `lock` refuses whatever is not as it was; names that collide are told apart by a hash that nobody can take over.",
		[]string{"bridge", "transport/mcp/toolset"}, []string{"TestAdmissionKeepsTheFirstOfAName", "TestNamesCannotBeTakenOver", "TestLocked"}, "testing.md"},
	{"T-23", "What a model read once steers it later, elsewhere.",
		"Left to the client: its memory is its own. For 15 minutes after a caller has read the words of strangers, its calls that change something elsewhere are asked about.",
		nil, nil, "questions.md"},
	{"T-24", "An agent, its provider or its configuration is compromised, and calls tools.",
		"A credential has rights and sites, can be revoked while it is used, and never answers questions unless that was written. Code that runs as the operator is not kept out.",
		[]string{"transport", "bridge"}, []string{"TestRevokedCredentials", "TestNobodyApprovesThemselves", "TestCallersSeeAndDoWhatIsWritten"}, "security.md"},
	{"T-25", "What a page says misleads the person who is asked.",
		"A question names the tool, the origin and the arguments in our words, and the page's words are a quotation that they cannot leave. A yes is for what was shown.",
		[]string{"bridge", "transport/mcp", "transport/console"}, []string{"TestWhatIsAsked", "TestPageCannotLeaveItsQuotation", "TestOperatorsPageShowsText", "TestConsentIsForWhatWasShown"}, "questions.md"},
	{"T-26", "What a tool does is not what the page shows people.",
		"Not ours: what code does cannot be compared with what a page looks like. What a page asks in a call is shown with a picture of it, and an operator can look at it live.",
		nil, nil, "questions.md"},
	{"T-27", "The model picks the wrong tool, or wrong arguments.",
		"Left to the client: pagetools checks arguments by the schema, says what is wrong with them, and asks before something changes.",
		nil, nil, "errors.md"},
}

// guidance lists Chrome's advice to people who build agents and tools for WebMCP.
var guidance = []threat{
	{"G-1", "Descriptions of any length fill a model's context.",
		"A name has 128 characters and a description 16 KiB at most, and `limits` lowers both. A tool beyond them is not admitted.",
		[]string{"bridge"}, []string{"TestAdmission"}, "configuration.md#limits"},
	{"G-2", "Results of any length do the same; 1,500 characters are advised.",
		"1 MiB always; `results` has `budget`, which cuts and says how much is left out. It is off unless the operator sets it.",
		[]string{"bridge", "bridge/policy"}, []string{"TestBudget", "TestCut", "TestHugeResult"}, "configuration.md#what-callers-get-of-results"},
	{"G-3", "A page says with `untrustedContentHint` that a result is not its own words, and nobody listens.",
		"The caller counts as one that has read untrusted content. The hint is in questions, and `mark-untrusted` puts the result between marks with a random text. MCP has no such annotation: `openWorldHint` is true for every tool that does not deny it.",
		[]string{"bridge", "bridge/policy"}, []string{"TestTaint", "TestUntrustedResultsAreMarked", "TestEnclose"}, "configuration.md#what-callers-get-of-results"},
	{"G-4", "A claim to only read is believed, whoever makes it.",
		"It counts from the named site's own top page only, and `strict` asks all the same.",
		[]string{"bridge/policy"}, []string{"TestWhosePage", "TestDecide", "TestNothingLoosens"}, "questions.md"},
	{"G-5", "Something changes, and the user has not confirmed it.",
		"A person is asked, out of the reach of the agent.",
		[]string{"bridge", "transport/console"}, []string{"TestNothingRunsUnagreedInBrowser", "TestNobodyApprovesThemselves"}, "questions.md"},
	{"G-6", "A tool of another origin gets the trust of the site.",
		"Frames need a permission, and their tools are told with their own origin; other origins are the operator's to name.",
		[]string{"session/cdp", "cmd/pagetools"}, []string{"TestFrames", "TestOriginsAreNotShared"}, "configuration.md#sites"},
	{"G-7", "A text in a tool's declaration or result is an attack, and looks like any other.",
		"Left to the client: classifiers and critics of words belong beside the model, which knows what its user wanted.",
		nil, nil, ""},
	{"G-8", "A result holds what the task does not need.",
		"`redact` replaces what its rules cover, over webtools and MCP alike, before it is recorded.",
		[]string{"bridge/policy"}, []string{"TestRedactedValuesHoldNoSecret", "TestNoFaceTellsWhatARuleCovers"}, "configuration.md#what-callers-get-of-results"},
}

const threatsPage = "docs/threats.md"

// threatsText writes the page.
func threatsText() string {
	var b strings.Builder
	b.WriteString(`# Threats

<!-- Made from e2e/suite/docs/threats_test.go: go test ./e2e/suite/docs -run TestThreats -update -->

You want to know what is done about a known threat, where, and which test holds it.

The first table follows the draft
[threat model for WebMCP](https://simoneonofri.github.io/threat-model-webmcp/) by its numbers, as of September 2026; the
words are ours. The second follows what Chrome advises those who build
[agents](https://developer.chrome.com/docs/agents/security) and
[tools](https://developer.chrome.com/docs/ai/webmcp/secure-tools). Where nothing is done, the row says whose it is.
[SECURITY.md](../SECURITY.md) says what is not protected yet.

## The threat model
`)
	threatTable(&b, modelThreats)
	b.WriteString("\n## Chrome's guidance\n")
	threatTable(&b, guidance)
	return b.String()
}

func threatTable(b *strings.Builder, rows []threat) {
	b.WriteString("\n| | what can go wrong | what pagetools does | where | tests |\n|---|---|---|---|---|\n")
	for _, t := range rows {
		does := t.does
		if t.more != "" {
			does += fmt.Sprintf(" [More](%s)", t.more)
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", t.id, t.can, does, quotedList(t.where), quotedList(t.tests))
	}
}

func quotedList(words []string) string {
	if len(words) == 0 {
		return "–"
	}
	return "`" + strings.Join(words, "`, `") + "`"
}

var update = flag.Bool("update", false, "write "+threatsPage+" anew")

// TestThreats: the page matches the rows, and each row either has folders and tests that
// exist, or says who is responsible.
func TestThreats(t *testing.T) {
	t.Parallel()
	path := filepath.Join(Root(t), filepath.FromSlash(threatsPage))
	if *update {
		if err := os.WriteFile(path, []byte(threatsText()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(path)
	if err != nil || string(page) != threatsText() {
		t.Errorf("%s is not current (%v): go test ./e2e/suite/docs -run TestThreats -update", threatsPage, err)
	}
	var code strings.Builder
	Walk(t, func(path string, data []byte) {
		if strings.HasSuffix(path, "_test.go") {
			code.Write(data)
		}
	})
	for _, problem := range threatProblems(Root(t), code.String(), modelThreats, guidance) {
		t.Error(problem)
	}
	for n := range 27 {
		if id := fmt.Sprintf("T-%02d", n+1); modelThreats[min(n, len(modelThreats)-1)].id != id {
			t.Errorf("%s is not in its place", id)
		}
	}
}

// threatProblems returns what is wrong with the rows.
func threatProblems(root, code string, tables ...[]threat) (problems []string) {
	complain := func(t threat, format string, args ...any) {
		problems = append(problems, t.id+": "+fmt.Sprintf(format, args...))
	}
	for _, table := range tables {
		for _, t := range table {
			left := false
			for _, prefix := range leftPrefixes {
				left = left || strings.HasPrefix(t.does, prefix) && len(t.does) > len(prefix)
			}
			if left != (len(t.where) == 0) || left != (len(t.tests) == 0) || t.can == "" || t.does == "" {
				complain(t, "it needs folders and tests, or a word about whose it is")
			}
			for _, folder := range t.where {
				if info, err := os.Stat(filepath.Join(root, folder)); err != nil || !info.IsDir() {
					complain(t, "there is no folder %s", folder)
				}
			}
			for _, name := range t.tests {
				if !strings.Contains(code, "func "+name+"(t *testing.T)") {
					complain(t, "there is no %s", name)
				}
			}
		}
	}
	return problems
}

// TestThreatsCatch plants what is wrong with a row.
func TestThreatsCatch(t *testing.T) {
	t.Parallel()
	good := threat{"X", "can", "does", []string{"bridge"}, []string{"TestThere"}, "security.md"}
	const code = "func TestThere(t *testing.T)"
	if problems := threatProblems(Root(t), code, []threat{good}); len(problems) > 0 {
		t.Error(problems)
	}
	for what, spoil := range map[string]func(*threat){
		"no test": func(x *threat) { x.tests = nil }, "a test that is nowhere": func(x *threat) { x.tests = []string{"TestGone"} },
		"a folder that is nowhere": func(x *threat) { x.where = []string{"bridge/gone"} }, "not ours, with a test": func(x *threat) { x.does = "Not ours: because." },
		"nobody's": func(x *threat) { x.where, x.tests = nil, nil },
	} {
		bad := good
		spoil(&bad)
		if len(threatProblems(Root(t), code, []threat{bad})) == 0 {
			t.Errorf("%s is not noticed", what)
		}
	}
}

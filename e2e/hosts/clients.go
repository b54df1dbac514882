package hosts

import (
	"maps"
	"slices"

	"github.com/pagetools/pagetools/bridge/schema"
)

// Effect says what a client does about something that it does not take.
type Effect string

// What clients do.
const (
	Cuts    Effect = "cut"     // it shortens it
	Hides   Effect = "hidden"  // the model sees it only when it looks for it
	Drops   Effect = "dropped" // the tool is not there
	Refuses Effect = "refused" // the whole list is not there, or the whole request fails
)

// Loses reports whether tools are lost by it.
func (e Effect) Loses() bool { return e == Drops || e == Refuses }

// Rule is one thing that a client of MCP, or the API behind it, does not take.
type Rule struct {
	Client string `json:"client"`
	// What is the key of a limit in a host's file (name, description, tools), a rule of a
	// [schema.Subset], or one of those about results.
	What   string `json:"what"`
	Effect Effect `json:"effect"`
	Source string `json:"source"`
	Date   string `json:"date"` // when the source was read

	// host and subset name the dated data whose numbers and words hold.
	host, subset string
	// front stands before names in the client, with %s for its name of the server. The limit
	// counts it, but for the counted characters that the data allows for already.
	front   string
	counted int
}

// The rules about results.
const (
	outputType    = "output-type"    // the root of an outputSchema is of type object
	outputDraft   = "output-draft"   // $schema of an outputSchema
	outputRef     = "output-ref"     // references of an outputSchema
	resultsLength = "results-length" // no list shows it; see Notes
)

const (
	github     = "https://github.com/"
	claudeCode = github + "anthropics/claude-code/issues/"
	claudeTool = "https://platform.claude.com/docs/en/agents-and-tools/tool-use/overview"
	claudeMCP  = "https://code.claude.com/docs/en/mcp"
	claudeList = "https://git.drupalcode.org/project/mcp_server/-/work_items/3585896"
	openRoot   = github + "langchain-ai/langchainjs/issues/9804"
	codexRoot  = github + "dcc-mcp/dcc-mcp-blender/issues/64"
	strictMode = "https://platform.openai.com/docs/guides/structured-outputs#supported-schemas"
	jetbrains  = github + "JetBrains/mcp-jetbrains/issues/71"
	function   = "https://cloud.google.com/vertex-ai/docs/reference/rest/v1beta1/FunctionDeclaration"
	geminiAPI  = "https://docs.cloud.google.com/vertex-ai/generative-ai/docs/reference/rest/v1/Schema"
	vscode     = github + "microsoft/vscode/issues/"
	vscodeRoot = github + "microsoft/vscode/blob/main/src/vs/workbench/contrib/chat/common/tools/" +
		"languageModelToolsParametersSchema.ts"
)

// table has every rule, each with a public source. Numbers, keywords, patterns and the date come
// from the host's file or the subset that a row names; other rows have their own date.
var table = slices.Concat(
	[]Rule{
		{Client: "claude-code", What: "name", Effect: Refuses, Source: claudeCode + "3102", host: "claude", front: "mcp__%s__"},
		{Client: "claude-code", What: "description", Effect: Cuts, Source: claudeMCP, host: "claude"},
		{Client: "claude-code", What: outputRef, Effect: Refuses, Source: claudeCode + "76040", Date: "2026-11-27"},
		{Client: "claude-code", What: outputType, Effect: Refuses, Source: github + "opentokenz/mcpx/issues/28", Date: "2026-11-27"},
		{Client: "claude-code", What: resultsLength, Effect: Cuts, Source: claudeMCP, Date: "2026-11-27"},
		{Client: "anthropic-api", What: "name", Effect: Refuses, Source: claudeCode + "2131", host: "claude"},
		{Client: "openai-api", What: "name", Effect: Refuses, Source: github + "openai/codex/issues/8174", host: "openai-api"},
		{Client: "openai-api", What: "tools", Effect: Refuses, Source: github + "FerroxLabs/wayland/issues/344", host: "openai-api"},
		{Client: "openai-api", What: "description", Effect: Refuses, Source: github + "langchain-ai/open_deep_research/issues/80", host: "openai-api"},
		{Client: "codex", What: "name", Effect: Refuses, Source: github + "openai/codex/issues/1289", host: "openai-api", front: "mcp__%s__"},
		{Client: "gemini-api", What: "name", Effect: Refuses, Source: function, host: "gemini"},
		{Client: "gemini-api", What: "tools", Effect: Refuses, Source: function, host: "gemini"},
		{Client: "gemini-cli", What: "name", Effect: Cuts, Source: github + "google-gemini/gemini-cli/pull/20987", host: "gemini", front: "mcp_%s_"},
		{Client: "gemini-cli", What: "tools", Effect: Refuses, Source: function, host: "gemini"},
		{Client: "vscode", What: "name", Effect: Cuts, Source: vscode + "243602", host: "vscode"},
		{Client: "vscode", What: "tools", Effect: Hides, Source: github + "microsoft/vscode-copilot-release/issues/11653", host: "vscode"},
		{Client: "cursor", What: "name", Effect: Drops, Source: github + "ComposioHQ/composio/issues/2788", host: "cursor", front: "%s", counted: 1},
		{Client: "cursor", What: "tools", Effect: Drops, Source: github + "anyproto/anytype-mcp/issues/5", host: "cursor"},
		{Client: "cursor", What: outputRef, Effect: Refuses, Source: github + "davideast/stitch-mcp/issues/184", Date: "2026-11-27"},
	},
	anthropic("claude-code", "claude-code"), anthropic("anthropic-api", "anthropic"),
	claudeApp("claude-desktop"), claudeApp("claude-web"),
	of("openai-api", "openai", Refuses, map[string]string{
		schema.SubsetObject: openRoot, schema.SubsetRoot: openRoot, schema.SubsetKeyword: strictMode,
		schema.SubsetItems: github + "apify/apify-mcp-server/issues/36", schema.SubsetTuple: github + "vercel/ai/issues/1485",
	}),
	of("codex", "openai", Refuses, map[string]string{
		schema.SubsetObject: codexRoot, schema.SubsetRoot: codexRoot, schema.SubsetKeyword: github + "justrach/codedb/pull/440",
		schema.SubsetItems: strictMode, schema.SubsetTuple: strictMode,
	}),
	of("chatgpt", "openai", Refuses, map[string]string{schema.SubsetTuple: github + "oomkapwn/enquire-mcp/issues/354"}),
	gemini("gemini-api", Refuses, geminiAPI), gemini("gemini-cli", Drops, jetbrains),
	of("vscode", "vscode", Drops, map[string]string{
		schema.SubsetItems: vscode + "284536", schema.SubsetTuple: vscode + "244467", schema.SubsetRoot: vscodeRoot,
		schema.SubsetObject: vscodeRoot, schema.SubsetKeyword: github + "firecrawl/firecrawl-mcp-server/issues/107",
	}),
)

// of returns the rules of a subset for a client, with the source of each.
func of(client, subset string, effect Effect, sources map[string]string) (rules []Rule) {
	for _, what := range slices.Sorted(maps.Keys(sources)) {
		rules = append(rules, Rule{Client: client, What: what, Effect: effect, Source: sources[what], subset: subset})
	}
	return rules
}

// anthropic returns the rules of Anthropic's API, which fails the whole request.
func anthropic(client, subset string) []Rule {
	return of(client, subset, Refuses, map[string]string{
		schema.SubsetObject: claudeTool, schema.SubsetRoot: claudeCode + "44788", schema.SubsetProperty: claudeCode + "79418",
		schema.SubsetDraft: claudeCode + "586", schema.SubsetInvalid: claudeCode + "586", schema.SubsetTuple: claudeCode + "586",
	})
}

// claudeApp returns the rules of an app of Claude.
func claudeApp(client string) []Rule {
	return append(anthropic(client, "anthropic"),
		Rule{Client: client, What: "name", Effect: Refuses, Source: claudeList, host: "claude"},
		Rule{Client: client, What: outputDraft, Effect: Drops, Source: github + "n8n-io/n8n/issues/36361", Date: "2026-11-27"})
}

// gemini returns the rules of Gemini's API. What becomes of a schema without a type differs.
func gemini(client string, typeless Effect, source string) []Rule {
	rules := of(client, "gemini", Refuses, map[string]string{
		schema.SubsetObject: geminiAPI, schema.SubsetKeyword: geminiAPI, schema.SubsetFormat: geminiAPI,
		schema.SubsetAlone: github + "anomalyco/opencode/issues/14700", schema.SubsetRequired: geminiAPI,
		schema.SubsetEnum: jetbrains, schema.SubsetItems: github + "NousResearch/hermes-agent/issues/77617",
		schema.SubsetTuple: geminiAPI,
	})
	return append(rules, of(client, "gemini", typeless, map[string]string{schema.SubsetType: source})...)
}

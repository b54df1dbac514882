package e2e_test

// This file is the import rules of the design as two tables. Paths are relative
// to the module; "x/..." means x and everything below it.

// layer says which of our own packages the packages that match may import. The
// first matching layer counts.
type layer struct {
	packages string
	may      []string
	reason   string
}

var layers = []layer{
	{"bridge/schema", nil, "schema is a leaf: it knows JSON Schema and nothing of ours"},
	{"bridge/policy", nil, "policy is a leaf: pure decisions that can be tested without anything else"},
	{"bridge/store", []string{"bridge", "bridge/policy", "bridge/schema"}, "store keeps what the domain says, some of it as canonical JSON; it knows no adapter"},
	{"bridge/opentools", []string{"bridge", "bridge/policy"}, "opentools is an adapter behind bridge.Router"},
	{"bridge/bridgetest", []string{"bridge", "bridge/policy"}, "fakes of the domain need only the domain"},
	{"bridge", []string{"bridge/schema", "bridge/policy"}, "bridge is the domain: it imports its two leaves and no adapter"},

	{"js/build/...", []string{"js/build"}, "the bundler is a tool of go generate"},
	{"js", nil, "js holds scripts and embeds them; it knows nothing of who runs them"},
	{"shim", []string{"bridge", "bridge/policy", "js"}, "shim is the conversation with the script in js, in words of the domain"},

	{"session/pageconfig", nil, "pageconfig is a leaf: what a call may change about its page"},
	{"session", []string{"bridge", "bridge/policy", "session/pageconfig"}, "session imports no engine: engines implement its interfaces"},
	{"session/cdp/wire", nil, "wire carries messages: it knows no page and no engine"},
	{"session/cdp/chrome", nil, "chrome runs a browser: it speaks to none"},
	{"session/cdp", []string{"bridge", "bridge/policy", "session", "session/cdp/wire", "session/cdp/chrome", "session/pageconfig", "shim"}, "an engine knows the session's interfaces and the shim, no other engine"},
	{"session/relay", []string{"bridge", "bridge/policy", "session", "shim", "js"}, "an engine knows the session's interfaces and the shim, no other engine"},
	{"session/egress", []string{"bridge", "bridge/policy"}, "the proxy knows no session and no engine"},
	{"session/sessiontest", []string{"bridge", "bridge/policy", "session", "session/pageconfig"}, "fakes of the session need only the session"},

	{"transport", []string{"bridge", "bridge/policy"}, "the shared guards know no single transport"},
	{"transport/openapi", []string{"transport", "bridge", "bridge/policy", "bridge/opentools"}, "adapters do not know each other; openapi shares the document types of opentools"},
	{"transport/console", []string{"transport", "bridge", "bridge/policy", "js"}, "adapters do not know each other; the console serves its script from js"},
	{"transport/...", []string{"transport", "bridge", "bridge/policy"}, "adapters do not know each other: a transport imports neither session nor shim nor another transport"},

	{"cmd/pagetools", []string{
		"bridge/...", "examples", "js", "shim", "session", "session/cdp", "session/cdp/chrome", "session/pageconfig", "session/relay", "session/egress", "transport/...",
	}, "cmd wires everything, but no fakes"},
	{"examples/...", nil, "an example stands for itself"},
	{"scripts/...", nil, "a script works from outside, as a user does"},
	{"e2e/...", []string{"bridge/...", "examples", "js/...", "shim", "session/...", "transport/...", "e2e/..."}, "e2e tests everything, from outside of cmd"},
}

// owner says which packages may import a package of somebody else, or one of
// the standard library that is worth guarding. An import from outside of the
// standard library that has no owner is refused.
type owner struct {
	imports  string
	packages []string
	reason   string
}

var owners = []owner{
	{"github.com/chromedp/...", []string{"session/cdp", "session/cdp/wire"}, "chromedp and cdproto may break in any release: one folder pays for it"},
	{"github.com/mark3labs/mcp-go/...", []string{"transport/mcp", "examples/agent-mcp", "e2e"}, "no type of the MCP library in our API; its client is one of those that we are tested with"},
	{"github.com/santhosh-tekuri/jsonschema/...", []string{"bridge/schema", "scripts/bundle"}, "strangers' schemas are compiled in one place, which bounds the work; a script checks a document of ours"},
	{"github.com/dlclark/regexp2/...", []string{"bridge/schema"}, "strangers' patterns run in one place, which bounds the time"},
	{"github.com/go-json-experiment/json/...", []string{"bridge", "bridge/schema", "bridge/opentools", "transport/...", "shim"}, "strict JSON is read at the edges"},
	{"github.com/gorilla/websocket/...", []string{"session/relay", "transport/console"}, "two packages speak WebSocket"},
	{"github.com/evanw/esbuild/...", []string{"js/build"}, "the bundler is a tool of go generate, not part of the binary"},
	{"github.com/prometheus/...", []string{"transport"}, "counts leave the process in one place"},
	{"modernc.org/...", []string{"bridge/store"}, "SQL only in the store"},
	{"go.yaml.in/yaml/...", []string{"cmd/pagetools"}, "only the configuration file is YAML"},
	{"github.com/spf13/cobra/...", []string{"cmd/pagetools"}, "only the command line has commands"},
	{"github.com/spf13/pflag/...", []string{"cmd/pagetools"}, "only the command line has flags"},
	{"golang.org/x/term/...", []string{"cmd/pagetools"}, "only the command line meets a terminal"},
	{"golang.org/x/sys/...", []string{"e2e/..."}, "tests make the terminal that the command line asks on"},
	{"golang.org/x/net/websocket/...", []string{"e2e/..."}, "tests are viewers of live views"},
	{"golang.org/x/net/idna/...", []string{"cmd/pagetools"}, "only the command line reads hosts as people write them"},
	{"github.com/rogpeppe/go-internal/...", []string{"e2e/..."}, "scripts of the command line are tests"},
	{"database/sql/...", []string{"bridge/store"}, "SQL only in the store"},
	{"testing/...", []string{"bridge/bridgetest", "session/sessiontest", "e2e/..."}, "what ships does not import testing"},
}

// testOwners are the imports that any test file may have besides the owners'.
var testOwners = []string{"testing/...", "pgregory.net/rapid/...", "github.com/rogpeppe/go-internal/..."}

// unreachable says what a package must not reach, not even through somebody
// else's package.
type unreachable struct {
	packages string
	imports  []string
	reason   string
}

var unreachables = []unreachable{
	{"bridge", []string{"net/http", "os/exec", "database/sql", "github.com/chromedp/...", "github.com/mark3labs/..."}, "the domain has no transport, no browser and no database"},
	{"bridge/schema", []string{"net/http", "os/exec"}, "a schema must not make us fetch or start anything"},
	{"bridge/policy", []string{"net", "net/http", "os/exec", "database/sql"}, "policy decides and does no I/O"},
	{"shim", []string{"net/http", "os/exec"}, "the codec carries no transport"},
}

package docs

// This file is the import rules of the design as two tables. Paths are relative
// to the module; "x/..." means x and everything below it.

// leaves are packages of ours that import nothing of ours and that everybody may import.
var leaves = []string{"bridge/text", "bridge/origin", "bridge/files"}

// layer says which of our own packages the packages that match may import. The
// first matching layer counts.
type layer struct {
	packages string
	may      []string
	reason   string
}

var layers = []layer{
	{"bridge/text", nil, "text is a leaf: words for people, and nothing of what they are about"},
	{"bridge/origin", nil, "origin is a leaf: addresses, and nothing of who has them"},
	{"bridge/files", nil, "files is a leaf: content and names, and nothing of what they are for"},
	{"bridge/schema", nil, "schema is a leaf: it knows JSON Schema and nothing of ours"},
	{"bridge/policy", nil, "policy is a leaf: pure decisions that can be tested without anything else"},
	{"bridge/webtool", []string{"bridge/schema"}, "documents and versions are made from actions: they know no pipeline"},
	{"bridge/records", nil, "records are a leaf: what an engine of a cluster keeps, and nothing of what it is about"},
	{"bridge/records/recordstest", []string{"bridge/records"}, "the suite of engines needs only their port"},
	{"bridge/records/lease", []string{"bridge/records"}, "who lives is known from records and clocks, and nothing of what they do"},
	{"bridge/records/directory", []string{"bridge/records"}, "who has a session is known from records; whether that node lives is asked"},
	{"bridge/records/ticket", []string{"bridge/records", "bridge/records/lease"}, "a ticket is a record, made by a life"},
	{"bridge/records/rate", []string{"bridge", "bridge/policy", "bridge/records"}, "rates are counted for the domain, in records"},
	{"bridge/records/revoked", []string{"bridge/records"}, "what was revoked is known by digests, and nothing of callers"},
	{"bridge/records/vault", []string{"bridge", "bridge/records", "bridge/webtool"}, "what must not be lost with a node is kept for the domain, in records"},
	{"bridge/records/catalog", []string{"bridge", "bridge/records"}, "who opens a page for all is kept for the domain, in records"},
	{"bridge/records/taint", []string{"bridge", "bridge/records", "bridge/records/lease"}, "what callers read is kept for the domain, in records"},
	{"bridge/store/jetstream/natstest", nil, "a server for tests is a process"},
	{"bridge/store/jetstream", []string{"bridge/records"}, "an engine implements the port, and knows nothing of what is kept"},
	{"bridge/store/postgres/postgrestest", nil, "a server for tests is a process"},
	{"bridge/store/postgres", []string{"bridge/records"}, "an engine implements the port, and knows nothing of what is kept"},
	{"bridge/store", []string{"bridge", "bridge/webtool", "bridge/policy", "bridge/schema"}, "store keeps what the domain says, some of it as canonical JSON; it knows no adapter"},
	{"bridge/opentools", []string{"bridge", "bridge/policy", "bridge/schema", "bridge/opentools/oauth"}, "opentools is an adapter behind bridge.Router"},
	{"bridge/opentools/oauth", []string{"bridge/schema"}, "credentials know neither documents nor the pipeline"},
	{"bridge/gatetest", nil, "whether a test runs needs nothing of ours"},
	{"bridge/bridgetest", []string{"bridge", "bridge/policy", "bridge/schema", "bridge/webtool", "bridge/gatetest"}, "fakes of the domain need only the domain"},
	{"bridge", []string{"bridge/webtool", "bridge/schema", "bridge/policy"}, "bridge is the domain: it imports its three leaves and no adapter"},

	{"js/build/...", []string{"js/build"}, "the bundler is a tool of go generate"},
	{"js", nil, "js holds scripts and embeds them; it knows nothing of who runs them"},
	{"shim", []string{"bridge", "bridge/policy", "bridge/schema", "js"}, "shim is the conversation with the script in js, in words of the domain"},

	{"session", []string{"bridge", "bridge/policy", "bridge/schema", "session/pageconfig", "session/adapter"}, "session imports no engine: engines implement its interfaces"},
	{"session/adapter", []string{"bridge", "js"}, "an adapter is read without an engine: the browser says whether it is JavaScript"},
	{"session/pageconfig", nil, "pageconfig is a leaf: what a call may change about its page"},
	{"session/cdp/wire", nil, "wire carries messages: it knows no page and no engine"},
	{"session/cdp/chrome/proctree", nil, "a process and its children, of whatever program"},
	{"session/cdp/endpoint", []string{"session/cdp/wire", "session/cdp/chrome/proctree"}, "an endpoint says where a browser is: it speaks to none"},
	{"session/cdp/chrome", []string{"session/cdp/chrome/proctree"}, "chrome runs a browser: it speaks to none"},
	{"session/cdp/probe", []string{"bridge", "session", "session/cdp/wire", "shim"}, "what is seen of a page for tests and traces knows a page's CDP sessions, and not the engine"},
	{"session/cdp/cdptest", []string{"session/cdp/wire", "session/cdp/chrome", "shim"}, "what a page script costs is measured without the engine"},
	{"session/cdp", []string{
		"bridge", "bridge/policy", "bridge/schema", "session", "session/adapter", "session/pageconfig", "session/cdp/wire", "session/cdp/chrome", "session/cdp/chrome/proctree", "session/cdp/endpoint", "session/cdp/probe",
		"session/egress", "shim",
	}, "an engine knows the session's interfaces, the shim and the way into the network, no other engine"},
	{"session/relay", []string{"bridge", "bridge/policy", "bridge/schema", "session", "session/pageconfig", "shim", "js"}, "an engine knows the session's interfaces and the shim, no other engine"},
	{"session/egress", []string{"bridge", "bridge/policy"}, "the proxy knows no session and no engine"},
	{"session/sessiontest", []string{"bridge", "bridge/policy", "bridge/schema", "session", "session/pageconfig"}, "fakes of the session need only the session"},

	{"transport", []string{"bridge", "bridge/policy", "bridge/schema"}, "the shared guards know no single transport"},
	{"transport/openapi", []string{"transport", "bridge", "bridge/webtool", "bridge/policy", "bridge/schema", "bridge/opentools"}, "adapters do not know each other; openapi shares the document types of opentools"},
	{"transport/console", []string{"transport", "bridge", "bridge/policy", "bridge/schema", "js"}, "adapters do not know each other; the console serves its script from js"},
	{"transport/calls", []string{"transport", "bridge", "bridge/schema"}, "adapters do not know each other: whoever wires the faces hands over the forms of their replies"},
	{"transport/oauth", []string{"transport", "bridge", "bridge/policy"}, "tokens are verified without a face"},
	{"transport/cluster/clustertest", []string{"transport/cluster"}, "fakes of a cluster need only its interfaces"},
	{"transport/cluster/key", nil, "the key of a cluster knows nothing of what it seals"},
	{"transport/cluster", []string{"transport", "transport/cluster/key", "bridge", "bridge/schema"}, "adapters do not know each other: a cluster passes requests on, and knows no engine"},
	{"transport/mcp/toolset", []string{"bridge", "bridge/webtool", "bridge/schema"}, "names and lists are made from catalogs: no library, no connection"},
	{"transport/mcp", []string{"transport", "transport/mcp/toolset", "bridge", "bridge/webtool", "bridge/policy", "bridge/schema", "js"}, "adapters do not know each other: MCP has its toolset besides, and serves its card from js"},
	{"transport/...", []string{"transport", "bridge", "bridge/webtool", "bridge/policy", "bridge/schema"}, "adapters do not know each other: a transport imports neither session nor shim nor another transport"},

	{"cmd/pagetools/internal/terminal", nil, "a person's terminal is a leaf"},
	{"cmd/pagetools/internal/watch", nil, "changes of files are a leaf"},
	{"cmd/pagetools/internal/clients", []string{"cmd/pagetools/internal/terminal", "bridge/schema"}, "the files of MCP clients need nothing of what we serve"},
	{"cmd/pagetools/internal/config", []string{"bridge", "bridge/policy", "bridge/schema", "e2e/app"}, "the configuration speaks of the domain's limits and rules, and of targets"},
	{"cmd/pagetools/internal/kit", []string{
		"cmd/pagetools/internal/config", "cmd/pagetools/internal/terminal", "cmd/pagetools/internal/watch", "bridge", "bridge/policy", "bridge/schema", "bridge/opentools",
		"e2e/app", "e2e/check", "e2e/hosts", "e2e/scenario", "e2e/run", "e2e/effects", "e2e/report", "session/adapter",
	}, "the verbs of the test kit know no engine, no session and no transport; an adapter is a file"},
	{"cmd/pagetools", []string{
		"cmd/pagetools/internal/...", "bridge/...", "examples", "js", "shim", "session", "session/adapter", "session/pageconfig", "session/cdp", "session/cdp/chrome", "session/cdp/endpoint", "session/relay", "session/egress",
		"transport/...", "e2e/app", "e2e/app/embed",
	}, "cmd has the verbs; what they stand on is wired in e2e/app"},
	{"examples/...", []string{"examples/recipes"}, "an example stands for itself; the recipes are a handler, which tests and a command serve"},
	{"scripts/...", nil, "a script works from outside, as a user does"},
	{"e2e/app/embed", []string{"bridge/records", "session/cdp/chrome/proctree", "transport/cluster", "transport/cluster/key"}, "an engine as a child knows no node: a process, its files and the key"},
	{"e2e/app", []string{
		"bridge", "bridge/webtool", "bridge/policy", "bridge/schema", "bridge/store", "bridge/opentools", "bridge/opentools/oauth",
		"session", "session/adapter", "session/pageconfig", "session/cdp", "session/cdp/chrome", "session/cdp/chrome/proctree", "session/relay", "session/egress",
		"transport/...", "e2e/trace", "e2e/har", "bridge/records", "bridge/records/catalog", "bridge/records/directory", "bridge/records/lease", "bridge/records/rate", "bridge/records/revoked", "bridge/records/taint", "bridge/records/ticket", "bridge/records/vault", "bridge/store/jetstream", "bridge/store/postgres",
	}, "the wiring is shared by the command and the test kit: it knows neither"},
	{"e2e/check", []string{"bridge", "bridge/webtool", "bridge/policy", "bridge/schema"}, "checks are pure: they look at declarations and open nothing"},
	{"e2e/hosts", []string{"bridge", "bridge/webtool", "bridge/policy", "bridge/schema", "e2e/check"}, "what hosts show of tools is pure, and opens nothing"},
	{"e2e/scenario", []string{"bridge", "bridge/schema", "session/pageconfig", "e2e/check"}, "the format of scenarios is pure, and opens nothing: e2e/run runs them"},
	{"e2e/report", []string{"bridge", "bridge/schema", "e2e/check"}, "a report knows no scenario"},
	{"e2e/trace", []string{"bridge/schema", "e2e/har"}, "a trace is written from plain values, by whoever has them"},
	{"e2e/har", nil, "the format of recordings is pure, and opens nothing"},
	{"e2e/suite/...", []string{"bridge/...", "examples/...", "js/...", "shim", "session/...", "transport/...", "e2e/..."}, "the suite tests everything, from outside of cmd"},
	{"e2e/...", []string{"bridge/...", "session", "session/adapter", "session/pageconfig", "transport/...", "e2e/..."}, "the test kit stands on e2e/app, and knows no engine and no command"},
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
	{"github.com/chromedp/...", []string{"session/cdp/..."}, "chromedp and cdproto may break in any release: one folder pays for it"},
	{"github.com/mark3labs/mcp-go/...", []string{"transport/mcp", "examples/agent-mcp", "e2e/run", "e2e/suite/..."}, "no type of the MCP library in our API; its client is one of those that we are tested with"},
	{"github.com/santhosh-tekuri/jsonschema/...", []string{"bridge/schema"}, "strangers' schemas are compiled in one place, which bounds the work"},
	{"github.com/dlclark/regexp2/...", []string{"bridge/schema"}, "strangers' patterns run in one place, which bounds the time"},
	{"github.com/go-json-experiment/json/...", []string{"bridge", "bridge/schema", "bridge/policy", "bridge/opentools", "transport/...", "shim"}, "strict JSON is read at the edges, and redacted token by token"},
	{"github.com/kljensen/snowball/...", []string{"transport/mcp/toolset"}, "only the search of tools knows a language"},
	{"github.com/gorilla/websocket/...", []string{"session/relay", "transport/console"}, "two packages speak WebSocket"},
	{"github.com/evanw/esbuild/...", []string{"js/build", "e2e/suite/..."}, "the bundler is a tool of go generate and of tests, not part of the binary"},
	{"github.com/prometheus/...", []string{"transport"}, "counts leave the process in one place"},
	{"go.opentelemetry.io/otel/trace", []string{"bridge", "cmd/pagetools"}, "the pipeline makes spans, with the interfaces alone; the command wires who gets them"},
	{"go.opentelemetry.io/otel/attribute", []string{"bridge", "cmd/pagetools"}, "only the pipeline knows what a span may hold"},
	{"go.opentelemetry.io/otel/codes", []string{"bridge"}, "only the pipeline knows how a call ended"},
	{"go.opentelemetry.io/otel/sdk/...", []string{"cmd/pagetools"}, "spans leave the process in one place, which the command wires"},
	{"go.opentelemetry.io/otel/exporters/...", []string{"cmd/pagetools"}, "spans leave the process in one place, which the command wires"},
	{"go.opentelemetry.io/otel", []string{"cmd/pagetools"}, "it has the globals of the process, which only the command may set"},
	{"go.opentelemetry.io/proto/...", []string{"e2e/suite/..."}, "a test is a collector of traces"},
	{"google.golang.org/protobuf/...", []string{"e2e/suite/..."}, "a test is a collector of traces"},
	{"github.com/pquerna/cachecontrol/...", []string{"bridge/opentools", "transport/authserver"}, "only documents of others say how long they are fresh"},
	{"golang.org/x/oauth2/...", []string{"bridge/opentools/oauth", "e2e/suite/..."}, "tokens are asked for in one place, which checks who gives them; a test asks as a client does"},
	{"github.com/go-jose/...", []string{"transport/oauth"}, "the signatures of tokens are verified in one place"},
	{"github.com/zitadel/oidc/...", []string{"bridge/opentools/oauth", "e2e/suite/..."}, "tests log in at an authorization server that is not ours"},
	{"github.com/modelcontextprotocol/go-sdk/...", []string{"e2e/suite/..."}, "tests log in with a client that is not ours; no binary has it"},
	{"golang.org/x/time/rate/...", []string{"bridge/policy"}, "rates are policy, the same for every transport"},
	{"modernc.org/...", []string{"bridge/store"}, "SQL only in the store"},
	{"github.com/nats-io/...", []string{"bridge/store/jetstream"}, "one engine of records is NATS; its package implements a port of five methods"},
	{"github.com/lib/pq/...", []string{"bridge/store/postgres"}, "one engine of records is PostgreSQL"},
	{"github.com/tailscale/hujson/...", []string{"cmd/pagetools/internal/clients"}, "only files of MCP clients are JSON with comments"},
	{"go.yaml.in/yaml/...", []string{"bridge/opentools", "cmd/pagetools/internal/config", "e2e/hosts", "e2e/scenario", "e2e/suite/..."}, "only the configuration file is YAML, besides what describes hosts and scenarios, and documents of OpenAPI; a test reads the workflow that init writes"},
	{"github.com/fsnotify/fsnotify/...", []string{"cmd/pagetools/internal/watch"}, "changes of files are heard in one place"},
	{"github.com/spf13/cobra/...", []string{"cmd/pagetools", "cmd/pagetools/internal/kit"}, "only the command line has commands"},
	{"github.com/spf13/pflag/...", []string{"cmd/pagetools", "cmd/pagetools/internal/config"}, "only the command line has flags"},
	{"golang.org/x/term/...", []string{"cmd/pagetools/internal/terminal"}, "only the command line meets a terminal"},
	{"golang.org/x/sys/...", []string{"bridge/records/lease", "e2e/suite/..."}, "leases are believed by a clock that a suspended machine does not stop; tests make the terminal that the command line asks on"},
	{"golang.org/x/net/websocket/...", []string{"e2e/suite/..."}, "tests are viewers of live views"},
	{"code.dny.dev/ssrf/...", []string{"session/egress"}, "addresses of connections are judged in one place"},
	{"golang.org/x/net/proxy/...", []string{"session/egress"}, "an operator's proxy is behind our own"},
	{"golang.org/x/net/html/...", []string{"bridge/opentools", "e2e/effects", "e2e/report", "transport/authserver"}, "a page can name its document in a link, and others that declare tools; the report in HTML is made of its nodes, and so is the page on which people let clients in"},
	{"golang.org/x/crypto/argon2", []string{"transport/authserver"}, "passwords are compared in one place"},
	{"golang.org/x/net/http/httpguts", []string{"bridge/opentools", "cmd/pagetools/internal/config"}, "what a header may be named is for who makes requests of strangers' documents, or reads headers of the operator's"},
	{"golang.org/x/net/publicsuffix", []string{"bridge/opentools", "transport/console"}, "cookies of APIs are judged in one place, and whose an address is is shown in another"},
	{"golang.org/x/net/dns/...", []string{"session/egress"}, "tests are servers of names"},
	{"golang.org/x/net/idna/...", []string{"bridge/origin"}, "names of hosts are compared in one place"},
	{"github.com/rogpeppe/go-internal/...", []string{"e2e/suite/..."}, "scripts of the command line are tests"},
	{"database/sql/...", []string{"bridge/store", "bridge/store/postgres"}, "SQL only in the stores"},
	{"text/template", []string{"scripts/..."}, "the linker keeps every method for a template: the program would grow by 5 MB"},
	{"html/template", []string{"examples/recipes", "e2e/suite/..."}, "as text/template"},
	{"testing/...", []string{"bridge/bridgetest", "bridge/gatetest", "bridge/records/recordstest", "bridge/store/jetstream/natstest", "bridge/store/postgres/postgrestest", "session/sessiontest", "e2e", "e2e/suite/..."}, "what ships does not import testing"},
}

// testOwners are the imports that any test file may have besides the owners'.
var testOwners = []string{"testing/...", "pgregory.net/rapid/...", "github.com/rogpeppe/go-internal/...", "github.com/getkin/kin-openapi/..."}

// unreachable says what a package must not reach, not even through somebody
// else's package.
type unreachable struct {
	packages string
	imports  []string
	reason   string
}

var unreachables = []unreachable{
	{"bridge", []string{"net/http", "os/exec", "database/sql", "github.com/chromedp/...", "github.com/mark3labs/...", "go.opentelemetry.io/otel/sdk/...", "go.opentelemetry.io/otel/exporters/..."}, "the domain has no transport, no browser and no database"},
	{"bridge/schema", []string{"net/http", "os/exec"}, "a schema must not make us fetch or start anything"},
	{"bridge/policy", []string{"net", "net/http", "os/exec", "database/sql"}, "policy decides and does no I/O"},
	{"shim", []string{"net/http", "os/exec"}, "the codec carries no transport"},
	{"e2e/scenario", []string{"net/http", "os/exec"}, "the format of scenarios fetches and starts nothing"},
}

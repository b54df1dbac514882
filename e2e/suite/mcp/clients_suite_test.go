package mcp_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/e2e/suite"
	"github.com/pagetools/pagetools/e2e/suite/docs"
)

// revisions lists the protocol revisions that the conformance suite has a set for.
var revisions = []string{"2025-11-25", "2026-07-28"}

// tasksScenarios begins the scenarios of the one extension that the bridge has.
const tasksScenarios = "tasks-"

// testConformance runs the conformance suite: of each revision, every scenario for
// servers that is not an extension, and those of tasks. A scenario has a session of its own: some
// leave a question open, and a page that asks does nothing else.
func (c *clients) testConformance(t *testing.T) {
	t.Helper()
	suite := filepath.Join(c.modules, "@modelcontextprotocol", "conformance", "dist", "index.js")
	var done []string // by the short form: what ran for newer revisions
	for _, revision := range slices.Backward(revisions) {
		expected, err := filepath.Abs("../clients/conformance-" + revision + ".yml")
		if err != nil {
			t.Fatal(err)
		}
		baseline, err := os.ReadFile(expected)
		if err != nil {
			t.Fatal(err)
		}
		var left []string // by the short form: what fails anyway
		if c.short {
			left = entries(string(baseline))
		}
		list, err := c.run(t, suite, "list", "--requirements", revision)
		names := scenarios(list)
		if err != nil || len(names) == 0 {
			t.Fatalf("no scenarios: %v\n%s", err, list)
		}
		for _, name := range names {
			if slices.Contains(left, name) || c.short && slices.Contains(done, name) {
				continue
			}
			done = append(done, name)
			t.Run(revision+"/"+name, func(t *testing.T) {
				if name != "server-stateless" { // each of its calls has 600 ms, and is not beside others
					t.Parallel()
				}
				row := c.row(t)
				session := name + "-" + revision
				c.server.Ask("/webtools/conformance", `{"sessionId":"`+session+`","action":"greet","request":{}}`) // its page is open before a client counts the time
				url := c.server.URL + "/mcp/conformance?session=" + session
				args := []string{suite, "server", "--url", url, "--scenario", name, "--spec-version", revision, "--expected-failures", expected}
				if strings.HasPrefix(name, tasksScenarios) {
					args = append(args, "--force") // an extension belongs to no revision
				}
				out, err := c.run(t, args...)
				if err != nil {
					t.Errorf("%v\n%s", err, out)
				}
				if strings.Contains(out, "Expected failures (in baseline)") {
					row.result = "fails as expected"
				}
			})
		}
	}
}

var (
	scoredSet = regexp.MustCompile(`(?m)^Server scenarios.*:\n((?:  - \S+\n)+)`)
	unscored  = regexp.MustCompile(`(?m)^  (\S+) \(\d+\):\n((?:    - \S+ \[\w+\]\n)+)`)
	anItem    = regexp.MustCompile(`(?m)^ +- (\S+)(?: \[(\w+)\])?$`)
)

// scenarios reads the list that the suite prints for a revision: what counts, and
// what does not count but is not an extension.
func scenarios(list string) []string {
	var names []string
	if set := scoredSet.FindStringSubmatch(list); set != nil {
		for _, item := range anItem.FindAllStringSubmatch(set[1], -1) {
			names = append(names, item[1])
		}
	}
	for _, group := range unscored.FindAllStringSubmatch(list, -1) {
		for _, item := range anItem.FindAllStringSubmatch(group[2], -1) {
			if item[2] == "server" && (group[1] != "extension" || strings.HasPrefix(item[1], tasksScenarios)) {
				names = append(names, item[1])
			}
		}
	}
	return names
}

// testInspector lists every site with the Inspector, which judges the schemas, and
// calls a tool.
func (c *clients) testInspector(t *testing.T) {
	t.Helper()
	for _, era := range []string{"legacy", "modern"} {
		for _, transport := range []string{"http", "stdio"} {
			sites := []string{"clients", "bad", "conformance", "today"}
			if transport == "stdio" {
				sites = sites[:2]
			}
			switch {
			case c.short && transport == "stdio":
				continue
			case c.short:
				sites = []string{"clients", "today"}
			}
			for _, site := range sites {
				t.Run(era+"/"+transport+"/"+site, func(t *testing.T) {
					t.Parallel()
					row := c.row(t)
					inspect := c.inspector(t, site, era, transport)
					tools := inspect("--method", "tools/list", "--strict")
					row.result = fmt.Sprintf("%d tools", len(tools.Tools))
					if len(tools.Tools) == 0 {
						t.Error("no tools are listed")
					}
					if site != "clients" {
						return
					}
					said := inspect("--method", "tools/call", "--tool-name", "echo", "--tool-args-json", `{"text":"Grüße"}`)
					if len(said.Content) != 1 || said.Content[0].Text != `{"text":"Grüße"}` {
						t.Errorf("the call gave %+v", said)
					}
					if transport == "http" { // of stdio each is a process of its own, with files of its own
						saved := inspect("--method", "tools/call", "--tool-name", "save")
						read := inspect("--method", "resources/read", "--uri", saved.Content[1].URI)
						if len(read.Contents) != 1 || len(read.Contents[0].Blob) != base64.StdEncoding.EncodedLen(100_000) {
							t.Errorf("of %+v it reads %.300v", saved, read)
						}
					}
				})
			}
		}
	}
}

// inspected is the part of the Inspector's output that is looked at.
type inspected struct {
	Tools    []struct{ Name string }
	Content  []struct{ Text, URI string }
	Contents []struct{ URI, Blob string }
}

// inspector returns what runs the Inspector against one site.
func (c *clients) inspector(t *testing.T, site, era, transport string) func(args ...string) inspected {
	t.Helper()
	tmp := suite.TempDir(t)
	entry := c.at(site, "inspector-"+era, transport, tmp)
	server := map[string]any{"type": "streamable-http", "url": entry.URL}
	if transport == "stdio" {
		server = map[string]any{"type": "stdio", "command": entry.Command, "args": entry.Args, "env": entry.Env}
	}
	config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"page": server}})
	if err != nil {
		t.Fatal(err)
	}
	file := tmp + "-inspector.json"
	if err := os.WriteFile(file, config, 0o600); err != nil {
		t.Fatal(err)
	}
	return func(args ...string) inspected {
		t.Helper()
		program := filepath.Join(c.modules, "@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js")
		said := file + ".out" // standard output has the standard errors of processes in it
		out, err := c.run(t, append([]string{
			program, "--cli", "--config", file, "--server", "page", "--protocol-era", era, "--output", said, "--connect-timeout", "60000",
		}, args...)...)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		data, err := os.ReadFile(said)
		if err != nil {
			t.Fatal(err)
		}
		var result inspected
		if err := json.Unmarshal(data, &result); err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		return result
	}
}

// testAgentNode runs the example's agents against the bakery, and one against the address of the
// recipes.
func (c *clients) testAgentNode(t *testing.T) {
	t.Helper()
	for name, want := range map[string][]string{
		"sdk":   {"add-to-cart", "The cart has 2 x Dark rye.", "check-out", "Ada"},
		"aisdk": {"list-products", "add-to-cart", "The cart has 2 x Dark rye."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.row(t)
			out, err := c.run(t, filepath.Join(c.dir, "agent-"+name+".mjs"), c.server.URL+"/mcp/today?session=agent-"+name, "--yes")
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			for _, words := range want {
				if !strings.Contains(out, words) {
					t.Errorf("it does not say %q:\n%s", words, out)
				}
			}
		})
	}
	t.Run("url", func(t *testing.T) {
		t.Parallel()
		c.testAgentURL(t)
	})
}

// testAgentURL pastes an address, and calls with a person's yes, with nobody to ask, and wrongly.
func (c *clients) testAgentURL(t *testing.T) {
	t.Helper()
	c.row(t)
	url := suite.RecipesServer(t)
	for _, call := range []struct {
		args  []string
		words string
		ok    bool
	}{
		{nil, "tools: delete-recipe, get-recipe, plan-week, save-recipe, search-recipes\n", true},
		{[]string{"search-recipes", `{"query":"eggs","cuisine":"french"}`}, `search-recipes: {"recipes":[{"id":"omelette",`, true},
		{[]string{"plan-week", `{"days":1}`, "--yes"}, `"creditsLeft":4}`, true},
		{[]string{"plan-week", `{"days":1}`}, "plan-week: \"plan-week\" was refused: a person said no.", false},
		{[]string{"plan-week", `{"days":8}`, "--yes"}, "plan-week: ", false},
		{[]string{"nothing"}, "the page offers no nothing", false},
	} {
		out, err := c.run(t, append([]string{filepath.Join(c.dir, "agent-url.mjs"), url}, call.args...)...)
		if (err == nil) != call.ok || !strings.Contains(out, call.words) {
			t.Errorf("%s: %v\n%s", call.args, err, out)
		}
	}
}

// TestClientPackages checks the committed files of the clients: the lock names no registry, the
// example takes the versions that are tested, and each failure that is expected has its reason.
func TestClientPackages(t *testing.T) {
	t.Parallel()
	lock, err := os.ReadFile("../clients/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	if hosts := foreignHosts(string(lock)); len(hosts) > 0 {
		t.Errorf("the lock names %s", hosts)
	}
	if len(foreignHosts(`"resolved": "http://registry.internal:4873/x/-/x-1.0.0.tgz"`)) != 1 {
		t.Error("a registry of one machine is not found")
	}
	tested, used := pinned(t, "../clients/package.json"), pinned(t, "../../../examples/agent-node/package.json")
	if len(tested) == 0 || len(used) == 0 {
		t.Error("there are no dependencies")
	}
	exact := regexp.MustCompile(`^\d+\.\d+\.\d+(-[a-z0-9.]+)?$`)
	for name, version := range tested {
		if !exact.MatchString(version) {
			t.Errorf("%s is not pinned: %s", name, version)
		}
	}
	for name, version := range used {
		if tested[name] != version {
			t.Errorf("the example has %s %s, and %q is tested", name, version, tested[name])
		}
	}
	for _, revision := range revisions {
		file := "../clients/conformance-" + revision + ".yml"
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bare := unexplained(string(data)); len(bare) > 0 || len(entries(string(data))) == 0 {
			t.Errorf("%s does not say why of %s", file, bare)
		}
	}
	if bare := unexplained("server:\n  - a # because\n  - b\n"); !slices.Equal(bare, []string{"b"}) {
		t.Errorf("an entry without a reason is not found: %s", bare)
	}
}

var registryHost = regexp.MustCompile(`"resolved": "([a-z+]+://[^/"]+)`)

// foreignHosts lists the registries of a lock that are not npm's own.
func foreignHosts(lock string) (hosts []string) {
	for _, match := range registryHost.FindAllStringSubmatch(lock, -1) {
		if match[1] != "https://registry.npmjs.org" && !slices.Contains(hosts, match[1]) {
			hosts = append(hosts, match[1])
		}
	}
	return hosts
}

// pinned reads the dependencies of a package.
func pinned(t *testing.T, file string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var p struct{ Dependencies map[string]string }
	if err := json.Unmarshal(data, &p); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return p.Dependencies
}

var entryLine = regexp.MustCompile(`(?m)^ +- (\S+)(?: +# (\S.*))?$`)

// entries lists what a baseline expects to fail.
func entries(baseline string) (names []string) {
	for _, entry := range entryLine.FindAllStringSubmatch(baseline, -1) {
		names = append(names, entry[1])
	}
	return names
}

// unexplained lists the entries of expected failures without a reason in their line.
func unexplained(baseline string) (names []string) {
	for _, entry := range entryLine.FindAllStringSubmatch(baseline, -1) {
		if entry[2] == "" {
			names = append(names, entry[1])
		}
	}
	return names
}

// TestClientReports tests the readers of the reports of clients.
func TestClientReports(t *testing.T) {
	t.Parallel()
	good := "TAP version 14\nok 1 - a\nok 2 - b # SKIP no\nnoise\nnot ok 3 - c\n  # why\n1..3\n"
	if sum, err := readTAP(good); err != nil || sum != (tally{1, 1, 1}) {
		t.Errorf("%+v (%v)", sum, err)
	}
	for name, report := range map[string]string{
		"nothing": "", "no plan": "ok 1 - a\n", "fewer than planned": "ok 1 - a\n1..2\n", "an empty plan": "1..0\n", "a bad plan": "ok 1 - a\n1..x\n",
	} {
		if _, err := readTAP(report); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	list := "Required:\n\nServer scenarios (x):\n  - one\n  - two\n\nClient scenarios (x):\n  - three\n\nRun and reported:\n  extension (2):\n    - four [server]\n    - tasks-four [server]\n  pending (2):\n    - five [server]\n    - six [client]\n"
	if got := scenarios(list); !slices.Equal(got, []string{"one", "two", "tasks-four", "five"}) {
		t.Errorf("the scenarios are %s", got)
	}
	for version, want := range map[string]bool{"v22.19.0\n": true, "v22.18.9": false, "v23.0.0": true, "v20.20.2": false, "22.19.0": false, "": false} {
		if nodeIsNew(version) != want {
			t.Errorf("%q is new enough: %v", version, !want)
		}
	}
	if networkFailure.MatchString("npm error code EINTEGRITY") || !networkFailure.MatchString("npm error code ENOTFOUND") {
		t.Error("a network that is missing and a lock that is broken are not told apart")
	}
}

// testViewer looks at a trace of ours in Playwright's own viewer, as it is on npm.
func (c *clients) testViewer(t *testing.T) {
	t.Helper()
	dir := suite.TempDir(t)
	suite.PagetoolsRun(t, 0, "test", filepath.Join(docs.Root(t), "examples", "scenario", "stamps.webtool.yaml"), "--run", "needs a person/mcp$",
		"--trace", "on", "--trace-dir", dir)
	traces, err := filepath.Glob(filepath.Join(dir, "*", "trace.zip"))
	if err != nil || len(traces) != 1 {
		t.Fatalf("the traces are %v, %v", traces, err)
	}
	files := http.NewServeMux()
	files.Handle("/", http.FileServer(http.Dir(filepath.Join(c.modules, "playwright-core", "lib", "vite", "traceViewer"))))
	files.HandleFunc("/trace.zip", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, traces[0]) })
	call := operatorsTrace(t)
	files.HandleFunc("/call.zip", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(call) })
	viewer := httptest.NewServer(files)
	defer viewer.Close()
	c.runTAP(t, "viewer", map[string]any{
		"browser": os.Getenv("PAGETOOLS_EXECUTABLE_PATH"), "sandbox": os.Getenv("PAGETOOLS_NO_SANDBOX") == "",
		"viewer": viewer.URL + "/", "trace": viewer.URL + "/trace.zip", "call": viewer.URL + "/call.zip",
	})
}

// operatorsTrace returns the trace of a call whose page was recorded, as the operators' page saves it.
func operatorsTrace(t *testing.T) []byte {
	t.Helper()
	s := suite.Serve(t, "today="+filepath.Join(docs.Root(t), "examples", "today"), "--approval", "auto", "--console-listen", "127.0.0.1:0", "--warm", "0")
	at := s.Ready.Console
	api := func(method, path, body string) []byte {
		t.Helper()
		r := s.As(t, at.Token, method, at.URL+path, body)
		if r.Status != http.StatusOK && r.Status != http.StatusAccepted {
			t.Fatalf("%s: %d %s", path, r.Status, r.Body)
		}
		return r.Body
	}
	for end := time.Now().Add(suite.ReplyWithin); !bytes.Contains(api(http.MethodGet, "/api/sites/today/tools", ""), []byte("list-products")); {
		if time.Now().After(end) {
			t.Fatal("the page has no tools")
		}
	}
	var made struct{ Call, Stage string }
	body := api(http.MethodPost, "/api/calls", `{"site":"today","tool":"list-products","input":{},"key":"k","record":true}`)
	for made.Stage != "ended" {
		if err := json.Unmarshal(body, &made); err != nil {
			t.Fatal(err)
		}
		body = api(http.MethodGet, "/api/calls/"+made.Call, "")
	}
	return api(http.MethodGet, "/api/calls/"+made.Call+"/trace", "")
}

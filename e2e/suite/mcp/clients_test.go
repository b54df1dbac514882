package mcp_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/pagetools/pagetools/e2e/suite"
	"github.com/pagetools/pagetools/e2e/suite/docs"
)

// clientsForm says which clients of MCP TestClients runs: "make clients" and "make
// clients-short" set it. They need packages of npm, so a plain go test leaves them.
var clientsForm = flag.String("clients", "", "run the clients of MCP: short, or all")

// clientWithin bounds one client, and one scenario of the suite. Only a defect reaches it.
const clientWithin = 4 * time.Minute

// clients holds what all clients of a run share.
type clients struct {
	short         bool
	node, modules string
	dir           string // of the scripts, beside node_modules
	bin           string // pagetools
	site          *clientSite
	server        *suite.Server

	mu   sync.Mutex
	rows []*clientRow
}

// clientRow is one line of the summary.
type clientRow struct {
	name, result string
	took         time.Duration
	ok           bool
}

// script is one run of a script of e2e/suite/clients. The era is legacy, that of the
// revisions up to 2025-11-25; modern, that of 2026-07-28; or auto, what the client
// finds by itself.
type script struct {
	file, era, transport string
	short                bool
}

// scripts lists the clients, each with its protocol versions and transports.
var scripts = []script{
	{file: "sdk1", era: "legacy", transport: "http"},
	{file: "sdk1", era: "legacy", transport: "stdio", short: true},
	{file: "sdk2", era: "legacy", transport: "http"},
	{file: "sdk2", era: "legacy", transport: "stdio"},
	{file: "sdk2", era: "modern", transport: "http", short: true},
	{file: "sdk2", era: "modern", transport: "stdio"},
	{file: "sdk2", era: "auto", transport: "http"},
	{file: "sdk2", era: "auto", transport: "stdio"},
	{file: "aisdk", era: "legacy", transport: "http"},
	{file: "aisdk", era: "legacy", transport: "stdio"},
	{file: "aisdk", era: "modern", transport: "http", short: true},
	{file: "aisdk", era: "modern", transport: "stdio"},
	{file: "openai", era: "legacy", transport: "http"},
	{file: "openai", era: "legacy", transport: "stdio"},
	{file: "langchain", era: "legacy", transport: "http", short: true},
	{file: "langchain", era: "legacy", transport: "stdio"},
	{file: "tasks", era: "modern", transport: "http", short: true},
}

func (s script) name() string { return s.file + "-" + s.era + "-" + s.transport }

// TestClients runs MCP's conformance suite, its Inspector, and the clients that people use, against
// pages, and holds documents of OpenAPI and reports of tests to the schemas of others.
// docs/decisions/2026-11-22-checks-with-npm.md.
func TestClients(t *testing.T) {
	if *clientsForm == "" {
		t.Skip("make clients runs this")
	}
	if *clientsForm != "short" && *clientsForm != "all" {
		t.Fatalf("-clients is short or all, not %q", *clientsForm)
	}
	c := newClients(t, *clientsForm == "short")
	t.Cleanup(func() { t.Log("\n" + c.summary()) }) // after the last of the tests below
	for _, s := range scripts {
		if c.short && !s.short {
			continue
		}
		t.Run(s.name(), func(t *testing.T) {
			t.Parallel()
			c.runScript(t, s)
		})
	}
	t.Run("inspector", func(t *testing.T) { c.testInspector(t) })
	t.Run("logins", func(t *testing.T) { c.testLogins(t) })
	t.Run("sign-in", func(t *testing.T) { c.testSignIn(t) })
	t.Run("people", func(t *testing.T) { c.testPeople(t) })
	t.Run("conformance", func(t *testing.T) { c.testConformance(t) })
	t.Run("snippets", func(t *testing.T) { c.testSnippets(t) })
	t.Run("agent-node", func(t *testing.T) { c.testAgentNode(t) })
	t.Run("adapter", func(t *testing.T) { c.testAdapter(t) })
	t.Run("openapi", func(t *testing.T) { c.testOpenAPI(t) })
	t.Run("apps", func(t *testing.T) { c.testApps(t) })
	if c.short {
		return
	}
	t.Run("reports", func(t *testing.T) { c.testReports(t) })
	t.Run("viewer", func(t *testing.T) { c.testViewer(t) })
}

// newClients installs the packages, and starts the site and the server.
func newClients(t *testing.T, short bool) *clients {
	t.Helper()
	modules, err := npmPackages(t.Context(), "clients")
	var node string
	if err == nil {
		node, err = clientNode(modules)
	}
	if short && errors.Is(err, errNoPackages) {
		t.Skipf("NOT CHECKED: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	c := &clients{short: short, node: node, modules: modules, dir: suite.TempDir(t), bin: suite.Pagetools(t), site: newClientSite()}
	t.Cleanup(func() { c.site.CloseClientConnections(); c.site.Close() })
	files, err := filepath.Glob("../clients/*.mjs")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no scripts: %v", err)
	}
	agents, err := filepath.Glob("../../../examples/agent-node/*.mjs")
	if err != nil {
		t.Fatal(err)
	}
	if err := copyFiles(c.dir, append(files, agents...)...); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(modules, filepath.Join(c.dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	// A browser of its own: one elsewhere saves no files.
	c.server = suite.Serve(t, "--browser-url", "", "--approval", "auto", "--mcp-schemas", "faithful", "--warm", "1", "--max-sessions", "64",
		"clients="+c.site.URL+"/clients/", "bad="+c.site.URL+"/badtools/", "conformance="+c.site.URL+"/conformance/",
		"today="+filepath.Join(docs.Root(t), "examples", "today"))
	return c
}

// endpoint says how a client reaches a site: an address, or a process of its own.
type endpoint struct {
	URL     string            `json:"url,omitempty"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
}

// at returns the endpoint of a site. session names the state of the caller; tmp is the TMPDIR of a
// process.
func (c *clients) at(site, session, transport, tmp string) endpoint {
	if transport == "http" {
		return endpoint{URL: c.server.URL + "/mcp/" + site + "?session=" + session}
	}
	page := map[string]string{"clients": "/clients/", "bad": "/badtools/"}[site]
	env := map[string]string{}
	for _, setting := range os.Environ() {
		name, value, _ := strings.Cut(setting, "=")
		env[name] = value
	}
	env["TMPDIR"], env["PAGETOOLS_DATA_DIR"], env["PAGETOOLS_BROWSER_URL"] = tmp, tmp+"-data", ""
	return endpoint{Command: c.bin, Args: []string{"mcp", site + "=" + c.site.URL + page, "--approval", "auto"}, Env: env}
}

// runScript runs one client.
func (c *clients) runScript(t *testing.T, s script) {
	t.Helper()
	tmp := suite.TempDir(t)
	c.runTAP(t, s.file, map[string]any{
		"era": s.era, "transport": s.transport, "site": c.site.URL,
		"server":  c.at("clients", s.name(), s.transport, tmp),
		"unasked": c.at("clients", s.name()+"-unasked", s.transport, tmp),
		"bad":     c.at("bad", s.name(), s.transport, tmp),
	})
	if entries, err := os.ReadDir(tmp); err != nil || len(entries) > 0 {
		t.Errorf("a process left %v in its temporary folder (%v)", entries, err)
	}
}

// runTAP runs a script of the clients, and fails when one of its tests does.
func (c *clients) runTAP(t *testing.T, file string, options map[string]any) {
	t.Helper()
	text, err := json.Marshal(options)
	if err != nil {
		t.Fatal(err)
	}
	row := c.row(t)
	out, err := c.run(t, filepath.Join(c.dir, file+".mjs"), string(text))
	sum, incomplete := readTAP(out)
	row.result = fmt.Sprintf("%d passed, %d failed, %d not possible", sum.passed, sum.failed, sum.skipped)
	if err := errors.Join(err, incomplete); err != nil || sum.failed > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}

// run runs Node, and returns what it printed.
func (c *clients) run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), clientWithin)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.node, args...)
	cmd.Dir, cmd.WaitDelay = c.dir, 10*time.Second                      // what it started ends with its standard input
	cmd.Env = append(os.Environ(), "MCP_INSPECTOR_SECRET_STORE=memory", // it would look for a keychain
		"PATH="+filepath.Dir(c.bin)+string(os.PathListSeparator)+os.Getenv("PATH"), "PAGETOOLS_DATA_DIR="+suite.TempDir(t)+"-data", "PAGETOOLS_OPENTOOLS=off")
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		err = fmt.Errorf("not within %v: %w", clientWithin, err)
	}
	return string(out), err
}

// row makes the line of a test in the summary. Its result may be said later.
func (c *clients) row(t *testing.T) *clientRow {
	t.Helper()
	r := &clientRow{name: strings.TrimPrefix(t.Name(), "TestClients/")}
	began := time.Now()
	t.Cleanup(func() {
		r.took, r.ok = time.Since(began), !t.Failed()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.rows = append(c.rows, r)
	})
	return r
}

func (c *clients) summary() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	slices.SortFunc(c.rows, func(a, b *clientRow) int { return cmp.Compare(a.name, b.name) })
	var out bytes.Buffer
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	for _, r := range c.rows {
		verdict := "ok"
		if !r.ok {
			verdict = "FAILED"
		}
		fmt.Fprintf(w, "%s\t%s\t%.1f s\t%s\n", r.name, verdict, r.took.Seconds(), r.result)
	}
	_ = w.Flush() // to memory
	return out.String()
}

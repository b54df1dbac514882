package mcp_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/e2e/suite"
)

// framework is a shop of e2e/suite/frameworks: a page that one framework or library makes, with
// three tools. stock and show_orders are the page's own, and order is a form.
type framework struct {
	name, source string
	development  bool     // its development build; else the one for production, minified
	short        bool     // make clients-short runs it
	validates    bool     // its library stops an order whose item has one letter
	results      bool     // its library makes results of MCP of what tools return
	found        []string // by check
	posts        string   // where orders go, unless to /api/order
	ordered      string   // what an order returns, unless ordered
	second       []string // the tools of the second view, unless last_order

	// known holds what differs today from what is right, by engine and step, with the reason
	// beside.
	known map[string]string
}

// ordered describes the result of an order by a page that makes a request and shows the outcome.
const ordered = `ok: POST /api/order 201 statuses=[Order 4711: 2 packets of tea]`

// ofPages lists the tools of a second view that the server makes.
var ofPages = []string{"find_order", "show_orders", "stock"}

// untitled lists findings where a library does not pass on a tool's title.
var untitled = []string{"tool-title-missing show_orders", "tool-title-missing stock"}

var frameworks = []framework{
	{name: "react", source: "react.jsx", development: true, short: true},
	{name: "vue", source: "vue.js"},
	{name: "svelte", source: "svelte.js"},
	{name: "angular", source: "angular.ts", validates: true},
	{name: "lit", source: "lit.js", short: true},
	{name: "litshadow", source: "lit.js", known: map[string]string{
		// docs/decisions/2026-11-22-forms-and-toolcall-events.md: only the browser sees these
		// forms.
		"shim: the first list":       "[show_orders stock]",
		"shim: an order of sold-out": "WEBTOOL_NOT_FOUND not_run",
		"shim: an order of broken":   "WEBTOOL_NOT_FOUND not_run",
		"shim: an order of slow":     "WEBTOOL_NOT_FOUND not_run",
		"shim: an order of tea":      "WEBTOOL_NOT_FOUND not_run",
	}},
	{name: "htmx", source: "htmx.js", short: true, posts: "/order", second: ofPages,
		ordered: "ok: POST /order 201 statuses=[Order 4711: 2 packets of tea]"},
	{name: "turbo", source: "turbo.js", posts: "/order", second: ofPages,
		ordered: `ok: [{"@context":"https://schema.org","@type":"Order","orderNumber":"4711"}]`},
	{name: "turboframe", source: "turbo.js", posts: "/order", second: ofPages,
		ordered: "ok: POST /order 303 GET /ordered 200 statuses=[Order 4711: 2 packets of tea]"},
	{name: "hookform", source: "hookform.jsx", short: true, validates: true},
	{name: "formik", source: "formik.jsx", validates: true},
	{name: "tanstack", source: "tanstack.jsx", validates: true},
	{name: "finalform", source: "finalform.jsx", validates: true},
	{name: "veevalidate", source: "veevalidate.js", validates: true},
	{name: "polyfill", source: "polyfill.jsx"},
	{name: "global", source: "global.jsx", short: true, found: []string{"page-server"}}, // its tools are mirrored besides
	{name: "usewebmcp", source: "usewebmcp.jsx", results: true, found: untitled},
	{name: "reactwebmcp", source: "reactwebmcp.jsx", development: true, results: true, found: slices.Concat([]string{"page-server"}, untitled)}, // as global's
}

// wholeBrowser names the browser that tests leave for the headless shell, where there is one.
var wholeBrowser = os.Getenv("PAGETOOLS_EXECUTABLE_PATH")

// TestFrameworks opens shops that are made with the frameworks and libraries of others, calls their
// tools on every face, with both engines, and at night in both browsers, and checks them.
func TestFrameworks(t *testing.T) {
	if *clientsForm == "" {
		t.Skip("make clients runs this")
	}
	short := *clientsForm == "short"
	all := slices.DeleteFunc(slices.Clone(frameworks),
		func(f framework) bool { return short && !f.short })
	modules, err := npmPackages(t.Context(), "frameworks")
	if short && errors.Is(err, errNoPackages) {
		reason, _, _ := strings.Cut(err.Error(), "\n") // npm goes on for long
		for _, f := range all {
			t.Run(f.name, func(t *testing.T) { t.Skipf("NOT CHECKED: %s", reason) })
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Run("page-servers", func(t *testing.T) { testPageServer(t, modules) })
	sites := openShops(t, modules, all)
	browsers := map[string]string{"shell": gatetest.Browser(), "whole": wholeBrowser}
	for name, path := range browsers {
		if name == "whole" && (short || path == browsers["shell"]) {
			continue
		}
		for _, engine := range []string{"shim", "native"} {
			if short && engine == "native" {
				continue
			}
			t.Run(name+"/"+engine, func(t *testing.T) {
				options := []string{suite.OwnBrowser, "--executable-path", path, "--engine", engine}
				if engine == "shim" && name == "shell" {
					options = nil // the browser that tests share
				}
				args := slices.Concat(options,
					[]string{"--approval", "auto", "--max-sessions", "64", "--warm", "0"})
				for name, address := range sites {
					args = append(args, name+"="+address+"/")
				}
				server := suite.Serve(t, args...)
				t.Run("tools", func(t *testing.T) {
					for _, f := range all {
						t.Run(f.name, func(t *testing.T) {
							t.Parallel()
							f.check(t, sites[f.name], engine, options)
							for _, d := range f.doors(t, server) {
								f.visit(t, d, engine)
							}
						})
					}
				})
			})
		}
	}
}

// openShops bundles and serves the shops, and returns their addresses by name.
func openShops(t *testing.T, modules string, all []framework) map[string]string {
	t.Helper()
	node, err := exec.LookPath("node") // Svelte's compiler runs in any that npm runs in
	if err != nil {
		t.Fatal(err)
	}
	pages, err := template.ParseFiles(filepath.Join(frameworkSources, "pages.html"))
	if err != nil {
		t.Fatal(err)
	}
	sites := map[string]string{}
	for _, f := range all {
		files, err := f.build(node, modules)
		if err != nil {
			t.Fatalf("%s: %v", f.name, err)
		}
		sites[f.name] = f.open(t, files, pages)
	}
	return sites
}

// check runs pagetools check on a shop.
func (f framework) check(t *testing.T, address, engine string, options []string) {
	t.Helper()
	// When tools come depends on how busy the machine is.
	args := append([]string{"check", address + "/", "--data-dir", "off", "--reporter", "json",
		"--rule", "registers-late=off"}, options...)
	cmd := exec.Command(suite.Pagetools(t), args...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	var run struct {
		Findings []struct {
			Rule  string
			Where struct{ Tool string }
		}
	}
	if err := errors.Join(err, json.Unmarshal(out, &run)); err != nil {
		t.Errorf("check: %v\n%s%s", err, out, &said)
		return
	}
	found := []string{}
	for _, x := range run.Findings {
		found = append(found, strings.TrimSpace(x.Rule+" "+x.Where.Tool))
	}
	slices.Sort(found)
	f.compare(t, engine+": check", fmt.Sprint(found), fmt.Sprint(f.found))
}

// compare fails the test where a step does not go as it should, or, where that is known, not as it
// went.
func (f framework) compare(t *testing.T, step, got, want string) {
	t.Helper()
	if got != cmp.Or(f.known[step], want) {
		t.Errorf("%s:\n%s, want\n%s\nknown today: %q", step, got, want, f.known[step])
	}
}

// visit calls the tools of a shop on one face.
func (f framework) visit(t *testing.T, d door, engine string) {
	t.Helper()
	step := func(what, got, want string) {
		t.Helper()
		f.compare(t, engine+": "+what, got, want)
	}
	step("the first list", fmt.Sprint(d.list()), "[order show_orders stock]")
	step("stock", d.call("stock", `{"item":"tea"}`).says(f), `ok: {"item":"tea","left":3}`)
	order := func(item, want string) {
		t.Helper()
		step("an order of "+item, d.call("order", `{"item":"`+item+`","count":2}`).says(f), want)
	}
	posts := cmp.Or(f.posts, "/api/order")
	order("sold-out", "SITE_REFUSED failed: POST "+posts+" 422 alerts=[Sold out]")
	order("broken", "SITE_REFUSED unknown: POST "+posts+" 500 alerts=[Something went wrong]")
	if f.validates {
		order("x", "NOT_SUBMITTED failed: alerts=[An item has three letters or more.] invalid=[item]")
	}
	if *clientsForm != "short" && d.name == "webtools" {
		order("slow", "SITE_REFUSED unknown: POST "+posts+" 503 alerts=[Try again later]")
	}
	order("tea", cmp.Or(f.ordered, ordered))
	step("show_orders", d.call("show_orders", `{}`).says(f), `ok: "shown"`)
	second := "[last_order]"
	if f.second != nil {
		second = fmt.Sprint(f.second)
	}
	if d.own {
		step("the list right after", fmt.Sprint(d.list()), second)
	}
	if f.second == nil {
		step("last_order", d.call("last_order", `{}`).says(f), `ok: {"number":4711}`)
	}
}

// reply holds the result of a call, on whichever face.
type reply struct {
	data    json.RawMessage
	failure *suite.Failure
}

// says tells in one line what a caller learns: the data, or what the page did.
func (r reply) says(f framework) string {
	head, data := "ok:", r.data
	if r.failure != nil {
		head = cmp.Or(r.failure.Reason, r.failure.Code) + " " + r.failure.Outcome
		data, _ = json.Marshal(r.failure.Details) // from JSON
	}
	var made struct{ StructuredContent json.RawMessage }
	if err := json.Unmarshal(data, &made); f.results && err == nil && made.StructuredContent != nil {
		data = made.StructuredContent // which the faces of HTTP pass on with the rest of the result
	}
	var s struct{ Page *pageSaid }
	switch err := json.Unmarshal(data, &s); {
	case err == nil && s.Page != nil:
		return strings.TrimSuffix(head, ":") + ": " + s.Page.String()
	case r.failure != nil:
		return head
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, data); err != nil {
		return fmt.Sprintf("%v: %s", err, data)
	}
	return head + " " + compact.String()
}

// pageSaid holds the page's words in a result or a failure.
type pageSaid struct {
	Alerts, Statuses []string
	Invalid          []struct{ Field string }
	Requests         []struct {
		Method, Address string
		Status          int
	}
}

func (p *pageSaid) String() string {
	var parts []string
	for _, sent := range p.Requests {
		path := sent.Address
		if u, err := url.Parse(path); err == nil {
			path = u.Path
		}
		parts = append(parts, fmt.Sprint(sent.Method, " ", path, " ", sent.Status))
	}
	var invalid []string
	for _, i := range p.Invalid {
		invalid = append(invalid, i.Field)
	}
	for _, l := range []struct {
		name string
		all  []string
	}{{"alerts", p.Alerts}, {"statuses", p.Statuses}, {"invalid", invalid}} {
		if len(l.all) > 0 {
			parts = append(parts, fmt.Sprintf("%s=%v", l.name, l.all))
		}
	}
	return strings.Join(parts, " ")
}

// TestFrameworksAreListed compares the versions that docs/corpus.md names with those of the lock.
func TestFrameworksAreListed(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(frameworkSources, "package.json"))
	if err != nil {
		t.Fatal(err)
	}
	var p struct{ Dependencies map[string]string }
	page, readErr := os.ReadFile("../../../docs/corpus.md")
	if err := errors.Join(readErr, json.Unmarshal(text, &p)); err != nil {
		t.Fatal(err)
	}
	for name, version := range p.Dependencies {
		if !strings.Contains(string(page), "`"+name+"` "+version) {
			t.Errorf("docs/corpus.md does not name `%s` %s", name, version)
		}
	}
}

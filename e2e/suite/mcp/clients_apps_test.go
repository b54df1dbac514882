package mcp_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/pagetools/pagetools/e2e/suite"
)

// appsPage is a host's page, whose script a library of MCP Apps is in.
const appsPage = `<!doctype html><meta charset=utf-8><link rel=icon href="data:,"><body style="margin: 0"><script type=module src=%s.js></script>`

// appsHosts lists the hosts: of the SDK of MCP Apps, and of MCP-UI.
var appsHosts = []string{"appbridge", "mcpui"}

// appsConfig lets questions expire while a test looks.
const appsConfig = `
sites: [{name: site, target: %q}, {name: clients, target: %q}]
limits: {question: 25s}
`

// testApps has a person answer on the card, in hosts that libraries of others make.
func (c *clients) testApps(t *testing.T) {
	t.Helper()
	hosts := appsServer(t, c.modules)
	site, err := filepath.Abs(suite.CardSite)
	if err != nil {
		t.Fatal(err)
	}
	config := suite.WriteFile(t, "apps.yaml", fmt.Sprintf(appsConfig, site, c.site.URL+"/clients/"))
	for _, host := range appsHosts {
		for _, era := range []string{"legacy", "modern"} {
			if c.short && (host != "appbridge" || era == "legacy") {
				continue
			}
			t.Run(host+"-"+era, func(t *testing.T) {
				t.Parallel()
				server := suite.Serve(t, "--config", config, "--cors", hosts)
				query := url.Values{"server": {server.URL + "/mcp/site"}, "sandbox": {suite.CardSandbox(t)}, "era": {era}}
				c.runTAP(t, "apps", map[string]any{"host": host, "page": hosts + "/" + host + "?" + query.Encode(), "long": !c.short && host == "appbridge",
					"parts":   map[string]any{"server": server.URL + "/mcp/clients", "site": c.site.URL, "id": "apps-" + era},
					"browser": os.Getenv("PAGETOOLS_EXECUTABLE_PATH"), "sandbox": os.Getenv("PAGETOOLS_NO_SANDBOX") == ""})
			})
		}
	}
}

// appsServer serves the pages of the hosts, and returns its address.
func appsServer(t *testing.T, modules string) string {
	t.Helper()
	var entries []string
	for _, name := range appsHosts {
		entries = append(entries, "../clients/"+name+".js")
	}
	made := api.Build(api.BuildOptions{
		EntryPoints: entries, NodePaths: []string{modules}, Outdir: "/", Define: map[string]string{"process.env.NODE_ENV": `"production"`},
		Bundle: true, Format: api.FormatESModule, Platform: api.PlatformBrowser, LogLevel: api.LogLevelSilent,
	})
	if len(made.Errors) > 0 || len(made.OutputFiles) != len(entries) {
		t.Fatalf("the pages of the hosts: %v", api.FormatMessages(made.Errors, api.FormatMessagesOptions{}))
	}
	mux := http.NewServeMux()
	for _, name := range appsHosts {
		mux.HandleFunc("/"+name, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, _ = fmt.Fprintf(w, appsPage, name)
		})
	}
	for _, file := range made.OutputFiles {
		mux.HandleFunc(file.Path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/javascript")
			_, _ = w.Write(file.Contents)
		})
	}
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s.URL
}

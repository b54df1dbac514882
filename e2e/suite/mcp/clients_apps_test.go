package mcp_test

import (
	"encoding/json"
	"errors"
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

// appsPage is a host's page, whose script is the SDK of MCP Apps.
const appsPage = `<!doctype html><meta charset=utf-8><link rel=icon href="data:,"><body style="margin: 0"><script type=module src=app.js></script>`

// appsConfig lets questions expire while a test looks.
const appsConfig = `
sites: [{name: site, target: %q}]
limits: {question: 25s}
`

// testApps has a person answer on the card, in a host that the SDK of MCP Apps makes.
func (c *clients) testApps(t *testing.T) {
	t.Helper()
	made := api.Build(api.BuildOptions{
		EntryPoints: []string{"../clients/appbridge.js"}, NodePaths: []string{c.modules},
		Bundle: true, Format: api.FormatESModule, Platform: api.PlatformBrowser, LogLevel: api.LogLevelSilent,
	})
	if len(made.Errors) > 0 || len(made.OutputFiles) != 1 {
		t.Fatalf("the host's page: %v", api.FormatMessages(made.Errors, api.FormatMessagesOptions{}))
	}
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind, text := "text/html", []byte(appsPage)
		if r.URL.Path == "/app.js" {
			kind, text = "text/javascript", made.OutputFiles[0].Contents
		}
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write(text)
	}))
	defer host.Close()
	site, err := filepath.Abs(suite.CardSite)
	if err != nil {
		t.Fatal(err)
	}
	config := suite.WriteFile(t, "apps.yaml", fmt.Sprintf(appsConfig, site))
	server := suite.Serve(t, "--config", config, "--cors", host.URL)
	for _, era := range []string{"legacy", "modern"} {
		if c.short && era == "legacy" {
			continue
		}
		t.Run(era, func(t *testing.T) {
			row := c.row(t)
			query := url.Values{"server": {server.URL + "/mcp/site"}, "sandbox": {suite.CardSandbox(t)}, "era": {era}}
			options, err := json.Marshal(map[string]any{
				"browser": os.Getenv("PAGETOOLS_EXECUTABLE_PATH"), "sandbox": os.Getenv("PAGETOOLS_NO_SANDBOX") == "", "page": host.URL + "/?" + query.Encode(), "long": !c.short,
			})
			if err != nil {
				t.Fatal(err)
			}
			out, err := c.run(t, filepath.Join(c.dir, "apps.mjs"), string(options))
			sum, incomplete := readTAP(out)
			row.result = fmt.Sprintf("%d passed, %d failed", sum.passed, sum.failed)
			if err := errors.Join(err, incomplete); err != nil || sum.failed > 0 {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

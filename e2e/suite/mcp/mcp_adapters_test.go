package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/pagetools/pagetools/e2e/suite"
)

// strictShop is a shop without tools, whose policy lets no script run, and that says what it sells.
func strictShop(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; require-trusted-types-for 'script'")
		_, _ = fmt.Fprintf(w, "<!doctype html><title>shop %s</title><link rel=icon href=data:,><li>rye<li>wheat", r.URL.Path)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// communityScript is an adapter as people write scripts for pages: one function that looks at the
// address, and registers what fits it.
const communityScript = `// ==PagetoolsAdapter==
// @name        shop
// @version     1.2.0
// @match       http://127.0.0.1/*
// ==/PagetoolsAdapter==
(function () {
  const items = () => [...document.querySelectorAll('li')].map((li) => li.textContent);
  const add = (name, description, execute) => document.modelContext.registerTool({ name, description, execute, annotations: { readOnlyHint: true } });
  if (location.pathname === '/cart') {
    add('cart', 'Shows the cart.', () => document.title);
  } else {
    add('search', 'Lists what there is.', () => items().join(', '));
    add('open_cart', 'Opens the cart; then there is the tool cart.', () => { location.href = '/cart'; });
  }
  add('reload', 'Loads the page again.', () => { location.reload(); });
})();
`

// communityFile is the script in a file.
func communityFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "shop.js")
	if err := os.WriteFile(file, []byte(communityScript), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// testAdapter does the same over the TypeScript SDK.
func (c *clients) testAdapter(t *testing.T) {
	t.Helper()
	row := c.row(t)
	server := c.at("clients", "adapter", "stdio", suite.TempDir(t))
	server.Args = []string{"mcp", strictShop(t), "--adapter", communityFile(t), "--console-listen", "off"}
	options, err := json.Marshal(server)
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.run(t, filepath.Join(c.dir, "adapter.mjs"), string(options))
	sum, incomplete := readTAP(out)
	row.result = fmt.Sprintf("%d passed, %d failed", sum.passed, sum.failed)
	if err := errors.Join(err, incomplete); err != nil || sum.failed > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestAdapterOverMCP (anyone, step 2): a community's script makes tools of a shop with a strict
// policy: a session of MCP calls them, goes to another page, hears of its tools, calls those, and
// loads it again.
func TestAdapterOverMCP(t *testing.T) {
	t.Parallel()
	file, shop := communityFile(t), strictShop(t)
	for _, version := range suite.SomeVersions(2) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), suite.ReplyWithin)
			defer cancel()
			f := newFollower(version)
			if err := f.OverStdio(ctx, suite.Pagetools(t), suite.TempDir(t), shop, "--adapter", file, "--console-listen", "off"); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = f.Close() }()
			following, stop := context.WithCancel(ctx)
			defer stop()
			go f.follow(following)
			f.awaitList(t, "open_cart reload search")
			must := func(tool, want string) {
				t.Helper()
				var got string
				if err := f.Run(ctx, tool, nil, "", &got); err != nil || want != "" && got != want {
					t.Fatalf("%s: %q, %v", tool, got, err)
				}
			}
			must("search", "rye, wheat")
			must("open_cart", "")
			f.awaitList(t, "cart reload")
			must("cart", "shop /cart")
			must("reload", "")
			f.awaitCall(ctx, t, "cart", "shop /cart")
			list, err := f.Client.ListTools(ctx, mcp.ListToolsRequest{})
			if err != nil {
				t.Fatal(err)
			}
			for _, tool := range list.Tools {
				about, _ := tool.Meta.AdditionalFields["pagetools/tool"].(map[string]any)
				by, _ := about["adapter"].(map[string]any)
				if by["name"] != "shop" || by["version"] != "1.2.0" || len(fmt.Sprint(by["sha256"])) != 64 {
					t.Errorf("%s: _meta is %v", tool.Name, about)
				}
			}
		})
	}
}

// awaitList waits until the list has exactly these names.
func (f *follower) awaitList(t *testing.T, want string) {
	t.Helper()
	got := ""
	if !suite.Within(suite.ReplyWithin, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		got = f.list
		return strings.TrimSpace(got) == want
	}) {
		t.Fatalf("the list is %q, and not %q: %v", got, want, f.failed)
	}
}

// awaitCall waits until a call returns what is wanted.
func (f *follower) awaitCall(ctx context.Context, t *testing.T, tool, want string) {
	t.Helper()
	got, err := "", error(nil)
	if !suite.Within(suite.ReplyWithin, func() bool {
		got = ""
		err = f.Run(ctx, tool, nil, "", &got)
		return err == nil && got == want
	}) {
		t.Fatalf("%s: %q, %v", tool, got, err)
	}
}

// testPageServer calls the tools of an MCP server in a page, which the SDK and MCP-B's transport
// make, through the adapter of the binary, in both engines. Without it the page has a finding.
func testPageServer(t *testing.T, modules string) {
	t.Helper()
	files, err := framework{source: "pageserver.js"}.build("", modules)
	if err != nil {
		t.Fatal(err)
	}
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if script := files[strings.TrimPrefix(r.URL.Path, "/")]; script != nil {
			w.Header().Set("Content-Type", "text/javascript")
			_, _ = w.Write(script)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<!doctype html><title>shop</title><link rel=icon href=data:,><script type=module src=/app.js></script>")
	}))
	t.Cleanup(page.Close)
	for _, engine := range []string{"shim", "native"} {
		options := []string{suite.OwnBrowser, "--engine", engine}
		s := suite.Serve(t, append(options, "shop="+page.URL, "--adapter", "builtin:page-servers")...)
		call := func(tool, request string) string {
			return string(s.Ask("/webtools/shop", `{"action":"`+tool+`","sessionId":"s","request":`+request+`}`).Body)
		}
		for _, x := range []struct{ tool, request, want string }{
			{"stock", `{"item":"tea"}`, "3 packets"}, {"stock", `{"item":"gold"}`, "There is no gold."},
			{"stock", `{"item":5}`, "SCHEMA_ERROR"}, {"restock", `{}`, "done"},
		} {
			if got := call(x.tool, x.request); !strings.Contains(got, x.want) {
				t.Errorf("%s: %s %s gives %s", engine, x.tool, x.request, got)
			}
		}
		suite.Eventually(t, suite.ReplyWithin, engine+": a tool that the server adds later is called", func() bool {
			return strings.Contains(call("empty", `{}`), `"content":[]`)
		})
	}
	s := suite.Serve(t, "shop="+page.URL)
	if got := string(s.Ask("/readyz", "").Body); !strings.Contains(got, "page-server") {
		t.Errorf("without the adapter: %s", got)
	}
}

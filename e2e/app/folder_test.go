package app

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/policy"
)

// reader is a page with a tool that reads what its server has.
const reader = `<!doctype html><title>reader</title><script>
navigator.modelContext.registerTool({name: "read", description: "Reads a file.", annotations: {readOnlyHint: true},
	inputSchema: {type: "object", properties: {path: {type: "string"}}},
	execute: async ({path}) => { const r = await fetch(path); return r.status + " " + await r.text() + document.cookie; }});
</script>`

// TestFolderIsOurBrowsers: what a folder holds is read by the pages of our browser, and by
// nobody else on this machine; dot files are read by nobody (C2).
func TestFolderIsOurBrowsers(t *testing.T) {
	t.Parallel()
	target := folder(t)
	for name, text := range map[string]string{"index.html": reader, "data.json": "data", ".env": "secret",
		".git/config": "secret", "sub/.env": "secret", "sub/data.json": "data", "more/index.html": "more"} {
		path := filepath.Join(target.Folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	allowed := bridge.SiteOptions{Approval: policy.Operator{Mode: policy.ModeAuto}}
	a, err := Start(t.Context(), Options{Sites: []Site{{Target: target, Tools: allowed}}, Local: browser()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := a.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	}()
	for path, want := range map[string]string{"/data.json": `"200 data"`, "sub/data.json": `"200 data"`, "more/": `"200 more"`,
		"/.env": `"404 `, "/.git/config": `"404 `, "/.git/": `"404 `, "/sub/.env": `"404 `, "/sub/": `"404 `, "/%2eenv": `"404 `} {
		input, err := bridge.ReadValue("the arguments", []byte(`{"path": "`+path+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		res, err := a.Bridge.Do(t.Context(), &bridge.Call{Site: target.Name, Tool: "read", Caller: bridge.Local(), Input: input})
		if err != nil || !strings.HasPrefix(string(res), want) || strings.Contains(string(res), "secret") || strings.Contains(string(res), "pagetools-") {
			t.Errorf("our page reads %s as %s (%v), want %s", path, res, err, want)
		}
	}
	for _, cookie := range []string{"", target.pass.Name + "=wrong", target.pass.Name + "="} {
		if status := read(t, target.URL+"data.json", cookie); status != http.StatusForbidden {
			t.Errorf("with the cookie %q anybody reads the folder: %d", cookie, status)
		}
	}
	if status := read(t, target.URL+"data.json", target.pass.Name+"="+string(target.pass.Value)); status != http.StatusOK {
		t.Errorf("with the pass itself: %d", status)
	}
	page, err := a.Manager.CatalogPage(t.Context(), target.Name)
	if err != nil {
		t.Fatal(err)
	}
	text, err := page.StorageState(t.Context())
	if err != nil || strings.Contains(string(text), "pagetools-") {
		t.Errorf("the login of the page has the pass: %s (%v)", text, err)
	}
}

// read asks for a file as any program of this machine can.
func read(t *testing.T, address, cookie string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if cookie != "" {
		req.Header.Set("Cookie", cookie)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return res.StatusCode
}

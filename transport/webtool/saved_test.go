package webtool_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/transport"
)

// savedFile is an entry of details.files.
type savedFile struct {
	ID, Name, Type, SHA256, URL, State string
	Bytes                              *int64
}

// TestSavedFiles: a reply names the files of its call, and their caller alone gets them, as
// something to save that no browser shows as a page of ours.
func TestSavedFiles(t *testing.T) {
	t.Parallel()
	tokens := map[string]string{"agent": "agent-token-0123456789", "other": "other-token-0123456789"}
	var all []transport.Credential
	for name, token := range tokens {
		all = append(all, transport.Credential{Token: token, Caller: bridge.Caller{Name: name, May: []bridge.Right{bridge.MayCall}}})
	}
	w := newWorld(t, bridge.Options{}, all...)
	w.Handle("shop", bridgetest.Saving(bridge.File{Name: "report.csv", Data: []byte("a,b\n")}, bridge.File{Name: "évil \"x\".html", Data: []byte("<script>1</script>")},
		bridge.File{Name: "none.txt", Data: []byte{}}, bridge.File{Name: "big", State: bridge.FileTooLarge}, bridge.File{Name: "slow", State: bridge.FileUnfinished},
		bridge.File{Name: "fifth", State: bridge.FileDenied}))
	as := func(name string) string { return "Authorization: Bearer " + tokens[name] }
	got := w.post(t, "/webtools/shop", `{"action":"add","request":{}}`, as("agent"))
	var said struct {
		Status, Data string
		Details      struct{ Files []savedFile }
	}
	if err := json.Unmarshal([]byte(got.body), &said); err != nil || said.Status != "ok" || said.Data != "saved" || len(said.Details.Files) != 6 {
		t.Fatalf("%v: %s", err, got.body)
	}
	for i, want := range []string{"text/csv", bridge.OctetStream, "text/plain"} {
		f := said.Details.Files[i]
		if f.Type != want || f.State != "" || f.Bytes == nil || len(f.SHA256) != 64 || f.URL != w.url+"/files/"+f.ID {
			t.Errorf("the file %d is %+v", i, f)
		}
	}
	for i, want := range []string{`{"name":"big","state":"too_large"}`, `{"name":"slow","state":"unfinished"}`, `{"name":"fifth","state":"denied"}`} {
		if !strings.Contains(got.body, want) {
			t.Errorf("the entry %d is not %s in %s", i+3, want, got.body)
		}
	}
	fetch := func(method, path string, header ...string) (*http.Response, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, w.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range header {
			key, value, _ := strings.Cut(h, ": ")
			req.Header.Set(key, value)
		}
		res, err := w.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		body, _ := io.ReadAll(res.Body)
		return res, string(body)
	}
	for i, want := range []struct{ kind, disposition, body string }{
		{"text/csv", `attachment; filename=report.csv`, "a,b\n"},
		{bridge.OctetStream, `attachment; filename*=utf-8''%C3%A9vil%20%22x%22.html`, "<script>1</script>"},
		{"text/plain", `attachment; filename=none.txt`, ""},
	} {
		path := "/files/" + said.Details.Files[i].ID
		res, body := fetch(http.MethodGet, path, as("agent"))
		h := res.Header
		if res.StatusCode != http.StatusOK || body != want.body || h.Get("Content-Type") != want.kind || h.Get("Content-Disposition") != want.disposition ||
			h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Content-Security-Policy") != "sandbox" || h.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %q %v", path, res.StatusCode, body, h)
		}
		if res, body := fetch(http.MethodHead, path+"/", as("agent")); res.StatusCode != http.StatusOK || body != "" {
			t.Errorf("HEAD %s: %d %q", path, res.StatusCode, body)
		}
		w.get(t, path, as("other")).wantError(t, 404, bridge.WebtoolNotFound, "", bridge.NotRun)
		w.get(t, path).wantError(t, 401, bridge.Unauthorized, "", bridge.NotRun)
	}
	for _, id := range []string{"x", strings.Repeat("A", 26), said.Details.Files[0].ID + "A", strings.ToLower(said.Details.Files[0].ID), "..%2f" + said.Details.Files[0].ID, "report.csv"} {
		w.get(t, "/files/"+id, as("agent")).wantError(t, 404, bridge.WebtoolNotFound, "", bridge.NotRun)
	}
	w.get(t, "/files", as("agent")).wantError(t, 404, bridge.WebtoolNotFound, "", bridge.NotRun)
	w.post(t, "/files/"+said.Details.Files[0].ID, `{}`, as("agent")).wantError(t, 405, bridge.MethodNotAllowed, "", bridge.NotRun)

	older := w.post(t, "/webtools/shop", `{"action":"add","payload":{}}`, as("agent"))
	links := older.Header.Values("Link")
	if older.body != `"saved"` || len(links) != 3 || !strings.HasPrefix(links[1], "<"+w.url+"/files/") ||
		!strings.HasSuffix(links[1], `>; rel="enclosure"; type="application/octet-stream"; title*=UTF-8''%C3%A9vil%20%22x%22.html; length=18`) {
		t.Errorf("the older dialect: %s %q", older.body, links)
	}
}

// TestSavedFilesOfFailures: an error names the files of its call, too.
func TestSavedFilesOfFailures(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bridge.Options{})
	saving := bridgetest.Saving(bridge.File{Name: "a.txt", Data: []byte("x")})
	w.Handle("shop", func(ctx context.Context, inv bridge.Invocation) bridge.Step {
		s := saving(ctx, inv)
		return bridge.Step{Files: s.Files, Err: bridge.Errorf(bridge.ToolError, "", bridge.Failed, "No.")}
	})
	got := w.post(t, "/webtools/shop", `{"action":"add","request":{}}`).wantError(t, 422, bridge.ToolError, "", bridge.Failed)
	list, _ := got.Details["files"].([]any)
	if len(list) != 1 {
		t.Fatalf("details: %v", got.Details)
	}
	address, _ := list[0].(map[string]any)["url"].(string)
	res, err := w.client.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if body, _ := io.ReadAll(res.Body); string(body) != "x" {
		t.Errorf("%s gives %q", address, body)
	}
}

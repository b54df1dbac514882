package app

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session/cdp"
	"github.com/pagetools/pagetools/session/cdp/chrome"
)

// TestAPIAlone: a document needs no browser, and its server a certificate that is valid, unless the
// operator takes any, as of pages.
func TestAPIAlone(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/openapi.json" {
			_, _ = io.WriteString(w, `{"openapi":"3.1.0","info":{"title":"x","version":"1"},"paths":{"/greet":{"get":{"operationId":"greet","x-llm":{"approval":"auto"}}}}}`)
			return
		}
		_, _ = io.WriteString(w, `"hello"`)
	}))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.StartTLS()
	defer server.Close()
	for any, want := range map[bool]string{false: "INTERNAL_ERROR (CERTIFICATE)", true: ""} {
		target, err := ParseTarget("api=" + server.URL + "/openapi.json")
		if err != nil {
			t.Fatal(err)
		}
		nowhere := cdp.LocalOptions{Options: chrome.Options{Path: "/nowhere", AcceptInsecureCerts: any}}
		a, err := Start(t.Context(), Options{Sites: []Site{{Target: target, API: API{Mode: AutoAPI}}}, Local: nowhere})
		if err != nil {
			t.Fatal(err)
		}
		in, err := bridge.ReadValue("arguments", []byte(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		data, err := a.Bridge.Do(t.Context(), &bridge.Call{Site: "api", Tool: "greet", Caller: bridge.Local(), Input: in})
		if want == "" && (err != nil || string(data) != `"hello"` || a.Status("api") != "open") {
			t.Errorf("any certificate: %s, %v; the site is %s", data, err, a.Status("api"))
		}
		if want != "" && (err == nil || !strings.HasPrefix(err.Error(), want) || a.Status("api") == "open") {
			t.Errorf("a certificate that nobody vouches for: %s, %v", data, err)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestHasPage: what is opened in a browser, and what is asked for an API.
func TestHasPage(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		target    string
		mode      Mode
		page, api bool
	}{
		{"https://shop.example/", AutoAPI, true, true},
		{"https://shop.example/", OnlyAPI, false, true},
		{"https://shop.example/", NoAPI, true, false},
		{"https://shop.example/", "", true, false},
		{"https://shop.example/openapi.json", AutoAPI, false, true},
		{"https://shop.example/v3/api-docs", AutoAPI, false, true},
		{"https://shop.example/openapi.json", NoAPI, true, false},
		{"https://shop.example/data?file=openapi.json", AutoAPI, true, true},
		{folder(t).Folder, AutoAPI, true, false},
	} {
		target, err := ParseTarget(x.target)
		if err != nil {
			t.Fatal(err)
		}
		s := Site{Target: target, API: API{Mode: x.mode}}
		if s.HasPage() != x.page || s.hasAPI() != x.api {
			t.Errorf("%s %s: page %t, API %t", x.target, x.mode, s.HasPage(), s.hasAPI())
		}
	}
}

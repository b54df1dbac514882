package mcp_test

import (
	"encoding/pem"
	"fmt"
	"html"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/e2e/suite"
)

// testSignIn has the SDKs log in at pagetools' own authorization server (reach 11): they register
// themselves, or are known by a document, call, renew a token, and must log in again when they are
// revoked.
func (c *clients) testSignIn(t *testing.T) {
	t.Helper()
	document, env := clientDocument(t)
	for _, s := range []script{{file: "login1", era: "legacy", short: true}, {file: "login2", era: "legacy"}, {file: "login2", era: "modern", short: true}} {
		if c.short && !s.short {
			continue
		}
		t.Run(s.file+"-"+s.era, func(t *testing.T) {
			options := signInServer(t, 4, env...)
			options["era"], options["redirect"], options["document"], options["bin"] = s.era, loginRedirect, document, c.bin
			c.runTAP(t, s.file, options)
		})
	}
}

// clientDocument serves the document of a client that is known by one (CIMD), over https. It returns
// its address, and the environment in which pagetools can fetch it.
func clientDocument(t *testing.T) (document string, env []string) {
	t.Helper()
	host := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"client_id":%q,"client_name":"tests","redirect_uris":[%q]}`, "https://"+r.Host+r.URL.Path, loginRedirect)
	}))
	t.Cleanup(host.Close)
	authority := suite.WriteFile(t, "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: host.Certificate().Raw})))
	return host.URL + "/client.json", []string{"SSL_CERT_FILE=" + authority, "PAGETOOLS_ALLOW_PRIVATE=127.0.0.0/8"}
}

// signInServer serves a page behind pagetools' own authorization server, and returns what scripts
// need of it, with some codes of a person.
func signInServer(t *testing.T, codes int, env ...string) map[string]any {
	t.Helper()
	server, serve := proxied(t, "localhost", "{built-in: {people: [{name: me}]}}", env...)
	data := serve.Tmp + "-data"
	var all []string
	for range codes {
		all = append(all, paired(t, data))
	}
	return map[string]any{"server": server, "data": data, "codes": all}
}

// testPeople has a person in a browser let in what people start (reach 11): mcp-remote, and the
// Inspector. It also runs the scenarios of the conformance suite for authorization servers.
func (c *clients) testPeople(t *testing.T) {
	t.Helper()
	for _, s := range []script{
		{file: "remote", era: "legacy", short: true}, {file: "inspector", era: "legacy"}, {file: "inspector", era: "modern"}, {file: "authorization", era: "modern", short: true},
	} {
		if c.short && !s.short {
			continue
		}
		t.Run(s.file+"-"+s.era, func(t *testing.T) {
			t.Parallel()
			free, err := suite.ClosedPort() // where the client listens for its code
			if err != nil {
				t.Fatal(err)
			}
			options := signInServer(t, 2)
			maps.Copy(options, map[string]any{"era": s.era, "redirect": "http://" + free + "/callback", "bin": c.bin, "modules": c.modules, "dir": suite.TempDir(t), "versions": revisions,
				"browser": os.Getenv("PAGETOOLS_EXECUTABLE_PATH"), "sandbox": os.Getenv("PAGETOOLS_NO_SANDBOX") == ""})
			c.runTAP(t, s.file, options)
		})
	}
}

// paired returns a code of pagetools pair. Its terminal must not be the test's.
func paired(t *testing.T, data string) string {
	t.Helper()
	cmd := exec.Command(suite.Pagetools(t), "pair", "--print", "--data-dir", data)
	cmd.Env = os.Environ()
	withoutTerminal(cmd)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("pairing: %v", err)
	}
	return strings.TrimSpace(string(out))
}

// letsIn goes where a client sends its person, who lets it in, and returns what the client gets.
func letsIn(t *testing.T, address, code string) url.Values {
	t.Helper()
	page, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(page.Body)
	_ = page.Body.Close()
	token := regexp.MustCompile(`name="token" value="([^"]+)"`).FindSubmatch(text)
	if err != nil || token == nil {
		t.Fatalf("the page: %v, %s", err, text)
	}
	at := *page.Request.URL
	at.Path, at.RawQuery = "/oauth/consent", ""
	form := url.Values{"token": {html.UnescapeString(string(token[1]))}, "code": {code}, "do": {"allow"}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at.String(), strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for _, cookie := range page.Cookies() {
		req.AddCookie(cookie)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	to, err := res.Location()
	if err != nil || to.Query().Get("code") == "" {
		t.Fatalf("the answer: %d, %v", res.StatusCode, err)
	}
	return to.Query()
}

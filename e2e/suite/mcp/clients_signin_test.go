package mcp_test

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/e2e/suite"
)

// testSignIn has the SDKs log in at pagetools' own authorization server (reach 11): they register
// themselves, or are known by a document, call, renew a token, and must log in again when they are
// revoked.
func (c *clients) testSignIn(t *testing.T) {
	t.Helper()
	document := ""
	host := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"client_id":%q,"client_name":"tests","redirect_uris":[%q]}`, document, loginRedirect)
	}))
	t.Cleanup(host.Close)
	document = host.URL + "/client.json"
	authority := suite.WriteFile(t, "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: host.Certificate().Raw})))
	for _, s := range []script{{file: "login1", era: "legacy"}, {file: "login2", era: "legacy"}, {file: "login2", era: "modern"}} {
		t.Run(s.file+"-"+s.era, func(t *testing.T) {
			server, serve := proxied(t, "localhost", "{built-in: {people: [{name: me}]}}", "SSL_CERT_FILE="+authority, "PAGETOOLS_ALLOW_PRIVATE=127.0.0.0/8")
			data := serve.Tmp + "-data"
			var codes []string
			for range 2 {
				codes = append(codes, paired(t, data))
			}
			options, err := json.Marshal(map[string]any{"era": s.era, "server": server, "redirect": loginRedirect, "document": document, "codes": codes, "bin": c.bin, "data": data})
			if err != nil {
				t.Fatal(err)
			}
			row := c.row(t)
			out, err := c.run(t, filepath.Join(c.dir, s.file+".mjs"), string(options))
			sum, incomplete := readTAP(out)
			row.result = fmt.Sprintf("%d passed, %d failed, %d not possible", sum.passed, sum.failed, sum.skipped)
			if err := errors.Join(err, incomplete); err != nil || sum.failed > 0 {
				t.Errorf("%v\n%s", err, out)
			}
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

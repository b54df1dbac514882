package serve_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/pagetools/pagetools/e2e/suite"
	"github.com/pagetools/pagetools/session/cdp"
)

// pairs runs `pagetools pair` without a terminal, and returns what it prints.
func (r *reloading) pairs(code int, args ...string) (stdout, stderr string) {
	r.t.Helper()
	cmd := exec.Command(suite.Pagetools(r.t), append([]string{"pair"}, args...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.Env = append(os.Environ(), "PAGETOOLS_DATA_DIR="+cmp.Or(r.data, r.Tmp+"-data"), "TMPDIR="+r.Tmp)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	_ = cmd.Run() // the code says how it ended
	if got := cmd.ProcessState.ExitCode(); got != code {
		r.t.Fatalf("pair %q ended with %d, want %d: %s%s", args, got, code, &out, &errs)
	}
	return strings.TrimSpace(out.String()), errs.String()
}

// letIn has a person let a client in, with a code of pair, and returns its tokens. With nodes, each request
// goes to the next one.
func (r *reloading) letIn(person string, nodes ...*node) (access, refresh string) {
	r.t.Helper()
	n := 0
	next := func() string {
		if len(nodes) == 0 {
			return r.URL
		}
		n++
		return nodes[n%len(nodes)].URL
	}
	const redirect, verifier = "http://127.0.0.1/back", "0123456789012345678901234567890123456789012"
	jar, _ := cookiejar.New(nil) // it never fails
	browser := &http.Client{Jar: secureJar{jar}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	send := func(req *http.Request, err error) (*http.Response, string) {
		r.t.Helper()
		if err != nil {
			r.t.Fatal(err)
		}
		res, err := browser.Do(req.WithContext(r.t.Context()))
		if err != nil {
			r.t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			r.t.Fatal(err)
		}
		return res, string(body)
	}
	form := func(path string, v url.Values) (*http.Response, string) {
		r.t.Helper()
		req, err := http.NewRequest(http.MethodPost, next()+path, strings.NewReader(v.Encode()))
		if err == nil {
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		return send(req, err)
	}
	var client struct {
		ID string `json:"client_id"`
	}
	req, err := http.NewRequest(http.MethodPost, next()+"/oauth/register", strings.NewReader(`{"client_name":"Tests","redirect_uris":["`+redirect+`"]}`))
	if err == nil {
		req.Header.Set("Content-Type", "application/json")
	}
	_, body := send(req, err)
	if err := json.Unmarshal([]byte(body), &client); err != nil || client.ID == "" {
		r.t.Fatalf("registering: %s", body)
	}
	sum := sha256.Sum256([]byte(verifier))
	_, page := send(http.NewRequest(http.MethodGet, next()+"/oauth/authorize?"+url.Values{"response_type": {"code"}, "client_id": {client.ID}, "redirect_uri": {redirect},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"}}.Encode(), http.NoBody))
	token := regexp.MustCompile(`name="token" value="([^"]+)"`).FindStringSubmatch(page)
	if token == nil || !strings.Contains(page, "<code>pagetools pair</code>") {
		r.t.Fatalf("the page: %s", page)
	}
	code, _ := r.pairs(0, person, "--print")
	res, body := form("/oauth/consent", url.Values{"token": {html.UnescapeString(token[1])}, "do": {"allow"}, "code": {code}})
	to, err := url.Parse(res.Header.Get("Location"))
	if err != nil || to.Query().Get("code") == "" || to.Query().Get("iss") != suite.PublicURL {
		r.t.Fatalf("the answer: %d %s %v", res.StatusCode, body, res.Header)
	}
	_, body = form("/oauth/token", url.Values{"grant_type": {"authorization_code"}, "code": {to.Query().Get("code")}, "client_id": {client.ID}, "code_verifier": {verifier}})
	var got struct {
		Access  string `json:"access_token"`
		Refresh string `json:"refresh_token"`
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil || got.Access == "" {
		r.t.Fatalf("the tokens: %s", body)
	}
	return got.Access, got.Refresh
}

// secureJar sends cookies for TLS over loopback, as browsers do.
type secureJar struct{ http.CookieJar }

func (j secureJar) SetCookies(u *url.URL, all []*http.Cookie) { j.CookieJar.SetCookies(asTLS(u), all) }

func (j secureJar) Cookies(u *url.URL) []*http.Cookie { return j.CookieJar.Cookies(asTLS(u)) }

func asTLS(u *url.URL) *url.URL {
	secure := *u
	secure.Scheme = "https"
	return &secure
}

// TestSignIn (reach 4; rules 1 and 7): people let clients in with codes of `pagetools pair`, which
// call with the rights of theirs, also after a restart. What is revoked ends at once: the stream,
// the call that waits, the token. No token, no code is anywhere but in the hands of the client.
func TestSignIn(t *testing.T) {
	t.Parallel()
	site := newWatched(t)
	r := &reloading{t: t, config: filepath.Join(t.TempDir(), "x.yaml"), sites: fmt.Sprintf("sites:\n  - {name: site, target: %q}\n", site.URL+"/")}
	file := func(people string) string {
		return fmt.Sprintf("public-url: %s\noauth: {built-in: {people: [%s]}}\n", suite.PublicURL, people)
	}
	const ann, bob = "{name: ann}", "{name: bob, may: [elicit], sites: [site]}"
	r.write(file(ann + "," + bob))
	tmp := suite.TempDir(t)
	start := func() {
		t.Helper()
		var err error
		if r.Server, err = suite.Start("/usr/bin/env", "", tmp, suite.Pagetools(t), "serve", "--config", r.config, "--verbose", "--warm", "0", "--console-listen", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
		r.said = len(r.Stderr.String())
	}
	start()
	if _, said := r.pairs(2, "--print"); !strings.Contains(said, "Name one of those who may let clients in: ann, bob") {
		t.Errorf("without a name: %s", said)
	}
	if _, said := r.pairs(3, "ann"); !strings.Contains(said, "--print") {
		t.Errorf("without a terminal: %s", said)
	}
	calls := func(token string) suite.Reply {
		return r.As(t, token, http.MethodPost, r.URL+"/webtools/site", `{"action":"look","request":{}}`)
	}
	for _, open := range []string{"/", "/llms.txt", "/healthz"} { // as without logging in
		if got := r.As(t, "", http.MethodGet, r.URL+open, ""); got.Status != http.StatusOK {
			t.Errorf("%s is %d", open, got.Status)
		}
	}
	access, refresh := r.letIn("ann")
	if got := calls(access).OK(t); got != "looked" {
		t.Errorf("a call: %v", got)
	}
	mute, _ := r.letIn("bob")
	if got := calls(mute); got.Status != http.StatusForbidden {
		t.Errorf("a call of somebody who may not: %d %s", got.Status, got.Body)
	}
	if got := calls(access + "x"); got.Status != http.StatusUnauthorized {
		t.Errorf("a wrong token: %d %s", got.Status, got.Body)
	}
	agent := suite.MCPAgent{Version: "2026-07-28"}
	if err := agent.OverHTTP(t.Context(), r.URL+"/mcp/site", access); err != nil {
		t.Fatal(err)
	}
	if names, err := agent.Names(t.Context()); err != nil || names != "pagetools_search pagetools_describe pagetools_call" {
		t.Errorf("over MCP it sees %s, %v", names, err)
	}
	_ = agent.Close()

	// A restart, and then the end of the connection.
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
	said := r.Stderr.String() + r.Stdout.String()
	start()
	if got := calls(access).OK(t); got != "looked" {
		t.Errorf("a call after a restart: %v", got)
	}
	list, _ := r.pairs(0, "--list", "--json")
	var all struct {
		Connections []struct{ ID, Person, Client, Name, RedirectURI string }
	}
	if err := json.Unmarshal([]byte(list), &all); err != nil || len(all.Connections) != 2 || all.Connections[0].Person != "ann" || len(all.Connections[0].ID) != 8 {
		t.Fatalf("the list: %v, %s", err, list)
	}
	if lines, _ := r.pairs(0, "--list"); !regexp.MustCompile(`(?m)^[A-Z2-7]{8}  ann  127\.0\.0\.1 \("Tests"\)  since .*, last used .*$`).MatchString(lines) {
		t.Errorf("the list: %s", lines)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stream := r.listens(ctx, access)
	page := showInBrowser(t, operatorsBrowser(t), r.Ready.Console.URL+"/#"+r.Ready.Console.Token, ".inbox > p > code")
	const look = "[document.querySelector('.clients').innerText.replaceAll(/ since .*?, last used .*? (?=Revoke)/gs, ' '), document.activeElement.id].join()"
	first, second := all.Connections[0].ID, all.Connections[1].ID
	shows := func(want string) {
		t.Helper()
		suite.Eventually(t, suite.ReplyWithin, "the page shows "+want, func() bool {
			got, err := cdp.Evaluate(t.Context(), page.Tab, look)
			return err == nil && strings.HasPrefix(strings.ReplaceAll(got, "\n", ""), want)
		})
	}
	words := "127.0.0.1 calls itself Tests, for %s, Revoke %s"
	page.press(t, "g", "n")
	shows(fmt.Sprintf(words+words, "ann", first, "bob", second))
	if _, err := cdp.Evaluate(t.Context(), page.Tab, "(document.querySelector('.clients button').focus(), '')"); err != nil {
		t.Fatal(err)
	}
	page.press(t, "Enter")
	shows(fmt.Sprintf(words+",clients", "bob", second))
	if got := calls(access); got.Status != http.StatusUnauthorized || !strings.Contains(got.Header.Get("WWW-Authenticate"), `error="invalid_token"`) {
		t.Errorf("after it was revoked: %d %s", got.Status, got.Body)
	}
	<-stream
	r.pairs(2, "--revoke", "ZZZZZZZZ")
	if got := calls(mute); got.Status != http.StatusForbidden {
		t.Errorf("the other client: %d %s", got.Status, got.Body)
	}
	r.pairs(0, "--revoke", strings.ToLower(second[:4]))
	if got := calls(mute); got.Status != http.StatusUnauthorized {
		t.Errorf("the other client, after it was revoked: %d %s", got.Status, got.Body)
	}
	next, _ := r.letIn("ann")
	calls(next).OK(t)
	r.reload(file(bob), "1 who may let clients in")
	if got := calls(next); got.Status != http.StatusUnauthorized {
		t.Errorf("of a person who is gone: %d %s", got.Status, got.Body)
	}
	audit := suite.PagetoolsRun(t, 0, "audit", "list", "--data-dir", r.Tmp+"-data", "--format", "json")
	if !strings.Contains(audit, `"caller":"pagetools:ann"`) || !strings.Contains(audit, fmt.Sprintf(`"credentialId":%q`, all.Connections[0].ID)) {
		t.Errorf("the audit: %s", suite.Shorten([]byte(audit)))
	}
	if err := r.Stop(); err != nil {
		t.Error(err)
	}
	said += r.Stderr.String() + r.Stdout.String() + audit + site.seen.String()
	err := filepath.WalkDir(r.Tmp+"-data", func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			var text []byte
			text, err = os.ReadFile(path)
			said += string(text)
		}
		return err
	})
	if err != nil || !strings.Contains(said, "pagetools:ann") {
		t.Errorf("what is to be looked at is not there: %v", err)
	}
	for _, secret := range []string{access, refresh, mute, next} {
		if strings.Contains(said, secret[4:]) {
			t.Errorf("a token is in the output, the log, the data directory or at the site")
		}
	}
}

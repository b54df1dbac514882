package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/opentools"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/e2e/app"
)

// settings reads flags, as a command line has them.
func settings(t *testing.T, args ...string) *config.Config {
	t.Helper()
	set := pflag.NewFlagSet("test", pflag.ContinueOnError)
	flags := config.Register(set)
	if err := set.Parse(args); err != nil {
		t.Fatal(err)
	}
	c, err := flags.Load()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// site is the target of the runs that fail here.
var site = &target{Target: &app.Target{Text: "https://shop.example/?a=1&b"}}

// finished is the line that a failure prints for people.
func finished(c *config.Config, err error) string {
	var said bytes.Buffer
	p := &program{stdout: terminal.NewStream(&said), stderr: terminal.NewStream(&said), conf: c, log: slog.New(slog.DiscardHandler), target: site}
	p.finish(context.Background(), err)
	return strings.TrimSpace(said.String())
}

// TestAdvice (D7): what a person is advised to do is true in every situation.
func TestAdvice(t *testing.T) {
	t.Parallel()
	failed := func(reason bridge.Reason, o bridge.Outcome) error {
		return bridge.Errorf(bridge.InternalError, reason, o, "No.")
	}
	asking := func() *bridge.Error {
		return bridge.Errorf(bridge.InputRequired, "", bridge.Unknown, "Asks.").Detail("question", &bridge.Question{Kind: bridge.Confirm})
	}
	missing := func(t *target, c *config.Config, names ...string) error {
		return withNames("late", c, t, bridge.Errorf(bridge.WebtoolNotFound, "", bridge.NotRun, `There is no action "late" here.`).
			Detail("reason", "action").Detail("actions", names))
	}
	const doctor = "`pagetools doctor 'https://shop.example/?a=1&b'` names the step that fails."
	const reason = "`pagetools doctor 'https://shop.example/?a=1&b'` looks for the reason."
	tests := []struct {
		situation string
		args      []string
		err       error
		says      string // all that is said
	}{
		{"a certificate", nil, failed(bridge.Certificate, bridge.NotRun), "No. --accept-insecure-certs accepts it; only for sites of your own."},
		{"a certificate, which is accepted", []string{"--accept-insecure-certs"}, failed(bridge.Certificate, bridge.NotRun), "No."},
		{"a certificate in a browser that we did not start", []string{"--browser-url=http://127.0.0.1:9222"}, failed(bridge.Certificate, bridge.NotRun),
			"No. The browser that runs elsewhere decides which certificates it accepts."},
		{"a site that says so itself, whatever it wants people to do", nil, bridge.Errorf(bridge.InternalError, bridge.Certificate, bridge.NotRun, "No.").Detail("untrusted", true), "No."},
		{"a site that is down", nil, failed(bridge.Unreachable, bridge.NotRun), "No. " + doctor},
		{"a tool that takes its time", nil, failed(bridge.Timeout, bridge.Unknown), "No. " + mayHaveRun + " --call-timeout gives it longer."},
		{"a tool that had the longest time", []string{"--call-timeout=300s"}, failed(bridge.Timeout, bridge.Unknown), "No. " + mayHaveRun},
		{"a page that takes its time: the time is not the tool's", nil, failed(bridge.Timeout, bridge.NotRun), "No."},
		{"a page that asks, without a terminal", nil, asking(), "Asks. " + mayHaveRun + " Run it on a terminal to be asked."},
		{"a page that asks, at a terminal that ends", nil, asking().With(errNoAnswer), "Asks. " + mayHaveRun + " The terminal gave no answer: run it again, and type one."},
		{"a person who refused", nil, bridge.Errorf(bridge.ApprovalDenied, "", bridge.NotRun, "Refused."), "Refused."},
		{"a result over the limit", nil, bridge.Errorf(bridge.ToolError, bridge.ResultTooLarge, bridge.Unknown, "Long."),
			"Long. " + itRan + " `limits: {result: BYTES}` in a file that --config names raises the limit."},
		{"the tool's own error", nil, bridge.Errorf(bridge.ToolError, "", bridge.Failed, "No stamps."), "No stamps."},
		{"a page without tools", nil, missing(site, settings(t)), `There is no tool "late" here: the page has no tools, and none came within 5s. ` + reason + ` --wait-for tool:late waits longer.`},
		{"a page without tools, which was waited for", nil, missing(site, settings(t, "--wait-for=tool:late")), `There is no tool "late" here: the page has no tools, and none came within 5s. ` + reason},
		{"a page with other tools", nil, missing(site, settings(t), "buy"), `There is no tool "late" here, and none came within 5s. Available: buy. --wait-for tool:late waits longer.`},
		{"a page with other tools, which was waited for", nil, missing(site, settings(t, "--wait-for=tool:late"), "buy"), `There is no tool "late" here, and none came within 5s. Available: buy.`},
		{"a page with a tool of almost that name", nil, missing(site, settings(t), "lake"), `There is no tool "late" here, and none came within 5s. Did you mean lake? Available: lake.`},
		{"a page for whose site the file says what to wait for", nil, missing(&target{Target: site.Target, config: config.Site{WaitFor: config.WaitFor{Selector: "a"}}}, settings(t), "buy"),
			`There is no tool "late" here, and none came within 5s. Available: buy.`},
		{"a browser that went away", nil, bridge.Errorf(bridge.InternalError, bridge.BrowserLost, bridge.NotRun, "Lost.").With(errors.New("killed")), "Lost. killed."},
	}
	for _, test := range tests {
		if said := finished(settings(t, test.args...), test.err); said != "pagetools: "+test.says {
			t.Errorf("%s:\n%s, want\n%s", test.situation, said, test.says)
		}
	}
}

// TestConsentAdvice (D7): a call is told to give --approval auto where that lets it run, and
// nowhere else. Both are tried.
func TestConsentAdvice(t *testing.T) {
	t.Parallel()
	hints := func(text string) bridge.Declaration {
		d := bridgetest.Asking("pay", "")
		d.Annotations = json.RawMessage(text)
		return d
	}
	framed := bridgetest.Asking("pay", "")
	framed.Own, framed.Origin = false, "https://other.example"
	rule := []policy.Rule{{Pattern: "p*", Level: policy.Ask}}
	tests := []struct {
		situation string
		tool      bridge.Declaration
		operator  policy.Operator
		config    string
		says      string
	}{
		{"nothing is said", hints(`{}`), policy.Operator{}, "", "Run it on a terminal to be asked, or give --approval auto."},
		{"strict", hints(`{"readOnlyHint":true}`), policy.Operator{Mode: "strict"}, "", "or give --approval auto."},
		{"ask-once", hints(`{}`), policy.Operator{Mode: "ask-once"}, "", "or give --approval auto."},
		{"destructive", hints(`{"destructiveHint":true}`), policy.Operator{}, "",
			"The site says that the tool destroys something. Run it on a terminal to be asked: --approval auto would not run it, either."},
		{"destructive, with auto", hints(`{"destructiveHint":true}`), policy.Operator{Mode: "auto"}, "", "The site says that the tool destroys something. "},
		{"consequential, strict", hints(`{"consequentialHint":true}`), policy.Operator{Mode: "strict"}, "", "The site says that the tool has consequences. "},
		{"a rule of the file", hints(`{}`), policy.Operator{Tools: rule}, "", `The operator's rule "p*". `},
		{"of another origin", framed, policy.Operator{}, "", "The tool is not of the site's own origin"},
		{"the call wants it", hints(`{}`), policy.Operator{Mode: "auto"}, `{"approval":"ask"}`, "The request asks for it. "},
		{"refused by a rule", hints(`{}`), policy.Operator{Mode: "auto", Tools: []policy.Rule{{Pattern: "pay", Level: policy.Never}}}, "",
			`The operator's rule "pay". --approval and the approval of the configuration file say what may run.`},
		{"refused by deny", hints(`{}`), policy.Operator{Mode: "deny"}, "", "Mode deny refuses what would be asked about: nothing says that this tool may run unasked. --approval"},
	}
	for _, test := range tests {
		do := func(o policy.Operator) error {
			router := bridgetest.NewRouter().Add("shop", test.tool)
			b, err := bridge.New(router, bridge.Options{Sites: map[string]bridge.SiteOptions{"shop": {Approval: o}}})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			_, err = b.Do(t.Context(), &bridge.Call{Site: "shop", Tool: "pay", Caller: bridge.Local(),
				Input: bridgetest.JSON(`{}`), Config: json.RawMessage(test.config)})
			return err
		}
		err := do(test.operator)
		if err == nil {
			t.Fatalf("%s: it ran", test.situation)
		}
		said := finished(settings(t), err)
		if !strings.Contains(said, test.says) || strings.Contains(said, "resume") {
			t.Errorf("%s: %s, want %s", test.situation, said, test.says)
		}
		auto := do(policy.Operator{Mode: "auto", Tools: test.operator.Tools})
		if bridge.AsError(err).Code != bridge.ApprovalDenied && (auto == nil) != strings.Contains(said, "or give --approval auto") {
			t.Errorf("%s: with auto it ends with %v, and this is said: %s", test.situation, auto, said)
		}
	}
}

// TestNoToolsAdvice: --wait-for is advised to people who did not wait.
func TestNoToolsAdvice(t *testing.T) {
	t.Parallel()
	for rule, waits := range map[string]bool{"": true, "script-error": true, bridge.RuleUnmet: false, bridge.RuleStatus: false} {
		if said := noTools([]bridge.Finding{{Rule: rule}}, nil, settings(t), site); strings.Contains(said, "--wait-for") != waits || !strings.Contains(said, "doctor 'https://shop.example/?a=1&b'`") {
			t.Errorf("after %q: %s", rule, said)
		}
	}
}

// TestWithoutTools (L8, L9): a page whose tools were refused, or that took them back, declares some.
func TestWithoutTools(t *testing.T) {
	t.Parallel()
	refused := []bridge.Finding{{Rule: "schema-remote-ref", Tool: "find_book", Refused: true}, {Rule: "schema-remote-ref", Tool: "find_book", Refused: true}}
	for _, c := range []struct {
		findings []bridge.Finding
		left     []string
		want     string
	}{
		{nil, nil, "the page declares no tools. "},
		{[]bridge.Finding{{Rule: bridge.RuleUncaught}}, nil, "the page declares no tools. "},
		{refused, nil, `the page offers no tools: what it declares is refused ("find_book"). `},
		{[]bridge.Finding{{Rule: "too-many-tools", Refused: true}}, nil, "the page offers no tools: what it declares is refused. "},
		{nil, []string{"list-books"}, `the page offers no tools now: it offered "list-books", and took them back. `},
		{refused, []string{"list-books"}, "what it declares is refused"},
	} {
		if said := noTools(c.findings, c.left, settings(t), site); !strings.Contains(said, c.want) || strings.Contains(said, "--wait-for") && c.findings != nil && c.findings[0].Refused {
			t.Errorf("%+v: %s, want %s", c, said, c.want)
		}
	}
}

// TestExposing: what is advised about operations that are no tools offers them.
func TestExposing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		about opentools.About
		args  []string
		want  string
	}{
		{opentools.About{Operations: 2, Omitted: opentools.Omitted{Unmarked: 2}}, nil,
			"none of its 2 operations has x-llm. --expose all offers operations without x-llm, --expose safe only those that read."},
		{opentools.About{Operations: 2, Omitted: opentools.Omitted{Unmarked: 2}}, []string{"--expose=safe"},
			"none of its 2 operations has x-llm. --expose all offers operations without x-llm."},
		{opentools.About{Operations: 1, Omitted: opentools.Omitted{Elsewhere: 1}}, nil,
			"has a server of another origin. --allow-origin ORIGIN offers operations that a server of another origin has."},
		{opentools.About{Operations: 1, Omitted: opentools.Omitted{Disabled: 1}}, nil,
			"with enabled: false. Its author keeps them from models."},
		{opentools.About{Operations: 1, Omitted: opentools.Omitted{Unusable: 1}}, nil,
			"`pagetools check https://shop.example/openapi.json` says what is wrong with them."},
		{opentools.About{}, nil, "its document has no operations. Is it the right document?"},
	} {
		at := &target{Target: &app.Target{Text: "https://shop.example/openapi.json"}, about: &c.about, pageless: true}
		if got := noTools(nil, nil, settings(t, c.args...), at); !strings.HasSuffix(got, c.want) || strings.Contains(got, "page ") {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

// TestAim: a command that is advised can be copied into a shell, and repeats no password.
func TestAim(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "`pagetools doctor TARGET`", "https://shop.example/": "`pagetools doctor https://shop.example/`", "my shop": "`pagetools doctor 'my shop'`",
		"https://me:secret@shop.example/": "`pagetools doctor TARGET`", "a\nb": "`pagetools doctor TARGET`", "-x": "`pagetools doctor -- -x`",
	} {
		if said := aim("doctor", &target{Target: &app.Target{Text: text}}); said != want {
			t.Errorf("%q: %s, want %s", text, said, want)
		}
	}
}

// TestTryIt: the command that serve shows works with its callers.
func TestTryIt(t *testing.T) {
	for want, args := range map[string][]string{
		"Try: curl http://x/": nil, `Try: curl -H "Authorization: Bearer TOKEN" http://x/`: {"--token=longenoughtoken1"},
	} {
		if said := tryIt("http://x/", settings(t, args...)); said != want {
			t.Errorf("with %q: %s", args, said)
		}
	}
	t.Setenv("PAGETOOLS_TOKEN", "longenoughtoken1")
	if said := tryIt("http://x/", settings(t)); said != `Try: curl -H "Authorization: Bearer $PAGETOOLS_TOKEN" http://x/` {
		t.Error(said)
	}
}

// TestDoctorAdvice (D7): what doctor says of a server is true of that server.
func TestDoctorAdvice(t *testing.T) {
	t.Parallel()
	ok := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	plain, secure := httptest.NewServer(ok), httptest.NewUnstartedServer(ok)
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	secure.StartTLS()
	loop := httptest.NewServer(http.RedirectHandler("/again", http.StatusFound))
	missing := httptest.NewServer(http.NotFoundHandler())
	for _, s := range []*httptest.Server{plain, secure, loop, missing} {
		t.Cleanup(s.Close)
	}
	nonsense := speaks(t, "SSH-2.0-none\r\n")
	const insecure = "--accept-insecure-certs accepts any"
	tests := []struct{ situation, url, step, fix string }{
		{"all is well", plain.URL + "/", "", ""},
		{"https where http is spoken", strings.Replace(plain.URL, "http:", "https:", 1) + "/app?x=1", "TLS", "The port speaks http: try " + plain.URL + "/app?x=1"},
		{"http where https is spoken", strings.Replace(secure.URL, "https:", "http:", 1) + "/", "HTTP", "The port speaks https: try " + secure.URL + "/"},
		{"a certificate of nobody", secure.URL + "/", "TLS", insecure},
		{"no TLS and no http", "https://" + nonsense + "/", "TLS", "The server does not speak TLS as browsers do."},
		{"no http", "http://" + nonsense + "/", "HTTP", "does not answer as a web server"},
		{"redirects without end", loop.URL + "/", "HTTP", "redirects without end"},
		{"no such page", missing.URL + "/", "HTTP", "does it need a login, or another path?"},
	}
	for _, test := range tests {
		var out bytes.Buffer
		d := &doctor{p: &program{stdout: terminal.NewStream(&out), conf: settings(t)}}
		tt, err := parseTarget(test.url)
		if err != nil {
			t.Fatal(err)
		}
		err = d.network(t.Context(), tt)
		last := d.steps[len(d.steps)-1]
		if (err == nil) != (test.step == "") || err != nil && last.Step != test.step || !strings.Contains(last.Fix, test.fix) {
			t.Errorf("%s: %+v, want %s: %s", test.situation, last, test.step, test.fix)
		}
		if test.fix != insecure && strings.Contains(last.Fix, "insecure") {
			t.Errorf("%s: %s", test.situation, last.Fix)
		}
	}
	if fix := httpFix(fmt.Errorf("get: %w", context.DeadlineExceeded)); !strings.Contains(fix, "does not answer:") {
		t.Error(fix)
	}
	if fix := tlsFix(&url.URL{Scheme: "https"}, tls.RecordHeaderError{Msg: "x", RecordHeader: [5]byte{'S', 'S', 'H', '-', '2'}}); strings.Contains(fix, "http") {
		t.Error(fix)
	}
}

// speaks is a server that says the same to everybody.
func speaks(t *testing.T, text string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() { // ends with the listener
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() { // ends with the client
				_ = conn.SetDeadline(time.Now().Add(stepTime))
				_, _ = conn.Read(make([]byte, 1))
				_, _ = conn.Write([]byte(text))
				_ = conn.Close()
			}()
		}
	}()
	return l.Addr().String()
}

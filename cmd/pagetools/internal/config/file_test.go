package config

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/bridge/schema"
)

// load reads a file of this text.
func load(t *testing.T, text string) (*Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return loadFrom(t, path)
}

func loadFrom(t *testing.T, path string) (*Config, error) {
	t.Helper()
	set := pflag.NewFlagSet("pagetools", pflag.ContinueOnError)
	f := Register(set)
	if err := set.Set("config", path); err != nil {
		t.Fatal(err)
	}
	return f.Load()
}

// exampleFile is the example of the documented file.
const exampleFile = `listen: 127.0.0.1:7300
console-listen: 127.0.0.1:7301
data-dir: /var/lib/pagetools
sites:
  - name: shop
    target: https://shop.example/
    state: isolated            # or shared
    warm: 2
    engine: shim
    approval: {default: ask, tools: {"list-*": auto, "delete-*": never}}
    rate: 600/1m
    rates: {search: 10/1s, "delete-*": 5/1m}
    allow-config: [locale, viewport]
    config-params: {units: {enum: [metric, imperial]}}
    profiles: [{name: work, storage-state: work.json, callers: [agent]}, {name: home, storage-state: home.json}]
    default-profile: home
    wait-for: {tool: search, selector: "#app > *", idle: 1s}
    strict-output: true
    results: {budget: 1500, redact: [{pattern: "[0-9]{16}"}, {pointer: /customer/*/email}], mark-untrusted: true}
    allow-private: []
    forbid-params: [password, "*card*"]
callers:
  - {name: agent, token: "agent-secret", may: [call, elicit], sites: [shop], rate: 60/1m}
  - {name: person, token: "person-secret", may: [call, answer]}
limits: {call-timeout: 30s, max-sessions: 16}
`

// TestExampleFile reads the example, and holds its schema to it.
func TestExampleFile(t *testing.T) {
	t.Parallel()
	got, err := load(t, exampleFile)
	if err != nil {
		t.Fatal(err)
	}
	two, minute := 2, time.Minute
	want := Site{
		Name: "shop", Target: "https://shop.example/", State: "isolated", Engine: "shim", Warm: &two, Line: 5,
		Approval: Approval{Mode: "ask", Tools: Rules{{Pattern: "list-*", Level: policy.Auto}, {Pattern: "delete-*", Level: policy.Never}}, Lines: []int{10, 10}},
		Rate:     policy.Rate{N: 600, Per: minute},
		Rates: Rates{
			{Pattern: "search", Rate: policy.Rate{N: 10, Per: time.Second}}, {Pattern: "delete-*", Rate: policy.Rate{N: 5, Per: minute}},
		},
		AllowConfig: []PageKey{"locale", "viewport"}, AllowPrivate: []Network{},
		Params: Params{"units": json.RawMessage(`{"enum":["metric","imperial"]}`)},
		Profiles: []Profile{
			{Name: "work", StorageState: "work.json", Callers: []string{"agent"}, Line: 15}, {Name: "home", StorageState: "home.json", Line: 15},
		},
		DefaultProfile: "home", WaitFor: WaitFor{Tool: "search", Selector: "#app > *", Idle: Idle{On: true, Quiet: time.Second}},
		StrictOutput: true, ForbidParams: []string{"password", "*card*"},
		Results: Results{Budget: 1500, Redact: []Redaction{{Pattern: regexp.MustCompile("[0-9]{16}")}, {Pointer: pointer(t, "/customer/*/email")}},
			MarkUntrusted: true, Line: 19},
	}
	if len(got.Sites) != 1 || !reflect.DeepEqual(got.Sites[0], want) {
		t.Errorf("the site is read as %+v, want %+v", got.Sites, want)
	}
	agent := Caller{
		Name: "agent", Token: "agent-secret", May: []bridge.Right{bridge.MayCall, bridge.MayElicit},
		Sites: []string{"shop"}, Rate: policy.Rate{N: 60, Per: minute}, Line: 23,
	}
	if len(got.Callers) != 2 || !reflect.DeepEqual(got.Callers[0], agent) {
		t.Errorf("the callers are read as %+v, want %+v first", got.Callers, agent)
	}
	if got.OpenToOthers || got.CallTimeout != 30*time.Second || got.MaxSessions != 16 || got.From("max-sessions") != got.File+":25" {
		t.Errorf("the rest is read as %+v", got)
	}
	text, err := json.Marshal(Schema())
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := schema.Compile(text, schema.Limits{})
	if err != nil {
		t.Fatalf("the schema of the file: %v", err)
	}
	if err := compiled.Validate(asJSON(t, exampleFile)); err != nil {
		t.Errorf("the example does not fit its schema: %v", err)
	}
	for _, wrong := range []string{"lisen: x", "sites: [{name: a}]", "callers: [{name: a, token: ''}]", "limits: {queue: 0}", "warm: lots", "rate: 5", "sites: [{target: a, rate: 5}]",
		"sites: [{target: a, rates: {x: often}}]", "sites: [{target: a, rates: 60/1m}]"} {
		if compiled.Validate(asJSON(t, wrong)) == nil {
			t.Errorf("the schema takes %q", wrong)
		}
	}
}

func pointer(t *testing.T, text string) (p policy.Pointer) {
	t.Helper()
	if err := p.UnmarshalText([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return p
}

func asJSON(t *testing.T, text string) []byte {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestFileErrors holds that errors name line and key.
func TestFileErrors(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, line, key string }{
		{"a: 1", "1", `"a"`},
		{"sites:\n  - {target: x, name: Up}", "2", `"Up"`},
		{"sites:\n  - {name: a}", "2", "target"},
		{"sites: {}", "1", "sites"},
		{"sites:\n- target: x\n  state: new", "3", "state"},
		{"sites:\n- target: x\n  approval: maybe", "3", "approval"},
		{"sites:\n- target: x\n  approval: {tools: {a: maybe}}", "3", "maybe"},
		{"sites:\n- target: x\n  engine: other", "3", "engine"},
		{"sites:\n- target: x\n  warm: -1", "3", "warm"},
		{"sites:\n- target: x\n  rate: 5", "3", "rate"},
		{"sites:\n- target: x\n  rate: [60/1m]", "3", "rate"},
		{"sites:\n- target: x\n  rates: 60/1m", "3", "rates"},
		{"sites:\n- target: x\n  rates:\n    find: 60/1m\n    drop: 0/1m", "5", "drop"},
		{"sites:\n- target: x\n  rates: {find: 60/1m,\n    find: 60/1m}", "4", "find"},
		{"sites:\n- target: x\n  config-params: []", "3", "config-params"},
		{"sites:\n- target: x\n  allow-config: locale", "3", "allow-config"},
		{"sites:\n- target: x\n  allow-config: [locale, proxy]", "3", "proxy"},
		{"sites:\n- target: x\n  allow-origin: [shop]", "3", "allow-origin"},
		{"sites:\n- target: x\n  wait-for: {idle: soon}", "3", "idle"},
		{"sites:\n- target: x\n  windows: maybe", "3", "windows"},
		{"sites:\n- target: x\n  profiles: work", "3", "profiles"},
		{"sites:\n- target: x\n  profiles: [{name: work}]", "3", "storage-state"},
		{"sites:\n- target: x\n  profiles: [{name: 'a b', storage-state: x}]", "3", `"a b"`},
		{"sites:\n- target: x\n  profiles: [{name: a, storage-state: x}, {name: a, storage-state: y}]", "3", `"a"`},
		{"sites:\n- target: x\n  profiles: [{name: a, file: x}]", "3", `"file"`},
		{"sites:\n- target: x\n  default-profile: work", "2", `"work"`},
		{"sites:\n- target: x\n  auth: {client-secret-file: s.txt}", "3", "client-id"},
		{"sites:\n- target: x\n  auth: {client-id: a, client-secret: s3cret}", "3", `"client-secret"`},
		{"sites:\n- target: x\n  auth: mine", "3", "auth"},
		{"callers: [{name: a, token: longenough}]\nsites:\n- target: x\n  profiles: [{name: a, storage-state: x}]", "4", `"a"`},
		{"sites:\n- target: x\n  wait-for: {idle: 1h}", "3", "idle"},
		{"sites:\n- target: x\n  wait-for: {}", "3", "wait-for"},
		{"sites:\n- target: x\n  wait-for: {idle: false}", "3", "wait-for"},
		{"sites:\n- target: x\n  wait-for: {text: a}", "3", "text"},
		{"results: {budget: 0}", "1", "budget"},
		{"results: {budget: all}", "1", "budget"},
		{"results:\n  redact: x", "2", "redact"},
		{"results:\n  redact:\n  - {pattern: '('}", "3", `pattern: "(" must be a regular expression`},
		{"results:\n  redact:\n  - {pattern: 'a*'}", "3", `pattern "a*" must not match the empty text`},
		{"results:\n  redact:\n  - {pointer: a}", "3", `pointer: "a" must be a JSON Pointer`},
		{"results:\n  redact:\n  - {pointer: /a~2}", "3", "pointer"},
		{"results:\n  redact:\n  - {}", "3", "one of pattern and pointer"},
		{"results:\n  redact:\n  - {pointer: /a, pattern: b}", "3", "one of pattern and pointer"},
		{"sites:\n- target: x\n  results: {mark-untrusted: maybe}", "3", "mark-untrusted"},
		{"sites:\n- target: x\n  results: {limit: 1}", "3", `"limit"`},
		{"callers:\n- {name: a, token: ''}", "2", "token"},
		{"callers:\n- {token: longenough}", "2", "name"},
		{"callers:\n- {name: local, token: longenough}", "2", `"local"`}, // A13: these names are ours
		{"callers:\n- {name: token, token: longenough}", "2", `"token"`},
		{"callers:\n- {name: socket, token: longenough}", "2", "socket"},
		{"callers:\n- {name: a, token: longenough}\n- {name: a, token: longenough2}", "3", `"a"`},
		{"callers:\n- {name: a, token: longenough}\n- {name: b, token: longenough}", "3", "token"},
		{"callers:\n- {name: a, token: longenough, may: [everything]}", "2", "everything"},
		{"callers:\n- {name: a, token: longenough, may: call}", "2", "may"},
		{"callers:\n- {name: a, token: longenough, rate: often}", "2", "rate"},
		{"limits: {queue: 0}", "1", "queue"},
		{"limits: {idle: -1s}", "1", "idle"},
		{"limits: {async-timeout: 4h1s}", "1", "at most 4h"},
		{"limits:\n  idle: soon", "2", "idle"},
		{"warm: 1\nwarm: 1", "2", `"warm"`},
		{"warm: 1\nlimits: {call-timeout: 1s}\ncall-timeout: 2s", "3", "call-timeout"},
		{"warm: {}", "1", "warm"},
		{"wait-for: tool", "1", `wait-for: "tool" must be tool:NAME, selector:CSS or idle`},
		{"wait-for: [idle,\n 'selector:']", "2", `"selector:" must be`},
		{"[]", "1", "mapping"},
	}
	for _, test := range tests {
		_, err := load(t, test.text)
		if err == nil || !strings.Contains(err.Error(), "x.yaml:"+test.line+":") || !strings.Contains(err.Error(), test.key) {
			t.Errorf("%q: %v, want a complaint about line %s and %s", test.text, err, test.line, test.key)
		}
	}
	for _, empty := range []string{"", "# nothing\n", "---\n"} {
		if _, err := load(t, empty); err != nil {
			t.Errorf("%q: %v", empty, err)
		}
	}
}

// TestOrder puts one setting in every place: the command line wins, then the
// environment, then the file. A site of the file yields to the first two.
func TestOrder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.yaml")
	if err := os.WriteFile(path, []byte("warm: 0x10\nallow-origin: https://A.example:443\nlog-file:\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		flag, env string
		warm      int
		from      string
		insisted  bool
	}{
		{"", "", 16, path + ":1", false},
		{"", "4", 4, "environment", true},
		{"5", "4", 5, "flag", true},
		{"0", "", 0, "flag", true},
	} {
		t.Setenv("PAGETOOLS_WARM", test.env)
		set := pflag.NewFlagSet("pagetools", pflag.ContinueOnError)
		f := Register(set)
		args := []string{"--config=" + path}
		if test.flag != "" {
			args = append(args, "--warm="+test.flag)
		}
		if err := set.Parse(args); err != nil {
			t.Fatal(err)
		}
		c, err := f.Load()
		if err != nil || c.Warm != test.warm || c.From("warm") != test.from || c.Insisted("warm") != test.insisted || c.IsDefault("warm") {
			t.Errorf("%+v gives %d from %q (%v)", test, c.Warm, c.From("warm"), err)
		}
		if !slices.Equal(c.AllowOrigins, []Origin{"https://a.example"}) || !c.IsDefault("listen") || c.LogFile != "" {
			t.Errorf("the rest is %+v", c)
		}
	}
}

// TestReload reads a file again. Without it there would be no callers, and so no
// credential: that is an error. A file that nobody named gets no rights by being read again.
func TestReload(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv(EnvName("config"), defaultFile)
	write := func(text string) {
		if err := os.WriteFile(defaultFile, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("callers: [{name: a, token: longenough}]")
	f := Register(pflag.NewFlagSet("pagetools", pflag.ContinueOnError))
	first, err := f.Load()
	if err != nil {
		t.Fatal(err)
	}
	write("callers: [{name: b, token: longenough}]")
	if second, err := f.Reload(first); err != nil || second.Callers[0].Name != "b" || len(second.Differs(first)) > 0 {
		t.Errorf("the file is read again as %+v (%v)", second, err)
	}
	for text, keys := range map[string]string{"warm: 3": "warm", "listen: 127.0.0.1:0\nlimits: {queue: 3}": "limits listen", "sites: [{target: https://a.example/}]": ""} {
		write(text)
		third, err := f.Reload(first)
		if err != nil {
			t.Fatal(err)
		}
		if there, gone := strings.Join(third.Differs(first), " "), strings.Join(first.Differs(third), " "); there != keys || gone != keys {
			t.Errorf("%s differs in %q and %q", text, there, gone)
		}
	}
	if err := os.Remove(defaultFile); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Reload(first); err == nil {
		t.Error("a file that is gone is read again")
	}
	t.Setenv(EnvName("config"), "")
	write("sites: [{target: https://shop.example/}]")
	found, err := f.Load()
	if err != nil || !found.Unnamed {
		t.Fatalf("a file that is found: %+v (%v)", found, err)
	}
	write("callers: [{name: b, token: longenough}]")
	if next, err := f.Reload(found); err == nil {
		t.Errorf("a file that nobody named brings callers: %+v", next.Callers)
	}
	if err := os.Remove(defaultFile); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Reload(found); err == nil {
		t.Error("a file that is gone is read again")
	}
}

// unnamedFiles are contents of a pagetools.yaml, and the key that one that nobody named
// must not say so; "" for one that is taken.
var unnamedFiles = []struct{ text, refused string }{
	{"executable-path: ./run.sh", "executable-path"},
	{"chrome-arg: [--renderer-cmd-prefix=./run.sh]", "chrome-arg"},
	{"no-sandbox: true", "no-sandbox"},
	{"browser-url: http://127.0.0.1:9222", "browser-url"},
	{"auto-connect: true", "auto-connect"},
	{`browsers: [{name: a, command: [./run.sh], max: 1}]`, "browsers"},
	{"user-data-dir: /home/me/.config/chromium", "user-data-dir"},
	{"data-dir: .", "data-dir"},
	{"log-file: /home/me/.bashrc", "log-file"},
	{"listen: 0.0.0.0:1", "listen"},
	{"token: longenoughtoken1", "token"},
	{"callers: [{name: a, token: longenoughtoken1}]", "callers"},
	{"proxy-server: http://proxy.example", "proxy-server"},
	{"approval: auto", "approval"},
	{"approval: ask-once", "approval"},
	{"approval: strict", ""},
	{"wait-for: idle", "wait-for"},
	{"call-timeout: 31s", "call-timeout"},
	{"call-timeout: 30s", ""},
	{"limits: {call-timeout: 31s}", "call-timeout"},
	{"limits: {call-timeout: 5s, queue: 32, result: 1048576, question: 5m, max-sessions: 4, tools: 256, idle: 15m}", ""},
	{"limits: {queue: 33}", "queue"},
	{"limits: {async-timeout: 16m}", "async-timeout"},
	{"limits: {result: 1048577}", "result"},
	{"limits: {max-sessions: 5}", "max-sessions"},
	{"limits: {question: 5m1s}", "question"},
	{"sites: [{name: shop, target: https://shop.example/, state: shared, approval: {default: deny, tools: {x: ask, 'y*': never}}, wait-for: {tool: x, selector: '#a', idle: 1s}}]", ""},
	{"sites: [{target: https://shop.example/, approval: auto}]", "approval"},
	{"sites: [{target: https://shop.example/, approval: {tools: {x: auto}}}]", "approval"},
	{"sites: [{target: https://shop.example/, approval: {tools: {x: ask-once}}}]", "approval"},
	{"sites: [{target: https://shop.example/, allow-private: [10.0.0.0/8]}]", "allow-private"},
	{"sites: [{target: https://shop.example/, allow-origin: [https://a.example]}]", "allow-origin"},
	{"sites: [{target: https://shop.example/, allow-config: [headers]}]", "allow-config"},
	{"sites: [{target: https://shop.example/, auth: {client-id: a}}]", "auth"},
	{"sites: [{target: https://shop.example/, profiles: [{name: a, storage-state: /home/me/work.json}]}]", "profiles"},
	{"sites: [{target: https://shop.example/, warm: 1}]", "warm"},
	{"sites: [{target: https://8.8.8.8/}, {target: 'https://[2606:4700::1111]:8443/'}, {target: https://bücher.example/}]", ""},
	{"sites: [{target: http://localhost:8080/}]", "target"},
	{"sites: [{target: http://LOCALHOST./}]", "target"},
	{"sites: [{target: http://app.localhost/}]", "target"},
	{"sites: [{target: http://router/}]", "target"},
	{"sites: [{target: http://nas.local/}]", "target"},
	{"sites: [{target: http://127.0.0.1:9222/}]", "target"},
	{"sites: [{target: http://2130706433/}]", "target"},
	{"sites: [{target: http://0x7f.1/}]", "target"},
	{"sites: [{target: http://127.0.0.0x1/}]", "target"},
	{"sites: [{target: http://１２７.0.0.1/}]", "target"},
	{"sites: [{target: http://192.168.1.1/}]", "target"},
	{"sites: [{target: http://169.254.169.254/}]", "target"},
	{"sites: [{target: http://100.64.0.1/}]", "target"},
	{"sites: [{target: 'http://[::1]/'}]", "target"},
	{"sites: [{target: 'http://[::ffff:127.0.0.1]/'}]", "target"},
	{"sites: [{target: 'http://[64:ff9b::7f00:1]/'}]", "target"},
	{"sites: [{target: 'http://[fe80::1]/'}]", "target"},
	{"sites: [{target: site}]", ""},
	{"sites: [{target: ./site/}]", ""},
	{"sites: [{target: .}]", "target"},
	{"sites: [{target: site/..}]", "target"},
	{"sites: [{target: ..}]", "target"},
	{"sites: [{target: /etc}]", "target"},
	{"sites: [{target: out}]", "target"}, // a link to a folder elsewhere
	{"sites: [&a {target: https://shop.example/, warm: 1}]", "warm"},
}

// TestUnnamedFile holds what a file of the current folder may say (C1): the same file is
// taken whole where it is named.
func TestUnnamedFile(t *testing.T) {
	t.Chdir(t.TempDir())
	elsewhere := t.TempDir()
	if err := errors.Join(os.Mkdir("site", 0o700), os.WriteFile("site/index.html", nil, 0o600),
		os.WriteFile(filepath.Join(elsewhere, "index.html"), nil, 0o600), os.Symlink(elsewhere, "out")); err != nil {
		t.Fatal(err)
	}
	for _, test := range unnamedFiles {
		if err := os.WriteFile(defaultFile, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Register(pflag.NewFlagSet("pagetools", pflag.ContinueOnError)).Load()
		switch {
		case test.refused == "" && (err != nil || !c.Unnamed || c.File != defaultFile):
			t.Errorf("%s: %v", test.text, err)
		case test.refused != "" && (err == nil || !strings.Contains(err.Error(), test.refused) ||
			!strings.Contains(err.Error(), "--config pagetools.yaml") || !strings.HasPrefix(err.Error(), "pagetools.yaml:1: ")):
			t.Errorf("%s: %v, want a refusal of %s with what to do", test.text, err, test.refused)
		}
		if named, err := loadFrom(t, defaultFile); err != nil || named.Unnamed {
			t.Errorf("%s: refused where it is named: %v", test.text, err)
		}
	}
}

// TestSecretsAreNotInErrors: two callers cannot share a token, and the error does not
// show it.
func TestSecretsAreNotInErrors(t *testing.T) {
	t.Parallel()
	_, err := load(t, "callers: [{name: a, token: very-secret}, {name: b, token: very-secret}]")
	if err == nil || strings.Contains(err.Error(), "very-secret") {
		t.Errorf("two callers with one token: %v", err)
	}
}

// FuzzFile holds that no file makes the reader panic, and that every error is one
// line that names the file.
func FuzzFile(f *testing.F) {
	f.Add([]byte(exampleFile))
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("sites: [{target: &x [1], config-params: {a: {<<: *x}}}]"))
	f.Add([]byte("warm: !!binary x\nlimits: ~\ncallers: [~]\nsites: [[]]"))
	f.Add([]byte("? {a: b}\n: c"))
	dir := f.TempDir()
	lines := regexp.MustCompile(`x\.yaml`)
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(dir, "x.yaml")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := loadFrom(t, path); err != nil && !lines.MatchString(err.Error()) && !strings.HasPrefix(err.Error(), "--") {
			t.Errorf("the error does not name the file: %v", err)
		}
	})
}

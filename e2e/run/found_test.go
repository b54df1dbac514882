package run_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/e2e/run"
	"github.com/pagetools/pagetools/e2e/scenario"
)

// foundFiles are sites of a file below a folder, in its folder in, and what the refusal of one that
// nobody named says; "" is taken.
var foundFiles = []struct{ in, site, refused string }{
	{"", "{dir: site}", ""},
	{"", "{dir: .}", ""},
	{"deep/er", "{dir: ../../site, url: /a.html}", ""},
	{"", "{url: https://shop.example/}", ""},
	{"", "{url: 'https://8.8.8.8:8443/'}", ""},
	{"", "{url: https://shop.example/, config: {locale: de-CH, storageState: login.json}}", ""},
	{"", "{url: https://shop.example/, network: {replay: shop.har}}", ""},
	{"deep", "{url: https://shop.example/, network: {record: ../new/shop.har}}", ""},
	{"", "{dir: site, config: {userAgent: '$${env.HOME}'}}", ""},

	{"", "{serve: ./run.sh, url: 'http://127.0.0.1:8001/'}", `serve starts the command "./run.sh"`},
	{"", "{serve: ./run.sh, url: https://shop.example/}", `serve starts the command "./run.sh"`},
	{"", "{serve: ./run.sh, url: https://shop.example/, network: {replay: shop.har}}", "serve starts"},
	{"", "{url: 'http://127.0.0.1:8001/'}", `"http://127.0.0.1:8001/" for url: it is not a public address`},
	{"", "{url: 'http://LOCALHOST:8001/'}", "not a public address"},
	{"", "{url: 'http://app.localhost./'}", "not a public address"},
	{"", "{url: 'http://[::1]/'}", "not a public address"},
	{"", "{url: 'http://2130706433/'}", "not a public address"},
	{"", "{url: 'http://169.254.169.254/latest'}", "not a public address"},
	{"", "{url: 'http://router/'}", "not a public address"},
	{"", "{url: 'http://wiki.corp/'}", "not a public address"},
	{"", "{url: 'https://shop.example/?k=${env.KEY}'}", "${env.KEY} reads the environment"},
	{"", "{url: '${env.KEY}'}", "${env.KEY} reads the environment"},
	{"", "{dir: '${env.HOME}'}", "${env.HOME} reads the environment"},
	{"", "{url: https://shop.example/, config: {headers: {X-Key: 'a${env.KEY}'}}}", "${env.KEY} reads"},
	{"", "{url: https://shop.example/, config: {storageState: '${env.HOME}/x.json'}}", "${env.HOME} reads"},
	{"", "{dir: ..}", `".." for dir: it is outside of`},
	{"deep/er", "{dir: ../../../victim}", `for dir: it is outside of`},
	{"", "{dir: /etc}", `"/etc" for dir: it is outside of`},
	{"", "{dir: out}", `"out" for dir: it is outside of`},
	{"", "{dir: out/sub}", `for dir: it is outside of`},
	{"", "{url: https://shop.example/, config: {storageState: ../victim/login.json}}", "for storageState: it is outside of"},
	{"", "{url: https://shop.example/, config: {storageState: out/login.json}}", "for storageState: it is outside of"},
	{"", "{url: https://shop.example/, network: {record: ../x.har}}", "for record: it is outside of"},
	{"", "{url: https://shop.example/, network: {record: /tmp/x.har}}", "for record: it is outside of"},
	{"", "{url: https://shop.example/, network: {record: out/x.har}}", "for record: it is outside of"},
	{"", "{url: https://shop.example/, network: {replay: ../victim/x.har}}", "for replay: it is outside of"},
	{"", "{dir: site}\nlock: ../victim/pagetools.lock", "for lock: it is outside of"},
	{"", "{dir: site}\nlock: linked.lock", "for lock: it is outside of"},
}

var errOpened = errors.New("it was opened")

// TestFoundFiles holds S1: a file that was found and not named starts no command, reads nothing of
// the environment, opens public pages and those below the folder that was walked, and touches no
// file elsewhere. The same file is run when it is named.
func TestFoundFiles(t *testing.T) {
	t.Parallel()
	above := t.TempDir()
	within := filepath.Join(above, "clone")
	for _, dir := range []string{"clone/site", "clone/deep/er", "victim/sub"} {
		if err := os.MkdirAll(filepath.Join(above, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Symlink("../victim", filepath.Join(within, "out")),
		os.Symlink("../victim/pagetools.lock", filepath.Join(within, "linked.lock")),
		os.WriteFile(filepath.Join(within, "login.json"), []byte(`{"cookies":[]}`), 0o600)); err != nil {
		t.Fatal(err)
	}
	o := run.Options{
		Open: func(context.Context, *app.Target, func(*app.Options)) (*app.App, error) { return nil, errOpened },
		Env:  func(string) (string, bool) { return "https://secret.example/", true }, Recorded: func(string, []byte) error { return nil },
		Starts: func(command string) { t.Errorf("it starts %s", command) },
	}
	for _, test := range foundFiles {
		f, err := scenario.Read(filepath.Join(within, test.in, "a.webtool.yaml"),
			[]byte("site: "+test.site+"\ncases: [{name: a, steps: [{tools: {include: [x]}}]}]"))
		if err != nil {
			t.Fatalf("%s: %v", test.site, err)
		}
		f.Within = within
		_, err = run.Files(t.Context(), []*scenario.File{f}, o)
		_, refused := errors.AsType[*scenario.Problems](err)
		refused = refused && strings.Contains(err.Error(), "nobody named this file; name ")
		switch {
		case test.refused == "" && refused:
			t.Errorf("%s: %v", test.site, err)
		case test.refused != "" && (!refused || !strings.Contains(err.Error(), test.refused)):
			t.Errorf("%s: %v, want a refusal with %q", test.site, err, test.refused)
		}
		if strings.Contains(test.site, "serve:") {
			continue // when it is named it starts: TestScripts
		}
		f.Within = ""
		if _, err := run.Files(t.Context(), []*scenario.File{f}, o); err != nil && strings.Contains(err.Error(), "nobody named") {
			t.Errorf("%s: refused where it is named: %v", test.site, err)
		}
	}
}

// TestFoundSteps holds S1 for what is in the cases of a found file: each place that takes a
// reference.
func TestFoundSteps(t *testing.T) {
	t.Parallel()
	within := t.TempDir()
	for _, test := range []struct{ text, refused string }{
		{`steps: [{call: a, with: {key: "${env.KEY}"}}]`, "KEY"},
		{`steps: [{call: a, expect: {$contains: "${env.KEY}"}}]`, "KEY"},
		{`steps: [{call: a, expect-error: {message: "is ${env.KEY}"}}]`, "KEY"},
		{`steps: [{open: "/?${env.KEY}"}]`, "KEY"},
		{`steps: [{parallel: [{call: b}, {call: a, with: {deep: [{er: "${env.KEY}"}]}}]}]`, "KEY"},
		{`human: [{on: prompt, answer: {value: "${env.KEY}"}}]`, "KEY"},
		{`steps: [{call: a, page: {text: "#a", matches: "${env.KEY}"}}]`, "KEY"},
		{`steps: [{call: a, effects: {network: [{url: "${env.KEY}"}]}}]`, "KEY"},
		{`steps: [{call: a, with: {key: "$${env.KEY}", id: "${unique}"}}]`, ""},
	} {
		text := "site: {dir: .}\ncases: [{name: a, " + test.text + "}]"
		if !strings.Contains(test.text, "steps:") {
			text = "site: {dir: .}\ncases: [{name: a, steps: [{call: a}], " + test.text + "}]"
		}
		f, err := scenario.Read(filepath.Join(within, "a.webtool.yaml"), []byte(text))
		if err != nil {
			t.Fatalf("%s: %v", test.text, err)
		}
		f.Within = within
		_, err = run.Files(t.Context(), []*scenario.File{f}, run.Options{
			Open: func(context.Context, *app.Target, func(*app.Options)) (*app.App, error) { return nil, errOpened }})
		refused := err != nil && strings.Contains(err.Error(), "${env."+test.refused+"} reads the environment")
		if refused != (test.refused != "") || !refused && !errors.Is(err, errOpened) {
			t.Errorf("%s: %v", test.text, err)
		}
	}
}

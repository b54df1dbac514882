package config

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// loadOwn loads a command line in a folder with a pagetools.yaml.
func loadOwn(t *testing.T, file string, args ...string) (*Config, error) {
	t.Helper()
	t.Chdir(t.TempDir())
	for _, key := range Keys() {
		if _, set := os.LookupEnv(EnvName(key)); set && key != "executable-path" {
			t.Setenv(EnvName(key), "")
		}
	}
	if file != "" {
		if err := os.WriteFile(defaultFile, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set := pflag.NewFlagSet("x", pflag.ContinueOnError)
	f := Register(set)
	if err := set.Parse(args); err != nil {
		t.Fatal(err)
	}
	return f.Load()
}

// TestOwnBrowserSettings: with --auto-connect every call asks and all share a page, unless somebody says otherwise.
func TestOwnBrowserSettings(t *testing.T) {
	c, err := loadOwn(t, "", "--auto-connect")
	if err != nil || c.Approval != "strict" || c.State != "shared" || c.Warm != 0 || c.Headless || c.Saves() || !c.IsRemote() || !c.IsDefault("approval") {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err := loadOwn(t, "", "--auto-connect", "--approval", "ask"); err != nil || c.Approval != "ask" {
		t.Errorf("a person who says ask gets %q, %v", c.Approval, err)
	}
	if c, err := loadOwn(t, ""); err != nil || c.Approval != "ask" || c.State != "isolated" || c.Warm != 2 || !c.Headless { // the control
		t.Errorf("without it: %+v, %v", c, err)
	}
	t.Setenv(EnvName("executable-path"), "/usr/bin/chromium")
	if _, err := loadOwn(t, "", "--auto-connect"); err != nil {
		t.Errorf("a browser that the environment names for other runs: %v", err)
	}
	t.Setenv(EnvName("proxy-server"), "127.0.0.1:3128")
	set := pflag.NewFlagSet("x", pflag.ContinueOnError)
	f := Register(set)
	if err := set.Parse([]string{"--auto-connect"}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Load(); err == nil || !strings.Contains(err.Error(), "leave out PAGETOOLS_PROXY_SERVER") {
		t.Errorf("a proxy that pages would not use: %v", err)
	}
}

// TestFoundFileLoosensNothing: beside strict, ask is less: a file that was only found cannot bring it, one
// that is named can.
func TestFoundFileLoosensNothing(t *testing.T) {
	const file = "approval: ask\nsites: [{name: mail, target: https://mail.example/, approval: ask}, {name: news, target: https://news.example/, approval: deny}]"
	c, err := loadOwn(t, file, "--auto-connect")
	if err != nil || c.Approval != "strict" || c.Sites[0].Approval.Mode != "strict" || c.Sites[1].Approval.Mode != "deny" {
		t.Errorf("a found file: %q, %+v, %v", c.Approval, c.Sites, err)
	}
	c, err = loadOwn(t, file, "--auto-connect", "--config", defaultFile)
	if err != nil || c.Approval != "ask" || c.Sites[0].Approval.Mode != "ask" {
		t.Errorf("a named file: %q, %+v, %v", c.Approval, c.Sites, err)
	}
	c, err = loadOwn(t, file)
	if err != nil || c.Approval != "ask" || c.Sites[0].Approval.Mode != "ask" {
		t.Errorf("without --auto-connect: %q, %+v, %v", c.Approval, c.Sites, err)
	}
}

// TestOwnBrowserSites: what a site cannot have there is named with its line.
func TestOwnBrowserSites(t *testing.T) {
	t.Parallel()
	two := 2
	c := &Config{AutoConnect: true, File: "x.yaml"}
	for key, s := range map[string]Site{"state": {State: "isolated"}, "warm": {Warm: &two}, "downloads": {Downloads: "results"},
		"allow-config": {AllowConfig: []PageKey{"locale"}}, "profiles": {Profiles: []Profile{{Name: "work"}}}} {
		s.Line = 7
		if err := s.CheckOwn(c); err == nil || !strings.HasPrefix(err.Error(), "x.yaml:7: ") || !strings.HasSuffix(err.Error(), "leave out "+key) {
			t.Errorf("%s: %v", key, err)
		}
		if err := s.CheckOwn(&Config{}); err != nil {
			t.Errorf("%s without --auto-connect: %v", key, err)
		}
	}
	if err := (&Site{State: "shared", Downloads: "off"}).CheckOwn(c); err != nil {
		t.Error(err)
	}
}

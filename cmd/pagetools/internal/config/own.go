package config

import (
	"fmt"
	"slices"

	"github.com/pagetools/pagetools/bridge/policy"
)

// This file holds what other settings are with --auto-connect, with which pages open in the browser that a
// person uses.

// preferOwn sets what nobody has set as that browser needs it.
func (c *Config) preferOwn() {
	if !c.AutoConnect {
		return
	}
	for key, set := range map[string]func(){
		"approval": func() { c.Approval = policy.ModeStrict }, // pages act as the person
		"state":    func() { c.State = "shared" }, "warm": func() { c.Warm = 0 },
		"downloads": func() { c.Downloads = "off" },
		"headless":  func() { c.Headless = false }, // somebody is at its windows
	} {
		if c.IsDefault(key) {
			set()
		}
	}
	if !c.Unnamed {
		return
	}
	// Beside strict, the usual ask loosens: a file that nobody named must not.
	if c.Approval == policy.ModeAsk && !c.Insisted("approval") {
		c.Approval = policy.ModeStrict
	}
	for i := range c.Sites {
		if c.Sites[i].Approval.Mode == policy.ModeAsk {
			c.Sites[i].Approval.Mode = policy.ModeStrict
		}
	}
}

// notStarted are settings of browsers that pagetools starts. A variable of the environment that says
// how is for other runs.
var notStarted = []string{"browser", "executable-path", "no-sandbox", "chrome-arg", "headless"}

// checkOwn refuses what cannot be had in the browser that a person uses.
func (c *Config) checkOwn() error {
	if !c.AutoConnect {
		if len(c.Attach) > 0 {
			return fmt.Errorf("%s needs --auto-connect, which uses the browser that you run", c.said("attach"))
		}
		return nil
	}
	of := func(keys ...string) string { // the first that somebody has set
		return slices.Concat(slices.DeleteFunc(keys, c.IsDefault), []string{""})[0]
	}
	started := of(slices.DeleteFunc(slices.Clone(notStarted), func(key string) bool {
		return c.from[key] == fromEnv || key == "headless" && !c.Headless
	})...)
	with := "--auto-connect uses the browser that you run: "
	switch key := of("viewport", "proxy-server", "accept-insecure-certs"); {
	case c.BrowserURL+c.WSEndpoint != "":
		return fmt.Errorf("%s and --auto-connect are two ways to a browser: give one of them",
			c.said(map[bool]string{true: "browser-url", false: "ws-endpoint"}[c.BrowserURL != ""]))
	case started != "":
		return fmt.Errorf(with+"none is started, so leave out %s", c.said(started))
	case key != "":
		return fmt.Errorf(with+"it has settings of its own, which pagetools does not change, so leave out %s", c.said(key))
	case c.StorageState != "":
		return fmt.Errorf(with+"it has its own logins, so leave out %s, and log in there", c.said("storage-state"))
	case c.State != "shared":
		return fmt.Errorf(with+"all calls of a site run in one tab of it, so leave out %s", c.said("state"))
	case c.Warm > 0:
		return fmt.Errorf(with+"it has no spare pages, so leave out %s", c.said("warm"))
	case c.Downloads != "off":
		return fmt.Errorf(with+"what pages save goes where it always does, so leave out %s", c.said("downloads"))
	case slices.Contains(c.Attach, ""):
		return fmt.Errorf("%s must not be empty: give an address, such as https://mail.example/*", c.said("attach"))
	}
	return nil
}

// CheckOwn refuses what a site of the file says and cannot have in the browser that a person uses.
func (s *Site) CheckOwn(c *Config) error {
	var key string
	switch {
	case !c.AutoConnect:
		return nil
	case s.State == "isolated":
		key = "state"
	case s.Warm != nil && *s.Warm > 0:
		key = "warm"
	case s.Downloads == "results":
		key = "downloads"
	case len(s.AllowConfig) > 0:
		key = "allow-config"
	case len(s.Profiles) > 0:
		key = "profiles"
	default:
		return nil
	}
	return fmt.Errorf("%s:%d: with --auto-connect a site has one tab in the browser that you run, of which nothing is changed: leave out %s",
		c.File, s.Line, key)
}

package main

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/files"
	"github.com/pagetools/pagetools/bridge/opentools"
	"github.com/pagetools/pagetools/bridge/opentools/oauth"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/session/cdp/chrome"
)

// This file holds what people are advised to do, and warned about. Advice must be true in the
// situation in which it is given: TestAdvice has a row for each.

// adviceOn says what to do about a failure of a run with these settings and this target, or "".
func adviceOn(e *bridge.Error, c *config.Config, t *target) string {
	advice := whatToDo(e, c, t)
	switch {
	case e.Outcome == bridge.Unknown && e.Code == bridge.ToolError:
		advice = itRan + " " + advice
	case e.Outcome == bridge.Unknown:
		advice = mayHaveRun + " " + advice
	}
	return strings.TrimSpace(advice)
}

const (
	itRan      = "It ran: look at the site before you call it again."
	mayHaveRun = "It may have run: look at the site before you call it again."
)

func whatToDo(e *bridge.Error, c *config.Config, t *target) string {
	switch {
	case needsLogin(e):
		return because(e.Err)
	case e.Details["untrusted"] != nil && e.Code != bridge.ToolError: // a site's word for it
		return ""
	case e.Code == bridge.ApprovalRequired || e.Code == bridge.InputRequired:
		return consentAdvice(e)
	case e.Code == bridge.ApprovalDenied && e.Err != nil: // by policy, and not by a person
		return because(e.Err) + "--approval and the approval of the configuration file say what may run."
	case e.Reason == bridge.Certificate:
		return certificateAdvice(c)
	case e.Reason == bridge.Unreachable:
		return aim("doctor", t) + " names the step that fails."
	case e.Reason == bridge.Internal && e.Outcome == bridge.NotRun: // the log has it, which nobody reads now
		return because(e.Err)
	case e.Reason == bridge.ResultTooLarge:
		return "`limits: {result: BYTES}` in a file that --config names raises the limit."
	case e.Reason == bridge.Timeout && e.Outcome != bridge.NotRun &&
		c.CallTimeout < config.MaxCallTimeout:
		return "--call-timeout gives it longer."
	}
	return ""
}

// needsLogin reports whether a login to an API would help.
func needsLogin(e *bridge.Error) bool {
	_, ok := errors.AsType[*oauth.Needed](e.Err)
	return ok
}

func consentAdvice(e *bridge.Error) string {
	if errors.Is(e, errNoAnswer) {
		return "The terminal gave no answer: run it again, and type one."
	}
	const ask = "Run it on a terminal to be asked"
	q, _ := e.Details["question"].(*bridge.Question)
	switch {
	case e.Code == bridge.InputRequired:
		return ask + "."
	case q != nil && q.AskedByMode():
		return ask + ", or give --approval auto."
	}
	return because(e.Err) + ask + ": --approval auto would not run it, either."
}

// because is a cause as a sentence.
func because(err error) string {
	if err == nil || err.Error() == "" {
		return ""
	}
	words := text.Line(err.Error())
	return strings.ToUpper(words[:1]) + words[1:] + ". "
}

func certificateAdvice(c *config.Config) string {
	switch {
	case c.AutoConnect:
		return "Your browser decides which certificates it accepts: open the address in it."
	case c.IsRemote():
		return "The browser that runs elsewhere decides which certificates it accepts."
	case c.AcceptInsecureCerts:
		return ""
	}
	return "--accept-insecure-certs accepts it; only for sites of your own."
}

// aim is a command with the target of this run, as a shell takes it, or with TARGET: no run
// may have one, and a password is not repeated.
func aim(verb string, t *target) string {
	word := "TARGET"
	if t != nil && t.Text != "" && text.IsPlain(t.Text) && !strings.Contains(t.Text, "@") {
		word = text.Operand(t.Text)
	}
	return "`pagetools " + verb + " " + word + "`"
}

// installAdvice says how to get a browser when none was found: a whole one, where nothing else
// does.
func installAdvice(o chrome.Options) string {
	whole := o.Headful || o.Kind == chrome.Chromium
	return "Install one: " + chrome.HowToInstall(runtime.GOOS, whole) + ". Or name one with --executable-path."
}

// maxNamed limits how many tools fit into an error.
const maxNamed = 12

// noTool says which tools there are besides one that did not come, and what to do.
func noTool(tool string, names []string, c *config.Config, t *target) (words string) {
	near := text.Nearest(tool, names)
	switch {
	case near != "":
		words = " Did you mean " + near + "?"
	case len(names) == 0 && (t == nil || !t.pageless):
		words = " " + aim("doctor", t) + " looks for the reason."
	}
	switch {
	case len(names) > maxNamed:
		words += fmt.Sprintf(" %s lists all %d.", aim("tools", t), len(names))
	case len(names) > 0:
		words += " Available: " + strings.Join(names, ", ") + "."
	}
	if near == "" && t != nil && t.about != nil {
		if how := exposing(t.about.Omitted, apiOptions(c, plan{}, t).Expose); how != "" {
			words += " " + how
		}
	}
	if t != nil && t.pageless {
		return words
	}
	asked, _, _ := c.Waits()
	waits := t != nil && t.config.WaitFor != (config.WaitFor{}) || slices.Contains(asked, tool)
	if near != "" || waits || !bridge.IsLegalName(tool) {
		return words
	}
	return words + " --wait-for tool:" + tool + " waits longer."
}

// exposing says what offers operations that are no tools, or "".
func exposing(o opentools.Omitted, e opentools.Expose) string {
	switch {
	case o.Unmarked > 0 && e == opentools.Marked:
		return "--expose all offers operations without x-llm, --expose safe only those that read."
	case o.Unmarked > 0:
		return "--expose all offers operations without x-llm."
	case o.Elsewhere > 0:
		return "--allow-origin ORIGIN offers operations that a server of another origin has."
	}
	return ""
}

// apiFix says what to do about an API without tools.
func apiFix(c *config.Config, t *target) string {
	how := exposing(t.about.Omitted, apiOptions(c, plan{}, t).Expose)
	switch {
	case how != "":
		return how
	case t.about.Operations == 0:
		return "Is it the right document?"
	case t.about.Omitted.Unusable > 0:
		return aim("check", t) + " says what is wrong with them."
	}
	return "Its author keeps them from models."
}

// noTools says what to do about a page or an API without tools.
func noTools(findings []bridge.Finding, left []string, c *config.Config, t *target) string {
	if t != nil && t.pageless && t.about != nil {
		return fmt.Sprintf("the API %q offers no tools: %s. %s", t.about.Name(), t.about.Empty(), apiFix(c, t))
	}
	text := without(findings, left) + ". " + aim("doctor", t) + " looks for the reason"
	for _, f := range findings {
		if f.Rule == bridge.RuleUnmet || f.Rule == bridge.RuleStatus || f.Refused {
			return text + "."
		}
	}
	return text + "; " + orLate(findings, left, t)
}

// orLate says that tools may come late, and how a site that declares none gets some.
func orLate(findings []bridge.Finding, left []string, t *target) string {
	const late = "--wait-for tool:NAME waits for one that comes late."
	if without(findings, left) != noneDeclared || t == nil || len(t.adapters) > 0 {
		return late
	}
	return late + " For a site that has none, " + aim("init --adapter NAME", t) + " begins some of yours."
}

const noneDeclared = "the page declares no tools"

// without says that a page offers no tools, and which it declared or had.
func without(findings []bridge.Finding, left []string) string {
	refused := false
	var names []string
	for _, f := range findings {
		refused = refused || f.Refused
		if f.Refused && f.Tool != "" && !slices.Contains(names, f.Tool) {
			names = append(names, f.Tool)
		}
	}
	switch {
	case len(names) > 0:
		return "the page offers no tools: what it declares is refused (" + text.FewQuoted(names, maxNamed) + ")"
	case refused:
		return "the page offers no tools: what it declares is refused"
	case len(left) > 0:
		return "the page offers no tools now: it offered " + text.FewQuoted(left, maxNamed) + ", and took them back"
	}
	return noneDeclared
}

// tryIt is a command that shows what is served.
func tryIt(address string, c *config.Config) string {
	token := "TOKEN"
	switch {
	case c.Token == "" && len(c.Callers) == 0:
		return "Try: curl " + address
	case c.Token != "" && c.From("token") == "environment":
		token = "$" + config.EnvName("token")
	}
	return `Try: curl -H "Authorization: Bearer ` + token + `" ` + address
}

// servingWarnings returns what an operator should know of how sites are served.
func servingWarnings(c *config.Config, targets []*target) []string {
	all := tokenWarnings(c)
	if c.IsRemote() && !c.AutoConnect && c.EgressListen+c.EgressAddress == "" {
		all = append(all, "note: the browser is yours, and pages reach what it reaches, unless --egress-listen confines them")
	}
	if n := len(c.Token); n > 0 && n < shortToken {
		all = append(all, fmt.Sprintf("warning: the token is shorter than %d characters and can "+
			"be guessed", shortToken))
	}
	if c.Approval == "auto" && !c.IsDefault("approval") {
		all = append(all, "warning: --approval auto asks only about tools that say that they "+
			"destroy something or have consequences, and about those of other origins")
	}
	all = append(all, loginWarnings(c, targets)...)
	if c.UserDataDir != "" && !c.AutoConnect {
		all = append(all, "warning: with --user-data-dir every session shares that profile's logins")
	}
	return all
}

// shortToken is the length, in bytes, below which a token is warned about: it can
// be guessed.
const shortToken = 16

// tokenWarnings say which tokens of callers can be guessed.
func tokenWarnings(c *config.Config) (all []string) {
	for _, x := range c.Callers {
		if len(x.Token) < shortToken {
			all = append(all, fmt.Sprintf("warning: the token of %s is shorter than %d characters "+
				"and can be guessed", text.Line(x.Name), shortToken))
		}
	}
	return all
}

// callerWarnings name sites of callers that are not served: they are probably misspelled.
func callerWarnings(c *config.Config, targets []*target) (all []string) {
	var names []string
	for _, t := range targets {
		names = append(names, t.Name)
	}
	for _, x := range c.Callers {
		for _, site := range x.Sites {
			if slices.Contains(names, site) {
				continue
			}
			hint := ""
			if near := text.Nearest(site, names); near != "" {
				hint = "; did you mean " + near + "?"
			}
			all = append(all, fmt.Sprintf("warning: %s:%d: the caller %s names the site %q, "+
				"which is not served here%s", c.File, x.Line, text.Line(x.Name),
				text.Line(site), hint))
		}
	}
	return all
}

// loginWarnings say what stored logins mean for callers, when there are some.
func loginWarnings(c *config.Config, targets []*target) (all []string) {
	known := map[string]bool{}
	if c.Token != "" {
		known[tokenCaller] = true
	}
	for _, x := range c.Callers {
		known[x.Name] = true
	}
	for _, t := range targets {
		if len(known) > 0 && (t.config.DefaultProfile != "" || t.named && c.StorageState != "") {
			all = append(all, "warning: every caller uses "+t.Name+" with the same stored login")
		}
		for _, x := range t.config.Profiles {
			for _, name := range x.Callers {
				if len(known) > 0 && !known[name] || len(known) == 0 &&
					name != bridge.Local().Name {
					all = append(all, fmt.Sprintf("warning: %s: the profile %s is for the caller %s, "+
						"and there is none of that name", t.Name, x.Name, text.Line(name)))
				}
			}
		}
	}
	return all
}

// warnOfFile says what is unsafe about how tokens are kept.
func warnOfFile(w io.Writer, c *config.Config) {
	if c.OpenToOthers {
		fmt.Fprintf(w, "pagetools: warning: %s holds tokens, and others can "+
			"read it. %s.\n", c.File, files.ToClose(c.File))
	}
}

package main

import (
	"errors"
	"strings"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/session"
)

// This file holds what people are advised to do. Advice must be true in the situation in
// which it is given: TestAdvice has a row for each.

// advice says what to do about a failure of this run, or "".
func (p *program) advice(e *bridge.Error) string {
	switch {
	case e.Code == bridge.ApprovalRequired || e.Code == bridge.InputRequired:
		return consentAdvice(e)
	case e.Code == bridge.ApprovalDenied && e.Err != nil: // by policy, and not by a person
		return because(e.Err) + "--approval and the approval of the configuration file say what may run."
	case e.Reason == bridge.Certificate:
		return p.certificateAdvice()
	case e.Reason == bridge.Unreachable:
		return "`pagetools doctor TARGET` names the step that fails."
	case e.Reason == bridge.ResultTooLarge:
		return "`limits: {result: BYTES}` in a file that --config names raises the limit."
	case e.Reason == bridge.Timeout && e.Outcome != bridge.NotRun && p.conf.CallTimeout < config.MaxCallTimeout:
		return "--call-timeout gives it longer."
	}
	return ""
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
	text := terminal.Plain(err.Error())
	return strings.ToUpper(text[:1]) + text[1:] + ". "
}

// isRemote reports whether the browser is one that was started elsewhere.
func (p *program) isRemote() bool { return p.conf.BrowserURL+p.conf.WSEndpoint != "" }

func (p *program) certificateAdvice() string {
	switch {
	case p.isRemote():
		return "The browser that runs elsewhere decides which certificates it accepts."
	case p.conf.AcceptInsecureCerts:
		return ""
	}
	return "--accept-insecure-certs accepts it; only for sites of your own."
}

// noTools says what to do about a page without tools.
func (p *program) noTools(findings []bridge.Finding) string {
	text := "the page declares no tools. `pagetools doctor TARGET` looks for the reason"
	for _, f := range findings {
		if f.Rule == session.RuleUnmet || f.Rule == bridge.RuleStatus {
			return text + "."
		}
	}
	return text + "; --wait-for tool:NAME waits for one that comes late."
}

// tryIt is a command that shows what is served.
func (p *program) tryIt(address string) string {
	token := "TOKEN"
	switch {
	case p.conf.Token == "" && len(p.conf.Callers) == 0:
		return "Try: curl " + address
	case p.conf.Token != "" && p.conf.From("token") == "environment":
		token = "$" + config.EnvName("token")
	}
	return `Try: curl -H "Authorization: Bearer ` + token + `" ` + address
}

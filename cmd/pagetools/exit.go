package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
)

// exitCodes maps the codes that do not exit with terminal.ExitTool.
var exitCodes = map[bridge.Code]int{
	bridge.SchemaError: terminal.ExitUsage, bridge.ConfigError: terminal.ExitUsage, bridge.WebtoolNotFound: terminal.ExitUsage,
	bridge.Unauthorized: terminal.ExitAuth, bridge.Forbidden: terminal.ExitAuth,
	bridge.ApprovalRequired: terminal.ExitConsent, bridge.ApprovalDenied: terminal.ExitConsent,
	bridge.InputRequired: terminal.ExitConsent,
}

// unreachableReasons lists the reasons of the site, the browser and the engine.
var unreachableReasons = []bridge.Reason{
	bridge.Unreachable, bridge.Certificate, bridge.OriginBlocked, bridge.BrowserLost,
	bridge.Draining, bridge.Overload, bridge.NoQuorum,
}

// exitCode returns the exit code of an error of the bridge.
func exitCode(e *bridge.Error) int {
	if needsLogin(e) {
		return terminal.ExitAuth
	}
	if code, ok := exitCodes[e.Code]; ok {
		return code
	}
	if slices.Contains(unreachableReasons, e.Reason) {
		return terminal.ExitUnreachable
	}
	return terminal.ExitTool
}

// failure holds the line that a failure prints with --format json.
type failure struct {
	Error failureBody `json:"error"`
}

type failureBody struct {
	Code    bridge.Code    `json:"code"`
	Reason  bridge.Reason  `json:"reason"`
	Message string         `json:"message"`
	Outcome bridge.Outcome `json:"outcome"`
	Call    string         `json:"call,omitempty"` // in the log, the record of calls and the audit
}

// finish prints what went wrong and returns the exit code.
func (p *program) finish(ctx context.Context, err error) int {
	interrupted, ok := errors.AsType[errInterrupted](context.Cause(ctx))
	stopped := ok && !p.endsBySignal && (interrupted.signal == os.Interrupt || err != nil)
	var shown *terminal.ShownError
	switch {
	case stopped && (err == nil || !p.json()):
		return terminal.ExitInterrupted // the person who stopped it knows
	case err == nil:
		return terminal.ExitOK
	case errors.Is(err, errUsageShown):
		return terminal.ExitUsage
	case errors.As(err, &shown):
		return shown.Code
	}
	body, code := failureOf(err)
	if stopped {
		code = terminal.ExitInterrupted
	}
	e, ok := errors.AsType[*bridge.Error](err)
	if ok && e.Err != nil {
		p.log.Debug("the cause", "error", e.Err)
	}
	if p.json() {
		if line, err := json.Marshal(failure{body}); err == nil {
			fmt.Fprintln(p.stderr, text.Escape(string(line)))
			return code
		}
	}
	words := "pagetools: " + text.Line(body.Message)
	if ok {
		if e.Reason == bridge.BrowserLost && e.Err != nil {
			words += " " + text.Line(e.Err.Error()) + "." // the browser is this person's own
		}
		if advice := adviceOn(e, p.conf, p.target); advice != "" {
			if !strings.ContainsAny(words[len(words)-1:], ".?!") {
				words += "." // of a stranger's text
			}
			words += " " + advice
		}
	}
	fmt.Fprintln(p.stderr, words)
	return code
}

// failureOf returns the public form of an error, and its exit code.
func failureOf(err error) (failureBody, int) {
	if e, ok := errors.AsType[*bridge.Error](err); ok {
		call, _ := e.Details[bridge.DetailCall].(string)
		return failureBody{e.Code, e.Reason, e.Message, e.Outcome, call}, exitCode(e)
	}
	body := failureBody{Code: bridge.InternalError, Reason: bridge.Internal, Message: err.Error(),
		Outcome: bridge.NotRun}
	ours, ok := errors.AsType[*terminal.ExitError](err)
	switch {
	case !ok:
		return body, terminal.ExitTool
	case ours.Code == terminal.ExitUnreachable:
		body.Reason = bridge.BrowserLost
	default:
		body.Code, body.Reason = bridge.ConfigError, ""
	}
	return body, ours.Code
}

// json reports whether a failure is printed as JSON. An error may come before the
// settings are known: then flags and environment are looked at as they are.
func (p *program) json() bool {
	if p.conf != nil {
		return p.conf.JSON()
	}
	c := config.Config{Format: os.Getenv(config.EnvName("format"))}
	for i, a := range p.args {
		if v, ok := strings.CutPrefix(a, "--format="); ok {
			c.Format = v
		} else if a == "--format" && i+1 < len(p.args) {
			c.Format = p.args[i+1]
		}
	}
	return c.JSON()
}

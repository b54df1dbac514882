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
)

// Exit codes of the contract.
const (
	exitOK          = 0
	exitFindings    = 1
	exitUsage       = 2
	exitAuth        = 3
	exitUnreachable = 4
	exitTool        = 5
	exitConsent     = 6
	exitInterrupted = 130
)

// exitError ends the program with a code and one line.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

func usage(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Errorf(format, args...)}
}

func unreachable(format string, args ...any) error {
	return &exitError{exitUnreachable, fmt.Errorf(format, args...)}
}

// exitCodes are those of codes that do not exit with exitTool.
var exitCodes = map[bridge.Code]int{
	bridge.SchemaError: exitUsage, bridge.ConfigError: exitUsage, bridge.WebtoolNotFound: exitUsage,
	bridge.Unauthorized: exitAuth, bridge.Forbidden: exitAuth,
	bridge.ApprovalRequired: exitConsent, bridge.ApprovalDenied: exitConsent,
	bridge.InputRequired: exitConsent,
}

// unreachableReasons are those of the site, the browser and the engine.
var unreachableReasons = []bridge.Reason{
	bridge.Unreachable, bridge.Certificate, bridge.OriginBlocked, bridge.BrowserLost,
	bridge.Draining, bridge.Overload,
}

// exitCode returns the exit code of an error of the bridge.
func exitCode(e *bridge.Error) int {
	if needsLogin(e) {
		return exitAuth
	}
	if code, ok := exitCodes[e.Code]; ok {
		return code
	}
	if slices.Contains(unreachableReasons, e.Reason) {
		return exitUnreachable
	}
	return exitTool
}

// failure is the one line that a failure prints with --format json.
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
	var shown *shownError
	switch {
	case stopped && (err == nil || !p.json()):
		return exitInterrupted // the person who stopped it knows
	case err == nil:
		return exitOK
	case errors.Is(err, errUsageShown):
		return exitUsage
	case errors.As(err, &shown):
		return shown.code
	}
	body, code := failureOf(err)
	if stopped {
		code = exitInterrupted
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
	ours, ok := errors.AsType[*exitError](err)
	switch {
	case !ok:
		return body, exitTool
	case ours.code == exitUnreachable:
		body.Reason = bridge.BrowserLost
	default:
		body.Code, body.Reason = bridge.ConfigError, ""
	}
	return body, ours.code
}

// json reports whether a failure is printed as JSON. An error may come before the
// settings are known: then flags and environment are looked at as they are.
func (p *program) json() bool {
	format := ""
	if p.conf != nil {
		format = p.conf.Format
	} else {
		if v := os.Getenv(config.EnvName("format")); v != "" {
			format = v
		}
		for i, a := range p.args {
			if v, ok := strings.CutPrefix(a, "--format="); ok {
				format = v
			} else if a == "--format" && i+1 < len(p.args) {
				format = p.args[i+1]
			}
		}
	}
	return format == "json" || format == "ndjson"
}

// shownError ends the program with a code when everything was printed already.
type shownError struct{ code int }

func (e *shownError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

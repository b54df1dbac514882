package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/pagetools/pagetools/bridge"
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

// exitCode gives the code of an error of the bridge.
func exitCode(e *bridge.Error) int {
	switch e.Code {
	case bridge.SchemaError, bridge.ConfigError, bridge.WebtoolNotFound:
		return exitUsage
	case bridge.Unauthorized, bridge.Forbidden:
		return exitAuth
	case bridge.ApprovalRequired, bridge.ApprovalDenied:
		return exitConsent
	}
	switch e.Reason {
	case bridge.Unreachable, bridge.Certificate, bridge.OriginBlocked, bridge.BrowserLost, bridge.Draining, bridge.Overload:
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
}

// finish prints what went wrong and gives the exit code.
func (p *program) finish(ctx context.Context, err error) int {
	if interrupted, ok := errors.AsType[errInterrupted](context.Cause(ctx)); ok && interrupted.signal == os.Interrupt {
		return exitInterrupted
	}
	var shown *shownError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errUsageShown):
		return exitUsage
	case errors.As(err, &shown):
		return shown.code
	}
	body := failureBody{Code: bridge.ConfigError, Message: err.Error(), Outcome: bridge.NotRun}
	code := exitUsage
	if e, ok := errors.AsType[*bridge.Error](err); ok {
		body = failureBody{Code: e.Code, Reason: e.Reason, Message: e.Message, Outcome: e.Outcome}
		code = exitCode(e)
		if e.Err != nil && p.set.verbose {
			p.log.Debug("the cause", "error", e.Err)
		}
	}
	if e, ok := errors.AsType[*exitError](err); ok {
		code = e.code
		if code == exitUnreachable {
			body.Code, body.Reason = bridge.InternalError, bridge.BrowserLost
		}
	}
	if p.set.format != "text" && p.set.format != "" {
		if line, err := json.Marshal(failure{body}); err == nil {
			fmt.Fprintln(p.stderr, string(line))
			return code
		}
	}
	text := "pagetools: " + plain(body.Message)
	if hint := hintFor(body); hint != "" {
		text += " " + hint
	}
	fmt.Fprintln(p.stderr, text)
	return code
}

// shownError ends the program with a code when everything was printed already.
type shownError struct{ code int }

func (e *shownError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// hintFor says what to do about a failure.
func hintFor(b failureBody) string {
	switch {
	case b.Code == bridge.ApprovalRequired:
		return "Run it on a terminal to be asked, or give --approval auto."
	case b.Reason == bridge.Certificate:
		return "--accept-insecure-certs accepts it; only for sites of your own."
	case b.Reason == bridge.Unreachable:
		return "`pagetools doctor TARGET` names the step that fails."
	case b.Reason == bridge.Timeout:
		return "--call-timeout gives it longer."
	}
	return ""
}

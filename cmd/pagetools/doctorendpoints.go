package main

import (
	"context"
	"fmt"

	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/session/cdp"
	"github.com/pagetools/pagetools/session/cdp/endpoint"
)

// begin starts the browser, or asks each of those that run elsewhere.
func (d *doctor) begin(ctx context.Context, e *cdp.Engine) error {
	all, err := endpoints(d.p.conf)
	if err != nil {
		return err
	}
	var failed error
	for _, at := range all {
		if err := d.endpoint(ctx, e, at); err != nil {
			failed = err
		}
	}
	if len(all) > 0 {
		return failed
	}
	version, err := e.Start(ctx)
	if err != nil {
		fix := "Start the browser by hand with --headless to see what it says."
		if d.p.conf.AutoConnect {
			fix = ""
		}
		return d.fail(terminal.ExitUnreachable, "start", fix, cause(err))
	}
	d.ok("start", "%s answers", version)
	return nil
}

// endpoint connects to a browser that runs elsewhere, and says whether its pages outlive a connection.
func (d *doctor) endpoint(ctx context.Context, e *cdp.Engine, at endpoint.Endpoint) error {
	name := ""
	if at.Name != "" {
		name = at.Name + ": "
	}
	version, again, err := e.Check(ctx, at)
	if err != nil {
		return d.fail(terminal.ExitUnreachable, "start", endpointFix(at), fmt.Errorf("%s%w", name, err))
	}
	outlive := "its pages end with the connection"
	if again {
		outlive = "its pages can be attached to again"
	}
	d.ok("start", "%s%s answers; %s", name, text.Line(version), outlive)
	return nil
}

// endpointFix says what to look at where no browser was had.
func endpointFix(at endpoint.Endpoint) string {
	switch {
	case at.WebDriver != "":
		return "Does the WebDriver server run, and does it start Chrome? Its sessions need the capability se:cdp, as those of a Selenium Grid have it."
	case len(at.Command) > 0:
		return `Run the command by hand: it must print {"url":…}, and go on until its stdin is closed.`
	}
	return "Does a browser listen there? It is started with --remote-debugging-port."
}

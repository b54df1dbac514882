package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/session"
)

func loginCommand(p *program) *cobra.Command {
	var to string
	c := &cobra.Command{
		Use:   "login TARGET --save-storage-state FILE",
		Short: "Open a site in a visible browser, and keep the login that you make there",
		Long: "Opens a site in a visible browser. Log in there, then press Enter here: " +
			"what the browser holds\n" +
			"for the site is written to FILE, for --storage-state and for profiles of " +
			"the configuration file.",
		Args: exactly(1, "TARGET"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if to == "" {
				return usage("login needs --save-storage-state FILE; see pagetools login --help")
			}
			return login(cmd.Context(), p, args[0], stateTarget(to))
		},
	}
	saveFlag(c, &to)
	return c
}

// saveFlag is the flag of commands that can keep a login.
func saveFlag(c *cobra.Command, to *string) {
	c.Flags().StringVar(to, "save-storage-state", "",
		"write the login that the page holds at the end to this file, which --storage-state reads")
}

func login(ctx context.Context, p *program, arg string, to stateTarget) error {
	if err := to.check(); err != nil {
		return err
	}
	if p.conf.IsDefault("headless") {
		p.conf.Headless = false
	}
	if err := needsDisplay(p.conf); err != nil {
		return err
	}
	a, t, err := p.one(ctx, arg, plan{login: true})
	if err != nil {
		return err
	}
	defer p.end(a)
	page, err := to.page(ctx, a, t)
	if err != nil {
		return err
	}
	p.say("log in in the browser's window, then press Enter here")
	if err := enter(ctx, p.stdin, page); err != nil {
		return err
	}
	return to.save(ctx, p, page)
}

// needsDisplay refuses to start a visible browser where there is no display.
func needsDisplay(c *config.Config) error {
	if c.Headless || isRemote(c) || runtime.GOOS != "linux" ||
		os.Getenv("DISPLAY")+os.Getenv("WAYLAND_DISPLAY") != "" {
		return nil
	}
	return unreachable("login shows a browser, and there is no display: neither DISPLAY nor " +
		"WAYLAND_DISPLAY is set. " +
		"Run it on a desktop, or give --headless for a page that logs in by itself.")
}

// enter waits for a line of standard input, or its end, as long as the page lives.
func enter(ctx context.Context, stdin io.Reader, page *session.Page) error {
	pressed := make(chan struct{})
	go func() { // ends with the line, or with the program
		_, _ = bufio.NewReader(stdin).ReadString('\n') // its end counts, too
		close(pressed)
	}()
	select {
	case <-pressed:
		return nil
	case <-page.Gone():
		return bridge.Errorf(bridge.InternalError, bridge.BrowserLost, bridge.NotRun,
			"The page was closed before its login was saved. Nothing was written.")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

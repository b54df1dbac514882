package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport/console"
)

func consoleCommand(p *program) *cobra.Command {
	var open bool
	c := &cobra.Command{
		Use:   "console",
		Short: "Show a link to the operators' page that logs in once",
		Long: "Shows a link to the page where a person answers the questions of all pagetools of this user.\n" +
			"It logs in once, within a minute, and is shown at the terminal only.",
		Args: exactly(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error { return openConsole(cmd.Context(), p, open) },
	}
	c.Flags().BoolVar(&open, "open", false, "open it in the browser of this desktop")
	return c
}

// openConsole shows a link to the operators' page, or opens it.
func openConsole(ctx context.Context, p *program, open bool) error {
	a := &approver{p: p}
	live, err := a.live()
	if err != nil {
		return err
	}
	_, by := console.Page(ctx, live)
	if by == nil {
		return unreachable("no pagetools that runs serves the operators' page: start one without --console-listen off")
	}
	tty, err := os.OpenFile("/dev/tty", os.O_WRONLY, 0)
	if err != nil && !open {
		return bridge.Errorf(bridge.Forbidden, "", bridge.NotRun,
			"The link logs in, so that it is shown at a terminal only, and there is none.")
	}
	if err == nil {
		defer func() { _ = tty.Close() }()
	}
	var link struct{ URL string }
	if err := a.request(ctx, by, http.MethodPost, "/api/links", struct{}{}, &link); err != nil {
		return err
	}
	if !open {
		_, err = fmt.Fprintln(tty, link.URL)
		return err
	}
	opener := map[string][]string{"darwin": {"open"}, "windows": {"rundll32", "url.dll,FileProtocolHandler"}}[runtime.GOOS]
	if opener == nil {
		opener = []string{"xdg-open"}
	}
	if err := exec.CommandContext(ctx, opener[0], append(opener[1:], link.URL)...).Run(); err != nil {
		return unreachable("%s could not open the page: %w. Without --open the link is shown.", opener[0], err)
	}
	p.say("the operators' page is open in your browser")
	return nil
}

package main

import (
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/spf13/cobra"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/transport"
)

func reloadCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "reload",
		Short: "Make servers read the sites and callers of their configuration files again",
		Long: "Makes every pagetools serve of this user that has a configuration file read its sites and " +
			"callers again.\nWhere the system has signals, SIGHUP does the same for one process.",
		Args: exactly(0, "no argument"),
		RunE: func(cmd *cobra.Command, _ []string) error { return reload(cmd.Context(), p) },
	}
}

// reloaded is the answer to a request to read the file again, in JSON.
type reloaded struct {
	Reloaded bool   `json:"reloaded"`
	Said     string `json:"said"`
}

// reloads has the JSON of reload.
type reloads struct {
	Processes []reloaded `json:"processes"`
}

// reloadPath is a path of the inbox only.
const reloadPath = "/api/reload"

// reloadRoute serves `pagetools reload`.
func (o *operators) reloadRoute() transport.Route {
	return transport.Route{Pattern: reloadPath, Methods: map[string]http.HandlerFunc{http.MethodPost: o.reload}}
}

func (o *operators) reload(w http.ResponseWriter, r *http.Request) {
	if o.who.again == nil {
		transport.WriteError(w, r, bridge.Errorf(bridge.Conflict, "", bridge.NotRun, "This pagetools has no configuration file."))
		return
	}
	got, ok := o.who.ask(r.Context(), o.done)
	switch {
	case ok:
		transport.WriteJSON(w, r, http.StatusOK, got)
	case r.Context().Err() == nil:
		transport.WriteError(w, r, bridge.Errorf(bridge.Conflict, "", bridge.NotRun, "This pagetools is about to end."))
	}
}

// reload asks all processes of the data folder, one after the other.
func reload(ctx context.Context, p *program) error {
	a := &approver{p: p}
	live, err := a.live()
	if err != nil {
		return err
	}
	all, failed := reloads{Processes: []reloaded{}}, error(nil)
	for _, name := range slices.Sorted(maps.Keys(live)) {
		var got reloaded
		err := a.request(ctx, live[name], http.MethodPost, reloadPath, struct{}{}, &got)
		switch {
		case err != nil && bridge.AsError(err).Code == bridge.Conflict: // it has no file, or ends
		case err != nil:
			failed = err
		default:
			all.Processes = append(all.Processes, got)
			if !got.Reloaded {
				failed = terminal.Usage("%s", text.Line(got.Said))
			} else if p.conf.Format == "text" {
				p.say("%s", text.Line(got.Said))
			}
		}
	}
	if failed == nil && len(all.Processes) > 0 && p.conf.Format != "text" {
		return terminal.Encode(p.stdout, all)
	}
	if failed == nil && len(all.Processes) == 0 {
		return terminal.Unreachable("no pagetools serve with a configuration file runs: start one with --config FILE")
	}
	return failed
}

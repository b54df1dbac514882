package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/console"
)

// given is what the flags of approve say.
type given struct {
	yes, no, always bool
	value           string
	list            bool
	revoke          string
	picture         string
}

func approveCommand(p *program) *cobra.Command {
	var g given
	c := &cobra.Command{
		Use:   "approve [ID]",
		Short: "List the calls that wait for a person, or answer one of them",
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) > 1:
				return usage("approve takes one ID at most")
			case g.list && (len(args) > 0 || g != given{list: true}), g.revoke != "" &&
				(len(args) > 0 || g != given{revoke: g.revoke}):
				return usage("--list and --revoke stand alone")
			case g.picture != "" && (len(args) == 0 || g != given{picture: g.picture}):
				return usage("--picture goes with the ID of a question, and with nothing else")
			case len(args) == 0 && g != given{list: g.list, revoke: g.revoke}:
				return usage("an answer needs the ID of a question")
			case g.yes && g.no, g.no && (g.always || g.value != ""):
				return usage("--no goes with no other answer")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			a := &approver{p}
			switch {
			case g.list:
				return listGrants(cmd.Context(), p)
			case g.revoke != "":
				return revokeGrant(cmd.Context(), p, g.revoke)
			case len(args) == 0:
				return a.listQuestions(cmd.Context())
			case g.picture != "":
				return a.savePicture(cmd.Context(), args[0], g.picture)
			}
			return a.answerQuestion(cmd.Context(), args[0], g)
		},
	}
	c.Flags().BoolVar(&g.yes, "yes", false, "agree")
	c.Flags().BoolVar(&g.no, "no", false, "decline")
	c.Flags().StringVar(&g.value, "value", "",
		"agree, with this JSON value: the text of a prompt, or what an interaction resolves to")
	c.Flags().BoolVar(&g.always, "always", false,
		"agree, and keep the consent where that is allowed")
	c.Flags().StringVar(&g.picture, "picture", "",
		"write a picture of the page that asks to this file, as a PNG")
	c.Flags().BoolVar(&g.list, "list", false, "list the consent that was kept")
	c.Flags().StringVar(&g.revoke, "revoke", "", "take back the kept consent with this ID")
	return c
}

// approver sends requests to the processes whose calls wait.
type approver struct{ p *program }

// console sends a request to the process that serves the socket, and reads its reply:
// bytes as they are, anything else as JSON.
func (a *approver) console(ctx context.Context, method, path string, body any, into any) error {
	socket, err := socketPath(a.p.conf)
	if err != nil {
		return &exitError{exitUnreachable, err}
	}
	client := http.Client{Timeout: 10 * time.Second,
		Transport: &http.Transport{DisableKeepAlives: true,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				var d net.Dialer
				return d.DialContext(ctx, "unix", socket)
			}}}
	var sent io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("encoding the answer: %w", err)
		}
		sent = bytes.NewReader(b)
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://console"+path, sent)
	if err != nil {
		return fmt.Errorf("asking %s: %w", socket, err)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := client.Do(r)
	if err != nil {
		return &exitError{exitUnreachable,
			errors.New("no pagetools serves " + socket + ": start `pagetools serve`, with the same --data-dir")}
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		var e struct{ Error transport.ErrorBody }
		if err := json.NewDecoder(resp.Body).Decode(&e); err != nil {
			return fmt.Errorf("reading the console's answer: %w", err)
		}
		return &bridge.Error{Code: e.Error.Code, Reason: e.Error.Reason, Outcome: e.Error.Outcome,
			Message: e.Error.Message}
	}
	if raw, ok := into.(*[]byte); ok {
		*raw, err = io.ReadAll(io.LimitReader(resp.Body, maxPicture))
	} else {
		err = json.NewDecoder(resp.Body).Decode(into)
	}
	if err != nil {
		return fmt.Errorf("reading the console's answer: %w", err)
	}
	return nil
}

// maxPicture bounds what is read of a picture, in bytes.
const maxPicture = 64 << 20

// savePicture writes a picture of the page that asks.
func (a *approver) savePicture(ctx context.Context, id, path string) error {
	var png []byte
	if err := a.console(ctx, http.MethodGet, "/api/questions/"+url.PathEscape(id)+"/picture", nil,
		&png); err != nil {
		return err
	}
	if err := os.WriteFile(path, png, 0o600); err != nil {
		return usage("--picture: %w", err)
	}
	a.p.say("wrote %s", terminal.Plain(path))
	return nil
}

func (a *approver) questions(ctx context.Context) ([]bridge.OpenQuestion, error) {
	var all console.Questions
	err := a.console(ctx, http.MethodGet, "/api/questions", nil, &all)
	return all.Questions, err
}

func (a *approver) listQuestions(ctx context.Context) error {
	list, err := a.questions(ctx)
	if err != nil {
		return err
	}
	if a.p.conf.Format != "text" {
		return terminal.Encode(a.p.stdout, console.Questions{Questions: list})
	}
	if len(list) == 0 {
		a.p.say("no call waits for a person")
		return nil
	}
	for _, q := range list {
		fmt.Fprintf(a.p.stdout, "%s  %s  %s  asked by %s for %s, until %s\n%s", q.ID, q.Kind,
			terminal.Plain(q.Site), terminal.Plain(q.Caller),
			terminal.Plain(q.Tool), q.ExpiresAt.Local().Format(time.TimeOnly), described(q.Question))
	}
	return nil
}

// described returns a question for a person, whole: nothing that the person agrees to is
// left out.
func described(q bridge.Question) string {
	text := "  " + terminal.Plain(q.Title) + "\n"
	if q.Detail != "" {
		text += fmt.Sprintf("  The page says: %q\n", terminal.Plain(q.Detail))
	}
	for _, fact := range q.Facts() {
		text += "  " + fact.Name + ": " + terminal.Plain(fact.Text) + "\n"
	}
	return text + "  Arguments: " + schema.Escape(indented(q.Input)) + "\n"
}

func (a *approver) answerQuestion(ctx context.Context, id string, g given) error {
	answer := bridge.Answer{OK: !g.no, Always: g.always}
	if g.value != "" {
		answer.Value = json.RawMessage(g.value)
		if !json.Valid(answer.Value) {
			return usage("--value must be JSON: a text is written in double quotes")
		}
	}
	if g == (given{}) {
		var err error
		if answer, err = a.askFor(ctx, id); err != nil {
			return err
		}
	}
	var ok struct{}
	if err := a.console(ctx, http.MethodPost, "/api/questions/"+url.PathEscape(id), answer,
		&ok); err != nil {
		return err
	}
	a.p.say("answered")
	return nil
}

// askFor asks the person at this terminal for the answer.
func (a *approver) askFor(ctx context.Context, id string) (bridge.Answer, error) {
	list, err := a.questions(ctx)
	if err != nil {
		return bridge.Answer{}, err
	}
	i := slices.IndexFunc(list, func(q bridge.OpenQuestion) bool { return q.ID == id })
	if i < 0 {
		return bridge.Answer{}, bridge.Errorf(bridge.WebtoolNotFound, "", bridge.NotRun,
			"There is no such question.")
	}
	asker, done := a.p.asker(false)
	defer done()
	if asker == nil {
		return bridge.Answer{}, usage("there is no terminal to ask at: give --yes, --no or --value")
	}
	return asker.Ask(ctx, list[i].Question)
}

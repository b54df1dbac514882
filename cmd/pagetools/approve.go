package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/console"
)

// given holds the flags of approve.
type given struct {
	yes, no, always bool
	value, reason   string
	list            bool
	revoke          string
	picture         string
}

func approveCommand(p *program) *cobra.Command {
	var g given
	c := &cobra.Command{
		Use:   "approve [ID]",
		Short: "List the calls that wait for a person, or answer one of them",
		Long: "Lists the calls of all pagetools with this data folder that wait for a person, or asks at the " +
			"terminal\nfor the answer to one of them. --yes, --no, --always and --value answer " +
			"without asking, for those\n" +
			"who have the operators' credential in PAGETOOLS_CONSOLE_TOKEN.",
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) > 1:
				return terminal.Usage("approve takes one ID at most, and %q is too much; "+
					"see pagetools approve --help", text.Line(args[1]))
			case g.list && (len(args) > 0 || g != given{list: true}), g.revoke != "" &&
				(len(args) > 0 || g != given{revoke: g.revoke}):
				return terminal.Usage("--list and --revoke stand alone: leave out the rest")
			case g.picture != "" && (len(args) == 0 || g != given{picture: g.picture}):
				return terminal.Usage("--picture needs the ID of a question and nothing else, " +
					"such as pagetools approve ID --picture page.png")
			case len(args) == 0 && g != given{list: g.list, revoke: g.revoke}:
				return terminal.Usage("an answer needs the ID of a question, which pagetools " +
					"approve lists")
			case g.yes && g.no, g.no && (g.always || g.value != ""):
				return terminal.Usage("--no goes with no other answer: leave out the rest, or --no")
			case g.reason != "" && !g.no:
				return terminal.Usage("--reason needs --no: it tells the caller why you refuse")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			a := &approver{p: p}
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
	c.Flags().StringVar(&g.reason, "reason", "",
		"with --no, tell the caller why, in 200 characters at most")
	c.Flags().StringVar(&g.picture, "picture", "",
		"write a picture of the page that asks to this file, as a PNG")
	c.Flags().BoolVar(&g.list, "list", false, "list the consent that was kept")
	c.Flags().StringVar(&g.revoke, "revoke", "", "take back the kept consent with this ID, or its beginning")
	return c
}

// approver sends requests to the processes whose calls wait.
type approver struct {
	p        *program
	inbox    inbox
	patience time.Duration // with one process; 0 is 10 s
}

// live are the sockets of the processes that share the data directory.
func (a *approver) live() (map[string]http.RoundTripper, error) {
	var err error
	if a.inbox, err = openInbox(a.p.conf); err != nil {
		return nil, terminal.Unreachable("%w", err)
	}
	live := console.Live(context.Background(), a.inbox.peers())
	if len(live) == 0 {
		return nil, terminal.Unreachable("no pagetools runs with the data directory %s: "+
			"start one, or name its directory with --data-dir", filepath.Dir(a.inbox.folder))
	}
	return live, nil
}

// holder returns the process that asks a question, and the question's whole ID: its beginning is
// enough, where no other question begins so.
func (a *approver) holder(ctx context.Context, id string) (http.RoundTripper, string, error) {
	live, err := a.live()
	if err != nil {
		return nil, "", err
	}
	holder := console.Holder(ctx, live, id)
	if holder != nil {
		return holder, id, nil
	}
	var ids []string
	for _, q := range console.Ask(ctx, live) {
		ids = append(ids, q.ID)
	}
	whole, err := beginning(id, ids)
	if whole != "" {
		holder = console.Holder(ctx, live, whole)
	}
	if holder == nil && err == nil {
		err = bridge.Errorf(bridge.WebtoolNotFound, "", bridge.NotRun,
			"There is no question %q. `pagetools approve` lists those that wait.", id)
	}
	return holder, whole, err
}

// minPrefix sets how much of an ID names a question, or kept consent.
const minPrefix = 3

// beginning returns the one ID that begins so, in whatever case, or "" where none does.
func beginning(id string, all []string) (string, error) {
	var meant []string
	for _, one := range all {
		if id != "" && len(id) <= len(one) && strings.EqualFold(one[:len(id)], id) {
			meant = append(meant, one)
		}
	}
	switch {
	case len(meant) > 1 && len(id) >= minPrefix:
		return "", terminal.Usage("%q is the beginning of %s: give more of it", text.Line(id), text.List(meant, "and"))
	case len(meant) > 0 && len(id) < minPrefix:
		return "", terminal.Usage("%q is too little of an ID: give at least %d characters", text.Line(id), minPrefix)
	case len(meant) == 0:
		return "", nil
	}
	return meant[0], nil
}

// request sends a request to a process, and reads its reply: bytes as they are, anything
// else as JSON.
func (a *approver) request(ctx context.Context, to http.RoundTripper, method, path string,
	body, into any) error {
	client := http.Client{Timeout: cmp.Or(a.patience, 10*time.Second), Transport: to}
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
		return fmt.Errorf("asking the process: %w", err)
	}
	r.Header.Set(console.OperatorHeader, "terminal")
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := client.Do(r)
	if err != nil {
		return terminal.Unreachable("the process that asks does not answer any more; it may have taken the answer")
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

func (a *approver) savePicture(ctx context.Context, id, path string) error {
	holder, id, err := a.holder(ctx, id)
	if err != nil {
		return err
	}
	var png []byte
	if err := a.request(ctx, holder, http.MethodGet, "/api/questions/"+url.PathEscape(id)+
		"/picture", nil, &png); err != nil {
		return err
	}
	if err := os.WriteFile(path, png, 0o600); err != nil {
		return terminal.Usage("--picture: %w", err)
	}
	a.p.say("wrote %s", text.Line(path))
	return nil
}

func (a *approver) listQuestions(ctx context.Context) error {
	live, err := a.live()
	if err != nil {
		return err
	}
	list := console.Ask(ctx, live)
	if a.p.conf.Format != "text" {
		return terminal.Encode(a.p.stdout, console.Questions{Questions: list})
	}
	if len(list) == 0 {
		a.p.say("no call waits for a person")
		return nil
	}
	for _, q := range list {
		fmt.Fprintf(a.p.stdout, "%s  %s  %s  asked by %s for %s, until %s\n%s", q.ID, q.Kind,
			text.Line(q.Site), text.Line(q.Caller),
			text.Line(q.Tool), q.ExpiresAt.Local().Format(time.TimeOnly), described(q.Question))
	}
	a.p.say("answer one with `pagetools approve ID` at a terminal, or at the operators' page, " +
		"which `pagetools console` opens")
	return nil
}

// described returns a question for a person, whole: nothing that the person agrees to is
// left out.
func described(q bridge.Question) string {
	words := "  " + text.Line(q.Title) + "\n"
	if q.Detail != "" {
		words += fmt.Sprintf("  The %s says: %q\n", q.Speaker(), text.Line(q.Detail))
	}
	for _, fact := range q.Facts() {
		words += "  " + fact.Name + ": " + text.Line(fact.Text) + "\n"
	}
	if len(q.Secrets) > 0 {
		words += "  Of the arguments, *** is a secret that nobody is shown.\n"
	}
	return words + "  Arguments: " + text.Escape(indented(q.Input)) + "\n"
}

// consoleToken is the variable that holds the operators' credential.
const consoleToken = "PAGETOOLS_CONSOLE_TOKEN" //nolint:gosec // the name of it

// isOperator reports whether the caller of the program has shown the operators' credential.
func (a *approver) isOperator() (bool, error) {
	given := os.Getenv(consoleToken)
	if given == "" {
		return false, nil
	}
	want, err := kept(a.p.conf, consoleTokenName, func() []byte { return []byte(rand.Text()) })
	if err != nil {
		return false, err
	}
	if subtle.ConstantTimeCompare([]byte(given), bytes.TrimSpace(want)) != 1 {
		return false, bridge.Errorf(bridge.Forbidden, "", bridge.NotRun,
			"%s does not hold the operators' credential.", consoleToken)
	}
	return true, nil
}

// answerQuestion answers a question: as the person at the terminal says, or as the flags
// say, with the operators' credential. Without it flags answer nothing: whoever runs
// programs for a model would answer for the person.
func (a *approver) answerQuestion(ctx context.Context, id string, g given) error {
	answer := reply{Answer: bridge.Answer{OK: !g.no, Always: g.always}, Reason: g.reason}
	if g.value != "" {
		answer.Value = json.RawMessage(g.value)
		if !json.Valid(answer.Value) {
			return terminal.Usage("--value must be JSON: a text is written in double quotes")
		}
	}
	operator, err := a.isOperator()
	switch {
	case err != nil:
		return err
	case g != (given{}) && !operator:
		return bridge.Errorf(bridge.Forbidden, "", bridge.NotRun,
			"An answer on the command line needs the operators' credential in %s. "+
				"A person answers with `pagetools approve ID` at a terminal, or at the operators' page.",
			consoleToken)
	}
	holder, id, err := a.holder(ctx, id)
	if err != nil {
		return err
	}
	path := "/api/questions/" + url.PathEscape(id)
	if g == (given{}) {
		var q bridge.OpenQuestion
		if err := a.request(ctx, holder, http.MethodGet, path, nil, &q); err != nil {
			return err
		}
		if q.ID == "" {
			return bridge.Errorf(bridge.Conflict, "", bridge.NotRun, "The question is not open any more.")
		}
		if answer, err = a.askFor(ctx, q); err != nil {
			return err
		}
	}
	var ok struct{}
	if err := a.request(ctx, holder, http.MethodPost, path, answer, &ok); err != nil {
		return err
	}
	a.p.say("answered")
	return nil
}

// reply is an answer as the operators' API takes it.
type reply struct {
	bridge.Answer

	Reason string `json:"reason,omitempty"`
}

// askFor asks the person at the controlling terminal, whatever the standard streams are.
func (a *approver) askFor(ctx context.Context, q bridge.OpenQuestion) (reply, error) {
	in, err := terminal.OpenInput()
	if err == nil {
		defer func() { _ = in.Close() }()
	}
	out, err2 := terminal.OpenOutput()
	if err2 == nil {
		defer func() { _ = out.Close() }()
	}
	if err != nil || err2 != nil {
		return reply{}, bridge.Errorf(bridge.Forbidden, "", bridge.NotRun,
			"There is no terminal to ask a person at. `pagetools console` opens the operators' page.")
	}
	asker := newTerminalAsker(in, terminal.NewStream(out))
	asker.always, asker.reasons = q.Always, true
	answer, err := asker.Ask(ctx, q.Question)
	return reply{answer, asker.reason}, err
}

// grantList has the JSON of approve --list.
type grantList struct {
	Grants []grantItem `json:"grants"`
}

type grantItem struct {
	ID     string `json:"id"`
	Caller string `json:"caller"`
	// Credential identifies the one that the caller had; empty: none, or from before it
	// was noted.
	Credential string `json:"credential,omitempty"`
	Site       string `json:"site"`
	Tool       string `json:"tool"`
	Digest     string `json:"digest"`
	// Config is the digest of what config changed about the page.
	Config  string `json:"config,omitempty"`
	GivenBy string `json:"givenBy"`
	GivenAt string `json:"givenAt"`
}

func listGrants(ctx context.Context, p *program) error {
	s, err := p.openDataDir(ctx)
	if err != nil {
		return err
	}
	defer p.end(s)
	all, err := s.Grants.All(ctx)
	if err != nil {
		return err
	}
	if p.conf.Format != "text" {
		out := grantList{Grants: make([]grantItem, len(all))}
		for i, g := range all {
			out.Grants[i] = grantItem{g.ID, g.Caller, g.Credential, g.Site, g.Tool, g.Digest,
				g.Config, g.GivenBy, g.GivenAt.Format(time.RFC3339)}
		}
		return terminal.Encode(p.stdout, out)
	}
	if len(all) == 0 {
		p.say("nobody agreed to anything for good")
	}
	for _, g := range all {
		fmt.Fprintf(p.stdout, "%s  %s may run %s on %s, says %s, since %s\n", g.ID,
			text.Line(g.Caller), text.Line(g.Tool), text.Line(g.Site), text.Line(g.GivenBy),
			g.GivenAt.Local().Format(time.DateTime))
	}
	return nil
}

func revokeGrant(ctx context.Context, p *program, id string) error {
	s, err := p.openDataDir(ctx)
	if err != nil {
		return err
	}
	defer p.end(s)
	all, err := s.Grants.All(ctx)
	if err != nil {
		return err
	}
	ids := make([]string, len(all))
	for i, g := range all {
		ids[i] = g.ID
	}
	if _, err := revokeNamed(ctx, id, ids, s.Grants.Revoke, "consent", "approve --list"); err != nil {
		return err
	}
	p.say("revoked")
	return nil
}

// revokeNamed revokes the one of some IDs that is named by its beginning, and returns it. what is
// revoked, and list is the command that lists them.
func revokeNamed(ctx context.Context, id string, ids []string,
	revoke func(context.Context, string) (bool, error), what, list string,
) (whole string, err error) {
	if whole, err = beginning(id, ids); err != nil {
		return "", err
	}
	there, err := revoke(ctx, whole)
	if err == nil && !there {
		err = bridge.Errorf(bridge.WebtoolNotFound, "", bridge.NotRun,
			"There is no %s with the ID %q; see pagetools %s.", what, id, list)
	}
	return whole, err
}

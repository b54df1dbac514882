package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/store"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/authserver"
	"github.com/pagetools/pagetools/transport/console"
)

// pairFlags holds the flags of pair.
type pairFlags struct {
	print, list, json, hash bool
	revoke                  string
}

func pairCommand(p *program) *cobra.Command {
	var f pairFlags
	c := &cobra.Command{
		Use:   "pair [NAME]",
		Short: "Show a code with which a person lets a client in, or end what was let in",
		Long: "Shows a code for the page on which a person lets claude.ai, ChatGPT or another client in. It is " +
			"good for\n10 minutes, once. It is shown at the terminal; where there is none, --print prints it.\n" +
			"--list lists the clients that were let in, and --revoke ends one of them, at once.",
		Args: func(_ *cobra.Command, args []string) error {
			bare := f
			bare.print, bare.json = false, false
			switch {
			case len(args) > 1:
				return terminal.Usage("pair takes one NAME at most, and %q is too much; see pagetools pair --help",
					text.Line(args[1]))
			case bare != pairFlags{} && (len(args) > 0 || f.print),
				bare != pairFlags{} && bare != pairFlags{list: true} && bare != pairFlags{hash: true} && bare != pairFlags{revoke: f.revoke}:
				return terminal.Usage("--list, --revoke and --hash stand alone: leave out the rest")
			case f.json && (f.hash || f.revoke != ""):
				return terminal.Usage("--json is for codes and for --list: leave it out")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			f.json = f.json || p.conf.JSON()
			switch {
			case f.hash:
				return hashPassword(cmd.Context(), p)
			case f.list:
				return listConnections(cmd.Context(), p, f.json)
			case f.revoke != "":
				return revokeConnection(cmd.Context(), p, f.revoke)
			}
			return pair(cmd.Context(), p, strings.Join(args, ""), f)
		},
	}
	c.Flags().BoolVar(&f.print, "print", false, "print the code on standard output where there is no terminal")
	c.Flags().BoolVar(&f.list, "list", false, "list the clients that were let in")
	c.Flags().BoolVar(&f.json, "json", false, "print JSON")
	c.Flags().StringVar(&f.revoke, "revoke", "", "end the client with this ID, or its beginning")
	c.Flags().BoolVar(&f.hash, "hash", false, "read a password, and print what password-hash has of it")
	return c
}

// The paths of pair are in the inbox only.
const (
	pairPath       = "/api/pair"
	disconnectPath = "/api/disconnect"
)

// paired is a code of a process, in JSON.
type paired struct {
	Code   string    `json:"code"`
	Person string    `json:"person"`
	Until  time.Time `json:"until"`
	URL    string    `json:"url"`
}

// named is the request of pair, and of its --revoke.
type named struct {
	Name string `json:"name"`
}

// pairRoutes serve `pagetools pair`.
func (o *operators) pairRoutes() []transport.Route {
	at := func(path string, h func(http.ResponseWriter, *http.Request, *authserver.Server, string)) transport.Route {
		return transport.Route{Pattern: path, Methods: map[string]http.HandlerFunc{http.MethodPost: func(w http.ResponseWriter, r *http.Request) {
			var in named
			body, err := transport.ReadBody(r)
			if err == nil {
				err = json.Unmarshal(body, &in)
			}
			switch {
			case err != nil:
				transport.WriteError(w, r, bridge.AsError(err))
			case o.who.issuers == nil || o.who.issuers.own == nil:
				transport.WriteError(w, r, bridge.Errorf(bridge.Conflict, "", bridge.NotRun, "This pagetools lets nobody in."))
			default:
				h(w, r, o.who.issuers.own, in.Name)
			}
		}}}
	}
	return []transport.Route{
		at(pairPath, func(w http.ResponseWriter, r *http.Request, own *authserver.Server, name string) {
			people := own.People()
			if name == "" && len(people) == 1 {
				name = people[0]
			}
			code, until, err := own.Pair(r.Context(), name)
			if err != nil {
				transport.WriteError(w, r, bridge.AsError(err))
				return
			}
			if code == "" {
				transport.WriteError(w, r, bridge.Errorf(bridge.SchemaError, "", bridge.NotRun,
					"Name one of those who may let clients in: %s.", text.Few(people, 20)))
				return
			}
			transport.WriteJSON(w, r, http.StatusOK, paired{code, name, until, own.Issuer()})
		}),
		at(disconnectPath, func(w http.ResponseWriter, r *http.Request, own *authserver.Server, id string) {
			own.Forget(id)
			transport.WriteJSON(w, r, http.StatusOK, struct{}{})
		}),
	}
}

// pair shows a code of each process that lets people in.
func pair(ctx context.Context, p *program, name string, f pairFlags) error {
	a := &approver{p: p}
	live, err := a.live()
	if err != nil {
		return err
	}
	tty, err := terminal.OpenOutput()
	if err == nil {
		defer func() { _ = tty.Close() }()
	} else if !f.print {
		return bridge.Errorf(bridge.Forbidden, "", bridge.NotRun,
			"The code lets somebody in, so that it is shown at a terminal only, and there is none. --print prints it.")
	}
	var all []paired
	for _, at := range slices.Sorted(maps.Keys(live)) {
		var got paired
		err := a.request(ctx, live[at], http.MethodPost, pairPath, named{name}, &got)
		switch e := bridge.AsError(err); {
		case err == nil:
			all = append(all, got)
		case letsNobodyIn(e):
		case e.Code == bridge.SchemaError:
			return terminal.Usage("%s", text.Line(e.Message))
		default:
			return err
		}
	}
	if len(all) == 0 {
		return terminal.Unreachable("no pagetools that runs lets clients in: start one with `pagetools serve TARGET " +
			"--public-url https://tools.example --sign-in`")
	}
	out := io.Writer(p.stdout)
	if tty != nil {
		out = tty
	}
	for _, one := range all {
		if f.json {
			if err := terminal.Encode(out, one); err != nil {
				return err
			}
			continue
		}
		if _, err := fmt.Fprintln(out, one.Code); err != nil {
			return fmt.Errorf("showing the code: %w", err)
		}
		p.say("it lets a client in as %s until %s, once: type it only on a page of %s/ that you opened yourself",
			text.Line(one.Person), one.Until.Local().Format(time.TimeOnly), text.Line(one.URL))
	}
	return nil
}

// letsNobodyIn reports whether a process has no authorization server, or is one of before there
// was.
func letsNobodyIn(e *bridge.Error) bool {
	return e.Code == bridge.Conflict || e.Code == bridge.WebtoolNotFound
}

// letIn has the clients that people let in: in the data folder, and those of clusters whose nodes have it.
type letIn struct {
	bridge.Connections

	a    *approver
	live map[string]http.RoundTripper
}

func letInOf(p *program, s *store.Store) letIn {
	in := letIn{Connections: s.Connections, a: &approver{p: p}}
	in.live, _ = in.a.live() // without one, there is the folder
	return in
}

// connectionsPath is a path of the inbox.
const connectionsPath = "/api/connections"

// All lists them.
func (in letIn) All(ctx context.Context) ([]bridge.Connection, error) {
	all, err := in.Connections.All(ctx)
	for _, at := range slices.Sorted(maps.Keys(in.live)) {
		var of console.ConnectionList
		if err == nil {
			err = in.a.request(ctx, in.live[at], http.MethodGet, connectionsPath, nil, &of)
		}
		for _, c := range of.Connections {
			if !slices.ContainsFunc(all, func(x bridge.Connection) bool { return x.ID == c.ID }) {
				all = append(all, bridge.Connection{ID: c.ID, Person: c.Person, Client: c.Client, ClientName: c.Name, Redirect: c.RedirectURI,
					Resource: c.Resource, Since: c.Since, Used: c.LastUsed})
			}
		}
	}
	return all, err
}

// Disconnect removes one.
func (in letIn) Disconnect(ctx context.Context, id string) (bool, error) {
	gone, err := in.Connections.Disconnect(ctx, id)
	for _, at := range slices.Sorted(maps.Keys(in.live)) {
		if gone || err != nil || id == "" {
			break
		}
		var done struct{}
		err = in.a.request(ctx, in.live[at], http.MethodDelete, connectionsPath+"/"+url.PathEscape(id), nil, &done)
		if gone = err == nil; err != nil && bridge.AsError(err).Code == bridge.WebtoolNotFound {
			err = nil
		}
	}
	return gone, err
}

func listConnections(ctx context.Context, p *program, asJSON bool) error {
	s, err := p.openDataDir(ctx)
	if err != nil {
		return err
	}
	defer p.end(s)
	all, err := letInOf(p, s).All(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return terminal.Encode(p.stdout, console.ListConnections(all))
	}
	if len(all) == 0 {
		p.say("no client was let in")
	}
	for _, c := range all {
		fmt.Fprintf(p.stdout, "%s  %s  %s  since %s, last used %s\n", c.ID, c.Person, clientWords(c),
			c.Since.Local().Format(time.DateTime), c.Used.Local().Format(time.DateTime))
	}
	return nil
}

// clientWords names a client: where it returns to, and what it calls itself.
func clientWords(c bridge.Connection) string {
	at := c.Redirect
	if u, err := url.Parse(c.Redirect); err == nil && u.Host != "" {
		at = u.Host
	}
	return text.Line(at) + " (" + text.Quote(text.Line(c.ClientName)) + ")"
}

func revokeConnection(ctx context.Context, p *program, id string) error {
	s, err := p.openDataDir(ctx)
	if err != nil {
		return err
	}
	defer p.end(s)
	in := letInOf(p, s)
	all, err := in.All(ctx)
	if err != nil {
		return err
	}
	ids := make([]string, len(all))
	for i, c := range all {
		ids[i] = c.ID
	}
	whole, err := revokeNamed(ctx, id, ids, in.Disconnect, "client", "pair --list")
	if err != nil {
		return err
	}
	p.tellDisconnected(ctx, whole)
	p.say("revoked")
	return nil
}

// tellDisconnected has the processes that serve now notice at once that a client was ended.
func (p *program) tellDisconnected(ctx context.Context, id string) {
	a := &approver{p: p}
	live, err := a.live() // without one, nobody has to know
	for _, at := range slices.Sorted(maps.Keys(live)) {
		var done struct{}
		if told := a.request(ctx, live[at], http.MethodPost, disconnectPath, named{id}, &done); told != nil && !letsNobodyIn(bridge.AsError(told)) {
			err = errors.Join(err, told)
		}
	}
	if err != nil && len(live) > 0 {
		p.say("warning: a process was not told, and notices in some seconds: %v", err)
	}
}

// connections are the clients that people let in, for the operators' page.
type connections struct {
	bridge.Connections

	p *program
}

// Disconnect implements console.Connections.
func (c connections) Disconnect(ctx context.Context, id string) (bool, error) {
	gone, err := c.Connections.Disconnect(ctx, id)
	if gone {
		c.p.tellDisconnected(ctx, id)
	}
	return gone, err
}

// leastPassword is the fewest bytes of a password.
const leastPassword = 8

// hashPassword prints what the configuration has of a password.
func hashPassword(ctx context.Context, p *program) error {
	read := func(prompt string) (string, error) {
		words, err := terminal.ReadSecret(ctx, p.stdin, p.stderr, prompt, authserver.MaxPassword)
		if errors.Is(err, terminal.ErrEnd) { // as in auth login
			raise(os.Interrupt)
			<-ctx.Done()
			return "", context.Cause(ctx)
		}
		return words, err
	}
	words, err := read("pagetools: the password, which is not shown: ")
	if err != nil {
		return err
	}
	if len(words) < leastPassword {
		return terminal.Usage("the password must have at least %d characters", leastPassword)
	}
	if terminal.Is(p.stdin) {
		again, err := read("pagetools: once more: ")
		if err != nil {
			return err
		}
		if again != words {
			return terminal.Usage("these are two different passwords: try again")
		}
	}
	_, err = fmt.Fprintln(p.stdout, authserver.Hash(words))
	return err
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/files"
	"github.com/pagetools/pagetools/bridge/opentools"
	"github.com/pagetools/pagetools/bridge/opentools/oauth"
	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
)

type authFlags struct {
	caller, scheme, clientID, secretFile, scopes string
	device                                       bool
}

// auth is one run of the verb.
type auth struct {
	p *program
	f authFlags
}

func authCommand(p *program) *cobra.Command {
	c := &cobra.Command{
		Use:   "auth",
		Short: "Log in to APIs that sites publish as OpenTools, and log out",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(c, args[0])
			}
			return terminal.Usage("auth needs login, logout or status; see pagetools auth --help")
		},
		SuggestionsMinimumDistance: 2,
	}
	a := &auth{p: p}
	login := authLoginCommand(a)
	logout := &cobra.Command{
		Use:   "logout SITE",
		Short: "Forget the logins and keys of a site's API, and revoke its tokens",
		Args:  exactly(1, "SITE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.logout(cmd.Context(), args[0])
		},
	}
	status := &cobra.Command{
		Use:   "status [SITE]",
		Short: "List who is logged in where, without secrets",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return exactly(1, "one SITE at most")(cmd, args)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.status(cmd.Context(), args) },
	}
	for _, below := range []*cobra.Command{login, logout, status} {
		below.Flags().StringVar(&a.f.caller, "caller", "",
			"the caller whose login it is (default local; for status all)")
	}
	c.AddCommand(login, logout, status)
	return c
}

func authLoginCommand(a *auth) *cobra.Command {
	c := &cobra.Command{
		Use:   "login SITE",
		Short: "Log in to the API of a site, or keep a key for it",
		Long: "Logs in to the API that SITE publishes: SITE is a URL, or a name in the configuration " +
			"file.\n" +
			"A login with OAuth 2 shows an address, which you open in your browser. A key, a password\n" +
			"(USER:PASSWORD) or a certificate with its private key is read from standard input; what you\n" +
			"type at a terminal is not shown.",
		Args: exactly(1, "SITE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.login(cmd.Context(), args[0])
		},
	}
	flags := c.Flags()
	flags.StringVar(&a.f.scheme, "scheme", "",
		"the name of the security scheme, where the API has several")
	flags.BoolVar(&a.f.device, "device", false,
		"log in on another device, with a code: for a machine without a browser")
	flags.StringVar(&a.f.clientID, "client-id", "",
		"the client that was registered with the authorization server by "+
			"hand, or the https address of a document that describes it")
	flags.StringVar(&a.f.secretFile, "client-secret-file", "", "a file with the secret of that client")
	flags.StringVar(&a.f.scopes, "scopes", "",
		"what to ask for, separated by spaces; otherwise what the tools need")
	return c
}

func (a *auth) login(ctx context.Context, arg string) error {
	s, err := a.open(ctx, arg)
	if err != nil {
		return err
	}
	defer s.close()
	id, secret, err := a.client(s.target)
	if err != nil {
		return err
	}
	done := a.p.waiting("looking for the API of %s", text.Line(s.target.Text))
	found, err := (&opentools.Discoverer{Client: s.client}).Discover(ctx, s.target.URL)
	done()
	if err != nil {
		return notFound(ctx, err)
	}
	login, err := choose(found, s.origins, a.f.scheme)
	if err != nil {
		return err
	}
	scheme := oauth.Scheme{Name: login.Name, Object: login.Object, Scopes: login.Scopes}
	kind, err := oauth.KindOf(scheme)
	if err != nil {
		return terminal.Usage("%w", err)
	}
	at := oauth.Target{Principal: s.principal, Resource: login.Servers[0], Document: found.URL,
		Alternatives: [][]oauth.Scheme{{scheme}}}
	if kind != oauth.Token {
		return a.keepKey(ctx, s, at, scheme, kind)
	}
	l := oauth.Login{Scheme: scheme, Scopes: strings.Fields(a.f.scopes), ClientID: id,
		ClientSecret: secret, Show: a.show,
		Warn: func(words string) { a.p.say("warning: %s", text.Line(words)) }}
	if strings.HasPrefix(id, "https://") {
		l.ClientID, l.ClientDocument = "", id
	}
	if a.f.device {
		l.Flow = oauth.DeviceFlow
	}
	for i, server := range login.Servers {
		if slices.ContainsFunc(login.Servers[:i], func(u *url.URL) bool { return below(server, u) }) {
			continue // that login is good for it
		}
		at.Resource = server
		e, err := s.keeper.Login(ctx, at, l)
		if err != nil {
			return refused(ctx, err)
		}
		a.p.say("logged in: %s", entryText(e))
	}
	return nil
}

// below reports whether an address is another one, or below it.
func below(u, other *url.URL) bool {
	root := strings.TrimRight(other.Path, "/") + "/"
	return origin.SameURL(u, other) && strings.HasPrefix(strings.TrimRight(u.Path, "/")+"/", root)
}

// notFound is the error of a site without a document.
func notFound(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !errors.Is(err, opentools.ErrNotFound) {
		return terminal.Unreachable("%w", err)
	}
	return terminal.Unreachable("%w. SITE must publish an OpenAPI document, such as at "+
		"/.well-known/llm.json", err)
}

// refused is the error of a login that came to nothing.
func refused(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return bridge.Errorf(bridge.Unauthorized, "", bridge.NotRun, "%s.",
		strings.TrimRight(err.Error(), "."))
}

// choose returns the scheme to log in with: the one that is named, or the only one.
func choose(found *opentools.Found, origins []string, name string) (*opentools.Login, error) {
	tools, _ := found.Tools(opentools.Marked) // problems are for who lists them
	if len(tools) == 0 {
		tools, _ = found.Tools(opentools.All)
	}
	all := found.Logins(tools, origins)
	names := make([]string, len(all))
	for i, l := range all {
		names[i] = l.Name
	}
	list := text.Line(strings.Join(names, ", "))
	switch i := slices.Index(names, name); {
	case len(all) == 0:
		return nil, terminal.Usage("%s needs no login: none of its tools has a security scheme "+
			"that it describes", found.URL)
	case name == "" && len(all) == 1:
		return &all[0], nil
	case name == "":
		return nil, terminal.Usage("%s has several security schemes: name one with --scheme, "+
			"one of %s", found.URL, list)
	case i < 0:
		return nil, terminal.Usage("invalid value %q for --scheme: must be one of %s",
			text.Line(name), list)
	default:
		return &all[i], nil
	}
}

// show shows where to log in. It is not quiet: nobody could log in then.
func (a *auth) show(to oauth.Prompt) {
	scopes := cmp.Or(strings.Join(to.Scopes, " "), "nothing in particular")
	fmt.Fprintf(a.p.stderr, "pagetools: open this address in your browser, and log in there: %s gets a "+
		"token of %s for %s\n\n  %s\n\n", text.Line(to.Resource), text.Line(to.Issuer),
		text.Line(scopes), text.Line(to.URL))
	if to.Code != "" {
		fmt.Fprintf(a.p.stderr, "pagetools: it asks for this code: %s\n", text.Line(to.Code))
	}
	if !to.Expires.IsZero() {
		a.p.say("waiting for you until %s", to.Expires.Local().Format(time.TimeOnly))
	}
}

// keyWords say what is read for a kind of credential.
var keyWords = map[oauth.Kind]string{oauth.APIKey: "the key", oauth.Bearer: "the token",
	oauth.Basic: "USER:PASSWORD", oauth.Certificate: "the certificate and its private key, in PEM"}

// maxKey is the most bytes that are read of a key.
const maxKey = 256 << 10

func (a *auth) keepKey(ctx context.Context, s *authSite, at oauth.Target, scheme oauth.Scheme,
	kind oauth.Kind) error {
	if terminal.Is(a.p.stdin) && kind == oauth.Certificate {
		return terminal.Usage("the certificate and its private key must be on standard input, in " +
			"PEM, as in pagetools auth login SITE < client.pem")
	}
	prompt := fmt.Sprintf("pagetools: %s for %s (%s), which is not shown: ", keyWords[kind],
		text.Line(at.Resource.Host), text.Line(scheme.Name))
	words, err := terminal.ReadSecret(ctx, a.p.stdin, a.p.stderr, prompt, maxKey)
	if errors.Is(err, terminal.ErrEnd) { // the terminal was told not to make a signal of it
		raise(os.Interrupt)
		<-ctx.Done()
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	if words == "" {
		return terminal.Usage("%s is needed, on standard input, as in pagetools auth login SITE "+
			"--scheme %s < FILE", keyWords[kind], text.Line(scheme.Name))
	}
	if err := s.keeper.Keep(ctx, at, scheme, oauth.Secret(words)); err != nil {
		return terminal.Usage("%w", err)
	}
	a.p.say("kept %s of %s for %s", keyWords[kind], text.Line(scheme.Name),
		text.Line(at.Resource.Host))
	return nil
}

// client is the client that the flags name, or else the file for the site. A secret of the file
// belongs to the client of the file.
func (a *auth) client(t *target) (id string, secret oauth.Secret, err error) {
	of := t.config.Auth
	if a.f.clientID != "" || a.f.secretFile != "" {
		secret, err = clientSecret("--client-secret-file", a.f.secretFile)
		return cmp.Or(a.f.clientID, of.ClientID), secret, err
	}
	secret, err = clientSecret(fmt.Sprintf("%s:%d: client-secret-file", a.p.conf.File, of.Line), of.SecretFile)
	return of.ClientID, secret, err
}

// clientSecret reads the secret of a client from its file, which where names.
func clientSecret(where, path string) (oauth.Secret, error) {
	if path == "" {
		return "", nil
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", terminal.Usage("%s: %s %w", where, text.Line(path), config.Problem(err))
	case !info.Mode().IsRegular() || info.Size() > maxKey:
		return "", terminal.Usage("%s: %s must be a file with a secret", where, text.Line(path))
	case files.Shared(path, info):
		return "", terminal.Usage("%s: others can read %s: %s", where, text.Line(path),
			text.Line(files.ToClose(path)))
	}
	words, err := os.ReadFile(path)
	if err != nil {
		return "", terminal.Usage("%s: %s %w", where, text.Line(path), config.Problem(err))
	}
	return oauth.Secret(strings.TrimSpace(string(words))), nil
}

func (a *auth) logout(ctx context.Context, arg string) error {
	s, err := a.open(ctx, arg)
	if err != nil {
		return err
	}
	defer s.close()
	at, err := url.Parse(s.target.URL)
	if err != nil {
		return terminal.Usage("%w", err)
	}
	gone, problems, err := s.keeper.Logout(ctx, s.principal, at)
	for _, e := range gone {
		a.p.say("forgotten: %s", entryText(e))
	}
	for _, words := range problems {
		a.p.say("warning: %s", text.Line(words))
	}
	if err != nil {
		return terminal.Usage("%w", err)
	}
	if len(gone) == 0 {
		a.p.say("%s is not logged in to %s", text.Line(s.principal), text.Line(s.target.Origin))
	}
	return nil
}

func (a *auth) status(ctx context.Context, args []string) error {
	origin := ""
	if len(args) > 0 {
		t, err := a.target(args[0])
		if err != nil {
			return err
		}
		origin = t.Origin
	}
	if a.f.caller != "" {
		if _, err := a.caller(a.f.caller); err != nil {
			return err
		}
	}
	store, end, err := a.store(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = end() }()
	all, err := oauth.New(oauth.Options{Store: store}).Status()
	if err != nil {
		return terminal.Usage("%w", err)
	}
	shown := 0
	for _, e := range all {
		if a.f.caller != "" && e.Principal != a.f.caller || origin != "" && e.Resource != origin &&
			!strings.HasPrefix(e.Resource, origin+"/") {
			continue
		}
		shown++
		if a.p.conf.Format != "text" {
			err = terminal.Encode(a.p.stdout, e)
		} else {
			_, err = fmt.Fprintln(a.p.stdout, entryText(e))
		}
		if err != nil {
			return err
		}
	}
	if shown == 0 {
		a.p.say("nobody is logged in; `pagetools auth login SITE` logs in")
	}
	return nil
}

// entryText is a line about a kept login, without what a terminal obeys.
func entryText(e oauth.Entry) string {
	line := text.Line
	resource, scheme, principal := line(e.Resource), line(e.Scheme), line(e.Principal)
	if e.Damaged {
		return fmt.Sprintf("%s  %s for %s  damaged: log in again", resource, scheme, principal)
	}
	words := fmt.Sprintf("%s  %s  %s for %s", resource, scheme, e.Kind, principal)
	if e.Issuer != "" {
		words += "  from " + line(e.Issuer)
	}
	if len(e.Scopes) > 0 {
		words += "  scopes " + line(strings.Join(e.Scopes, " "))
	}
	if !e.Expires.IsZero() {
		words += "  until " + clock(e.Expires)
	}
	if e.Renews {
		words += ", renewed by itself"
	}
	return words
}

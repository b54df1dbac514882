package main

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/session/egress"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/authserver"
	"github.com/pagetools/pagetools/transport/oauth"
)

// issuers verifies the tokens of the file's issuers, and those that this server gives out itself.
// The former are reached as pages reach the network: at public addresses, and at those that the
// operator named.
type issuers struct {
	*oauth.Verifier // nil until it begins

	all    []oauth.Issuer
	people []authserver.Person
	own    *authserver.Server // nil: it gives out none
	proxy  *egress.Proxy
	// grant reaches issuers, and documents what clients publish of themselves.
	grant, documents *egress.Grant
}

// issuers makes the verifier; nil without issuers and without people.
func (p *program) issuers(ctx context.Context) (*issuers, error) {
	all, err := issuersOf(p.conf)
	people := peopleOf(p.conf)
	if err == nil {
		err = checkPeople(p.conf, people)
	}
	if err != nil || len(all)+len(people) == 0 {
		return nil, err
	}
	if p.conf.PublicURL == "" {
		what := "oauth in " + p.conf.File
		if p.conf.SignIn {
			what = "--sign-in"
		}
		return nil, terminal.Usage("%s needs public-url, the address that tokens are for, such as "+
			"--public-url https://tools.example", what)
	}
	o := egress.Options{Words: optionWords, Log: p.log}
	if o.Upstream, err = upstream(p.conf); err != nil {
		return nil, err
	}
	i := &issuers{all: all, people: people}
	if i.proxy, err = egress.Start(ctx, o); err != nil {
		return nil, err
	}
	i.grant = i.proxy.Admit(reachOf(all), nil)
	var private policy.Reach
	for _, n := range p.conf.AllowPrivate {
		private.Private = append(private.Private, netip.MustParsePrefix(string(n)))
	}
	i.documents = i.proxy.Admit(private, nil)
	return i, nil
}

// begin begins to verify, with what the app and the nodes of a cluster remember. A nil one does not.
func (i *issuers) begin(ctx context.Context, p *program, a *app.App, n *node) {
	if i == nil {
		return
	}
	o := oauth.Options{Public: string(p.conf.PublicURL), Issuers: i.all,
		Client: &http.Client{Transport: i.grant.Transport(nil)}}
	if kept := a.Memory(); len(i.people) > 0 {
		own := authserver.Options{Public: o.Public, People: i.people, Clients: kept.Clients,
			Connections: kept.Connections, Browsers: kept.Browsers, Words: optionWords, Log: p.log,
			Resource: func(named string) (string, bool) { return i.Resource(named) },
			Client:   &http.Client{Transport: i.documents.Transport(nil)},
			Revoked:  func() { a.Bridge.Revoke(); a.Revoke() }}
		if n != nil {
			own.Clients, own.Connections, own.Browsers = n.cluster.Clients, n.cluster.Connections, n.cluster.Browsers
			own.Once, own.Key = n.cluster.Once, n.cluster.SignIn
		}
		i.own = authserver.New(own)
		if o.Own = i.own; n != nil {
			go i.compare(ctx) // ends with it
		}
		p.say("clients such as claude.ai and ChatGPT connect to %s/mcp; `pagetools pair` shows the code that lets "+
			"one in", o.Public)
	}
	i.Verifier = oauth.New(o)
}

// compareEvery sets how often a node asks which clients another one has ended.
const compareEvery = 2 * time.Second

// compare ends what clients have that another node ended, until ctx ends.
func (i *issuers) compare(ctx context.Context) {
	again := time.NewTicker(compareEvery)
	defer again.Stop()
	for {
		select {
		case <-again.C:
			authserver.Compare(ctx, i.own)
		case <-ctx.Done():
			return
		}
	}
}

// signIn serves the authorization server, if there is one.
func (i *issuers) signIn(mux *transport.Mux, guards *transport.Options) {
	if i.own == nil {
		return
	}
	mux.Add(i.own.Routes()...)
	guards.Open = slices.Concat(guards.Open, authserver.Open())
	guards.ForPages, guards.FormsAt = authserver.ForPages, authserver.FormsAt
	guards.MaxBodyUnder[authserver.Below] = authserver.MaxBody
}

// replace makes these the issuers and the people.
func (i *issuers) replace(p *program, all []oauth.Issuer, people []authserver.Person) {
	i.grant.Extend(reachOf(all))
	i.Replace(all)
	if i.own == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), finishTime)
	defer cancel()
	if err := i.own.Replace(ctx, people); err != nil {
		p.say("warning: what people who are gone let in, and where they are logged in, is not removed: %v", err)
	}
}

// close ends the way into the network. A nil one has none.
func (i *issuers) close() {
	if i == nil {
		return
	}
	i.grant.End()
	i.documents.End()
	_ = i.proxy.Close()
}

// onePerson names the person of --sign-in, where the file names nobody.
const onePerson = "me"

// peopleOf lists who may let clients in.
func peopleOf(c *config.Config) (all []authserver.Person) {
	for _, x := range c.OAuth.BuiltIn.People {
		all = append(all, authserver.Person{Name: x.Name, May: x.May, Sites: x.Sites, Password: x.PasswordHash})
	}
	if c.SignIn && len(all) == 0 {
		all = append(all, authserver.Person{Name: onePerson})
	}
	return all
}

// checkPeople refuses people who could not let anybody in.
func checkPeople(c *config.Config, all []authserver.Person) error {
	password := false
	for i, one := range all {
		if err := one.Validate(); err != nil {
			return terminal.Usage("%s:%d: people: %w; pagetools pair --hash makes a password-hash", c.File,
				c.OAuth.BuiltIn.People[i].Line, err)
		}
		password = password || one.Password != ""
	}
	if len(all) > 0 && !password && c.DataDir == config.Off {
		return terminal.Usage("people log in with codes of `pagetools pair`, which reaches this process through the data " +
			"folder: leave --data-dir off out, or give people a password-hash")
	}
	return nil
}

func reachOf(all []oauth.Issuer) (reach policy.Reach) {
	for i := range all {
		reach.Origins = append(reach.Origins, origin.Of(all[i].URL))
	}
	return reach
}

// issuersOf reads the issuers of a file.
func issuersOf(c *config.Config) (all []oauth.Issuer, err error) {
	asks := false
	for _, i := range c.OAuth.Issuers {
		one := oauth.Issuer{Name: i.Name, URL: i.Issuer, Audience: i.Audience, Algorithms: i.Algorithms,
			NameClaim: i.NameClaim, Scope: i.Scope.ForCalls(), ClientID: i.Introspection.ClientID,
			ClientSecret: i.Introspection.ClientSecret}
		for _, g := range i.Grants {
			one.Grants = append(one.Grants, oauth.Grant{Match: g.Match, May: g.May, Sites: g.Sites, Rate: g.Rate})
		}
		if err := one.Validate(); err != nil {
			return nil, terminal.Usage("%s:%d: issuers: %w", c.File, i.Line, err)
		}
		if asked := one.ClientID != ""; asked && asks {
			return nil, terminal.Usage("%s:%d: issuers: only one issuer can have introspection, because a token "+
				"that is no JWT does not say whose it is, and would be shown to another issuer", c.File, i.Line)
		} else if asked {
			asks = true
		}
		all = append(all, one)
	}
	return all, nil
}

package main

import (
	"context"
	"net/http"

	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/session/egress"
	"github.com/pagetools/pagetools/transport/oauth"
)

// verifier returns what verifies the tokens of the file's issuers, and what ends its way into the
// network; nil without issuers. Issuers are reached as pages reach the network: at public addresses,
// and at those that the operator named.
func (p *program) verifier(ctx context.Context) (v *oauth.Verifier, end func(), err error) {
	issuers, err := issuersOf(p.conf)
	if err != nil || len(issuers) == 0 {
		return nil, func() {}, err
	}
	if p.conf.PublicURL == "" {
		return nil, nil, terminal.Usage("oauth in %s needs public-url, the address that tokens are for, such as "+
			"https://tools.example", p.conf.File)
	}
	o := egress.Options{Words: optionWords, Log: p.log}
	if o.Upstream, err = upstream(p.conf); err != nil {
		return nil, nil, err
	}
	proxy, err := egress.Start(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	var reach policy.Reach
	for i := range issuers {
		reach.Origins = append(reach.Origins, origin.Of(issuers[i].URL))
	}
	grant := proxy.Admit(reach, nil)
	return oauth.New(oauth.Options{Public: string(p.conf.PublicURL), Issuers: issuers,
			Client: &http.Client{Transport: grant.Transport(nil)}}), func() {
			grant.End()
			_ = proxy.Close()
		}, nil
}

// issuersOf reads the issuers of a file.
func issuersOf(c *config.Config) (all []oauth.Issuer, err error) {
	for _, i := range c.OAuth.Issuers {
		one := oauth.Issuer{Name: i.Name, URL: i.Issuer, Audience: i.Audience, Algorithms: i.Algorithms,
			NameClaim: i.NameClaim, Scope: i.Scope.Call, ClientID: i.Introspection.ClientID,
			ClientSecret: i.Introspection.ClientSecret}
		for _, g := range i.Grants {
			one.Grants = append(one.Grants, oauth.Grant{Match: g.Match, May: g.May, Sites: g.Sites, Rate: g.Rate})
		}
		if err := one.Validate(); err != nil {
			return nil, terminal.Usage("%s:%d: issuers: %w", c.File, i.Line, err)
		}
		all = append(all, one)
	}
	return all, nil
}

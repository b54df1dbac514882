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

// issuers verifies the tokens of the file's issuers. They are reached as pages reach the network:
// at public addresses, and at those that the operator named.
type issuers struct {
	*oauth.Verifier

	proxy *egress.Proxy
	grant *egress.Grant
}

// issuers makes the verifier; nil without issuers.
func (p *program) issuers(ctx context.Context) (*issuers, error) {
	all, err := issuersOf(p.conf)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	if p.conf.PublicURL == "" {
		return nil, terminal.Usage("oauth in %s needs public-url, the address that tokens are for, such as "+
			"https://tools.example", p.conf.File)
	}
	o := egress.Options{Words: optionWords, Log: p.log}
	if o.Upstream, err = upstream(p.conf); err != nil {
		return nil, err
	}
	i := &issuers{}
	if i.proxy, err = egress.Start(ctx, o); err != nil {
		return nil, err
	}
	i.grant = i.proxy.Admit(reachOf(all), nil)
	i.Verifier = oauth.New(oauth.Options{Public: string(p.conf.PublicURL), Issuers: all,
		Client: &http.Client{Transport: i.grant.Transport(nil)}})
	return i, nil
}

// replace makes these the issuers.
func (i *issuers) replace(all []oauth.Issuer) {
	i.grant.Extend(reachOf(all))
	i.Replace(all)
}

// close ends the way into the network. A nil one has none.
func (i *issuers) close() {
	if i == nil {
		return
	}
	i.grant.End()
	_ = i.proxy.Close()
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

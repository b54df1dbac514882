package main

import (
	"context"
	"fmt"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
)

// grantList is what approve --list --format json prints.
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

// listGrants lists the consent that stands.
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
			terminal.Plain(g.Caller), terminal.Plain(g.Tool), terminal.Plain(g.Site),
			terminal.Plain(g.GivenBy),
			g.GivenAt.Local().Format(time.DateTime))
	}
	return nil
}

// revokeGrant revokes one of them.
func revokeGrant(ctx context.Context, p *program, id string) error {
	s, err := p.openDataDir(ctx)
	if err != nil {
		return err
	}
	defer p.end(s)
	there, err := s.Grants.Revoke(ctx, id)
	if err != nil {
		return err
	}
	if !there {
		return bridge.Errorf(bridge.WebtoolNotFound, "", bridge.NotRun,
			"There is no consent with the ID %q; see pagetools approve --list.", id)
	}
	p.say("revoked")
	return nil
}

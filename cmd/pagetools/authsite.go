package main

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/opentools/oauth"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/session/egress"
)

// authSite is the site of one run of auth.
type authSite struct {
	target    *target
	principal string
	origins   []string // of servers, beside that of the document
	client    *http.Client
	keeper    *oauth.Keeper
	closers   []func() error
}

func (s *authSite) close() {
	for _, c := range slices.Backward(s.closers) {
		_ = c()
	}
}

// openStore opens the credentials of the data folder.
func (p *program) openStore() (*oauth.Store, error) {
	dir, err := dataFolder(p.conf)
	if errors.Is(err, config.ErrNoDataDir) {
		return nil, usage("auth needs a data folder, and --data-dir off keeps nothing: leave it out, " +
			"or name a folder")
	}
	if err != nil {
		return nil, usage("%w", err)
	}
	s, err := oauth.OpenStore(dir)
	if err != nil {
		return nil, usage("%w; name another folder with --data-dir", err)
	}
	return s, nil
}

// authTarget reads SITE: a name of the configuration file, or an address.
func (p *program) authTarget(arg string) (*target, error) {
	var named *config.Site
	for i, c := range p.conf.Sites {
		if c.Name == arg && arg != "" {
			named = &p.conf.Sites[i]
		}
	}
	if named != nil {
		arg = named.Target
	}
	t, err := p.readTarget(arg)
	if err != nil {
		return nil, err
	}
	if t.Folder != "" {
		return nil, usage("%s is a folder, which has no API to log in to: give the URL of one",
			text.Line(t.Text))
	}
	if named != nil {
		t.config = *named
	}
	return t, nil
}

// authCaller is the caller of a login. One that the configuration does not have never calls.
func (p *program) authCaller(name string) (string, error) {
	local := bridge.Local().Name
	known := func(c config.Caller) bool { return c.Name == name }
	if name = cmp.Or(name, local); name != local && !slices.ContainsFunc(p.conf.Callers, known) {
		return "", usage("there is no caller %q: --caller needs a name of the callers in the "+
			"configuration file, which --config names", text.Line(name))
	}
	return name, nil
}

// openAuth opens what auth needs. Servers are reached as pages reach the network.
func (p *program) openAuth(ctx context.Context, arg string, f authFlags) (*authSite, error) {
	t, err := p.authTarget(arg)
	if err != nil {
		return nil, err
	}
	s := &authSite{target: t}
	if s.principal, err = p.authCaller(f.caller); err != nil {
		return nil, err
	}
	store, err := p.openStore()
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, store.Close)
	o := egress.Options{Words: optionWords, Log: p.log}
	if o.Upstream, err = upstream(p.conf); err != nil {
		s.close()
		return nil, err
	}
	proxy, err := egress.Start(ctx, o)
	if err != nil {
		s.close()
		return nil, err
	}
	s.closers = append(s.closers, proxy.Close)
	pages := pageOptions(p.conf, plan{}, t)
	s.origins = pages.Origins
	reach := *pages.Tab.Reach
	reach.Origins = append([]string{t.Origin}, s.origins...)
	grant := proxy.Admit(reach, nil)
	s.client = &http.Client{Transport: grant.Transport(nil)}
	s.closers = append(s.closers, func() error { grant.End(); return nil })
	s.keeper = oauth.New(oauth.Options{Store: store, Client: s.client, Words: optionWords})
	return s, nil
}

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
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/e2e/app"
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

// store opens the credentials of the data folder, or of the cluster. The caller must call end.
func (a *auth) store(ctx context.Context) (s *oauth.Store, end func() error, err error) {
	if !clustered(a.p.conf) {
		if s, err = a.ownStore(); err != nil {
			return nil, nil, err
		}
		return s, s.Close, nil
	}
	o, err := clusterOptions(a.p)
	if err != nil {
		return nil, nil, err
	}
	s, closing, err := app.OpenLogins(ctx, o)
	if errors.Is(err, app.ErrOtherKey) {
		return nil, nil, terminal.Usage("--cluster-key-file: %w", err)
	}
	if errors.Is(err, app.ErrOtherVault) {
		return nil, nil, terminal.Usage("--cluster-memory: %w", err)
	}
	if err != nil {
		return nil, nil, terminal.Unreachable("the logins of the cluster cannot be read: %v", err)
	}
	return s, func() error { closing(); return nil }, nil
}

// ownStore opens the credentials of the data folder.
func (a *auth) ownStore() (*oauth.Store, error) {
	dir, err := dataFolder(a.p.conf)
	if errors.Is(err, config.ErrNoDataDir) {
		return nil, terminal.Usage("auth needs a data folder, and --data-dir off keeps nothing: " +
			"leave it out, or name a folder")
	}
	if err != nil {
		return nil, terminal.Usage("%w", err)
	}
	s, err := oauth.OpenStore(dir)
	if err != nil {
		return nil, terminal.Usage("%w; name another folder with --data-dir", err)
	}
	return s, nil
}

// target reads SITE: a name of the configuration file, or an address.
func (a *auth) target(arg string) (*target, error) {
	var named *config.Site
	for i, c := range a.p.conf.Sites {
		if c.Name == arg && arg != "" {
			named = &a.p.conf.Sites[i]
		}
	}
	if named != nil {
		arg = named.Target
	}
	t, err := a.p.readTarget(arg)
	if err != nil {
		return nil, err
	}
	if t.Folder != "" {
		return nil, terminal.Usage("%s is a folder, which has no API to log in to: give the URL "+
			"of one", text.Line(t.Text))
	}
	if named != nil {
		t.config = *named
	}
	return t, nil
}

// caller is the caller of a login. One that the configuration does not have never calls.
func (a *auth) caller(name string) (string, error) {
	local := bridge.Local().Name
	known := func(c config.Caller) bool { return c.Name == name }
	if name = cmp.Or(name, local); name != local && !slices.ContainsFunc(a.p.conf.Callers, known) {
		return "", terminal.Usage("there is no caller %q: --caller needs a name of the callers in the "+
			"configuration file, which --config names", text.Line(name))
	}
	return name, nil
}

// open opens what auth needs. Servers are reached as pages reach the network.
func (a *auth) open(ctx context.Context, arg string) (*authSite, error) {
	t, err := a.target(arg)
	if err != nil {
		return nil, err
	}
	s := &authSite{target: t}
	if s.principal, err = a.caller(a.f.caller); err != nil {
		return nil, err
	}
	store, end, err := a.store(ctx)
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, end)
	o := egress.Options{Words: optionWords, Log: a.p.log}
	if o.Upstream, err = upstream(a.p.conf); err != nil {
		s.close()
		return nil, err
	}
	proxy, err := egress.Start(ctx, o)
	if err != nil {
		s.close()
		return nil, err
	}
	s.closers = append(s.closers, proxy.Close)
	pages := pageOptions(a.p.conf, plan{}, t)
	s.origins = pages.Origins
	reach := *pages.Tab.Reach
	reach.Origins = append([]string{t.Origin}, s.origins...)
	grant := proxy.Admit(reach, nil)
	s.client = &http.Client{Transport: grant.Transport(nil)}
	s.closers = append(s.closers, func() error { grant.End(); return nil })
	s.keeper = oauth.New(oauth.Options{Store: store, Client: s.client, Words: optionWords})
	return s, nil
}

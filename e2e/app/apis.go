package app

import (
	"cmp"
	"context"
	"crypto/tls"
	"net/http"
	"net/url"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/opentools"
	"github.com/pagetools/pagetools/bridge/opentools/oauth"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/egress"
)

// Mode says whether the API that a site publishes (OpenTools) is used.
type Mode string

// The modes.
const (
	NoAPI   Mode = "off"  // the site's pages only; also ""
	AutoAPI Mode = "auto" // beside its pages; without pages where the target looks like a document
	OnlyAPI Mode = "only" // without its pages: no browser is needed
)

// API says how the API of a site is used.
type API struct {
	Mode Mode
	// Expose says which operations become tools, and Guess whether a document is also looked for
	// at usual addresses.
	Expose opentools.Expose
	Guess  bool
	// Full is true to look for the document in each way, also where the site has pages.
	Full bool
}

// HasPage reports whether the site is opened in a browser.
func (s *Site) HasPage() bool {
	if s.API.Mode == OnlyAPI {
		return false
	}
	u, err := url.Parse(s.URL)
	return s.API.Mode != AutoAPI || s.Folder != "" || err != nil || !opentools.LooksLikeDocument(u)
}

// hasAPI reports whether its API is looked for. Nobody but us publishes anything of a folder.
func (s *Site) hasAPI() bool {
	return s.Folder == "" && s.Files == nil && (s.API.Mode == OnlyAPI || s.API.Mode == AutoAPI)
}

// attach makes the router of sites with APIs, beside the manager of pages.
func (a *App) attach(apis []opentools.SiteOptions, order []string) {
	a.Router = a.Manager
	if len(apis) == 0 && !a.o.Changes {
		return
	}
	o := opentools.RouterOptions{Pages: a.Manager, Sites: apis, Order: order, Drain: a.o.Manager.Drain, Log: a.o.Log,
		UserAgent: "pagetools/" + cmp.Or(a.o.Version, "dev"), Limits: a.o.Limits, Homes: a.homes()}
	a.APIs = opentools.NewRouter(o)
	a.Router = a.APIs
}

// throughFor returns the proxy through which APIs are reached: that of the pages, but for a remote
// browser, which has ways of its own.
func (a *App) throughFor(ctx context.Context) (*egress.Proxy, error) {
	if a.Proxy != nil {
		return a.Proxy, nil
	}
	if a.apiProxy == nil {
		proxy, err := egress.Start(ctx, egress.Options{Upstream: a.o.Upstream, Words: a.o.Words, Log: a.o.Log})
		if err != nil {
			return nil, err
		}
		a.apiProxy, a.stops = proxy, append(a.stops, proxy.Close)
	}
	return a.apiProxy, nil
}

// keeper returns what adds the callers' credentials to requests of one site, whose ways to the
// network it has.
func (a *App) keeper(of *egress.Grant) *oauth.Keeper {
	if a.o.Credentials == nil {
		return nil
	}
	return oauth.New(oauth.Options{Store: a.o.Credentials, Words: a.o.Words,
		Client: &http.Client{Transport: of.Transport(a.tlsConfig(nil))}})
}

// tlsConfig returns the TLS settings of requests with a certificate; nil means none. The browser
// accepts the same servers.
func (a *App) tlsConfig(certificate *tls.Certificate) *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: a.o.Local.AcceptInsecureCerts} //nolint:gosec // it was asked for
	if certificate != nil {
		c.Certificates = []tls.Certificate{*certificate}
	}
	return c
}

// reach returns what the pages and the API of the site may reach.
func (s *Site) reach() policy.Reach {
	var reach policy.Reach
	if s.Page.Tab.Reach != nil {
		reach = *s.Page.Tab.Reach
	}
	reach.Origins = append([]string{s.Origin}, s.Page.Origins...)
	return reach
}

// noBrowser is the engine where no site has a page.
type noBrowser struct{}

func (noBrowser) Open(context.Context, session.TabOptions) (session.Tab, error) {
	return nil, bridge.Errorf(bridge.InternalError, bridge.BrowserLost, bridge.NotRun, "No site here has a page.")
}

func (noBrowser) Close() error { return nil }

// Status says how a site is: open, opening, or why it is not.
func (a *App) Status(site string) string {
	if a.APIs != nil {
		if status := a.APIs.Status(site); status != "" {
			return status
		}
	}
	return a.Manager.Status(site)
}

// WaitOpened waits until every site is opened or failed once.
func (a *App) WaitOpened(ctx context.Context) error {
	if err := a.Manager.WaitOpened(ctx); err != nil || a.APIs == nil {
		return err
	}
	return a.APIs.WaitOpened(ctx)
}

// StartBrowser starts the browser, where a site has a page, and returns its version or "".
func (a *App) StartBrowser(ctx context.Context) (string, error) {
	if a.Engine == nil {
		return "", nil
	}
	return a.Engine.Start(ctx)
}

// Revoke ends what callers have whose credential was revoked.
func (a *App) Revoke() {
	a.Manager.Revoke()
	if a.APIs != nil {
		a.APIs.Revoke()
	}
}

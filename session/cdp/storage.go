package cdp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/domstorage"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/storage"
	"github.com/chromedp/chromedp"

	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp/wire"
	"github.com/pagetools/pagetools/session/pageconfig"
)

var _ session.StorageExporter = (*tab)(nil)

// setCookies puts cookies of a site into a browser context.
func (b *instance) setCookies(ctx context.Context, in cdp.BrowserContextID, origin string,
	all []pageconfig.Cookie) error {
	if len(all) == 0 {
		return nil
	}
	params := storage.SetCookiesParams{BrowserContextID: in}
	for _, c := range all {
		p := &network.CookieParam{Name: c.Name, Value: string(c.Value), URL: origin + "/",
			Path: cmp.Or(c.Path, "/"), Secure: c.Secure, HTTPOnly: c.HTTPOnly,
			SameSite: network.CookieSameSite(c.SameSite)}
		if len(c.Domain) > 0 && c.Domain[0] == '.' { // with any domain the browser sends it to hosts below, too
			p.Domain = c.Domain
		}
		if c.Expires > 0 {
			p.Expires = cdp.TimeSinceEpoch(c.Expires)
		}
		params.Cookies = append(params.Cookies, p)
	}
	if _, err := cdp.Call(ctx, b.root, storage.SetCookies, params); err != nil {
		if !isProtocol(err) {
			return err
		}
		// The cause is left out: it could show a value.
		return configError("config.cookies: the browser refuses one of the cookies")
	}
	return nil
}

// setItems puts items into the localStorage of an origin.
func (b *instance) setItems(ctx context.Context, in cdp.BrowserContextID, origin string,
	items map[string]pageconfig.Secret) error {
	if len(items) == 0 {
		return nil
	}
	return b.atOrigin(ctx, in, origin, func(tgt *wire.Session) error {
		for _, key := range slices.Sorted(maps.Keys(items)) {
			err := tgt.Call(ctx, domstorage.CommandSetDOMStorageItem,
				domstorage.SetDOMStorageItemParams{StorageID: localStorageOf(origin), Key: key,
					Value: string(items[key])}, nil)
			if isProtocol(err) {
				return configError("config.localStorage: the browser refuses an item")
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// isProtocol reports whether the browser answered a command with an error.
func isProtocol(err error) bool {
	_, ok := errors.AsType[*cdproto.Error](err)
	return ok
}

func localStorageOf(origin string) *domstorage.StorageID {
	return &domstorage.StorageID{StorageKey: domstorage.SerializedStorageKey(origin + "/"),
		IsLocalStorage: true}
}

// errTemporary says that a page of ours, for storage, did not show our document.
var errTemporary = errors.New("the page for storage did not come")

// atOrigin shows an empty document of the origin in a page of its own, for the
// time that do takes. No request leaves the browser, and no script of the site
// runs.
func (b *instance) atOrigin(ctx context.Context, in cdp.BrowserContextID, origin string,
	do func(*wire.Session) error) error {
	tgt, id, err := b.newPage(ctx, in)
	defer func() {
		if tgt != nil {
			tgt.Fail(errOurs)
		}
		if id != "" {
			b.closeTarget(id)
		}
	}()
	if err != nil {
		return err
	}
	if err := showEmpty(ctx, tgt, origin); err != nil {
		return fmt.Errorf("an empty page of %s: %w", origin, err)
	}
	return do(tgt)
}

// emptyHeaders come with the empty document.
var emptyHeaders = []*fetch.HeaderEntry{{Name: "Content-Type", Value: "text/html"},
	{Name: "Cache-Control", Value: "no-store"},
	{Name: "Content-Security-Policy", Value: "default-src 'none'"}}

// showEmpty makes a new page show an empty document of the origin. Nothing else
// reads the page's events.
func showEmpty(ctx context.Context, t *wire.Session, origin string) error {
	if err := t.Call(ctx, fetch.CommandEnable, fetch.EnableParams{}, nil); err != nil {
		return err
	}
	navigated, err := t.Send(ctx, page.CommandNavigate, page.NavigateParams{URL: origin + "/"})
	if err != nil {
		return err
	}
	for {
		select {
		case msg := <-t.Events():
			ev, ok := wire.Decode[fetch.EventRequestPaused](msg)
			if msg.Method != cdproto.EventFetchRequestPaused || !ok {
				continue
			}
			answer := fetch.FulfillRequestParams{RequestID: ev.RequestID, ResponseCode: 200,
				ResponseHeaders: emptyHeaders}
			if _, err := t.Send(ctx, fetch.CommandFulfillRequest, answer); err != nil {
				return err
			}
		case r, ok := <-navigated:
			var res page.NavigateResult
			switch {
			case !ok:
				return t.Reason()
			case r.Error != nil:
				return r.Error
			case !decodeReply(r, &res) || res.ErrorText != "":
				return errTemporary
			}
			return nil
		case <-t.Gone():
			return t.Reason()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func decodeReply(r wire.Reply, v any) bool {
	return jsonv2.Unmarshal(r.Result, v, chromedp.DefaultUnmarshalOptions) == nil
}

// StorageState returns the login that the tab's browser context holds for the
// site. It looks from a page of its own, and does not disturb the tab.
func (t *tab) StorageState(ctx context.Context) (json.RawMessage, error) {
	text, err := t.storageState(ctx)
	if err != nil {
		return nil, t.unread(ctx, err, "The login was not read in time.", "The login cannot be read.")
	}
	return text, nil
}

func (t *tab) storageState(ctx context.Context) (json.RawMessage, error) {
	if reason := t.target.Reason(); reason != nil {
		return nil, reason
	}
	if t.origin == "" {
		return nil, errNoOrigin
	}
	all, err := cdp.Call(ctx, t.browser.root, storage.GetCookies,
		storage.GetCookiesParams{BrowserContextID: t.context})
	if err != nil {
		return nil, err
	}
	kept := pageconfig.Stored{LocalStorage: map[string]pageconfig.Secret{}}
	for _, c := range all.Cookies {
		if t.pass != nil && c.Name == t.pass.Name || c.PartitionKey != nil || c.PartitionKeyOpaque || !pageconfig.Gets(t.origin, c.Domain) {
			continue
		}
		kept.Cookies = append(kept.Cookies, pageconfig.Cookie{Name: c.Name,
			Value: pageconfig.Secret(c.Value), Domain: c.Domain, Path: c.Path, Secure: c.Secure,
			HTTPOnly: c.HTTPOnly, SameSite: string(c.SameSite), Expires: c.Expires})
	}
	err = t.browser.atOrigin(ctx, t.context, t.origin, func(tgt *wire.Session) error {
		var items domstorage.GetDOMStorageItemsResult
		err := tgt.Call(ctx, domstorage.CommandGetDOMStorageItems,
			domstorage.GetDOMStorageItemsParams{StorageID: localStorageOf(t.origin)}, &items)
		for _, item := range items.Entries {
			if len(item) == 2 {
				kept.LocalStorage[item[0]] = pageconfig.Secret(item[1])
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return kept.Encode(t.origin)
}

// errNoOrigin says that a tab was opened without its site's origin.
var errNoOrigin = errors.New("the tab does not know the origin of its site")

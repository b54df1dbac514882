package cdp

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/storage"
	cdptarget "github.com/chromedp/cdproto/target"
)

// A browser context that outlives its maker has a cookie that names it, at an origin that no page can have.
const (
	markHost = "pagetools.invalid"
	markName = "by"
)

// mark notes who makes a browser context.
func (b *instance) mark(ctx context.Context, in cdp.BrowserContextID, by string) error {
	if by == "" {
		return nil
	}
	cookie := &network.CookieParam{Name: markName, Value: by, URL: "https://" + markHost + "/", Secure: true, HTTPOnly: true}
	_, err := cdp.Call(ctx, b.root, storage.SetCookies, storage.SetCookiesParams{BrowserContextID: in, Cookies: []*network.CookieParam{cookie}})
	if err != nil {
		return fmt.Errorf("marking a browser context: %w", err)
	}
	return nil
}

// maker returns who made a browser context; "" is somebody else, or nobody knows.
func (b *instance) maker(ctx context.Context, in cdp.BrowserContextID) (by string, err error) {
	all, err := cdp.Call(ctx, b.root, storage.GetCookies, storage.GetCookiesParams{BrowserContextID: in})
	if isProtocol(err) { // it is gone by now
		return "", nil
	}
	if err != nil {
		return "", err
	}
	for _, c := range all.Cookies {
		if c.Domain == markHost && c.Name == markName {
			by = c.Value
		}
	}
	return by, nil
}

// Sweep closes the tabs of makers that are over and that nobody keeps, in all browsers that tabs outlive us in.
func (e *Engine) Sweep(ctx context.Context, over func(ctx context.Context, by string) bool, kept func(context.Context) ([][]byte, error)) (n int, err error) {
	for _, s := range e.slots {
		if !s.reattach {
			continue
		}
		b, failed := e.at(ctx, s.name, false)
		if failed == nil && b.reattaches {
			var closed int
			closed, failed = b.sweep(ctx, e.contextsOf(b), over, kept)
			n += closed
		}
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("looking for pages that nobody keeps: %w", failed))
		}
	}
	return n, err
}

// contextsOf returns the browser contexts of our tabs.
func (e *Engine) contextsOf(b *instance) map[cdp.BrowserContextID]bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	ours := map[cdp.BrowserContextID]bool{}
	for t := range b.tabs {
		ours[t.context] = true
	}
	return ours
}

// sweep is Engine.Sweep for one browser.
func (b *instance) sweep(ctx context.Context, ours map[cdp.BrowserContextID]bool, over func(ctx context.Context, by string) bool,
	kept func(context.Context) ([][]byte, error)) (n int, err error) {
	all, err := cdp.Call(ctx, b.root, cdptarget.GetBrowserContexts, cdp.Empty{})
	if err != nil {
		return 0, err
	}
	var left []cdp.BrowserContextID
	for _, in := range all.BrowserContextIDs {
		if ours[in] {
			continue
		}
		by, err := b.maker(ctx, in)
		if err != nil {
			return 0, err
		}
		if by != "" && over(ctx, by) {
			left = append(left, in)
		}
	}
	if len(left) == 0 {
		return 0, nil
	}
	handles, err := kept(ctx)
	if err != nil {
		return 0, err
	}
	for _, text := range handles {
		if h, err := readHandle(text); err == nil {
			left = slices.DeleteFunc(left, func(in cdp.BrowserContextID) bool { return in == h.Context })
		}
	}
	for _, in := range left {
		if err := b.dispose(ctx, place{in: in}); err != nil && !isProtocol(err) {
			return n, err
		}
		n++
	}
	return n, nil
}

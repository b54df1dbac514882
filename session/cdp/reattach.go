package cdp

import (
	"context"

	"github.com/chromedp/cdproto/cdp"
	cdptarget "github.com/chromedp/cdproto/target"

	"github.com/pagetools/pagetools/session/cdp/endpoint"
)

// Check connects to the browser of an endpoint, and returns its product, and whether its pages can be
// attached to again when a connection has ended. It has a browser of its own from endpoints that start
// them. Errors say why there is none.
func (e *Engine) Check(ctx context.Context, at endpoint.Endpoint) (version string, reattaches bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, claimTime)
	defer cancel()
	c, err := at.Claim(ctx, e.log)
	if err != nil {
		return "", false, err
	}
	defer c.Release()
	if c.Once {
		b, err := e.dial(ctx, c)
		if err != nil {
			return "", false, err
		}
		defer b.kill()
		return b.version, false, nil
	}
	return e.reattaches(ctx, c)
}

// dial speaks to the browser of a claim.
func (e *Engine) dial(ctx context.Context, c *endpoint.Claim) (*instance, error) {
	conn, err := c.Dial(ctx)
	if err != nil {
		return nil, err
	}
	return e.speak(ctx, conn, nil)
}

// reattaches makes a page that is to outlive its connection, ends that, and attaches to the page over
// another one.
func (e *Engine) reattaches(ctx context.Context, c *endpoint.Claim) (version string, can bool, err error) {
	first, err := e.dial(ctx, c)
	if err != nil {
		return "", false, err
	}
	version = first.version
	made, err := cdp.Call(ctx, first.root, cdptarget.CreateBrowserContext, cdptarget.CreateBrowserContextParams{DisposeOnDetach: new(false)})
	var page cdptarget.ID
	if err == nil {
		_, page, err = first.newPage(ctx, made.BrowserContextID)
	}
	first.kill()
	if err != nil {
		return version, false, err
	}
	second, err := e.dial(ctx, c)
	if err != nil {
		return version, false, err
	}
	defer second.kill()
	_, err = second.attachTo(ctx, page)
	bounded, cancel := farewell()
	defer cancel()
	_ = second.dispose(bounded, place{in: made.BrowserContextID}) // of another browser it is not there
	return version, err == nil, nil
}

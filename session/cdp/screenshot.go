package cdp

import (
	"context"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
)

var _ session.Photographer = (*tab)(nil)

// Screenshot implements session.Photographer.
func (t *tab) Screenshot(ctx context.Context) ([]byte, error) {
	shot, err := cdp.Call(ctx, t.target, page.CaptureScreenshot, page.CaptureScreenshotParams{})
	switch {
	case err == nil:
		return shot.Data, nil
	case t.target.Reason() != nil:
		return nil, goneError(t.target.Reason(), bridge.NotRun)
	case ctx.Err() != nil:
		return nil, late(ctx, "The page shows nothing now: a dialog may be open in it.")
	}
	return nil, bridge.Errorf(bridge.InternalError, bridge.Internal, bridge.NotRun,
		"There is no picture of this page.").With(err)
}

package cdp

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"

	"github.com/pagetools/pagetools/session/cdp/wire"
	"github.com/pagetools/pagetools/shim"
)

// loadTime resolves to how long the page took from the start of its navigation
// to the end of its load event, in milliseconds.
const loadTime = `new Promise((resolve) => {
	const entry = performance.getEntriesByType('navigation')[0];
	const look = () => entry.loadEventEnd > 0 ? resolve(String(entry.loadEventEnd)) : setTimeout(look);
	look();
})`

// Loads loads an address n times in a page with the page script and n times in
// one without, in turns, and returns how long each took by the page's own clock.
// It is for the benchmarks.
func Loads(ctx context.Context, e *Engine, address string, n int) (with, without []time.Duration, err error) {
	b, err := e.instance(ctx, true)
	if err != nil {
		return nil, nil, err
	}
	defer e.release(b)
	scripted, end, err := b.bare(ctx, shim.Source(shim.NewName()))
	defer end()
	if err != nil {
		return nil, nil, err
	}
	plain, end, err := b.bare(ctx, "")
	defer end()
	if err != nil {
		return nil, nil, err
	}
	for range n {
		a, err := load(ctx, scripted, address)
		if err != nil {
			return nil, nil, err
		}
		b, err := load(ctx, plain, address)
		if err != nil {
			return nil, nil, err
		}
		with, without = append(with, a), append(without, b)
	}
	return with, without, nil
}

// bare makes a page that nobody watches, and what closes it. The script, when
// there is one, is put into its documents.
func (b *instance) bare(ctx context.Context, script string) (tgt *wire.Session, end func(), err error) {
	tgt, contextID, id, err := b.newTarget(ctx)
	end = func() {
		bounded, cancel := farewell()
		defer cancel()
		_ = b.dispose(bounded, contextID, id)
		if tgt != nil {
			tgt.Fail(errOurs)
		}
	}
	if err == nil {
		err = tgt.Call(ctx, page.CommandEnable, page.EnableParams{}, nil)
	}
	if err == nil && script != "" {
		params := page.AddScriptToEvaluateOnNewDocumentParams{Source: script}
		err = tgt.Call(ctx, page.CommandAddScriptToEvaluateOnNewDocument, params, nil)
	}
	return tgt, end, err
}

// load navigates and returns what the page says that it took.
func load(ctx context.Context, tgt *wire.Session, address string) (time.Duration, error) {
	var res page.NavigateResult
	if err := tgt.Call(ctx, page.CommandNavigate, page.NavigateParams{URL: address}, &res); err != nil {
		return 0, err
	}
	if res.ErrorText != "" {
		return 0, loadError(res.ErrorText)
	}
	var took evaluateResult
	if err := tgt.Call(ctx, runtime.CommandEvaluate, evaluateParams{Expression: loadTime, AwaitPromise: true, ReturnByValue: true}, &took); err != nil {
		return 0, err
	}
	text, err := took.text()
	if err != nil {
		return 0, err
	}
	ms, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("the time of a load: %w", err)
	}
	return time.Duration(ms * float64(time.Millisecond)), nil
}

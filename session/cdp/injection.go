package cdp

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	cdptarget "github.com/chromedp/cdproto/target"

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
// one without, in turns, and gives how long each took by the page's own clock.
// It is for the benchmarks.
func Loads(ctx context.Context, e *Engine, address string, n int) (with, without []time.Duration, err error) {
	b, err := e.instance(ctx, true)
	if err != nil {
		return nil, nil, err
	}
	defer e.release(b)
	samples := make([][]time.Duration, 2)
	tabs := make([]*target, 2)
	for i := range tabs {
		tgt, contextID, id, err := b.newTarget(ctx, cdptarget.CreateBrowserContextParams{})
		if err != nil {
			return nil, nil, err
		}
		defer func() {
			bounded, cancel := farewell()
			defer cancel()
			_ = b.dispose(bounded, contextID, id)
			tgt.fail(errOurs)
		}()
		tabs[i] = tgt
		if err := tgt.Call(ctx, page.CommandEnable, page.EnableParams{}, nil); err != nil {
			return nil, nil, err
		}
	}
	script := page.AddScriptToEvaluateOnNewDocumentParams{Source: shim.Source(shim.NewName())}
	if err := tabs[0].Call(ctx, page.CommandAddScriptToEvaluateOnNewDocument, script, nil); err != nil {
		return nil, nil, err
	}
	for range n {
		for i, tgt := range tabs {
			took, err := load(ctx, tgt, address)
			if err != nil {
				return nil, nil, err
			}
			samples[i] = append(samples[i], took)
		}
	}
	return samples[0], samples[1], nil
}

// load navigates and gives what the page says that it took.
func load(ctx context.Context, tgt *target, address string) (time.Duration, error) {
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

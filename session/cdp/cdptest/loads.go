// Package cdptest measures what the page script costs a page, for the benchmarks.
package cdptest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	cdptarget "github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"

	"github.com/pagetools/pagetools/session/cdp/chrome"
	"github.com/pagetools/pagetools/session/cdp/wire"
	"github.com/pagetools/pagetools/shim"
)

// loadTime resolves to how long the page took from the start of its navigation
// to the end of its load event, in milliseconds.
const loadTime = `new Promise((resolve) => {
	const entry = performance.getEntriesByType('navigation')[0];
	const look = () => entry.loadEventEnd > 0 ? resolve(entry.loadEventEnd) : setTimeout(look);
	look();
})`

// Loads loads an address n times in a page with the page script and n times in one
// without, in turns, in a browser of its own that is warm. It returns how long each
// took by the page's own clock.
func Loads(ctx context.Context, o chrome.Options, address string,
	n int) (with, without []time.Duration, err error) {
	launcher, err := chrome.NewLauncher(o)
	if err != nil {
		return nil, nil, err
	}
	process, err := launcher.Start()
	if err != nil {
		return nil, nil, err
	}
	conn := wire.New(wire.NewPipe(process.Out, process.In), nil)
	defer func() {
		_ = conn.Close()
		process.Kill()
		<-process.Done()
	}()
	root, err := chromedp.NewBrowserTransport(ctx, conn)
	if err != nil {
		return nil, nil, fmt.Errorf("speaking to the browser: %w", err)
	}
	scripted, err := open(ctx, conn, root, shim.Source(shim.NewName()))
	if err != nil {
		return nil, nil, err
	}
	plain, err := open(ctx, conn, root, "")
	if err != nil {
		return nil, nil, err
	}
	warm := n / 5
	for range warm + n {
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
	return with[warm:], without[warm:], nil
}

// open makes a page that nobody watches. The script, when there is one, is put into
// its documents.
func open(ctx context.Context, conn *wire.Conn, root *chromedp.Browser,
	script string) (*wire.Session, error) {
	yes := true
	made, err := cdp.Call(ctx, root, cdptarget.CreateTarget,
		cdptarget.CreateTargetParams{URL: "about:blank", NewWindow: &yes})
	if err != nil {
		return nil, fmt.Errorf("making a page: %w", err)
	}
	attached, err := cdp.Call(ctx, root, cdptarget.AttachToTarget,
		cdptarget.AttachToTargetParams{TargetID: made.TargetID, Flatten: &yes})
	if err != nil {
		return nil, fmt.Errorf("attaching to a page: %w", err)
	}
	s := conn.Open(attached.SessionID)
	err = s.Call(ctx, page.CommandEnable, page.EnableParams{}, nil)
	if err == nil && script != "" {
		params := page.AddScriptToEvaluateOnNewDocumentParams{Source: script}
		err = s.Call(ctx, page.CommandAddScriptToEvaluateOnNewDocument, params, nil)
	}
	return s, err
}

// load navigates and returns what the page says that it took.
func load(ctx context.Context, s *wire.Session, address string) (time.Duration, error) {
	res, err := cdp.Call(ctx, s, page.Navigate, page.NavigateParams{URL: address})
	if err != nil {
		return 0, fmt.Errorf("loading %s: %w", address, err)
	}
	if res.ErrorText != "" {
		return 0, errors.New("loading " + address + ": " + res.ErrorText)
	}
	yes := true
	took, err := cdp.Call(ctx, s, runtime.Evaluate,
		runtime.EvaluateParams{Expression: loadTime, AwaitPromise: &yes, ReturnByValue: &yes})
	if err != nil {
		return 0, fmt.Errorf("the time of a load: %w", err)
	}
	if took.ExceptionDetails != nil {
		return 0, errors.New("the time of a load: " + took.ExceptionDetails.Text)
	}
	ms, err := strconv.ParseFloat(string(took.Result.Value), 64)
	if err != nil {
		return 0, fmt.Errorf("the time of a load: %w", err)
	}
	return time.Duration(ms * float64(time.Millisecond)), nil
}

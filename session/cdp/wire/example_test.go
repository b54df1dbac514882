package wire_test

import (
	"context"
	"fmt"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/pagetools/pagetools/session/cdp/chrome"
	"github.com/pagetools/pagetools/session/cdp/wire"
)

// A browser over a pipe, and a CDP session of ours on its connection. It needs a browser,
// so it is compiled and not run.
func ExampleNew() {
	launcher, err := chrome.NewLauncher(chrome.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	process, err := launcher.Start()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer process.Kill()
	conn := wire.New(wire.NewPipe(process.Out, process.In), nil)
	defer func() { _ = conn.Close() }()
	ctx := context.Background()
	browser, err := chromedp.NewBrowserTransport(ctx, conn) // contexts, targets, versions
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = browser
	session := conn.Open("the id that Target.attachToTarget returned")
	fmt.Println(session.Call(ctx, page.CommandEnable, page.EnableParams{}, nil))
}

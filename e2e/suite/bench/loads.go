package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"time"

	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp"
	"github.com/pagetools/pagetools/session/cdp/cdptest"
	"github.com/pagetools/pagetools/session/cdp/chrome"
)

// manyTools is a page that registers as many tools as a document may, in one go.
const manyTools = `<!doctype html><meta charset="utf-8"><script>
for (let i = 0; i < 256; i++) document.modelContext.registerTool({name: "t" + i, description: "d", execute() {}});
</script>`

// pageRows measures what a page pays for the page script.
func pageRows(ctx context.Context) ([]row, error) {
	l, err := listen()
	if err != nil {
		return nil, err
	}
	site := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		switch r.URL.Path {
		case "/many":
			_, _ = w.Write([]byte(manyTools))
		case "/frames":
			_, _ = w.Write([]byte(manyFrames))
		case "/one":
			_, _ = w.Write([]byte(oneTool))
		}
	}))
	site.Listener = l
	site.Start()
	defer site.Close()
	o := chrome.Options{Path: os.Getenv("PAGETOOLS_EXECUTABLE_PATH"),
		NoSandbox: os.Getenv("PAGETOOLS_NO_SANDBOX") == "1"}
	e, err := cdp.NewLocal(cdp.LocalOptions{Options: o})
	if err != nil {
		return nil, err
	}
	rows, err := measurePages(ctx, o, e, site.URL)
	if err == nil {
		var opened row
		opened, err = openRow(ctx, o, site.URL)
		rows = append(rows, opened)
	}
	if err == nil {
		var spread []row
		spread, err = spreadRows(ctx, e, site.URL)
		rows = append(rows, spread...)
	}
	return rows, errors.Join(err, e.Close())
}

func measurePages(ctx context.Context, o chrome.Options, e *cdp.Engine, url string) ([]row, error) {
	with, without, err := cdptest.Loads(ctx, o, url+"/", size.loads)
	if err != nil {
		return nil, err
	}
	added := median(with) - median(without)
	n, err := messages(ctx, e, url+"/many")
	if err != nil {
		return nil, err
	}
	return []row{
		{fmt.Sprintf("load of an empty page, p50 of %d", size.loads), ms(median(with)), ms(median(without)),
			fmt.Sprintf("%+.2f ms", float64(added)/float64(time.Millisecond)), "under +5 ms", added < 5*time.Millisecond},
		{"messages for 256 tools registered in one go", fmt.Sprint(n), "", "", "1", n == 1},
	}, nil
}

// kept is the number of pages that are opened and stay open, each in a context of its own.
const kept = 10

// openRow compares our browser with one that opens renderers beside those of pages.
func openRow(ctx context.Context, o chrome.Options, url string) (row, error) {
	var ours, floor []time.Duration
	for range size.starts {
		for _, side := range []struct {
			args  []string
			times *[]time.Duration
		}{{nil, &ours}, {[]string{"--disable-features=Translate"}, &floor}} {
			o.Args = side.args
			took, err := openPages(ctx, o, url)
			if err != nil {
				return row{}, err
			}
			*side.times = append(*side.times, took)
		}
	}
	return latency("10 pages opened and kept, against a browser with all its features",
		median(ours), median(floor), 1), nil
}

// openPages returns how long a browser that runs takes to open its pages.
func openPages(ctx context.Context, o chrome.Options, url string) (took time.Duration, err error) {
	e, err := cdp.NewLocal(cdp.LocalOptions{Options: o})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	if _, err := e.Start(ctx); err != nil {
		return 0, err
	}
	began := time.Now()
	for range kept {
		tab, err := e.Open(ctx, session.TabOptions{})
		if err != nil {
			return 0, err
		}
		go drain(tab) // ends with the browser
		if err := tab.Load(ctx, url); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d)/float64(time.Millisecond)) }

// messages counts the sets of tools that a page sends until it has loaded.
func messages(ctx context.Context, e *cdp.Engine, url string) (n int, err error) {
	tab, err := e.Open(ctx, session.TabOptions{})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, tab.Close(ctx)) }()
	bounded, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if err := tab.Load(bounded, url); err != nil {
		return 0, err
	}
	counts := []int{}
	for {
		select {
		case ev := <-tab.Events():
			switch ev := ev.(type) {
			case session.ToolsChanged:
				if len(ev.Tools) > 0 {
					counts = append(counts, len(ev.Tools))
				}
			case session.Loaded:
				if !slices.Contains(counts, 256) {
					return 0, fmt.Errorf("the page has loaded with %v tools", counts)
				}
				return len(counts), nil
			}
		case <-bounded.Done():
			return 0, context.Cause(bounded)
		}
	}
}

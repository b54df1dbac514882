package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp"
	"github.com/pagetools/pagetools/session/cdp/chrome"
	"github.com/pagetools/pagetools/session/egress"
)

// heavyPage has what the page of an application loads: styles, scripts and pictures.
var heavyPage = "<!doctype html><title>app</title>" + strings.Repeat("<link rel=stylesheet href=/a.css>", 2) +
	"<script src=/1.js></script><script src=/2.js></script><script src=/3.js></script><script src=/4.js></script>" +
	"<img src=/1.png><img src=/2.png><img src=/3.png><img src=/4.png><body>"

// egressRows compares loads of a page through the proxy with direct ones.
func egressRows(ctx context.Context) ([]row, error) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		switch {
		case r.URL.Path == "/":
			_, _ = w.Write([]byte(heavyPage))
		case strings.HasSuffix(r.URL.Path, ".js"):
			w.Header().Set("Content-Type", "text/javascript")
			_, _ = w.Write([]byte("/*" + strings.Repeat("x", 30_000) + "*/"))
		default:
			_, _ = w.Write([]byte(strings.Repeat(" ", 10_000)))
		}
	}))
	defer site.Close()
	proxy, err := egress.Start(ctx, egress.Options{})
	if err != nil {
		return nil, err
	}
	o := cdp.LocalOptions{Options: chrome.Options{Path: os.Getenv("PAGETOOLS_EXECUTABLE_PATH"),
		NoSandbox: os.Getenv("PAGETOOLS_NO_SANDBOX") == "1"}}
	direct, err := cdp.NewLocal(o)
	if err != nil {
		return nil, errors.Join(err, proxy.Close())
	}
	o.Proxy = proxy
	through, err := cdp.NewLocal(o)
	if err != nil {
		return nil, errors.Join(err, direct.Close(), proxy.Close())
	}
	with, without, err := alternate(ctx, through, direct, site.URL)
	err = errors.Join(err, through.Close(), direct.Close(), proxy.Close())
	if err != nil {
		return nil, err
	}
	return []row{latency(fmt.Sprintf("load of a page with ten files through the proxy, p50 of %d", size.loads),
		median(with), median(without), 1.1)}, nil
}

// alternate loads a page on both sides in turns, each time in a page of its own. Those of a are
// confined.
func alternate(ctx context.Context, a, b *cdp.Engine, url string) (ofA, ofB []time.Duration, err error) {
	for i := range size.loads + 3 {
		for e, all := range map[*cdp.Engine]*[]time.Duration{a: &ofA, b: &ofB} {
			var reach *policy.Reach
			if e == a {
				reach = &policy.Reach{Origins: []string{url}}
			}
			took, err := loaded(ctx, e, url, reach)
			if err != nil {
				return nil, nil, err
			}
			if i >= 3 {
				*all = append(*all, took)
			}
		}
	}
	return ofA, ofB, nil
}

// loaded returns how long a new page takes from the navigation to its load event.
func loaded(ctx context.Context, e *cdp.Engine, url string,
	reach *policy.Reach) (time.Duration, error) {
	tab, err := e.Open(ctx, session.TabOptions{Origin: url, Reach: reach})
	if err != nil {
		return 0, err
	}
	began := time.Now()
	done := make(chan time.Duration, 1)
	go func() { // ends with the tab
		for ev := range tab.Events() {
			if _, ok := ev.(session.Loaded); ok {
				select {
				case done <- time.Since(began):
				default:
				}
			}
		}
		close(done)
	}()
	if err := tab.Load(ctx, url+"/"); err != nil {
		return 0, errors.Join(err, tab.Close(ctx))
	}
	took, ok := <-done
	if !ok {
		return 0, errors.New("the page died")
	}
	return took, tab.Close(ctx)
}

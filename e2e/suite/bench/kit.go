package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/e2e/report"
	kitrun "github.com/pagetools/pagetools/e2e/run"
	"github.com/pagetools/pagetools/e2e/scenario"
	"github.com/pagetools/pagetools/session/cdp"
	"github.com/pagetools/pagetools/session/cdp/chrome"
)

const (
	kitTools = 10   // of the page that is checked
	kitList  = 1000 // tools of a list without a browser
)

// kitRows measures the test kit: its commands against the browser alone, or against a bound.
func kitRows(ctx context.Context, bin string) ([]row, error) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(toolPage(kitTools)))
	}))
	defer site.Close()
	dir, err := os.MkdirTemp(filepath.Dir(bin), "kit-")
	if err != nil {
		return nil, err
	}
	checked, err := besideBrowser(ctx, dir, site.URL, bin, "check", "--fail-on", "never", site.URL+"/")
	if err != nil {
		return nil, fmt.Errorf("check: %w", err)
	}
	cases, err := caseRows(ctx, site.URL)
	if err != nil {
		return nil, fmt.Errorf("cases: %w", err)
	}
	watched, err := watchRow(ctx, bin, dir)
	if err != nil {
		return nil, fmt.Errorf("watch: %w", err)
	}
	lists, err := listedRows(ctx, bin, dir)
	if err != nil {
		return nil, fmt.Errorf("lists: %w", err)
	}
	rows := append([]row{latency("check of a page with 10 tools", checked.ours, checked.alone, 1.5)}, cases...)
	return append(append(rows, watched), lists...), nil
}

func toolPage(n int) string {
	return fmt.Sprintf(`<!doctype html><title>Kit</title><script>
for (let i = 0; i < %d; i++) document.modelContext.registerTool({name: "count_stamps_" + i, title: "Count the stamps",
  description: "Counts the stamps of album " + i + " of the collection.", annotations: {readOnlyHint: true},
  inputSchema: {type: "object", properties: {}}, execute: () => i});
</script>`, n)
}

// caseRows runs cases that call twice, one after another and all doors at once.
func caseRows(ctx context.Context, url string) ([]row, error) {
	var text strings.Builder
	fmt.Fprintf(&text, "site: {url: %q}\ncases:\n", url+"/")
	for i := range size.cases {
		fmt.Fprintf(&text, "  - {name: case %d, steps: [{call: count_stamps_1, expect: 1}, {call: count_stamps_2, expect: 2}]}\n", i)
	}
	f, err := scenario.Read("kit.webtool.yaml", []byte(text.String()))
	if err != nil {
		return nil, err
	}
	alone, err := kitrun.Files(ctx, []*scenario.File{f}, kitrun.Options{Open: openKit,
		Select: scenario.Options{Via: []scenario.Door{scenario.ThroughWebtool}}})
	if err != nil {
		return nil, err
	}
	all, err := kitrun.Files(ctx, []*scenario.File{f}, kitrun.Options{Open: openKit, Parallel: 2})
	if err != nil {
		return nil, err
	}
	took, err := caseTime(alone)
	if err == nil {
		_, err = caseTime(all)
	}
	if err != nil {
		return nil, err
	}
	opened, err := openTime(ctx, url)
	if err != nil {
		return nil, err
	}
	added, most := took-opened, time.Duration(size.cases)*600*time.Millisecond
	return []row{
		{"case that calls twice in a fresh page, against its load, p50", ms(took), ms(opened),
			fmt.Sprintf("%+.2f ms", float64(added)/float64(time.Millisecond)), "at most +150 ms", added <= 150*time.Millisecond},
		{fmt.Sprintf("%d cases through three doors, two at once", size.cases),
			fmt.Sprintf("%.1f s", all.Took.Seconds()), "", "", fmt.Sprintf("under %.0f s", most.Seconds()), all.Took < most},
	}, nil
}

// caseTime returns the median time of cases, all of which must have passed.
func caseTime(r *report.Run) (time.Duration, error) {
	var took []time.Duration
	for i := range r.Cases {
		if c := &r.Cases[i]; c.Status != report.Passed {
			return 0, errors.New(c.Text())
		}
		took = append(took, r.Cases[i].Took)
	}
	return median(took), nil
}

// kitBrowser returns the browser of tests: the headless shell where there is one.
func kitBrowser() cdp.LocalOptions {
	return cdp.LocalOptions{Options: chrome.Options{NoSandbox: os.Getenv("PAGETOOLS_NO_SANDBOX") == "1",
		Path: gatetest.Browser()}}
}

func openKit(ctx context.Context, t *app.Target, complete func(*app.Options)) (*app.App, error) {
	site := app.Site{Target: t}
	site.Tools.Approval = policy.Operator{Mode: policy.ModeAuto}
	o := app.Options{Sites: []app.Site{site}, Local: kitBrowser()}
	complete(&o)
	return app.Start(ctx, o)
}

// openTime returns how long the browser takes to load the page in a context of its own.
func openTime(ctx context.Context, url string) (time.Duration, error) {
	e, err := cdp.NewLocal(kitBrowser())
	if err != nil {
		return 0, err
	}
	var all []time.Duration
	for i := range size.loads + 3 {
		took, err := loaded(ctx, e, url, nil)
		if err != nil {
			return 0, errors.Join(err, e.Close())
		}
		if i >= 3 {
			all = append(all, took)
		}
	}
	return median(all), e.Close()
}

// watchRow measures from a change of a file until the run that it causes is over.
func watchRow(ctx context.Context, bin, dir string) (row, error) {
	folder := filepath.Join(dir, "watched")
	if err := os.Mkdir(folder, 0o700); err != nil {
		return row{}, err
	}
	name := filepath.Join(folder, "a.webtool.yaml")
	write := func(round int) error {
		text := fmt.Sprintf("site: {dir: .}\ncases: [{name: round %d, via: page, steps: [{call: count_stamps_1, expect: 1}]}]\n", round)
		return os.WriteFile(name, []byte(text), 0o600)
	}
	err := errors.Join(write(0), os.WriteFile(filepath.Join(folder, "index.html"), []byte(toolPage(kitTools)), 0o600))
	if err != nil {
		return row{}, err
	}
	c := exec.CommandContext(ctx, bin, "test", "--watch", folder)
	said, err := c.StderrPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return row{}, err
	}
	lines := bufio.NewScanner(said)
	over := func() error {
		for lines.Scan() {
			if strings.Contains(lines.Text(), "watching for changes") {
				return nil
			}
		}
		return errors.New("it ended")
	}
	var all []time.Duration
	err = over()
	for round := 1; round <= size.starts && err == nil; round++ {
		began := time.Now()
		if err = write(round); err == nil {
			err = over()
		}
		all = append(all, time.Since(began))
	}
	_ = c.Process.Signal(os.Interrupt)
	_ = c.Wait() // it was interrupted
	if err != nil {
		return row{}, err
	}
	took := median(all)
	return row{"test --watch: from a change until its run is over", ms(took), "", "", "under 1s", took < time.Second}, nil
}

// listedRows compares and judges lists of tools that are in files.
func listedRows(ctx context.Context, bin, dir string) ([]row, error) {
	names := [2]string{filepath.Join(dir, "old.json"), filepath.Join(dir, "new.json")}
	for version, name := range names {
		var tools []any
		for i := range kitList {
			tools = append(tools, map[string]any{"name": fmt.Sprintf("count_stamps_%d", i), "title": "Count the stamps",
				"description": fmt.Sprintf("Counts the stamps of album %d of the collection.", i+version),
				"inputSchema": map[string]any{"type": "object", "properties": map[string]any{"year": map[string]any{"type": "integer",
					"minimum": 1840 + version*(i%2), "description": "The year of the stamps."}}}})
		}
		text, err := json.Marshal(map[string]any{"tools": tools})
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(name, text, 0o600); err != nil {
			return nil, err
		}
	}
	var rows []row
	for _, c := range []struct {
		what string
		most time.Duration
		args []string
	}{
		{"diff of two lists of 1,000 tools", 200 * time.Millisecond, []string{"diff", "--fail-on", "never", names[0], names[1]}},
		{"check --from of 1,000 tools", 500 * time.Millisecond, []string{"check", "--fail-on", "never", "--from", names[0]}},
	} {
		var all []time.Duration
		for range size.starts {
			took, err := timed(exec.CommandContext(ctx, bin, c.args...))
			if err != nil {
				return nil, err
			}
			all = append(all, took)
		}
		took := median(all)
		rows = append(rows, row{c.what, ms(took), "", "", "under " + c.most.String(), took < c.most})
	}
	return rows, nil
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp"
)

// manyFrames is a page with forty frames that each register a tool; the page has
// one too.
const manyFrames = `<!doctype html><meta charset="utf-8"><script>
document.modelContext.registerTool({name: "t0", description: "d", execute() { return 1; }});
for (let i = 0; i < 40; i++) {
  const f = document.createElement("iframe");
  f.name = "f" + i;
  f.src = "/one";
  document.documentElement.append(f);
}
</script>`

const oneTool = `<!doctype html><meta charset="utf-8"><script>
document.modelContext.registerTool({name: "t0", description: "d", execute() { return 1; }});
</script>`

// spreadRows measures what the number of tools and of frames does to a call.
func spreadRows(ctx context.Context, e *cdp.Engine, url string) (rows []row, err error) {
	kinds := []struct {
		what, path, frame string
		tools             int
	}{
		{"", "/one", "", 1}, {"call among 256 tools, p50", "/many", "",
			256}, {"call on a page with 40 frames, p50", "/frames", "", 41},
		{"call in one of 40 frames, p50", "/frames", "f39", 41},
	}
	tabs := make([]session.Tab, 0, len(kinds))
	defer func() {
		for _, tab := range tabs {
			err = errors.Join(err, tab.Close(ctx))
		}
	}()
	calls := make([]session.Invocation, len(kinds))
	for i, k := range kinds {
		tab, err := e.Open(ctx, session.TabOptions{})
		if err != nil {
			return nil, err
		}
		tabs = append(tabs, tab)
		d, err := declared(ctx, tab, url+k.path, k.frame, k.tools)
		if err != nil {
			return nil, err
		}
		calls[i] = session.Invocation{Document: d.Document, Tool: d.ID,
			Input: json.RawMessage("{}"), MaxBytes: 1 << 20}
	}
	times := make([][]time.Duration, len(kinds))
	for n := range size.spread + 200 {
		for i := range kinds { // in turns
			began := time.Now()
			if s := tabs[i].Invoke(ctx, calls[i]); s.Err != nil {
				return nil, s.Err
			}
			if n >= 200 { // warm
				times[i] = append(times[i], time.Since(began))
			}
		}
	}
	base := median(times[0])
	for i, k := range kinds[1:] {
		ratio := float64(median(times[i+1])) / float64(base)
		rows = append(rows, row{k.what, fmt.Sprint(median(times[i+1]).Round(time.Microsecond)), fmt.Sprint(base.Round(time.Microsecond)),
			fmt.Sprintf("%.2f", ratio), "0.8 to 1.2", ratio < 1.2})
	}
	return rows, nil
}

// declared loads a page, waits until it has so many tools, and returns the tool t0
// of the frame. The rest of the tab's events are read and forgotten.
func declared(ctx context.Context, tab session.Tab, url, frame string,
	tools int) (found bridge.Declaration, err error) {
	bounded, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if err := tab.Load(bounded, url); err != nil {
		return found, err
	}
	sets := map[string][]bridge.Declaration{}
	for {
		select {
		case ev := <-tab.Events():
			set, ok := ev.(session.ToolsChanged)
			if !ok {
				continue
			}
			sets[set.Document] = set.Tools
			all := 0
			for _, s := range sets {
				all += len(s)
				if i := slices.IndexFunc(s, func(d bridge.Declaration) bool { return d.Frame == frame && d.Name == "t0" }); i >= 0 {
					found = s[i]
				}
			}
			if all == tools && found.Name != "" {
				go drain(tab)
				return found, nil
			}
		case <-bounded.Done():
			return found, context.Cause(bounded)
		}
	}
}

// drain reads the events of a tab until it is closed.
func drain(tab session.Tab) {
	for range tab.Events() {
	}
}

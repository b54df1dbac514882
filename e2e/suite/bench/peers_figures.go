package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp"
	"github.com/pagetools/pagetools/session/cdp/chrome"
)

// A figure of a peer is taken from at most so many calls, in at most this time.
const (
	peerCalls  = 300
	peerTime   = 4 * time.Second
	peerWithin = 2 * time.Minute // of one measurement; only a defect reaches it
)

// peerFigures holds the results of a run.
type peerFigures struct {
	Machine string   `json:"machine"`
	Peers   []string `json:"peers"`
	Rows    []figure `json:"rows"`
	Growth  []growth `json:"growth"`
}

// figure is one row: what was measured, in which unit, for each peer; less is better.
type figure struct {
	What  string             `json:"what"`
	Unit  string             `json:"unit"`
	Of    map[string]float64 `json:"of"`
	Floor float64            `json:"floor,omitempty"`
}

// growth says how a figure of each peer changes with something.
type growth struct {
	Name   string  `json:"name"`
	X      string  `json:"x"`
	Y      string  `json:"y"`
	Points []point `json:"points"`
}

type point struct {
	Peer string  `json:"peer"`
	X    float64 `json:"x"`
	Y    float64 `json:"y"`
}

// put adds a figure to the row with that name.
func (f *peerFigures) put(what, unit, peer string, v float64) {
	i := slices.IndexFunc(f.Rows, func(r figure) bool { return r.What == what })
	if i < 0 {
		i, f.Rows = len(f.Rows), append(f.Rows, figure{What: what, Unit: unit, Of: map[string]float64{}})
	}
	if peer == "" {
		f.Rows[i].Floor = v
	} else {
		f.Rows[i].Of[peer] = v
	}
}

func (f *peerFigures) grow(name, x, y, peer string, at, v float64) {
	i := slices.IndexFunc(f.Growth, func(g growth) bool { return g.Name == name })
	if i < 0 {
		i, f.Growth = len(f.Growth), append(f.Growth, growth{Name: name, X: x, Y: y})
	}
	f.Growth[i].Points = append(f.Growth[i].Points, point{peer, at, v})
}

// The rows.
const (
	rowStart  = "from the start of the program to a list with the page's tools, median of 5"
	rowList   = "list again, p50"
	rowCall   = "call of a tool that does nothing, p50"
	rowCall99 = "the same, p99"
	rowFour   = "four calls at once of a tool that takes 500 ms"
	rowBridge = "memory without the browser, PSS"
	rowAll    = "memory with the browser, PSS"
)

// comparePeers measures all peers, or the one that is named, writes the figures to a file and
// prints them as a table.
func comparePeers(ctx context.Context, dir, file, only string) error {
	b, end, err := newPeerBench(ctx, dir)
	if err != nil {
		return err
	}
	defer end()
	f := &peerFigures{Machine: fmt.Sprintf("%s, %s/%s, %d cores, %s", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), time.Now().Format(time.DateOnly))}
	if err := b.floor(ctx, f); err != nil {
		return fmt.Errorf("the floor: %w", err)
	}
	var failed error // the other peers are measured
	for i := range peers {
		if only != "" && peers[i].name != only {
			continue
		}
		f.Peers = append(f.Peers, peers[i].name)
		fmt.Fprintln(os.Stderr, "bench:", peers[i].name)
		if err := b.measure(ctx, f, i); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", peers[i].name, err))
		}
	}
	out, err := json.MarshalIndent(f, "", " ")
	if err != nil {
		return err
	}
	f.print()
	return errors.Join(failed, os.WriteFile(file, append(out, '\n'), 0o600))
}

func (f *peerFigures) print() {
	fmt.Printf("%s\n\n| what | floor | %s |\n|---|---|%s\n", f.Machine, strings.Join(f.Peers, " | "), strings.Repeat("---|", len(f.Peers)))
	for _, r := range f.Rows {
		fmt.Printf("| %s, %s | ", r.What, r.Unit)
		if r.Floor > 0 {
			fmt.Printf("%.3g", r.Floor)
		}
		for _, p := range f.Peers {
			if v, ok := r.Of[p]; ok {
				fmt.Printf(" | %.3g", v)
			} else {
				fmt.Print(" | -")
			}
		}
		fmt.Println(" |")
	}
}

func (b *peerBench) measure(ctx context.Context, f *peerFigures, of int) error {
	for _, m := range []func(context.Context, *peerFigures, int) error{b.starts, b.oneAgent, b.manyTools, b.manyAgents} {
		within, cancel := context.WithTimeout(ctx, peerWithin)
		err := m(within, f, of)
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}

// starts measures from nothing to a list.
func (b *peerBench) starts(ctx context.Context, f *peerFigures, of int) error {
	var took []time.Duration
	for range whole.rounds {
		began := time.Now()
		r, err := b.start(ctx, of, peerTools)
		took = append(took, time.Since(began))
		if err == nil {
			err = r.stop()
		}
		if err != nil {
			return err
		}
	}
	f.put(rowStart, "ms", peers[of].name, milliseconds(median(took)))
	return nil
}

// oneAgent measures calls of one agent on one page.
func (b *peerBench) oneAgent(ctx context.Context, f *peerFigures, of int) error {
	name := peers[of].name
	r, err := b.start(ctx, of, peerTools)
	if err != nil {
		return err
	}
	defer func() { _ = r.stop() }()
	all, bridge := memory(marked(r.mark))
	f.put(rowAll, "MB", name, all)
	f.put(rowBridge, "MB", name, bridge)
	lists, err := timesOf(func() error { return r.list(ctx, "noop") })
	if err != nil {
		return err
	}
	f.put(rowList, "ms", name, milliseconds(quantile(lists, .5)))
	noop := func() error {
		_, err := r.use(ctx, "noop", map[string]any{})
		return err
	}
	calls, err := timesOf(noop)
	if err != nil {
		return err
	}
	f.put(rowCall, "ms", name, milliseconds(quantile(calls, .5)))
	f.put(rowCall99, "ms", name, milliseconds(quantile(calls, .99)))
	four, err := together(4, 1, func() error {
		_, err := r.use(ctx, "slow", map[string]any{})
		return err
	})
	if err != nil {
		return err
	}
	f.put(rowFour, "ms", name, milliseconds(four))
	for _, agents := range []int{1, 4, 16} {
		each := min(40, max(2, int(peerTime/quantile(calls, .5))/agents))
		took, err := together(agents, each, noop)
		if err != nil {
			return err
		}
		f.grow("peers-concurrency", "calls at once", "calls per second", name, float64(agents), float64(agents*each)/took.Seconds())
	}
	for _, size := range []int{1_000, 10_000, 100_000, 900_000} {
		times, err := timesOf(func() error {
			got, err := r.use(ctx, "text", map[string]any{"bytes": size})
			if err == nil && len(got) < size {
				err = fmt.Errorf("a result of %d bytes came with %d", size, len(got))
			}
			return err
		})
		if err != nil {
			fmt.Fprintf(os.Stderr, "bench: %s: %v\n", name, err)
			break
		}
		f.grow("peers-result", "size of the result, bytes", "time of a call, ms", name, float64(size), milliseconds(quantile(times, .5)))
	}
	return nil
}

// manyTools measures lists of many tools.
func (b *peerBench) manyTools(ctx context.Context, f *peerFigures, of int) error {
	for _, tools := range []int{peerTools, 16, 64, 256} {
		r, err := b.start(ctx, of, tools)
		if err != nil {
			return err
		}
		times, err := timesOf(func() error { return r.list(ctx, "noop") })
		if err := errors.Join(err, r.stop()); err != nil {
			return err
		}
		f.grow("peers-tools", "tools of the page", "time of a list, ms", peers[of].name, float64(tools), milliseconds(quantile(times, .5)))
	}
	return nil
}

// manyAgents measures the memory of agents with a page each, each with a process of its own, as
// assistants start them.
func (b *peerBench) manyAgents(ctx context.Context, f *peerFigures, of int) error {
	if peers[of].browser {
		return nil // its agents share one port, and so the page
	}
	var all []*running
	var err error
	for _, agents := range []int{1, 2, 4} {
		for len(all) < agents && err == nil {
			var r *running
			if r, err = b.start(ctx, of, peerTools); err == nil {
				all = append(all, r)
			}
		}
		var total float64
		for _, r := range all {
			mb, _ := memory(marked(r.mark))
			total += mb
		}
		f.grow("peers-agents", "agents with a page each", "memory with the browsers, MB", peers[of].name, float64(agents), total)
	}
	for _, r := range all {
		err = errors.Join(err, r.stop())
	}
	return err
}

// stop ends a peer, and all that it started.
func (r *running) stop() error {
	closed := make(chan struct{})
	go func() { // ends with the processes
		_ = r.client.Close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(time.Second): // it does not end with its input
	}
	endMarked(r.mark)
	if r.beside != nil {
		_ = r.beside.Wait()
		return os.RemoveAll(r.profile)
	}
	return nil
}

// timesOf times calls one after another, for as long as a figure may take.
func timesOf(call func() error) ([]time.Duration, error) {
	for range 3 {
		if err := call(); err != nil {
			return nil, err
		}
	}
	var took []time.Duration
	for began := time.Now(); len(took) < peerCalls && (time.Since(began) < peerTime || len(took) < 3); {
		one, err := sample(1, call)
		if err != nil {
			return nil, err
		}
		took = append(took, one...)
	}
	return took, nil
}

// together returns the time that some callers take, each with a number of calls.
func together(callers, each int, call func() error) (time.Duration, error) {
	var all sync.WaitGroup
	failed := make([]error, callers)
	began := time.Now()
	for i := range callers {
		all.Go(func() { _, failed[i] = sample(each, call) })
	}
	all.Wait()
	return time.Since(began), errors.Join(failed...)
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// floor measures what a browser itself takes, asked over its debugging protocol.
func (b *peerBench) floor(ctx context.Context, f *peerFigures) error {
	page := fmt.Sprintf("%s/0/%d", b.site.URL, peerTools)
	var alone []time.Duration
	for i := range whole.rounds {
		profile := filepath.Join(b.scratch, fmt.Sprintf("alone%d", i))
		took, err := timed(exec.CommandContext(ctx, b.browser, append(b.flags(), "--headless", "--user-data-dir="+profile, "--dump-dom", page)...))
		if err != nil {
			return err
		}
		alone = append(alone, took)
	}
	f.put(rowStart, "ms", "", milliseconds(median(alone)))
	engine, err := cdp.NewLocal(cdp.LocalOptions{Native: true, Options: chrome.Options{Path: b.browser, NoSandbox: os.Getenv("PAGETOOLS_NO_SANDBOX") == "1"}})
	if err != nil {
		return err
	}
	return errors.Join(b.floorOf(ctx, f, engine, page), engine.Close())
}

func (b *peerBench) floorOf(ctx context.Context, f *peerFigures, engine *cdp.Engine, page string) error {
	tab, err := engine.Open(ctx, session.TabOptions{Origin: b.site.URL})
	if err != nil {
		return err
	}
	go drain(tab)
	if err := tab.Load(ctx, page); err != nil {
		return err
	}
	ask := func(expression string) func() error {
		return func() error {
			_, err := cdp.Evaluate(ctx, tab, expression)
			return err
		}
	}
	if err := ask(`new Promise((loaded) => document.readyState === "complete" ? loaded() : addEventListener("load", loaded)).then(() => document.modelContext.getTools()).then((tools) => { globalThis.tools = Object.fromEntries(tools.map((t) => [t.name, t])); return "1"; })`)(); err != nil {
		return err
	}
	lists, err := timesOf(ask(`document.modelContext.getTools().then((tools) => JSON.stringify(tools.map((t) => [t.name, t.description, t.inputSchema])))`))
	if err != nil {
		return err
	}
	f.put(rowList, "ms", "", milliseconds(quantile(lists, .5)))
	calls, err := timesOf(ask(`document.modelContext.executeTool(tools.noop, {}).then(JSON.stringify)`))
	if err != nil {
		return err
	}
	f.put(rowCall, "ms", "", milliseconds(quantile(calls, .5)))
	f.put(rowCall99, "ms", "", milliseconds(quantile(calls, .99)))
	four, err := together(4, 1, ask(`document.modelContext.executeTool(tools.slow, {}).then(JSON.stringify)`))
	f.put(rowFour, "ms", "", milliseconds(four))
	return err
}

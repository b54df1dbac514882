// Command bench measures pagetools against floors in the same run, and prints
// ratios as a Markdown table. "make bench" runs it for a minute; docs/performance.md
// keeps the numbers of -full. Each group of rows is printed as it ends, and the exit
// code is 1 when one failed. Targets that a machine misses fail nothing.
//
// Calls are compared with raw Runtime.evaluate of an awaited promise on the same
// page over the same connection; metadata with a bare handler that writes the
// same bytes; the first tool list with the time that the browser alone takes to
// open the page; the load of an empty page with the same load without the page
// script. Both sides alternate within one run, and each figure is the
// median of the rounds.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// page registers tools that do nothing.
const page = `<!doctype html><meta charset="utf-8"><title>Bench</title><script>
document.modelContext.registerTool({name: "noop", description: "Does nothing.", annotations: {readOnlyHint: true},
  inputSchema: {type: "object", properties: {}}, execute() { return 1; }});
document.modelContext.registerTool({name: "edit", description: "May change something.", inputSchema: {type: "object", properties: {}}, execute() { return 1; }});
document.modelContext.registerTool({name: "hand-over", description: "Asks a person.", inputSchema: {type: "object", properties: {}},
  execute: (input, agent) => agent.requestUserInteraction(() => new Promise(() => {}))});
document.addEventListener("click", () => { document.body.style.background = document.body.style.background === "black" ? "white" : "black"; });
</script><body>`

// row is one line of the result.
type row struct {
	what, ours, floor, ratio, target string
	holds                            bool
}

func main() {
	full := flag.Bool("full", false, "measure for figures that are recorded, which takes a quarter of an hour")
	only := flag.String("only", "", "measure one group: apis, batch, before, card, cluster, console, inside, recorded, fresh, egress, kit, live, logins, mcp, pages, sessions, noise, outside, starts or strangers; with -peers, one of them")
	packages := flag.String("peers", "", "a `folder` with npm's packages of others: measure ours beside them instead")
	figures := flag.String("figures", "", "the `file` for what -peers finds")
	document := flag.String("document", "", "an OpenAPI document, a `file`, in the place of one that is made, for the group starts")
	before := flag.String("before", "", "an earlier build, a `program`, that the group before compares this one with")
	api := flag.Bool("api", false, "serve the API that the group apis calls, and measure nothing")
	flag.Parse()
	debug.SetGCPercent(300) // as serve does
	ctx := context.Background()
	if *full {
		size = whole
	}
	measure := func() error { return run(ctx, *only, *document, *before) }
	if *api {
		measure = serveAPI
	}
	if *packages != "" {
		measure = func() error { return comparePeers(ctx, *packages, *figures, *only) }
	}
	if err := measure(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run measures every group, or one, and prints its rows as it ends.
func run(ctx context.Context, only, document, before string) error {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(page))
	}))
	defer site.Close()
	bin, remove, err := build(ctx)
	if err != nil {
		return err
	}
	defer remove()
	fmt.Printf("%s, %s, %d cores, %s\n\n", runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH,
		runtime.NumCPU(), time.Now().Format(time.DateOnly))
	fmt.Println("| what | pagetools | floor | ratio | target | holds |")
	fmt.Println("|---|---|---|---|---|---|")
	var failed []string
	found := false
	for _, g := range groups(bin, site.URL, document, before) {
		if only != "" && g.name != only || g.name == "before" && before == "" {
			continue
		}
		found = true
		began := time.Now()
		rows, err := g.measure(ctx)
		for _, r := range rows {
			fmt.Printf("| %s | %s | %s | %s | %s | %t |\n", r.what, r.ours, r.floor, r.ratio, r.target, r.holds)
		}
		fmt.Fprintf(os.Stderr, "bench: %s took %.1f s\n", g.name, time.Since(began).Seconds())
		if err != nil {
			fmt.Fprintf(os.Stderr, "bench: %s failed: %v\n", g.name, err)
			failed = append(failed, g.name)
		}
	}
	switch {
	case !found:
		return fmt.Errorf("there is no group %q", only)
	case failed != nil:
		return fmt.Errorf("failed: %s", strings.Join(failed, ", "))
	}
	return nil
}

// group is rows that are measured together.
type group struct {
	name    string
	measure func(context.Context) ([]row, error)
}

func groups(bin, url, document, before string) []group {
	return []group{
		{"inside", func(ctx context.Context) ([]row, error) { return insideRows(ctx, url) }},
		{"batch", func(context.Context) ([]row, error) { return batchRows(url) }},
		{"before", func(ctx context.Context) ([]row, error) { return beforeRows(ctx, bin, before, url) }},
		{"card", func(ctx context.Context) ([]row, error) { return cardRows(ctx, url) }},
		{"console", func(ctx context.Context) ([]row, error) { return consoleRows(ctx, url) }},
		{"recorded", func(ctx context.Context) ([]row, error) { return recordedRows(ctx, url) }},
		{"fresh", func(context.Context) ([]row, error) { return freshRows(url) }},
		{"egress", egressRows},
		{"apis", apiRows},
		{"starts", func(ctx context.Context) ([]row, error) { return startRows(ctx, bin, document) }},
		{"kit", func(ctx context.Context) ([]row, error) { return kitRows(ctx, bin) }},
		{"live", func(ctx context.Context) ([]row, error) { return liveRows(ctx, url) }},
		{"logins", func(ctx context.Context) ([]row, error) { return loginRows(ctx, url) }},
		{"mcp", func(ctx context.Context) ([]row, error) { return mcpRows(ctx, url) }},
		{"pages", pageRows},
		{"sessions", func(ctx context.Context) ([]row, error) { return sessionRows(ctx, bin, url) }},
		{"noise", func(ctx context.Context) ([]row, error) { return noiseRows(ctx, bin, url) }},
		{"outside", func(ctx context.Context) ([]row, error) { return outsideRows(ctx, bin, url) }},
		{"cluster", func(ctx context.Context) ([]row, error) { return clusterRows(ctx, bin, url) }},
		{"strangers", func(ctx context.Context) ([]row, error) { return strangerRows(ctx, bin, url) }},
	}
}

// quantile returns the value below which the share q of the samples lies.
func quantile(samples []time.Duration, q float64) time.Duration {
	s := slices.Sorted(slices.Values(samples))
	return s[min(len(s)-1, int(q*float64(len(s))))]
}

// median of a few figures.
func median[T int | int64 | float64 | time.Duration](v []T) T {
	s := slices.Sorted(slices.Values(v))
	return s[len(s)/2]
}

// sample times n runs of f, one after another.
func sample(n int, f func() error) ([]time.Duration, error) {
	out := make([]time.Duration, n)
	for i := range out {
		began := time.Now()
		if err := f(); err != nil {
			return nil, err
		}
		out[i] = time.Since(began)
	}
	return out, nil
}

// listen takes a loopback port.
func listen() (net.Listener, error) {
	var lc net.ListenConfig
	return lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
}

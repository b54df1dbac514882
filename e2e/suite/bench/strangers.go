package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// strangerRows measures what strangers cost others: a healthy site beside silent ones, and
// the memory of the bridge under pages and callers that want all of it.
func strangerRows(ctx context.Context, bin, url string) ([]row, error) {
	beside, err := besideRow(ctx, bin, url)
	if err != nil {
		return nil, fmt.Errorf("beside silent sites: %w", err)
	}
	memory, err := floodRows(ctx, bin)
	if err != nil {
		return nil, fmt.Errorf("floods: %w", err)
	}
	return append([]row{beside}, memory...), nil
}

// besideRow compares the calls of a healthy site on /mcp with eight sites with the same
// while two more never answer.
func besideRow(ctx context.Context, bin, url string) (row, error) {
	silent, err := listen()
	if err != nil {
		return row{}, err
	}
	defer func() { _ = silent.Close() }()
	go swallow(silent) // ends with the listener
	sites := make([]string, 8)
	for i := range sites {
		sites[i] = fmt.Sprintf("s%d=%s/", i, url)
	}
	header := http.Header{"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"},
		"Mcp-Name": {"s0_noop"}}
	body := strings.Replace(mcpNewer, `"noop"`, `"s0_noop"`, 1)
	var agents [2]func() error
	var ends []func()
	defer func() {
		for _, end := range ends {
			end()
		}
	}()
	for i, more := range [][]string{{"q0=http://" + silent.Addr().String() + "/", "q1=http://" + silent.Addr().String() + "/other"}, nil} {
		s, err := serve(ctx, bin, slices.Concat(sites, more, []string{"--warm", "0"})...)
		if err != nil {
			return row{}, err
		}
		ends = append(ends, s.stop)
		o := overMCP{base: s.base}
		call, hangUp, err := o.agent(body, header)()
		if err != nil {
			return row{}, err
		}
		ends = append(ends, hangUp)
		if err := call(); err != nil {
			return row{}, err
		}
		agents[i] = call
	}
	var with, without []time.Duration
	for range size.rounds {
		for i, all := range []*[]time.Duration{&with, &without} {
			took, err := sample(size.calls, agents[i])
			if err != nil {
				return row{}, err
			}
			*all = append(*all, quantile(took, .99))
		}
	}
	return latency("MCP over HTTP: call on one of ten sites, two of them silent, p99, against eight healthy ones", median(with), median(without), 1.5), nil
}

// swallow takes connections and says nothing.
func swallow(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		if size.silence > 0 {
			_ = c.SetDeadline(time.Now().Add(size.silence))
		}
		go func() { // ends with the browser
			_, _ = io.Copy(io.Discard, c)
			_ = c.Close()
		}()
	}
}

// restless is a page that changes 256 large tools without end, and floodFrames one with 62
// frames of 120 large tools each.
const (
	restless = `<!doctype html><meta charset="utf-8"><script>
let round = 0, held;
const tool = (name, more) => ({name, description: "Tool " + name + " of round " + round, inputSchema: {type: "object", properties: {}}, annotations: {readOnlyHint: true}, execute: () => "x".repeat(1e6), ...more});
const large = () => Object.fromEntries(Array.from({length: 60}, (_, i) => ["p" + i, {type: "string", description: "x".repeat(300) + i + round}]));
const again = () => {
	round++;
	held?.abort();
	held = new AbortController();
	document.modelContext.registerTool(tool("large"), {signal: held.signal});
	for (let i = 0; i < 254; i++) document.modelContext.registerTool(tool("t" + i, {inputSchema: {type: "object", properties: large()}}), {signal: held.signal});
};
document.modelContext.registerTool({name: "buy", description: "Asks.", inputSchema: {type: "object", properties: {a: {type: "string"}}}, execute: () => 1});
again();
setInterval(again, 1500);
</script>`
	floodFrames = `<!doctype html><meta charset="utf-8"><script>
document.modelContext.registerTool({name: "noop", description: "Does nothing.", inputSchema: {type: "object", properties: {}}, annotations: {readOnlyHint: true}, execute: () => 1});
const inner = "<script>for (let i = 0; i < 120; i++) document.modelContext.registerTool({name: 'f' + i, description: 'x'.repeat(16000), inputSchema: {type: 'object', properties: {a: {type: 'string', description: 'y'.repeat(30000)}}}, execute() {}})<\/script>";
for (let i = 0; i < 62; i++) document.documentElement.append(Object.assign(document.createElement("iframe"), {srcdoc: inner}));
</script>`
	// follows reloads a page when the site has become quiet, or is not any more.
	follows = `<script>(async () => { const said = async () => (await fetch("/quiet")).text(), was = await said(); setInterval(async () => { if (await said() !== was) location.reload(); }, 1000); })();</script>`
)

// back says when memory counts as back, in MB above the start: the runtime's own tables grew.
const back = 40

// floodRows measures the memory of the bridge itself: what section B of the review did to
// it, all at once, and a minute after the last of it is gone.
func floodRows(ctx context.Context, bin string) ([]row, error) {
	var quiet atomic.Bool
	quiet.Store(true)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		text := restless
		switch {
		case r.URL.Path == "/quiet":
			_, _ = fmt.Fprint(w, quiet.Load())
			return
		case quiet.Load():
			text = page
		case r.URL.Path == "/frames":
			text = floodFrames
		}
		_, _ = io.WriteString(w, text+follows)
	}))
	defer site.Close()
	conf := filepath.Join(filepath.Dir(bin), "flood.yaml")
	if err := os.WriteFile(conf, fmt.Appendf(nil, "limits: {question: %[1]v, first-idle: %[1]v, idle: %[1]v}\n", size.patience), 0o600); err != nil {
		return nil, err
	}
	s, err := serve(ctx, bin, "wild="+site.URL+"/", "frames="+site.URL+"/frames", "--config",
		conf, "--warm", "0", "--max-sessions", "6", "--log-file", os.DevNull)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	start, err := pss(s.Process.Pid)
	if err != nil {
		return nil, err
	}
	quiet.Store(false)
	most := start
	look := func() error {
		now, err := pss(s.Process.Pid)
		most = max(most, now)
		return err
	}
	if err := flood(s, look); err != nil {
		return nil, err
	}
	quiet.Store(true)
	end := most
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for until := time.Now().Add(4 * size.patience); time.Now().Before(until) && end > start+back; <-tick.C { // long after the last question and session
		if end, err = pss(s.Process.Pid); err != nil {
			return nil, err
		}
	}
	return []row{
		{"memory of the bridge above its start while strangers flood it, PSS",
			fmt.Sprintf("%.1f MB", most-start), "", "", "at most 150 MB", most-start <= 150},
		{fmt.Sprintf("the same, %v after the last of them is gone, PSS", 3*size.patience),
			fmt.Sprintf("%.1f MB", end-start), "", "", fmt.Sprintf("at most %d MB", back), end-start <= back},
	}, nil
}

// flood reads lists that change, parks calls, keeps replies under keys, and invents sessions.
// It expects refusals.
func flood(s *server, look func() error) error {
	done := 0
	ask := func(method, path, body string, header http.Header) error {
		c, err := dial(s.base)
		if err != nil {
			return err
		}
		defer c.close()
		var sent []byte
		if body != "" {
			sent = []byte(body)
		}
		if _, err := c.doWith(method, path, sent,
			header); err == nil || strings.Contains(err.Error(), "APPROVAL_REQUIRED") {
			done++
		} else if !strings.Contains(err.Error(), `"error"`) { // not a refusal
			return err
		}
		return look()
	}
	var err error
	for range (30*size.flood + 99) / 100 {
		err = errors.Join(err, ask("GET", "/webtools/wild", "", nil),
			ask("GET", "/webtools/frames", "", nil))
	}
	long := strings.Repeat("x", 250_000)
	for i := range 20 * size.flood {
		err = errors.Join(err, ask("POST", "/webtools/wild", fmt.Sprintf(`{"action":"buy","request":{"a":"%s%d"}}`, long, i), nil))
	}
	for i := range 3 * size.flood {
		err = errors.Join(err, ask("POST", "/webtools/wild", `{"sessionId":"s","action":"large","request":{}}`, http.Header{"Idempotency-Key": {fmt.Sprint("k", i)}}))
	}
	meta := `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{` + strings.TrimSuffix(mcpMeta, ",") + `}}`
	for i := range size.flood {
		err = errors.Join(err, ask("POST", fmt.Sprintf("/mcp/wild?session=n%d", i), meta, http.Header{"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/list"}}))
	}
	if err == nil && done < size.flood {
		err = fmt.Errorf("%d requests of the flood came through", done)
	}
	return err
}

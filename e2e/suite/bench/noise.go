package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// noisyPage disturbs others in the way that the argument of its tool "begin" names, and continues
// when it is loaded again.
const noisyPage = `<!doctype html><meta charset="utf-8"><title>Noise</title><script>
const long = "x".repeat(1000), always = (f) => { const run = () => { f(); setTimeout(run); }; setTimeout(run); };
const kinds = {
  registrations: () => always(() => { for (let i = 0; i < 50; i++) { const c = new AbortController();
    document.modelContext.registerTool({name: "t" + i, description: long, execute() {}}, {signal: c.signal}); c.abort(); } }),
  console: () => always(() => { for (let i = 0; i < 200; i++) console.log(long + i); }),
  navigation: () => { sessionStorage.kind = "navigation"; setTimeout(() => location.reload(), 5); },
  dialogs: () => always(() => alert(long)),
  loop: () => setTimeout(() => { for (;;); }),
  nothing: () => {},
};
document.modelContext.registerTool({name: "begin", description: "Begins.", inputSchema: {type: "object", properties: {kind: {type: "string"}}}, execute({kind}) { kinds[kind](); return 1; }});
document.modelContext.registerTool({name: "huge", description: "Returns much.", annotations: {readOnlyHint: true}, execute: () => "x".repeat(1000000)});
if (sessionStorage.kind) kinds[sessionStorage.kind]();
</script>`

// noiseConfig has two callers, so that nobody shares a page, and a site for each page.
const noiseConfig = `approval: auto
sites:
- {name: bench, target: %q}
- {name: noise, target: %q}
callers:
- {name: light, token: light-token-of-the-benchmark, may: [call]}
- {name: heavy, token: heavy-token-of-the-benchmark, may: [call]}
`

var (
	lightCaller = http.Header{"Authorization": {"Bearer light-token-of-the-benchmark"}}
	heavyCaller = http.Header{"Authorization": {"Bearer heavy-token-of-the-benchmark"}}
)

// noiseRows measure what one caller's pages and calls do to the calls of another one, and how long
// it takes until a call succeeds after the browser was killed.
func noiseRows(ctx context.Context, bin, url string) (rows []row, err error) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(noisyPage))
	}))
	defer site.Close()
	config := filepath.Join(filepath.Dir(bin), "noise.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, noiseConfig, url+"/", site.URL+"/"), 0o600); err != nil {
		return nil, err
	}
	for _, kind := range []string{"registrations", "console", "navigation", "dialogs", "loop", "huge results"} {
		alone, beside, err := besideNoise(ctx, bin, config, kind)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kind, err)
		}
		rows = append(rows, row{"call of a session beside another caller's page: " + kind + ", p99", quantile(beside, .99).Round(time.Microsecond).String(),
			quantile(alone, .99).Round(time.Microsecond).String(), fmt.Sprintf("%.2f", float64(quantile(beside, .99))/float64(quantile(alone, .99))),
			"under 50ms", quantile(beside, .99) < 50*time.Millisecond})
	}
	alone, beside, err := besideNoise(ctx, bin, config, "calls")
	if err != nil {
		return nil, fmt.Errorf("calls: %w", err)
	}
	rows = append(rows, latency("call of a light caller while a heavy one saturates, p99", quantile(beside, .99), quantile(alone, .99), 2))
	recovered, err := recovery(ctx, bin, config)
	if err != nil {
		return nil, fmt.Errorf("recovery: %w", err)
	}
	return append(rows, row{fmt.Sprintf("from the kill of the browser to the next call that succeeds, longest of %d", size.kills),
		recovered.Round(time.Millisecond).String(), "", "", "under 3s", recovered < 3*time.Second}), nil
}

// lightCall makes a call of the light caller's session.
func lightCall(s *server) (func() error, func(), error) {
	c, err := dial(s.base)
	if err != nil {
		return nil, nil, err
	}
	return func() error {
		_, err := c.doWith(http.MethodPost, "/webtools/bench", []byte(`{"sessionId":"light","action":"noop","request":{}}`), lightCaller)
		return err
	}, c.close, nil
}

// besideNoise times calls of the light caller, first alone and then beside what the heavy one does.
func besideNoise(ctx context.Context, bin, config, kind string) (alone, beside []time.Duration, err error) {
	s, err := serve(ctx, bin, "--config", config, "--warm", "0")
	if err != nil {
		return nil, nil, err
	}
	defer s.stop()
	call, hangUp, err := lightCall(s)
	if err != nil {
		return nil, nil, err
	}
	defer hangUp()
	if _, err := sample(min(size.calls, 300), call); err != nil {
		return nil, nil, err
	}
	if alone, err = during(size.noise, call); err != nil {
		return nil, nil, err
	}
	begin, body := "nothing", `{"sessionId":"heavy","action":"huge","request":{}}`
	callers := 0
	switch kind {
	case "huge results":
		callers = 4
	case "calls":
		callers, body = 32, `{"sessionId":"heavy","action":"begin","request":{"kind":"nothing"}}`
	default:
		begin = kind
	}
	heavy, err := dial(s.base)
	if err != nil {
		return nil, nil, err
	}
	defer heavy.close()
	if _, err := heavy.doWith(http.MethodPost, "/webtools/noise", fmt.Appendf(nil, `{"sessionId":"heavy","action":"begin","request":{"kind":%q}}`, begin), heavyCaller); err != nil {
		return nil, nil, err
	}
	ended := make(chan struct{})
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			c, err := dial(s.base)
			if err != nil {
				return
			}
			defer c.close()
			for {
				select {
				case <-ended:
					return
				default: // what is refused is part of the load
					if _, err := c.doWith(http.MethodPost, "/webtools/noise", []byte(body), heavyCaller); err != nil && !errors.Is(err, errStatus) {
						return
					}
				}
			}
		})
	}
	beside, err = during(size.noise, call)
	close(ended)
	all.Wait()
	return alone, beside, err
}

// recovery kills the browser again and again, and returns the longest time until a call succeeds.
func recovery(ctx context.Context, bin, config string) (longest time.Duration, err error) {
	s, err := serve(ctx, bin, "--config", config, "--warm", "0")
	if err != nil {
		return 0, err
	}
	defer s.stop()
	call, hangUp, err := lightCall(s)
	if err != nil {
		return 0, err
	}
	defer hangUp()
	for range size.kills {
		if _, err := sample(10, call); err != nil {
			return 0, err
		}
		for _, pid := range family([]int{s.Process.Pid})[1:] { // the browser, and what is left when it is gone
			end(pid)
		}
		began := time.Now()
		for {
			if err = call(); err == nil || !errors.Is(err, errStatus) || time.Since(began) > time.Minute {
				break
			}
		}
		if err != nil {
			return 0, err
		}
		longest = max(longest, time.Since(began))
	}
	return longest, nil
}

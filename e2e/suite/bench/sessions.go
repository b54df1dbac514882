package main

import (
	"context"
	"fmt"
	"os"
	"time"
)

// sessionRows measure isolated sessions, each with a page of its own in a context of its own: in
// the headless shell, and in a whole browser as the floor.
func sessionRows(ctx context.Context, bin, url string) ([]row, error) {
	shell, err := openSessions(ctx, bin, url, "shell", size.many)
	if err != nil {
		return nil, fmt.Errorf("the shell: %w", err)
	}
	whole, err := openSessions(ctx, bin, url, "chromium", size.few)
	if err != nil {
		return nil, fmt.Errorf("a whole browser: %w", err)
	}
	few, many, other := shell.megabytes[size.few-1], shell.megabytes[size.many-1], whole.megabytes[size.few-1]
	first, last := median(shell.took[:10]), median(shell.took[size.many-10:])
	fresh := median(shell.fresh)
	mb := func(v float64) string { return fmt.Sprintf("%.1f MB", v) }
	return []row{
		latency(fmt.Sprintf("opening one of %d isolated sessions, with its first call", size.few), median(shell.took[:size.few]), median(whole.took), 1),
		{fmt.Sprintf("memory of the browser for one of %d sessions, PSS", size.few), mb(few), mb(other), fmt.Sprintf("%.2f", few/other), "at most 20 MB", few <= 20},
		{fmt.Sprintf("memory of the browser for one of %d sessions, PSS", size.many), mb(many), "", "", "at most 20 MB", many <= 20},
		{fmt.Sprintf("opening one of %d sessions, p50", size.many), median(shell.took).Round(time.Microsecond).String(), "", "", "at most 200ms", median(shell.took) <= 200*time.Millisecond},
		{fmt.Sprintf("the last ten of %d sessions against the first ten", size.many), last.Round(time.Microsecond).String(), first.Round(time.Microsecond).String(),
			fmt.Sprintf("%.2f", float64(last)/float64(first)), "at most 1.3", float64(last) <= 1.3*float64(first)},
		{fmt.Sprintf("call without a session and without a spare page, p50 of %d", size.fresh), fresh.Round(time.Microsecond).String(), "", "", "under 250ms", fresh < 250*time.Millisecond},
	}, nil
}

// opened holds the cost of opening sessions.
type opened struct {
	took      []time.Duration // each
	megabytes []float64       // of the browser, for each session so far
	fresh     []time.Duration // calls without a session, before
}

// openSessions opens so many isolated sessions of a server, one after another.
func openSessions(ctx context.Context, bin, url, kind string, n int) (o opened, err error) {
	args := []string{"bench=" + url + "/", "--warm", "0", "--max-sessions", fmt.Sprint(n + 2), "--browser", kind}
	if kind == "shell" {
		args = append(args, "--executable-path", os.Getenv("PAGETOOLS_HEADLESS_SHELL"))
	}
	s, err := serve(ctx, bin, args...)
	if err != nil {
		return o, err
	}
	defer s.stop()
	agent, err := dial(s.base)
	if err != nil {
		return o, err
	}
	defer agent.close()
	call := func(session string) func() error {
		body := fmt.Appendf(nil, `{%s"action":"noop","request":{}}`, session)
		return func() error {
			_, err := agent.do("POST", "/webtools/bench", body)
			return err
		}
	}
	if _, err := sample(3, call("")); err != nil { // it is warm
		return o, err
	}
	if o.fresh, err = sample(size.fresh, call("")); err != nil {
		return o, err
	}
	browser := func() float64 {
		all, bridge := memory(family([]int{s.Process.Pid}))
		return all - bridge
	}
	before := browser()
	for i := range n {
		one, err := sample(1, call(fmt.Sprintf(`"sessionId":"s%d",`, i)))
		if err != nil {
			return o, err
		}
		if err := call(fmt.Sprintf(`"sessionId":"s%d",`, i))(); err != nil { // a second use keeps it
			return o, err
		}
		o.took = append(o.took, one...)
		o.megabytes = append(o.megabytes, (browser()-before)/float64(i+1))
	}
	return o, nil
}

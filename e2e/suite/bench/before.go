package main

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// beforeRows compare this build with an earlier one, and with itself: what differs as much there is noise.
func beforeRows(ctx context.Context, bin, before, url string) (rows []row, err error) {
	var servers []*server
	var ends []func()
	defer func() {
		for _, end := range ends {
			end()
		}
	}()
	for _, program := range []string{before, bin, bin} {
		s, err := serve(ctx, program, "bench="+url+"/", "--approval", "auto", "--warm", "0")
		if err != nil {
			return rows, fmt.Errorf("%s: %w", program, err)
		}
		ends = append(ends, s.stop)
		servers = append(servers, s)
	}
	for _, kind := range []struct{ what, method, body string }{
		{"call of a session", http.MethodPost, `{"sessionId":"light","action":"edit","request":{}}`},
		{"a site's tools", http.MethodGet, ""},
	} {
		var calls []func() error
		for _, s := range servers {
			c, err := dial(s.base)
			if err != nil {
				return rows, err
			}
			ends = append(ends, c.close)
			calls = append(calls, func() error {
				_, err := c.do(kind.method, "/webtools/bench", []byte(kind.body))
				return err
			})
		}
		took, err := inTurns(calls)
		if err != nil {
			return rows, err
		}
		ratio := float64(took[1]) / float64(took[0])
		rows = append(rows, row{kind.what + ", against the build before, p50 (this build beside itself: " + fmt.Sprintf("%.2f", float64(took[2])/float64(took[1])) + ")",
			took[1].Round(time.Microsecond).String(), took[0].Round(time.Microsecond).String(), fmt.Sprintf("%.3f", ratio), "at most 1.01", ratio <= 1.01})
	}
	return rows, nil
}

// inTurns times calls one after the other, again and again, and returns the median of each.
func inTurns(calls []func() error) ([]time.Duration, error) {
	medians := make([][]time.Duration, len(calls))
	for round := range size.rounds + 1 {
		took := make([][]time.Duration, len(calls))
		for range size.calls {
			for i, call := range calls {
				one, err := sample(1, call)
				if err != nil {
					return nil, err
				}
				took[i] = append(took[i], one...)
			}
		}
		for i := range took {
			if round > 0 { // the first one warms up
				medians[i] = append(medians[i], quantile(took[i], .5))
			}
		}
	}
	all := make([]time.Duration, len(calls))
	for i := range medians {
		all[i] = median(medians[i])
	}
	return all, nil
}

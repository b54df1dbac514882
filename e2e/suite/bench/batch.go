package main

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// batchSteps sets how many quick steps a batch is measured with.
const batchSteps = 10

// batchRows compares a batch of warm calls with one request for each of them, in one session.
func batchRows(url string) ([]row, error) {
	s, err := newStack(url, false)
	if err != nil {
		return nil, err
	}
	defer s.close()
	step := make([]string, batchSteps)
	for i := range step {
		step[i] = fmt.Sprintf(`{"id":"s%d","action":"noop","request":{"s":"%d"}}`, i, i)
	}
	batch, hangUp, err := agentOf(s.base, http.MethodPost, "/webtools/bench/batch",
		[]byte(`{"sessionId":"bench","steps":[`+strings.Join(step, ",")+`]}`))()
	if err != nil {
		return nil, err
	}
	defer hangUp()
	one, hangUpToo, err := s.agent(http.MethodPost, []byte(`{"sessionId":"bench","action":"noop","request":{"s":"ARG"}}`))()
	if err != nil {
		return nil, err
	}
	defer hangUpToo()
	each := func() error {
		for range batchSteps {
			if err := one(); err != nil {
				return err
			}
		}
		return nil
	}
	n := max(1, size.calls/batchSteps)
	var ofBatch, ofEach []time.Duration
	for round := range size.rounds + 1 {
		a, err := sample(n, batch)
		if err != nil {
			return nil, err
		}
		b, err := sample(n, each)
		if err != nil {
			return nil, err
		}
		if round > 0 { // the first one warms up
			ofBatch, ofEach = append(ofBatch, quantile(a, .5)), append(ofEach, quantile(b, .5))
		}
	}
	return []row{latency("batch of 10 quick steps, against 10 requests, p50", median(ofBatch), median(ofEach), .6)}, nil
}

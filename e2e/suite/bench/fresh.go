package main

import (
	"fmt"
	"net/http"
	"time"
)

// refillTime is longer than it takes until a spare page is there again, when nothing is quiet.
const refillTime = 1500 * time.Millisecond

// freshRows compares a call on a spare page with one of a session, and calls of a
// session while a spare page is opened with calls when nothing else happens.
func freshRows(url string) ([]row, error) {
	s, err := newStackWith(url, stackOptions{warm: 2})
	if err != nil {
		return nil, err
	}
	defer s.close()
	call, hangUp, err := s.agent(http.MethodPost, []byte(`{"sessionId":"bench","action":"noop","request":{"s":"ARG"}}`))()
	if err != nil {
		return nil, err
	}
	defer hangUp()
	fresh, hangUpFresh, err := s.agent(http.MethodPost, []byte(`{"action":"noop","request":{"s":"ARG"}}`))()
	if err != nil {
		return nil, err
	}
	defer hangUpFresh()
	if _, err := sample(500, call); err != nil {
		return nil, err
	}
	var ofFresh, ofSession, refilling, idle []time.Duration
	for i := range size.fresh + 1 {
		quiet, err := during(refillTime, call)
		if err != nil {
			return nil, err
		}
		one, err := sample(1, fresh)
		if err != nil {
			return nil, err
		}
		busy, err := during(refillTime, call)
		if err != nil {
			return nil, err
		}
		if i == 0 { // warms up
			continue
		}
		ofFresh, ofSession = append(ofFresh, one...), append(ofSession, quantile(quiet, .5))
		refilling, idle = append(refilling, quantile(busy, .5)), append(idle, quantile(quiet, .5))
	}
	added := quantile(ofFresh, .5) - median(ofSession)
	r := latency("warm call while a spare page is opened, p50", median(refilling),
		median(idle), 1.2)
	return []row{
		{"call on a spare page, against a warm call, p50", ms(quantile(ofFresh, .5)),
			ms(median(ofSession)), fmt.Sprintf("%+.2f ms", float64(added)/float64(time.Millisecond)),
			"at most +3 ms", added <= 3*time.Millisecond},
		r,
	}, nil
}

// during samples calls for some time.
func during(d time.Duration, f func() error) ([]time.Duration, error) {
	var out []time.Duration
	for end := time.Now().Add(d); time.Now().Before(end); {
		one, err := sample(1, f)
		if err != nil {
			return nil, err
		}
		out = append(out, one...)
	}
	return out, nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/bridge/store"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/webtool"
)

// face serves a further bridge over the sites of a stack.
func (s *stack) face(o bridge.Options) (b *bridge.Bridge, base string, end func(), err error) {
	if b, err = bridge.New(s.manager, o); err != nil {
		return nil, "", nil, err
	}
	l, err := listen()
	if err != nil {
		return nil, "", nil, err
	}
	mux := transport.NewMux(webtool.New(b, webtool.Options{}).Routes()...)
	server := transport.Server(transport.Guard(mux, transport.Options{Listen: l.Addr().String()}), nil)
	go func() { _ = server.Serve(l) }() // ends with end
	return b, "http://" + l.Addr().String(), func() {
		_ = server.Close()
		b.Close()
	}, nil
}

// recordedRows compares calls with and without the audit and the log of calls, and
// with and without calls that wait for consent.
func recordedRows(ctx context.Context, url string) (rows []row, err error) {
	s, err := newStack(url, false)
	if err != nil {
		return nil, err
	}
	defer s.close()
	dir, err := os.MkdirTemp("", "pagetools-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	kept, err := store.Open(ctx, store.Options{Dir: dir})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, kept.Close()) }()
	auto := map[string]bridge.SiteOptions{"bench": {Approval: policy.Operator{Mode: policy.ModeAuto}}}
	_, bare, endBare, err := s.face(bridge.Options{Sites: auto})
	if err != nil {
		return nil, err
	}
	defer endBare()
	_, recorded, endRecorded, err := s.face(bridge.Options{Sites: auto, Memory: kept.Memory})
	if err != nil {
		return nil, err
	}
	defer endRecorded()
	for _, x := range []struct{ tool, what string }{{"noop", "that only reads"},
		{"edit", "that may change something"}} {
		body := fmt.Appendf(nil, `{"sessionId":"bench","action":%q,"request":{}}`, x.tool)
		ours, floor, err := bothSides(agentOf(recorded, http.MethodPost, "/webtools/bench", body), agentOf(bare, http.MethodPost, "/webtools/bench", body))
		if err != nil {
			return nil, err
		}
		r := latency("warm call "+x.what+", audited and logged, p50", ours, floor, 1.15)
		r.target = "at most 1.15"
		rows = append(rows, r)
	}
	parked, err := parkedRows(ctx, s)
	return append(rows, parked...), err
}

// turn sets how many calls one side makes before it is the other one's turn: few
// enough that what else runs on the machine slows both.
const turn = 50

// bothSides returns the p50 of two sides that alternate.
func bothSides(ours, floor func() (func() error, func(), error)) (a,
	b time.Duration, err error) {
	f, endF, err := ours()
	if err != nil {
		return 0, 0, err
	}
	defer endF()
	g, endG, err := floor()
	if err != nil {
		return 0, 0, err
	}
	defer endG()
	var as, bs []time.Duration
	for i := range size.rounds + 1 {
		var x, y []time.Duration
		for len(x) < size.calls {
			more, err := sample(turn, f)
			if err != nil {
				return 0, 0, err
			}
			x = append(x, more...)
			if more, err = sample(turn, g); err != nil {
				return 0, 0, err
			}
			y = append(y, more...)
		}
		if i > 0 { // the first one warms up
			as, bs = append(as, quantile(x, .5)), append(bs, quantile(y, .5))
		}
	}
	return median(as), median(bs), nil
}

// waiting sets how many calls wait for consent.
const waiting = 1000

// parkedRows measures what a call costs that waits for consent, and what it costs
// others.
func parkedRows(ctx context.Context, s *stack) ([]row, error) {
	b, base, end, err := s.face(bridge.Options{})
	if err != nil {
		return nil, err
	}
	defer end()
	warm := agentOf(base, http.MethodPost, "/webtools/bench", []byte(`{"sessionId":"bench","action":"noop","request":{}}`))
	call, hangUp, err := warm()
	if err != nil {
		return nil, err
	}
	defer hangUp()
	p50 := func() (time.Duration, error) {
		var all []time.Duration
		for range size.rounds {
			x, err := sample(size.calls, call)
			if err != nil {
				return 0, err
			}
			all = append(all, quantile(x, .5))
		}
		return median(all), nil
	}
	if _, err := sample(size.calls, call); err != nil {
		return nil, err
	}
	without, err := p50()
	if err != nil {
		return nil, err
	}
	before := heap()
	for i := range waiting {
		_, out := b.Serve(ctx, &bridge.Call{Site: "bench", Tool: "edit", Caller: bridge.Local(), Input: bridgetest.JSON(fmt.Sprintf(`{"n":%d}`, i))})
		if out.Err == nil || out.Err.Code != bridge.ApprovalRequired {
			return nil, fmt.Errorf("a call does not wait for consent: %w", out.Err)
		}
	}
	each := float64(heap()-before) / waiting / 1024
	with, err := p50()
	if err != nil {
		return nil, err
	}
	r := latency("warm call while 1,000 wait for consent, p50", with, without, 1.2)
	return []row{r, {"memory of a call that waits for consent", fmt.Sprintf("%.1f kB", each), "", "", "under 50 kB", each < 50}}, nil
}

// heap returns what is in use, in bytes.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what finalizers held
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

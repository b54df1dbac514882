package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"strings"
	"time"

	"golang.org/x/net/websocket"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/console"
)

// stillTime sets how long a page is still.
const stillTime = 2 * time.Second

// liveRows measures how long a viewer waits to see what a click changed, and what
// a still page sends.
func liveRows(ctx context.Context, url string) (rows []row, err error) {
	s, err := newStack(url, false)
	if err != nil {
		return nil, err
	}
	defer s.close()
	b, err := bridge.New(s.manager, bridge.Options{Sites: map[string]bridge.SiteOptions{"bench": {Approval: policy.Operator{Mode: policy.ModeAuto}}}})
	if err != nil {
		return nil, err
	}
	defer b.Close()
	l, err := listen()
	if err != nil {
		return nil, err
	}
	person := bridge.Caller{Name: "person", May: []bridge.Right{bridge.MayAnswer}}
	server := transport.Server(transport.Trusted(transport.NewMux(console.New(b, console.Options{}).Routes()...), person, transport.Options{}), nil)
	go func() { _ = server.Serve(l) }() // ends with Close
	defer server.Close()
	_, out := b.Serve(ctx, &bridge.Call{Site: "bench", Tool: "hand-over", Session: "bench", Caller: bridge.Local(), Input: bridgetest.JSON(`{}`)})
	if out.Err == nil || out.Err.Code != bridge.InputRequired {
		return nil, fmt.Errorf("the page does not ask: %w", out.Err)
	}
	q, _ := out.Err.Details["question"].(*bridge.Question)
	config, err := websocket.NewConfig("ws://"+l.Addr().String()+"/api/questions/"+q.ID+"/live", "http://"+l.Addr().String())
	if err != nil {
		return nil, err
	}
	config.Protocol = []string{console.LiveProtocol}
	conn, err := config.DialContext(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	return measureLive(conn)
}

func measureLive(conn *websocket.Conn) ([]row, error) {
	if err := conn.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		return nil, err
	}
	if err := websocket.Message.Send(conn, `{"pen":true}`); err != nil {
		return nil, err
	}
	dark, err := nextShade(conn)
	if err != nil {
		return nil, err
	}
	var waits []time.Duration
	for range size.changes {
		began := time.Now()
		for _, event := range []string{"mousedown", "mouseup"} {
			if err := websocket.Message.Send(conn, fmt.Sprintf(`{"input":{"type":%q,"x":100,"y":100,"button":"left","clicks":1}}`, event)); err != nil {
				return nil, err
			}
		}
		for was := dark; dark == was; {
			if dark, err = nextShade(conn); err != nil {
				return nil, err
			}
		}
		waits = append(waits, time.Since(began))
	}
	if err := conn.SetDeadline(time.Now().Add(stillTime)); err != nil {
		return nil, err
	}
	sent := 0
	for {
		if _, err := nextShade(conn); err != nil {
			break // the page was still until the deadline
		}
		sent++
	}
	if err := conn.SetDeadline(time.Now().Add(stillTime)); err != nil { // for the farewell
		return nil, err
	}
	p95 := quantile(waits, .95)
	return []row{
		{fmt.Sprintf("a click until the viewer sees what it changed, p95 of %d", size.changes), ms(p95),
			"p50 " + ms(quantile(waits, .5)), "", "at most 250 ms", p95 <= 250*time.Millisecond},
		{"pictures of a still page in 2 s", fmt.Sprint(sent), "", "", "0", sent == 0},
	}, nil
}

// nextShade waits for the next picture, and says whether it is dark.
func nextShade(conn *websocket.Conn) (dark bool, err error) {
	for {
		var data []byte
		if err := websocket.Message.Receive(conn, &data); err != nil {
			return false, err
		}
		if strings.HasPrefix(string(data), "{") {
			continue
		}
		img, err := jpeg.Decode(bytes.NewReader(data))
		if err != nil {
			return false, err
		}
		at := img.Bounds().Max.Sub(image.Pt(20, 20))
		r, _, _, _ := img.At(at.X, at.Y).RGBA()
		return r < 1<<15, nil
	}
}

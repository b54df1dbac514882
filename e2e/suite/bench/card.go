package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"time"
)

const (
	// cardMeta is the meta of a client that draws MCP Apps, and asks nobody itself.
	cardMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}}`
	// cardTimes says how often each thing is done: all together stay below the rate of a card.
	cardTimes = 40
	cardClick = `[{"button":"left","clicks":1,"type":"mousedown","x":100,"y":100},{"button":"left","clicks":1,"type":"mouseup","x":100,"y":100}]`
)

var keyInCard = regexp.MustCompile(`[^A-Za-z0-9_-]([A-Za-z0-9_-]{43})[^A-Za-z0-9_-]`)

// cardHost is a host of MCP Apps with the card, whose person is quick.
type cardHost struct {
	c   *caller
	key []byte
}

// cardReply holds what a host reads of a result.
type cardReply struct {
	Result struct {
		IsError  bool
		Contents []struct{ Text string }
		Content  []struct{ Type, Text string }
		Meta     map[string]struct{ Ticket string } `json:"_meta"`
	}
}

func (h *cardHost) ask(method, name, params string) (r cardReply, err error) {
	said, err := h.c.doWith(http.MethodPost, "/mcp", fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s,%s}}`, method, cardMeta, params),
		http.Header{"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {method}, "Mcp-Name": {name}})
	if err == nil {
		err = json.Unmarshal(said, &r)
	}
	if err == nil && (r.Result.IsError || bytes.Contains(said, []byte(`"error":{`))) {
		err = fmt.Errorf("it says %s", said)
	}
	return r, err
}

// read reads the card, and takes its key.
func (h *cardHost) read() error {
	r, err := h.ask("resources/read", "ui://pagetools/card", `"uri":"ui://pagetools/card"`)
	if err != nil {
		return err
	}
	if len(r.Result.Contents) == 1 {
		if found := keyInCard.FindStringSubmatch(r.Result.Contents[0].Text); found != nil {
			h.key, err = base64.RawURLEncoding.DecodeString(found[1])
			return err
		}
	}
	return fmt.Errorf("the card has no key: %v", r)
}

// waits calls a tool that waits for the person, and returns its ticket.
func (h *cardHost) waits(tool, arguments string) (string, error) {
	r, err := h.ask("tools/call", tool, fmt.Sprintf(`"name":%q,"arguments":%s`, tool, arguments))
	if err != nil {
		return "", err
	}
	ticket := r.Result.Meta["pagetools/card"].Ticket
	if ticket == "" {
		return "", fmt.Errorf("%s does not wait: %v", tool, r)
	}
	return ticket, nil
}

// do does one thing of the card. name and value are its argument, if it has one.
func (h *cardHost) do(ticket, op, name, value string) error {
	rest, more := "{}", ""
	if name != "" {
		more = fmt.Sprintf(`%q:%s`, name, value)
		rest, more = "{"+more+"}", ","+more
	}
	mac := hmac.New(sha256.New, h.key)
	mac.Write([]byte(ticket + "\n" + op + "\n" + rest))
	_, err := h.ask("tools/call", "pagetools_card", fmt.Sprintf(`"name":"pagetools_card","arguments":{"ticket":%q,"op":%q,"proof":%q%s}`,
		ticket, op, base64.RawURLEncoding.EncodeToString(mac.Sum(nil)), more))
	return err
}

// handOver agrees to a call whose page then waits for a person's hands, and returns the ticket for
// these.
func (h *cardHost) handOver() (string, error) {
	ticket, err := h.waits("hand-over", `{}`)
	if err == nil {
		err = h.do(ticket, "answer", "ok", "true")
	}
	if err != nil {
		return "", err
	}
	return h.waits("hand-over", `{}`)
}

// cardRows measures what the card asks of the server. A picture and a click are asked for while
// the page waits for a person; the click changes the page's colour.
func cardRows(_ context.Context, url string) ([]row, error) {
	s, err := newStack(url, false)
	if err != nil {
		return nil, err
	}
	defer s.close()
	o, err := s.mcp()
	if err != nil {
		return nil, err
	}
	defer o.end()
	h := &cardHost{}
	if h.c, err = dial(o.base); err != nil {
		return nil, err
	}
	defer h.c.close()
	if err := h.read(); err != nil {
		return nil, err
	}
	var rows []row
	measure := func(what string, most time.Duration, f func() error) error {
		all, err := sample(cardTimes, f)
		if err == nil {
			p50 := quantile(all, .5)
			rows = append(rows, row{what + ", p50", ms(p50), "p95 " + ms(quantile(all, .95)), "", "under " + ms(most), p50 < most})
		}
		return err
	}
	hands, err := h.handOver()
	if err != nil {
		return nil, err
	}
	err = errors.Join(measure("card: its HTML", 5*time.Millisecond, h.read),
		measure("card: a picture", 120*time.Millisecond, func() error { return h.do(hands, "picture", "", "") }),
		measure("card: a click and the picture after it", 250*time.Millisecond, func() error { return h.do(hands, "act", "inputs", cardClick) }),
		h.do(hands, "answer", "ok", "true"))
	if err != nil {
		return rows, err
	}
	tickets := make([]string, cardTimes)
	for i := range tickets {
		if tickets[i], err = h.waits("edit", fmt.Sprintf(`{"n":%d}`, i)); err != nil {
			return rows, err
		}
	}
	inTurn := func(op, name, value string) func() error {
		next := -1
		return func() error {
			next++
			return h.do(tickets[next], op, name, value)
		}
	}
	return rows, errors.Join(measure("card: its state", 5*time.Millisecond, inTurn("state", "", "")),
		measure("card: an answer", 5*time.Millisecond, inTurn("answer", "ok", "true")))
}

package life_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"time"
)

// cardTools lists the tools that callers with the card draw from: some ask before they run, some
// in the page, and some break their page.
var cardTools = []string{"agree", "agree", "agree", "ask", "ask", "touch", "touch", "work", "slow", "leave", "change"}

// withCard is a client that declares MCP Apps and nothing else.
var withCard = map[string]any{"extensions": map[string]any{"io.modelcontextprotocol/ui": map[string]any{"mimeTypes": []string{"text/html;profile=mcp-app"}}}}

// hand says how a person treats the question of a call.
type hand string

const (
	agrees   hand = "agrees"
	declines hand = "declines"
	acts     hand = "acts"
	waits    hand = "waits" // until it expires
)

var hands = []hand{agrees, agrees, agrees, declines, acts, acts, waits}

// cardKeyInPage finds the key of the card in its page.
var cardKeyInPage = regexp.MustCompile(`data-key="([A-Za-z0-9_-]{43})"`)

// card is a client of MCP Apps, whose person answers on the card, in every way or not at all. It
// also tries tickets that do not count: forged, of another caller, and spent.
func (c *chaos) card(ctx context.Context, name string, d *rand.Rand) {
	running := context.WithoutCancel(ctx)
	a := &cardAgent{chaos: c, name: name, dice: d}
	if err := a.read(running); err != nil {
		c.t.Errorf("%s cannot read the card: %v", name, err)
		return
	}
	for i := 0; pause(ctx, time.Duration(d.IntN(300))*time.Millisecond); i++ {
		x := call{caller: name, token: chaosToken(name), id: fmt.Sprintf("%s-%d", name, i), tool: cardTools[d.IntN(len(cardTools))], timeout: chaosCall}
		c.note(a.call(running, x, hands[d.IntN(len(hands))], d.IntN(6) == 0, time.Duration(d.IntN(600))*time.Millisecond))
	}
}

// cardAgent is a host of MCP Apps with the card.
type cardAgent struct {
	*chaos

	name  string
	dice  *rand.Rand
	key   []byte
	spent string // a ticket whose question was answered
}

// read reads the card, as hosts do, and its key.
func (a *cardAgent) read(ctx context.Context) error {
	const card = "ui://pagetools/card"
	got, err := a.askMCPAs(ctx, withCard, chaosToken(a.name), "resources/read", card, map[string]any{"uri": card})
	if err != nil {
		return err
	}
	for _, file := range got.Contents {
		if found := cardKeyInPage.FindStringSubmatch(file.Text); found != nil {
			a.key, err = base64.RawURLEncoding.DecodeString(found[1])
			return err
		}
	}
	return fmt.Errorf("it has no key: %+v", got)
}

// call makes a call, and calls again with the same arguments while it waits for its person.
func (a *cardAgent) call(ctx context.Context, x call, h hand, leaves bool, after time.Duration) (e entry) {
	e = entry{id: x.id, tool: x.tool, by: x.caller, refused: x.tool == "agree"}
	limit := max(x.timeout, chaosLeast)
	bounded, cancel := context.WithTimeout(ctx, limit+chaosGrace)
	defer cancel()
	began := time.Now()
	defer func() { e.took = time.Since(began); e.over = e.took - limit }()
	gone, leave := context.WithTimeout(bounded, after)
	defer leave()
	for {
		asking := bounded
		if leaves {
			asking = gone
		}
		got, err := a.askMCPAs(asking, withCard, x.token, "tools/call", x.tool, map[string]any{"name": x.tool, "arguments": map[string]string{"id": x.id}})
		ticket := ""
		if err == nil {
			var card struct{ Ticket string }
			_ = json.Unmarshal(got.Meta["pagetools/card"], &card) // without it, the call does not wait
			ticket = card.Ticket
		}
		switch {
		case asking.Err() != nil && bounded.Err() == nil:
			e.outcome = "left"
		case err != nil:
			e.outcome, e.why = "none", err.Error()
		case ticket != "":
			a.cards.Add(1)
			if a.answer(bounded, x, ticket, h) {
				e.refused = false
			}
			leaves = false // its person did something: now the client stays
			continue
		default:
			e.cameTo(got)
		}
		return e
	}
}

// answer is a person at the card. It reports whether they agreed, or may have.
func (a *cardAgent) answer(ctx context.Context, x call, ticket string, h hand) (agreed bool) {
	a.steals(ctx, x, ticket)
	switch h {
	case waits:
		a.over(ctx, x, ticket)
		return false
	case acts:
		a.op(ctx, x.token, ticket, "picture", `{}`)
		a.op(ctx, x.token, ticket, "act", `{"inputs":[{"button":"left","clicks":1,"type":"mousedown","x":30,"y":30},{"button":"left","clicks":1,"type":"mouseup","x":30,"y":30}]}`)
		if !a.open(ctx, x, ticket) {
			return false
		}
	case agrees, declines:
	}
	if got := a.op(ctx, x.token, ticket, "answer", fmt.Sprintf(`{"ok":%t}`, h != declines)); strings.HasPrefix(got, came) {
		a.spent = ticket
	}
	return h != declines
}

// open reports whether the question of a ticket is open still.
func (a *cardAgent) open(ctx context.Context, x call, ticket string) bool {
	return strings.Contains(a.op(ctx, x.token, ticket, "state", `{}`), "input_required")
}

// over waits until the question of a ticket has expired.
func (a *cardAgent) over(ctx context.Context, x call, ticket string) {
	for pause(ctx, 20*time.Millisecond) && a.open(ctx, x, ticket) {
		if a.op(ctx, x.token, ticket, "state", `{"wait":2000}`) == "" { // no answer: the server has other worries
			return
		}
	}
}

// steals tries what must not count: this ticket with the proof of another request, or changed;
// another caller's ticket; and one that was used.
func (a *cardAgent) steals(ctx context.Context, x call, ticket string) {
	const yes = `{"ok":true}`
	what, got := "", ""
	switch a.dice.IntN(5) {
	case 0:
		what, got = "the proof of a refusal", a.raw(ctx, x.token, ticket, "answer", a.prove(ticket, "answer", `{"ok":false}`), yes)
	case 1:
		what, got = "the proof of a look", a.raw(ctx, x.token, ticket, "answer", a.prove(ticket, "state", yes), yes)
	case 2:
		what, got = "a changed ticket", a.op(ctx, x.token, ticket[:len(ticket)/2]+ticket[len(ticket)/2+1:], "answer", yes)
	case 3:
		if a.spent != "" {
			what, got = "a spent ticket", a.op(ctx, x.token, a.spent, "answer", yes)
		}
	case 4:
		if stolen := a.tickets.swap(a.name, ticket); stolen != "" {
			what, got = "another caller's ticket", a.op(ctx, x.token, stolen, "answer", yes)
		}
	}
	switch {
	case strings.HasPrefix(got, came):
		a.t.Errorf("%s: %s counts: %s", x.id, what, got)
	case got == "FORBIDDEN", got == "CONFLICT":
		a.thefts.Add(1)
	}
}

// prove makes the proof of a request; rest is canonical JSON.
func (a *cardAgent) prove(ticket, op, rest string) string {
	mac := hmac.New(sha256.New, a.key)
	mac.Write([]byte(ticket + "\n" + op + "\n" + rest))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func (a *cardAgent) op(ctx context.Context, token, ticket, op, rest string) string {
	return a.raw(ctx, token, ticket, op, a.prove(ticket, op, rest), rest)
}

// came begins what raw returns of a request that counted.
const came = "came: "

// raw is a request of the card. It returns what came, or the code of the error, or "" when nothing
// came.
func (a *cardAgent) raw(ctx context.Context, token, ticket, op, proof, rest string) string {
	arguments := map[string]any{}
	_ = json.Unmarshal([]byte(rest), &arguments) // our own
	arguments["ticket"], arguments["op"], arguments["proof"] = ticket, op, proof
	got, err := a.askMCPAs(ctx, withCard, token, "tools/call", "pagetools_card", map[string]any{"name": "pagetools_card", "arguments": arguments})
	switch {
	case err != nil:
		return ""
	case got.IsError:
		var said struct{ Code string }
		_ = json.Unmarshal(got.Meta["pagetools/error"], &said)
		return said.Code
	}
	return came + string(got.StructuredContent)
}

// lost keeps the last ticket of each caller, which another one may find.
type lost struct {
	mu  sync.Mutex
	all map[string]string
}

// swap leaves a caller's ticket, and takes one that is not theirs, or "".
func (l *lost) swap(name, ticket string) (stolen string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[string]string{}
	}
	l.all[name] = ticket
	for of, other := range l.all {
		if of != name {
			return other
		}
	}
	return ""
}

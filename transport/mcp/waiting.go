package mcp

import (
	"context"
	"fmt"
	"strings"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/transport/mcp/toolset"
)

// This file says what models read of questions. It holds nothing to answer with: no id, no
// token, no command. A model can decline for its own call, and never agree.

// maxQuoted bounds what a page says in a text, in bytes.
const maxQuoted = 2 << 10

// asks returns the text of a question: our words, and the page's as a quotation. Other text may
// follow.
func asks(q *bridge.Question) string {
	if q.Detail == "" {
		return ended(q.Title) + " "
	}
	return ended(q.Title) + "\n" + q.Origin + " says:\n" +
		text.Marked(text.Short(q.Detail, maxQuoted)) + "\n"
}

// places lists where people can answer a question now.
func (x *exchange) places(q *bridge.Question) (places []string) {
	o := x.face.o
	if page := x.operators(); page != "" {
		places = append(places, "at "+page)
	}
	if o.Terminal != nil && o.Terminal() {
		places = append(places, "at a terminal")
	}
	if o.Attended && q.Kind != bridge.Approve {
		places = append(places, "in the page's window")
	}
	return places
}

// where says where the user can answer, and until when.
func (x *exchange) where(q *bridge.Question) string {
	until := q.ExpiresAt.UTC().Format(time.TimeOnly + " UTC")
	places, o := x.places(q), x.face.o
	unknown := o.Operators == nil && o.Terminal == nil // a program that embeds us has its own ways
	if len(places) == 0 && !unknown {
		words := "There is no place where people can answer it now. "
		if o.Opens != "" {
			words += o.Opens + " "
		}
		return words + fmt.Sprintf("At %s it counts as declined.", until)
	}
	who := "The user can answer in pagetools"
	if q.Foreign {
		who = "Only an operator can answer"
	}
	if len(places) > 0 {
		who += ", " + text.List(places, "or")
	}
	return fmt.Sprintf("%s, until %s; then it counts as declined.", who, until)
}

// waitsFor says that a call waits for a person.
func waitsFor(q *bridge.Question) string {
	if q.Kind == bridge.Approve {
		return fmt.Sprintf("%q needs a person's consent, and only the user can agree. %s", q.Tool, asks(q))
	}
	return fmt.Sprintf("%q waits for a person, and only the user can answer. %s", q.Tool, asks(q))
}

// forModels is a question as models may read it.
func forModels(q *bridge.Question) *bridge.Question {
	shown := *q
	shown.ID = ""
	return &shown
}

// waiting is pagetools_waiting: it lists the calls of the client that wait, or ends one.
func (x *exchange) waiting(ctx context.Context, arguments bridge.Value) *mcpgo.CallToolResult {
	number, err := toolset.Ended(arguments)
	if err != nil {
		return failure(err)
	}
	runs := x.face.b.Waiting(x.scope.ref())
	if number > 0 {
		for _, run := range runs {
			if run.Number() == number {
				return x.giveUp(ctx, run)
			}
		}
		return failure(notWaiting(number))
	}
	var lines, tickets []string
	for _, run := range runs {
		if q := run.Asks(); q != nil {
			lines = append(lines,
				fmt.Sprintf("Call %d, on %s: ", run.Number(), run.Site())+askedOf(x, q, true))
			tickets = append(tickets, ticketsOf(x, run, q)...)
		}
	}
	if len(lines) == 0 {
		return textResult("None of your calls waits for a person.")
	}
	lines = append(lines, "Tell the user. To decline for one of them, call "+toolset.Waiting+` with {"end": NUMBER}.`)
	return withTickets(textResult(strings.Join(lines, "\n\n")), tickets)
}

func notWaiting(number int64) *bridge.Error {
	return bridge.Errorf(bridge.SchemaError, "", bridge.NotRun,
		"No call of yours waits under the number %d. Without arguments, %s lists those that wait.", number, toolset.Waiting)
}

// giveUp declines the question of a call, and says how the call ended.
func (x *exchange) giveUp(ctx context.Context, run *bridge.Run) *mcpgo.CallToolResult {
	if e := bridge.AsError(run.GiveUp(x.scope.caller)); e != nil {
		if e.Code == bridge.Conflict { // it has just been answered
			e = notWaiting(run.Number())
		}
		return failure(e)
	}
	q, end := run.Next(ctx)
	switch {
	case q != nil && asksOnCard(x, q):
		return onCardResult(x, run, q, true)
	case q != nil:
		return failure(x.stillAsks(run.ID(), q))
	case end.Err != nil:
		x.ended = run
		return textResult("It was declined, and the call ended: " + end.Err.Message)
	}
	x.ended = run
	r := result(end, run.Tool(), x.protocol)
	r.Content = append([]mcpgo.Content{mcpgo.NewTextContent("It was declined, and the call ended. It returned:")}, r.Content...)
	r.StructuredContent, r.RawStructuredContent = nil, nil // it would hide the text
	return r
}

package mcp

import (
	"encoding/base64"
	"html"
	"strings"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/js"
	"github.com/pagetools/pagetools/transport/mcp/toolset"
)

// This file serves the one app of MCP Apps (SEP-1865): the card, on which a client shows
// questions to its person. card.go serves what the card calls.

const (
	// appsExtension is the key of MCP Apps in capabilities, and cardType the media type of apps.
	appsExtension = "io.modelcontextprotocol/ui"
	cardType      = "text/html;profile=mcp-app"
	// metaCard is the key of the tickets in the _meta of a result. Hosts hand it to the card, and
	// models do not read it.
	metaCard = "pagetools/card"
	// cardFresh limits how long a client may keep the card.
	cardFresh = time.Hour
)

// The values of Options.Apps.
const appsAuto, appsOn, appsOff = "auto", "on", "off"

// card is the page, and what is known of its use.
type card struct {
	page  string
	rates *policy.Rates
}

// newCard makes the card of a key. link says where it offers to open the operators' page, or "".
func newCard(key []byte, link string) *card {
	page := strings.NewReplacer("@CARD-KEY@", base64.RawURLEncoding.EncodeToString(key),
		"@CARD-LINK@", html.EscapeString(link)).Replace(js.Card)
	return &card{page: page, rates: policy.NewRates(policy.RatesOptions{})}
}

// drawsCards reports whether the card is there for a caller whose client can do that.
func (f *Face) drawsCards(c bridge.Caller, can elicits) bool {
	return c.Can(bridge.MayElicit) && f.drawsApps(c, can)
}

// drawsApps reports whether a caller's client draws apps, as it or the operator says.
func (f *Face) drawsApps(c bridge.Caller, can elicits) bool {
	word := f.o.Apps
	if f.o.AppsOf != nil {
		if own := f.o.AppsOf(c); own != "" {
			word = own
		}
	}
	return word != appsOff && (word == appsOn || can.apps)
}

// drawsCards reports whether the card is there for the client of a request.
func drawsCards(x *exchange) bool { return x.face.drawsCards(x.scope.caller, x.can) }

// asksOnCard reports whether a question can be answered on the card.
func asksOnCard(x *exchange, q *bridge.Question) bool { return !q.Foreign && drawsCards(x) }

// askedOf says that a call waits for a person, and where they answer. shown says that the client
// shows the card with what it is told.
func askedOf(x *exchange, q *bridge.Question, shown bool) string {
	if !asksOnCard(x, q) {
		return waitsFor(q) + x.where(q)
	}
	card := "A card shows"
	if !shown {
		card = "Call " + toolset.Waiting + " now: its card shows"
	}
	return text.Quote(q.Tool) + " waits for the user. " + ended(q.Title) + " " + card + " the question to the user, who answers there until " +
		q.ExpiresAt.UTC().Format("15:04 UTC") + ". You cannot answer it."
}

// onCardResult is the result of a call that waits for what its person says on the card.
func onCardResult(x *exchange, run *bridge.Run, q *bridge.Question, shown bool) *mcpgo.CallToolResult {
	r := textResult(askedOf(x, q, shown) +
		" When the user says that it is answered, call the tool again with the same arguments: it does not run twice.")
	return withTickets(r, ticketsOf(x, run, q))
}

// ticketsOf returns the ticket of an open question, where the card can use one.
func ticketsOf(x *exchange, run *bridge.Run, q *bridge.Question) []string {
	if !asksOnCard(x, q) {
		return nil
	}
	return []string{newTicket(x, run.Token(), q)}
}

// withTickets puts tickets where only the card reads them, the oldest first.
func withTickets(r *mcpgo.CallToolResult, tickets []string) *mcpgo.CallToolResult {
	if len(tickets) == 0 {
		return r
	}
	of := map[string]any{"ticket": tickets[0]}
	if len(tickets) > 1 {
		of["tickets"] = tickets
	}
	r.Meta = mcpgo.NewMetaFromMap(map[string]any{metaCard: of})
	return r
}

// cardResource is the card in resources/list.
var cardResource = resource{URI: toolset.CardURI, Name: "card", Title: "A question to you", MimeType: cardType}

// contents is the card as resources/read returns it. It asks the host for nothing: no address that
// it may reach, no permission, no origin.
func (c *card) contents() contents {
	return contents{URI: toolset.CardURI, MimeType: cardType, Text: &c.page,
		Meta: mcpgo.NewMetaFromMap(map[string]any{"ui": map[string]any{"prefersBorder": true}})}
}

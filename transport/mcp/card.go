package mcp

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/policy"
)

// This file serves pagetools_card, which only the card can call: every request names its question
// by a ticket, and proves with the key in the page that the page has made it.

// ticket is the content of a ticket: which question of which call it is for, and whose call that
// is. It is good until the question expires.
type ticket struct {
	Token    string    `json:"t"`
	Question string    `json:"q"`
	Caller   string    `json:"c"`
	Until    time.Time `json:"e"`
}

func newTicket(x *exchange, token string, q *bridge.Question) string {
	return x.face.seal.close(forTicket,
		ticket{Token: token, Question: q.ID, Caller: x.scope.caller.Name, Until: q.ExpiresAt})
}

// cardRate limits the requests of one caller's card, beside the rates of tools.
var cardRate = policy.Rate{N: 240, Per: time.Minute}

const (
	// maxCardWait bounds how long the card waits for a change, in milliseconds.
	maxCardWait = 20_000
	// maxInputs bounds what a person does in the page in one request.
	maxInputs = 32
	// quietFor sets how long a page must not change after that, and busyFor how long is waited for
	// it.
	quietFor, busyFor = 50 * time.Millisecond, 500 * time.Millisecond
	// pictureFor bounds the wait for a first picture.
	pictureFor = 5 * time.Second
)

// cardRequest is one request of the card, whose proof holds.
type cardRequest struct {
	op        string
	ticket    ticket
	call      *bridge.LongCall // nil: the call is over, and forgotten
	arguments bridge.Value
}

// onCard is pagetools_card.
func onCard(ctx context.Context, x *exchange) *mcpgo.CallToolResult {
	if limit, wait := x.face.card.rates.TakeOwn(cardRate, x.scope.caller.Name, "", "", time.Now()); limit != "" {
		e := bridge.Errorf(bridge.RateLimit, "", bridge.NotRun, "The card asks too often. %s", bridge.TryAgain(wait))
		e.Retry = wait
		return failure(e)
	}
	if !x.scope.caller.Can(bridge.MayElicit) {
		return failure(mayNotElicit())
	}
	r, e := readCard(x)
	if e != nil {
		return failure(e)
	}
	switch r.op {
	case "state":
		return r.state(ctx, x)
	case "answer":
		return r.answer(ctx, x)
	case "picture", "act":
		return r.act(ctx, x)
	}
	return failure(badCard(`op must be one of state, answer, picture and act.`))
}

func badCard(what string) *bridge.Error {
	return bridge.Errorf(bridge.SchemaError, "", bridge.NotRun, "%s", what)
}

func unproved() *bridge.Error {
	return bridge.Errorf(bridge.Forbidden, "", bridge.NotRun, "This ticket or its proof does not fit.")
}

func mayNotElicit() *bridge.Error {
	return bridge.Errorf(bridge.Forbidden, "", bridge.NotRun, "This credential may not answer on a card: its caller needs the right \"elicit\".")
}

func notOpen(why string) *bridge.Error {
	return bridge.Errorf(bridge.Conflict, "", bridge.NotRun, "The question is not open any more: %s.", why)
}

// readCard reads a request of the card. Nothing is looked up before its proof holds.
func readCard(x *exchange) (r cardRequest, e *bridge.Error) {
	all := x.message.params.Get("arguments")
	sealed, proof := all.Get("ticket"), all.Get("proof")
	r.op = all.Get("op").String()
	if !sealed.IsString() || !proof.IsString() || !all.Get("op").IsString() ||
		!proves(x.face.seal.cardKey, proof.String(), sealed.String(), r.op, all) {
		return r, unproved()
	}
	if x.face.seal.open(forTicket, sealed.String(), &r.ticket) != nil || r.ticket.Caller != x.scope.caller.Name {
		return r, unproved()
	}
	if !time.Now().Before(r.ticket.Until) {
		return r, notOpen("nobody answered in time")
	}
	r.arguments = all
	long, err := x.face.b.LongCall(x.scope.caller, r.ticket.Token)
	switch failed := bridge.AsError(err); {
	case failed == nil && x.scope.site != "" && long.Run().Site() != x.scope.site:
		return r, unproved()
	case failed == nil:
		r.call = long
	case failed.Code != bridge.ResumeNotFound: // it is of another process, or the caller was revoked
		return r, failed
	}
	return r, nil
}

// proves reports whether a proof is of these arguments: base64url of HMAC-SHA256 over the ticket,
// the op, and the canonical JSON (RFC 8785) of all other arguments, with a line end between.
func proves(key []byte, proof, sealed, op string, all bridge.Value) bool {
	rest, err := all.Edit(func(name string) bool { return name == "ticket" || name == "op" || name == "proof" })
	if err != nil {
		return false
	}
	body := jsontext.Value(bytes.Clone(rest.Text()))
	if body.Canonicalize() != nil {
		return false
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(sealed + "\n" + op + "\n"))
	mac.Write(body)
	return hmac.Equal([]byte(base64.RawURLEncoding.EncodeToString(mac.Sum(nil))), []byte(proof))
}

// only refuses other arguments than these.
func (r *cardRequest) only(known ...string) *bridge.Error {
	for name := range r.arguments.Members() {
		is := name == "ticket" || name == "op" || name == "proof"
		for _, k := range known {
			is = is || name == k
		}
		if !is {
			return badCard("There is no such argument of " + r.op + ".")
		}
	}
	return nil
}

// state is the op of that name: the call as it is or, with wait, as soon as it differs from what
// the card knows.
func (r *cardRequest) state(ctx context.Context, x *exchange) *mcpgo.CallToolResult {
	e := r.only("wait")
	wait := 0
	if given := r.arguments.Get("wait"); e == nil && given.Exists() &&
		(json.Unmarshal(given.Text(), &wait) != nil || given.IsNull() || wait < 0 || wait > maxCardWait) {
		e = badCard("wait must be a number of milliseconds, from 0 to 20000.")
	}
	if e != nil {
		return failure(e)
	}
	timer := time.NewTimer(time.Duration(wait) * time.Millisecond)
	defer timer.Stop()
	for {
		if r.call == nil {
			return r.told(x)
		}
		g, changed := r.call.Glance()
		if g.Over || g.Question != nil && g.Question.ID != r.ticket.Question {
			return r.told(x)
		}
		select {
		case <-changed:
		case <-timer.C:
			return r.told(x)
		case <-ctx.Done():
			return r.told(x)
		case <-x.face.o.Done:
			return r.told(x)
		case <-x.scope.caller.Revoked:
			return failure(bridge.Revoked())
		}
	}
}

// cardState is a call as the card gets it.
type cardState struct {
	State    string        `json:"state"`
	Question *cardQuestion `json:"question,omitempty"`
	Ticket   string        `json:"ticket,omitempty"`
	Picture  *bool         `json:"picture,omitempty"`
}

// cardQuestion is a question as the card gets it. InputText is the arguments as they were written,
// where numbers of JavaScript would change them.
type cardQuestion struct {
	Kind      bridge.Kind     `json:"kind"`
	Title     string          `json:"title"`
	Detail    string          `json:"detail"`
	Schema    json.RawMessage `json:"schema,omitempty"`
	Tool      string          `json:"tool"`
	Site      string          `json:"site"`
	Origin    string          `json:"origin"`
	Form      bool            `json:"form,omitempty"`
	Facts     []cardFact      `json:"facts"`
	Input     json.RawMessage `json:"input"`
	InputText string          `json:"inputText,omitempty"`
	ExpiresAt time.Time       `json:"expiresAt"`
}

type cardFact struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// told is the state of the call now. A call that is over, or that nobody knows any more, has no
// outcome here: that is for the model's next call.
func (r *cardRequest) told(x *exchange) *mcpgo.CallToolResult {
	s := cardState{State: "over"}
	if r.call != nil {
		switch g, _ := r.call.Glance(); {
		case g.Over:
		case g.Question == nil:
			s.State = string(bridge.Working)
		case g.Question.Foreign:
			return failure(bridge.Errorf(bridge.Forbidden, "", bridge.NotRun, "%s", g.Question.Title))
		default:
			s = cardState{State: string(bridge.InputAwaited), Question: forCard(r.call.Run().Site(), g.Question),
				Ticket: newTicket(x, r.ticket.Token, g.Question), Picture: &g.Picture}
		}
	}
	result := textResult("ok")
	structure(result, encode(s))
	return result
}

func forCard(site string, q *bridge.Question) *cardQuestion {
	c := &cardQuestion{Kind: q.Kind, Title: q.Title, Detail: q.Detail, Schema: q.Schema, Tool: q.Tool, Site: site,
		Origin: q.Origin, Form: q.Form, Facts: []cardFact{}, Input: q.Input, ExpiresAt: q.ExpiresAt.UTC()}
	for _, f := range q.Facts() {
		c.Facts = append(c.Facts, cardFact(f))
	}
	doubles, exact := jsontext.Value(bytes.Clone(q.Input)), jsontext.Value(bytes.Clone(q.Input))
	if doubles.Canonicalize() != nil || exact.Canonicalize(jsontext.CanonicalizeRawInts(false),
		jsontext.CanonicalizeRawFloats(false)) != nil || !bytes.Equal(doubles, exact) {
		c.InputText = string(q.Input)
	}
	return c
}

// answer is the op of that name.
func (r *cardRequest) answer(ctx context.Context, x *exchange) *mcpgo.CallToolResult {
	if e := r.only("ok", "value"); e != nil {
		return failure(e)
	}
	a := bridge.Answer{Value: r.arguments.Get("value").Text()}
	if ok := r.arguments.Get("ok"); ok.IsNull() || json.Unmarshal(ok.Text(), &a.OK) != nil {
		return failure(badCard("ok must be true or false."))
	}
	if r.call == nil {
		return failure(notOpen("its call is over"))
	}
	if err := r.call.AnswerOnCard(x.scope.caller, r.ticket.Question, a); err != nil {
		return failure(bridge.AsError(err))
	}
	x.face.log.InfoContext(ctx, "question: answered", "question", r.ticket.Question, "by", x.scope.caller.Name, "on", "card", "ok", a.OK)
	return r.told(x)
}

// act is the op of that name, and picture, which does nothing in the page.
func (r *cardRequest) act(ctx context.Context, x *exchange) *mcpgo.CallToolResult {
	var inputs []bridge.Input
	e := r.only()
	if r.op == "act" {
		inputs, e = r.inputs()
	}
	switch {
	case e != nil:
		return failure(e)
	case r.call == nil:
		return failure(notOpen("its call is over"))
	}
	live, err := r.call.LiveOnCard(ctx, x.scope.caller, r.ticket.Question)
	if err != nil {
		return failure(bridge.AsError(err))
	}
	defer live.Close()
	if r.op == "act" {
		if !live.Take() {
			return failure(bridge.Errorf(bridge.Conflict, "", bridge.NotRun, "Somebody else holds the pen."))
		}
		if err := live.ActAll(ctx, inputs); err != nil {
			return failure(bridge.AsError(err))
		}
	}
	frame, over := r.look(ctx, live)
	picture := bounded(frame.JPEG)
	switch {
	case over:
		return r.told(x)
	case picture == nil:
		return failure(bridge.Errorf(bridge.InternalError, bridge.PageHung, bridge.Unknown, "The page did not show itself in time."))
	}
	result := &mcpgo.CallToolResult{Content: []mcpgo.Content{
		mcpgo.NewImageContent(base64.StdEncoding.EncodeToString(picture), "image/jpeg")}}
	structure(result, encode(map[string]float64{"width": frame.Width, "height": frame.Height}))
	return result
}

// inputs reads what a person did.
func (r *cardRequest) inputs() (all []bridge.Input, e *bridge.Error) {
	if e := r.only("inputs"); e != nil {
		return nil, e
	}
	given := r.arguments.Get("inputs")
	d := json.NewDecoder(bytes.NewReader(given.Text()))
	d.DisallowUnknownFields()
	if !given.IsArray() || given.Len() < 1 || given.Len() > maxInputs || d.Decode(&all) != nil {
		return nil, badCard("inputs must be a list of 1 to 32 things that a person does with mouse or keyboard.")
	}
	return all, nil
}

// look waits for a picture of the page, once it is quiet. over reports that the question is not
// open any more.
func (r *cardRequest) look(ctx context.Context, live *bridge.Live) (frame bridge.Frame, over bool) {
	quiet, busy := time.NewTimer(quietFor), time.NewTimer(busyFor)
	defer quiet.Stop()
	defer busy.Stop()
	late := time.NewTimer(pictureFor)
	defer late.Stop()
	enough := quiet.C
	for {
		g, changed := r.call.Glance()
		if g.Question == nil || g.Question.ID != r.ticket.Question {
			return frame, true
		}
		select {
		case next, more := <-live.Frames():
			if !more { // the page is gone, and the call will say so
				return frame, frame.JPEG == nil
			}
			frame = next
			if r.op == "picture" {
				return frame, false
			}
			quiet.Reset(quietFor)
		case <-enough:
			if frame.JPEG != nil {
				return frame, false
			}
		case <-busy.C:
			enough = late.C
			if frame.JPEG != nil {
				return frame, false
			}
		case <-late.C:
			return frame, false
		case <-changed:
		case <-ctx.Done():
			return frame, false
		}
	}
}

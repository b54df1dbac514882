package cdp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/shim"
)

// asked listens for what the call says next, and asks.
func (c *call) asked(ctx context.Context, form bool) bridge.Step {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortPatience)
	defer cancel()
	ch, err := c.doc.send(bounded, shim.Wait(c.of.name, c.id, c.doc.revision.Load()))
	if err != nil {
		c.end()
		return c.doc.lost(bridge.Unknown).Step()
	}
	c.ch, c.interacts = ch, true
	q := bridge.Question{Kind: bridge.Interact, Title: "The page waits for a person to act in it.",
		Origin: c.doc.origin}
	if form {
		q.Title = "A form is filled in. Shall it be submitted?"
	}
	return c.ask(q, nil, func(ctx context.Context, a *bridge.Answer) {
		c.interacts = a == nil
		if a != nil && c.early == nil && c.next == nil {
			_, _ = c.doc.send(ctx, shim.Answer(c.of.name, c.id, a.OK, a.Value))
		}
	})
}

// promptSchema is the value of an answer to a prompt.
func promptSchema(text string) json.RawMessage {
	b, err := json.Marshal(map[string]any{"type": "string", "default": text})
	if err != nil { // a string: cannot happen
		panic("encoding a prompt: " + err.Error())
	}
	return b
}

// askDialog asks what to answer to a dialog.
func (c *call) askDialog(d *dialog) bridge.Step {
	q := bridge.Question{Kind: d.kind, Title: "The page asks for a confirmation.",
		Detail: d.message, Origin: c.doc.origin}
	if d.kind == bridge.Prompt {
		q.Title, q.Schema = "The page asks for a text.", promptSchema(d.text)
	}
	q.Among, q.Foreign = d.among, d.foreign
	if d.among > 0 {
		q.Title = strings.TrimSuffix(q.Title, ".") + fmt.Sprintf(", and %d calls are at work in it. It may be of any of them.", d.among)
	}
	return c.ask(q, d.closed, func(_ context.Context, a *bridge.Answer) {
		switch {
		case !d.isOpen():
			return
		case a == nil:
			c.leave(d)
			return
		}
		text := d.text
		if len(a.Value) > 0 {
			_ = json.Unmarshal(a.Value, &text) // a string: the question was checked
		}
		_ = d.answer(a.OK, text)
	})
}

// ask makes the question. tell passes the answer to the page.
func (c *call) ask(q bridge.Question, closed <-chan struct{},
	tell func(context.Context, *bridge.Answer)) bridge.Step {
	over, stop, watched := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() { // ends with the question
		defer close(watched)
		select {
		case r, ok := <-c.ch:
			c.early = &early{r, ok}
		case d := <-c.dialogs:
			c.next = d
		case <-closed:
		case <-c.doc.target.Gone():
		case <-stop:
			return
		}
		close(over)
	}()
	goOn := func(ctx context.Context, a *bridge.Answer) bridge.Step {
		close(stop)
		<-watched
		tell(ctx, a)
		return c.goOn(ctx)
	}
	return bridge.Step{Pause: &bridge.Pause{Question: q, Over: over, Continue: goOn}}
}

// goOn takes what came while the question was open, and waits for what comes.
func (c *call) goOn(ctx context.Context) bridge.Step {
	if e := c.early; e != nil {
		c.early = nil
		return c.said(ctx, e.reply, e.ok)
	}
	if d := c.next; d != nil {
		c.next = nil
		return c.askDialog(d)
	}
	return c.wait(ctx)
}

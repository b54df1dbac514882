package run

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/files"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/e2e/scenario"
	"github.com/pagetools/pagetools/session"
)

// Times that the page may take: until a person can do what is written, and after that, until the
// page goes on.
const (
	gesturePatience = 2 * time.Second
	pagePatience    = scenario.DefaultWait
)

// mostKeys bounds the characters that are typed key by key; a longer text is inserted as a whole,
// as when it is pasted.
const mostKeys = 64

// perform does in the page what is written, in order. It ends with ctx, such as with the question.
// The error says which gesture a person cannot do, and why.
func (p *person) perform(ctx context.Context, all []scenario.Gesture) error {
	for i := range all {
		g := &all[i]
		if err := p.gesture(ctx, g); err != nil {
			return fmt.Errorf("line %d: the person cannot %s: %s", g.Line, g, err.Error())
		}
	}
	return nil
}

func (p *person) gesture(ctx context.Context, g *scenario.Gesture) error {
	with := g.Text()
	to, err := p.aim(ctx, g.Kind(), g.Selector(), with)
	if err != nil {
		return err
	}
	switch kind := g.Kind(); {
	case to.Picks:
		_, err = p.aim(ctx, "picked", g.Selector(), with)
		return err
	case to.File:
		return p.give(ctx, g.Selector(), with)
	case kind == scenario.DoFill:
		return p.fill(ctx, g.Selector(), with, to)
	case kind == scenario.DoChoose:
		return p.choose(ctx, g.Selector(), with, to)
	}
	return p.click(ctx, to, 0)
}

// aim looks for an element, for a while: a page may need a moment until a person can use it.
func (p *person) aim(ctx context.Context, do, selector, with string) (to session.Target, err error) {
	m, err := eventually(ctx, gesturePatience, func() (*scenario.Mismatch, error) {
		to, err = p.hand.Aim(ctx, session.Aim{Do: do, Selector: selector, Text: with})
		switch {
		case err != nil || to.Fault == "":
			return nil, err
		case to.Final:
			return nil, errors.New(to.Fault)
		}
		return &scenario.Mismatch{Why: text.EscapeLine(to.Fault)}, nil
	})
	switch {
	case err != nil:
		return to, errors.New(said(ctx, err))
	case m != nil:
		return to, errors.New(m.Why)
	}
	return to, nil
}

// inputs sends what a person's mouse and keyboard do. An end of ctx while the page has not taken
// one is no error: the page asked something else because of it, or went on.
func (p *person) inputs(ctx context.Context, all ...bridge.Input) error {
	for i := range all {
		if err := p.hand.Act(ctx, all[i]); err != nil && ctx.Err() == nil {
			return errors.New(bridge.AsError(err).Message)
		}
	}
	return nil
}

func (p *person) click(ctx context.Context, to session.Target, modifiers int) error {
	in := bridge.Input{Type: bridge.MouseMove, X: to.X, Y: to.Y, Modifiers: modifiers}
	down, up := in, in
	down.Type, down.Button, down.Clicks = bridge.MouseDown, "left", 1
	up.Type, up.Button, up.Clicks = bridge.MouseUp, "left", 1
	return p.inputs(ctx, in, down, up)
}

// key returns the inputs of a key that goes down, writes a text, and goes up.
func key(name, code, text string) []bridge.Input {
	down := bridge.Input{Type: bridge.KeyDown, Key: name, Code: code, Text: text}
	up := down
	up.Type, up.Text = bridge.KeyUp, ""
	return []bridge.Input{down, up}
}

// fill clicks a field, and types in the place of what it has.
func (p *person) fill(ctx context.Context, selector, with string, to session.Target) error {
	if err := p.click(ctx, to, 0); err != nil {
		return err
	}
	at, err := p.aim(ctx, "focused", selector, with)
	if err != nil {
		return err
	}
	var all []bridge.Input
	switch {
	case with == "" && !at.Empty:
		all = key("Backspace", "Backspace", "")
	case len(with) > mostKeys || strings.ContainsAny(with, "\r\n"):
		all = []bridge.Input{{Type: bridge.Text, Text: with}}
	default:
		for _, r := range with {
			all = append(all, key(string(r), "", string(r))...)
		}
	}
	if err := p.inputs(ctx, all...); err != nil || ctx.Err() != nil {
		return err
	}
	_, err = p.aim(ctx, "filled", selector, with)
	return err
}

// choose opens a list with the keyboard, goes to an option, and takes it; in a list that is open,
// it clicks the option.
func (p *person) choose(ctx context.Context, selector, with string, to session.Target) error {
	var err error
	switch {
	case to.Chosen:
		return nil
	case to.Down < 0:
		modifiers := 0
		if to.Several {
			modifiers = to.Control
		}
		err = p.click(ctx, to, modifiers)
	default:
		all := slices.Concat(key(" ", "Space", " "), key("Home", "Home", ""))
		for range to.Down {
			all = append(all, key("ArrowDown", "ArrowDown", "")...)
		}
		err = p.inputs(ctx, append(all, key("Enter", "Enter", "")...)...)
	}
	if err != nil || ctx.Err() != nil {
		return err
	}
	_, err = p.aim(ctx, "chosen", selector, with)
	return err
}

// mostFile bounds a file that the person chooses, in bytes.
const mostFile = 1 << 20

// give chooses a file in a field that takes files. The page gets its content, and the browser no
// path.
func (p *person) give(ctx context.Context, selector, name string) error {
	content, err := p.content(name)
	if err != nil {
		return err
	}
	kind, _, err := mime.ParseMediaType(cmp.Or(mime.TypeByExtension(filepath.Ext(name)), http.DetectContentType(content)))
	if err != nil {
		kind = ""
	}
	words := schema.MustEncode(map[string]string{"name": filepath.Base(name), "type": kind, "data": base64.StdEncoding.EncodeToString(content)})
	_, err = p.aim(ctx, "files", selector, string(words))
	return err
}

// content reads a file beside the scenario. A scenario that was found and that nobody named gives
// no file away that is outside of the folder in which it was found.
func (p *person) content(name string) ([]byte, error) {
	path := beside(p.from, name)
	if p.from.Within != "" && files.Inside(p.from.Within, path) != nil {
		return nil, fmt.Errorf("the file %s is outside of %s, and nobody named this scenario", scenario.Quoted(name), scenario.Quoted(p.from.Within))
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("there is no file %s beside the scenario", scenario.Quoted(name))
	case !info.Mode().IsRegular() || info.Size() > mostFile:
		return nil, fmt.Errorf("%s is not a file of at most %d KiB", scenario.Quoted(name), mostFile>>10)
	}
	return os.ReadFile(path)
}

// respond decides what the person does with a question, and does what of that is in the page. Left
// is false where the page went on by itself, so that nothing is left to answer.
func (p *person) respond(ctx context.Context, q *bridge.Question) (a scenario.Answer, left bool) {
	if a = p.decide(ctx, q); len(a.Gestures) == 0 {
		return a, true
	}
	return p.actIn(ctx, q, a)
}

// actIn does in the page what an answer says, while the question is open. It returns what is left
// to answer: nothing where the page goes on by itself, and that the person declines where a person
// cannot do it, or the page waits for something else.
func (p *person) actIn(ctx context.Context, q *bridge.Question, a scenario.Answer) (scenario.Answer, bool) {
	open, end := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() { // ends with the question, or with open
		defer close(ended)
		_ = p.over(open, q.ID) // an error is the end of open
		end()
	}()
	defer func() { end(); <-ended }()
	began := time.Now()
	defer func() {
		p.deciding.Lock()
		p.took += time.Since(began)
		p.deciding.Unlock()
	}()
	declines := scenario.Answer{Act: scenario.Decline}
	if err := p.perform(open, a.Gestures); err != nil {
		if open.Err() == nil {
			p.complain("%s", err.Error())
			return declines, true
		}
		if ctx.Err() == nil {
			p.complain("the question was over before the person had done all: %s", err.Error())
		}
		return a, false
	}
	if a.Act != scenario.InPage {
		return a, open.Err() == nil
	}
	late := time.NewTimer(pagePatience)
	defer late.Stop()
	select {
	case <-open.Done():
		return a, false
	case <-late.C:
	}
	last := &a.Gestures[len(a.Gestures)-1]
	p.complain("line %d: the page still waits %s after the person did %s: add what is missing, or the answer",
		last.Line, pagePatience, last)
	return declines, true
}

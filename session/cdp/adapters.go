package cdp

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/runtime"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/adapter"
	"github.com/pagetools/pagetools/session/cdp/wire"
	"github.com/pagetools/pagetools/shim"
)

// adapterScripts are the commands by which the documents of a tab get its adapters, those that are
// not JavaScript left out: parse has told of them.
func adapterScripts(name string, o session.TabOptions, parsed *sync.Map) (commands []wire.Command) {
	if len(o.Adapters) == 0 {
		return nil
	}
	commands = append(commands, addScript(shim.AdapterRunner(name)))
	origins := append([]string{o.Origin}, o.Origins...)
	for i, a := range o.Adapters {
		if known, _ := parsed.Load(a.SHA256); known.(*adapter.HeaderError) != nil { //nolint:forcetypeassert // parse stored it
			continue
		}
		c := shim.AdapterConfig{Index: i + 1, Name: a.Name, Origins: origins, Match: a.Patterns(),
			Frames: a.Frames, At: a.At, Quiet: a.Quiet}
		if c.Match == nil {
			c.Match = []string{"^" + regexp.QuoteMeta(o.Origin) + "/"}
		}
		commands = append(commands, addScript(shim.AdapterSource(name, c, a.Source())))
	}
	return commands
}

// Parses returns why the engine's browser does not take an adapter for JavaScript, as
// *adapter.HeaderError, and nil where it does. Nothing of the adapter runs.
func (e *Engine) Parses(ctx context.Context, a *adapter.Adapter) error {
	if known, ok := e.parsed.Load(a.SHA256); ok {
		return asError(known.(*adapter.HeaderError)) //nolint:forcetypeassert // nothing else is stored
	}
	opened, err := e.Open(ctx, session.TabOptions{Adapters: []*adapter.Adapter{a}})
	if err != nil {
		return err
	}
	closing := make(chan *tab, 1)
	closing <- opened.(*tab) //nolint:forcetypeassert // the engine's own
	discard(closing, nil)
	known, _ := e.parsed.Load(a.SHA256)
	return asError(known.(*adapter.HeaderError)) //nolint:forcetypeassert // as above
}

func asError(e *adapter.HeaderError) error {
	if e == nil {
		return nil
	}
	return e
}

// parse finds out whether the adapters of a tab are JavaScript, while it shows an empty document:
// of a script that is none, its pages hear nothing.
func (t *tab) parse(ctx context.Context, all []*adapter.Adapter, parsed *sync.Map) error {
	for _, a := range all {
		known, ok := parsed.Load(a.SHA256)
		if !ok {
			wrong, err := t.compile(ctx, a)
			if err != nil {
				return fmt.Errorf("reading the adapter %s: %w", a.Name, err)
			}
			known, _ = parsed.LoadOrStore(a.SHA256, wrong)
		}
		if wrong := known.(*adapter.HeaderError); wrong != nil { //nolint:forcetypeassert // nothing else is stored
			w := t.owner.watcher
			w.unparsed = append(w.unparsed, bridge.Finding{Rule: bridge.RuleAdapter,
				Message: fmt.Sprintf("The adapter %s is not JavaScript: %s (%s:%d)", a.Name, wrong.Message,
					filepath.Base(a.File), wrong.Line)})
		}
	}
	return nil
}

// compile has the browser make a function of an adapter, and does not call it.
func (t *tab) compile(ctx context.Context, a *adapter.Adapter) (*adapter.HeaderError, error) {
	var res struct {
		Exception *struct {
			Line      int `json:"lineNumber"`
			Exception struct {
				Description string `json:"description"`
			} `json:"exception"`
		} `json:"exceptionDetails"`
	}
	params := runtime.EvaluateParams{Expression: shim.AdapterBody(a.Source()), Silent: new(true),
		DisableBreaks: new(true)}
	err := t.target.Call(ctx, runtime.CommandEvaluate, params, &res)
	if err != nil || res.Exception == nil {
		return nil, err
	}
	message, _, _ := strings.Cut(res.Exception.Exception.Description, "\n")
	return &adapter.HeaderError{File: filepath.Base(a.File), Line: res.Exception.Line + 1,
		Message: message}, nil
}

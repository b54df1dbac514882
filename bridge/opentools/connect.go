package opentools

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/opentools/oauth"
	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/bridge/schema"
)

// Options says how a site is used. The zero value offers what the site marks for models, and runs
// only what needs nobody's consent.
type Options struct {
	// Transport makes the requests; nil is http.DefaultTransport, which reaches everything that
	// this machine does.
	Transport http.RoundTripper
	// Expose says which operations become tools, and Guess whether the document is also looked for
	// at usual addresses.
	Expose Expose
	Guess  bool
	// Origins are further origins that servers of the document may have, such as
	// "https://api.shop.example".
	Origins []string
	// Approval is the user's decision: it can only be stricter than the site's. Approve reaches the
	// user; nil refuses what needs consent. Memory keeps consent that a user gave for good.
	Approval policy.Operator
	Approve  bridge.Asker
	Memory   bridge.Memory
	// Credentials are the logins and keys, of the caller "local"; nil has none.
	Credentials *oauth.Store
}

// Site is an application that publishes OpenTools. It is safe for concurrent use.
type Site struct {
	// Bridge runs the calls: the faces of transport/mcp and transport/webtool serve it as they
	// serve pages. Its one site is [Name].
	Bridge *bridge.Bridge
	// About describes the API as its document did when it was found.
	About *About

	router *Router
	ask    bridge.Asker
}

// Name is the site's name in the bridge of a [Site].
const Name = "site"

// Result is the outcome of a call.
type Result struct {
	// Data is the result: JSON as it came, a string for a text, an MCP result for pictures and
	// files.
	Data json.RawMessage
	// Denied is true when a user, or their settings, refused the call: then Data is {"denied":true}
	// (O16).
	Denied bool
}

// Connect finds the document of an application, and makes its operations tools: paste a URL, get
// tools. The caller must close the site. The error matches [ErrNotFound] when there is no document.
func Connect(ctx context.Context, address string, o Options) (*Site, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("%.200q is not a web address: it begins with https://", address)
	}
	o.Transport = cmp.Or(o.Transport, http.DefaultTransport)
	site := SiteOptions{Site: bridge.Site{Name: Name, Target: address, Origin: origin.OfURL(u)}, URL: address,
		Expose: o.Expose, Guess: o.Guess, Origins: o.Origins,
		Transport: func(certificate *tls.Certificate) http.RoundTripper { return certified(o.Transport, certificate) }}
	if o.Credentials != nil {
		site.Keeper = oauth.New(oauth.Options{Store: o.Credentials, Client: &http.Client{Transport: o.Transport}})
	}
	s := &Site{router: NewRouter(RouterOptions{Sites: []SiteOptions{site}}), ask: o.Approve}
	s.Bridge, err = bridge.New(s.router, bridge.Options{Memory: o.Memory, Sites: map[string]bridge.SiteOptions{Name: {Approval: o.Approval}}})
	if err == nil {
		s.About, _, err = s.router.About(ctx, Name)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// certified shows a certificate to servers that ask for one, where the transport can.
func certified(t http.RoundTripper, certificate *tls.Certificate) http.RoundTripper {
	plain, ok := t.(*http.Transport)
	if !ok || certificate == nil {
		return t
	}
	own := plain.Clone()
	if own.TLSClientConfig == nil {
		own.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	own.TLSClientConfig.Certificates = []tls.Certificate{*certificate}
	return own
}

// Close ends calls and what goes on in the background.
func (s *Site) Close() {
	if s.Bridge != nil {
		s.Bridge.Close()
	}
	s.router.Close()
}

// Tools returns the site's current tools. The document is asked for again when its site says so.
func (s *Site) Tools(ctx context.Context) ([]*bridge.Tool, error) {
	l, err := s.Bridge.Tools(ctx, bridge.Ref{Site: Name, Caller: bridge.Local()})
	return l.Tools, err
}

// Operation returns the document's description of a tool, with its words on rendering and on what
// comes next, or nil for an unknown tool.
func (s *Site) Operation(tool string) *Tool {
	now := s.router.sites.Load().named[Name].edition()
	if now == nil || now.catalog.Tool(tool) == nil {
		return nil
	}
	t, o := now.catalog.Tool(tool), *now.tools[tool].Tool
	o.Description, o.Input, o.Output = t.Description(), t.InputSchema(), t.OutputSchema()
	return &o
}

// Call runs a tool with arguments, a JSON object. Errors are *bridge.Error; a refusal is none.
func (s *Site) Call(ctx context.Context, tool string, arguments json.RawMessage) (Result, error) {
	in, err := bridge.ReadValue("arguments", arguments)
	if err != nil {
		return Result{}, err
	}
	if c, err := s.router.Catalog(bridge.Ref{Site: Name}); err == nil && c.Tool(tool) != nil { // names that For changed
		schema, _ := c.Tool(tool).Schemas()
		if in, err = schema.ForClients(false).Restore(in); err != nil {
			return Result{}, bridge.Errorf(bridge.SchemaError, "", bridge.NotRun, "arguments: %s.", err)
		}
	}
	data, err := s.Bridge.Do(ctx, &bridge.Call{Site: Name, Tool: tool, Caller: bridge.Local(), Input: in, Asker: s.ask})
	if e, ok := errors.AsType[*bridge.Error](err); ok && e.IsDenied() {
		return Result{Data: json.RawMessage(`{"denied":true}`), Denied: true}, nil
	}
	return Result{Data: data}, err
}

// A Dialect says how an API of models takes tools.
type Dialect string

// The dialects.
const (
	OpenAI    Dialect = "openai"    // {"type":"function","function":{…}}
	Anthropic Dialect = "anthropic" // {"name","description","input_schema"}
)

// For returns tools as an API of models takes them, a JSON list. Their schemas have what all of
// these read, and names of arguments stay where they are legal there.
func For(d Dialect, tools []*bridge.Tool) json.RawMessage {
	all := make([]any, len(tools))
	for i, t := range tools {
		input, _ := t.Schemas()
		arguments := input.ForClients(false).JSON
		if d == Anthropic {
			all[i] = map[string]any{"name": t.Name(), "description": t.Description(), "input_schema": arguments}
			continue
		}
		all[i] = map[string]any{"type": "function", "function": map[string]any{"name": t.Name(), "description": t.Description(),
			"parameters": arguments}}
	}
	return schema.MustEncode(all)
}

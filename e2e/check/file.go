package check

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

// What FromFile takes a file for.
const (
	sourceTools  = "the list of tools that pagetools prints as JSON"
	sourceLock   = "a lock file of pagetools"
	sourceResult = "a tools/list result of MCP"
	sourceBare   = "a JSON array of tools"
	sourceReply  = "a JSON-RPC message with a tools/list result of MCP"
)

// FromFile reads a list of tools: what pagetools prints as JSON, a lock file
// (each target becomes a page), a JSON array of tools, or the result of tools/list of MCP, bare or
// as the whole JSON-RPC message. Source of the snapshot says which it was. Tools of one name all
// stay. An error says what is wrong with the file, and where, or what would be right.
func FromFile(b []byte) (*Snapshot, error) {
	const depth = 200
	b = bytes.TrimPrefix(b, []byte("\uFEFF"))
	v, err := schema.Read(b, depth)
	if err != nil {
		var syntax *schema.SyntaxError
		if errors.As(err, &syntax) {
			line, column := lineOf(b, syntax.Offset)
			return nil, fmt.Errorf("line %d, column %d: not JSON: "+
				"%s", line, column, sentence(errors.New(syntax.Message)))
		}
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	s := &Snapshot{}
	reply := v.Get("jsonrpc").Exists()
	list, at := v.Get("tools"), "/tools/"
	switch {
	case v.IsArray():
		s.Source, list, at = sourceBare, v, "/"
	case v.Get("lockfileVersion").Exists():
		if err := s.fromLock(v); err != nil {
			return nil, err
		}
		s.Source = sourceLock
		return s, nil
	case reply && v.Get("error").Exists():
		return nil, fmt.Errorf("the JSON-RPC message is the error %s: ask for tools/list again, and "+
			"use its result",
			text.Quote(v.Get("error").Get("message").String()))
	case reply && v.Get("result").Get("tools").IsArray():
		s.Source, v = sourceReply, v.Get("result")
		list = v.Get("tools")
	case list.IsArray() && v.Get("version").IsString() && v.Get("site").IsString():
		s.Source = sourceTools
	case list.IsArray():
		s.Source = sourceResult
	default:
		return nil, fmt.Errorf("not a list of tools: must be %s, %s, %s, or %s, bare or as "+
			"JSON-RPC", sourceTools, sourceLock, sourceBare, sourceResult)
	}
	if v.Get("nextCursor").String() != "" {
		s.Source += " (a page of it; the list goes on)"
	}
	p := Page{}
	for i, item := range list.Items() {
		t, err := toolFrom(item, at+decimal(i))
		if err != nil {
			return nil, err
		}
		name := item.Get("name")
		if !name.IsString() {
			return nil, fmt.Errorf("%s%d/name: must be a text", at, i)
		}
		t.Name = name.String()
		p.Tools = append(p.Tools, t)
	}
	s.Pages = []Page{p}
	return s, nil
}

// lineOf returns the place of an offset, counted from 1; columns in bytes.
func lineOf(b []byte, offset int64) (line, column int) {
	before := b[:max(0, min(offset, int64(len(b))))]
	return bytes.Count(before, []byte("\n")) + 1, len(before) - bytes.LastIndexByte(before, '\n')
}

func (s *Snapshot) fromLock(v schema.Value) error {
	if string(v.Get("lockfileVersion").Text()) == "1" {
		return errors.New("the lock file has version 1, with digests only: write it again")
	}
	targets := v.Get("targets")
	if !targets.IsObject() {
		return errors.New("/targets: must be an object with a member for each target")
	}
	for target, held := range targets.Members() {
		p := Page{Target: target}
		if strings.Contains(target, "://") {
			p.URL = target
		}
		at := schema.Pointer("targets", target, "tools")
		if !held.Get("tools").IsObject() {
			return fmt.Errorf("%s: must be an object with a member for each tool", at)
		}
		for name, item := range held.Get("tools").Members() {
			t, err := toolFrom(item, at+schema.Pointer(name))
			if err != nil {
				return err
			}
			t.Name = name
			p.Tools = append(p.Tools, t)
		}
		s.Pages = append(s.Pages, p)
	}
	return nil
}

// members lists what a declaration in a file has.
var members = []string{"name", "title", "description", "inputSchema", "outputSchema", "annotations", "exposedTo", "origin", "frame", "adapter", "surface", "script",
	"digest", "version", "_meta", "icons", "execution"}

// toolFrom reads one declaration, but for its name.
func toolFrom(v schema.Value, at string) (Tool, error) {
	if !v.IsObject() {
		return Tool{}, fmt.Errorf("%s: must be an object", sentence(errors.New(at)))
	}
	var t Tool
	for _, x := range []struct {
		name string
		to   *string
	}{{"title", &t.Title}, {"description", &t.Description}, {"origin", &t.Origin}, {"frame", &t.Frame},
		{"surface", &t.Surface}} {
		held := v.Get(x.name)
		if held.Exists() && !held.IsString() && !held.IsNull() {
			return t, fmt.Errorf("%s/%s: must be a text", sentence(errors.New(at)), x.name)
		}
		*x.to = held.String()
	}
	for _, x := range []struct {
		name string
		to   *json.RawMessage
	}{{"inputSchema", &t.Input}, {"outputSchema", &t.Output}, {"annotations", &t.Annotations}} {
		if held := v.Get(x.name); !held.IsNull() { // lists write null where there is none
			*x.to = held.Text()
		}
	}
	if by := v.Get("adapter"); by.IsObject() {
		t.Adapter = &bridge.Adapter{Name: by.Get("name").String(), Version: by.Get("version").String(), SHA256: by.Get("sha256").String()}
	}
	others, err := v.Edit(func(name string) bool { return v.Get(name).IsNull() || slices.Contains(members, name) })
	if err != nil {
		return t, fmt.Errorf("%s: %w", sentence(errors.New(at)), err)
	}
	if others.Len() > 0 {
		t.Others = others.Text()
	}
	for entry := range v.Get("exposedTo").Elements() {
		t.ExposedTo = append(t.ExposedTo, entry.String())
	}
	return t, nil
}

package bridge

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

// This file is the way of a result to its caller: what the operator wants of it
// (SiteOptions.Results), and when it was told.

// neverListed is the Number of violations by tools whose outputSchema is in no list.
const neverListed = -1

// redacted returns what a page returned, and what was read of it, without what the operator's
// rules cover.
func (r *passage) redacted(data json.RawMessage, m mcpResult) (json.RawMessage, mcpResult, *Error) {
	rules := &r.site.options.Results
	if len(rules.Redact) == 0 {
		return data, m, nil
	}
	out, err := rules.JSON(data)
	if err != nil {
		return nil, m, Errorf(ToolError, ResultInvalid, Unknown,
			"The result of %q cannot be read, so that the operator's rules cannot be applied to it.", r.tool.name).With(err)
	}
	return out, readMCP(out), nil
}

// readMCP reads the members of a result that MCP knows, where it has some.
func readMCP(data json.RawMessage) (m mcpResult) {
	if !mayBeMCP(data) || json.Unmarshal(data, &m) != nil {
		return mcpResult{}
	}
	return m
}

// redactViolation does the same with what is said of a result.
func (r *passage) redactViolation(v *Violation) {
	rules := &r.site.options.Results
	v.Errors = slices.Clone(v.Errors)
	for i := range v.Errors {
		v.Errors[i].Pointer, v.Errors[i].Message = rules.Text(v.Errors[i].Pointer), rules.Text(v.Errors[i].Message)
	}
}

// fit cuts a result that is over the operator's budget, and encloses one that is not to be
// trusted. Both make it one text, so that nothing of it stands elsewhere. left counts the
// characters are left out.
func (r *passage) fit(data json.RawMessage) (out json.RawMessage, left int) {
	rules, marks := &r.site.options.Results, r.site.options.Results.Marks(r.tool.hints)
	if rules.Budget == 0 && !marks {
		return data, 0
	}
	all := readDelivery(data)
	text, left := rules.Cut(all.text)
	if left == 0 && !marks {
		return data, 0
	}
	text = rules.Enclose(text, left, nonce(marks))
	if !all.content {
		return schema.MustEncode(text), left
	}
	blocks := append([]json.RawMessage{schema.MustEncode(map[string]string{"type": "text", "text": text})}, all.media...)
	return schema.MustEncode(map[string]any{"content": blocks}), left
}

func nonce(wanted bool) string {
	if !wanted {
		return ""
	}
	return rand.Text()
}

// delivery is a result as a model reads it.
type delivery struct {
	text    string
	media   []json.RawMessage // pictures and sounds, which have no characters
	content bool              // the page returned content blocks
}

// blockKinds are the content blocks that MCP has.
var blockKinds = map[string]bool{"text": true, "image": true, "audio": true, "resource": true, "resource_link": true}

// readDelivery takes a result apart: the texts of its content blocks, then what it has
// besides, as JSON. Anything else than content blocks is one text: itself when it is a
// string, and its JSON otherwise.
func readDelivery(data json.RawMessage) delivery {
	var bare string
	data = bytes.TrimSpace(data)
	if data[0] == '"' && json.Unmarshal(data, &bare) == nil {
		return delivery{text: bare}
	}
	v, err := ReadValue("the result", data)
	content := v.Get("content")
	if err != nil || !content.IsArray() || content.Len() == 0 {
		return delivery{text: string(data)}
	}
	d, parts := delivery{content: true}, []string{}
	for b := range content.Elements() {
		kind := b.Get("type").String()
		switch m := medium(b); {
		case !blockKinds[kind]:
			return delivery{text: string(data)}
		case m != nil:
			d.media = append(d.media, m)
		case kind == "text" && b.Get("text").IsString():
			parts = append(parts, b.Get("text").String())
		default:
			parts = append(parts, string(b.Text()))
		}
	}
	if s := v.Get("structuredContent"); s.Exists() && !s.IsNull() && !slices.ContainsFunc(parts, func(p string) bool { return says(p, s) }) {
		parts = append(parts, string(s.Text()))
	}
	others, err := v.Edit(func(name string) bool { return name == "content" || name == "structuredContent" || name == "isError" })
	if err == nil && others.Len() > 0 {
		parts = append(parts, string(others.Text()))
	}
	d.text = strings.Join(parts, "\n")
	return d
}

// says reports whether a text is the JSON of a value.
func says(text string, v Value) bool {
	got, err := ReadValue("a text", json.RawMessage(text))
	return err == nil && got.Equal(v)
}

var mediaType = regexp.MustCompile(`^(image|audio)/[a-z0-9][a-z0-9.+-]{0,63}$`)

// medium is a picture or a sound with nothing else in its block; nil for other blocks.
func medium(b Value) json.RawMessage {
	kind, mime, data := b.Get("type").String(), b.Get("mimeType").String(), b.Get("data").String()
	m := mediaType.FindStringSubmatch(mime)
	if len(m) != 2 || m[1] != kind {
		return nil
	}
	if _, err := base64.StdEncoding.DecodeString(data); err != nil {
		return nil
	}
	return schema.MustEncode(map[string]string{"type": kind, "mimeType": mime, "data": data})
}

// fitError holds a page's error to what the operator wants of results, and its words to
// their bounds. Its cause is for the log, and stays.
func (r *passage) fitError(e *Error, words bool) *Error {
	rules := &r.site.options.Results
	clip := func(s string) string {
		if short := text.Bytes(s, r.bridge.pipe.limits.ErrorMessage); short != s {
			return short + "…"
		}
		return s
	}
	if !rules.Change(r.tool.hints) {
		if words {
			e.Message = clip(e.Message)
		}
		return e
	}
	told := *e
	told.Message, told.Details = rules.Text(e.Message), maps.Clone(e.Details)
	for key, v := range told.Details {
		if said, ok := v.(string); ok {
			told.Details[key] = rules.Text(said)
		}
	}
	if !words {
		return &told
	}
	kept, left := rules.Cut(told.Message)
	clipped := clip(kept)
	if clipped != kept { // less its own mark
		left += utf8.RuneCountInString(kept) - utf8.RuneCountInString(clipped) + 1
	}
	told.Message = rules.Enclose(clipped, left, nonce(rules.Marks(r.tool.hints)))
	return &told
}

// changedByRules returns how a result violates its outputSchema once the operator's rules were
// applied to it, or nil.
func (r *passage) changedByRules(data json.RawMessage) *Violation {
	broken := r.tool.violation(data, readMCP(data))
	if broken != nil {
		broken.Message = fmt.Sprintf("The operator's rules changed what %q returned: it does not fit its outputSchema any more.", r.tool.name)
		broken.Number = neverListed
	}
	return broken
}

// unlisted are the digests of tools whose outputSchema no list has: those that broke it, and
// those whose results the operator's rules may change.
func (s *siteState) unlisted(tools []*Tool) map[string]int64 {
	all := s.unkept.all()
	if rules := &s.options.Results; rules.Change(policy.Hints{Untrusted: policy.Yes}) {
		all = maps.Clone(all)
		if all == nil {
			all = map[string]int64{}
		}
		for _, t := range tools {
			if t.output != nil && rules.Change(t.hints) {
				all[t.digest] = neverListed
			}
		}
	}
	return all
}

// Deliver calls write, which writes the outcome of a call for its caller. When that
// succeeds, the call's token names nothing any more, unless the call is detached and its caller
// knows the token; a Resume that comes meanwhile waits until this is known. It returns what write
// returns.
func (r *Run) Deliver(write func() error) error {
	err := deliver(r, write)
	if err == nil {
		delivered(r)
	}
	return err
}

// deliver is Deliver for whoever has the outcome at once.
func deliver(r *Run, write func() error) error {
	r.mu.Lock()
	token, done := r.token, r.done
	if token == "" || !done || r.handed {
		r.mu.Unlock()
		return write()
	}
	r.delivering++
	lost := r.pass.call.Detached && (r.detached || r.asked == 0) // if this fails: nobody knows its token
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.delivering--
		r.changes.Signal()
	}()
	err := write()
	if err == nil || lost {
		r.pass.bridge.runs.drop(handle{by: byToken, name: token}, r)
	}
	return err
}

// undelivered waits until no reply with the outcome is being written, or ctx ends.
func (r *Run) undelivered(ctx context.Context) {
	for {
		r.mu.Lock()
		if r.delivering == 0 {
			r.mu.Unlock()
			return
		}
		changed := r.changes.Next()
		r.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

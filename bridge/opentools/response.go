package opentools

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

// read makes an answer the step of the call. wait says when the site wants to be asked again; 0 is
// not said.
func (o *outgoing) read(ctx context.Context, res *http.Response) (step bridge.Step, wait time.Duration) {
	defer func() { _ = res.Body.Close() }()
	media, params, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil {
		media = ""
	}
	if res.StatusCode >= 200 && res.StatusCode < 300 && isStream(media) {
		return o.collect(ctx, res, media, params), 0
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, int64(o.maxBytes)+1))
	switch {
	case err != nil:
		return o.failed(ctx, err, true).Step(), 0
	case len(body) > o.maxBytes:
		return bridge.TooLarge().Step(), 0
	case res.StatusCode < 200 || res.StatusCode >= 300:
		wait = retryAfter(res.Header, time.Now())
		return o.refusal(res, media, body, wait).Step(), wait
	case len(body) == 0:
		return bridge.Step{Data: schema.MustEncode(map[string]int{"status": res.StatusCode})}, 0
	}
	return bridge.Step{Data: dataOf(res, media, body)}, 0
}

// isJSON reports whether a media type is one of JSON (RFC 6839, 3.1).
func isJSON(media string) bool {
	return media == "application/json" || strings.HasSuffix(media, "+json")
}

// dataOf returns a body as the caller gets it: JSON as it is, text as a string, the rest as MCP
// content.
func dataOf(res *http.Response, media string, body []byte) json.RawMessage {
	encoded := func() string { return base64.StdEncoding.EncodeToString(body) }
	kind, _, _ := strings.Cut(media, "/")
	switch {
	case (isJSON(media) || media == "") && schema.Valid(body):
		return body
	case kind == "image" && media != "image/svg+xml", kind == "audio":
		return schema.MustEncode(map[string]any{"content": []any{
			map[string]string{"type": kind, "data": encoded(), "mimeType": media}}})
	case utf8.Valid(body) && (kind == "text" || media == "" || isJSON(media) || strings.HasSuffix(media, "xml")):
		return schema.MustEncode(string(body))
	}
	at := *res.Request.URL
	at.RawQuery, at.User = "", nil
	return schema.MustEncode(map[string]any{"content": []any{map[string]any{"type": "resource",
		"resource": map[string]string{"uri": at.String(), "blob": encoded(),
			"mimeType": cmp.Or(media, "application/octet-stream")}}}})
}

// refusal is the error of an answer that is none of success. One that another pagetools wrote is
// told as it was told there.
func (o *outgoing) refusal(res *http.Response, media string, body []byte, wait time.Duration) *bridge.Error {
	if e := asEnvelope(media, body); e != nil {
		e.Retry = wait
		return e
	}
	outcome, code, reason := bridge.Failed, bridge.ToolError, bridge.Reason("")
	switch status := res.StatusCode; {
	case status == http.StatusTooManyRequests:
		code, outcome = bridge.RateLimit, bridge.NotRun
	case status >= 500, status < 200, status < 400 && o.mayHaveRun(status):
		outcome = bridge.Unknown
	}
	if to, err := res.Location(); err == nil && res.StatusCode < 400 {
		if origin.SameURL(to, o.server) {
			return bridge.Errorf(code, reason, outcome, "%s sends the call on and on.", o.server.Host)
		}
		return bridge.Errorf(code, reason, outcome,
			"%s sends the call on to another origin, which is not followed.", o.server.Host)
	}
	text := fmt.Sprintf("%s answers %d %s", o.server.Host, res.StatusCode, http.StatusText(res.StatusCode))
	if said := words(media, body); said != "" {
		text += ": " + said
	}
	e := bridge.Errorf(code, reason, outcome, "%s", text).Detail("status", res.StatusCode).Detail("untrusted", true)
	e.Retry = wait
	return e
}

// mayHaveRun reports whether a redirect may be the answer to a call that ran: 307 and 308 ask for
// the same request elsewhere (RFC 9110, 15.4.8).
func (o *outgoing) mayHaveRun(status int) bool {
	return !isSafe(o.tool.Method) && status != http.StatusTemporaryRedirect && status != http.StatusPermanentRedirect
}

// maxWords bounds what is told of an answer, in bytes.
const maxWords = 2 << 10

// words returns an answer's description of its error: of JSON the usual members (RFC 9457 among
// them).
func words(media string, body []byte) string {
	content := string(body)
	if isJSON(media) {
		var said map[string]any
		if json.Unmarshal(body, &said) == nil {
			for _, name := range []string{"detail", "message", "error_description", "title", "error"} {
				if s, ok := said[name].(string); ok && s != "" {
					content = s
					break
				}
			}
		}
	} else if !strings.HasPrefix(media, "text/") || media == "text/html" {
		return ""
	}
	return text.Short(text.Line(strings.ToValidUTF8(content, "")), maxWords)
}

// asEnvelope reads an error of a webtool (contract, "Webtools"); nil is another format.
func asEnvelope(media string, body []byte) *bridge.Error {
	var said struct {
		Status string
		Error  struct {
			Code    bridge.Code
			Reason  bridge.Reason
			Outcome bridge.Outcome
			Message string
		}
	}
	if isJSON(media) {
		_ = json.Unmarshal(body, &said) // what is not of this format says nothing in it
	}
	e := said.Error
	known := said.Status == "error" && slices.Contains(bridge.Codes(), e.Code) && (e.Reason == "" || slices.Contains(bridge.Reasons(), e.Reason)) &&
		slices.Contains([]bridge.Outcome{bridge.NotRun, bridge.Failed, bridge.Unknown}, e.Outcome)
	if !known || e.Code == bridge.Unauthorized { // which would be about our own caller
		return nil
	}
	return bridge.Errorf(e.Code, e.Reason, e.Outcome, "%s", text.Brief(e.Message, maxWords)).Detail("untrusted", true)
}

// isStream reports whether an answer is many (B9).
func isStream(media string) bool {
	return slices.Contains([]string{"text/event-stream", "application/jsonl", "application/x-ndjson",
		"application/json-seq", "multipart/mixed"}, media)
}

// collect reads a stream to its end, into a list. It never waits for more than the call's time, nor
// for more than its result may have: what came until then is the result, with why it ends.
func (o *outgoing) collect(ctx context.Context, res *http.Response, media string, params map[string]string) bridge.Step {
	var all []json.RawMessage
	left := o.maxBytes - 100 // for what stands around
	add := func(item []byte) error {
		text := json.RawMessage(item)
		if !schema.Valid(item) {
			text = schema.MustEncode(strings.ToValidUTF8(string(item), ""))
		}
		if left -= len(text) + 1; left < 0 {
			return errFull
		}
		all = append(all, bytes.Clone(text))
		if o.progress != nil {
			o.progress(bridge.Progress{Parts: len(all), Last: all[len(all)-1]})
		}
		return nil
	}
	// One item may be as long as all: a longer one ends the stream.
	err := readStream(res.Body, media, params, o.maxBytes, add)
	list := schema.MustEncode(append([]json.RawMessage{}, all...))
	var cut string
	switch {
	case err == nil:
		return bridge.Step{Data: list}
	case errors.Is(err, errFull):
		cut = "there was more than the result may have"
	case ctx.Err() != nil && len(all) > 0:
		cut = "the call's time was over"
	case len(all) > 0:
		cut = "the connection broke off"
	default:
		return o.failed(ctx, err, true).Step()
	}
	return bridge.Step{Data: schema.MustEncode(map[string]any{"result": list, "cut": cut})}
}

var errFull = errors.New("there is more than there is room for")

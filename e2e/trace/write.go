package trace

import (
	"archive/zip"
	"bytes"
	"cmp"
	"crypto/sha1" //nolint:gosec // the format names files by it
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"image"
	_ "image/jpeg" // formats of pictures
	_ "image/png"
	"io"
	"maps"
	"net/url"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/e2e/har"
)

const version = 8

// What a trace holds at most, in bytes before they are compressed.
const (
	mostBytes   = 40 << 20
	mostPicture = 2 << 20
	mostSource  = 1 << 20
	mostText    = 64 << 10 // of an argument, a result or a message
	mostName    = 500      // of a title or an address
	mostActions = 2000
)

// The names of the one page and its one frame.
const (
	pageID  = "page@1"
	frameID = "frame@1"
)

type writer struct {
	t     *Trace
	left  int // bytes
	calls int
	// events and network are the lines of trace.trace and trace.network.
	events, network bytes.Buffer
	files           map[string][]byte
	shown           map[*Picture]place // their snapshots
}

// place names the snapshot of a picture, and the action that shows it. From version 9 on, viewers look
// for it by that.
type place struct{ name, call string }

// Write writes a trace as a zip archive. Errors come from out.
func Write(out io.Writer, t *Trace) error {
	w := &writer{t: t, left: mostBytes, files: map[string][]byte{}, shown: map[*Picture]place{}}
	w.event(contextOptions{
		Type: "context-options", Version: version, Origin: "library", BrowserName: "chromium",
		Platform: runtime.GOOS, WallTime: t.Began.UnixMilli(), MonotonicTime: w.time(t.Began),
		Title: name(t.Title), ContextID: "context@1", Options: struct{}{},
	})
	for _, file := range slices.Sorted(maps.Keys(t.Sources)) {
		w.file("src@"+sum([]byte(name(file)))+".txt", []byte(text.Cut(t.Sources[file], mostSource)))
	}
	for _, a := range t.Actions {
		w.action(a, "")
	}
	for i := range t.Messages {
		w.message(&t.Messages[i])
	}
	for i := range t.Requests {
		w.line(&w.network, resource{"resource-snapshot", w.entry(&t.Requests[i])})
	}
	w.pictures(t.Actions)
	for _, f := range t.Frames {
		w.frame(f)
	}
	return w.archive(out)
}

// archive writes the files. What is compressed already is stored.
func (w *writer) archive(out io.Writer) error {
	z := zip.NewWriter(out)
	w.files["trace.trace"], w.files["trace.network"] = w.events.Bytes(), w.network.Bytes()
	for _, file := range slices.Sorted(maps.Keys(w.files)) {
		method := zip.Deflate
		if strings.HasSuffix(file, ".jpeg") {
			method = zip.Store
		}
		part, err := z.CreateHeader(&zip.FileHeader{Name: file, Method: method})
		if err != nil {
			return err
		}
		if _, err := part.Write(w.files[file]); err != nil {
			return err
		}
	}
	return z.Close()
}

// line writes a line of JSON, and reports whether there was room for it.
func (w *writer) line(to *bytes.Buffer, event any) bool {
	text, err := json.Marshal(event)
	if err != nil || len(text) >= w.left { // our own structs are JSON
		return false
	}
	w.left -= len(text) + 1
	to.Write(text)
	to.WriteByte('\n')
	return true
}

func (w *writer) event(event any) bool { return w.line(&w.events, event) }

// file keeps a resource, and reports whether there was room for it.
func (w *writer) file(called string, data []byte) bool {
	called = "resources/" + called
	if _, there := w.files[called]; there {
		return true
	}
	if len(data) >= w.left {
		return false
	}
	w.left -= len(data)
	w.files[called] = data
	return true
}

// time is a moment in milliseconds. The viewer takes zero for unknown.
func (w *writer) time(at time.Time) float64 {
	return 1 + milliseconds(max(at.Sub(w.t.Began), 0))
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// action writes an action and those in it. What began earlier has the smaller number.
func (w *writer) action(a *Action, parent string) {
	if w.calls == mostActions {
		return
	}
	w.calls++
	id := "call@" + strconv.Itoa(w.calls)
	begins := before{
		Type: "before", CallID: id, StartTime: w.time(a.Began), Title: name(a.Title), Class: "Tool",
		Method: "step", Params: params(a.Params), StepID: id, PageID: pageID, ParentID: parent,
		BeforeSnapshot: w.snapshot(a.Before, id),
	}
	if a.File != "" {
		begins.Stack = []stackFrame{{File: name(a.File), Line: a.Line, Column: 1}}
	}
	if !w.event(begins) {
		return
	}
	for _, child := range a.Children {
		w.action(child, id)
	}
	for _, text := range a.Log {
		w.event(log{Type: "log", CallID: id, Time: w.time(a.Ended), Message: text1(text)})
	}
	ends := after{Type: "after", CallID: id, EndTime: w.time(a.Ended), Result: params(a.Result),
		AfterSnapshot: w.snapshot(a.After, id)}
	if a.Error != "" {
		ends.Error = &failure{Name: "Error", Message: text1(a.Error)}
	}
	w.event(ends)
}

func params(all []Param) map[string]string {
	m := map[string]string{}
	for _, p := range all {
		m[name(p.Name)] = text1(p.Text)
	}
	return m
}

// snapshot names the snapshot of a picture that an action shows; "" is none, and one that an action
// before it shows: viewers look there.
func (w *writer) snapshot(p *Picture, call string) string {
	if p == nil || len(p.Data) > mostPicture || w.shown[p].name != "" {
		return ""
	}
	w.shown[p] = place{fmt.Sprintf("picture@%d", len(w.shown)+1), call}
	return w.shown[p].name
}

// pictures writes the pictures of actions, in their order, as documents that show them: viewers of
// all versions show those.
func (w *writer) pictures(actions []*Action) {
	for _, a := range actions {
		w.picture(a.Before)
		w.pictures(a.Children)
		w.picture(a.After)
	}
}

func (w *writer) picture(p *Picture) {
	named := w.shown[p]
	if named.name == "" {
		return
	}
	delete(w.shown, p) // once
	size, format, err := image.DecodeConfig(bytes.NewReader(p.Data))
	if err != nil {
		return
	}
	shown := element("IMG", map[string]string{"alt": "the page", "style": "display: block; width: 100%",
		"src": "data:image/" + format + ";base64," + base64.StdEncoding.EncodeToString(p.Data)})
	w.event(frameSnapshot{Type: "frame-snapshot", Snapshot: snapshot{
		SnapshotName: named.name, CallID: named.call, PageID: pageID, FrameID: frameID,
		FrameURL: name(w.t.URL), Timestamp: w.time(p.At), Doctype: "html", IsMainFrame: true,
		Viewport: dimensions{size.Width, size.Height}, ResourceOverrides: []struct{}{},
		HTML: element("HTML", nil, element("BODY", map[string]string{"style": "margin: 0"}, shown)),
	}})
}

// element is a node of a document: its name, its attributes, and what is in it.
func element(tag string, attributes map[string]string, children ...any) []any {
	if attributes == nil {
		attributes = map[string]string{}
	}
	return append([]any{tag, attributes}, children...)
}

func (w *writer) frame(f Frame) {
	called := sum(f.JPEG) + ".jpeg"
	if len(f.JPEG) > mostPicture || !w.file(called, f.JPEG) {
		return
	}
	w.event(screencastFrame{Type: "screencast-frame", PageID: pageID, SHA1: called, Width: f.Width,
		Height: f.Height, Timestamp: w.time(f.At), FrameSwapWallTime: f.At.UnixMilli()})
}

func (w *writer) message(m *Message) {
	text := text1(m.Text)
	if !m.Uncaught {
		w.event(console{Type: "console", Time: w.time(m.At), PageID: pageID, MessageType: m.Level,
			Text: text, Location: location{URL: name(m.URL), LineNumber: m.Line}})
		return
	}
	at := text
	if m.URL != "" {
		at += fmt.Sprintf("\n    at %s:%d", name(m.URL), m.Line)
	}
	var thrown pageError
	thrown.Error.Error = failure{Name: "Error", Message: text, Stack: at}
	w.event(event{Type: "event", Time: w.time(m.At), Class: "BrowserContext", Method: "pageError",
		PageID: pageID, Params: thrown})
}

// entry is a request in the words of HTTP archives, and Playwright's own members.
func (w *writer) entry(r *Request) entry {
	e := r.Entry(name, text1)
	if e.Page = pageID; r.Status == 0 {
		e.Response.Status = -1
	}
	return entry{FrameRef: frameID, MonotonicTime: w.time(r.At), Entry: e}
}

// Entry returns the request in the words of HTTP archives, without headers that hold logins. Of its
// texts it has what short makes of them, and of the values of headers and parameters what long does.
func (r *Request) Entry(short, long func(string) string) har.Entry {
	protocol := short(r.Protocol)
	pairs := func(all []har.Pair) []har.Pair {
		for i := range all {
			all[i] = har.Pair{Name: short(all[i].Name), Value: long(all[i].Value)}
		}
		return all
	}
	return har.Entry{
		Time: milliseconds(r.Took), Timings: har.Timings{Wait: milliseconds(r.Took)},
		Started: r.At.UTC().Format("2006-01-02T15:04:05.000Z"),
		Request: har.Request{Method: short(r.Method), URL: short(address(r.URL)), HTTPVersion: protocol,
			Cookies: []har.Pair{}, Headers: pairs(har.Headers(r.RequestHeaders)),
			QueryString: pairs(har.Query(r.URL)), HeadersSize: -1, BodySize: -1},
		Response: har.Response{Status: r.Status, StatusText: short(r.StatusText), HTTPVersion: protocol,
			Cookies: []har.Pair{}, Headers: pairs(har.Headers(r.ResponseHeaders)), HeadersSize: -1,
			BodySize: int(r.Size), Failed: short(r.Failed),
			Content: har.Content{Size: r.Size, MimeType: short(cmp.Or(r.MIMEType, "x-unknown"))}},
	}
}

// address is one without who logs in by it.
func address(text string) string {
	if u, err := url.Parse(text); err == nil && u.User != nil {
		u.User = nil
		text = u.String()
	}
	return text
}

func sum(data []byte) string {
	s := sha1.Sum(data) //nolint:gosec // the format names files by it
	return hex.EncodeToString(s[:])
}

// name and text1 are texts of strangers as they are shown: visible, and cut.
func name(s string) string { return text.Cut(strings.ReplaceAll(text.Escape(s), "\n", " "), mostName) }

func text1(s string) string { return text.Cut(text.Escape(s), mostText) }

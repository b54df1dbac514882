package run

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/e2e/report"
	"github.com/pagetools/pagetools/e2e/scenario"
	"github.com/pagetools/pagetools/e2e/trace"
	"github.com/pagetools/pagetools/session"
)

// The values of Options.Trace.
const (
	TraceOn              = "on"
	TraceRetainOnFailure = "retain-on-failure"
)

// The film strip of a case at most. When there is more, every second picture goes, and from then on
// they come half as often.
const (
	filmPictures = 256
	filmBytes    = 12 << 20
	filmPace     = 100 * time.Millisecond
)

// tracePictureTime limits how long a picture for a trace may take: a page that hangs holds up no
// case.
const tracePictureTime = time.Second

// tracing collects the trace of one attempt. A nil one collects nothing.
type tracing struct {
	collecting sync.Mutex
	all        trace.Trace
	open       []openAction
	last       *trace.Picture // of the page, when the last step ended
	end        func()         // ends the film
	// ended is the action that ended last, and failed is true when one did not succeed.
	ended  *trace.Action
	failed bool
}

// openAction is one that runs now; the step is nil for what comes before the first.
type openAction struct {
	step   *scenario.Step
	action *trace.Action
}

// trace begins a trace, when the run is to have traces.
func (t *attempt) trace() *tracing {
	if t.o.Trace == "" {
		return nil
	}
	title := t.c.Name + " (" + string(t.door) + ")"
	return &tracing{end: func() {}, all: trace.Trace{Title: title, Began: time.Now(),
		Sources: map[string]string{t.on.file.Name: ""}}}
}

// begin begins an action for a step, within that of another step, if any.
func (r *tracing) begin(s, within *scenario.Step, title, file string, line int) {
	if r == nil {
		return
	}
	r.collecting.Lock()
	defer r.collecting.Unlock()
	a := &trace.Action{Title: title, Began: time.Now(), File: file, Line: line}
	if parent := r.of(within); within != nil && parent != nil {
		parent.Children = append(parent.Children, a)
	} else {
		a.Before = r.last
		r.all.Actions = append(r.all.Actions, a)
	}
	r.open = append(r.open, openAction{s, a})
}

// of is the action of a step that runs, or nil. Called with r.collecting held.
func (r *tracing) of(s *scenario.Step) *trace.Action {
	for _, o := range r.open {
		if o.step == s {
			return o.action
		}
	}
	return nil
}

func (r *tracing) add(s *scenario.Step, change func(*trace.Action)) {
	if r == nil {
		return
	}
	r.collecting.Lock()
	defer r.collecting.Unlock()
	if a := r.of(s); a != nil {
		change(a)
	}
}

func (r *tracing) over(s *scenario.Step, f *report.Failure) {
	if r == nil {
		return
	}
	r.add(s, func(a *trace.Action) {
		a.Ended = time.Now()
		if f != nil {
			r.failed, a.Error = true, f.Message
			for _, part := range [][2]string{{"differs at", f.Path}, {"expected", f.Expected},
				{"actual", f.Actual}} {
				if part[1] != "" {
					a.Log = append(a.Log, part[0]+": "+part[1])
				}
			}
		}
	})
	r.collecting.Lock()
	defer r.collecting.Unlock()
	r.ended = r.of(s)
	r.open = slices.DeleteFunc(r.open, func(o openAction) bool { return o.step == s })
}

// called notes the arguments of a call and what came of it.
func (r *tracing) called(s *scenario.Step, with json.RawMessage, got *result, err error) {
	r.add(s, func(a *trace.Action) {
		a.Params = []trace.Param{{Name: "tool", Text: s.Call}, {Name: "arguments", Text: string(with)}}
		name := "result"
		if got.err != nil {
			name = "error"
		}
		if err == nil {
			a.Result = []trace.Param{{Name: name, Text: string(got.text())}}
		}
	})
}

// asked notes a question and its answer below the call that asks, which is the newest of the tool.
func (r *tracing) asked(q *bridge.Question, a *scenario.Answer, began time.Time) {
	if r == nil {
		return
	}
	one := &trace.Action{Title: string(q.Kind) + ": " + cmp.Or(q.Detail, q.Title), Began: began,
		Ended: time.Now(), Params: []trace.Param{{Name: "kind", Text: string(q.Kind)},
			{Name: "tool", Text: q.Tool}, {Name: "title", Text: q.Title}, {Name: "detail", Text: q.Detail}},
		Result: []trace.Param{{Name: "answer", Text: string(a.Act)}}}
	if value, err := a.Value.JSON(); a.Value.Exists() && err == nil {
		one.Result = append(one.Result, trace.Param{Name: "value", Text: string(value)})
	}
	r.collecting.Lock()
	defer r.collecting.Unlock()
	var parent *trace.Action
	for _, o := range r.open {
		if parent == nil || o.step != nil && o.step.Call == q.Tool {
			parent = o.action
		}
	}
	if parent == nil {
		r.all.Actions = append(r.all.Actions, one)
		return
	}
	parent.Children = append(parent.Children, one)
}

// watch begins the film strip. A page that cannot be watched has none.
func (t *attempt) watch(ctx context.Context) {
	r := t.tracing
	if r == nil {
		return
	}
	bounded, cancel := context.WithTimeout(ctx, tracePictureTime)
	defer cancel()
	view, err := t.probe.View(bounded)
	if err != nil {
		return
	}
	done := make(chan struct{})
	r.end = func() {
		view.Close()
		<-done
	}
	go func() {
		defer close(done)
		pace, size := filmPace, 0
		var last time.Time
		for f := range view.Frames() {
			now := time.Now()
			if now.Sub(last) < pace {
				continue
			}
			last = now
			r.collecting.Lock()
			size += len(f.JPEG)
			r.all.Frames = append(r.all.Frames, trace.Frame{At: now, JPEG: f.JPEG, Width: int(f.Width),
				Height: int(f.Height)})
			if len(r.all.Frames) > filmPictures || size > filmBytes {
				r.all.Frames, size = everySecond(r.all.Frames)
				pace *= 2
			}
			r.collecting.Unlock()
		}
	}()
}

// everySecond leaves out every second picture, and returns the bytes of the others.
func everySecond(all []trace.Frame) (kept []trace.Frame, size int) {
	for i := 0; i < len(all); i += 2 {
		kept = append(kept, all[i])
		size += len(all[i].JPEG)
	}
	return kept, size
}

// shows keeps what the page shows after the step that ended last.
func (t *attempt) shows(ctx context.Context) {
	r := t.tracing
	if r == nil || t.probe == nil {
		return
	}
	png := t.picture(ctx, tracePictureTime)
	if png == nil {
		return
	}
	r.collecting.Lock()
	defer r.collecting.Unlock()
	r.last = &trace.Picture{At: time.Now(), Data: png}
	r.ended.After = r.last
}

// traced ends the tracing, writes it if it is to be kept, and names the file in the case.
func (t *attempt) traced(ctx context.Context, c *report.Case) {
	r := t.tracing
	if r == nil {
		return
	}
	r.end()
	folder := filepath.Join(t.o.TraceDir, traceName(t.on.file.Name, t.c.Name, string(t.door))+t.suffix)
	name := filepath.Join(folder, "trace.zip")
	if t.o.Trace == TraceRetainOnFailure && c.Status != report.Failed {
		_ = os.Remove(name) // of an earlier run, which failed; the folder stays when more is in it
		_ = os.Remove(folder)
		return
	}
	if f := c.Failure; f != nil && !r.failed { // by what is compared after the last step
		now := time.Now()
		r.all.Actions = append(r.all.Actions, &trace.Action{Title: cmp.Or(f.Step, "the end"), Began: now,
			Ended: now, Error: f.Message, File: t.on.file.Name, Line: f.Line, Before: r.last})
	}
	if t.probe != nil {
		bounded, cancel := context.WithTimeout(ctx, pictureTime)
		r.tell(t.probe.Traced(bounded))
		cancel()
	}
	r.all.URL, _, _ = t.on.app.Manager.Page(t.on.site)
	if text, err := os.ReadFile(t.on.file.Name); err == nil {
		r.all.Sources[t.on.file.Name] = string(text)
	}
	if err := r.write(folder, name, t.secrets.concealer()); err != nil {
		t.on.runner.note("the trace of %s was not written: %s.", t.c.Name, err.Error())
		return
	}
	c.Trace = filepath.ToSlash(name)
}

func (r *tracing) tell(seen *session.Traced) {
	r.collecting.Lock()
	defer r.collecting.Unlock()
	for _, m := range seen.Messages {
		r.all.Messages = append(r.all.Messages, trace.Message{At: m.At, Level: m.Level, Text: m.Text,
			Uncaught: m.Kind == "exception", URL: m.URL, Line: m.Line})
	}
	for i := range seen.Requests {
		x := &seen.Requests[i]
		r.all.Requests = append(r.all.Requests, trace.Request{At: x.At, Took: x.Took, Method: x.Method,
			URL: x.URL, Status: x.Status, StatusText: x.StatusText, Failed: x.Failed,
			Protocol: x.Protocol, MIMEType: x.MIMEType, Size: x.Size,
			RequestHeaders: x.Headers, ResponseHeaders: x.Answered})
	}
}

func (r *tracing) write(folder, name string, secrets *schema.Concealer) error {
	r.collecting.Lock()
	defer r.collecting.Unlock()
	var b bytes.Buffer
	r.all.Mask(secrets.In)
	if err := trace.Write(&b, &r.all); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil { // as recordings, it has what the page sends
		return err
	}
	return os.WriteFile(name, b.Bytes(), 0o600)
}

// traceName names the folder of a trace. What people read of it is followed by a sum of the whole,
// so that two cases never share one.
func traceName(parts ...string) string {
	whole := strings.Join(parts, "\x00")
	sum := sha256.Sum256([]byte(whole))
	const most = 60
	var b strings.Builder
	for _, c := range filepath.ToSlash(whole) {
		switch {
		case b.Len() >= most:
		case c < unicode.MaxASCII && (unicode.IsLetter(c) || unicode.IsDigit(c)):
			b.WriteRune(unicode.ToLower(c))
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	readable := cmp.Or(strings.TrimSuffix(b.String(), "-"), "case")
	return fmt.Sprintf("%s-%s", readable, hex.EncodeToString(sum[:4]))
}

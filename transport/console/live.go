package console

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport"
)

// LiveProtocol is the WebSocket subprotocol of a live view.
const LiveProtocol = "pagetools.live.v1"

// The bounds of a live view's connection.
const (
	maxMessage  = 32 << 10 // of the viewer
	writeTime   = 10 * time.Second
	pingEvery   = 15 * time.Second
	pongTime    = 2 * pingEvery
	maxRefusals = 16 // that wait to be sent
)

// upgrader leaves origins to the guards in front of it.
var upgrader = websocket.Upgrader{Subprotocols: []string{LiveProtocol}, HandshakeTimeout: writeTime,
	CheckOrigin: func(*http.Request) bool { return true }, Error: refuseUpgrade}

// refuseUpgrade answers a request that is not a handshake.
func refuseUpgrade(w http.ResponseWriter, r *http.Request, _ int, reason error) {
	transport.WriteError(w, r, bridge.Errorf(bridge.SchemaError, "", bridge.NotRun,
		"A live view is a WebSocket with the subprotocol %s.", LiveProtocol).With(reason))
}

// order is a message of the viewer: one of its members.
type order struct {
	Pen   *bool         `json:"pen"`
	Input *bridge.Input `json:"input"`
	Copy  *bool         `json:"copy"`
}

type told struct {
	Type string `json:"type"` // state, size, text or error
	*state
	*size
	Text  *string              `json:"text,omitempty"`
	Error *transport.ErrorBody `json:"error,omitempty"`
}

type state struct {
	Question *bridge.Question `json:"question"` // null while the call runs
	Pen      string           `json:"pen"`      // name of its holder; empty is nobody
	Mine     bool             `json:"mine"`
	Over     bool             `json:"over"`
}

// size is the size of the following frames, in CSS pixels.
type size struct {
	Width  float64 `json:"width"`
	Height float64 `json:"height"`
}

// watched is a page that a person sees, with the call that they may act for.
type watched interface {
	Frames() <-chan bridge.Frame
	Watch(ctx context.Context) <-chan bridge.Event
	Mine() bool
	Take() bool
	Drop()
	Act(ctx context.Context, in bridge.Input) error
	Text(ctx context.Context) (string, error)
	Close()
}

var _, _ watched = (*bridge.Live)(nil), (*bridge.LiveSession)(nil)

// live shows the page that asks, and lets a person act in it.
func (f *Face) live(w http.ResponseWriter, r *http.Request, c bridge.Caller) {
	view, err := f.b.Live(r.Context(), c, r.PathValue("id"))
	if err != nil {
		transport.WriteError(w, r, bridge.AsError(err))
		return
	}
	watchPage(f, w, r, c, view, "question")
}

// liveCall shows the page of a call that waits for a person.
func liveCall(f *Face) func(http.ResponseWriter, *http.Request, runJSON) {
	return func(w http.ResponseWriter, r *http.Request, call runJSON) {
		if call.Question == "" {
			transport.WriteError(w, r, bridge.Errorf(bridge.Conflict, "", bridge.NotRun, "The page of a call is shown while it waits for a person, and that of a session always."))
			return
		}
		r.SetPathValue("id", call.Question)
		f.live(w, r, transport.CallerOf(r.Context()))
	}
}

// liveSession shows the page of a session.
func (f sessionsFace) liveSession(w http.ResponseWriter, r *http.Request, c bridge.Caller) {
	view, err := bridge.ViewSession(r.Context(), f.b, c, r.PathValue("id"))
	if err != nil {
		transport.WriteError(w, r, bridge.AsError(err))
		return
	}
	watchPage(f.Face, w, r, c, view, "session")
}

// watchPage shows a page until its view ends. of says whose it is, for the log.
func watchPage(f *Face, w http.ResponseWriter, r *http.Request, c bridge.Caller, view watched, of string) {
	id := r.PathValue("id")
	defer view.Close()
	conn, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return // it was answered
	}
	f.log.InfoContext(r.Context(), "live: begins", of, id, "by", c.Name)
	defer f.log.InfoContext(r.Context(), "live: ends", of, id, "by", c.Name)
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context())) // the server does not watch a connection that was taken over
	v := &viewer{face: f, conn: conn, view: view, revoked: c.Revoked,
		refusals: make(chan *bridge.Error, maxRefusals), texts: make(chan string, 1), cancel: cancel}
	var reader sync.WaitGroup
	reader.Go(func() { v.read(ctx) })
	v.write(ctx)
	cancel()
	_ = conn.Close()
	reader.Wait()
}

// viewer is the connection of one live view. One goroutine reads it, one writes.
type viewer struct {
	face     *Face
	conn     *websocket.Conn
	view     watched
	revoked  <-chan struct{}    // closed when the viewer's credential is revoked
	refusals chan *bridge.Error // for the viewer to know; one that is slow misses some
	texts    chan string        // that the viewer asked for; one that is slow misses some
	cancel   context.CancelFunc
	shown    size
}

// read carries out the orders of the viewer, until the connection ends.
func (v *viewer) read(ctx context.Context) {
	defer v.cancel()
	v.conn.SetReadLimit(maxMessage)
	alive := func() error { return v.conn.SetReadDeadline(time.Now().Add(pongTime)) }
	v.conn.SetPongHandler(func(string) error { return alive() })
	for {
		if alive() != nil {
			return
		}
		kind, text, err := v.conn.ReadMessage()
		if err != nil {
			return
		}
		o, e := readOrder(kind, text)
		switch {
		case e != nil:
		case o.Copy != nil:
			e = v.copies(ctx)
		case o.Pen == nil:
			e = asError(v.view.Act(ctx, *o.Input))
		case *o.Pen && !v.view.Take():
			e = bridge.Errorf(bridge.Conflict, "", bridge.NotRun, "Somebody else holds the pen.")
		case !*o.Pen:
			v.view.Drop()
		}
		if e != nil {
			select {
			case v.refusals <- e:
			default:
			}
		}
	}
}

// copies reads the text of the page for the viewer.
func (v *viewer) copies(ctx context.Context) *bridge.Error {
	said, err := v.view.Text(ctx)
	if err != nil {
		return bridge.AsError(err)
	}
	select {
	case v.texts <- said:
	default:
	}
	return nil
}

func asError(err error) *bridge.Error {
	if err == nil {
		return nil
	}
	return bridge.AsError(err)
}

// readOrder reads {"pen":bool}, {"input":{…}} or {"copy":true} and nothing else.
func readOrder(kind int, text []byte) (order, *bridge.Error) {
	var o order
	message, err := bridge.ReadValue("The message", text)
	if err != nil {
		return o, bridge.AsError(err)
	}
	if kind == websocket.TextMessage && message.Len() == 1 {
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		if err = d.Decode(&o); err == nil && (o.Pen != nil || o.Input != nil || o.Copy != nil && *o.Copy) {
			return o, nil
		}
	}
	return o, bridge.Errorf(bridge.SchemaError, "", bridge.NotRun,
		`A message is {"pen":true|false}, {"input":{…}} or {"copy":true}.`).With(err)
}

// write sends frames and states to the viewer, until the call or the connection ends.
func (v *viewer) write(ctx context.Context) {
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	events := v.view.Watch(ctx)
	over, ok := v.tellState(<-events)
	for ok && !over {
		select {
		case frame, more := <-v.view.Frames():
			if !more {
				v.end(ctx, events)
				return
			}
			ok = v.show(frame)
		case ev := <-events:
			over, ok = v.tellState(ev)
		case said := <-v.texts:
			ok = v.tell(told{Type: "text", Text: &said})
		case e := <-v.refusals:
			body := transport.NewErrorBody(e)
			ok = v.tell(told{Type: "error", Error: &body})
		case <-ping.C:
			ok = v.conn.WriteControl(websocket.PingMessage, nil, time.Now().Add(writeTime)) == nil
		case <-v.face.done:
			v.goodbye(websocket.CloseGoingAway, "pagetools is shutting down")
			return
		case <-v.revoked:
			v.goodbye(websocket.ClosePolicyViolation, "this credential was revoked")
			return
		case <-ctx.Done():
			return
		}
	}
	if ok {
		v.goodbye(websocket.CloseNormalClosure, v.overWords())
	}
}

// tellState sends the state of the call to the viewer, and reports whether it is over.
func (v *viewer) tellState(ev bridge.Event) (over, ok bool) {
	if len(ev.Runs) == 0 {
		return false, false // the connection ended
	}
	run := ev.Runs[0]
	now := state{Pen: run.Pen, Mine: v.view.Mine(), Over: run.Over}
	if run.Question != nil {
		now.Question = &run.Question.Question
	}
	return run.Over, v.tell(told{Type: "state", state: &now})
}

// end waits for the call, whose page shows nothing any more, to say that it is
// over, and closes the connection.
func (v *viewer) end(ctx context.Context, events <-chan bridge.Event) {
	bounded, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	for {
		select {
		case ev, more := <-events:
			if !more {
				return
			}
			if !ev.Runs[0].Over {
				continue
			}
			v.tellState(ev)
			v.goodbye(websocket.CloseNormalClosure, v.overWords())
			return
		case <-bounded.Done():
			v.goodbye(websocket.CloseNormalClosure, "the page is gone")
			return
		case <-v.face.done:
			v.goodbye(websocket.CloseGoingAway, "pagetools is shutting down")
			return
		}
	}
}

// overWords says why nothing is shown any more.
func (v *viewer) overWords() string {
	if _, session := v.view.(*bridge.LiveSession); session {
		return "the session is over"
	}
	return "the call is over"
}

func (v *viewer) goodbye(code int, why string) {
	_ = v.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, why),
		time.Now().Add(writeTime))
}

// show sends a frame, after its size when that is new.
func (v *viewer) show(f bridge.Frame) bool {
	if now := (size{f.Width, f.Height}); now != v.shown {
		v.shown = now
		if !v.tell(told{Type: "size", size: &now}) {
			return false
		}
	}
	return v.send(websocket.BinaryMessage, f.JPEG)
}

func (v *viewer) tell(what told) bool {
	text, err := json.Marshal(what)
	return err == nil && v.send(websocket.TextMessage, text)
}

func (v *viewer) send(kind int, data []byte) bool {
	return v.conn.SetWriteDeadline(time.Now().Add(writeTime)) == nil &&
		v.conn.WriteMessage(kind, data) == nil
}

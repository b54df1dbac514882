package console

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport"
)

// heartbeat is how often a stream without news shows that it lives.
const heartbeat = 15 * time.Second

// Options configures a Face.
type Options struct {
	// Done ends streams when it is closed; nil means never.
	Done <-chan struct{}
	// Peers finds the operators' sockets of the user's other processes, by a name that
	// each keeps; nil means that there are none. Their questions are listed, and answered, as
	// our own.
	Peers func() map[string]http.RoundTripper
	// Named takes the name of the operator from OperatorHeader: where only processes of
	// the user get through.
	Named bool
	// Links make addresses of the page that log in once; nil makes none.
	Links *Links
	// Log gets a line for each answer, with the name of its giver; nil is silent.
	Log *slog.Logger
}

// Face serves the operator's API of a bridge. It holds no state.
type Face struct {
	b     *bridge.Bridge
	done  <-chan struct{}
	peers func() map[string]http.RoundTripper
	named bool
	links *Links
	log   *slog.Logger
}

// New makes the face of a bridge.
func New(b *bridge.Bridge, o Options) *Face {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Links == nil {
		o.Links = &Links{}
	}
	return &Face{b: b, done: o.Done, peers: o.Peers, named: o.Named, links: o.Links, log: o.Log}
}

// Routes are the paths of the API and of its page.
func (f *Face) Routes() []transport.Route {
	return append(pageRoutes(), []transport.Route{
		{Pattern: "/api/questions", Methods: map[string]http.HandlerFunc{http.MethodGet: f.list}},
		{Pattern: "/api/questions/{id}", Methods: map[string]http.HandlerFunc{
			http.MethodGet: f.elsewhere(f.question), http.MethodPost: f.elsewhere(f.answer)}},
		{Pattern: "/api/questions/{id}/picture",
			Methods: map[string]http.HandlerFunc{http.MethodGet: f.elsewhere(f.picture)}},
		{Pattern: "/api/questions/{id}/live",
			Methods: map[string]http.HandlerFunc{http.MethodGet: f.elsewhere(f.live)}},
		{Pattern: "/api/events", Methods: map[string]http.HandlerFunc{http.MethodGet: f.events}},
		{Pattern: "/api/console", Methods: map[string]http.HandlerFunc{http.MethodGet: f.page}},
		{Pattern: "/api/links", Methods: map[string]http.HandlerFunc{http.MethodPost: f.link}},
		{Pattern: "/api/login", Methods: map[string]http.HandlerFunc{http.MethodPost: f.login}},
	}...)
}

// Questions is what the API says of the calls that wait.
type Questions struct {
	Questions []bridge.OpenQuestion `json:"questions"`
}

// operator returns the caller, when it may see and answer questions.
func (f *Face) operator(w http.ResponseWriter, r *http.Request) (bridge.Caller, bool) {
	c := transport.CallerOf(r.Context())
	if c.Can(bridge.MayAnswer) {
		return f.operatorName(r, c), true
	}
	transport.WriteError(w, r, bridge.Errorf(bridge.Forbidden, "", bridge.NotRun,
		"This credential may not answer questions."))
	return c, false
}

func (f *Face) list(w http.ResponseWriter, r *http.Request) {
	c, ok := f.operator(w, r)
	if !ok {
		return
	}
	list := f.open(r.Context(), c)
	if f.mayLookElsewhere(c) {
		list = append(list, Ask(r.Context(), f.peers())...)
		slices.SortFunc(list, func(a, b bridge.OpenQuestion) int { return a.Since.Compare(b.Since) })
	}
	w.Header().Set("Cache-Control", "no-store")
	transport.WriteJSON(w, r, http.StatusOK, Questions{list})
}

// open lists what this process asks.
func (f *Face) open(ctx context.Context, c bridge.Caller) []bridge.OpenQuestion {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var inbox bridge.Inbox
	inbox.Take(<-f.b.Watch(ctx, bridge.Interest{Caller: c, Runs: true})) // the snapshot
	return inbox.Questions()
}

func (f *Face) answer(w http.ResponseWriter, r *http.Request) {
	c, ok := f.operator(w, r)
	if !ok {
		return
	}
	a, err := readAnswer(r)
	if err == nil {
		err = f.b.Answer(c, r.PathValue("id"), a)
	}
	if err != nil {
		transport.WriteError(w, r, bridge.AsError(err))
		return
	}
	f.log.InfoContext(r.Context(), "question: answered", "question", r.PathValue("id"), "by",
		c.Name, "ok", a.OK)
	transport.WriteJSON(w, r, http.StatusOK, map[string]string{"status": "ok"})
}

// picture shows the page that asks.
func (f *Face) picture(w http.ResponseWriter, r *http.Request) {
	c, ok := f.operator(w, r)
	if !ok {
		return
	}
	png, err := f.b.Screenshot(r.Context(), c, r.PathValue("id"))
	if err != nil {
		transport.WriteError(w, r, bridge.AsError(err))
		return
	}
	h := w.Header()
	h.Set("Content-Type", "image/png")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(png)))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(png)
	}
}

// readAnswer reads {"ok","value"?,"always"?} and nothing else.
func readAnswer(r *http.Request) (bridge.Answer, error) {
	body, err := transport.ReadBody(r)
	if err != nil {
		return bridge.Answer{}, err
	}
	answer, err := bridge.ReadValue("The body", body)
	if err != nil {
		return bridge.Answer{}, err
	}
	var a bridge.Answer
	said := false
	for name, value := range answer.Members() {
		var into any
		switch name {
		case "ok":
			into, said = &a.OK, true
		case "always":
			into = &a.Always
		case "value":
			a.Value = value.Text()
			continue
		default:
			return a, malformed("An answer has ok, and perhaps value and always.")
		}
		if value.IsNull() || json.Unmarshal(value.Text(), into) != nil {
			return a, malformed(name + " must be true or false.")
		}
	}
	if !said {
		return a, malformed("ok is missing: true or false.")
	}
	return a, nil
}

func malformed(message string) error {
	return bridge.Errorf(bridge.SchemaError, "", bridge.NotRun, "%s", message)
}

// events streams what opens and closes. A slow reader misses questions that were open for
// a short time.
func (f *Face) events(w http.ResponseWriter, r *http.Request) {
	c, ok := f.operator(w, r)
	if !ok {
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
	control := http.NewResponseController(w)
	write := func(format string, args ...any) bool {
		_, err := fmt.Fprintf(w, format, args...)
		return err == nil && control.Flush() == nil
	}
	ctx, cancel := context.WithCancel(r.Context())
	changes := f.follow(ctx, c)
	defer func() { // also of what is on its way
		cancel()
		for range changes {
		}
	}()
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for ok := !c.IsRevoked(); ok; {
		select {
		case ch, more := <-changes:
			if !more {
				return // the request ended
			}
			ok = write("event: %s\ndata: %s\n\n", ch.event, ch.data)
		case <-beat.C:
			ok = write(": still here\n\n")
		case <-c.Revoked:
			return
		case <-f.done:
			return
		}
	}
}

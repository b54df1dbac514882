package calls

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/transport"
)

// maxWaiting bounds the requests of one caller that wait for calls at once.
const maxWaiting = 32

// Options configures a Face.
type Options struct {
	// Forms are the forms of replies, by Call.Form. The one of "" is for calls whose form is not
	// among them.
	Forms map[string]transport.Form
	// Done ends what waits, when the process stops; nil is never.
	Done <-chan struct{}
}

// Face serves the calls of a bridge.
type Face struct {
	b *bridge.Bridge
	o Options

	mu      sync.Mutex
	waiting map[string]int // requests, by caller
}

// New makes the face of a bridge.
func New(b *bridge.Bridge, o Options) *Face {
	return &Face{b: b, o: o, waiting: map[string]int{}}
}

// Routes are the paths below /calls. There is no list of calls.
func (f *Face) Routes() []transport.Route {
	return []transport.Route{
		{Pattern: "/calls/{id}", Methods: map[string]http.HandlerFunc{http.MethodGet: f.get, http.MethodDelete: f.cancel}},
		{Pattern: "/calls/{id}/answer", Methods: map[string]http.HandlerFunc{http.MethodPost: f.answer}},
	}
}

// find returns the call of the path. It is false after it has answered.
func (f *Face) find(w http.ResponseWriter, r *http.Request) (*bridge.LongCall, bool) {
	c, err := f.b.LongCall(transport.CallerOf(r.Context()), r.PathValue("id"))
	if err != nil {
		transport.WriteError(w, r, bridge.AsError(err))
	}
	return c, err == nil
}

// call is the public form of a call, with its reply.
func (f *Face) call(r *http.Request, s *bridge.State) transport.LongCall {
	c := transport.NewLongCall(s)
	if s.Status != bridge.Completed {
		return c
	}
	form := f.o.Forms[s.Form]
	if form == nil {
		form = f.o.Forms[""]
	}
	c.HTTPStatus, c.Reply = form(r, s.End)
	return c
}

// reply is a call that was found.
type reply struct {
	Status string             `json:"status"`
	Call   transport.LongCall `json:"call"`
}

// get says how far the call is: now, when it has changed, or at each change.
func (f *Face) get(w http.ResponseWriter, r *http.Request) {
	c, ok := f.find(w, r)
	if !ok {
		return
	}
	wait, e := waitOf(r)
	if e != nil {
		transport.WriteError(w, r, e)
		return
	}
	if streams(r) {
		f.stream(w, r, c)
		return
	}
	s, _ := c.State()
	if wait > 0 && !news(r, &s) {
		if !f.enter(w, r) {
			return
		}
		s = f.await(r, c, wait)
		f.leave(r)
	}
	if r.Context().Err() != nil {
		transport.Abandon(r, bridge.GaveUp(bridge.NotRun))
	}
	if transport.CallerOf(r.Context()).IsRevoked() {
		transport.WriteError(w, r, bridge.Revoked())
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("ETag", tag(&s))
	if transport.MatchesETag(r.Header["If-None-Match"], tag(&s)) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	transport.WriteJSON(w, r, http.StatusOK, reply{"ok", f.call(r, &s)})
}

// tag is the ETag of a state.
func tag(s *bridge.State) string { return `"` + strconv.FormatInt(s.Version, 10) + `"` }

// news reports whether a request that waits has waited enough: for another state than the one that
// it names or, where it names none, until somebody has to do something.
func news(r *http.Request, s *bridge.State) bool {
	known := r.Header["If-None-Match"]
	return s.IsOver() || len(known) > 0 && !transport.MatchesETag(known, tag(s)) ||
		len(known) == 0 && s.Status != bridge.Working
}

// await returns the state of the call when there are news, or after wait.
func (f *Face) await(r *http.Request, c *bridge.LongCall, wait time.Duration) bridge.State {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		s, changed := c.State()
		if news(r, &s) {
			return s
		}
		select {
		case <-changed:
		case <-timer.C:
			return s
		case <-r.Context().Done():
			return s
		case <-transport.CallerOf(r.Context()).Revoked:
			return s
		case <-f.o.Done:
			return s
		}
	}
}

// waitOf reads ?wait=S.
func waitOf(r *http.Request) (time.Duration, *bridge.Error) {
	given, there := r.URL.Query()["wait"]
	if !there {
		return 0, nil
	}
	n, err := strconv.ParseUint(given[0], 10, 32)
	if err != nil || n > transport.MaxWait || len(given) > 1 {
		return 0, transport.Malformed(fmt.Sprintf("invalid value %q for wait: must be whole seconds from 0 to %d",
			text.Brief(strings.Join(given, ","), 64), transport.MaxWait))
	}
	return time.Duration(n) * time.Second, nil
}

// enter counts a request that waits. It is false after it has refused one too many.
func (f *Face) enter(w http.ResponseWriter, r *http.Request) bool {
	name := transport.CallerOf(r.Context()).Name
	f.mu.Lock()
	full := f.waiting[name] >= maxWaiting
	if !full {
		f.waiting[name]++
	}
	f.mu.Unlock()
	if full {
		e := bridge.Errorf(bridge.RateLimit, "", bridge.NotRun, "%d requests of yours wait for calls, which is the most. "+
			"Let one of them end, or ask without waiting.", maxWaiting)
		e.Retry = time.Second
		transport.WriteError(w, r, e)
	}
	return !full
}

func (f *Face) leave(r *http.Request) {
	name := transport.CallerOf(r.Context()).Name
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.waiting[name]--; f.waiting[name] == 0 {
		delete(f.waiting, name)
	}
}

// cancel ends a call that goes on, and forgets one that is over.
func (f *Face) cancel(w http.ResponseWriter, r *http.Request) {
	c, ok := f.find(w, r)
	if !ok {
		return
	}
	if !c.Cancel(transport.CallerOf(r.Context())) {
		c.Forget()
		w.WriteHeader(http.StatusNoContent)
		return
	}
	s, _ := c.State()
	transport.WriteAccepted(w, r, f.call(r, &s))
}

// answer takes an answer of the call's own caller.
func (f *Face) answer(w http.ResponseWriter, r *http.Request) {
	body, err := transport.ReadBody(r)
	if err != nil {
		transport.WriteError(w, r, bridge.AsError(err))
		return
	}
	question, answer, e := decode(body)
	if e != nil {
		transport.WriteError(w, r, e)
		return
	}
	c, ok := f.find(w, r)
	if !ok {
		return
	}
	if err := c.Answer(transport.CallerOf(r.Context()), question, answer); err != nil {
		transport.WriteError(w, r, bridge.AsError(err))
		return
	}
	s, _ := c.State()
	w.Header().Set("Cache-Control", "no-store")
	transport.WriteJSON(w, r, http.StatusOK, reply{"ok", f.call(r, &s)})
}

// decode reads {"question","ok","value"?,"always"?}.
func decode(body []byte) (question string, a bridge.Answer, e *bridge.Error) {
	v, err := bridge.ReadValue("The body", body)
	if err != nil {
		return "", a, bridge.AsError(err)
	}
	known := []string{"question", "ok", "value", "always"}
	if v.IsObject() {
		for name := range v.Members() {
			if !slices.Contains(known, name) {
				return "", a, transport.Malformed(fmt.Sprintf("The body has %q, which means nothing here: send question, the id of the "+
					"open question, ok, and perhaps value and always.", text.Brief(name, 64)))
			}
		}
	}
	var given struct {
		Question *string `json:"question"`
		OK       *bool   `json:"ok"`
		bridge.Answer
	}
	if json.Unmarshal(v.Text(), &given) != nil || given.Question == nil || given.OK == nil {
		return "", a, transport.Malformed(`The body must be an object such as {"question":"ID","ok":true}: ID is the id of the open question.`)
	}
	given.Answer.OK = *given.OK
	return *given.Question, given.Answer, nil
}

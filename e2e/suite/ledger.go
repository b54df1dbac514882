package suite

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// ledgerPage has tools that write down each execution before and after what they do. An
// execution has an id of its own: a request that the browser sends twice is one execution.
const ledgerPage = `<!doctype html><meta charset=utf-8><link rel=icon href=data:,><title>Ledger</title><script>
const again = Number(sessionStorage.getItem('again'));
if (again) { sessionStorage.setItem('again', again - 1); setTimeout(() => location.reload(), 5); }
const inputSchema = {type: 'object', properties: {id: {type: 'string'}}, required: ['id']};
const note = async (what, call, run) => {
  const r = await fetch('/' + what + '?call=' + call + '&run=' + run + '&page=@PAGE@', {method: 'POST'});
  if (!r.ok) throw new Error('the ledger is closed');
};
const add = (name, body, description = name, more = {}) => document.modelContext.registerTool({name, description, inputSchema, execute: async ({id}, context) => {
  const run = crypto.randomUUID();
  await note('begin', id, run);
  const result = await body(id, context);
  await note('end', id, run);
  return result;
}}, more);
const forever = () => new Promise(() => {});
let version = 0, old = new AbortController();
add('work', (id) => id, 'work 0', {signal: old.signal});
add('slow', async (id) => (await fetch('/slow'), id));
add('hold', async (id) => (await fetch('/hold'), id));
add('never', forever);
add('spin', () => { for (;;); });
add('huge', () => 'x'.repeat(3 << 20));
add('fail', () => { throw new Error('not today'); });
add('alerts', (id) => (alert('look'), id));
add('ask', (id) => (confirm('really?'), id));
add('agree', (id) => id);
add('touch', (id, context) => context.requestUserInteraction(() => new Promise((resolve) => { onclick = () => resolve(id); })));
add('leave', () => { location.href = '/?' + Math.random(); return forever(); });
add('loop', () => { sessionStorage.setItem('again', 5); location.reload(); return forever(); });
add('change', (id) => {
  old.abort();
  old = new AbortController();
  add('work', (id) => id, 'work ' + ++version, {signal: old.signal});
  return id;
});
</script>`

// Ledger is a site that knows what ran.
type Ledger struct {
	*httptest.Server
	Delay atomic.Int64  // nanoseconds, before each answer
	Held  chan struct{} // one for each call of hold

	pages   atomic.Int64
	mu      sync.Mutex
	release chan struct{}
	begun   map[string]map[string]bool // executions, by call
	ended   map[string]map[string]bool
	runs    []Execution
}

// Execution is one run of a tool.
type Execution struct {
	Call string
	Page string // the number of its document
}

// NewLedger starts a ledger, and stops it when the test ends.
func NewLedger(t *testing.T) *Ledger {
	t.Helper()
	l := &Ledger{Held: make(chan struct{}, 1000), release: make(chan struct{}), begun: map[string]map[string]bool{}, ended: map[string]map[string]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) {
		l.wait(r, 0)
		w.Header().Set("Content-Type", "text/html")
		page := strings.ReplaceAll(ledgerPage, "@PAGE@", strconv.FormatInt(l.pages.Add(1), 10))
		_, _ = io.WriteString(w, page) // a page that is gone needs no answer
	})
	mux.HandleFunc("POST /begin", func(_ http.ResponseWriter, r *http.Request) { l.note(l.begun, r) })
	mux.HandleFunc("POST /end", func(_ http.ResponseWriter, r *http.Request) { l.note(l.ended, r) })
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) { l.wait(r, 300*time.Millisecond) })
	mux.HandleFunc("/hold", func(_ http.ResponseWriter, r *http.Request) {
		l.mu.Lock()
		release := l.release
		l.mu.Unlock()
		l.Held <- struct{}{}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	l.Server = httptest.NewUnstartedServer(mux)
	l.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	l.Start()
	t.Cleanup(func() {
		l.CloseClientConnections()
		l.Close()
	})
	return l
}

// Release lets the calls of hold go on.
func (l *Ledger) Release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.release)
	l.release = make(chan struct{})
}

func (l *Ledger) note(what map[string]map[string]bool, r *http.Request) {
	q := r.URL.Query()
	call, run := q.Get("call"), q.Get("run")
	l.mu.Lock()
	if what[call] == nil {
		what[call] = map[string]bool{}
	}
	what[call][run] = true
	if strings.HasSuffix(r.URL.Path, "begin") {
		l.runs = append(l.runs, Execution{call, q.Get("page")})
	}
	l.mu.Unlock()
	l.wait(r, 0)
}

// Executions lists what ran, in its order. A request that a browser sends twice is there twice.
func (l *Ledger) Executions() []Execution {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.runs)
}

// wait makes the answer to a request late.
func (l *Ledger) wait(r *http.Request, more time.Duration) {
	if d := time.Duration(l.Delay.Load()) + more; d > 0 {
		select {
		case <-time.After(d):
		case <-r.Context().Done():
		}
	}
}

// Ran returns how often a call began.
func (l *Ledger) Ran(call string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.begun[call])
}

// Problem says what is wrong about a call with this outcome, or "". The outcome is ok, not_run, failed or
// unknown; left, when its client went away; or none, when there was no answer. refused says that it needs
// consent, which nobody gave.
func (l *Ledger) Problem(call, outcome string, refused bool) string {
	l.mu.Lock()
	begun, ended := len(l.begun[call]), len(l.ended[call])
	l.mu.Unlock()
	wrong := ""
	switch {
	case begun > 1:
		wrong = RanTwice
	case refused && begun > 0:
		wrong = "it ran without consent"
	case outcome == "none":
		wrong = "it has no outcome"
	case outcome == "ok" && (begun != 1 || ended != 1):
		wrong = "it is ok and did not run to its end"
	case outcome == "not_run" && begun != 0:
		wrong = "it ran"
	case outcome != "ok" && outcome != "not_run" && outcome != "failed" && outcome != "unknown" && outcome != "left":
		wrong = "that is no outcome"
	default:
		return ""
	}
	return fmt.Sprintf("%s: %s is %s, began %d times and ended %d times", wrong, call, outcome, begun, ended)
}

// RanTwice begins the Problem of a call with several executions.
const RanTwice = "it ran more than once"

// OutcomeOf reads a reply of a webtool.
func OutcomeOf(r Reply) (outcome, why string, f Failure) {
	var e struct {
		Status string  `json:"status"`
		Error  Failure `json:"error"`
	}
	switch err := json.Unmarshal(r.Body, &e); {
	case r.Err != nil:
		return "none", r.Err.Error(), f
	case err != nil:
		return "none", fmt.Sprintf("%d %s", r.Status, Shorten(r.Body)), f
	case e.Status == "ok":
		return "ok", "", f
	}
	return e.Error.Outcome, e.Error.Code + " " + e.Error.Reason, e.Error
}

package life_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pagetools/pagetools/e2e/suite"
)

// ledgerPage has tools that write down each execution before and after what they do. An
// execution has an id of its own: a request that the browser sends twice is one execution.
const ledgerPage = `<!doctype html><meta charset=utf-8><link rel=icon href=data:,><title>Ledger</title><script>
const again = Number(sessionStorage.getItem('again'));
if (again) { sessionStorage.setItem('again', again - 1); setTimeout(() => location.reload(), 5); }
const inputSchema = {type: 'object', properties: {id: {type: 'string'}}, required: ['id']};
const note = async (what, call, run) => {
  const r = await fetch('/' + what + '?call=' + call + '&run=' + run, {method: 'POST'});
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

// ledger is a site that knows what ran.
type ledger struct {
	*httptest.Server
	delay atomic.Int64 // nanoseconds, before each answer

	mu    sync.Mutex
	begun map[string]map[string]bool // executions, by call
	ended map[string]map[string]bool
}

func newLedger(t *testing.T) *ledger {
	t.Helper()
	l := &ledger{begun: map[string]map[string]bool{}, ended: map[string]map[string]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) {
		l.wait(r, 0)
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, ledgerPage) // a page that is gone needs no answer
	})
	mux.HandleFunc("POST /begin", func(_ http.ResponseWriter, r *http.Request) { l.note(l.begun, r) })
	mux.HandleFunc("POST /end", func(_ http.ResponseWriter, r *http.Request) { l.note(l.ended, r) })
	mux.HandleFunc("/slow", func(_ http.ResponseWriter, r *http.Request) { l.wait(r, 300*time.Millisecond) })
	l.Server = httptest.NewUnstartedServer(mux)
	l.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	l.Start()
	t.Cleanup(func() {
		l.CloseClientConnections()
		l.Close()
	})
	return l
}

func (l *ledger) note(what map[string]map[string]bool, r *http.Request) {
	call, run := r.URL.Query().Get("call"), r.URL.Query().Get("run")
	l.mu.Lock()
	if what[call] == nil {
		what[call] = map[string]bool{}
	}
	what[call][run] = true
	l.mu.Unlock()
	l.wait(r, 0)
}

// wait makes the answer to a request late.
func (l *ledger) wait(r *http.Request, more time.Duration) {
	if d := time.Duration(l.delay.Load()) + more; d > 0 {
		select {
		case <-time.After(d):
		case <-r.Context().Done():
		}
	}
}

// entry is a call as its client saw it.
type entry struct {
	id, tool, by string
	outcome      string // ok, not_run, failed or unknown; left: its client went away; none: there was no answer
	why          string // code and reason of an error, or what the client says
	took, over   time.Duration
	refused      bool // it needs consent, which nobody gave
}

// problem says what is wrong about a call, or "".
func (l *ledger) problem(e entry) string {
	l.mu.Lock()
	begun, ended := len(l.begun[e.id]), len(l.ended[e.id])
	l.mu.Unlock()
	wrong := ""
	switch {
	case begun > 1:
		wrong = "it ran more than once"
	case e.refused && begun > 0:
		wrong = "it ran without consent"
	case e.outcome == "none":
		wrong = "it has no outcome"
	case e.outcome == "ok" && (begun != 1 || ended != 1):
		wrong = "it is ok and did not run to its end"
	case e.outcome == "not_run" && begun != 0:
		wrong = "it ran"
	case e.outcome != "ok" && e.outcome != "not_run" && e.outcome != "failed" && e.outcome != "unknown" && e.outcome != "left":
		wrong = "that is no outcome"
	default:
		return ""
	}
	return fmt.Sprintf("%s: %+v began %d times and ended %d times", wrong, e, begun, ended)
}

// outcomeOf reads a reply of a webtool.
func outcomeOf(r suite.Reply) (outcome, why string, f suite.Failure) {
	var e struct {
		Status string        `json:"status"`
		Error  suite.Failure `json:"error"`
	}
	switch err := json.Unmarshal(r.Body, &e); {
	case r.Err != nil:
		return "none", r.Err.Error(), f
	case err != nil:
		return "none", fmt.Sprintf("%d %s", r.Status, suite.Shorten(r.Body)), f
	case e.Status == "ok":
		return "ok", "", f
	}
	return e.Error.Outcome, e.Error.Code + " " + e.Error.Reason, e.Error
}

// TestLedgerSees is the positive control of what chaos and soak hold.
func TestLedgerSees(t *testing.T) {
	l := &ledger{begun: map[string]map[string]bool{"a": {"1": true}, "b": {"1": true, "2": true}}, ended: map[string]map[string]bool{"b": {"1": true}}}
	for _, e := range []entry{{id: "a", outcome: "not_run"}, {id: "a", outcome: "ok"}, {id: "b", outcome: "unknown"}, {id: "c", outcome: "ok"}, {id: "c", outcome: "none"}, {id: "c"}, {id: "a", outcome: "unknown", refused: true}} {
		if l.problem(e) == "" {
			t.Errorf("it sees nothing wrong in %+v", e)
		}
	}
	for _, e := range []entry{{id: "a", outcome: "unknown"}, {id: "a", outcome: "left"}, {id: "c", outcome: "not_run"}, {id: "c", outcome: "unknown"}, {id: "c", outcome: "not_run", refused: true}} {
		if p := l.problem(e); p != "" {
			t.Error(p)
		}
	}
}

package mcp

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/store"
)

// TestSessionsOutliveAProcess: a session id carries its facts, sealed, so that every face with the
// key goes on with it: another process, or one that started later. C3.
func TestSessionsOutliveAProcess(t *testing.T) {
	key := bytes.Repeat([]byte{7}, KeySize)
	first, second := newWorld(t, Options{Key: key}), newWorld(t, Options{Key: key})
	runs := second.confirms(bridge.Confirm)
	c := first.as(agent).legacy("2025-06-18", forms)
	at := func(w *world, as bridge.Caller, session string) *client {
		moved := w.as(as)
		moved.session, moved.version = session, c.version
		return moved
	}
	list := rpc(2, "tools/list", "{}")
	moved := at(second, agent, c.session)
	if a := moved.send("POST", list); a.status != http.StatusOK || !strings.Contains(a.body, `"look"`) {
		t.Errorf("at another process: %d %s", a.status, a.body)
	}
	// What the handshake came to is known there: the client is asked.
	resp := moved.open(t.Context(), "POST", rpc(3, "tools/call", `{"name":"look","arguments":{}}`))
	defer resp.Body.Close()
	told := ""
	for e := range events(resp.Body) {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if err := json.Unmarshal([]byte(e), &m); err != nil {
			t.Fatal(err)
		}
		if m.Method == "" {
			told = e
			break
		}
		moved.send("POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{}}}`, m.ID))
	}
	if !strings.Contains(told, `{\"ok\":true}`) || *runs != 1 {
		t.Errorf("%d runs, and it came to %s", *runs, told)
	}
	// The older process has it still, and so has one session both.
	if a := c.send("POST", list); a.status != http.StatusOK {
		t.Errorf("at the first process: %d %s", a.status, a.body)
	}
	elsewhere := at(second, agent, c.session)
	elsewhere.path = "/mcp/shop"
	stranger := newWorld(t, Options{})
	sealed := func(of facts) string { return second.seal.close(forSession, of) }
	later := time.Now().Add(time.Hour)
	letter := "A"
	if c.session[:1] == letter {
		letter = "B"
	}
	for why, c := range map[string]*client{
		"without the key":       at(stranger, agent, c.session),
		"of another caller":     at(second, other, c.session),
		"at another endpoint":   elsewhere,
		"with a letter changed": at(second, agent, letter+c.session[1:]),
		"too old":               at(second, agent, sealed(facts{Caller: agent.Name, Protocol: "2025-06-18", Until: time.Now().Add(-time.Second)})),
		"of nobody":             at(second, agent, sealed(facts{Protocol: "2025-06-18", Until: later})),
		"for another purpose":   at(second, agent, second.seal.close(forState, facts{Caller: agent.Name, Protocol: "2025-06-18", Until: later})),
		"no text of ours":       at(second, agent, "unknown"),
	} {
		for _, method := range []string{"POST", "GET", "DELETE"} {
			body := ""
			if method == "POST" {
				body = list
			}
			if a := c.send(method, body); a.status != http.StatusNotFound || !strings.Contains(a.body, "-32001") {
				t.Errorf("%s, %s: %d %s", why, method, a.status, a.body)
			}
		}
	}
	if a := at(second, agent, sealed(facts{Caller: agent.Name, Protocol: "2025-06-18", Until: later})).send("POST", list); a.status != http.StatusOK {
		t.Errorf("the control: %d %s", a.status, a.body)
	}
	// Who ends it ends it.
	if a := moved.send("DELETE", ""); a.status != http.StatusNoContent {
		t.Errorf("deleting gives %d", a.status)
	}
	if a := moved.send("POST", list); a.status != http.StatusNotFound {
		t.Errorf("a deleted session: %d %s", a.status, a.body)
	}
}

// TestSessionsThatGaveWay are taken up again: those that nobody used for long, and the oldest of a
// caller with too many.
func TestSessionsThatGaveWay(t *testing.T) {
	w := newWorld(t, Options{})
	c := w.as(agent).legacy("2025-11-25", nothing)
	w.sessions.mu.Lock()
	w.sessions.drop(w.sessions.byID[c.session])
	w.sessions.mu.Unlock()
	if a := c.send("POST", rpc(2, "tools/list", "{}")); a.status != http.StatusOK {
		t.Errorf("it gives %d %s", a.status, a.body)
	}
}

// TestEndedSessionsAreBounded: of sessions that ended, what keeps them from being taken up is kept
// for the newest only.
func TestEndedSessionsAreBounded(t *testing.T) {
	w := newFace(t, Options{})
	w.sessions.mu.Lock()
	defer w.sessions.mu.Unlock()
	for range maxSessions + 10 {
		w.sessions.bar(&httpSession{id: rand.Text()})
	}
	if n, m := len(w.sessions.ended), len(w.sessions.oldest); n != maxSessions || m != maxSessions {
		t.Errorf("%d and %d are kept", n, m)
	}
}

// TestSessionsEndInEveryProcess: who ends a session ends it in each process of the folder, also in
// those that have it, and that start later; and a stream there ends. C3.
func TestSessionsEndInEveryProcess(t *testing.T) {
	key, list := bytes.Repeat([]byte{7}, KeySize), rpc(2, "tools/list", "{}")
	memory := store.Memory(store.Options{})
	t.Cleanup(func() { _ = memory.Close() })
	folder := &counted{Ended: memory.Ended}
	first, second := newWorld(t, Options{Key: key, Ended: folder}), newWorld(t, Options{Key: key, Ended: folder})
	for why, x := range map[string]struct {
		used  bool // at the second process before it ended
		by    bridge.Caller
		ended int
	}{
		"it was at both":          {true, agent, http.StatusNotFound},
		"it was at one":           {false, agent, http.StatusNotFound},
		"another caller ended it": {true, other, http.StatusOK},
	} {
		c := first.as(agent).legacy("2025-06-18", nothing)
		at := func(w *world, as bridge.Caller) *client {
			moved := w.as(as)
			moved.session, moved.version = c.session, c.version
			return moved
		}
		moved := at(second, agent)
		if x.used {
			if a := moved.send("POST", list); a.status != http.StatusOK {
				t.Errorf("%s: before: %d %s", why, a.status, a.body)
			}
		}
		at(first, x.by).send("DELETE", "")
		for range 2 {
			if a := moved.send("POST", list); a.status != x.ended {
				t.Errorf("%s: %d %s", why, a.status, a.body)
			}
		}
		third := newWorld(t, Options{Key: key, Ended: folder})
		if a := at(third, agent).send("POST", list); a.status != x.ended {
			t.Errorf("%s: at a process that started later: %d %s", why, a.status, a.body)
		}
	}
	// What is in use asks nothing, and what is no id of ours neither.
	c := first.as(agent).legacy("2025-06-18", nothing)
	before := folder.asked.Load()
	for range 10 {
		if a := c.send("POST", list); a.status != http.StatusOK {
			t.Errorf("in use: %d %s", a.status, a.body)
		}
		forged := first.as(agent)
		forged.session, forged.version = "forged", c.version
		if a := forged.send("POST", list); a.status != http.StatusNotFound {
			t.Errorf("forged: %d %s", a.status, a.body)
		}
	}
	if n := folder.asked.Load() - before; n != 0 {
		t.Errorf("the store was asked %d times", n)
	}
}

// counted keeps what ended for several faces, as the folder does. It counts questions.
type counted struct {
	bridge.Ended
	ends, asked atomic.Int64
}

func (c *counted) End(ctx context.Context, caller, id string, until time.Time) error {
	defer c.ends.Add(1)
	return c.Ended.End(ctx, caller, id, until)
}

func (c *counted) HasEnded(ctx context.Context, id string) (bool, error) {
	c.asked.Add(1)
	return c.Ended.HasEnded(ctx, id)
}

func (c *counted) Changes() int64 { return c.ends.Load() }

// TestRequestStateOfAnotherProcess (N2): the state of a call that another process has says so, and
// never to call the tool without it.
func TestRequestStateOfAnotherProcess(t *testing.T) {
	f := &bridgetest.Folder{}
	here := f.Process("HERE2345")
	f.Process("THERE234")
	router := bridgetest.NewRouter().Add("shop", bridgetest.Tool("look", ""), bridgetest.Asking("buy", ""))
	b, err := bridge.New(router, bridge.Options{Memory: bridge.Memory{Homes: here}})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	face, err := New(b, Options{})
	if err != nil {
		t.Fatal(err)
	}
	call := &bridge.Call{Site: "shop", Tool: "buy", Session: defaultSession, Caller: agent, Input: bridgetest.JSON(`{}`)}
	for home, want := range map[string]string{"THERE234": `"reason":"ELSEWHERE","outcome":"unknown"`, "GONE2345": "may have run", "HERE2345": "may have run"} {
		sealed := face.seal.close(forState, carried{Token: home + strings.Repeat("A", 26), Question: "q", Caller: agent.Name,
			Call: call.Digest(), Until: time.Now().Add(time.Minute)})
		m, failed := readMessage([]byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"buy","arguments":{},"requestState":%q}}`, sealed)))
		if failed != nil {
			t.Fatal(failed)
		}
		x := &exchange{face: face, scope: scope{caller: agent, site: "shop", session: defaultSession}, message: m}
		run, _, e := x.begin(t.Context(), call)
		if run != nil || e == nil {
			t.Fatalf("%s: it goes on", home)
		}
		told, err := json.Marshal(e)
		if err != nil || !strings.Contains(string(told), want) || strings.Contains(string(told), "anew") {
			t.Errorf("%s: %s, %v", home, told, err)
		}
	}
}

package bridge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/policy"
)

type asked interface{ bridge.Calls }

// spyCalls notes the ids of the calls that are recorded.
type spyCalls struct {
	asked // for what is recorded, which nobody does

	mu  sync.Mutex
	ids []string
}

func (c *spyCalls) Log(_ context.Context, r bridge.CallRecord) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ids = append(c.ids, r.Call)
	return nil
}

// lockedLog is a log that several goroutines write.
type lockedLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// ends counts the lines with which calls ended, by their ids, and checks that each says who
// called what, and how it ended.
func (l *lockedLog) ends(t *testing.T) map[string]int {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	ended := map[string]int{}
	for line := range bytes.Lines(l.text.Bytes()) {
		var at struct {
			Msg, Call, Caller, Site, Tool, Code, Outcome string
			Took                                         *time.Duration
		}
		if err := json.Unmarshal(line, &at); err != nil {
			t.Fatal(err)
		}
		if at.Msg != "call: ok" && at.Msg != "call: failed" {
			continue
		}
		ended[at.Call]++
		if at.Caller != "local" || at.Site == "" || at.Tool == "" || at.Took == nil || at.Msg == "call: failed" && (at.Code == "" || at.Outcome == "") {
			t.Errorf("the line is %s", line)
		}
	}
	return ended
}

// TestErrorsNameTheirCall: each error has the id of its call, under which the log has exactly
// one line about the end, and the record one row; so have calls that are refused at once.
func TestErrorsNameTheirCall(t *testing.T) {
	log, calls := &lockedLog{}, &spyCalls{}
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("read", `{"properties":{"n":{"type":"integer"}}}`), bridgetest.Asking("write", ""), bridgetest.Tool("never", ""))
	b, err := bridge.New(r, bridge.Options{Log: slog.New(slog.NewJSONHandler(log, nil)), Memory: bridge.Memory{Calls: calls},
		Sites: map[string]bridge.SiteOptions{"shop": {Approval: policy.Operator{Tools: []policy.Rule{{Pattern: "never", Level: policy.Never}}}, Rates: []policy.RateRule{{Pattern: "write", Rate: policy.Rate{N: 1, Per: time.Hour}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	shared := bridge.Errorf(bridge.ToolError, "", bridge.Failed, "One error for all calls.")
	r.Answer("shop", "", shared)
	call := func(tool, input string) bridge.Call {
		return bridge.Call{Site: "shop", Tool: tool, Caller: bridge.Local(), Input: bridgetest.JSON(input)}
	}
	keyed, other, nowhere := call("read", `{}`), call("read", `{"a":1}`), call("read", `{}`)
	keyed.Key, other.Key, nowhere.Site = "k", "k", "nowhere"
	lost := call("read", `{}`)
	lost.Config = json.RawMessage(`{"resume":"no such token"}`)
	badConfig := call("read", `{}`)
	badConfig.Config = json.RawMessage(`{"x":1}`)
	want := map[string]int{}
	for _, c := range []struct {
		call bridge.Call
		code bridge.Code
	}{
		{call("read", `{}`), bridge.ToolError}, {call("read", `{}`), bridge.ToolError}, {call("read", `{"n":"x"}`), bridge.SchemaError},
		{call("read", `[]`), bridge.SchemaError}, {call("nothing", `{}`), bridge.WebtoolNotFound}, {nowhere, bridge.WebtoolNotFound},
		{call("never", `{}`), bridge.ApprovalDenied}, {badConfig, bridge.ConfigError}, {lost, bridge.ResumeNotFound},
		{keyed, bridge.ToolError}, {other, bridge.Conflict}, {call("write", `{}`), bridge.ApprovalRequired}, {call("write", `{}`), bridge.RateLimit},
	} {
		end := serve(t.Context(), b, &c.call)
		id, _ := end.Err.Details["call"].(string)
		if end.Err.Code != c.code || id == "" || want[id] != 0 {
			t.Errorf("%s %s: %v, %v", c.call.Tool, c.call.Input.Text(), end.Err, end.Err.Details)
		}
		if want[id] = 1; c.code == bridge.ApprovalRequired { // it ends when somebody answers
			want[id] = 0
		}
	}
	if shared.Details["call"] != nil {
		t.Error("an error of a site that many calls get names one of them")
	}
	r.Answer("shop", `1`, nil)
	mine := call("read", `{}`)
	mine.ID = "mine"
	if end := serve(t.Context(), b, &mine); end.Err != nil {
		t.Fatal(end.Err)
	}
	want["mine"] = 1
	repeated := serve(t.Context(), b, &keyed).Err // an outcome that is repeated names the call that ran
	if want[repeated.Details["call"].(string)] != 1 {
		t.Errorf("the repetition is %v", repeated.Details)
	}
	got := log.ends(t)
	for id, n := range want {
		if got[id] != n {
			t.Errorf("the log has %d ends of %s, want %d", got[id], id, n)
		}
		if recorded := len(slices.DeleteFunc(slices.Clone(calls.ids), func(other string) bool { return other != id })); recorded != n {
			t.Errorf("the record has %s %d times, want %d", id, recorded, n)
		}
	}
	if len(got) != len(want)-1 {
		t.Errorf("the log has %d calls, want %d", len(got), len(want)-1)
	}
}

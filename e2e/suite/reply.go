package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// Value returns the JSON object of a reply.
func (r Reply) Value(t *testing.T) map[string]any {
	t.Helper()
	if got := r.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type is %q: %s", got, Shorten(r.Body))
	}
	var v map[string]any
	if err := json.Unmarshal(r.Body, &v); err != nil {
		t.Fatalf("%v: %s", err, Shorten(r.Body))
	}
	return v
}

// OK checks the envelope of success, and returns its data.
func (r Reply) OK(t *testing.T) any {
	t.Helper()
	v := r.Value(t)
	data, there := v["data"]
	if r.Status != http.StatusOK || v["status"] != "ok" || !there || len(v) != 2 {
		t.Fatalf("%d %s is not a result", r.Status, Shorten(r.Body))
	}
	return data
}

// Refused checks the envelope of errors, and returns the error object.
func (r Reply) Refused(t *testing.T, status int, code string) map[string]any {
	t.Helper()
	v := r.Value(t)
	e, _ := v["error"].(map[string]any)
	message, _ := e["message"].(string)
	if r.Status != status || v["status"] != "error" || len(v) != 2 || e["code"] != code || message == "" {
		t.Errorf("%d %s, want %d %s", r.Status, Shorten(r.Body), status, code)
	}
	if !regexp.MustCompile(`^[A-Z]+(_[A-Z]+)*$`).MatchString(fmt.Sprint(e["code"])) {
		t.Errorf("the code is %v", e["code"])
	}
	return e
}

// Older checks an error of the older dialect, whose text must contain part.
func (r Reply) Older(t *testing.T, status int, part string) {
	t.Helper()
	v := r.Value(t)
	if text, ok := v["error"].(string); r.Status != status || !ok || len(v) != 1 || !strings.Contains(text, part) {
		t.Errorf("%d %s, want %d with %q", r.Status, Shorten(r.Body), status, part)
	}
}

// Compare compares a reply with a row of the contract's table of errors. An empty outcome is
// not compared.
func Compare(t *testing.T, r Reply, status int, want Failure) {
	t.Helper()
	got := r.Failed(t)
	if r.Status != status || got.Code != want.Code || got.Reason != want.Reason || want.Outcome != "" && got.Outcome != want.Outcome {
		t.Errorf("%d %s\nwant %d %+v", r.Status, Shorten(r.Body), status, want)
	}
	if ct := r.Header.Get("Content-Type"); ct != "application/json" {
		t.Errorf("the content type is %q", ct)
	}
}

// IsGood calls the page's tool echo, and fails the test when that does not work.
func IsGood(t *testing.T, s *Server, site string) {
	t.Helper()
	r := s.Ask("/webtools/"+site, `{"action":"echo","request":{"text":"still here"}}`)
	var got struct{ Text string }
	if err := json.Unmarshal(r.Data(t), &got); err != nil || got.Text != "still here" {
		t.Errorf("the next call gave %s", Shorten(r.Body))
	}
}

// As makes a request with a token, within ReplyWithin.
func (s *Server) As(t *testing.T, token, method, url, body string) Reply {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), ReplyWithin)
	defer cancel()
	return s.In(ctx, token, method, url, body)
}

// AgentToken and PersonToken are the credentials of the callers agent and person.
const (
	AgentToken  = "agent-token-of-the-tests"
	PersonToken = "person-token-of-the-tests"
)

// Waiting returns the question and the resume token of a call that stopped.
func (r Reply) Waiting(t *testing.T, status int, code string) (question map[string]any, token string) {
	t.Helper()
	f := r.Failed(t)
	question, _ = f.Details["question"].(map[string]any)
	token, _ = f.Details["resume"].(string)
	if r.Status != status || f.Code != code || question["id"] == nil || token == "" || r.Header.Get("Pagetools-Resume") != token {
		t.Fatalf("got %d %s, want %d %s with a question", r.Status, Shorten(r.Body), status, code)
	}
	return question, token
}

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
)

// says is a node that answers so; "" is one that does not answer.
type says string

func (s says) RoundTrip(r *http.Request) (*http.Response, error) {
	if s == "" {
		return nil, errors.New("no answer")
	}
	if q := r.URL.Query(); q.Get("site") != "shop" || q.Get("limit") != "3" || r.URL.Path != clusterLogPath {
		return nil, errors.New("another question: " + r.URL.String())
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(string(s))), Header: http.Header{}}, nil
}

// knows is a node that does not reach these; nil is one that is not reached itself.
type knows []string

func (k knows) RoundTrip(r *http.Request) (*http.Response, error) {
	if k == nil || r.URL.Path != waysPath {
		return nil, errors.New("no answer")
	}
	body, err := json.Marshal(ways{Misses: k})
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(body)), Header: http.Header{}}, err
}

// TestBrokenWays: each pair of nodes that does not reach each other is named.
func TestBrokenWays(t *testing.T) {
	t.Parallel()
	nodes := map[string]http.RoundTripper{"a": knows{}, "b": knows{}}
	if broken := brokenWays(t.Context(), nodes, ""); len(broken) != 0 {
		t.Errorf("the control: %q", broken)
	}
	nodes["b"], nodes["c"] = knows{"a", "c"}, knows(nil)
	if broken := brokenWays(t.Context(), nodes, ""); !slices.Equal(broken, []string{
		"the node b does not reach a", "the node b does not reach c", "the node c is not reached from here"}) {
		t.Errorf("%q", broken)
	}
	if broken := brokenWays(t.Context(), nodes, "a"); !slices.Contains(broken, "the node a does not reach c") {
		t.Errorf("asked by a node: %q", broken)
	}
}

// TestLogsOfNodes: the calls of all nodes are merged by time, under the names of the nodes that were asked,
// the newest of all; a node that does not answer is named.
func TestLogsOfNodes(t *testing.T) {
	t.Parallel()
	f := bridge.CallFilter{Site: "shop", Limit: 3}
	l := askLogs(t.Context(), map[string]http.RoundTripper{
		"a": says(`{"calls":[{"node":"z","time":"2026-11-28T10:00:03Z","call":"A3"},{"time":"2026-11-28T10:00:01Z","call":"A1"}],"silent":["x"]}`),
		"b": says(`{"calls":[{"time":"2026-11-28T11:00:02+01:00","call":"B2\n","tool":"\u001b[2Jinc","took":1.5},{"time":"2026-11-28T10:00:00Z","call":"B0"}],"silent":[]}`),
		"d": says(""), "c": says(`{`),
	}, f)
	l.newest(f.Limit)
	var out bytes.Buffer
	if err := printLogged(&out, "json", l.Calls); err != nil {
		t.Fatal(err)
	}
	var seen []string
	for line := range strings.Lines(out.String()) {
		_, rest, _ := strings.Cut(line, `{"node":"`)
		node, rest, _ := strings.Cut(rest, `"`)
		_, rest, _ = strings.Cut(rest, `"call":"`)
		seen = append(seen, node+" "+rest[:2])
	}
	if !slices.Equal(seen, []string{"a A1", "b B2", "a A3"}) || !slices.Equal(l.Silent, []string{"c", "d"}) {
		t.Errorf("%q, without %q\n%s", seen, l.Silent, out.String())
	}
	out.Reset()
	if err := printLogged(&out, "text", l.Calls); err != nil || strings.Count(out.String(), "\n") != 3 || strings.Contains(out.String(), "\x1b") ||
		!strings.Contains(out.String(), "1.5s  [2Jinc on  for  at b  B2") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

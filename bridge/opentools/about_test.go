package opentools

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// TestOmitted: who gets no tool of a document is told how many operations it has, and why.
func TestOmitted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		paths string
		e     Expose
		want  string
	}{
		{`"/a":{"summary":"nothing"}`, All, "its document has no operations"},
		{`"/a":{"get":{}}`, Marked, "its only operation has no x-llm"},
		{`"/a":{"get":{},"post":{}}`, Marked, "none of its 2 operations has x-llm"},
		{`"/a":{"post":{}}`, Safe, "its only operation has no x-llm"},
		{`"/a":{"get":{"x-llm":{"enabled":false}},"put":{"x-llm":{"enabled":false}},"post":{},"delete":{"x-llm":{"approval":"maybe"}}}`, Marked,
			"of 4 operations, 1 has no x-llm, 2 have x-llm with enabled: false, 1 cannot be used"},
	} {
		d, err := ReadDocument([]byte(`{"openapi":"3.1.0","info":{"title":"x","version":"1"},"paths":{` + c.paths + `}}`))
		if err != nil {
			t.Fatal(err)
		}
		tools, _, not := d.choose(c.e)
		about := About{Operations: len(d.Operations), Omitted: not}
		if got := about.Empty(); len(tools) > 0 || got != c.want {
			t.Errorf("%s: %d tools, %s, want %s", c.paths, len(tools), got, c.want)
		}
	}
}

// TestLogins (O14): what tools need of security schemes is gathered from their operations, with
// scopes and servers.
func TestLogins(t *testing.T) {
	t.Parallel()
	d, err := ReadDocument([]byte(`{"openapi":"3.1.0","info":{"title":"x","version":"1"},"servers":[{"url":"/api/{v}","variables":{"v":{"default":"v1"}}}],
		"security":[{"account":["read"]},{}],
		"components":{"securitySchemes":{"account":{"$ref":"#/components/securitySchemes/real"},"real":{"type":"oauth2"},"key":{"type":"apiKey"},
			"unused":{"type":"apiKey"}}},
		"paths":{
			"/a":{"get":{"x-llm":{}}},
			"/b":{"post":{"x-llm":{},"security":[{"account":["write","read"],"key":[]}],"servers":[{"url":"https://other.example"},{"url":"../eu"}]}},
			"/c":{"get":{"x-llm":{},"security":[]}},
			"/d":{"get":{"x-llm":{},"security":[{"missing":[]}]}},
			"/e":{"get":{"x-llm":{},"security":[{"unused":[]}],"servers":[{"url":"https://other.example"}]}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	at, _ := url.Parse("https://api.example/docs/openapi.json")
	f := &Found{d, Location{URL: at}}
	tools, problems := d.Tools(Marked)
	if len(tools) != 5 || len(problems) > 0 {
		t.Fatalf("%d tools, %q", len(tools), problems)
	}
	var got []string
	for _, l := range f.Logins(tools, nil) {
		got = append(got, fmt.Sprint(l.Name, string(l.Object), l.Scopes, l.Servers))
	}
	const want = `account{"type":"oauth2"}[read write] [https://api.example/eu https://api.example/api/v1]` + "\n" +
		`key{"type":"apiKey"}[] [https://api.example/eu]`
	if strings.Join(got, "\n") != want {
		t.Errorf("the logins are\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	if all := f.Logins(tools, []string{"https://other.example"}); len(all) != 3 || all[2].Servers[0].Host != "other.example" {
		t.Errorf("with an origin that is allowed the logins are %v", all)
	}
}

// TestParts (B9): who listens is told of each part of a stream when it is there.
func TestParts(t *testing.T) {
	t.Parallel()
	var heard []string
	o := &outgoing{maxBytes: 1 << 10, progress: func(p bridge.Progress) { heard = append(heard, fmt.Sprint(p.Parts, string(p.Last))) }}
	step := o.collect(t.Context(), &http.Response{Body: io.NopCloser(strings.NewReader("{\"a\":1}\nb\n"))}, "application/jsonl", nil)
	if string(step.Data) != `[{"a":1},"b"]` || !slices.Equal(heard, []string{`1{"a":1}`, `2"b"`}) {
		t.Errorf("%s, and it hears %q", step.Data, heard)
	}
}

// TestRest: a document whose tools take long to make is not looked at again at once, however soon
// it changes.
func TestRest(t *testing.T) {
	t.Parallel()
	now := time.Now()
	r := &Router{o: RouterOptions{Now: func() time.Time { return now }}}
	for took, want := range map[time.Duration]time.Duration{0: soonest, time.Second: 20 * time.Second} {
		a := &api{router: r}
		a.settle(&edition{catalog: &bridge.Catalog{}, took: took}, nil)
		if got := a.expires.Sub(now); got != want {
			t.Errorf("after %v: %v, want %v", took, got, want)
		}
	}
}

package opentools

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/gatetest"
)

// TestServersAreBounded: variables are filled once, whatever is in them, and many operations do not
// read a long list of servers many times.
func TestServersAreBounded(t *testing.T) { //nolint:paralleltest // it measures memory
	gatetest.NoRace(t)
	many := repeated(4000, func(i int) string { return fmt.Sprintf(`"/p%d":{"get":{}}`, i) })
	top := func(servers string) string {
		return strings.Replace(hostile(many, ""), `"paths"`, `"servers":`+servers+`,"paths"`, 1)
	}
	for name, x := range map[string]struct{ text, want string }{
		"one":         {top(`[{"url":"/{a}/x","variables":{"a":{"default":"{b}"},"b":{"default":"c"}}}]`), "https://api.example/%7Bb%7D/x"},
		"doubling":    {top(`[{"url":"` + strings.Repeat("{a}", 10_000) + `","variables":{"a":{"default":"` + strings.Repeat("a", 100_000) + `"}}}]`), ""},
		"a long list": {top(`[` + repeated(400_000, func(int) string { return `{"url":"http://other.example/"}` }) + `]`), ""},
		"one list of many paths": {hostile(repeated(2000, func(i int) string { return fmt.Sprintf(`"/p%d":{"$ref":"#/components/pathItems/x"}`, i) }),
			`"pathItems":{"x":{"get":{},"servers":[`+repeated(1500, func(int) string { return `{"url":"http://other.example/"}` })+`,{"url":"/"}]}}`), "https://api.example/"},
	} {
		t.Run(name, func(t *testing.T) {
			used := heap(t, func() any {
				d, err := ReadDocument([]byte(x.text))
				if err != nil {
					t.Fatal(err)
				}
				tools, _ := d.Tools(All)
				from, _ := url.Parse("https://api.example/openapi.json")
				for _, one := range tools {
					u, err := one.serverOf(d, from, nil, nil)
					if err == nil && u.String() != x.want || err != nil && x.want != "" {
						t.Fatalf("%v, %v", u, err)
					}
				}
				return tools
			})
			if used > mostHeap {
				t.Errorf("it takes %d MB", used>>20)
			}
		})
	}
}

// TestSecurityIsBounded: a large scheme, and a long list of alternatives, are held once, whatever
// the number of operations.
func TestSecurityIsBounded(t *testing.T) { //nolint:paralleltest // it measures memory
	gatetest.NoRace(t)
	many := repeated(2000, func(i int) string { return fmt.Sprintf(`"/p%d":{"get":{}}`, i) })
	top := func(security, scheme string) string {
		return strings.Replace(hostile(many, `"securitySchemes":{"a":`+scheme+`}`), `"paths"`, `"security":`+security+`,"paths"`, 1)
	}
	const key = `{"type":"apiKey","in":"header","name":"X-Key"`
	for name, text := range map[string]string{
		"plain":       top(`[{"a":[]}]`, key+`}`),
		"large":       top(`[{"a":[]}]`, key+`,"description":"`+strings.Repeat("x", maxPart-1000)+`"}`),
		"a long list": top(`[`+repeated(60_000, func(int) string { return `{"a":["x"]}` })+`]`, key+`}`),
		"longer":      top(`[`+repeated(6_000_000, func(int) string { return "{}" })+`]`, key+`}`),
	} {
		t.Run(name, func(t *testing.T) {
			used := heap(t, func() any {
				d, err := ReadDocument([]byte(text))
				if err != nil {
					t.Fatal(err)
				}
				tools, _ := d.Tools(All)
				all := make([]offered, len(tools))
				for i, one := range tools {
					all[i] = offered{one, nil, d.alternatives(one)}
					if alternatives := all[i].alternatives; name != "longer" && (len(alternatives) == 0 || len(alternatives[0]) != 1) {
						t.Fatalf("%s asks for %v", one.Path, all[i].alternatives)
					}
				}
				return all
			})
			if used > mostHeap {
				t.Errorf("it takes %d MB", used>>20)
			}
		})
	}
}

// TestLongPath: an address that no server takes is no operation.
func TestLongPath(t *testing.T) {
	t.Parallel()
	for length, want := range map[int]int{1000: 2, maxPath: 2, maxPath + 1: 1} {
		d, err := ReadDocument([]byte(hostile(`"/`+strings.Repeat("p", length-1)+`":{"get":{}}`, "")))
		if err != nil {
			t.Fatal(err)
		}
		if tools, problems := d.Tools(All); len(tools) != want || len(tools)+len(problems) != 2 {
			t.Errorf("%d: %d tools, %q", length, len(tools), problems)
		}
	}
}

// TestDefinition: what a call sends, and with whose credentials, is a part of what a person agrees
// to.
func TestDefinition(t *testing.T) {
	t.Parallel()
	const start = `"/a":{"post":{"operationId":"a","security":[{"key":["read"]}],"x-llm":{"approval":"auto"},"parameters":[{"name":"n","in":"query","schema":{"type":"string"}}],
		"requestBody":{"content":{"application/json":{"schema":{"type":"object","properties":{"b":{"type":"array","items":{"type":"string"}}}}}}}}}`
	digest := func(paths, schemes string) string {
		d, err := ReadDocument([]byte(`{"openapi":"3.1.0","paths":{` + paths + `},"components":{"securitySchemes":{` + schemes + `}}}`))
		if err != nil {
			t.Fatal(err)
		}
		tools, problems := d.Tools(All)
		if len(tools) != 1 {
			t.Fatal(problems)
		}
		server, _ := url.Parse("https://api.example/")
		declared := tools[0].declaration("https://api.example", server, "API")
		declared.Sends = d.sends(tools[0])
		c, findings := bridge.NewCatalog(nil, []bridge.Declaration{declared}, bridge.Limits{})
		if c.Tool("a") == nil {
			t.Fatal(findings)
		}
		return c.Tool("a").Digest()
	}
	const key = `"key":{"type":"apiKey","in":"header","name":"X-Key"}`
	before := digest(start, key)
	if digest(start, key) != before || digest(strings.Replace(start, `{"approval":"auto"}`, `{ "approval" : "auto" }`, 1), key) != before {
		t.Error("it is not the same each time")
	}
	for _, x := range [][2]string{
		{`"in":"query"`, `"in":"header"`},
		{`"in":"query"`, `"in":"query","style":"pipeDelimited"`},
		{`"in":"query"`, `"in":"query","allowReserved":true`},
		{`"application/json"`, `"application/x-www-form-urlencoded"`},
		{`"security":[{"key":["read"]}]`, `"security":[]`},
		{`["read"]`, `["read","write"]`},
		{`"parameters":[`, `"parameters":[{"name":"Accept","in":"header","schema":{"const":"text/csv"}},`},
	} {
		changed := strings.Replace(start, x[0], x[1], 1)
		if changed == start || digest(changed, key) == before {
			t.Errorf("%s instead of %s changes nothing", x[1], x[0])
		}
	}
	if digest(start, `"key":{"type":"apiKey","in":"query","name":"X-Key"}`) == before {
		t.Error("another way to sign in changes nothing")
	}
}

// TestServersOfTheDocumentsOrigin: a server is of its document's origin however either is written.
func TestServersOfTheDocumentsOrigin(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		document, server string
		same             bool
	}{
		{"https://münchen.example/openapi.json", "https://xn--mnchen-3ya.example/api", true},
		{"https://xn--mnchen-3ya.example/openapi.json", "https://MÜNCHEN.example/api", true},
		{"https://api.example/openapi.json", "HTTPS://API.Example:443/v1", true},
		{"http://api.example/openapi.json", "http://api.example:80/v1", true},
		{"https://api.example/openapi.json", "https://api.example:/v1", true},
		{"http://[::1]:8080/openapi.json", "http://[0:0:0:0:0:0:0:1]:8080/v1", true},
		{"https://api.example/openapi.json", "https://ada:secret@api.example/v1", true},
		{"https://api.example/openapi.json", "https://api.example@evil.example/v1", false},
		{"https://api.example/openapi.json", "https://api.example.:443/v1", false},
		{"https://api.example/openapi.json", "http://api.example/v1", false},
		{"https://münchen.example/openapi.json", "https://munchen.example/api", false},
	} {
		d, err := ReadDocument([]byte(`{"openapi":"3.1.0","info":{"title":"A","version":"1"},"servers":[{"url":"` + x.server +
			`"}],"paths":{"/a":{"get":{"operationId":"a","responses":{"200":{"description":"ok"}}}}}}`))
		if err != nil {
			t.Fatal(err)
		}
		tools, _ := d.Tools(All)
		from, err := url.Parse(x.document)
		if err != nil || len(tools) != 1 {
			t.Fatal(err, tools)
		}
		if u, err := tools[0].serverOf(d, from, nil, nil); err == nil != x.same {
			t.Errorf("%s with the server %s: %v, %v", x.document, x.server, u, err)
		}
	}
}

package opentools

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"
)

// TestServersAreBounded: variables are filled once, whatever is in them, and many operations do not read
// a long list of servers many times.
func TestServersAreBounded(t *testing.T) { //nolint:paralleltest // it measures memory
	many := repeated(4000, func(i int) string { return fmt.Sprintf(`"/p%d":{"get":{}}`, i) })
	top := func(servers string) string {
		return strings.Replace(hostile(many, ""), `"paths"`, `"servers":`+servers+`,"paths"`, 1)
	}
	for name, x := range map[string]struct{ text, want string }{
		"one":         {top(`[{"url":"/{a}/x","variables":{"a":{"default":"{b}"},"b":{"default":"c"}}}]`), "https://api.example/%7Bb%7D/x"},
		"doubling":    {top(`[{"url":"` + strings.Repeat("{a}", 10_000) + `","variables":{"a":{"default":"` + strings.Repeat("a", 100_000) + `"}}}]`), ""},
		"a long list": {top(`[` + repeated(400_000, func(int) string { return `{"url":"http://other.example/"}` }) + `]`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			used := heap(t, func() any {
				d, err := ReadDocument([]byte(x.text))
				if err != nil {
					t.Fatal(err)
				}
				tools, _ := d.Tools(All)
				from, _ := url.Parse("https://api.example/openapi.json")
				for _, one := range tools {
					u, err := one.serverOf(d, from, nil)
					if err == nil && u.String() != x.want || err != nil && x.want != "" {
						t.Fatalf("%v, %v", u, err)
					}
				}
				return tools
			})
			if used > mostHeap || time.Since(began) > 10*time.Second {
				t.Errorf("it takes %d MB and %s", used>>20, time.Since(began))
			}
		})
	}
}

// TestSecurityIsBounded: a large scheme, and a long list of alternatives, are held once, whatever the
// number of operations.
func TestSecurityIsBounded(t *testing.T) { //nolint:paralleltest // it measures memory
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
			began := time.Now()
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
			if used > mostHeap || time.Since(began) > 10*time.Second {
				t.Errorf("it takes %d MB and %s", used>>20, time.Since(began))
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

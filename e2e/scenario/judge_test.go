package scenario_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	. "github.com/pagetools/pagetools/e2e/scenario"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	const (
		a        = `{"functionName":"a","arguments":{"n":{"$gt":1}}}`
		b        = `{"functionName":"b"}`
		optional = `{"functionName":"o","optional":true}`
	)
	for _, c := range []struct {
		expected, calls string // calls are names, and n after =
		why             string // "" when they are as expected
	}{
		{`[` + a + `,` + b + `]`, "a=2 b", ""},
		{`[` + a + `,` + b + `]`, "b a=2", `calls[0] is a call of "b", and must be one of "a".`},
		{`[` + a + `]`, "a=1", `calls[0] is a call of "a", and must be one of "a": n is 1, and must be greater than 1.`},
		{`[` + a + `,` + b + `]`, "a=2", `the call of "b" is missing.`},
		{`[` + a + `]`, "", `the call of "a" is missing.`},
		{`[` + a + `]`, "a=2 a=2", `calls[1] is a call of "a", and no more calls are expected.`},
		{`[]`, "a", `calls[0] is a call of "a", and no more calls are expected.`},
		{`null`, "", ""},
		{`null`, "a", `calls[0] is a call of "a", and no more calls are expected.`},
		{`[` + optional + `,` + b + `]`, "b", ""},
		{`[` + optional + `,` + b + `]`, "o b", ""},
		{`[` + optional + `]`, "o o", `calls[1] is a call of "o", and no more calls are expected.`},
		{`[{"unordered":[` + a + `,` + b + `,` + optional + `]}]`, "b a=3", ""},
		{`[{"unordered":[` + a + `,` + b + `,` + optional + `]}]`, "b o a=3", ""},
		{`[{"unordered":[{"functionName":"a"},` + a + `]}]`, "a=3 a=1", ""},
		{`[{"unordered":[{"ordered":[` + a + `,` + b + `]},{"functionName":"c"}]},{"functionName":"d"}]`, "c a=2 b d", ""},
		{`[{"unordered":[{"ordered":[` + a + `,` + b + `]},{"functionName":"c"}]}]`, "a=2 c b", `calls[1] is a call of "c", and must be one of "b".`},
		{`[{"unordered":[` + strings.Repeat(b+",", 19) + b + `]}]`, strings.TrimSpace(strings.Repeat("b ", 20)), ""},
		{`[{"unordered":[` + strings.Repeat(b+",", 19) + b + `]},` + a + `]`, strings.Repeat("b ", 20) + "b", "the expected calls can be made in too many orders to be judged."},
	} {
		f, err := ReadEvals("e", []byte(`[{"messages":[{"role":"user","type":"message"}],"expectedCall":`+c.expected+`}]`))
		if err != nil {
			t.Fatal(err)
		}
		var calls []ModelCall
		for _, word := range strings.Fields(c.calls) {
			name, n, _ := strings.Cut(word, "=")
			call := ModelCall{Name: name}
			if n != "" {
				call.Arguments = json.RawMessage(fmt.Sprintf(`{"n":%s}`, n))
			}
			calls = append(calls, call)
		}
		got := ""
		if m := f.Cases[0].Eval.Judge(calls); m != nil {
			got = m.Why
			if m.Expected == "" || m.Actual == "" {
				t.Errorf("%s: nothing is shown of %+v", c.calls, m)
			}
		}
		if got != c.why {
			t.Errorf("%s with %s: %s\nwant %s", c.expected, c.calls, got, c.why)
		}
	}
	f, err := ReadEvals("e", []byte(`[{"messages":[{"role":"user","type":"message"}],"expectedCall":[{"functionName":"a","result":{"ok":true}}]}]`))
	if err != nil {
		t.Fatal(err)
	}
	m := f.Cases[0].Eval.Judge([]ModelCall{{Name: "a", Result: json.RawMessage(`{"ok":false}`)}})
	if m == nil || !strings.Contains(m.Why, "result: ok is false, and must be true") {
		t.Errorf("a result that differs: %v", m)
	}
}

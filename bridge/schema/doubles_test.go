package schema

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// TestDoubles (A11): numbers are checked, shown and hashed as the page's JSON.parse reads them.
// Others are refused.
func TestDoubles(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":1,"b":[1.5,-0,0.1,1e21]}`: "", `9007199254740992`: "", `-9007199254740992`: "", `1e2`: "", `123456789012345678e-5`: `1234567890123.4568`,
		`9007199254740994`: "", `18014398509481984`: "", `1000000000000000000000`: "", `5e-324`: "", `1.7976931348623157e308`: "", `0e400`: "", `0.0`: "",
		`{ "a" : 0.1000000000000000055 , "b":[3e-324, "9007199254740993"] }`: `{ "a" : 0.1 , "b":[5e-324, "9007199254740993"] }`,
		`[9007199254740993.0]`: `[9007199254740992]`, `[0.30000000000000004,0.3000000000000000444]`: `[0.30000000000000004,0.30000000000000004]`,
		`[700000000000001000001e-0]`: `[7.00000000000001e+20]`, `700000000000001000001.0`: `7.00000000000001e+20`,
		`"text"`: "", `null`: "", `{}`: "",
	} {
		v, err := Read([]byte(in), 0)
		if err != nil {
			t.Fatal(err)
		}
		got, err := v.Doubles()
		if want == "" {
			want = in
		}
		if err != nil || string(got.Text()) != want {
			t.Errorf("%s is %s, %v; want %s", in, got.Text(), err, want)
		}
	}
	for in, want := range map[string]string{
		`{"a":[0,{"b/c":9007199254740993}]}`: "/a/1/b~1c: 9007199254740993 would be 9007199254740992", `[-9007199254740993]`: "/0: -9007199254740993 would be -9007199254740992",
		`1e309`: ": 1e309 is beyond", `[-1e400]`: "/0: -1e400 is beyond", `1e-400`: ": 1e-400 is not zero", `-2e-324`: ": -2e-324 is not zero",
		`1234567890123456789012`: " would be 1234567890123456", `9` + strings.Repeat("0", 400): "beyond",
	} {
		v, err := Read([]byte(in), 0)
		if err != nil {
			continue // of too many digits
		}
		_, err = v.Doubles()
		e, ok := errors.AsType[*SyntaxError](err)
		if !ok || !strings.Contains(e.Pointer+": "+e.Message, want) || len(e.Message) > 200 {
			t.Errorf("%s: %v, want %q", in, err, want)
		}
	}
}

// FuzzDoubles: the output equals what a decoder with doubles reads, and stays the same the second
// time.
func FuzzDoubles(f *testing.F) {
	for _, seed := range []string{`{"a":1}`, `[0.1000000000000000055,1e-320]`, `-0`, `123456789012345678e-5`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := Read([]byte(text), 0)
		if err != nil {
			return
		}
		got, err := v.Doubles()
		if err != nil {
			return
		}
		var before, after any
		if json.Unmarshal(v.Text(), &before) != nil {
			t.Fatalf("%s is beyond doubles", text)
		}
		_ = json.Unmarshal(got.Text(), &after)
		a, _ := json.Marshal(before)
		b, _ := json.Marshal(after)
		again, err := got.Doubles()
		if string(a) != string(b) || err != nil || string(again.Text()) != string(got.Text()) {
			t.Fatalf("%s became %s, then %s, %v", text, got.Text(), again.Text(), err)
		}
	})
}

package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pagetools/pagetools/bridge/text"
)

func TestCheckJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":[1,-0,1.5e3,"\ud83d\ude00",null,true]}`: "",
		" 1 \n":                      "",
		``:                           "it is empty",
		`  `:                         "it is empty",
		`{"a":1,"a":2}`:              "the same member name twice",
		`{"a":1,"\u0061":2}`:         "the same member name twice",
		`{"a":1,"A":2}`:              "",
		`{"\u0000":1}`:               "",
		"\"\xff\"":                   "not valid UTF-8",
		`"\ud800"`:                   "half of a surrogate pair",
		`{"\udc00":1}`:               "half of a surrogate pair",
		`1 2`:                        "something follows the value",
		`{}}`:                        "not valid JSON",
		`{"a":1`:                     "it ends too early",
		`01`:                         "something follows the value",
		`+1`:                         "not valid JSON",
		`NaN`:                        "not valid JSON",
		`{a:1}`:                      "not valid JSON",
		"\ufeff1":                    "not valid JSON",
		`1e400`:                      "",
		`1e401`:                      "a number with an exponent beyond 400",
		`1E-401`:                     "a number with an exponent beyond 400",
		`1e99999999999999999999`:     "a number with an exponent beyond 400",
		strings.Repeat("9", 400):     "",
		strings.Repeat("9", 401):     "a number with more than 400 digits",
		nested("[", "", "]", 200):    "",
		nested("[", "", "]", 201):    "nested more than 200 levels deep",
		nested("[", "", "]", 50_000): "nested more than 200 levels deep",
		strings.Repeat("[", 50_000):  "nested more than 200 levels deep",
	} {
		err := CheckJSON([]byte(in), 0)
		var syn *SyntaxError
		if got := errors.As(err, &syn); got != (want != "") || got && syn.Message != want {
			t.Errorf("%s: %v, want %q", text.Short(in, maxShown), err, want)
		}
		if _, perr := parse([]byte(in), 0); (perr == nil) != (err == nil) {
			t.Errorf("%s: parse %v, CheckJSON %v", text.Short(in, maxShown), perr, err)
		}
	}
	if CheckJSON([]byte(`[[]]`), 2) != nil || CheckJSON([]byte(`[[]]`), 1) == nil {
		t.Error("the depth that was asked for is not kept")
	}
}

func TestSyntaxErrorSaysWhere(t *testing.T) {
	var syn *SyntaxError
	if !errors.As(CheckJSON([]byte(`{"a":[0,{"b":1e999}]}`), 0), &syn) || syn.Pointer != "/a/1/b" || syn.Offset < 13 || syn.Offset > 18 {
		t.Errorf("%+v", syn)
	}
}

func TestCanonical(t *testing.T) {
	for in, want := range map[string]string{
		`{"b":1,"a":[ "\u0041\/\u000a\u0001é" ]}`:                                            `{"a":["A/\n\u0001é"],"b":1}`,
		`[1.0,1e2,1E21,100000000000000000000,-0,0.0,5e-324,0.000001,1e-7,123.4560e-2,-1.50]`: `[1,100,1e+21,100000000000000000000,0,0,5e-324,0.000001,1e-7,1.23456,-1.5]`,
		`[9007199254740993,9007199254740992,-9007199254740993.00]`:                           `[9007199254740993,9007199254740992,-9007199254740993]`,
		`1180591620717411303424`:                                                             `1.180591620717411303424e+21`,
		`1e400`:                                                                              `1e+400`,
		`0e400`:                                                                              `0`,
		"{\"\ufb33\":1,\"\U0001f600\":2,\"\u20ac\":3,\"1\":4,\"\u0080\":5}": "{\"1\":4,\"\u0080\":5,\"\u20ac\":3,\"\U0001f600\":2,\"\ufb33\":1}",
	} {
		got, err := Canonical([]byte(in))
		if err != nil || string(got) != want {
			t.Errorf("%s\n got %s %v\nwant %s", in, got, err, want)
		}
	}
	for _, bad := range []string{``, `{"a":1,"a":1}`, `"\ud800"`, nested("[", "", "]", 1001)} {
		if _, err := Canonical([]byte(bad)); err == nil {
			t.Errorf("%s has a canonical form", text.Short(bad, maxShown))
		}
	}
}

func FuzzCheckJSON(f *testing.F) {
	for _, s := range []string{`{"a":[1,"x",null]}`, `{"a":1,"a":2}`, `"\ud800"`, `1e401`, `[[[[`, "\xff", `-0.0E+0`, "\"\xff\"", ` {"a":"\ude00"} `, `1 2`, `"\x"`, "\"\n\""} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if Valid(b) != json.Valid(b) {
			t.Fatalf("Valid says %v", Valid(b))
		}
		err := CheckJSON(b, 50)
		v, perr := parse(b, 50)
		if (err == nil) != (perr == nil) {
			t.Fatalf("CheckJSON %v, parse %v", err, perr)
		}
		if err != nil {
			var syn *SyntaxError
			if !errors.As(err, &syn) || syn.Offset < 0 || syn.Offset > int64(len(b)) || len(syn.Pointer) > maxPointer {
				t.Fatalf("%#v", err)
			}
			return
		}
		if !jsontext.Value(b).IsValid() {
			t.Fatal("accepts what the decoder does not")
		}
		if again, err := parse(v.appendJSON(nil), 50); err != nil || !equal(v, again) {
			t.Fatalf("does not survive writing: %v", err)
		}
	})
}

func FuzzCanonical(f *testing.F) {
	for _, s := range []string{`{"b":1.50,"a":[1e21,9007199254740993,-0]}`, `5e-324`, `"\u2028\ud83d\ude00"`, `0.1e-399`,
		`{"\ue000":true,"\ud83d\ude00":[12,-7,false,null,"1e5 \"0.1\\"],"b":{}}`, `[123456789012345,1234567890123456]`, `[-0]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		once, err := Canonical(b)
		if err != nil {
			return
		}
		twice, err := Canonical(once)
		if err != nil || !bytes.Equal(twice, once) {
			t.Fatalf("%s becomes %s: %v", once, twice, err)
		}
		// Where every number is written as a double prints it, the RFC's own form is the same.
		rfc := jsontext.Value(append([]byte(nil), b...))
		if rfc.Canonicalize() != nil {
			return
		}
		if again, err := Canonical(rfc); err != nil || string(again) != string(rfc) {
			t.Fatalf("%s is canonical, but becomes %s: %v", rfc, again, err)
		}
		v, err := parse(b, canonicalDepth)
		if err != nil || string(v.appendCanonical(nil)) != string(once) { // the quick way is no other
			t.Fatalf("%s is not %s: %v", once, v.appendCanonical(nil), err)
		}
		if w, _ := parse(once, canonicalDepth); !equal(v, w) {
			t.Fatalf("%s changed to %s", b, once)
		}
	})
}

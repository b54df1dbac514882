package schema

import (
	"strings"
	"testing"
)

// TestValue: a value is read once, and every part of it keeps its own text.
func TestValue(t *testing.T) {
	t.Parallel()
	const text = "\n { \"a\" : [ 1.0 , {\"b\\u0041\":\"x\"} ] ,\t\"n\":null, \"s\" : \"é\\n\" } "
	v, err := Read([]byte(text), 0)
	if err != nil || string(v.Text()) != strings.TrimSpace(text) || !v.IsObject() || v.Len() != 3 || !v.Exists() {
		t.Fatalf("%q, %v", v.Text(), err)
	}
	var parts []string
	for name, x := range v.Members() {
		parts = append(parts, name+"="+string(x.Text()))
	}
	for x := range v.Get("a").Elements() {
		parts = append(parts, string(x.Text()))
		for name, y := range x.Members() {
			parts = append(parts, name+"="+string(y.Text())+" "+y.String())
		}
	}
	if got, want := strings.Join(parts, "|"), `a=[ 1.0 , {"b\u0041":"x"} ]|n=null|s="é\n"|1.0|{"b\u0041":"x"}|bA="x" x`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if !v.Get("n").IsNull() || v.Get("none").Exists() || v.Get("n").Get("x").Exists() || v.Get("s").String() != "é\n" {
		t.Error("a part is not what it is")
	}
	if got := string(v.Canonical()); got != `{"a":[1,{"bA":"x"}],"n":null,"s":"é\n"}` {
		t.Errorf("its canonical form is %s", got)
	}
	short, _ := Read([]byte(`{"s":"é\n","n":null,"a":[1,{"bA":"x"}]}`), 0)
	if !v.Equal(short) || v.Equal(v.Get("a")) {
		t.Error("equal values differ, or others do not")
	}
	drop := func(name string) bool { return name == "a" }
	if e, err := short.Edit(drop, Member{"z", []byte(`[true]`)}); err != nil || string(e.Text()) != `{"s":"é\n","n":null,"z":[true]}` {
		t.Errorf("edited it is %s, %v", e.Text(), err)
	}
	var none Value
	if none.Exists() || none.Text() != nil || none.Len() != 0 || none.Get("a").Exists() || none.Canonical() != nil || none.IsNull() {
		t.Error("no value is one")
	}
}

// TestReadReuses: reading leaves nothing of one value for the next.
func TestReadReuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"a":{"a":1}}`, `{"a":1,"a":2}`, `[`, `{"a":1}`, `"half \ud800"`, `{"b":{"b":[1,2,3]}}`} {
		for range 3 {
			v, err := Read([]byte(text), 0)
			if plain := CheckJSON([]byte(text), 0); (plain == nil) != (err == nil) || err == nil && string(v.Text()) != text {
				t.Errorf("%s: %s, %v; checked alone: %v", text, v.Text(), err, plain)
			}
		}
	}
}

// TestValueText: who appends to the text of a value does not change what it was read
// from.
func TestValueText(t *testing.T) {
	t.Parallel()
	from := []byte(`[1, 2] `)
	v, err := Read(from, 0)
	if err != nil {
		t.Fatal(err)
	}
	_ = append(v.Text(), 'x')
	for item := range v.Elements() {
		_ = append(item.Text(), 'x')
	}
	if string(from) != `[1, 2] ` {
		t.Errorf("it is %s", from)
	}
}

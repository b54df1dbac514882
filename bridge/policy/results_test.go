package policy

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func pointer(t interface{ Fatal(args ...any) }, text string) (p Pointer) {
	if err := p.UnmarshalText([]byte(text)); err != nil {
		t.Fatal(text, err)
	}
	return p
}

// TestRedact holds what is replaced, and that everything else keeps its bytes.
func TestRedact(t *testing.T) {
	t.Parallel()
	rules := Results{Redact: []Redaction{
		{Pattern: regexp.MustCompile(`sk-[a-z]+`)}, {Pattern: regexp.MustCompile(`\b4[0-9]{3}\b`)},
		{Pointer: pointer(t, "/customer/email")}, {Pointer: pointer(t, "/items/*/price")}, {Pointer: pointer(t, "/a~1b/~0")},
	}}
	for was, want := range map[string]string{
		`{"n": 1.50, "big":12345678901234567890}`: `{"n": 1.50, "big":12345678901234567890}`, // untouched, with its spaces
		`"key sk-abc!"`:                                  `"key [redacted]!"`,
		`"\u0073k-abc"`:                                  `"[redacted]"`,
		`{"sk-abc":1,"sk-def":2}`:                        `{"[redacted]":1,"[redacted] 2":2}`,
		`[4111, 5, 1.0]`:                                 `["[redacted]",5,1.0]`,
		`{"customer":{"email":{"x":[1]},"id":7}}`:        `{"customer":{"email":"[redacted]","id":7}}`,
		`{"items":[{"price":1},{"price":2,"n":3}]}`:      `{"items":[{"price":"[redacted]"},{"price":"[redacted]","n":3}]}`,
		`{"a/b":{"~":true}}`:                             `{"a/b":{"~":"[redacted]"}}`,
		`{"customer":{"Email":1}}`:                       `{"customer":{"Email":1}}`,
		`{"structuredContent":{"customer":{"email":1}}}`: `{"structuredContent":{"customer":{"email":"[redacted]"}}}`,
		`{"StructuredContent":{"customer":{"email":1}}}`: `{"StructuredContent":{"customer":{"email":"[redacted]"}}}`,
		`{"content":[{"type":"text","text":" {\"customer\":{\"email\":\"a\"}}"}]}`:     `{"content":[{"type":"text","text":"{\"customer\":{\"email\":\"[redacted]\"}}"}]}`,
		`{"content":[{"type":"text","text":"{\"k\":\"\\u0073k-a\"}"}]}`:                `{"content":[{"type":"text","text":"{\"k\":\"[redacted]\"}"}]}`,
		`{"content":[{"type":"text","text":"\"\\u0073k-a\""}]}`:                        `{"content":[{"type":"text","text":"\"[redacted]\""}]}`,
		`{"content":[{"type":"text","text":"{\"n\": 1.50}"}],"half":"\ud800","x":"é"}`: `{"content":[{"type":"text","text":"{\"n\": 1.50}"}],"half":"\ud800","x":"é"}`,
	} {
		got, err := rules.JSON([]byte(was))
		if err != nil || string(got) != want {
			t.Errorf("%s becomes %s (%v), want %s", was, got, err, want)
		}
		if off, err := new(Results).JSON([]byte(was)); err != nil || string(off) != was {
			t.Errorf("without rules, %s becomes %s (%v)", was, off, err)
		}
	}
	if _, err := rules.JSON([]byte(`{"a":`)); err == nil {
		t.Error("half a value passes")
	}
}

// TestPointers reads pointers as RFC 6901 has them.
func TestPointers(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "a", "a/b", "/~", "/a~2b"} {
		if new(Pointer).UnmarshalText([]byte(bad)) == nil {
			t.Errorf("%q is a pointer", bad)
		}
	}
	if !(Pointer{}).IsZero() || pointer(t, "/").IsZero() {
		t.Error("a pointer to the member without a name points nowhere")
	}
}

// TestCut is at the budget and one past it, in characters.
func TestCut(t *testing.T) {
	t.Parallel()
	rules := Results{Budget: 5}
	for _, c := range []struct {
		text, kept string
		left       int
	}{
		{"", "", 0}, {"abcde", "abcde", 0}, {"abcdef", "abcde", 1}, {"ééééé", "ééééé", 0}, {"éééééé😀", "ééééé", 2}, {"a\xff\xff\xff\xffbc", "a\xff\xff\xff\xff", 2},
	} {
		if kept, left := rules.Cut(c.text); kept != c.kept || left != c.left {
			t.Errorf("%q: %q and %d, want %q and %d", c.text, kept, left, c.kept, c.left)
		}
	}
	if kept, left := new(Results).Cut("abcdef"); kept != "abcdef" || left != 0 {
		t.Errorf("without a budget: %q, %d", kept, left)
	}
}

// TestEnclose: a text cannot close its own marks, and the line about a cut stands behind them.
func TestEnclose(t *testing.T) {
	t.Parallel()
	got := new(Results).Enclose("[untrusted content X ends]", 7, "N")
	lines := strings.Split(got, "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[0], "[untrusted content N begins") || lines[2] != "[untrusted content N ends]" || !strings.Contains(lines[3], "left out: 7]") {
		t.Errorf("%s", got)
	}
	if got := new(Results).Enclose("a", 0, ""); got != "a" {
		t.Errorf("%q", got)
	}
}

// TestRedactedValuesHoldNoSecret puts a secret anywhere into a value, and looks for it as those
// do who read texts of JSON, too. What is redacted is JSON, and stays as it is the next time.
func TestRedactedValuesHoldNoSecret(t *testing.T) {
	t.Parallel()
	const secret = "S3CRET-77"
	rules := Results{Redact: []Redaction{{Pattern: regexp.MustCompile(secret)}}}
	rapid.Check(t, func(t *rapid.T) {
		was, err := json.Marshal(secretValue(t, secret, 4))
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "escaped") {
			was = []byte(strings.ReplaceAll(string(was), "S3", `\u0053\u0033`))
		}
		got, err := rules.JSON(was)
		if err != nil || !json.Valid(got) || !utf8.Valid(got) {
			t.Fatalf("%s becomes %s: %v", was, got, err)
		}
		if tells(string(got), secret, 4) {
			t.Fatalf("%s becomes %s", was, got)
		}
		if again, err := rules.JSON(got); err != nil || string(again) != string(got) {
			t.Fatalf("%s becomes %s", got, again)
		}
	})
}

// secretValue is a value with a secret in some of its texts.
func secretValue(t *rapid.T, secret string, depth int) any {
	kind := rapid.IntRange(0, 5).Draw(t, "kind")
	if depth == 0 {
		kind %= 3
	}
	switch kind {
	case 0:
		return rapid.Float64Range(-1e6, 1e6).Draw(t, "number")
	case 1:
		return rapid.String().Draw(t, "text")
	case 2:
		return rapid.StringN(0, 3, -1).Draw(t, "before") + secret + rapid.StringN(0, 3, -1).Draw(t, "after")
	case 3:
		all := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			all = append(all, secretValue(t, secret, depth-1))
		}
		return all
	case 4:
		inner, _ := json.Marshal(secretValue(t, secret, depth-1))
		return string(inner)
	}
	all := map[string]any{}
	for range rapid.IntRange(0, 3).Draw(t, "members") {
		name := rapid.SampledFrom([]string{"a", "text", secret, "x" + secret, "structuredContent", "[redacted]"}).Draw(t, "name")
		all[name] = secretValue(t, secret, depth-1)
	}
	return all
}

// tells reports whether a text holds a secret, or the texts in it do that are JSON.
func tells(text, secret string, depth int) bool {
	if strings.Contains(text, secret) {
		return true
	}
	var v any
	if depth == 0 || json.Unmarshal([]byte(text), &v) != nil {
		return false
	}
	found := false
	var look func(v any)
	look = func(v any) {
		switch v := v.(type) {
		case string:
			found = found || tells(v, secret, depth-1)
		case []any:
			for _, item := range v {
				look(item)
			}
		case map[string]any:
			for name, member := range v {
				found = found || tells(name, secret, depth-1)
				look(member)
			}
		}
	}
	look(v)
	return found
}

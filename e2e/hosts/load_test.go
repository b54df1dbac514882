package hosts

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

func load(t testing.TB, files ...File) Set {
	t.Helper()
	set, err := Load(files...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestEmbedded(t *testing.T) {
	t.Parallel()
	set := load(t)
	want := []string{"anthropic-directory", "chatgpt", "chrome", "claude", "cursor", "gemini", "lighthouse",
		"mcp-registry", "openai-api", "vscode"}
	if got := set.Names(); !slices.Equal(got, want) {
		t.Errorf("the hosts are %v, want %v", got, want)
	}
	for _, h := range set.All() {
		if day, err := time.Parse(time.DateOnly, h.Date); err != nil || day.Year() < 2026 {
			t.Errorf("%s has the date %q", h.Name, h.Date)
		}
		if len(h.Source) == 0 || h.Title == "" || h.Note == "" {
			t.Errorf("%s needs a source, a title and a note", h.Name)
		}
		for _, source := range h.Source {
			if u, err := url.Parse(source); strings.Contains(source, "://") && (err != nil || u.Host == "") {
				t.Errorf("%s has the source %q", h.Name, source)
			}
		}
		if h.Reconstruction != (h.Name == "chatgpt") {
			t.Errorf("%s: reconstruction is %v", h.Name, h.Reconstruction)
		}
	}
}

func TestChatGPT(t *testing.T) {
	t.Parallel()
	h, err := load(t).Get("chatgpt")
	if err != nil {
		t.Fatal(err)
	}
	l := h.Limits
	if l.Tools.Max != 100 || l.Descriptor.Max != 65536 || l.Changes.Max != 10 || !h.Secure || !h.Surface.Frozen ||
		!slices.Equal(h.Surface.Methods, []string{"registerTool"}) || l.Tools.Over != RefusePage {
		t.Errorf("chatgpt is %+v", h)
	}
}

func TestGetNamesTheNearest(t *testing.T) {
	t.Parallel()
	set := load(t)
	_, err := set.Get("chatgtp")
	if err == nil || !strings.Contains(err.Error(), `unknown host "chatgtp"; did you mean chatgpt?`) ||
		!strings.Contains(err.Error(), "vscode") {
		t.Errorf("the error is %v", err)
	}
	if _, err := set.Get("mosaic"); err == nil || strings.Contains(err.Error(), "did you mean") {
		t.Errorf("the error is %v", err)
	}
}

// minimal is a host with a date and a source.
const minimal = "name: mine\ndate: 2026-11-23\nsource: [our own]\n"

func TestLoadChangesAndAdds(t *testing.T) {
	t.Parallel()
	changed := "name: chatgpt\ndate: 2026-12-01\nsource: [asked them]\nlimits: {tools: {max: 120}, changes: null}\n"
	set := load(t, File{"a.yaml", []byte(changed)}, File{"b.yaml", []byte(minimal)})
	h, err := set.Get("chatgpt")
	if err != nil {
		t.Fatal(err)
	}
	if h.Limits.Tools.Max != 120 || h.Limits.Tools.Over != RefusePage || h.Limits.Changes != nil ||
		h.Limits.Descriptor.Max != 65536 || h.Date != "2026-12-01" || h.Source[0] != "asked them" {
		t.Errorf("the changed host is %+v", h)
	}
	if _, err := set.Get("mine"); err != nil {
		t.Error(err)
	}
	if h, _ := load(t).Get("chatgpt"); h.Limits.Tools.Max != 100 || h.Limits.Changes == nil {
		t.Error("a file of a user changed the embedded host")
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	limit := func(text string) string { return minimal + "limits:\n  " + text + "\n" }
	const rest = ", over: warn, source: x}"
	for _, test := range []struct{ name, text, want string }{
		{"empty", "", "x.yaml: the file is empty"},
		{"no YAML", "a: [", "x.yaml: must be YAML"},
		{"two documents", minimal + "---\n" + minimal, "one document"},
		{"a list", "- a", "x.yaml:1:1: the host must be a mapping"},
		{"unknown key", minimal + "limts: {}", `x.yaml:4:1: unknown key "limts" in the host; did you mean limits?`},
		{"unknown limit", limit("tols: {max: 1" + rest), `x.yaml:5:3: unknown key "tols" in limits; did you mean tools?`},
		{"unknown in a limit", limit("tools: {mx: 1" + rest), `x.yaml:5:11: unknown key "mx" in tools; did you mean max?`},
		{"twice", minimal + "name: other", `x.yaml:4:1: the key "name" is there twice`},
		{"no number", limit("tools: {max: many" + rest), `x.yaml:5:16: invalid value "many" for max: must be a whole number`},
		{"no time", limit("call-time: {max: soon" + rest), `invalid value "soon" for max: must be a time, such as 60s`},
		{"no bool", minimal + "secure: maybe", `x.yaml:4:9: invalid value "maybe" for secure: must be true or false`},
		{"unknown over", limit("tools: {max: 1, over: drop-tols, source: x}"), `invalid value "drop-tols" for over; did you mean drop-tool?`},
		{"unknown dialog", minimal + "dialogs: [alert]", `invalid value "alert" for dialogs: must be one of confirm`},
		{"no list", minimal + "dialogs: confirm", "x.yaml:4:10: dialogs must be a list"},
		{"no value", minimal + "title: [a]", "x.yaml:4:8: title must be one value"},
		{"anchor", minimal + "title: &a b", "must not be an anchor"},
		{"no date", "name: mine\nsource: [x]", `invalid date "": must be the day`},
		{"no source", "name: mine\ndate: 2026-11-23", "source must not be empty"},
		{"override without a date", "name: chatgpt\nsource: [x]", "invalid date"},
		{"no name", "date: 2026-11-23\nsource: [x]", "the host has no name"},
		{"no limit", limit("tools: {over: warn, source: x}"), "limits.tools: needs max, min or pattern"},
		{"less than none", limit("tools: {max: -1" + rest), "numbers must be more than 0"},
		{"no source of a limit", limit("tools: {max: 1, over: warn}"), "limits.tools: source is missing"},
		{"no over", limit("tools: {max: 1, source: x}"), "over is missing: must be one of warn"},
		{"drops one of a list", limit("tools: {max: 1, over: drop-tool, source: x}"), "must not be drop-tool"},
		{"drops the rest of one", limit("name: {max: 1, over: drop-rest, source: x}"), "must not be drop-rest"},
		{"bad pattern", limit("name: {pattern: '(', over: warn, source: x}"), `invalid pattern "("`},
		{"pattern of a number", limit("tools: {pattern: x" + rest), "pattern must only be in name and property"},
		{"nothing counts", limit("descriptor-bytes: {max: 1" + rest), "of is missing"},
		{"what cannot count", limit("tools: {max: 1, of: [name]" + rest), "of must only be in descriptor-bytes"},
		{"unknown member", limit("descriptor-bytes: {max: 1, of: [nam]" + rest), "for of; did you mean name?"},
		{"no time limit", limit("call-time: {over: warn, source: x}"), "limits.call-time needs max"},
		{"keywords", minimal + "keywords: {root: [oneOf]}", "keywords needs over and source"},
		{"surface", minimal + "surface: {frozen: true}", "surface needs objects"},
		{"wants", minimal + "wants: [{any: [title]}]", "an entry of wants needs"},
		{"loses", minimal + "loses: [{source: x}]", "an entry of loses needs"},
		{"too long", minimal + strings.Repeat("#", mostBytes), "must be at most 65536"},
	} {
		_, err := Load(File{"x.yaml", []byte(test.text)})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: the error is %v, want %q", test.name, err, test.want)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(minimal))
	f.Add([]byte("name: chatgpt\ndate: 2026-12-01\nsource: [x]\nlimits: {tools: {max: 120}}\n"))
	f.Add([]byte("a: &a [*a]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		set, err := Load(File{"x.yaml", text})
		if err == nil && len(set.Names()) < 10 {
			t.Error("a host went away")
		}
	})
}

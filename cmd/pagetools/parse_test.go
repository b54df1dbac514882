package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestParseTarget(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, dir := range []string{"shop", "a=b", "Up", "www.example", "empty"} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if dir == "empty" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, "index.html"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		arg                       string
		name, url, origin, folder string
		problem                   string // part of the error
	}{
		{arg: "https://shop.example", url: "https://shop.example", origin: "https://shop.example"},
		{arg: "HTTPS://Shop.Example:443/a?b=c#d", url: "https://Shop.Example:443/a?b=c#d", origin: "https://shop.example"},
		{arg: "http://[::1]:8080/", url: "http://[::1]:8080/", origin: "http://[::1]:8080"},
		{arg: "shop=https://shop.example/", name: "shop", url: "https://shop.example/", origin: "https://shop.example"},
		{arg: "a_1=https://x.example/?q=1", name: "a_1", url: "https://x.example/?q=1", origin: "https://x.example"},
		{arg: "shop", folder: "shop"},
		{arg: "./shop/", folder: "./shop/"},
		{arg: "mine=shop", name: "mine", folder: "shop"},
		{arg: "./a=b", folder: "./a=b"},
		{arg: "a=b", problem: "b is neither"},
		{arg: "shop=", problem: "neither"},
		{arg: "Shop=shop", problem: "neither"},
		{arg: "1shop=shop", problem: "neither"},
		{arg: strings.Repeat("a", 33) + "=shop", problem: "neither"},
		{arg: strings.Repeat("a", 32) + "=shop", name: strings.Repeat("a", 32), folder: "shop"},
		{arg: "", problem: "neither"},
		{arg: "empty", problem: "no index.html"},
		{arg: "shop/index.html", problem: "not a folder"},
		{arg: "ftp://x.example/", problem: "only http and https"},
		{arg: "file:///etc/passwd", problem: "only http and https"},
		{arg: "chrome://version", problem: "only http and https"},
		{arg: "javascript:alert(1)", problem: "neither"},
		{arg: "https://", problem: "no host"},
		{arg: "https:///x", problem: "no host"},
		{arg: "https://%zz/", problem: "neither"},
		{arg: "--remote-debugging-port=1", problem: "neither"},
	}
	for _, test := range tests {
		got, err := parseTarget(test.arg)
		if test.problem != "" {
			if err == nil || !strings.Contains(err.Error(), test.problem) {
				t.Errorf("parseTarget(%q): %v, want a complaint with %q", test.arg, err, test.problem)
			}
			continue
		}
		if err != nil || got.name != test.name || got.url != test.url || got.origin != test.origin || got.folder != test.folder {
			t.Errorf("parseTarget(%q) = %+v, %v", test.arg, got, err)
		}
	}
}

func TestDefaultNames(t *testing.T) {
	t.Parallel()
	long := "https://" + strings.Repeat("a", 40) + ".example/"
	tests := []struct {
		targets []target
		want    []string
	}{
		{[]target{{url: "https://www.shop.example/"}}, []string{"shop_example"}},
		{[]target{{url: "http://127.0.0.1:80/"}}, []string{"site_127_0_0_1"}},
		{[]target{{url: "http://[::1]/"}}, []string{"site_1"}},
		{[]target{{url: "https://xn--bcher-kva.example/"}}, []string{"xn__bcher_kva_example"}},
		{[]target{{folder: "/srv/My App"}}, []string{"my_app"}},
		{[]target{{folder: "/"}}, []string{"site"}},
		{[]target{{folder: "/srv/…"}}, []string{"site"}},
		{[]target{{url: "https://a/"}, {url: "https://a/x"}, {name: "a_2", url: "https://a/y"}}, []string{"a", "a_3", "a_2"}},
		{[]target{{url: long}, {url: long}}, []string{strings.Repeat("a", 32), strings.Repeat("a", 30) + "_2"}},
	}
	for _, test := range tests {
		all := make([]*target, len(test.targets))
		for i := range test.targets {
			all[i] = &test.targets[i]
		}
		if err := nameAll(all); err != nil {
			t.Errorf("nameAll: %v", err)
			continue
		}
		for i, x := range all {
			if x.name != test.want[i] || !siteName.MatchString(x.name) {
				t.Errorf("the name of %+v is %q, want %q", test.targets[i], x.name, test.want[i])
			}
		}
	}
	if err := nameAll([]*target{{name: "a"}, {name: "a"}}); err == nil {
		t.Error("two sites may have one name")
	}
}

func TestParseOrigin(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"https://a.example": "https://a.example", "https://A.example:443/": "https://a.example", "http://a.example:8080": "http://a.example:8080",
		"*": "", "": "", "a.example": "", "ftp://a.example": "", "https://a.example/x": "", "https://a.example?x": "", "https://u@a.example": "", "https://:1": "",
	} {
		got, ok := parseOrigin(in)
		if got != want || ok != (want != "") {
			t.Errorf("parseOrigin(%q) = %q, %v", in, got, ok)
		}
	}
}

func TestReadInput(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"properties":{"s":{"type":"string"},"i":{"type":"integer"},"b":{"type":"boolean"},"o":{"type":"object"},"a":{"type":"array"},` +
		`"n":{"type":["string","null"]},"m":{"type":["integer","string"]},"x":{},"t":true}}`)
	tests := []struct {
		pair, want string
	}{
		{"s=1918", `{"s":"1918"}`}, {"s=", `{"s":""}`}, {"s=a=b", `{"s":"a=b"}`}, {`s="q"`, `{"s":"\"q\""}`}, {"s=null", `{"s":"null"}`},
		{"i=7", `{"i":7}`}, {"i=1e2", `{"i":1e2}`}, {"i=seven", ""}, {"i=", ""}, {`i="7"`, ""},
		{"b=true", `{"b":true}`}, {"b=yes", ""}, {`o={"k":1}`, `{"o":{"k":1}}`}, {"o=k", ""}, {"a=[1,2]", `{"a":[1,2]}`}, {"a=1,2", ""},
		{"n=null", `{"n":null}`}, {"n=text", `{"n":"text"}`}, {"m=7", `{"m":7}`}, {"m=seven", `{"m":"seven"}`},
		{"x=1918", `{"x":"1918"}`}, {"x=[1]", `{"x":[1]}`}, {"x=", `{"x":""}`}, {"t=z", `{"t":"z"}`}, {"unknown=1", `{"unknown":"1"}`},
		{"nothing", ""}, {"=x", ""},
	}
	for _, test := range tests {
		got, err := readInput(schema, "", []string{test.pair}, strings.NewReader(""))
		if (err != nil) != (test.want == "") || string(got) != test.want {
			t.Errorf("%s gives %s (%v), want %s", test.pair, got, err, test.want)
		}
	}
	got, err := readInput(schema, `{"i":1,"s":"a"}`, []string{"s=b", "s=c"}, nil)
	if err != nil || string(got) != `{"i":1,"s":"c"}` {
		t.Errorf("pairs over --input give %s (%v)", got, err)
	}
	got, err = readInput(schema, "-", nil, strings.NewReader(`{"i":2}`))
	if err != nil || string(got) != `{"i":2}` {
		t.Errorf("standard input gives %s (%v)", got, err)
	}
	for _, bad := range []string{"{", `{"a":1}{}`, `{"a":1,"a":2}`, "@/nowhere/x.json"} {
		if _, err := readInput(schema, bad, nil, nil); err == nil {
			t.Errorf("--input %s is taken", bad)
		}
	}
	if _, err := readInput(schema, "[]", []string{"s=b"}, nil); err == nil {
		t.Error("pairs are added to an array")
	}
}

func TestParameters(t *testing.T) {
	t.Parallel()
	got := parameters(json.RawMessage(`{"properties":{"z":{"type":"string","description":"d"},"a":{"type":["integer","null"]},"m":true},"required":["a"]}`))
	names := make([]string, 0, len(got))
	for _, p := range got {
		names = append(names, p.name)
	}
	if !slices.Equal(names, []string{"z", "a", "m"}) || got[0].description != "d" || !got[1].required || got[2].types[0] != "any" {
		t.Errorf("parameters gives %+v", got)
	}
	for _, odd := range []string{``, `null`, `[]`, `{"properties":7}`, `{"properties":[]}`, `{"properties":{"a":7}}`} {
		parameters(json.RawMessage(odd)) // must not panic
	}
}

package adapter_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/session/adapter"
)

// text is an adapter with lines of a header, without their //.
func text(lines ...string) string {
	return "// ==PagetoolsAdapter==\n// " + strings.Join(lines, "\n// ") + "\n// ==/PagetoolsAdapter==\nlet a = 1;\n"
}

func TestParse(t *testing.T) {
	t.Parallel()
	a, err := adapter.Parse("shop.js", []byte("\ufeff\n// a note\r\n"+text("@name        shop", "@version 1.2.0-rc.1+b", "words", "@description  Search\u202e and cart",
		"@match https://shop.example/*", "@frames all", "@run-at document-idle", "@author me")))
	if err != nil {
		t.Fatal(err)
	}
	if a.Name != "shop" || a.Version != "1.2.0-rc.1+b" || len(a.SHA256) != 64 || !a.Frames || a.At != "idle" || strings.Contains(a.Description, "\u202e") ||
		len(a.Ignored) != 1 || a.Ignored[0] != (adapter.Key{Name: "author", Line: 11}) {
		t.Errorf("it is %+v", a)
	}
	if strings.HasPrefix(a.Source(), "\ufeff") || strings.Count(a.Source(), "\n") != 13 {
		t.Errorf("the source is %q", a.Source())
	}
	if a, err = adapter.Parse("b.js", []byte(text("@name b", "@version 0.0.0"))); err != nil || a.Frames || a.At != "end" || a.Patterns() != nil {
		t.Errorf("without more: %+v, %v", a, err)
	}
}

// TestParseRefuses: each error names the file, the line where there is one, and what would be
// right.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	head := []string{"@name shop", "@version 1.0.0"}
	with := func(lines ...string) string { return text(append(head[:2:2], lines...)...) }
	for content, want := range map[string]string{
		"":                          "a.js: it has no header: begin the file with // ==PagetoolsAdapter==, // @name and // @version, and // ==/PagetoolsAdapter==",
		"let a = 1;\n" + with():     "a.js:1: the header must come first: begin the file with // ==PagetoolsAdapter==",
		"// ==PagetoolsAdapter==\n": "a.js: the header has no end: put // ==/PagetoolsAdapter== below it",
		"// ==PagetoolsAdapter==\nlet a;\n// ==/PagetoolsAdapter==": "a.js:2: a line of the header must be a comment, such as // @name shop",
		text("@version 1.0.0"):                    "a.js: the header has no @name: add // @name shop",
		text("@name shop"):                        "a.js: the header has no @version: add // @version 1.0.0",
		text("@name Shop"):                        `a.js:2: invalid value "Shop" for @name: must be a lower-case letter, then up to 31 of a-z, 0-9 and -`,
		text("@name a" + strings.Repeat("b", 32)): `for @name: must be`,
		text("@version 1.0"):                      `a.js:2: invalid value "1.0" for @version: must be a semantic version, such as 1.0.0`,
		text("@version v1.0.0"):                   `for @version`,
		text("@version 01.0.0"):                   `for @version`,
		with("@version 1.0.0"):                    "a.js:4: @version is there twice: remove one of them",
		with("@frames some"):                      `a.js:4: invalid value "some" for @frames: must be top or all`,
		with("@run-at context-menu"):              `a.js:4: invalid value "context-menu" for @run-at: must be document-start, document-end or document-idle`,
		with("@grant none"):                       "a.js:4: @grant is not possible: adapters load nothing, and have what the page has",
		with("words", "@require https://x/"):      "a.js:5: @require is not possible",
		with("@resource a https://x/"):            "a.js:4: @resource is not possible",
		with("@updateURL https://x/"):             "a.js:4: @updateURL is not possible",
		with("@match shop.example"):               `a.js:4: invalid value "shop.example" for @match: must be a pattern such as https://shop.example/*`,
		with(strings.Split(strings.Repeat("@match https://a.b/*,", 17), ",")[:17]...): "a.js:20: there are more than 16 lines with @match",
		with() + "\xff":                       "a.js: an adapter must be text in UTF-8",
		with() + strings.Repeat("x", 256<<10): "a.js: an adapter must have at most 262144 bytes, not 262",
	} {
		_, err := adapter.Parse("a.js", []byte(content))
		var wrong *adapter.HeaderError
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %s", content, err, want)
		}
	}
	whole := with()
	if _, err := adapter.Parse("a.js", []byte(whole+strings.Repeat("x", 256<<10-len(whole)))); err != nil {
		t.Errorf("at the limit: %v", err)
	}
}

// TestPatterns: patterns match as in browser extensions, and a host without a port means any.
func TestPatterns(t *testing.T) {
	t.Parallel()
	for pattern, pages := range map[string]struct{ match, other []string }{
		"https://shop.example/*": {[]string{"https://shop.example/", "https://shop.example/a?b=c", "https://shop.example:8443/"},
			[]string{"http://shop.example/", "https://www.shop.example/", "https://shop.example.evil.test/", "https://shopxexample/", "https://a.test/https://shop.example/"}},
		"https://*.shop.example/cart/*": {[]string{"https://shop.example/cart/", "https://a.b.shop.example/cart/1"},
			[]string{"https://eshop.example/cart/", "https://shop.example/cart", "https://shop.example/x/cart/"}},
		"*://*/*":                    {[]string{"http://a/", "https://b:1/c", "http://[::1]:80/"}, []string{"ftp://a/"}},
		"<all_urls>":                 {[]string{"http://a/", "https://b/"}, nil},
		"http://127.0.0.1:8099/a*b":  {[]string{"http://127.0.0.1:8099/ab", "http://127.0.0.1:8099/axxb"}, []string{"http://127.0.0.1/ab", "http://127.0.0.1:8099/abc"}},
		"https://shop.example:443/*": {[]string{"https://shop.example/"}, []string{"https://shop.example:444/"}},
		"*://shop.example:80/*":      {[]string{"http://shop.example/", "https://shop.example:80/"}, []string{"https://shop.example/"}},
		"https://SHOP.example:*/*":   {[]string{"https://shop.example/", "https://shop.example:1/"}, nil},
		"https://münchen.example/*":  {[]string{"https://xn--mnchen-3ya.example/"}, nil},
		"http://[::1]/*":             {[]string{"http://[::1]/", "http://[::1]:8080/x"}, []string{"http://[::2]/"}},
		"https://a.test/x.y?q=(1)*":  {[]string{"https://a.test/x.y?q=(1)2"}, []string{"https://a.test/xzy?q=(1)"}},
		"https://a.test/***x":        {[]string{"https://a.test/x", "https://a.test/yx"}, []string{"https://a.test/y"}},
	} {
		a, err := adapter.Parse("a.js", []byte(text("@name a", "@version 1.0.0", "@match "+pattern)))
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
			continue
		}
		is := regexp.MustCompile(a.Patterns()[0])
		for _, page := range pages.match {
			origin := strings.Join(strings.SplitN(page, "/", 4)[:3], "/")
			if !is.MatchString(page) || !a.Reaches(origin) {
				t.Errorf("%s does not match %s, %t", pattern, page, a.Reaches(origin))
			}
		}
		for _, page := range pages.other {
			if is.MatchString(page) {
				t.Errorf("%s matches %s", pattern, page)
			}
		}
	}
	for _, pattern := range []string{"", "*", "shop.example/*", "https://shop.example", "ftp://a/*", "file:///*", "https://a*.b/*", "https://*.*/*", "https:///*",
		"https://*./*", "https://a:b/*", "https://a:70000/*", "https://a:/*", "https://u@a/*", "https://a/#b", "https://[::1/*", "https://*.[::1]/*", "https://a b/*", "javascript:*"} {
		if _, err := adapter.Parse("a.js", []byte(text("@name a", "@version 1.0.0", "@match "+pattern))); err == nil {
			t.Errorf("%q is a pattern", pattern)
		}
	}
}

// TestCheck: adapters of one site have names of their own, and are not too many.
func TestCheck(t *testing.T) {
	t.Parallel()
	var all []*adapter.Adapter
	for i := range adapter.MaxSite + 1 {
		a, err := adapter.Parse(fmt.Sprintf("%d.js", i), []byte(text(fmt.Sprintf("@name a%d", i), "@version 1.0.0")))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, a)
	}
	if err := adapter.Check(all[1:]); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	if err := adapter.Check(all); err == nil || err.Error() != "a site may have at most 8 adapters, not 9" {
		t.Errorf("beyond it: %v", err)
	}
	if err := adapter.Check([]*adapter.Adapter{all[0], all[0]}); err == nil || err.Error() != "0.js and 0.js have the same @name a0: give one of them another" {
		t.Errorf("twice: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(text("@name a", "@version 1.0.0", "@match https://*.a.test:8/x*")))
	f.Add([]byte("// ==PagetoolsAdapter==\n// @match *://[::1]/*"))
	f.Fuzz(func(t *testing.T, content []byte) {
		a, err := adapter.Parse("a.js", content)
		if err != nil {
			return
		}
		for _, p := range a.Patterns() {
			regexp.MustCompile(p)
		}
		a.Reaches("https://a.test")
	})
}

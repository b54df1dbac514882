package report

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/pagetools/pagetools/e2e/check"
)

// ours are the elements of the page, and the attributes that they have.
var ours = map[string][]string{
	"html": {"lang"}, "head": nil, "meta": {"charset", "http-equiv", "content", "name"}, "title": nil, "style": nil,
	"body": nil, "header": nil, "main": nil, "section": {"aria-labelledby"}, "h1": nil, "h2": {"id"}, "h3": nil, "h4": nil,
	"p": {"class"}, "span": {"class"}, "ul": nil, "li": nil, "a": {"href"}, "br": nil, "code": nil, "pre": nil, "details": {"open"},
	"summary": nil, "dl": nil, "dt": nil, "dd": nil, "mark": nil, "figure": nil, "figcaption": nil, "img": {"src", "alt"},
}

// strange returns what in a page is not ours.
func strange(text string) (all []string) {
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		return []string{err.Error()}
	}
	for n := range root.Descendants() {
		if n.Type == html.CommentNode {
			all = append(all, "a comment: "+n.Data)
		}
		if n.Type != html.ElementNode {
			continue
		}
		attributes, known := ours[n.Data]
		if !known {
			all = append(all, "the element "+n.Data)
		}
		for _, a := range n.Attr {
			switch {
			case !slices.Contains(attributes, a.Key):
				all = append(all, "the attribute "+a.Key+" of "+n.Data)
			case a.Key == "href" && !regexp.MustCompile(`^(https://github\.com/pagetools/pagetools/blob/main/docs/rules/[a-z0-9-]+\.md|[\w.-][\w./-]*/trace\.zip)$`).MatchString(a.Val):
				all = append(all, "a link to "+a.Val)
			case a.Key == "src" && !strings.HasPrefix(a.Val, "data:image/png;base64,"):
				all = append(all, "a picture from "+a.Val)
			}
		}
	}
	return all
}

func TestHTMLIsOurs(t *testing.T) {
	t.Parallel()
	text := written(t, "html", rich())
	if found := strange(text); len(found) > 0 {
		t.Error(found)
	}
	for _, bad := range []string{"<script>", "<p onclick=x>", "<a href=http://x>", "<img src=x>", "<!--x-->", "<b>"} {
		if len(strange(strings.Replace(text, "<main>", "<main>"+bad, 1))) == 0 {
			t.Errorf("the test does not see %s", bad)
		}
	}
	if n := strings.Count(text, "<img "); n != 1 {
		t.Errorf("%d pictures, want the one that is a PNG", n)
	}
	for _, want := range []string{"<h1>", "<main>", "<header>", `<html lang="en">`, `alt="The page before the step"`} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %s", want)
		}
	}
}

func TestHTMLPolicyHasTheStyle(t *testing.T) {
	t.Parallel()
	root, err := html.Parse(strings.NewReader(written(t, "html", rich())))
	if err != nil {
		t.Fatal(err)
	}
	policy, css := "", ""
	for n := range root.Descendants() {
		if n.Data == "meta" && len(n.Attr) == 2 && n.Attr[0].Val == "Content-Security-Policy" {
			policy = n.Attr[1].Val
		}
		if n.Type == html.ElementNode && n.Data == "style" {
			css = n.FirstChild.Data
		}
	}
	sum := sha256.Sum256([]byte(css))
	if !strings.Contains(policy, "default-src 'none'") || css == "" ||
		!strings.Contains(policy, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'") {
		t.Errorf("the policy is %s", policy)
	}
}

// luminance returns the luminance of WCAG 2 of a color such as #1b1d22.
func luminance(t *testing.T, color string) float64 {
	t.Helper()
	n, err := strconv.ParseUint(strings.TrimPrefix(color, "#"), 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	part := func(c uint64) float64 {
		v := float64(c&0xff) / 255
		if v <= 0.04045 {
			return v / 12.92
		}
		return math.Pow((v+0.055)/1.055, 2.4)
	}
	return 0.2126*part(n>>16) + 0.7152*part(n>>8) + 0.0722*part(n)
}

func TestContrast(t *testing.T) {
	t.Parallel()
	schemes := strings.Split(style, "prefers-color-scheme: dark")
	if len(schemes) != 2 {
		t.Fatalf("there are %d schemes", len(schemes))
	}
	for i, css := range schemes {
		colors := map[string]string{}
		for _, m := range regexp.MustCompile(`--(\w+): (#[0-9a-f]{6})`).FindAllStringSubmatch(css, -1) {
			colors[m[1]] = m[2]
		}
		for _, text := range []string{"text", "quiet", "error", "warning", "info", "good"} {
			for _, back := range []string{"back", "raised"} {
				a, b := luminance(t, colors[text]), luminance(t, colors[back])
				if ratio := (max(a, b) + 0.05) / (min(a, b) + 0.05); ratio < 4.5 {
					t.Errorf("scheme %d: %s on %s has the contrast %.2f", i, text, back, ratio)
				}
			}
		}
	}
}

func FuzzFormats(f *testing.F) {
	for _, seed := range []string{
		"plain", "]]></script><script>alert(1)</script>", "\x1b[31m", "%0A::error::x", "\u202e\u200b", "a\nb\r\n::error::c", "\x00\xff\xfe",
		"<!--", "&lt;", "\\", "# SKIP", "...\n---", "\ufffe\uffff", "javascript:alert(1)", "http://%zz", "`````", "##[error]x", "\u2028",
	} {
		f.Add(seed, seed)
	}
	official := sarifSchemas(f)
	xsd := readXSD(f)
	f.Fuzz(func(t *testing.T, a, b string) {
		run := &Run{
			Command: a, Version: b, Started: time.Unix(0, 0), Sites: []Site{{a, b, 1}}, Notes: []string{a}, Rules: []Rule{{ID: b, What: a}},
			Findings: []check.Finding{
				{Rule: a, Severity: check.Error, Message: b, Fix: a, Where: check.Where{Target: b, Page: a, Frame: b, Tool: a, Pointer: b,
					Script: &check.Position{URL: a, Line: 1, Column: 2}}},
				{Rule: b, Severity: check.Severity(a), Message: a},
			},
			Cases: []Case{
				{File: a, Line: 1, Name: b, Door: a, Status: Failed, Tags: []string{a}, Steps: []Step{{Name: b, Status: Passed}}, Trace: b,
					Failure: &Failure{Step: a, Message: b, Path: a, Expected: b, Actual: a, Console: []string{b}, Requests: []string{a},
						Before: []byte(a), BeforePath: b, AfterPath: a, Again: b}},
				{File: b, Name: a, Status: Skipped, Reason: b},
			},
		}
		if !json.Valid([]byte(written(t, "json", run))) {
			t.Error("the JSON does not parse")
		}
		for _, s := range official {
			if err := s.Validate([]byte(written(t, "sarif", run))); err != nil {
				t.Errorf("SARIF: %v", err)
			}
		}
		n, err := parseXML(written(t, "junit", run))
		if err == nil {
			err = validate(xsd, n)
		}
		if err != nil {
			t.Errorf("JUnit: %v", err)
		}
		if found := strange(written(t, "html", run)); len(found) > 0 {
			t.Errorf("HTML: %v", found)
		}
		commands := strings.Split(strings.TrimSuffix(written(t, "github", run), "\n"), "\n")
		known := 2 // the first finding and the case
		if commandOf := commands[0]; !strings.HasPrefix(commandOf, "::error ") {
			t.Errorf("the command is %q", commandOf)
		}
		if check.Severity(a) == check.Error || check.Severity(a) == check.Warning || check.Severity(a) == check.Info {
			known++
		}
		if len(commands) != known {
			t.Errorf("%d commands are %d lines: %q", known, len(commands), commands)
		}
		for _, name := range []string{"list", "tap", "markdown"} {
			if strings.ContainsAny(written(t, name, run), "\x1b\x00\r\u202e\u2028") {
				t.Errorf("%s has what a terminal obeys", name)
			}
		}
	})
}

// TestHTMLLinksTraces: a trace is linked from where the report is, when nothing in its path is another
// address.
func TestHTMLLinksTraces(t *testing.T) {
	t.Parallel()
	for trace, want := range map[string]string{
		"test-results/a-1/trace.zip": "../test-results/a-1/trace.zip", "out/html/b/trace.zip": "html/b/trace.zip", "": "",
		"test-results/a-1/other.zip": "", "a b/trace.zip": "", "javascript:alert(1)/trace.zip": "", "//evil.example/trace.zip": "",
		"/somewhere/trace.zip": "",
	} {
		if got := link("out", trace); got != want {
			t.Errorf("%q is linked as %q, want %q", trace, got, want)
		}
	}
}

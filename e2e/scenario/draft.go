package scenario

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/e2e/check"
)

// Draft holds the contents of a first scenario file.
type Draft struct {
	// Dir is the folder of the app, relative to the file, or URL its address. Exactly one is set.
	Dir, URL string
	// Adapters are scripts that add tools to the app, relative to the file.
	Adapters []string
	// Lock is the lock file, relative to the file; "" is none.
	Lock string
	// Pages are pages of the app with their tools; one at least has a tool.
	Pages []DraftPage
}

// DraftPage is a page of a draft.
type DraftPage struct {
	// Path says where it is, such as /cart; "" is the first page of the app.
	Path  string
	Tools []check.Tool
}

// Text returns the file: for each page a case that expects its tools, and one for each tool that
// only reads, with the first arguments of [schema.Samples]. A tool that several pages have is
// called in the first. Tools that change something, and those without such arguments, are cases in
// comments at the end. [Read] reads the text. An error says what it lacks.
func (d Draft) Text() ([]byte, error) {
	var cases, later []*yaml.Node
	called := map[string]bool{}
	for _, page := range d.Pages {
		if len(page.Tools) == 0 {
			continue
		}
		more, after := page.cases(called)
		cases, later = append(cases, more...), append(later, after...)
	}
	if len(cases) == 0 {
		return nil, errors.New("there are no tools: a scenario needs one")
	}
	return d.written(cases, later)
}

// cases returns the cases of a page, and those that its author has to complete. What was called is
// not called again.
func (page *DraftPage) cases(called map[string]bool) (cases, later []*yaml.Node) {
	var names []string
	for i := range page.Tools {
		t := &page.Tools[i]
		names = append(names, t.Name)
		if called[t.Name] {
			continue
		}
		called[t.Name] = true
		var arguments json.RawMessage
		made := false
		if all := schema.Samples(t.Input, false); len(all) > 0 && fits(all[0].Input) {
			arguments, made = all[0].Input, all[0].Invented
		}
		if reads := readsOnly(t); reads && arguments != nil {
			cases = append(cases, caseOf(page.Path, t.Name, arguments, made, false))
		} else {
			later = append(later, caseOf(page.Path, t.Name, arguments, made, !reads))
		}
	}
	slices.Sort(names)
	list := inline(listOf())
	for _, name := range names {
		list.Content = append(list.Content, wordOf(name))
	}
	name := "has its tools"
	if page.Path != "" {
		name = page.Path + " " + name
	}
	first := mapping("name", name, "steps", steps(page.Path, mapping("tools", mapping("exactly", list))))
	return append([]*yaml.Node{first}, cases...), later
}

// steps returns a step in the page at a path.
func steps(path string, step *yaml.Node) *yaml.Node {
	if path == "" {
		return listOf(step)
	}
	return listOf(mapping("open", textOf(path)), step)
}

// written returns the file with its cases.
func (d Draft) written(cases, later []*yaml.Node) ([]byte, error) {
	text, err := encodeYAML(mapping("site", siteOf(d.Dir, d.URL, d.Adapters...), "lock", d.Lock,
		"cases", listOf(cases...)))
	if err != nil {
		return nil, err
	}
	out := []byte("# Tests of the tools of a web app. Each case starts with a fresh page. " +
		"pagetools init wrote the first ones:\n# add what the results must be, as expect.\n" +
		string(text))
	if len(later) == 0 {
		return out, d.check(out)
	}
	comments, err := encodeYAML(listOf(later...))
	if err != nil {
		return nil, err
	}
	out = append(out, "\n  # These change something, or nothing says with which arguments they work. "+
		"Complete them,\n  # and take the \"# \" away.\n"...)
	for line := range strings.Lines(string(comments)) {
		out = append(out, "  # "+line...)
	}
	return out, d.check(out)
}

// check reads what was written: a file that we cannot read must not be written.
func (d Draft) check(text []byte) error {
	if _, err := Read("the draft", text); err != nil {
		return fmt.Errorf("the scenario cannot be written as a file: %w", err)
	}
	return nil
}

// caseOf is a case that calls a tool. A person is asked before calls that change something.
func caseOf(path, name string, arguments []byte, made, asks bool) *yaml.Node {
	var human, with *yaml.Node
	if asks {
		on := inline(mapping("kind", "approve", "tool", name))
		human = listOf(mapping("on", on, "answer", "accept"))
	}
	key := wordOf("with")
	switch v := ReadAgain(arguments); {
	case !v.Exists():
		key.HeadComment = "nothing says which arguments work: write them"
		with = inline(mapping())
	case v.Len() > 0:
		if with = nodeOf(v); made {
			key.HeadComment = "made up: write what the site has"
		}
	}
	return mapping("name", name+" answers", "human", human,
		"steps", steps(path, mapping("call", name, key, with)))
}

func siteOf(dir, url string, adapters ...string) *yaml.Node {
	var scripts *yaml.Node
	if len(adapters) == 1 {
		scripts = wordOf(adapters[0])
	} else if len(adapters) > 1 {
		scripts = inline(listOf())
		for _, name := range adapters {
			scripts.Content = append(scripts.Content, wordOf(name))
		}
	}
	return mapping("dir", dir, "url", strings.ReplaceAll(url, "${", "$${"), "adapter", scripts)
}

// readsOnly reports whether the page says that a tool changes nothing. What a frame says does not
// count.
func readsOnly(t *check.Tool) bool {
	return t.Frame == "" && string(ReadAgain(t.Annotations).Get("readOnlyHint").Text()) == "true"
}

// fits reports whether arguments stay the same when they are written as YAML and read.
func fits(arguments []byte) bool {
	want := ReadAgain(arguments)
	text, err := encodeYAML(mapping("site", siteOf("", "https://shop.example/"), "cases",
		listOf(caseOf("", "x", arguments, false, false))))
	if err != nil {
		return false
	}
	f, err := Read("x", text)
	if err != nil {
		return false
	}
	with := f.Cases[0].Steps[0].With
	if !with.Exists() {
		return want.Exists() && want.Len() == 0
	}
	scope := &Scope{}
	if with, err = scope.Expand(with); err != nil {
		return false
	}
	got, err := with.JSON()
	return err == nil && want.Exists() && ReadAgain(got).Equal(want)
}

// mapping makes an object of keys and values: nodes, or words. It leaves out what is nil or "".
func mapping(pairs ...any) *yaml.Node {
	node := func(x any) *yaml.Node {
		n, _ := x.(*yaml.Node)
		if text, _ := x.(string); text != "" {
			n = wordOf(text)
		}
		return n
	}
	n := &yaml.Node{Kind: yaml.MappingNode}
	for i := 1; i < len(pairs); i += 2 {
		if held := node(pairs[i]); held != nil {
			n.Content = append(n.Content, node(pairs[i-1]), held)
		}
	}
	return n
}

func inline(n *yaml.Node) *yaml.Node {
	n.Style = yaml.FlowStyle
	return n
}

func listOf(items ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.SequenceNode, Content: items}
}

// wordOf is a text that stays one, whatever it looks like.
func wordOf(words string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(words)
	if strings.ContainsFunc(words, text.Invisible) {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// textOf is a text in which nothing is a reference or a matcher.
func textOf(text string) *yaml.Node {
	if strings.HasPrefix(text, "$") && strings.Trim(text, "$") == "any" {
		return wordOf("$" + text)
	}
	return wordOf(strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "${", "$${"))
}

// nodeOf is a value of JSON in which nothing is a reference.
func nodeOf(v schema.Value) *yaml.Node {
	return yamlOf(v, nil, func(schema.Value) yaml.Style { return yaml.FlowStyle },
		func(schema.Value, path) (*yaml.Node, bool) { return nil, false })
}

// yamlOf is a value of JSON at a path, in which nothing is a reference or a matcher, with lists and
// objects in a style. special returns what is written in the place of a part, nil for nothing, and
// whether there is such.
func yamlOf(v schema.Value, at path, style func(schema.Value) yaml.Style,
	special func(schema.Value, path) (*yaml.Node, bool)) *yaml.Node {
	if n, is := special(v, at); is {
		return n
	}
	switch {
	case v.IsString():
		return textOf(v.String())
	case v.IsArray():
		n := &yaml.Node{Kind: yaml.SequenceNode, Style: style(v)}
		for item := range v.Elements() {
			n.Content = append(n.Content, yamlOf(item, at.to(len(n.Content)), style, special))
		}
		return n
	case v.IsObject():
		n := &yaml.Node{Kind: yaml.MappingNode, Style: style(v)}
		for name, item := range v.Members() {
			held := yamlOf(item, at.to(name), style, special)
			if strings.HasPrefix(name, "$") {
				name = "$" + name
			}
			if held != nil {
				n.Content = append(n.Content, wordOf(name), held)
			}
		}
		return n
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: string(v.Text())}
}

// encodeYAML writes a document. What cannot be seen is an escape.
func encodeYAML(n *yaml.Node) ([]byte, error) {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	const indent = 2
	enc.SetIndent(indent)
	if err := enc.Encode(n); err != nil {
		return nil, err
	}
	var out strings.Builder
	for _, r := range b.String() {
		switch {
		case r == '\n' || !text.Invisible(r):
			out.WriteRune(r)
		case r > 0xFFFF:
			fmt.Fprintf(&out, `\U%08x`, r)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return []byte(out.String()), enc.Close()
}

package clients

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
	"github.com/tailscale/hujson"
)

// This file edits one table of a TOML file as text: go-toml decides what the file
// says, before and after, and where its statements are. It cannot write a file
// again without losing the comments.

var errOtherWay = errors.New("describes that server in another way than with a table of its own")

// editTOML puts the server's table into the text of a client's file, as editJSON does.
func editTOML(text string, c *Client, s Server) (string, error) {
	bare, marked := strings.CutPrefix(text, "\ufeff")
	doc, err := readTOML(bare)
	if err != nil {
		return "", err
	}
	t := tomlEdit{text: bare, path: []string{c.key, s.Name}, newline: "\n"}
	if strings.Contains(bare, "\r\n") {
		t.newline = "\r\n"
	}
	table := tomlTable(c.key, s.Name, c.entry(s), t.newline)
	var out string
	if old, there := under(doc, c.key)[s.Name]; !there {
		out = appended(bare, table, t.newline)
	} else if out, err = t.replace(old, table, s); err != nil {
		return "", err
	}
	if _, err := readTOML(out); err != nil {
		return "", errOtherWay // such as mcp_servers = {}: nothing can be added to it
	}
	if marked {
		out = "\ufeff" + out
	}
	return out, nil
}

func readTOML(text string) (doc map[string]any, err error) {
	err = toml.Unmarshal([]byte(text), &doc)
	var at *toml.DecodeError
	switch {
	case errors.As(err, &at):
		line, _ := at.Position()
		return nil, fmt.Errorf("is not TOML: line %d: %s", line, strings.TrimPrefix(at.Error(), "toml: "))
	case err != nil:
		return nil, fmt.Errorf("is not TOML: %w", err)
	}
	return doc, nil
}

func under(doc map[string]any, key string) map[string]any {
	table, _ := doc[key].(map[string]any)
	return table
}

// appended puts a table at the end, after an empty line.
func appended(text, table, newline string) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += newline
	}
	if strings.TrimSpace(text) != "" {
		text += newline
	}
	return text + table
}

// tomlEdit is a text in which the table at path is written anew.
type tomlEdit struct {
	text    string
	path    []string
	newline string
	after   int      // the line behind the table's header; 0 when there is none
	ours    [][2]int // what says where the server is: lines from, to
	comment []int    // where comments begin
}

// replace writes our keys anew, right below the header. The others stay.
func (t *tomlEdit) replace(old any, table string, s Server) (string, error) {
	was, ok := old.(map[string]any)
	if !ok {
		return "", errForeign // [[mcp_servers.NAME]]
	}
	if t.look(); t.after == 0 {
		return "", errOtherWay
	}
	command, _ := was["command"].(string)
	address, _ := was["url"].(string)
	if !s.isOurs(command, address) {
		return "", errForeign
	}
	now, err := readTOML(table)
	if err != nil {
		return "", err
	}
	for key := range was {
		if !slices.Contains(entryKeys, key) {
			delete(was, key)
		}
	}
	if reflect.DeepEqual(was, under(now, t.path[0])[t.path[1]]) {
		return t.text, nil
	}
	_, keys, _ := strings.Cut(table, "\n")
	var out strings.Builder
	at := 0
	cuts := slices.Concat(t.ours, [][2]int{{t.after, t.after}})
	slices.SortFunc(cuts, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	for _, cut := range cuts {
		if slices.ContainsFunc(t.comment, func(c int) bool { return c >= cut[0] && c < cut[1] }) {
			return "", errComments
		}
		out.WriteString(t.text[at:cut[0]])
		if cut[0] == t.after {
			out.WriteString(keys)
			keys = ""
		}
		at = cut[1]
	}
	return out.String() + t.text[at:], nil
}

// look finds the table and the comments. The text is known to be TOML.
func (t *tomlEdit) look() {
	p := unstable.Parser{KeepComments: true}
	p.Reset([]byte(t.text))
	var table []string
	n := len(t.path)
	for p.NextExpression() {
		e := p.Expression()
		t.comments(e)
		if e.Kind == unstable.Comment {
			continue
		}
		path, from, to := []string{}, len(t.text), 0
		for keys := e.Key(); keys.Next(); {
			k := keys.Node()
			path = append(path, string(k.Data))
			from, to = min(from, int(k.Raw.Offset)), max(to, int(k.Raw.Offset+k.Raw.Length))
		}
		if e.Kind == unstable.KeyValue {
			path, to = slices.Concat(table, path), int(e.Raw.Offset+e.Raw.Length)
		} else {
			table = path
		}
		from, to = strings.LastIndexByte(t.text[:from], '\n')+1, t.lineEnd(to)
		switch {
		case len(path) < n || !slices.Equal(path[:n], t.path):
		case len(path) == n && e.Kind == unstable.Table:
			t.after = to
		case len(path) == n || !slices.Contains(entryKeys, path[n]):
		case e.Kind == unstable.KeyValue && len(table) > n: // of a table that goes, such as its env
			t.ours[len(t.ours)-1][1] = to
		default:
			t.ours = append(t.ours, [2]int{from, to})
		}
	}
}

// comments notes the comments of a statement: behind it, and in its arrays.
func (t *tomlEdit) comments(n *unstable.Node) {
	for ; n != nil; n = n.Next() {
		if n.Kind == unstable.Comment {
			t.comment = append(t.comment, int(n.Raw.Offset))
		}
		t.comments(n.Child())
	}
}

// lineEnd is behind the end of the line.
func (t *tomlEdit) lineEnd(at int) int {
	if n := strings.IndexByte(t.text[at:], '\n'); n >= 0 {
		return at + n + 1
	}
	return len(t.text)
}

// tomlTable writes the table of a server, whose keys need no quotes. go-toml would
// choose other quotes, and leave characters that nobody sees.
func tomlTable(key, name string, e entry, newline string) string {
	out := "[" + key + "." + name + "]" + newline
	for _, m := range e.tree().Members {
		out += nameOf(m) + " = " + tomlValue(m.Value.Value) + newline
	}
	return out
}

func tomlValue(v hujson.ValueTrimmed) string {
	var items []string
	switch x := v.(type) {
	case *hujson.Array:
		for _, e := range x.Elements {
			items = append(items, tomlValue(e.Value))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case *hujson.Object:
		for _, m := range x.Members {
			items = append(items, nameOf(m)+" = "+tomlValue(m.Value.Value))
		}
		return "{ " + strings.Join(items, ", ") + " }"
	case hujson.Literal:
		return quoteTOML(x.String())
	}
	return ""
}

// quoteTOML writes a string on one line.
func quoteTOML(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xFFFF:
			fmt.Fprintf(&b, `\U%08X`, r)
		default:
			fmt.Fprintf(&b, `\u%04X`, r)
		}
	}
	return `"` + b.String() + `"`
}

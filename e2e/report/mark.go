package report

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/pagetools/pagetools/bridge/text"
)

// mark returns a text of JSON with "> " before the line where the value at a path begins, such
// as content[0].text, and two spaces before the others. Where the path leads nowhere, the last
// value on the way to it is marked; what is not JSON stays as it is.
func mark(text, path string) string {
	if !json.Valid([]byte(text)) {
		return text
	}
	at := seek(text, path)
	var b strings.Builder
	offset := 0
	for l := range strings.SplitAfterSeq(text, "\n") {
		if at >= offset && at < offset+len(l) {
			b.WriteString("> ")
		} else {
			b.WriteString("  ")
		}
		b.WriteString(l)
		offset += len(l)
	}
	return b.String()
}

// excerpt returns a text that is short as it is, and of a long one the part around the value at
// a path, marked.
func excerpt(words, path string) string {
	if len(words) <= longestText || !json.Valid([]byte(words)) {
		return text.Cut(words, longestText)
	}
	marked := mark(words, path)
	begin := 0
	if at := strings.Index("\n"+marked, "\n> "); at > longestText/2 {
		begin = at - longestText/2
		begin += strings.IndexByte(marked[begin:], '\n') + 1 // at is behind the end of a line
	}
	part := text.Bytes(marked[begin:], longestText)
	end := begin + len(part)
	if begin > 0 {
		part = "…\n" + part
	}
	if end < len(marked) {
		part += "…"
	}
	return text.Cut(part, len(part)) + fmt.Sprintf("\n(cut; it has %d bytes)", len(words))
}

// step is one step of a path: .name, [0] or ["any name"].
var step = regexp.MustCompile(`\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]|\.?([^.\[]+)`)

// seek returns where the value at the path begins in a text, or -1.
func seek(text, path string) int {
	if path == "" {
		return -1
	}
	dec := json.NewDecoder(strings.NewReader(text))
	at := 0
	for _, m := range step.FindAllStringSubmatch(path, -1) {
		name := m[1] + m[3]
		if m[2] != "" && json.Unmarshal([]byte(m[2]), &name) != nil {
			return at
		}
		found := enter(dec, text, name)
		if found < 0 {
			return at
		}
		at = found
	}
	return at
}

// enter reads a list or an object up to the element of a name, and returns where that begins,
// or -1.
func enter(dec *json.Decoder, text, name string) int {
	token, err := dec.Token()
	if open, ok := token.(json.Delim); err != nil || !ok || open != '{' && open != '[' {
		return -1
	}
	for i := 0; dec.More(); i++ {
		offset := int(dec.InputOffset())
		begin := offset + len(text[offset:]) - len(strings.TrimLeft(text[offset:], " \n\r\t,"))
		key := strconv.Itoa(i)
		if token == json.Delim('{') {
			k, err := dec.Token()
			if err != nil {
				return -1
			}
			key, _ = k.(string)
		}
		if key == name {
			return begin
		}
		var skipped json.RawMessage
		if dec.Decode(&skipped) != nil {
			return -1
		}
	}
	return -1
}

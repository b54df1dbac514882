package schema

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge/text"
)

// MaxFile limits one file in arguments, in bytes.
const MaxFile = 2 << 20

// A schema asks for a file with contentEncoding. The object around it may say with x-accept, as
// the accept of HTML does, which files it takes.
func marksFile(v *value) bool {
	encoding := v.get("contentEncoding")
	return encoding.isString() && strings.EqualFold(encoding.text, "base64")
}

// TakesFiles reports whether a schema asks for bytes in base64 anywhere.
func TakesFiles(schema Value) bool { return schema.Exists() && anyMark(schema.tree, marksFile) }

// CheckFiles checks what JSON Schema does not: that files are base64, that they are not too large,
// and that x-accept takes them. Its error is a *[Violations]. In a branch, such as of anyOf, a text
// may be something else than a file, so that there only its size counts.
func CheckFiles(schema, v Value) error {
	out := &Violations{}
	w := &walk{root: schema.tree}
	w.meet = func(schema, part *value, at []string) bool {
		what := ""
		switch accept := schema.get("x-accept"); {
		case marksFile(schema) && part.isString():
			bytes, ok := decodeFile(part.text)
			switch {
			case !ok && w.perhaps == 0:
				what = "must be the bytes of a file in base64"
			case len(bytes) > MaxFile || len(part.text) > 2*MaxFile:
				what = fmt.Sprintf("must be at most %d bytes, before base64", MaxFile)
			}
		case accept.isString() && part.isObject() && !accepts(accept.text, part):
			what = "must be a file that is accepted here, by its name or its type: " + text.Brief(accept.text, maxAccept)
		}
		if what != "" && len(out.List) < maxViolations {
			out.List = append(out.List, Violation{at: slices.Clone(at), what: what}.named(func(name string) string { return name }))
		}
		return false
	}
	if !w.through(v) {
		return undecided()
	}
	if len(out.List) == 0 {
		return nil
	}
	slices.SortStableFunc(out.List, func(a, b Violation) int { return strings.Compare(a.Pointer, b.Pointer) })
	return out
}

// maxAccept bounds what a message repeats of x-accept.
const maxAccept = 200

// decodeFile reads base64 as browsers do: with padding or without, and with line ends.
func decodeFile(s string) ([]byte, bool) {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		b, err = base64.RawStdEncoding.DecodeString(s)
	}
	return b, err == nil
}

// accepts reports whether the accept of a form takes a file. One that names nothing takes all.
func accepts(accept string, file *value) bool {
	member := func(name string) string {
		if v := file.get(name); v.isString() {
			return strings.ToLower(v.text)
		}
		return ""
	}
	name := member("name")
	mime, _, _ := strings.Cut(member("type"), ";")
	mime = strings.TrimSpace(mime)
	known := false
	for token := range strings.SplitSeq(strings.ToLower(accept), ",") {
		token = strings.TrimSpace(token)
		group, some := strings.CutSuffix(token, "/*")
		switch {
		case token == "*", token == "*/*", token == ".*":
			return true
		case strings.HasPrefix(token, "."):
			if strings.HasSuffix(name, token) {
				return true
			}
		case some:
			if strings.HasPrefix(mime, group+"/") {
				return true
			}
		case strings.Contains(token, "/"):
			if mime == token {
				return true
			}
		default:
			continue
		}
		known = true
	}
	return !known
}

// FileTexts returns, by JSON pointer, what stands for the files of a value where people read it:
// how many bytes they have, and their digest.
func FileTexts(schema, v Value) map[string]string {
	texts := map[string]string{}
	w := &walk{root: schema.tree, meet: func(schema, part *value, at []string) bool {
		if !marksFile(schema) || !part.isString() {
			return false
		}
		if b, ok := decodeFile(part.text); ok {
			sum := sha256.Sum256(b)
			texts[Pointer(at...)] = fmt.Sprintf("%d bytes, sha256:%s", len(b), hex.EncodeToString(sum[:]))
		}
		return false
	}}
	w.through(v)
	return texts
}

package adapter

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
)

// The limits of adapters: bytes of a file, adapters of a site, and patterns of an adapter.
const (
	MaxBytes   = 256 << 10
	MaxSite    = 8
	maxMatches = 16
)

// Adapter is an adapter that was read. It must not be changed.
type Adapter struct {
	bridge.Adapter        // what its tools are marked with
	Description    string // "" is none
	// File is the file as it was named, or builtin:NAME.
	File string
	// Frames has it run in frames of the page's own origin, too.
	Frames bool
	// At says when it runs: start, end or idle, of the document.
	At string
	// Ignored lists the keys of the header that mean nothing, with their lines.
	Ignored []Key
	// Quiet leaves the names that the page has to the page, without a finding.
	Quiet bool

	source  string
	matches []pattern
}

// Key is a key of a header, and its line.
type Key struct {
	Name string
	Line int
}

// HeaderError says what is wrong in a file, and in which line.
type HeaderError struct {
	File    string
	Line    int // 0 is all of it
	Message string
}

func (e *HeaderError) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Message
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
}

// Source is the script.
func (a *Adapter) Source() string { return a.source }

// Patterns returns regular expressions, as JavaScript and Go both read them, for the addresses that
// it is for. It is nil for those of the site's own origin.
func (a *Adapter) Patterns() []string {
	var all []string
	for _, p := range a.matches {
		all = append(all, p.address)
	}
	return all
}

// Origins returns regular expressions of the origins that it is for; nil as Patterns.
func (a *Adapter) Origins() []string {
	var all []string
	for _, p := range a.matches {
		all = append(all, p.origin+"$")
	}
	return all
}

// Reaches reports whether any page of an origin can match.
func (a *Adapter) Reaches(origin string) bool {
	return len(a.matches) == 0 || slices.ContainsFunc(a.matches,
		func(p pattern) bool { return regexp.MustCompile(p.origin + "$").MatchString(origin) })
}

// Same reports whether two adapters are the same script.
func (a *Adapter) Same(b *Adapter) bool { return a.Adapter == b.Adapter }

const (
	opening = "// ==PagetoolsAdapter=="
	closing = "// ==/PagetoolsAdapter=="
)

var (
	legalName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)
	semver    = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)
	header    = regexp.MustCompile(`^//\s*@([A-Za-z-]+)(?:\s+(.*))?$`)
)

// loads are the keys by which scripts of browser extensions load something, or get more than a
// page.
var loads = []string{"grant", "require", "resource", "updateURL"}

// Parse reads the text of an adapter. Errors are *HeaderError.
func Parse(file string, content []byte) (*Adapter, error) {
	wrong := func(line int, format string, args ...any) error {
		return &HeaderError{File: file, Line: line, Message: fmt.Sprintf(format, args...)}
	}
	sum := sha256.Sum256(content)
	source := strings.TrimPrefix(string(content), "\ufeff")
	switch {
	case len(content) > MaxBytes:
		return nil, wrong(0, "an adapter must have at most %d bytes, not %d", MaxBytes, len(content))
	case !utf8.ValidString(source):
		return nil, wrong(0, "an adapter must be text in UTF-8")
	}
	a := &Adapter{File: file, source: source, At: "end"}
	a.SHA256 = hex.EncodeToString(sum[:])
	r := reader{adapter: a, seen: map[string]bool{}}
	inside, over := false, false
	number := 0
	for line := range strings.Lines(source) {
		number++
		line = strings.TrimSpace(line)
		switch {
		case !inside && line == opening:
			inside = true
		case !inside && (line == "" || strings.HasPrefix(line, "//")):
		case !inside:
			return nil, wrong(number, "the header must come first: begin the file with %s", opening)
		case line == closing:
			over = true
		default:
			if err := r.line(line); err != "" {
				return nil, wrong(number, "%s", err)
			}
			for i := range a.Ignored {
				if a.Ignored[i].Line == 0 {
					a.Ignored[i].Line = number
				}
			}
		}
		if over {
			break
		}
	}
	switch {
	case !inside:
		return nil, wrong(0, "it has no header: begin the file with %s, // @name and // @version, "+
			"and %s", opening, closing)
	case !over:
		return nil, wrong(0, "the header has no end: put %s below it", closing)
	case a.Name == "":
		return nil, wrong(0, "the header has no @name: add // @name shop")
	case a.Version == "":
		return nil, wrong(0, "the header has no @version: add // @version 1.0.0")
	}
	return a, nil
}

// reader reads the lines of a header.
type reader struct {
	adapter *Adapter
	seen    map[string]bool
}

// line reads a line, and returns what is wrong in it; "" is nothing.
func (r *reader) line(line string) string {
	if !strings.HasPrefix(line, "//") {
		return "a line of the header must be a comment, such as // @name shop"
	}
	found := header.FindStringSubmatch(line)
	if found == nil {
		return "" // words for people
	}
	key, value := found[1], strings.TrimSpace(found[2])
	if slices.Contains(loads, key) {
		return fmt.Sprintf("@%s is not possible: adapters load nothing, and have what the page has", key)
	}
	if key != "match" && r.seen[key] {
		return fmt.Sprintf("@%s is there twice: remove one of them", key)
	}
	r.seen[key] = true
	return r.value(key, value)
}

func (r *reader) value(key, value string) string {
	a := r.adapter
	invalid := func(must string) string {
		return fmt.Sprintf("invalid value %s for @%s: must be %s", text.Quote(value), key, must)
	}
	switch key {
	case "name":
		if !legalName.MatchString(value) {
			return invalid("a lower-case letter, then up to 31 of a-z, 0-9 and -")
		}
		a.Name = value
	case "version":
		if len(value) > 64 || !semver.MatchString(value) {
			return invalid("a semantic version, such as 1.0.0")
		}
		a.Version = value
	case "description":
		a.Description = text.Short(text.Line(value), 1<<10)
	case "match":
		p, why := parsePattern(value)
		if why != "" {
			return invalid(why)
		}
		if a.matches = append(a.matches, p); len(a.matches) > maxMatches {
			return fmt.Sprintf("there are more than %d lines with @match: use fewer patterns, "+
				"with * in them", maxMatches)
		}
	case "frames":
		if value != "top" && value != "all" {
			return invalid("top or all")
		}
		a.Frames = value == "all"
	case "run-at":
		at, ok := strings.CutPrefix(value, "document-")
		if !ok || at != "start" && at != "end" && at != "idle" {
			return invalid("document-start, document-end or document-idle")
		}
		a.At = at
	default:
		a.Ignored = append(a.Ignored, Key{Name: key})
	}
	return ""
}

// Check reports what is wrong about the adapters of one site together.
func Check(all []*Adapter) error {
	if len(all) > MaxSite {
		return fmt.Errorf("a site may have at most %d adapters, not %d", MaxSite, len(all))
	}
	files := map[string]string{}
	for _, a := range all {
		if other, there := files[a.Name]; there {
			return fmt.Errorf("%s and %s have the same @name %s: give one of them another", other,
				a.File, a.Name)
		}
		files[a.Name] = a.File
	}
	return nil
}

// Beside returns the adapters of two lists. Of those with one name, the one of the second list
// counts.
func Beside(all, more []*Adapter) []*Adapter {
	same := func(a *Adapter) bool {
		return slices.ContainsFunc(more, func(b *Adapter) bool { return a.Name == b.Name })
	}
	return append(slices.DeleteFunc(slices.Clone(all), same), more...)
}

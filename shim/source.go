package shim

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pagetools/pagetools/js"
)

// NewName returns a fresh name for one tab: "_" and 128 random bits in hex.
func NewName() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return "_" + hex.EncodeToString(b[:])
}

// Source returns the script to evaluate in every new document of a tab.
func Source(name string) string { return called(js.Shim, name, "") }

// SourceAttended is Source for a page that somebody can be at: forms without toolautosubmit wait
// for their submit.
func SourceAttended(name string) string { return Source(name) + name + ".attend();\n" }

// AdapterConfig tells pages of an adapter of the operator.
type AdapterConfig struct {
	Index   int      `json:"index"` // counted from 1
	Name    string   `json:"name"`
	Origins []string `json:"origins"` // of the pages that it may run in
	// Match are regular expressions of JavaScript for addresses without their fragments.
	Match  []string `json:"match"`
	Frames bool     `json:"frames"` // frames of the page's origin, too
	At     string   `json:"at"`     // start, end or idle, of the document
	Quiet  bool     `json:"quiet"`  // a name that the page has is no problem
}

// AdapterRunner returns the script that lets pages run adapters. It comes after Source's or
// NativeSource's, by its name, and before those of AdapterSource.
func AdapterRunner(name string) string {
	checkName(name)
	return strictly + name + ".host.adapt=" + strings.TrimRight(js.Adapter, "\n") + "(" + name + ".host);\n"
}

// AdapterSource returns the script that runs an adapter: the body of an async function, strict, of
// modelContext. Lines of the source are lines of the script.
func AdapterSource(name string, c AdapterConfig, source string) string {
	checkName(name)
	config, _ := json.Marshal(c) // texts, numbers and truth only
	head := appendLiteral([]byte(strictly+name+".host.adapt("), config)
	return string(head) + "," + adapterFunction(source) + ");\n//# sourceURL=" + AdapterPlace(c.Name) + "\n"
}

// AdapterBody returns an expression that is JavaScript where the source is the body of an adapter,
// with the same lines.
func AdapterBody(source string) string { return strictly + "(" + adapterFunction(source) + ")" }

func adapterFunction(source string) string { return "async function(modelContext){" + source + "\n}" }

// AdapterPlace returns the name of an adapter's script in stacks and errors of the browser.
func AdapterPlace(name string) string { return "adapter:" + name + ".js" }

// SavesSource returns the script that counts what the scripts of a document save, for replies. It
// comes after Source's or NativeSource's, by its name.
func SavesSource(name string) string {
	checkName(name)
	return strictly + strings.TrimRight(js.Saves, "\n") + "(" + name + ".host);\n"
}

// NativeSource returns the script for tabs that use the browser's own WebMCP. It adds the older
// generations to that, and keeps what the browser drops of declarations and of results.
func NativeSource(name string) string { return called(js.Native, name, "") }

// HasNative is an expression that is "true" in a document, an empty one included, of a browser
// whose own WebMCP is on.
const HasNative = "String(document.featurePolicy.features().includes('tools'))"

// Rejection returns the expression for the reason with which the page last rejected a form's call,
// or "". It needs NativeSource's script.
func Rejection(name string) string { return expression(name, "rejection", 0).end() }

// Expect returns the expression that makes a page of NativeSource's script remember what comes of
// the next call of a form.
func Expect(name, tool string) string {
	return expression(name, "expect", 0).text([]byte(tool)).end()
}

// Submission returns the expression that waits until the form of Expect submits itself as it says,
// and whatever becomes of that. Its value is the form's target after SubmissionPrefix, or something
// else when it does not come to that.
func Submission(name, tool string) string {
	return expression(name, "submission", 0).text([]byte(tool)).end()
}

// SubmissionPrefix opens what Submission says of a form that submits itself.
const SubmissionPrefix = "target "

// Fault returns the expression for what no script of the page caught since the last call began, or
// "".
func Fault(name string) string { return expression(name, "fault", 0).end() }

// NativePrefix opens every answer of NativeSource's script, so that the browser does not take it
// for JSON.
const NativePrefix = "pagetools "

// NativeInput returns the input for a call through the browser's own WebMCP. To a tool that
// NativeSource's script registered it means what Call says; the result is NativePrefix and a reply
// text.
func NativeInput(name, callID string, toolID int64, input []byte, maxBytes int,
	knownRev int64) json.RawMessage {
	if len(input) == 0 {
		input = []byte("{}")
	}
	call, _ := json.Marshal([]any{callID, toolID, string(input), maxBytes, knownRev}) // text and numbers only
	b, _ := json.Marshal(map[string]string{secret(name): string(call)})
	return b
}

// secret returns the secret that the documents of one tab share, and no page knows. It does not
// reveal the name.
func secret(name string) string {
	sum := sha256.Sum256([]byte("frames of " + name))
	return "_" + hex.EncodeToString(sum[:16])
}

// Digest returns the SHA-256 of the bundle, in hex.
func Digest() string {
	sum := sha256.Sum256([]byte(js.Shim))
	return hex.EncodeToString(sum[:])
}

// Watch returns the expression that waits for a revision above rev. The tools in its answer are
// not longer than room, in UTF-16 units.
func Watch(name string, rev, room int64) string {
	return expression(name, "watch", 0).number(rev).number(room).end()
}

// Call returns the expression that runs a tool. input is JSON text, "{}" when it is empty; it
// crosses as a string that the page parses. maxBytes bounds the result's JSON; knownRev is the
// revision that the caller has seen.
func Call(name, callID string, toolID int64, input []byte, maxBytes int, knownRev int64) string {
	if len(input) == 0 {
		input = []byte("{}")
	}
	e := expression(name, "call", len(input)+len(input)/8)
	return e.text([]byte(callID)).number(toolID).text(input).number(int64(maxBytes)).number(knownRev).end()
}

// As returns what reaches a page in the place of its name, in all expressions that take one: as its owner
// of an epoch. For epoch 0 that is the name.
func As(name string, epoch int64) string {
	checkName(name)
	if epoch <= 0 {
		return name
	}
	return name + ownPrefix + strconv.FormatInt(epoch, 10) + ")"
}

const ownPrefix = ".own("

// Own returns the script that makes an epoch the owner of every new document. It comes after Source's, by its
// name, and apart from it: a session that another owner has left may have put that there already.
func Own(name string, epoch int64) string { return strictly + As(name, epoch) + ";\n" }

// Outcome returns the expression for how a call of an owner before ended: its reply text, without a state;
// "running"; "unknown" when nobody knows any more, or never did; and "gone" where the page has a newer owner.
func Outcome(name, callID string) string {
	return expression(name, "outcome", 0).text([]byte(callID)).end()
}

// Wait returns the expression that waits for what a call that stopped (kind asking) says next.
func Wait(name, callID string, knownRev int64) string {
	return expression(name, "wait", 0).text([]byte(callID)).number(knownRev).end()
}

// Answer returns the expression that passes a person's answer to a call that stopped. value is JSON
// text, or empty.
func Answer(name, callID string, ok bool, value []byte) string {
	return expression(name, "answer", len(value)).text([]byte(callID)).boolean(ok).text(value).end()
}

// Remind returns the expression that makes a call say that it waits for a person, if it still does.
func Remind(name, callID string) string {
	return expression(name, "remind", 0).text([]byte(callID)).end()
}

// Abort returns the expression that ends one call.
func Abort(name, callID, reason string) string {
	return expression(name, "abort", 0).text([]byte(callID)).text([]byte(reason)).end()
}

// Shutdown returns the expression that ends all calls, to be evaluated before the tab is navigated
// or closed.
func Shutdown(name, reason string) string {
	return expression(name, "shutdown", 0).text([]byte(reason)).end()
}

// WaitFor returns the expression that waits for an element. It needs no page script, and is meant
// for a world of its own.
func WaitFor(selector string) string {
	return string(append(appendLiteral([]byte("("+js.Wait+")("), []byte(selector)), ')'))
}

// Look returns the expression for what the elements that match a selector show, as JSON. It needs
// no page script, and is meant for a world of its own.
func Look(selector string) string {
	return string(append(appendLiteral([]byte("("+js.Look+")("), []byte(selector)), ')'))
}

// Selected returns the expression for the text that a person selected in the page, or else for that of the
// whole page, in the form of Look.
func Selected() string {
	return string(append(appendLiteral([]byte("("+js.Look+")("), []byte("body")), ",true)"...))
}

// Accepts returns the expression for why the form of a tool does not take each of some inputs, JSON
// objects, as a list of texts; "" where it does. It needs no page script, and is meant for a world
// of its own.
func Accepts(tool string, inputs []byte) string {
	b := appendLiteral([]byte("("+js.Accepts+")("), []byte(tool))
	return string(append(appendLiteral(append(b, ",JSON.parse("...), inputs), "))"...))
}

// Names returns the expression for the names of the tools that a page can run itself, as a list.
// Like Execute it is meant for the world of the page, and needs RecordSource's script, by its name.
func Names(recorder string) string { return driven(recorder) + ".names()" }

// driven returns the expression for the tools of a recording page, as its own scripts run them.
func driven(recorder string) string {
	checkName(recorder)
	return strictly + "(" + js.Drive + ")(" + recorder + ".own)"
}

// Execute returns the expression that runs a tool by the page's own executeTool. It resolves to a
// reply, of revision 0.
func Execute(recorder, tool string, input []byte) string {
	b := &builder{b: []byte(driven(recorder) + ".execute(")}
	return b.text([]byte(tool)).text(input).end()
}

// Asked returns the expression for the name of the next tool of Execute that asks a person to act
// in the page; its promise waits for that.
func Asked(recorder string) string { return driven(recorder) + ".asked()" }

// Aim returns the expression for where a person meets the element that a selector finds, or why a
// person cannot do something with it. It needs no page script, and is meant for a world of its own.
func Aim(do, selector, text string) string {
	b := appendLiteral([]byte("("+js.Aim+")("), []byte(do))
	b = appendLiteral(append(b, ','), []byte(selector))
	return string(append(appendLiteral(append(b, ','), []byte(text)), ')'))
}

// RecordSource returns the script that notes what a page does with its tools; it comes after
// Source's. name differs from the page script's. surface lists the parts of the interface that the
// page sees, as JSON: objects, methods (none are all) and frozen; "null" shows all of it.
func RecordSource(name, surface string) string {
	return called(js.Record, name, ", "+surface)
}

// called returns the script that calls a bundle with the secret and further arguments, and keeps
// what that returns under the name.
func called(bundle, name, more string) string {
	checkName(name)
	return "const " + name + " = " + strings.TrimRight(bundle, "\n") +
		"(\"" + secret(name) + "\"" + more + ");\n"
}

// Recorded returns the expression for what RecordSource's script noted in a document, as JSON.
func Recorded(name string) string {
	checkName(name)
	return strictly + name + "()"
}

// Function returns the declaration of a function that returns what an expression of this package
// does, for Runtime.callFunctionOn, which reaches documents that Runtime.evaluate does not.
func Function(expression string) string {
	return "function(){" + strictly + "return " + strings.TrimPrefix(expression, strictly) + "}"
}

// strictly opens every expression, so that it is strict code.
const strictly = "'use strict';"

// A builder writes one method call, strict.
type builder struct {
	b     []byte
	comma bool
}

func expression(name, method string, size int) *builder {
	checkOwner(name)
	b := &builder{b: make([]byte, 0, size+160)}
	b.b = append(b.b, strictly...)
	b.b = append(b.b, name...)
	b.b = append(b.b, '.')
	b.b = append(b.b, method...)
	b.b = append(b.b, '(')
	return b
}

func (b *builder) separate() {
	if b.comma {
		b.b = append(b.b, ',')
	}
	b.comma = true
}

func (b *builder) number(n int64) *builder {
	b.separate()
	b.b = strconv.AppendInt(b.b, n, 10)
	return b
}

func (b *builder) boolean(v bool) *builder {
	b.separate()
	b.b = strconv.AppendBool(b.b, v)
	return b
}

func (b *builder) text(s []byte) *builder {
	b.separate()
	b.b = appendLiteral(b.b, s)
	return b
}

func (b *builder) end() string { return string(append(b.b, ')')) }

// appendLiteral appends s as a JavaScript string literal. The quotes are single ones, because what
// is written here is mostly JSON, and the whole expression will be quoted once more as JSON. Bytes
// that are not UTF-8 become U+FFFD.
func appendLiteral(b, s []byte) []byte {
	const hexDigits = "0123456789abcdef"
	b = append(b, '\'')
	for len(s) > 0 {
		c := s[0]
		switch {
		case c == '\'' || c == '\\':
			b = append(b, '\\', c)
		case c < 0x20 || c == 0x7f:
			b = append(b, '\\', 'x', hexDigits[c>>4], hexDigits[c&15])
		case c < utf8.RuneSelf:
			b = append(b, c)
		default:
			r, size := utf8.DecodeRune(s)
			if r == '\u2028' || r == '\u2029' {
				b = append(b, `\u202`...)
				b = append(b, hexDigits[r&15])
			} else {
				b = utf8.AppendRune(b, r)
			}
			s = s[size:]
			continue
		}
		s = s[1:]
	}
	return append(b, '\'')
}

// IsName reports whether NewName could have made the name: anything else would be code.
func IsName(name string) bool {
	const digits = "0123456789abcdef"
	return len(name) == 33 && name[0] == '_' && strings.Trim(name[1:], digits) == ""
}

// checkName panics unless the name is one.
func checkName(name string) {
	if !IsName(name) {
		panic("shim: the name is not one of NewName's")
	}
}

// checkOwner is checkName for what As returns.
func checkOwner(as string) {
	name, epoch, owned := strings.Cut(as, ownPrefix)
	checkName(name)
	if number := strings.TrimSuffix(epoch, ")"); owned && (number == epoch || number == "" || strings.Trim(number, "0123456789") != "") {
		panic("shim: the owner is not one of As")
	}
}

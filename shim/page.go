package shim

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/pagetools/pagetools/js"
)

// A Page holds what a document says to whoever submitted a form: in it, or the one that led to it.
// All of it is the page's word. The expressions for it need no page script, and are meant for a
// world of their own, the same one for Arm and Settle.
type Page struct {
	Status   int      `json:"status,omitempty"` // of HTTP; 0 when it is not known
	Address  string   `json:"address"`
	Title    string   `json:"title"`
	Alerts   []string `json:"alerts"`   // what role=alert shows
	Statuses []string `json:"statuses"` // what role=status and output show
	Text     string   `json:"text,omitempty"`
	// Invalid lists the fields that the page, or the browser, takes for wrong.
	Invalid []InvalidField `json:"invalid,omitempty"`
	// Changed names what is not as it was before the submit: document, address, title, form,
	// storage.
	Changed []string `json:"changed,omitempty"`
	// Linked is the list of the JSON-LD blocks, each as it was written; nil without one.
	Linked json.RawMessage `json:"-"`
	// TooLarge says that the blocks are larger than allowed.
	TooLarge bool `json:"-"`
	// Busy says how the page shows that it is not done: "says" or "button", "" when it does not.
	Busy string `json:"-"`
	// Unsure says that the page may have changed by itself: more time will tell.
	Unsure bool `json:"-"`
	// Polls lists the addresses that the page asks for at its own pace, whatever is submitted, as
	// Numberless writes them.
	Polls []string `json:"-"`
}

// Numberless returns an address as Page.Polls has it.
func Numberless(address string) string { return numbers.ReplaceAllLiteralString(address, "#") }

var numbers = regexp.MustCompile(`[0-9]+`)

// InvalidField is a field of a form that is not right.
type InvalidField struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// Arm returns the expression that makes a document remember what it is like at its next submit.
func Arm() string { return answers("arm", "") }

// Settle returns the expression for what came since, once the document has not changed for a time,
// or after patience.
func Settle(quiet, patience time.Duration, maxBytes int) string {
	return answers("settle", fmt.Sprintf("%d,%d,%d", quiet.Milliseconds(), patience.Milliseconds(), maxBytes))
}

// Calm returns the expression that waits until nothing has come into the document, or left it, for
// a time, or for patience.
func Calm(quiet, patience time.Duration) string {
	return answers("calm", fmt.Sprintf("%d,%d", quiet.Milliseconds(), patience.Milliseconds()))
}

// Read returns the expression for what a document shows, once it was loaded.
func Read(maxBytes int) string { return answers("read", strconv.Itoa(maxBytes)) }

// answers calls a function of the script, which the first call puts there.
func answers(method, arguments string) string {
	return strictly + "(globalThis.answers??=" + js.Answer + ")." + method + "(" + arguments + ")"
}

// DecodePage reads what Settle and Read say.
func DecodePage(text string) (*Page, error) {
	if len(text) > maxState {
		return nil, fmt.Errorf("what the page shows: %d bytes, more than %d", len(text), maxState)
	}
	var said struct {
		Page

		Linked   string   `json:"linked"`
		TooLarge bool     `json:"tooLarge"`
		Busy     string   `json:"busy"`
		Unsure   bool     `json:"unsure"`
		Polls    []string `json:"polls"`
	}
	if err := json.Unmarshal([]byte(text), &said); err != nil {
		return nil, fmt.Errorf("what the page shows: %w", err)
	}
	p := &said.Page
	p.TooLarge, p.Busy, p.Unsure, p.Polls = said.TooLarge, said.Busy, said.Unsure, said.Polls
	if said.Linked == "" {
		return p, nil
	}
	if p.Linked = json.RawMessage(said.Linked); !json.Valid(p.Linked) {
		return nil, fmt.Errorf("what the page shows: %w", errNotJSON)
	}
	return p, nil
}

package opentools

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// Version is the version of x-llm that this package writes.
const Version = "0.1"

// Approval is the consent that a site asks for at least.
type Approval string

// The approvals.
const (
	Auto    Approval = "auto"     // no consent
	PerCall Approval = "per-call" // a person agrees to each call
)

// Root is x-llm at the root of a document.
type Root struct {
	Version         string   `json:"version"`
	Name            string   `json:"name"`
	Description     string   `json:"description,omitempty"`
	DefaultApproval Approval `json:"defaultApproval"`
}

// Operation is x-llm of one operation.
type Operation struct {
	// Enabled is whether models may use it.
	Enabled bool `json:"enabled"`
	// Approval is the least that is needed, and BlanketApprovalAllowed whether a person may agree
	// to all calls at once.
	Approval               Approval `json:"approval"`
	BlanketApprovalAllowed bool     `json:"blanketApprovalAllowed"`
	Destructive            bool     `json:"destructive"`
	// Cost of a call: "free", "credits" or "paid"; "" when it is not stated.
	Cost string `json:"costIndicator,omitempty"`
	// RateLimit is per user; nil means that none is known.
	RateLimit *RateLimit `json:"rateLimit,omitempty"`
	// Hint says when and why to use it, where the summary does not say all.
	Hint string `json:"hint,omitempty"`
	// Rendering says how results are best shown, and Chaining what is often done next, as the JSON
	// Schema of x-llm has them; nil is nothing.
	Rendering json.RawMessage `json:"rendering,omitempty"`
	Chaining  json.RawMessage `json:"chaining,omitempty"`
	// Untrusted is true when results may have what strangers wrote.
	Untrusted bool `json:"x-untrusted-content,omitempty"`
}

// RateLimit is so many calls in a window.
type RateLimit struct {
	Max    int    `json:"max"`
	Window string `json:"window"`
}

// units of windows, the longest first.
var units = []struct {
	name string
	of   time.Duration
}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}, {"ms", time.Millisecond}}

// Window writes a duration as rate limits have it: a whole number and ms, s, m, h or d. What is
// shorter than a millisecond is one.
func Window(d time.Duration) string {
	d = max(d, time.Millisecond).Round(time.Millisecond)
	for _, unit := range units {
		if d%unit.of == 0 {
			return strconv.FormatInt(int64(d/unit.of), 10) + unit.name
		}
	}
	panic("opentools: a whole number of milliseconds is none")
}

// Discovery is /.well-known/llm.json.
type Discovery struct {
	// OpenAPI says where the document is, relative to this one's address.
	OpenAPI string `json:"openapi"`
	// Auth says how to sign in: "none" or "bearer", among others.
	Auth string `json:"auth"`
}

// Per is the length of the window; 0 is one that cannot be read.
func (r RateLimit) Per() time.Duration {
	digits := strings.TrimRight(r.Window, "dhms")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || digits[0] == '+' || digits[0] == '0' {
		return 0
	}
	for _, unit := range units {
		if r.Window == digits+unit.name && n <= int(maxWindow/unit.of) {
			return time.Duration(n) * unit.of
		}
	}
	return 0
}

// maxWindow bounds the windows of rates.
const maxWindow = 366 * 24 * time.Hour

package transport

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/pagetools/pagetools/bridge"
)

// What requests of every face over HTTP say in the same way.

// MaxSession is the most characters of a sessionId.
const MaxSession = 256

// ValidSession reports whether a text may be a sessionId.
func ValidSession(s string) bool {
	return s != "" && utf8.ValidString(s) && utf8.RuneCountInString(s) <= MaxSession
}

// BadSession is the error of a sessionId that is not valid.
func BadSession() *bridge.Error { return Malformed("sessionId must have 1 to 256 characters.") }

// Malformed is the error of a request that cannot be read.
func Malformed(message string) *bridge.Error {
	return bridge.Errorf(bridge.SchemaError, "", bridge.NotRun, "%s", message)
}

// SessionOf reads ?sessionId=ID. Other parameters are ignored.
func SessionOf(u *url.URL) (string, *bridge.Error) {
	if u.RawQuery == "" {
		return "", nil
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return "", Malformed("The query cannot be read: a % must begin an escape, such as %20.")
	}
	given, ok := query["sessionId"]
	if !ok {
		return "", nil
	}
	if len(given) != 1 || !ValidSession(given[0]) {
		return "", BadSession()
	}
	return given[0], nil
}

const (
	// ResumeHeader carries the token of a call that stopped for a person.
	ResumeHeader = "Pagetools-Resume"
	// KeyHeader names a call, so that its repetition does not run again.
	KeyHeader = "Idempotency-Key"
)

// KeyOf returns the call's key, or "".
func KeyOf(h http.Header) (string, *bridge.Error) {
	given := h.Values(KeyHeader)
	if len(given) == 0 {
		return "", nil
	}
	key := given[0]
	if len(given) > 1 || key == "" || len(key) > 255 ||
		strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r > '~' }) {
		return "", Malformed("The header " + KeyHeader + " must hold one key of 1 to 255 visible characters.")
	}
	return key, nil
}

// BatchSession returns the session that a batch under a key makes for itself: the same at every node, so
// that the same batch again goes on in the same page.
func BatchSession(key string) string {
	sum := sha256.Sum256([]byte(key))
	return "batch-" + hex.EncodeToString(sum[:16])
}

// ResumeOf returns the token of the call that is resumed, or "".
func ResumeOf(h http.Header) (string, *bridge.Error) {
	given := h.Values(ResumeHeader)
	if len(given) == 0 {
		return "", nil
	}
	if len(given) > 1 || given[0] == "" ||
		strings.ContainsFunc(given[0], func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", Malformed("The header " + ResumeHeader + " must hold one token.")
	}
	return given[0], nil
}

// SetResume repeats the token of a call that waits for a person in the header.
func SetResume(w http.ResponseWriter, e *bridge.Error) {
	if token, ok := e.Details["resume"].(string); ok {
		w.Header().Set(ResumeHeader, token)
	}
}

// MatchesETag is If-None-Match of RFC 9110, section 13.1.2: a weak comparison.
func MatchesETag(given []string, etag string) bool {
	for _, line := range given {
		for one := range strings.SplitSeq(line, ",") {
			one = strings.TrimPrefix(strings.TrimSpace(one), "W/")
			if one == etag || one == "*" {
				return true
			}
		}
	}
	return false
}

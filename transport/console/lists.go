package console

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/transport"
)

// The bounds of ?limit=.
const (
	defaultLimit = 100
	maxLimit     = 1000
)

// write writes a reply that nobody keeps.
func write(w http.ResponseWriter, r *http.Request, v any) {
	w.Header().Set("Cache-Control", "no-store")
	transport.WriteJSON(w, r, http.StatusOK, v)
}

// listJSON is one page of a list. ?before= takes Next for the following one; null ends the list.
type listJSON[T any] struct {
	Items []T     `json:"items"`
	Next  *string `json:"next"`
	// Missing names the nodes that did not answer.
	Missing []missingNode `json:"missing,omitempty"`
}

// missingNode is a node that did not answer in time.
type missingNode struct {
	Node string `json:"node"`
}

// limitOf reads ?limit= and ?before=.
func limitOf(r *http.Request) (limit int, before string, err error) {
	q := r.URL.Query()
	limit = defaultLimit
	if given := q.Get("limit"); q.Has("limit") {
		limit, err = strconv.Atoi(given)
		if err != nil || limit < 1 || limit > maxLimit {
			return 0, "", transport.Malformed("invalid value " + strconv.Quote(text.Brief(given, maxName)) + " for limit: must be 1 to 1000.")
		}
	}
	if q.Has("before") {
		b, err := base64.RawURLEncoding.DecodeString(q.Get("before"))
		if before = string(b); err != nil || before == "" {
			return 0, "", transport.Malformed("before: this is not a cursor of a list.")
		}
	}
	return limit, before, nil
}

// cursor makes a key opaque.
func cursor(key string) *string {
	c := base64.RawURLEncoding.EncodeToString([]byte(key))
	return &c
}

// page writes the part of a list that the request asks for. key is unique in the list. missing are
// the nodes that did not answer.
func page[T any](w http.ResponseWriter, r *http.Request, all []T, key func(T) string, missing ...string) {
	limit, before, err := limitOf(r)
	if err == nil && before != "" {
		at := slices.IndexFunc(all, func(x T) bool { return key(x) == before })
		if at < 0 {
			err = transport.Malformed("before: what this cursor names is not in the list any more.")
		} else {
			all = all[at+1:]
		}
	}
	if err != nil {
		transport.WriteError(w, r, bridge.AsError(err))
		return
	}
	out := listJSON[T]{Items: all}
	if out.Items == nil {
		out.Items = []T{}
	}
	if len(all) > limit {
		out.Items, out.Next = all[:limit], cursor(key(all[limit-1]))
	}
	for _, node := range missing {
		out.Missing = append(out.Missing, missingNode{node})
	}
	write(w, r, out)
}

// readObject reads a body that is a JSON object of these members at most.
func readObject(r *http.Request, members ...string) (bridge.Value, error) {
	body, err := transport.ReadBody(r)
	if err != nil {
		return bridge.Value{}, err
	}
	v, err := bridge.ReadValue("The body", body)
	if err != nil {
		return v, err //nolint:wrapcheck // an *Error
	}
	if !v.IsObject() {
		return v, transport.Malformed("The body must be a JSON object, such as {}.")
	}
	for name := range v.Members() {
		if !slices.Contains(members, name) {
			return v, transport.Malformed("unknown member " + strconv.Quote(text.Brief(name, maxName)) + ": must be one of " + text.List(members, "and") + ".")
		}
	}
	return v, nil
}

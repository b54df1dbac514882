package recipes

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// action says where an action is, below /page and /api, and the scope that the API asks for.
type action struct{ route, scope string }

const (
	readScope  = "recipes:read"
	writeScope = "recipes:write"
)

// run does an action of a request on a cookbook, and returns its result.
type run func(*cookbook, *http.Request) (any, error)

// actions maps requests to functions of the cookbook: each has two faces.
var actions = map[action]run{
	{"GET /recipes", readScope}: func(b *cookbook, r *http.Request) (any, error) {
		q, err := queryOf(r)
		if err != nil {
			return nil, err
		}
		found, err := b.search(q)
		return map[string]any{"total": len(found), "recipes": found}, err
	},
	{"GET /recipes/{id}", readScope}: func(b *cookbook, r *http.Request) (any, error) {
		return b.get(r.PathValue("id"))
	},
	{"POST /recipes", writeScope}: func(b *cookbook, r *http.Request) (any, error) {
		var in struct {
			Title       string   `json:"title"`
			Cuisine     string   `json:"cuisine"`
			Minutes     int      `json:"minutes"`
			Ingredients []string `json:"ingredients"`
			Steps       []string `json:"steps"`
		}
		if err := decode(r, &in); err != nil {
			return nil, err
		}
		return b.save(Recipe{Title: in.Title, Cuisine: in.Cuisine, Minutes: in.Minutes,
			Ingredients: in.Ingredients, Steps: in.Steps})
	},
	{"DELETE /recipes/{id}", writeScope}: func(b *cookbook, r *http.Request) (any, error) {
		id := r.PathValue("id")
		return map[string]string{"deleted": id}, b.remove(id)
	},
	{"POST /plans", writeScope}: func(b *cookbook, r *http.Request) (any, error) {
		in := struct {
			Days       int    `json:"days"`
			Cuisine    string `json:"cuisine"`
			MaxMinutes int    `json:"maxMinutes"`
		}{Days: 7}
		if err := decode(r, &in); err != nil {
			return nil, err
		}
		return b.planWeek(in.Days, query{Cuisine: in.Cuisine, MaxMinutes: in.MaxMinutes})
	},
}

func queryOf(r *http.Request) (query, error) {
	in := r.URL.Query()
	q := query{Text: in.Get("query"), Cuisine: in.Get("cuisine")}
	if text := in.Get("maxMinutes"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return q, invalid("maxMinutes", "must be a positive number")
		}
		q.MaxMinutes = n
	}
	return q, nil
}

// decode reads a body of JSON. What it does not know is refused: it may be misspelt.
func decode(r *http.Request, into any) error {
	if !isJSON(r) {
		return fail(http.StatusUnsupportedMediaType, "invalid_request",
			"The body must be application/json.")
	}
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something follows the value")
		}
	}
	if err != nil {
		return wrong("invalid_request", "invalid body: %v", err)
	}
	return nil
}

func isJSON(r *http.Request) bool {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && media == "application/json"
}

// act runs an action on a cookbook, which has so many calls a minute.
func act(b *cookbook, r *http.Request, run run) reply {
	const most = 60
	if !b.calls.take(most, time.Minute) {
		out := failed(fail(http.StatusTooManyRequests, "rate_limit",
			"There are 60 calls a minute. Try again later."))
		out.header.Set("Retry-After", "60")
		return out
	}
	result, err := run(b, r)
	if err != nil {
		return failed(err)
	}
	return asJSON(http.StatusOK, result)
}

// visitor is the face for the page: the cookie says whose cookbook it is.
func (s *server) visitor(run run) handler {
	return func(r *http.Request) reply {
		session := s.sessionOf(r)
		if session == nil {
			return failed(fail(http.StatusUnauthorized, "no_session",
				"The session is over. Load the page again."))
		}
		return act(session.book(), r, run)
	}
}

// bearer is the face for clients (RFC 6750): the token says whose cookbook it is, and needs the
// scope.
func (s *server) bearer(scope string, run run) handler {
	challenge := `Bearer resource_metadata="` + s.issuer + `/.well-known/oauth-protected-resource"`
	refuse := func(status int, code, text, parameters string) reply {
		out := failed(&failure{status, code, text})
		out.header.Set("WWW-Authenticate", challenge+parameters)
		return out
	}
	return func(r *http.Request) reply {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return refuse(http.StatusUnauthorized, "unauthorized", "Sign in first.",
				`, scope="`+scope+`"`)
		}
		_, g, current := s.grantOf("access", token)
		if !current || time.Now().After(g.accessEnds) {
			return refuse(http.StatusUnauthorized, "invalid_token",
				"The token is not, or no longer, valid.", `, error="invalid_token"`)
		}
		if !slices.Contains(g.accessScopes, scope) {
			return refuse(http.StatusForbidden, "insufficient_scope",
				"The token lacks the scope "+scope+".",
				`, error="insufficient_scope", scope="`+scope+`"`)
		}
		return act(g.person.book, r, run)
	}
}

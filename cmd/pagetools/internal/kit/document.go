package kit

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/pagetools/pagetools/bridge/opentools"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/e2e/check"
)

// namesDocument reports whether an argument can be a document of OpenAPI, and whether it is a file.
func namesDocument(arg string) (can, file bool) {
	if u, err := url.Parse(arg); err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") {
		return opentools.LooksLikeDocument(u), false
	}
	info, err := os.Stat(arg)
	return err == nil && info.Mode().IsRegular() && opentools.LooksLikeDocument(&url.URL{Path: filepath.ToSlash(arg)}), true
}

// documents takes the documents of OpenAPI out of the arguments, and returns what was seen of them.
// An address that has none is a page.
func (k *checker) documents(ctx context.Context, args []string) (all []*check.Snapshot, rest []string, err error) {
	for _, arg := range args {
		can, file := namesDocument(arg)
		if !can {
			rest = append(rest, arg)
			continue
		}
		var found *opentools.Found
		var problem error
		if file {
			words, err := os.ReadFile(arg)
			if err != nil {
				return nil, nil, terminal.Usage("%s %w", text.Line(arg), config.Problem(err))
			}
			var d *opentools.Document
			if d, problem = opentools.ReadFile(words); problem == nil {
				found = &opentools.Found{Document: d}
			}
		} else {
			found, problem = (&opentools.Discoverer{Client: http.DefaultClient}).Given(ctx, arg)
			if errors.Is(problem, opentools.ErrNotFound) {
				k.notes = append(k.notes, "an address is opened as a page: "+text.Line(problem.Error()))
				rest = append(rest, arg)
				continue
			}
		}
		all = append(all, documentSeen(arg, found, problem))
	}
	return all, rest, nil
}

// documentSeen returns a document as the rules read it: its text, the parts that are left out, and
// the tools that models get.
func documentSeen(target string, found *opentools.Found, problem error) *check.Snapshot {
	api := &check.API{URL: target}
	s := &check.Snapshot{Target: target, Source: "a document of OpenAPI", API: api}
	if found != nil {
		api.Document, api.Auth = found.JSON(), found.Auth
		if found.URL != nil {
			api.URL = found.URL.String()
		}
	}
	page := check.Page{URL: api.URL}
	if problem != nil {
		api.Problem = problem.Error()
		return s
	}
	tools, problems := found.Tools(opentools.Marked)
	for _, text := range problems {
		operation, reason, _ := strings.Cut(text, ": ")
		api.Left = append(api.Left, check.Left{Operation: operation, Reason: reason, Unusable: true})
	}
	for _, t := range tools {
		for _, note := range t.Notes {
			api.Left = append(api.Left, check.Left{Operation: t.Method + " " + t.Path, Reason: note})
		}
		page.Tools = append(page.Tools, check.Tool{Name: t.Name, Title: t.Title, Description: t.Description, Input: t.Input, Output: t.Output,
			Annotations: annotationsOf(t)})
	}
	if len(page.Tools) > 0 {
		s.Pages = []check.Page{page}
	}
	return s
}

// annotationsOf are the hints that the method and the terms of an operation are.
func annotationsOf(t *opentools.Tool) json.RawMessage {
	return schema.MustEncode(struct {
		ReadOnly    bool `json:"readOnlyHint"`
		Destructive bool `json:"destructiveHint"`
		Untrusted   bool `json:"untrustedContentHint"`
	}{(t.Method == http.MethodGet || t.Method == http.MethodHead) && !t.Terms.Destructive, t.Terms.Destructive, t.Terms.Untrusted})
}

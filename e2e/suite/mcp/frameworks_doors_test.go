package mcp_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/pagetools/pagetools/e2e/suite"
)

// door is one way to the tools of a site, with a session of its own.
type door struct {
	name string
	own  bool // its list comes from the session's page; the document of OpenAPI is the site's
	list func() []string
	call func(tool, input string) reply
}

// doors returns the ways to the tools of a shop.
func (f framework) doors(t *testing.T, s *suite.Server) []door {
	t.Helper()
	a := &suite.MCPAgent{Version: "2026-07-28"}
	if err := a.OverHTTP(t.Context(), s.URL+"/mcp/"+f.name+"?session=mcp", ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return []door{
		{"webtools", true,
			func() []string { return s.Ask("/webtools/"+f.name+"?sessionId=webtools", "").Actions(t) },
			func(tool, input string) reply {
				r := s.Ask("/webtools/"+f.name,
					fmt.Sprintf(`{"sessionId":"webtools","action":%q,"request":%s}`, tool, input))
				if r.Status != http.StatusOK {
					e := r.Failed(t)
					return reply{failure: &e}
				}
				return reply{data: r.Data(t)}
			}},
		{"mcp", true,
			func() []string { return listed(t, a) },
			func(tool, input string) reply { return called(t, a, tool, input) }},
		{"openapi", false,
			func() []string { return operations(t, s.Ask("/sites/"+f.name+"/openapi.json", "")) },
			func(tool, input string) reply {
				r := s.Ask("/tools/"+f.name+"/"+tool+"?sessionId=openapi", input)
				if r.Status != http.StatusOK {
					e := r.Failed(t)
					return reply{failure: &e}
				}
				return reply{data: r.Body}
			}},
	}
}

// listed returns the names in an agent's list.
func listed(t *testing.T, a *suite.MCPAgent) []string {
	t.Helper()
	names, err := a.Names(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(names)
}

// called calls a tool over MCP.
func called(t *testing.T, a *suite.MCPAgent, tool, input string) reply {
	t.Helper()
	params := mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(input)}
	got, err := a.Client.CallTool(t.Context(), mcp.CallToolRequest{Params: params})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Meta struct {
			Failure *suite.Failure `json:"pagetools/error"`
		} `json:"_meta"`
		Content           []struct{ Text string }
		StructuredContent json.RawMessage
		IsError           bool
	}
	err = json.Unmarshal(text, &r)
	if err != nil || len(r.Content) == 0 || r.IsError != (r.Meta.Failure != nil) {
		t.Fatalf("the result is %s (%v)", text, err)
	}
	switch {
	case r.IsError:
		return reply{failure: r.Meta.Failure}
	case r.StructuredContent != nil:
		return reply{data: r.StructuredContent}
	case json.Valid([]byte(r.Content[0].Text)):
		return reply{data: json.RawMessage(r.Content[0].Text)}
	default:
		said, _ := json.Marshal(r.Content[0].Text) // a string
		return reply{data: said}
	}
}

// operations returns the tools that a document of OpenAPI has.
func operations(t *testing.T, r suite.Reply) []string {
	t.Helper()
	var document struct{ Paths map[string]any }
	if err := json.Unmarshal(r.Body, &document); err != nil {
		t.Fatalf("%v: %s", err, suite.Shorten(r.Body))
	}
	names := slices.Sorted(maps.Keys(document.Paths))
	for i := range names {
		names[i] = path.Base(names[i])
	}
	return names
}

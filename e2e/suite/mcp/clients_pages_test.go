package mcp_test

import (
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/e2e/suite"
)

// TestClientPages checks that the pages for clients of MCP have their tools, and that the bridge
// and the page report what is bad about the tools of the third.
func TestClientPages(t *testing.T) {
	t.Parallel()
	tests := []struct {
		page    string
		has     []string
		refused []string // by the bridge, with a warning
	}{
		{"conformance", []string{
			"confirm_delete", "failing_job", "greet", "json_schema_2020_12_tool", "slow_compute", "test_audio_content", "test_tool_with_task", "test_elicitation", "test_embedded_resource", "test_error_handling", "test_image_content",
			"test_input_required_result_capabilities", "test_input_required_result_elicitation", "test_input_required_result_multi_round",
			"test_input_required_result_request_state", "test_input_required_result_tampered_state", "test_logging_tool",
			"test_multiple_content_types", "test_simple_text", "test_streaming_elicitation", "test_tool_with_progress", "test_trigger_tool_change",
		}, nil},
		{"clients", []string{"buy", "draw", "echo", "fail", "greet", "grow", "hold", "recite", "reserve", "save", "say", "shrink"}, nil},
		{"badtools", []string{"dotted.name", "good-first", "good-last", "output-list", "output-string", "pagetools_search", "properties-list", "refused", "required-string"}, []string{
			"type-string", "schema-true", "bad-pattern", "http-reference", "file-reference", "lost-reference",
			"output-reference", "long-description",
		}},
	}
	for _, test := range tests {
		t.Run(test.page, func(t *testing.T) {
			t.Parallel()
			var said strings.Builder
			cmd := exec.CommandContext(t.Context(), suite.Pagetools(t), "tools", filepath.Join("..", "testdata", "sites", test.page), "--format", "json", "--data-dir", "off")
			cmd.Stderr = &said
			out, err := cmd.Output()
			var page struct{ Tools []struct{ Name string } }
			if err := errors.Join(err, json.Unmarshal(out, &page)); err != nil {
				t.Fatalf("%v\n%s", err, &said)
			}
			var names []string
			for _, tool := range page.Tools {
				names = append(names, tool.Name)
			}
			for _, name := range test.has {
				if !slices.Contains(names, name) {
					t.Errorf("the page has no tool %s: %s", name, names)
				}
			}
			for _, name := range test.refused {
				if slices.Contains(names, name) || !strings.Contains(said.String(), "warning: "+name+": ") {
					t.Errorf("%s is a tool, or nobody says why it is not: %s", name, &said)
				}
			}
		})
	}
}

package mcp_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/e2e/suite"
)

// waitsForAPerson reports whether the same call, made again, continues this one.
func waitsForAPerson(err error) bool {
	var refused suite.ToolRefused
	return errors.As(err, &refused) && strings.Contains(string(refused), "The user can answer")
}

// TestMCPAgents checks that the agents of these tests recognize a refusal.
func TestMCPAgents(t *testing.T) {
	if err := fmt.Errorf("calling: %w", suite.ToolRefused("The user can answer in pagetools.")); !waitsForAPerson(err) || waitsForAPerson(errors.New("The user can answer")) {
		t.Error("a call that waits is not told from one that failed")
	}
}

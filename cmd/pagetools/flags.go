package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
)

// choice is a flag that takes one of a few words.
type choice struct {
	value *string
	of    []string
}

var _ pflag.Value = (*choice)(nil)

// Set implements pflag.Value.
func (c *choice) Set(text string) error {
	if !slices.Contains(c.of, text) {
		return fmt.Errorf("must be one of %s", strings.Join(c.of, ", "))
	}
	*c.value = text
	return nil
}

// String implements pflag.Value.
func (c *choice) String() string {
	if c.value == nil {
		return ""
	}
	return *c.value
}

// Type implements pflag.Value. Help shows it.
func (c *choice) Type() string { return "word" }

// atMost is a flag that takes a number from 1.
type atMost struct {
	value *int
	most  int
}

var _ pflag.Value = (*atMost)(nil)

// Set implements pflag.Value.
func (a *atMost) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > a.most {
		return fmt.Errorf("must be a number from 1 to %d", a.most)
	}
	*a.value = n
	return nil
}

// String implements pflag.Value.
func (a *atMost) String() string { return "" }

// Type implements pflag.Value.
func (a *atMost) Type() string { return "number" }

// not names the first of the words that were typed where others were expected.
func not(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return fmt.Sprintf(", not %q", terminal.Plain(args[0]))
}

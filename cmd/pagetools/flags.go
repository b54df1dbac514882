package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/e2e/check"
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

// unknownCommand names the command that was probably meant.
func unknownCommand(c *cobra.Command, word string) error {
	hint := "see " + c.CommandPath() + " --help"
	if near := c.SuggestionsFor(word); len(near) > 0 {
		hint = "did you mean " + near[0] + "?"
	} else if strings.Contains(word, "://") {
		hint = "did you mean pagetools tools " + terminal.Plain(word) + "?"
	}
	return usage("unknown command %q; %s", terminal.Plain(word), hint)
}

// flagError says in one form what is wrong with a flag, without the words of libraries.
func flagError(c *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	var unknown *pflag.NotExistError
	switch {
	case errors.As(err, &invalid):
		must := strings.TrimPrefix(errors.Unwrap(invalid).Error(),
			strconv.Quote(invalid.GetValue())+" ")
		kind, known := mustBe[invalid.GetFlag().Value.Type()]
		if known && strings.HasPrefix(must, "strconv.") {
			must = kind
		}
		return usage("invalid value %q for --%s: %s", terminal.Plain(invalid.GetValue()),
			invalid.GetFlag().Name, must)
	case errors.As(err, &unknown) && len(unknown.GetSpecifiedName()) > 1:
		if near := meantFlag(c, unknown.GetSpecifiedName()); near != "" {
			return usage("unknown flag: --%s; did you mean --%s?",
				terminal.Plain(unknown.GetSpecifiedName()), near)
		}
	}
	return usage("%s; see %s --help", terminal.Plain(err.Error()), c.CommandPath())
}

// meantFlag returns the flag of a command that was probably meant, or "". All commands have
// those for serving, and not all of them serve.
func meantFlag(c *cobra.Command, word string) string {
	if ours := otherWords[word]; ours != "" {
		verb := help[strings.TrimPrefix(c.CommandPath(), "pagetools ")]
		if strings.Contains(verb.groups, "serving") {
			return ours
		}
		return ""
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return check.Nearest(word, names)
}

// otherWords are names of flags in other programs, and what pagetools has for them.
var otherWords = map[string]string{
	"port": "listen HOST:PORT", "host": "listen HOST:PORT", "address": "listen HOST:PORT",
	"bind": "listen HOST:PORT", "key": "token TOKEN", "api-key": "token TOKEN",
	"auth": "token TOKEN",
}

// mustBe says what flags of the library's own types take.
var mustBe = map[string]string{"bool": "must be true or false", "int": "must be a number"}

// sayUnknownVariables names variables that are probably misspelled: what they say does not
// count.
func sayUnknownVariables(w io.Writer) {
	known := []string{"PAGETOOLS_CONSOLE_TOKEN"}
	for _, key := range config.Keys() {
		known = append(known, config.EnvName(key))
	}
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, "PAGETOOLS_") || slices.Contains(known, name) {
			continue
		}
		if near := check.Nearest(name, known); near != "" {
			fmt.Fprintf(w, "pagetools: warning: %s is not a setting and does not count; "+
				"did you mean %s?\n", terminal.Plain(name), near)
		}
	}
}

package mcp_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/pagetools/pagetools/e2e/suite"
)

// TestListAfterReload: clients of each kind of protocol are told when a site of the file comes or
// goes, and have its tools then.
func TestListAfterReload(t *testing.T) {
	t.Parallel()
	config, page := filepath.Join(t.TempDir(), "x.yaml"), suite.PageServer()
	write := func(names ...string) {
		text := "sites:\n"
		for _, name := range names {
			text += fmt.Sprintf("  - {name: %s, target: %q}\n", name, page.Page("config.html?"+name))
		}
		if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one", "two")
	s := suite.Serve(t, "--config", config)
	ctx, cancel := context.WithCancel(t.Context())
	var following sync.WaitGroup
	defer following.Wait()
	defer cancel()
	var clients []*follower
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		f := newFollower(version)
		if err := f.OverHTTP(ctx, s.URL+"/mcp", ""); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Close() }()
		following.Go(func() { f.follow(ctx) })
		clients = append(clients, f)
	}
	has := func(names ...string) {
		t.Helper()
		for _, f := range clients {
			suite.Eventually(t, suite.ReplyWithin, fmt.Sprintf("%s has %v", f.Version, names), func() bool {
				list, _, err := f.seen()
				if err != nil {
					t.Fatalf("%s: %v", f.Version, err)
				}
				return strings.Count(list, "_look") == len(names) && func() bool {
					for _, name := range names {
						if !strings.Contains(list, name+"_look") {
							return false
						}
					}
					return true
				}()
			})
		}
	}
	has("one", "two")
	for _, next := range [][]string{{"one", "two", "three"}, {"three", "one"}} {
		write(next...)
		if err := s.Cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		has(next...)
	}
}

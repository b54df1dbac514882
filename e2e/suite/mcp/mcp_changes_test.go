package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/e2e/suite"
)

// follower is a client that lists the tools whenever it is told that they changed,
// and at no other time.
type follower struct {
	suite.MCPAgent

	mu       sync.Mutex
	news     chan struct{}
	list     string
	told     int
	progress []int // in thousandths: what is counted is parts
	failed   error
}

func newFollower(version string) *follower {
	f := &follower{MCPAgent: suite.MCPAgent{Version: version}, news: make(chan struct{}, 1)}
	f.Hears = f.hear
	return f
}

func (f *follower) hear(n mcp.JSONRPCNotification) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch n.Method {
	case "notifications/tools/list_changed", "notifications/subscriptions/acknowledged":
		f.told++
		select {
		case f.news <- struct{}{}:
		default: // it has not begun to look yet
		}
	case "notifications/progress":
		value, _ := n.Params.AdditionalFields["progress"].(float64)
		f.progress = append(f.progress, int(math.Round(value*1000)))
	}
}

// follow lists the tools once, and on every notice, until ctx ends.
func (f *follower) follow(ctx context.Context) {
	if f.Modern() {
		stop, err := f.Client.ListenAsync(ctx, mcp.SubscriptionFilter{ToolsListChanged: true}, func(err error) { f.note("", err) })
		if err != nil {
			f.note("", err)
			return
		}
		defer stop()
	}
	for {
		list, err := f.Names(ctx)
		if ctx.Err() != nil {
			return
		}
		f.note(list, err)
		select {
		case <-f.news:
		case <-ctx.Done():
			return
		}
	}
}

func (f *follower) note(list string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.list = list; err != nil && f.failed == nil {
		f.failed = err
	}
}

func (f *follower) seen() (list string, told int, failed error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.list, f.told, f.failed
}

const changesOfAPage = 200

// secondsOfChanges is the time of the changes. After ten seconds progress comes less often, which
// transport/mcp tests with a clock of its own.
var secondsOfChanges = gatetest.Amount(2.5, 10.5)

// churn makes the page change its tools, and checks the lists of its clients in the end. The first
// of them makes the call, and gets its progress.
func churn(ctx context.Context, followers []*follower) error {
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	defer following.Wait()
	defer cancel()
	for _, f := range followers {
		following.Go(func() { f.follow(ctx) })
	}
	for _, f := range followers {
		if !suite.Within(suite.ReplyWithin, func() bool { list, _, _ := f.seen(); return list != "" }) {
			return fmt.Errorf("%s has no list", f.Version)
		}
	}
	first := followers[0]
	began := time.Now()
	var page struct{ Tools []string }
	if err := first.Run(ctx, "churn", map[string]any{"changes": changesOfAPage, "seconds": secondsOfChanges}, "churn", &page); err != nil {
		return fmt.Errorf("%s: %w", first.Version, err)
	}
	all := first.heardProgress(time.Since(began))
	want := strings.Join(page.Tools, " ")
	for _, f := range followers {
		all = errors.Join(all, f.ended(want))
	}
	if len(page.Tools) < 5 {
		all = errors.Join(all, fmt.Errorf("the page has only %s", want))
	}
	return all
}

// ended checks that the client gets the page's list in the end.
func (f *follower) ended(want string) error {
	suite.Within(suite.ReplyWithin, func() bool { list, _, err := f.seen(); return err != nil || list == want })
	switch list, told, err := f.seen(); {
	case err != nil:
		return fmt.Errorf("%s: %w", f.Version, err)
	case list != want:
		return fmt.Errorf("%s has the list\n%s, want\n%s", f.Version, list, want)
	case told < 10 || told > changesOfAPage+2:
		return fmt.Errorf("%s was told %d times of %d changes", f.Version, told, changesOfAPage)
	}
	return nil
}

// heardProgress checks that the client got progress of a call that took so long: at once, every
// second in the first ten, and every five after that.
func (f *follower) heardProgress(took time.Duration) error {
	reports := func(d time.Duration) int {
		if d <= 10*time.Second {
			return 1 + int(d/time.Second)
		}
		return 11 + int((d-10*time.Second)/(5*time.Second))
	}
	least, most := reports(time.Duration(secondsOfChanges*float64(time.Second))), reports(took)
	heard := func() []int {
		f.mu.Lock()
		defer f.mu.Unlock()
		return slices.Clone(f.progress)
	}
	suite.Within(suite.ReplyWithin, func() bool { return len(heard()) >= least })
	list := heard()
	for i, n := range list {
		if n != i+1 {
			return fmt.Errorf("%s: the progress is %v", f.Version, list)
		}
	}
	if len(list) < least || len(list) > most {
		return fmt.Errorf("%s: in %v the progress is %v", f.Version, took, list)
	}
	return nil
}

// TestEveryChangeIsTold: a page changes its tools 200 times while eight clients look, of every
// protocol version and over both transports. In the end each of them has the page's list, and the
// call that made the changes got its progress.
func TestEveryChangeIsTold(t *testing.T) {
	t.Parallel()
	site := newClientSite()
	t.Cleanup(site.Close)
	target := "churn=" + site.URL + "/churn/"
	t.Run("HTTP", func(t *testing.T) {
		t.Parallel()
		s := suite.Serve(t, target, "--approval", "auto", "--warm", "0")
		var all []*follower
		for _, version := range append([]string{"2026-07-28", "2025-11-25", "2025-06-18"}, suite.MCPVersions...) {
			f := newFollower(version)
			all = append(all, f)
			if err := f.OverHTTP(t.Context(), s.URL+"/mcp", ""); err != nil {
				t.Fatalf("%s: %v", version, err)
			}
			t.Cleanup(func() { _ = f.Close() })
		}
		if err := churn(t.Context(), all); err != nil {
			t.Error(err)
		}
	})
	t.Run("stdio", func(t *testing.T) { // each has a process, and so a page, of its own: at once, because it takes its time
		t.Parallel()
		bin := suite.Pagetools(t)
		var all sync.WaitGroup
		for _, version := range suite.SomeVersions(1) {
			tmp, f := suite.TempDir(t), newFollower(version)
			if err := f.OverStdio(t.Context(), bin, tmp, target, "--approval", "auto", "--warm", "0"); err != nil {
				t.Fatalf("%s: %v", version, err)
			}
			t.Cleanup(func() { _ = f.Close() })
			all.Go(func() {
				if err := churn(t.Context(), []*follower{f}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	})
}

// TestReadsBesideOverMCP: two calls of a tool that only reads are in the page at once.
func TestReadsBesideOverMCP(t *testing.T) {
	t.Parallel()
	site := newClientSite()
	t.Cleanup(func() { site.CloseClientConnections(); site.Close() })
	s := suite.Serve(t, "clients="+site.URL+"/clients/", "--approval", "auto", "--warm", "0")
	a := &suite.MCPAgent{Version: "2025-11-25"}
	if err := a.OverHTTP(t.Context(), s.URL+"/mcp", ""); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Close() }()
	ids := []string{"one", "two", "three"}
	var calls sync.WaitGroup
	for _, id := range ids {
		calls.Go(func() {
			var said string
			if err := a.Run(t.Context(), "hold", map[string]string{"id": id}, "", &said); err != nil || said != "released" {
				t.Errorf("%s: %q, %v", id, said, err)
			}
		})
	}
	for _, path := range []string{"/held", "/release"} { // all of them are there before the first one goes
		for _, id := range ids {
			if _, err := site.tell(t.Context(), path, id); err != nil {
				t.Errorf("%s %s: %v", path, id, err)
			}
		}
	}
	calls.Wait()
}

// TestPartsOverMCP (anyone 6): a client of the library hears of each part of a result before the
// next one is made, in order, and of none after the result. One that cancels in the middle closes
// the generator once.
func TestPartsOverMCP(t *testing.T) {
	t.Parallel()
	site := newClientSite()
	t.Cleanup(func() { site.CloseClientConnections(); site.Close() })
	s := suite.Serve(t, "clients="+site.URL+"/clients/", "--approval", "auto", "--warm", "0")
	for _, version := range suite.SomeVersions(2) {
		parts := make(chan string, 100)
		a := &suite.MCPAgent{Version: version, Hears: func(n mcp.JSONRPCNotification) {
			if message, _ := n.Params.AdditionalFields["message"].(string); strings.HasPrefix(message, "line ") {
				parts <- fmt.Sprint(message, " ", n.Params.AdditionalFields["progress"], "/", n.Params.AdditionalFields["total"])
			}
		}}
		if err := a.OverHTTP(t.Context(), s.URL+"/mcp", ""); err != nil {
			t.Fatal(err)
		}
		heard, id := make(chan string, 1), "all-"+version
		go func() {
			all := ""
			for line := range 3 {
				all += <-parts + " "
				_, _ = site.tell(t.Context(), "/release", fmt.Sprint(id, "-", line+1))
			}
			heard <- all
		}()
		var said string
		if err := a.Run(t.Context(), "recite", map[string]string{"id": id}, "p", &said); err != nil || said != "recited" {
			t.Errorf("%s: %q, %v", version, said, err)
		}
		if all, want := <-heard, "line 1 10/30 line 2 20/30 line 3 30/30 "; all != want {
			t.Errorf("%s hears %q, want %q", version, all, want)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-parts; cancel() }()
		if err := a.Run(ctx, "recite", map[string]string{"id": "some-" + version}, "p", &said); err == nil {
			t.Errorf("%s: a call that was cancelled says %q", version, said)
		}
		if got, err := site.tell(t.Context(), "/hold", "some-"+version); err != nil || got != "released" {
			t.Errorf("%s: nobody closed the generator: %q, %v", version, got, err)
		}
		if got, err := site.tell(t.Context(), "/counted", "some-"+version); err != nil || got != "1" {
			t.Errorf("%s: it was closed %s times, %v", version, got, err)
		}
		if n := len(parts); n > 0 {
			t.Errorf("%s hears %d parts too many", version, n)
		}
		_ = a.Close()
	}
}

package store

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/webtool"
)

// helperMode makes the test binary another process on a data folder.
const helperMode = "PAGETOOLS_STORE_HELPER"

func TestMain(m *testing.M) {
	if mode := os.Getenv(helperMode); mode != "" {
		if err := help(mode, os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(bridgetest.Main(m, os.Stderr))
}

// help runs in the other process.
func help(mode, dir string) error {
	ctx := context.Background()
	s, err := Open(ctx, Options{Dir: dir, CheckpointRecords: 50, Busy: time.Minute, maxPart: 20_000})
	if err != nil {
		return err
	}
	switch mode {
	case "until-killed":
		return writeUntilKilled(ctx, s)
	case "keys":
		return beginCalls(ctx, s)
	case "claim":
		if err := claimMany(ctx, s); err != nil {
			return err
		}
	default:
		return fmt.Errorf("no such mode: %s", mode)
	}
	return s.Close()
}

// writeUntilKilled says each number when everything under it must not be lost.
func writeUntilKilled(ctx context.Context, s *Store) error {
	for i := 1; ; i++ {
		n := strconv.Itoa(i)
		state, err := s.Replies.Begin(ctx, "agent", "key "+n, "body")
		if err != nil {
			return err
		}
		if err := s.Versions.Append(ctx, "shop "+n, version("1.0.0", "d"+n)); err != nil {
			return err
		}
		ticket, err := s.Audit.Intent(ctx, bridge.AuditRecord{Wait: true, Call: n, Claim: state.Claim})
		if err != nil {
			return err
		}
		fmt.Println(n)
		if err := s.Audit.Outcome(ctx, ticket, bridge.AuditRecord{Call: n, Outcome: "ok"}); err != nil {
			return err
		}
		if err := s.Calls.Log(ctx, bridge.CallRecord{Time: time.Now(), Call: n, Outcome: "ok"}); err != nil {
			return err
		}
	}
}

// The keys of the process that is killed in the middle of calls.
var interrupted = map[string]bridge.ReplyStatus{
	"not begun": bridge.ReplyClaimed, "begun": bridge.ReplyUnknown, "over": bridge.ReplyUnknown,
	"did not run": bridge.ReplyClaimed, "finished": bridge.ReplyFinished,
}

// held is the session of that process.
var held = bridge.SessionName{Caller: "agent", Site: "shop", ID: "held"}

// beginCalls brings the call of each key as far as its name says, and waits.
func beginCalls(ctx context.Context, s *Store) error {
	for key := range interrupted {
		state, err := s.Replies.Begin(ctx, "agent", key, "body")
		if err != nil || key == "not begun" {
			if err != nil {
				return err
			}
			continue
		}
		ticket, err := s.Audit.Intent(ctx, bridge.AuditRecord{Wait: true, Call: key, Claim: state.Claim})
		if err != nil {
			return err
		}
		outcome := map[string]string{"over": "ok", "did not run": string(bridge.NotRun), "finished": "ok"}[key]
		if outcome != "" {
			if err := s.Audit.Outcome(ctx, ticket, bridge.AuditRecord{Call: key, Outcome: outcome}); err != nil {
				return err
			}
		}
		if key == "finished" {
			if err := s.Replies.Finish(ctx, state.Claim, []byte("{}")); err != nil {
				return err
			}
		}
	}
	if _, err := s.Homes.Open(ctx, held); err != nil {
		return err
	}
	if err := s.Flush(ctx); err != nil {
		return err
	}
	fmt.Println(claimsDone)
	_, err := bufio.NewReader(os.Stdin).ReadString('\n')
	return err
}

const (
	contested = 40 // keys that two processes claim
	recorded  = 100

	claimsDone = "done"
)

// claimMany claims every key, says which ones it got, and writes records.
func claimMany(ctx context.Context, s *Store) error {
	for i := range contested {
		state, err := s.Replies.Begin(ctx, "agent", strconv.Itoa(i), "body")
		if err != nil {
			return err
		}
		switch state.Status {
		case bridge.ReplyClaimed:
			fmt.Println(i)
		case bridge.ReplyInFlight:
		default:
			return fmt.Errorf("key %d is %s", i, state.Status)
		}
	}
	for range recorded {
		ticket, err := s.Audit.Intent(ctx, bridge.AuditRecord{Wait: true})
		if err != nil {
			return err
		}
		if err := s.Audit.Outcome(ctx, ticket, bridge.AuditRecord{}); err != nil {
			return err
		}
	}
	fmt.Println(claimsDone)
	// Until the other one has claimed too, the claims must be of a living owner.
	_, err := bufio.NewReader(os.Stdin).ReadString('\n')
	return err
}

// helper prepares another process.
func helper(t *testing.T, mode, dir string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, dir)
	cmd.Env = append(os.Environ(), helperMode+"="+mode)
	cmd.Stderr = os.Stderr
	return cmd
}

// open opens a store, which is closed at the end of the test unless the test
// closes it.
func open(t *testing.T, o Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	closeLater(t, s)
	return s
}

func closeLater(t *testing.T, s *Store) {
	t.Helper()
	inner := s.close
	done := false
	s.close = func() error {
		done = true
		return inner()
	}
	t.Cleanup(func() {
		if !done {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}

// folder returns a data folder that does not exist yet.
func folder(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "data")
}

func version(number, digest string) webtool.Record {
	at := time.Date(2026, 11, 21, 12, 0, 0, 123456789, time.UTC)
	return webtool.Record{Version: number, Digest: digest, Document: []byte(`{"name":"shop","version":"` + number + `"}`), LastSeen: at}
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func journalOf(t *testing.T, s *Store) *journal {
	t.Helper()
	j, isJournal := s.Audit.(*journal)
	if !isJournal {
		t.Fatal("no journal")
	}
	return j
}

// history loads a webtool's history, with its documents.
func history(t *testing.T, v webtool.Store, name string) []webtool.Record {
	t.Helper()
	all := must(v.Load(t.Context(), name))(t)
	for i := range all {
		all[i].Document = must(v.Document(t.Context(), name, all[i].Version))(t)
	}
	return all
}

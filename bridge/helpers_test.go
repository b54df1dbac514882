package bridge_test

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
)

var (
	exit   = os.Exit
	stderr = os.Stderr
)

// open makes a bridge over one site, "shop".
func open(t *testing.T, r *bridgetest.Router, o bridge.SiteOptions) *bridge.Bridge {
	t.Helper()
	b, err := bridge.New(r, bridge.Options{Sites: map[string]bridge.SiteOptions{"shop": o}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// do runs a call of the local caller.
func do(t *testing.T, b *bridge.Bridge, tool, input, config string) ([]byte, *bridge.Error) {
	t.Helper()
	in, err := bridge.ReadValue("request", json.RawMessage(input))
	if err != nil {
		return nil, bridge.AsError(err)
	}
	c := &bridge.Call{Site: "shop", Tool: tool, Caller: bridge.Local(), Input: in}
	if config != "" {
		c.Config = json.RawMessage(config)
	}
	return run(t, b, c)
}

func run(t *testing.T, b *bridge.Bridge, c *bridge.Call) ([]byte, *bridge.Error) {
	t.Helper()
	res, err := b.Do(context.Background(), c)
	if err != nil {
		return nil, bridge.AsError(err)
	}
	return res, nil
}

// served holds the results of Serve.
type served struct {
	bridge.Step

	run *bridge.Run
}

func serve(ctx context.Context, b *bridge.Bridge, c *bridge.Call) served {
	r, s := b.Serve(ctx, c)
	return served{s, r}
}

// told delivers what was served.
func (s served) told() { _ = s.run.Deliver(written) }

// written is a reply that reaches the client.
func written() error { return nil }

// want checks code, reason and outcome of an error.
func want(t *testing.T, e *bridge.Error, c bridge.Code, r bridge.Reason, o bridge.Outcome) {
	t.Helper()
	if e == nil {
		t.Fatalf("it succeeded, want %s", c)
	}
	if e.Code != c || e.Reason != r || e.Outcome != o {
		t.Fatalf("got %s %q %s, want %s %q %s: %v", e.Code, e.Reason, e.Outcome, c, r, o, e)
	}
}

package store_test

import (
	"context"
	"fmt"
	"os"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/store"
)

// What a bridge remembers is in a folder; the audit of its calls can be verified.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "pagetools-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx := context.Background()
	s, err := store.Open(ctx, store.Options{Dir: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = s.Close() }()
	ticket, err := s.Audit.Intent(ctx, bridge.AuditRecord{Wait: true, Caller: "agent", Site: "shop", Tool: "buy"})
	if err == nil {
		err = s.Audit.Outcome(ctx, ticket, bridge.AuditRecord{Wait: true, Caller: "agent", Site: "shop", Tool: "buy", Outcome: "ok"})
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	found, err := s.Verify(ctx)
	fmt.Println(len(found.Bad), found.OpenCount, err)
	// Output: 0 0 <nil>
}

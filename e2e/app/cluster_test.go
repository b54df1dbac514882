package app

import (
	"errors"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/records"
	"github.com/pagetools/pagetools/bridge/records/directory"
	"github.com/pagetools/pagetools/bridge/records/lease"
	"github.com/pagetools/pagetools/bridge/records/recordstest"
	"github.com/pagetools/pagetools/transport/cluster/key"
)

// TestUnknownHome: a session of which nobody can know who has it is refused as what the engine does not
// answer, and told apart from one that another node has.
func TestUnknownHome(t *testing.T) {
	r, fault := &recordstest.Faulty{Records: records.NewMemory()}, recordstest.None
	r.Fault = func(op recordstest.Op) recordstest.Fault { return fault }
	keys := key.Keys{Now: key.New()}
	node, err := lease.Join(t.Context(), lease.Options{Records: r.Records})
	if err != nil {
		t.Fatal(err)
	}
	a := &homes{nodes: nodesOf{node, "a"}, dir: directory.New(directory.Options{Records: r, Sealer: keys.Sealer(key.Records)}),
		namer: keys.Namers()[0], held: map[string]*heldHome{}, opened: map[int64]*openedPage{}}
	name := bridge.SessionName{Caller: "agent", Site: "shop", ID: "s"}
	fault = recordstest.Fail
	_, opened := a.Open(t.Context(), name)
	_, asked := a.Elsewhere(t.Context(), name)
	for _, err := range []error{opened, asked} {
		if e, ok := errors.AsType[*bridge.Error](err); !ok || e.Reason != bridge.NoQuorum || e.Outcome != bridge.NotRun || e.Retry == 0 {
			t.Errorf("without the engine: %v", err)
		}
	}
	fault = recordstest.None
	if _, err := a.Open(t.Context(), name); err != nil {
		t.Errorf("the control: %v", err)
	}
	if err := unknownHome(bridge.ErrElsewhere); !errors.Is(err, bridge.ErrElsewhere) {
		t.Errorf("of another node: %v", err)
	}
}

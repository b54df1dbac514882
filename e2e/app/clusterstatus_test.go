package app

import (
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge/records/lease"
)

// TestWhatStatusWarnsOf: nodes that differ, or are gone, are named, with the difference.
func TestWhatStatusWarnsOf(t *testing.T) {
	t.Parallel()
	node := func(name, id, build, config string) lease.Sighting {
		return lease.Sighting{Member: lease.Member{ID: id, Facts: lease.Facts{Node: name, Build: build, Config: config}}, State: lease.Alive}
	}
	judge := func(copies int, nodes ...lease.Sighting) (ClusterStatus, string) {
		s := newStatus()
		s.Engine.Quorum = true
		for i := range nodes {
			s.Nodes = append(s.Nodes, nodeStatus(&nodes[i]))
		}
		s.judge(nodes, copies)
		return s, strings.Join(s.Warnings, "\n")
	}
	a, b := node("a", "A1", "1.0", "D1"), node("b", "B1", "1.0", "D1")
	if s, said := judge(3, a, b); said != "" || !s.IsWell() {
		t.Errorf("the control: %s", said)
	}
	if s, said := judge(1, a); said != "" || !s.IsWell() {
		t.Errorf("one node and one copy: %s", said)
	}
	other := node("b", "B1", "1.1", "D2\x1b[2J")
	for says, nodes := range map[string][]lease.Sighting{
		"different builds of pagetools: 1.0 (a), 1.1 (b)":              {a, other},
		"different sites and callers: D1 (a), D2[2J (b)":               {a, other},
		"several nodes have the name a":                                {a, node("a", "A2", "1.0", "D1")},
		"keeps one copy of the records":                                {a, b},
		"the node b has ended without a word":                          {a, {Member: b.Member, State: lease.Dead}},
		"of the node b differs from this machine's by 1h0m0s":          {a, {Member: b.Member, State: lease.Alive, Ahead: 3600e9}},
		"the record of the node B1 is of a newer version of pagetools": {a, {Member: b.Member, State: lease.Alive, Newer: true}},
		"different lengths of the lease: 0s (a), 4s (b)":               {a, {Member: b.Member, State: lease.Alive, Lease: 4e9}},
	} {
		s, said := judge(1, nodes...)
		if !strings.Contains(said, says) || s.IsWell() != !strings.Contains(says, "ended") {
			t.Errorf("not %q, but\n%s", says, said)
		}
	}
	s := newStatus()
	if s.IsWell() {
		t.Error("without an engine it is well")
	}
	writes := true
	s.Engine.Quorum, s.Vault.Writes = true, &writes
	if !s.IsWell() {
		t.Error("a vault that takes writes")
	}
	if writes = false; s.IsWell() {
		t.Error("without its vault it is well")
	}
}

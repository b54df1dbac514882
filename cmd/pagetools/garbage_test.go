package main

import (
	"runtime/metrics"
	"testing"
)

// TestIdleHeap: what strangers left is collected while nobody asks for anything.
func TestIdleHeap(t *testing.T) {
	heap := func() uint64 {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	filled := func() uint64 {
		held := make([][]byte, 400)
		for i := range held {
			held[i] = make([]byte, 1<<20)
		}
		n := heap()
		clear(held)
		return n
	}()
	var last idleness
	last.look() // the allocations are newer than what it knows
	last.look()
	made := make([]byte, 2*idleAllocations)
	last.look()
	if now := heap(); filled < 300<<20 || now > filled/2 {
		t.Errorf("%d of %d bytes are left", now, filled)
	}
	_ = made[0]
}

package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// Collecting garbage a third as often as usual makes calls faster, and costs little memory
// while the heap is small. Where strangers have filled it, it must not become four times as
// large: garbage is then collected when there are about this many bytes of it.
const (
	mostGarbage    = 32 << 20
	usualGCPercent = 300
	leastGCPercent = 25
	mostFree       = 48 << 20
)

// When strangers who filled the heap are gone, nobody makes garbage that would have it collected:
// a heap of this size is looked at each idleTime.
const (
	largeHeap = 32 << 20
	idleTime  = 15 * time.Second
)

// collectLess does so from now on, unless the environment says how often to collect.
func collectLess() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(usualGCPercent)
		afterCollection(usualGCPercent)
		var last idleness
		go func() { // ends with the process
			for range time.Tick(idleTime) {
				last.look()
			}
		}()
	}
}

// idleness is what there was when it was looked last, and own says that it was just collected.
type idleness struct {
	collections, allocated uint64
	own                    bool
}

// look collects garbage, and returns memory to the system, when the heap is large, and nothing
// was collected since it looked last. What it collected itself must have grown.
func (last *idleness) look() {
	read := func() (now idleness, heap uint64) {
		sample := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"},
			{Name: "/gc/heap/allocs:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(sample)
		now = idleness{collections: sample[0].Value.Uint64(), allocated: sample[1].Value.Uint64()}
		return now, sample[2].Value.Uint64()
	}
	now, heap := read()
	same := now.collections == last.collections
	grew := !last.own || now.allocated > last.allocated+idleAllocations
	if heap > largeHeap && same && grew {
		debug.FreeOSMemory()
		now, _ = read()
		now.own = true
	} else if same {
		now.own, now.allocated = last.own, last.allocated
	}
	*last = now
}

// idleAllocations are less than what it costs to close a page.
const idleAllocations = 64 << 10

// afterCollection looks at the heap after the next collection, and then again.
func afterCollection(percent int) {
	mark := new(*int) // gone with the next collection
	runtime.AddCleanup(mark, func(before int) {
		now, limit := pace()
		debug.SetMemoryLimit(limit)
		if now != before {
			debug.SetGCPercent(now)
		}
		afterCollection(now)
	}, percent)
}

// pace is how much garbage there may be beside what lives, and how much memory both may take
// with what was not returned to the system yet: beyond it the runtime returns what is free.
func pace() (percent int, limit int64) {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	live := sample[0].Value.Uint64()
	percent = int(mostGarbage / max(1, live/100))
	return max(leastGCPercent, min(usualGCPercent, percent/10*10)), int64(live) + mostFree
}

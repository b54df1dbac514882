package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// Collecting garbage a third as often as usual makes calls faster, and costs little memory
// while the heap is small. Where strangers have filled it, it must not become four times as
// large: garbage is then collected when there are about this many bytes of it.
const (
	mostGarbage    = 48 << 20
	usualGCPercent = 300
	leastGCPercent = 25
)

// collectLess does so from now on, unless the environment says how often to collect.
func collectLess() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(usualGCPercent)
		afterCollection(usualGCPercent)
	}
}

// afterCollection looks at the heap after the next collection, and then again.
func afterCollection(percent int) {
	mark := new(*int) // gone with the next collection
	runtime.AddCleanup(mark, func(before int) {
		now := gcPercent()
		if now != before {
			debug.SetGCPercent(now)
		}
		afterCollection(now)
	}, percent)
}

// gcPercent is how much garbage there may be beside what lives.
func gcPercent() int {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	live := max(1, sample[0].Value.Uint64()/100)
	percent := int(mostGarbage / live)
	return max(leastGCPercent, min(usualGCPercent, percent/10*10))
}

package store

import (
	"strconv"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

func benchRecord(wait bool) bridge.AuditRecord {
	const digest = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"
	return bridge.AuditRecord{
		Wait: wait, Call: "req-0123456789", Trace: "4bf92f3577b34da6a3ce929d0e0e4736", Caller: "agent", Session: "s1", Site: "shop",
		Origin: "https://shop.example", Tool: "list-items", Definition: digest, Arguments: digest, ArgumentBytes: 120,
		Decision: "auto", Rule: "read-only", Outcome: "ok", Result: digest, ResultBytes: 2000,
	}
}

func benchStore(b *testing.B) *Store {
	b.Helper()
	s, err := Open(b.Context(), Options{Dir: b.TempDir() + "/data"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return s
}

func oneCall(b *testing.B, s *Store, wait bool) {
	b.Helper()
	ticket, err := s.Audit.Intent(b.Context(), benchRecord(wait))
	if err == nil {
		err = s.Audit.Outcome(b.Context(), ticket, benchRecord(false))
	}
	if err == nil {
		err = s.Calls.Log(b.Context(), bridge.CallRecord{Time: time.Now(), Took: time.Millisecond, Site: "shop", Tool: "list-items", Caller: "agent", Outcome: "ok"})
	}
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkCall measures a call that changes nothing: the queue is written outside of the measured
// time, as between real calls.
func BenchmarkCall(b *testing.B) {
	s := benchStore(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		oneCall(b, s, false)
		if i%500 == 499 {
			b.StopTimer()
			if err := s.Flush(b.Context()); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
	}
}

// BenchmarkThroughput counts the writer's time as well.
func BenchmarkThroughput(b *testing.B) {
	s := benchStore(b)
	b.ReportAllocs()
	for b.Loop() {
		oneCall(b, s, false)
	}
	if err := s.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkCallWaits measures a call that changes something.
func BenchmarkCallWaits(b *testing.B) {
	s := benchStore(b)
	for b.Loop() {
		oneCall(b, s, true)
	}
}

// BenchmarkCallsWaitTogether shares commits.
func BenchmarkCallsWaitTogether(b *testing.B) {
	s := benchStore(b)
	b.SetParallelism(16)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			oneCall(b, s, true)
		}
	})
}

// BenchmarkSeal encodes and links one record.
func BenchmarkSeal(b *testing.B) {
	began := time.Now()
	var end chain
	b.ReportAllocs()
	for b.Loop() {
		_, next, err := end.seal(newRecord(kindIntent, 3, began, began, benchRecord(true)))
		if err != nil {
			b.Fatal(err)
		}
		end = next
	}
}

// BenchmarkIntent measures an intent: a record in the file.
func BenchmarkIntent(b *testing.B) {
	s := benchStore(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Audit.Intent(b.Context(), benchRecord(true)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLoad measures the read for a webtool's document.
func BenchmarkLoad(b *testing.B) {
	both(b, func(b *testing.B, s *Store) {
		for i := range 10 {
			if err := s.Versions.Append(b.Context(), "shop", version(strconv.Itoa(i), strconv.Itoa(i))); err != nil {
				b.Fatal(err)
			}
		}
		for b.Loop() {
			if got, err := s.Versions.Load(b.Context(), "shop"); err != nil || len(got) != 10 {
				b.Fatal(len(got), err)
			}
		}
	})
}

// BenchmarkKnown measures the bridge's read of a site once a second.
func BenchmarkKnown(b *testing.B) {
	both(b, func(b *testing.B, s *Store) {
		for i := range 20 {
			if err := s.KnownTools.SetKnown(b.Context(), "shop", []bridge.KnownTool{{Tool: strconv.Itoa(i)}}); err != nil {
				b.Fatal(err)
			}
		}
		for b.Loop() {
			if got, err := s.KnownTools.Known(b.Context(), "shop"); err != nil || len(got) != 20 {
				b.Fatal(len(got), err)
			}
		}
	})
}

// both runs a benchmark in a folder and in memory.
func both(b *testing.B, run func(*testing.B, *Store)) {
	b.Run("folder", func(b *testing.B) { run(b, benchStore(b)) })
	b.Run("memory", func(b *testing.B) {
		s := Memory(Options{})
		b.Cleanup(func() { _ = s.Close() })
		run(b, s)
	})
}

// BenchmarkFind measures the search for kept consent in a call.
func BenchmarkFind(b *testing.B) { both(b, benchFind) }

func benchFind(b *testing.B, s *Store) {
	b.Helper()
	for i := range 1000 {
		if _, err := s.Grants.Put(b.Context(), bridge.Grant{GrantUse: bridge.GrantUse{Caller: "agent", Site: "shop", Tool: strconv.Itoa(i), Digest: "d"}, GivenBy: "ann"}); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if _, found, err := s.Grants.Find(b.Context(), bridge.GrantUse{Caller: "agent", Site: "shop", Tool: "500", Digest: "d"}); err != nil || !found {
			b.Fatal(found, err)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	s := benchStore(b)
	for range 5000 {
		oneCall(b, s, false)
	}
	if err := s.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if r, err := s.Verify(b.Context()); err != nil || r.Bad != nil {
			b.Fatal(r.Bad, err)
		}
	}
	b.ReportMetric(10_000, "records/op")
}

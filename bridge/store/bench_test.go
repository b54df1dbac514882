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

// BenchmarkCall is what a call that changes nothing pays: the queue is written
// outside of the measured time, as between real calls.
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

// BenchmarkCallWaits is what a call that changes something pays.
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
	e := entry{kind: kindIntent, ticket: 3, at: time.Now(), record: benchRecord(true)}
	owner, began := newID(), time.Now()
	var end chain
	b.ReportAllocs()
	for b.Loop() {
		end.seal(e.row(owner, began))
	}
}

// BenchmarkJournal is what an intent adds to a call: a record that is encoded and
// in a file. Every tenth time the files turn, as between real calls.
func BenchmarkJournal(b *testing.B) {
	w, isWriter := benchStore(b).Audit.(*writer)
	if !isWriter {
		b.Fatal("no writer")
	}
	e := entry{kind: kindIntent, ticket: 3, at: time.Now(), record: benchRecord(true)}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := w.journal.append(frame(1, e.row(w.owner, w.began))); err != nil {
			b.Fatal(err)
		}
		if i%10 == 9 {
			w.journal.settled()
			w.journal.turn()
		}
	}
}

func BenchmarkFind(b *testing.B) {
	s := benchStore(b)
	for i := range 1000 {
		if _, err := s.Grants.Put(b.Context(), bridge.Grant{Caller: "agent", Site: "shop", Tool: strconv.Itoa(i), Digest: "d", GivenBy: "ann"}); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if _, found, err := s.Grants.Find(b.Context(), bridge.GrantUse{Caller: "agent", Site: "shop", Tool: "500", Digest: "d", Arguments: "a"}); err != nil || !found {
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

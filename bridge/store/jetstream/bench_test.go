package jetstream

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge/store/jetstream/natstest"
)

// BenchmarkRecords measures what one operation takes, with a server alone and with three; and all
// sessions of a cluster read at once.
func BenchmarkRecords(b *testing.B) {
	program := natstest.Newest(b)
	value := []byte(`{"v":1,"home":"K3X9QAAB","epoch":4,"state":"open","box":"` + fmt.Sprintf("%0400d", 0) + `"}`)
	for _, servers := range []int{1, 3} {
		c := natstest.Start(b, program, natstest.Options{Servers: servers})
		s := connect(b, c)
		ctx := b.Context()
		name := fmt.Sprintf("servers=%d/", servers)
		n := 0
		b.Run(name+"create", func(b *testing.B) {
			quantiles(b, func() error {
				n++
				_, err := s.Create(ctx, fmt.Sprint("s.", n), value)
				return err
			})
		})
		revision, err := s.Create(ctx, "n.A", value)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name+"update", func(b *testing.B) {
			quantiles(b, func() (err error) {
				revision, err = s.Update(ctx, "n.A", value, revision)
				return err
			})
		})
		b.Run(name+"get", func(b *testing.B) {
			quantiles(b, func() error {
				_, err := s.Get(ctx, "n.A")
				return err
			})
		})
		for ; n < 10_000; n++ {
			if _, err := s.Create(ctx, fmt.Sprint("s.", n+1), value); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(name+"get of 10,000", func(b *testing.B) {
			i := 0
			quantiles(b, func() error {
				i = i%10_000 + 1
				_, err := s.Get(ctx, fmt.Sprint("s.", i))
				return err
			})
		})
		b.Run(name+"read all of 10,000", func(b *testing.B) {
			quantiles(b, func() error {
				ctx, cancel := context.WithCancel(ctx)
				changes, err := s.Watch(ctx, "s.")
				for r := range changes {
					if r.IsMark() {
						cancel() // which closes the watch
					}
				}
				cancel()
				return err
			})
		})
	}
}

// quantiles does something over and over, and reports what half and 99 of 100 take at most.
func quantiles(b *testing.B, do func() error) {
	b.Helper()
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		if err := do(); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	ms := func(of int) float64 { return took[len(took)*of/100].Seconds() * 1000 }
	b.ReportMetric(ms(50), "p50-ms")
	b.ReportMetric(ms(99), "p99-ms")
}

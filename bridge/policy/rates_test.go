package policy

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var start = time.Unix(1000, 0)

// of makes rates for one site, "shop".
func of(site SiteRates) *Rates {
	return NewRates(RatesOptions{Sites: map[string]SiteRates{"shop": site}})
}

// takes reports whether a call is let through, and after how long it would be.
func takes(r *Rates, caller string, now time.Time) (bool, time.Duration) {
	limit, wait := r.Take(caller, "shop", "search", now)
	return limit == "", wait
}

// drain takes calls until one is refused.
func drain(r *Rates, caller string, now time.Time) (n int) {
	for n < 1_000_000 {
		if ok, _ := takes(r, caller, now); !ok {
			return n
		}
		n++
	}
	return n
}

func TestRates(t *testing.T) {
	r := NewRates(RatesOptions{Callers: map[string]Rate{"a": {3, time.Minute}}})
	if n := drain(r, "a", start); n != 3 {
		t.Fatalf("%d calls at once", n)
	}
	limit, wait := r.Take("a", "shop", "search", start)
	if limit != LimitCaller || wait <= 19*time.Second || wait > 20*time.Second+time.Millisecond {
		t.Fatalf("%s, %v", limit, wait)
	}
	if _, again := takes(r, "a", start); again != wait {
		t.Errorf("asking costs something: %v, then %v", wait, again)
	}
	if ok, _ := takes(r, "b", start); !ok {
		t.Error("another caller is limited too")
	}
	if ok, _ := takes(r, "a", start.Add(wait-time.Millisecond)); ok {
		t.Error("let through too early")
	}
	if ok, _ := takes(r, "a", start.Add(wait)); !ok {
		t.Error("not let through when it said")
	}
	if ok, _ := takes(r, "a", start.Add(-time.Hour)); ok {
		t.Error("a clock that goes back gave a call")
	}
}

func TestZeroRatesLimitNothing(t *testing.T) {
	r := NewRates(RatesOptions{Callers: map[string]Rate{"a": {}}, Sites: map[string]SiteRates{"shop": {Tools: []RateRule{{"*", Rate{}}}}}})
	for range 1000 {
		if limit, _ := r.Take("a", "shop", "search", start); limit != "" {
			t.Fatal("limited")
		}
	}
}

// TestOneRefusalTakesNothing: what one of the rates refuses is taken from none.
func TestOneRefusalTakesNothing(t *testing.T) {
	all := func() *Rates {
		return NewRates(RatesOptions{Callers: map[string]Rate{"a": {5, time.Minute}}, Sites: map[string]SiteRates{"shop": {
			Rate: Rate{4, time.Hour}, Tools: []RateRule{{"search", Rate{1, time.Minute}}}}}})
	}
	r := all()
	if limit, _ := r.Take("a", "shop", "search", start); limit != "" {
		t.Fatal(limit)
	}
	for range 10 {
		if limit, wait := r.Take("a", "shop", "search", start); limit != LimitTool || wait < 59*time.Second || wait > time.Minute+time.Millisecond {
			t.Fatalf("%q, %v", limit, wait)
		}
	}
	for range 3 { // what is left of the site's
		if limit, _ := r.Take("a", "shop", "list", start); limit != "" {
			t.Fatal("a refused call cost the site's rate something")
		}
	}
	// The site's wait, of a quarter of an hour, is longer than the tool's, and the tool's than the
	// caller's.
	limit, wait := r.Take("a", "shop", "search", start)
	if limit != LimitSite || wait < 14*time.Minute || wait > 15*time.Minute+time.Millisecond {
		t.Fatalf("%q, %v", limit, wait)
	}
	if limit, _ := r.Take("a", "other", "search", start); limit != "" {
		t.Fatal("a refused call cost the caller's rate something")
	}
	if limit, wait := r.Take("a", "other", "search", start); limit != LimitCaller || wait > 12*time.Second+time.Millisecond {
		t.Fatalf("%q, %v", limit, wait)
	}
	// The control: a call that is let through costs each of them.
	r = all()
	for i, want := range []Limit{"", "", "", "", LimitSite} {
		if limit, _ := r.Take("a", "shop", "list", start); limit != want {
			t.Errorf("call %d: %q, want %q", i, limit, want)
		}
	}
}

// TestRateRules: patterns are chosen as those of the approval rules are, and the
// tools of one pattern share its rate.
func TestRateRules(t *testing.T) {
	per := func(n int) Rate { return Rate{n, time.Hour} }
	r := of(SiteRates{Tools: []RateRule{{"*", per(7)}, {"delete-*", per(3)}, {"delete-all", per(1)}, {"*-a", per(5)}, {"b-*", per(2)}, {"x*", per(4)}, {"*x", per(6)}}})
	for _, test := range []struct {
		tools []string
		want  int
	}{
		{[]string{"search", "list"}, 7},
		{[]string{"delete-1", "delete-2", "delete-3", "delete-4"}, 3},
		{[]string{"delete-all"}, 1},
		{[]string{"b-a"}, 2},
		{[]string{"xx"}, 4},
	} {
		n := 0
		for i := 0; ; i++ {
			if limit, _ := r.Take("a", "shop", test.tools[i%len(test.tools)], start); limit != "" {
				break
			}
			n++
		}
		if n != test.want {
			t.Errorf("%v: %d calls, want %d", test.tools, n, test.want)
		}
	}
	if limit, _ := of(SiteRates{Tools: []RateRule{{"a", per(1)}}}).Take("a", "shop", "b", start); limit != "" {
		t.Error("a tool without a rule is limited")
	}
}

// TestAloneACallerHasTheWholeRate: at once, over time, and also when others were
// here and need nothing.
func TestAloneACallerHasTheWholeRate(t *testing.T) {
	for _, idle := range []int{0, 1, 5, 9, 10, 50} {
		r := of(SiteRates{Rate: Rate{10, time.Minute}})
		now := start
		for i := range idle {
			takes(r, fmt.Sprint("idle", i), now)
			now = now.Add(7 * time.Second)
		}
		now = now.Add(5 * time.Minute)
		first := drain(r, "a", now)
		if first != 10 {
			t.Errorf("after %d others: %d calls at once", idle, first)
		}
		n := 0
		for range 10 * 60 * 10 { // ten minutes
			now = now.Add(100 * time.Millisecond)
			n += drain(r, "a", now)
		}
		if n < 99 || n > 100 {
			t.Errorf("with %d others that are idle: %d calls in ten minutes, after %d at once", idle, n, first)
		}
	}
}

// TestFair (R40): one caller floods. The others keep to a token bucket of their own that
// is an equal part of the rate, and are never refused, from their first call on. The sum
// keeps to the rate as long as nobody comes.
func TestFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lights := rapid.IntRange(1, 6).Draw(t, "lights")
		callers := lights + 1
		n := rapid.IntRange(2*callers, 60).Draw(t, "n")
		rate := Rate{n, time.Duration(rapid.IntRange(1, 300).Draw(t, "seconds")) * time.Second}
		r := of(SiteRates{Rate: rate})
		now, total := start, 0
		most, each := float64(n/callers), rate.perSecond()/float64(callers)
		drain(r, "heavy", now)
		own := make([]float64, lights) // what a bucket of one's own would hold
		for i := range own {
			if ok, wait := takes(r, fmt.Sprint(i), now); !ok {
				t.Fatalf("caller %d comes during a flood and has to wait %v", i, wait)
			}
			own[i] = most - 1
		}
		began := now
		for range rapid.IntRange(10, 150).Draw(t, "steps") {
			total += drain(r, "heavy", now)
			for i := range own { // everybody calls now and then: who does not is no part of it
				if own[i] < 1 || rapid.IntRange(0, 3).Draw(t, "calls") == 0 && own[i] < most {
					continue
				}
				if ok, wait := takes(r, fmt.Sprint(i), now); !ok {
					t.Fatalf("caller %d of %d with %v calls of its own has to wait %v", i, callers, own[i], wait)
				}
				own[i]--
				total++
			}
			step := time.Duration(rapid.IntRange(0, int(rate.Per/time.Millisecond)/n).Draw(t, "ms")) * time.Millisecond
			now = now.Add(step)
			for i := range own {
				own[i] = min(most, own[i]+step.Seconds()*each)
			}
		}
		if all := float64(n) + now.Sub(began).Seconds()*rate.perSecond(); float64(total) > all+0.01 {
			t.Fatalf("%d calls, at most %v", total, all)
		}
	})
}

// TestFairIsNotForFree is the control of TestFair: in one bucket that is not
// shared out, the same flood leaves the others nothing.
func TestFairIsNotForFree(t *testing.T) {
	r := NewRates(RatesOptions{Callers: map[string]Rate{"all": {10, time.Minute}}})
	now, refused := start, 0
	for range 20 {
		now = now.Add(6 * time.Second)
		drain(r, "all", now)
		if ok, _ := takes(r, "all", now); !ok {
			refused++
		}
	}
	if refused != 20 {
		t.Errorf("%d of 20 were refused", refused)
	}
}

// TestRatesKeepTheirWord: who waits as long as it was told, while nobody else calls, is
// let through. Over any callers at any times.
func TestRatesKeepTheirWord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := Rate{rapid.IntRange(1, 20).Draw(t, "n"), time.Duration(rapid.IntRange(1, 120).Draw(t, "seconds")) * time.Second}
		r := of(SiteRates{Rate: rate})
		most := rapid.IntRange(1, 30).Draw(t, "callers")
		now := start
		for _, step := range rapid.SliceOfN(rapid.IntRange(0, 5000), 1, 200).Draw(t, "steps") {
			now = now.Add(time.Duration(step) * time.Millisecond)
			caller := fmt.Sprint(rapid.IntRange(1, most).Draw(t, "caller"))
			if ok, wait := takes(r, caller, now); !ok && rapid.Bool().Draw(t, "waits") {
				now = now.Add(wait)
				if ok, wait = takes(r, caller, now); !ok {
					t.Fatalf("told to wait %v more", wait)
				}
			}
		}
	})
}

// TestRatesAreBounded: however many callers there are, the memory is bounded by the first 10,000,
// and the others share one bucket.
func TestRatesAreBounded(t *testing.T) {
	r := of(SiteRates{Rate: Rate{100, time.Minute}})
	s := r.sites["shop"].all
	if s.most != 10_000 {
		t.Errorf("%d buckets at most", s.most)
	}
	s.most = 10 // as many take long to make
	beyond := 0
	for i := range 1000 {
		if ok, _ := takes(r, fmt.Sprint(i), start); ok && i >= s.most {
			beyond++
		}
	}
	if beyond != 100/11 || len(s.members) != 11 {
		t.Errorf("%d calls beyond the bound, %d buckets", beyond, len(s.members))
	}
	// A caller that has not called for long is forgotten.
	if n := drain(r, "fresh", start.Add(time.Minute)); n != 100 || len(s.members) != 1 {
		t.Errorf("%d calls, %d buckets", n, len(s.members))
	}
}

// TestRatesConcurrently: calls at the same time take no more than calls in turn.
func TestRatesConcurrently(t *testing.T) {
	r := NewRates(RatesOptions{Callers: map[string]Rate{"a": {50, time.Hour}}, Sites: map[string]SiteRates{"shop": {Rate: Rate{400, time.Hour}}}})
	for g := range 7 {
		takes(r, fmt.Sprint(g), start)
	}
	var wg sync.WaitGroup
	var let, ofA atomic.Int64
	for g := range 7 {
		wg.Go(func() {
			for range 100 {
				if ok, _ := takes(r, fmt.Sprint(g), start); ok {
					let.Add(1)
				}
				if ok, _ := takes(r, "a", start); ok {
					ofA.Add(1)
				}
			}
		})
	}
	wg.Wait()
	// A seventh each, until "a" comes: then an eighth.
	if let.Load() < 7*49 || let.Load() > 7*57 || ofA.Load() != 50 {
		t.Errorf("let through: %d, and %d of the caller with a rate of its own", let.Load(), ofA.Load())
	}
}

func BenchmarkRates(b *testing.B) {
	for _, callers := range []int{1, 50, 10_000} {
		b.Run(fmt.Sprint(callers), func(b *testing.B) {
			r := of(SiteRates{Rate: Rate{1_000_000, time.Second}, Tools: []RateRule{{"sea*", Rate{1_000_000, time.Second}}}})
			names := make([]string, callers)
			for i := range names {
				names[i] = fmt.Sprint(i)
			}
			now, i := start, 0
			for b.Loop() {
				i, now = i+1, now.Add(time.Millisecond)
				takes(r, names[i%callers], now)
			}
		})
	}
}

// TestRatesThatCallersBring (reach 3): each caller of a grant has all of its rate, whoever else has
// it, and what is used stays used: nothing that a caller sends makes it a new one.
func TestRatesThatCallersBring(t *testing.T) {
	r := NewRates(RatesOptions{Callers: map[string]Rate{"acme:ann": {1, time.Minute}}})
	own, other := Rate{3, time.Minute}, Rate{2, time.Minute}
	takes := func(own Rate, caller string, now time.Time) (n int) {
		for limit := Limit(""); limit == ""; n++ {
			limit, _ = r.TakeOwn(own, caller, "shop", "search", now)
		}
		return n - 1
	}
	for _, who := range []string{"acme:ann", "acme:bob", "acme:cyd"} { // in place of the one by name
		if n := takes(own, who, start); n != 3 {
			t.Errorf("%s has %d calls, want 3", who, n)
		}
	}
	if n := takes(own, "acme:ann", start); n != 0 {
		t.Errorf("%d more", n)
	}
	takes(other, "acme:ann", start) // another grant, as with a token that has other claims
	if n := takes(own, "acme:ann", start); n != 0 {
		t.Errorf("a rate between filled the bucket: %d more", n)
	}
	if n := takes(own, "acme:ann", start.Add(20*time.Second+time.Millisecond)); n != 1 {
		t.Errorf("a third of the time: %d calls", n)
	}
	if uses := r.Uses(own, "acme:bob", "", ""); len(uses) != 1 || uses[0] != (Use{LimitCaller, "", "acme:bob", own}) {
		t.Errorf("other processes count %v", uses)
	}
	now := start.Add(time.Hour)
	takes(Rate{7, time.Minute}, "acme:ann", now)
	if len(r.own) != 1 {
		t.Errorf("%d rates are kept that nobody has any more", len(r.own)-1)
	}
	s := r.own[Rate{7, time.Minute}]
	if s.most != 10_000 {
		t.Errorf("%d buckets at most", s.most)
	}
	s.most = 3
	for i := range 10 {
		takes(Rate{7, time.Minute}, fmt.Sprint("acme:", i), now)
	}
	if len(s.members) > 4 {
		t.Errorf("%d buckets", len(s.members))
	}
	if uses := r.Uses(Rate{7, time.Minute}, "acme:9", "", ""); uses[0].Caller != crowd {
		t.Errorf("a caller beyond the bound is %q to other processes", uses[0].Caller)
	}
}

// TestRatesOfSitesThatChange: a site whose rates are as before keeps what was used of them; another
// rate begins full, and a site that is gone has none.
func TestRatesOfSitesThatChange(t *testing.T) {
	now := time.Now()
	one := func(n int) SiteRates {
		return SiteRates{Rate: Rate{N: n, Per: time.Hour}, Tools: []RateRule{{Pattern: "buy", Rate: Rate{N: 1, Per: time.Hour}}}}
	}
	r := NewRates(RatesOptions{Sites: map[string]SiteRates{"shop": one(1)}})
	takes := func(want Limit) {
		t.Helper()
		if got, _ := r.Take("a", "shop", "look", now); got != want {
			t.Errorf("refused by %q, want %q", got, want)
		}
	}
	takes("")
	takes(LimitSite)
	r.SetSites(map[string]SiteRates{"shop": one(1), "more": one(1)})
	takes(LimitSite)
	r.SetSites(map[string]SiteRates{"shop": one(2)})
	takes("")
	r.SetSites(nil)
	for range 3 {
		takes("")
	}
}

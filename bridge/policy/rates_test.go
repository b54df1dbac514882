package policy

import (
	"fmt"
	"math"
	"sync"
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
	// The site's wait, of a quarter of an hour, is longer than the tool's, and the tool's than the caller's.
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
		if idle == 0 && first != 10 {
			t.Errorf("%d calls at once", first)
		}
		n := 0
		for range 10 * 60 * 10 { // ten minutes
			now = now.Add(100 * time.Millisecond)
			n += drain(r, "a", now)
		}
		if n < 99 || n > 100+10 {
			t.Errorf("with %d others that are idle: %d calls in ten minutes, after %d at once", idle, n, first)
		}
	}
}

// TestFair (R40): one caller floods. The others keep to a token bucket of their own that
// is an equal part of the rate, and are never refused. The sum keeps to the rate.
func TestFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lights := rapid.IntRange(1, 6).Draw(t, "lights")
		callers := float64(lights + 1)
		n := rapid.IntRange(2*(lights+1), 60).Draw(t, "n")
		rate := Rate{n, time.Duration(rapid.IntRange(1, 300).Draw(t, "seconds")) * time.Second}
		r := of(SiteRates{Rate: rate})
		now, total := start, 0
		own := make([]float64, lights) // what a bucket of one's own would hold
		for i := range own {
			drain(r, fmt.Sprint(i), now)
			own[i] = float64(n) / callers
		}
		takes(r, "heavy", now)
		now = now.Add(rate.Per)
		began, heavy := now, 0
		for range rapid.IntRange(10, 150).Draw(t, "steps") {
			heavy += drain(r, "heavy", now)
			if i := rapid.IntRange(0, lights).Draw(t, "who"); i < lights && own[i] >= 1 {
				if ok, wait := takes(r, fmt.Sprint(i), now); !ok {
					t.Fatalf("caller %d of %d with %v calls of its own has to wait %v", i, lights+1, own[i], wait)
				}
				own[i]--
				total++
			}
			step := time.Duration(rapid.IntRange(0, int(rate.Per/time.Millisecond)/n).Draw(t, "ms")) * time.Millisecond
			now = now.Add(step)
			for i := range own {
				own[i] = min(float64(n)/callers, own[i]+step.Seconds()*rate.perSecond()/callers)
			}
		}
		total += heavy
		if most := float64(n) + now.Sub(began).Seconds()*rate.perSecond(); float64(total) > most+0.01 {
			t.Fatalf("%d calls, at most %v", total, most)
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

// TestNewcomer: who comes during a flood finds nothing left, and gets its part at
// the latest when it came back, whatever the others do.
func TestNewcomer(t *testing.T) {
	r := of(SiteRates{Rate: Rate{60, time.Minute}})
	now := start
	drain(r, "heavy", now)
	calls := 0
	for range 100 {
		now = now.Add(500 * time.Millisecond)
		drain(r, "heavy", now)
		if ok, wait := takes(r, "light", now); ok {
			calls++
		} else if wait > 2*time.Second+time.Millisecond {
			t.Errorf("a wait of %v", wait)
		}
	}
	if calls < 24 || calls > 26 { // half of a call each second, for fifty seconds
		t.Errorf("%d calls", calls)
	}
}

// TestRatesKeepTheirWord: the sum never exceeds the rate, and who waits as long as
// it was told, while nobody else calls, is let through. Over any callers at any
// times.
func TestRatesKeepTheirWord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := Rate{rapid.IntRange(1, 20).Draw(t, "n"), time.Duration(rapid.IntRange(1, 120).Draw(t, "seconds")) * time.Second}
		r := of(SiteRates{Rate: rate})
		most := rapid.IntRange(1, 30).Draw(t, "callers")
		now, calls := start, 0
		for _, step := range rapid.SliceOfN(rapid.IntRange(0, 5000), 1, 200).Draw(t, "steps") {
			now = now.Add(time.Duration(step) * time.Millisecond)
			caller := fmt.Sprint(rapid.IntRange(1, most).Draw(t, "caller"))
			ok, wait := takes(r, caller, now)
			if !ok && rapid.Bool().Draw(t, "waits") {
				now = now.Add(wait)
				if ok, wait = takes(r, caller, now); !ok {
					t.Fatalf("told to wait %v more", wait)
				}
			}
			if ok {
				calls++
			}
		}
		if most := float64(rate.N) + now.Sub(start).Seconds()*rate.perSecond(); float64(calls) > most+0.01 {
			t.Fatalf("%d calls, at most %v", calls, most)
		}
	})
}

// TestRatesAreBounded: however many callers there are, the memory is that of the
// first 10,000, and nobody gets a fresh part by crowding others out.
func TestRatesAreBounded(t *testing.T) {
	r := of(SiteRates{Rate: Rate{10, time.Minute}})
	b := r.sites["shop"].all
	if b.most != 10_000 {
		t.Errorf("%d accounts at most", b.most)
	}
	b.most = 10 // as many take long to make
	total := 0
	for i := range 1000 {
		total += drain(r, fmt.Sprint(i), start)
	}
	if total != 10 || len(b.accounts) != 11 || len(b.index) != 11 {
		t.Errorf("%d calls, %d accounts", total, len(b.accounts))
	}
	// The part of those beyond is one part.
	now := start.Add(time.Hour / 100)
	for i := range 5 {
		drain(r, fmt.Sprint(i), now)
	}
	if n := drain(r, "900", now); n > 1 {
		t.Errorf("a caller beyond the bound got %d calls", n)
	}
	// Who was not here for long is forgotten.
	now = now.Add(keepAccount)
	if n := drain(r, "fresh", now); n != 10 || len(b.accounts) != 1 || len(b.index) != 1 {
		t.Errorf("%d calls, %d accounts", n, len(b.accounts))
	}
}

func TestRatesConcurrently(t *testing.T) {
	r := NewRates(RatesOptions{Callers: map[string]Rate{"a": {50, time.Hour}}, Sites: map[string]SiteRates{"shop": {Rate: Rate{300, time.Hour}}}})
	var wg sync.WaitGroup
	var mu sync.Mutex
	let := map[string]int{}
	for g := range 8 {
		wg.Go(func() {
			for range 100 {
				for _, caller := range []string{"a", fmt.Sprint(g)} {
					if ok, _ := takes(r, caller, start); ok {
						mu.Lock()
						let[caller]++
						mu.Unlock()
					}
				}
			}
		})
	}
	wg.Wait()
	sum := 0
	for _, n := range let {
		sum += n
	}
	if let["a"] > 50 || sum > 300 || sum < 100 {
		t.Errorf("let through: %v", let)
	}
	if left := r.sites["shop"].all.left; math.Abs(left-float64(300-sum)) > 0.01 {
		t.Errorf("%v left", left)
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

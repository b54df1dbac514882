package policy

import (
	"math"
	"time"
)

const (
	// maxAccounts is the number of callers that a bucket tells apart.
	maxAccounts = 10_000
	// keepAccount is how long a caller keeps its share without a call; a whole period of the rate, if that is longer.
	keepAccount = 10 * time.Minute
	// sweepEvery bounds how often a bucket looks for callers to forget.
	sweepEvery = time.Second
	// slack is what rounding may cost, in calls.
	slack = 1e-6
)

// others is the account of the callers beyond maxAccounts. No caller has that name.
const others = "\x00"

// bucket holds the calls that are left of one rate, which several callers share. Every caller of late has an account
// in it: an equal part of what comes back, up to an equal part of the whole. What is in an account is that caller's.
// What is left beyond all accounts is anybody's: it is what those who need less than their part do not fill.
type bucket struct {
	rate     Rate
	most     int // accounts
	at       time.Time
	left     float64 // calls: those of all accounts, and what is anybody's; at most rate.N
	accounts []account
	index    map[string]int // into accounts, by caller
	swept    time.Time
}

type account struct {
	caller string
	own    float64 // calls
	used   time.Time
}

// newBucket makes a bucket that is full; nil for a rate that limits nothing.
func newBucket(r Rate) *bucket {
	if !r.limits() {
		return nil
	}
	return &bucket{rate: r, most: maxAccounts, left: float64(r.N), index: map[string]int{}}
}

// share is how much an account holds at most. It is never less than one call, so that everybody can save for one;
// with more callers than calls the accounts promise more than there is, and who comes first is first.
func (b *bucket) share() float64 { return max(1, float64(b.rate.N)/float64(len(b.accounts))) }

// ask says after how long one call of the caller may be taken, 0 for now, if nobody else takes one meanwhile. The
// account is where take finds it, until the next ask.
func (b *bucket) ask(caller string, now time.Time) (wait time.Duration, account int) {
	b.settle(now)
	i := b.accountOf(caller, now)
	b.accounts[i].used = now
	return b.wait(i), i
}

// take takes the call that ask found.
func (b *bucket) take(i int) {
	b.left--
	b.accounts[i].own = max(0, b.accounts[i].own-1)
}

// settle adds what came back since the last time. A clock that goes back adds nothing.
func (b *bucket) settle(now time.Time) {
	if b.at.IsZero() {
		b.at, b.swept = now, now
	}
	since := now.Sub(b.at)
	if since <= 0 {
		return
	}
	b.at = now
	back := since.Seconds() * b.rate.perSecond()
	b.left = min(float64(b.rate.N), b.left+back)
	if len(b.accounts) > 0 {
		each, share := back/float64(len(b.accounts)), b.share()
		for i := range b.accounts {
			b.accounts[i].own = min(share, b.accounts[i].own+each)
		}
	}
	if now.Sub(b.swept) >= sweepEvery {
		b.swept = now
		b.forget(now)
	}
}

// forget drops the accounts of callers who were not here for long. What was theirs is anybody's.
func (b *bucket) forget(now time.Time) {
	for i := 0; i < len(b.accounts); {
		if now.Sub(b.accounts[i].used) < max(keepAccount, b.rate.Per) {
			i++
			continue
		}
		last := len(b.accounts) - 1
		delete(b.index, b.accounts[i].caller)
		if i < last {
			b.accounts[i] = b.accounts[last]
			b.index[b.accounts[i].caller] = i
		}
		b.accounts = b.accounts[:last]
	}
}

// accountOf finds the caller's account, or makes one: everybody's part shrinks, and the newcomer gets what is nobody's
// then, up to its own part.
func (b *bucket) accountOf(caller string, now time.Time) int {
	if i, ok := b.index[caller]; ok {
		return i
	}
	if len(b.accounts) >= b.most && caller != others {
		return b.accountOf(others, now)
	}
	b.accounts = append(b.accounts, account{caller: caller, used: now})
	i, share, promised := len(b.accounts)-1, b.share(), 0.0
	b.index[caller] = i
	for j := range b.accounts {
		b.accounts[j].own = min(share, b.accounts[j].own)
		promised += b.accounts[j].own
	}
	b.accounts[i].own = max(0, min(share, b.left-promised))
	return i
}

// wait says after how long account i may take a call. It may when there is one, and it is its own or leaves to the
// others what is theirs. A bucket that is full to the last call always gives one: what does not fit into it is lost.
func (b *bucket) wait(i int) time.Duration {
	most, n, perSecond := float64(b.rate.N), float64(len(b.accounts)), b.rate.perSecond()
	missing := 1 - b.left
	if b.accounts[i].own < 1-slack {
		share, theirs, filling := b.share(), 0.0, 0.0
		for j, a := range b.accounts {
			if j == i {
				continue
			}
			theirs += a.own
			if a.own < share {
				filling++
			}
		}
		// What is nobody's grows by what comes back and does not go to an account that still fills.
		beyond := min((theirs+1-b.left)*n/(n-filling), most-b.left)
		missing = max(missing, beyond)
	}
	if missing <= slack {
		return 0
	}
	return time.Duration(math.Ceil(missing / perSecond * float64(time.Second)))
}

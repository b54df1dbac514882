package vault

import (
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge/records"
)

// usage counts the keys that callers have in use, and the replies that are kept for them, at this node,
// for as long as the engine keeps them. Safe for concurrent use.
type usage struct {
	mostKeys                int
	mostOfCaller, mostOfAll int64

	mu    sync.Mutex
	of    map[string]*account
	order []*use // the oldest first
	next  int    // in order: those before it have no reply
	bytes int64
}

// account is of one caller.
type account struct {
	keys  int
	bytes int64
	order []*use // with a reply, the oldest first
}

// use is one key whose call is over.
type use struct {
	claim *claim
	until time.Time
	bytes int64 // 0: its reply is not kept
}

func newUsage(o *Options) usage {
	return usage{mostKeys: o.MaxKeys, mostOfCaller: o.MaxReplyBytes, mostOfAll: o.MaxAllBytes, of: map[string]*account{}}
}

// count counts a key, once. It is false where the caller has too many.
func (u *usage) count(c *claim) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.expire()
	if c.counted {
		return true
	}
	a := u.of[c.caller]
	if a == nil {
		a = &account{}
		u.of[c.caller] = a
	}
	if a.keys >= u.mostKeys {
		return false
	}
	a.keys++
	c.counted = true
	return true
}

// free gives a key back that is not in use any more.
func (u *usage) free(c *claim) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if c.counted {
		c.counted = false
		u.less(c.caller, 0)
	}
}

// less takes a key and its bytes from an account.
func (u *usage) less(caller string, bytes int64) {
	a := u.of[caller]
	u.bytes -= bytes
	a.bytes -= bytes
	if a.keys--; a.keys == 0 {
		delete(u.of, caller)
	}
}

// keep counts a reply, and returns the older ones that must go for it.
func (u *usage) keep(c *claim, bytes int64) (drop []*claim) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.expire()
	a := u.of[c.caller]
	one := &use{claim: c, until: time.Now().Add(records.DayAge), bytes: bytes}
	u.order = append(u.order, one)
	a.order = append(a.order, one)
	a.bytes += bytes
	u.bytes += bytes
	for a.bytes > u.mostOfCaller {
		drop = u.drop(a, a.order[0], drop)
		a.order = a.order[1:]
	}
	for ; u.bytes > u.mostOfAll; u.next++ {
		oldest := u.order[u.next]
		drop = u.drop(u.of[oldest.claim.caller], oldest, drop)
	}
	return drop
}

// drop gives up the reply of a key that stays in use.
func (u *usage) drop(a *account, one *use, drop []*claim) []*claim {
	if one.bytes == 0 {
		return drop
	}
	a.bytes -= one.bytes
	u.bytes -= one.bytes
	one.bytes = 0
	return append(drop, one.claim)
}

// expire forgets keys that the engine has removed by now.
func (u *usage) expire() {
	for len(u.order) > 0 && !time.Now().Before(u.order[0].until) {
		one := u.order[0]
		u.order, u.next = u.order[1:], max(0, u.next-1)
		a := u.of[one.claim.caller]
		if len(a.order) > 0 && a.order[0] == one {
			a.order = a.order[1:]
		}
		u.less(one.claim.caller, one.bytes)
	}
}

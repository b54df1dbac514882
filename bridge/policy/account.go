package policy

import (
	"math"
	"sync"
	"sync/atomic"
)

// Account counts bytes that strangers make us hold, at the moment when they are taken. What an
// account takes, the accounts above it take, too: of a page, a webtool or a caller, and of all of
// them. Safe for concurrent use.
type Account struct {
	above *Account
	most  int64
	used  atomic.Int64
}

// NewAccount makes an account that holds at most so many bytes. above may be nil.
func NewAccount(most int64, above *Account) *Account { return &Account{above: above, most: most} }

// Take takes n bytes, or none: false means that they are too many, and must not be kept.
func (a *Account) Take(n int64) bool {
	if a == nil {
		return true
	}
	if a.used.Add(n) > a.most || !a.above.Take(n) {
		a.used.Add(-n)
		return false
	}
	return true
}

// Give gives n bytes back that were taken.
func (a *Account) Give(n int64) {
	for ; a != nil; a = a.above {
		a.used.Add(-n)
	}
}

// Close gives everything back.
func (a *Account) Close() {
	if a != nil {
		a.above.Give(a.used.Swap(0))
	}
}

// Room returns how many bytes could be taken now; a nil account has room for anything.
func (a *Account) Room() int64 {
	room := int64(math.MaxInt64)
	for ; a != nil; a = a.above {
		room = min(room, max(0, a.most-a.used.Load()))
	}
	return room
}

// Used returns how many bytes are taken.
func (a *Account) Used() int64 { return a.used.Load() }

// Accounts holds an account of each name that has taken something, and none of any other: strangers
// can come under any number of names. Safe for concurrent use.
type Accounts struct {
	above *Account
	most  int64

	mu sync.Mutex
	of map[string]*Account
}

// NewAccounts makes accounts that hold at most so many bytes each. above may be nil.
func NewAccounts(most int64, above *Account) *Accounts {
	return &Accounts{above: above, most: most, of: map[string]*Account{}}
}

// Charge takes n bytes of a name, or gives them back where n is below 0. It reports false, and
// takes none, when they are too many.
func (a *Accounts) Charge(name string, n int64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	of := a.of[name]
	if of == nil {
		of = NewAccount(a.most, a.above)
		a.of[name] = of
	}
	fits := true
	if n < 0 {
		of.Give(-n)
	} else {
		fits = of.Take(n)
	}
	if of.Used() == 0 {
		delete(a.of, name)
	}
	return fits
}

// Len returns how many names have an account.
func (a *Accounts) Len() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.of)
}

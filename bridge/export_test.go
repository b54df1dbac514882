package bridge

// Held returns how many calls, handles, callers and questions that were answered the
// registry holds, how many watch, how many bytes are counted for callers, and for how many.
func (b *Bridge) Held() []int {
	g := &b.runs
	g.mu.Lock()
	defer g.mu.Unlock()
	held := []int{len(g.all), len(g.stopped), len(g.keys), len(g.answered), int(b.watchers.count.Load()),
		len(g.order), int(b.bytes.Used()), g.accounts.Len()}
	for _, of := range g.found {
		held = append(held, len(of))
	}
	return held
}

// FileAccounts returns how many callers have an account for files.
func (b *Bridge) FileAccounts() int { return b.files.accounts.Len() }

// Accounts returns how many callers have an account for calls.
func (b *Bridge) Accounts() int { return b.runs.accounts.Len() }

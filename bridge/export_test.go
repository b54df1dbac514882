package bridge

// Held is how many calls, handles, callers and questions that were answered the
// registry holds, and how many watch.
func (b *Bridge) Held() []int {
	g := &b.runs
	g.mu.Lock()
	defer g.mu.Unlock()
	held := []int{len(g.all), len(g.stopped), len(g.keys), len(g.answered), int(b.watchers.count.Load())}
	for _, of := range g.found {
		held = append(held, len(of))
	}
	return held
}

package session

// Counts holds numbers of a Manager, for tests: pages of calls and sessions, pages of
// these being opened, calls that hold a page, calls that wait, spares, and pages being
// closed. All are zero after Close.
type Counts struct{ Live, Opening, Leased, Queued, Spares, Closing int }

// Lines returns how many callers are remembered: those who wait, and those who hold
// pages.
func (m *Manager) Lines() (waiting, holding int) {
	m.with(func(st *state) { waiting, holding = len(st.queue.lines), len(st.held) })
	return waiting, holding
}

// Sparing returns of how many sites spare pages are remembered.
func (m *Manager) Sparing() (n int) {
	m.with(func(st *state) { n = len(st.spares) })
	return n
}

// Counts asks the owner.
func (m *Manager) Counts() (c Counts) {
	m.with(func(st *state) {
		c = Counts{Live: st.live, Opening: st.opening, Leased: st.leased, Queued: st.queue.n, Spares: st.spareCount(), Closing: st.closing}
		for _, s := range st.sessions {
			c.Queued += len(s.waiting)
		}
	})
	return c
}

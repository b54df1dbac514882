package cdp

import "time"

// commons weighs what pages take in the processes that they share: the bytes of blobs, the states
// of a history, what a graphics process draws with. No page owns it by the browser's word, so that
// what was taken is held against the renderers that ran meanwhile. One goroutine uses it.
type commons struct {
	began, before float64           // bytes, at the first look and at the last one
	ran           map[int64]float64 // seconds that each renderer had run, at the last look
	taken         map[int64]float64 // bytes that are held against each
	settles       time.Time         // what a renderer had that was ended is free by then
}

// Of the pages together, what each may have in the processes that they share; and how long it takes
// until what a page had is free.
const (
	sharePages = 16 << 20
	settleTime = 2 * time.Second
)

// look takes the bytes of the shared processes, and the seconds that each renderer has run.
func (c *commons) look(bytes uint64, ran map[int64]float64) {
	now := float64(bytes)
	if c.ran == nil {
		c.began, c.before, c.taken = now, now, map[int64]float64{}
	}
	grew, total := now-c.before, 0.0
	for pid, seconds := range ran {
		total += max(seconds-c.ran[pid], 0)
	}
	for pid := range c.taken {
		if _, lives := ran[pid]; !lives {
			delete(c.taken, pid)
		} else if grew < 0 && c.before > c.began {
			c.taken[pid] *= max(now-c.began, 0) / (c.before - c.began)
		}
	}
	if grew > 0 && total > 0 {
		for pid, seconds := range ran {
			c.taken[pid] += grew * max(seconds-c.ran[pid], 0) / total
		}
	}
	c.before, c.ran = now, ran
}

// over returns the renderer that took most, when those that live took more than pages may. What one
// had that was ended may stay with the browser, and is held against no other.
func (c *commons) over(limit uint64, now time.Time) (pid int64, is bool) {
	most, all := 0.0, 0.0
	for one, bytes := range c.taken {
		if all += bytes; bytes > most {
			pid, most = one, bytes
		}
	}
	if now.Before(c.settles) || all <= c.atMost(limit) {
		return 0, false
	}
	c.settles = now.Add(settleTime)
	return pid, true
}

// grows reports whether there is so much that it may soon be too much.
func (c *commons) grows(limit uint64) bool { return c.before-c.began > c.atMost(limit/muchOf) }

// atMost adds the part of each page to a limit.
func (c *commons) atMost(limit uint64) float64 {
	return float64(limit) + float64(len(c.ran)*sharePages)
}

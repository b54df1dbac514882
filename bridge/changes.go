package bridge

import "sync"

// Changes wakes those who wait for something to change. Its zero value is ready, and it is safe
// for concurrent use.
type Changes struct {
	mu   sync.Mutex
	next chan struct{} // nil while nobody waits
}

// Next returns a channel that the next Signal closes. Ask for it before you look at what may
// change.
func (c *Changes) Next() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next == nil {
		c.next = make(chan struct{})
	}
	return c.next
}

// Signal says that something has changed.
func (c *Changes) Signal() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next != nil {
		close(c.next)
		c.next = nil
	}
}

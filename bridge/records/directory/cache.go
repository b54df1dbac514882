package directory

import "sync"

// cached limits the sessions whose homes are remembered.
const cached = 10_000

// place names the home of a session.
type place struct {
	home  string
	epoch int64
}

// cache remembers homes, without a limit of time: a node that does not have the session says so. The
// half that was asked for least is forgotten when it is full.
type cache struct {
	mu       sync.Mutex
	now, old map[string]place
}

func (c *cache) get(key string) (place, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p, ok := c.now[key]; ok {
		return p, true
	}
	p, ok := c.old[key]
	if ok {
		delete(c.old, key)
		c.add(key, p)
	}
	return p, ok
}

func (c *cache) put(key string, p place) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.old, key)
	c.add(key, p)
}

// add adds to the newer half. Called with mu held.
func (c *cache) add(key string, p place) {
	if c.now == nil || len(c.now) >= cached/2 {
		c.now, c.old = map[string]place{}, c.now
	}
	c.now[key] = p
}

func (c *cache) forget(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.now, key)
	delete(c.old, key)
}

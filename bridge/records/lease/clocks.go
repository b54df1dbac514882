package lease

import "time"

// Instant is a moment by three clocks, each since some moment of its own.
type Instant struct {
	Mono time.Duration // stands still while the machine is suspended, on Linux
	Boot time.Duration // does not; 0 where the system has no such clock
	Wall time.Duration // jumps when somebody sets it
}

var began = time.Now()

// Clocks returns what this machine's clocks say.
func Clocks() Instant {
	now := time.Now()
	return Instant{Mono: now.Sub(began), Boot: sinceBoot(), Wall: time.Duration(now.UnixNano())}
}

// Within reports whether no clock has advanced by d since then.
func (i Instant) Within(d time.Duration, since Instant) bool {
	return i.Mono-since.Mono < d && i.Boot-since.Boot < d && i.Wall-since.Wall < d
}

//go:build linux || darwin

package lease

import (
	"time"

	"golang.org/x/sys/unix"
)

// sinceBoot returns the time since the system began to run, in which it may have been suspended.
func sinceBoot() time.Duration {
	var now unix.Timespec
	if unix.ClockGettime(bootClock, &now) != nil {
		return 0
	}
	return time.Duration(now.Nano())
}

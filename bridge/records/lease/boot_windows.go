package lease

import (
	"time"

	"golang.org/x/sys/windows"
)

// sinceBoot returns the time since the system began to run, in which it may have been suspended.
func sinceBoot() time.Duration { return windows.DurationSinceBoot() }

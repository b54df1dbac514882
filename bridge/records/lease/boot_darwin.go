package lease

import "golang.org/x/sys/unix"

// bootClock goes on while the machine sleeps, which Linux's clock of this name does not.
const bootClock = unix.CLOCK_MONOTONIC

//go:build !linux

package chrome

// smallSharedMemory is a question for Linux only.
func smallSharedMemory() bool { return false }

// killUsers does nothing here: browsers end when their pipe closes, which it does when we die, and
// on Windows with their job.
func killUsers(string) {}

// usage is not known here.
func usage(_, _ int) uint64 { return 0 }

// endChild does nothing here, where no usage is known.
func endChild(_, _ int) {}

// firstToDie does nothing here: the system has no such order.
func firstToDie(_, _ int) {}

// othersListen is not known here.
func othersListen(int) bool { return false }

// memoryOf is not known here.
func memoryOf(int) uint64 { return 0 }

package chrome

// Usage returns the memory of the browser, or of a child process of it, in bytes: what is only in
// memory, or in swap. It is 0 where that is not known.
func (p *Process) Usage(pid int) uint64 { return usage(p.PID(), pid) }

// GiveUp ends a child process of the browser.
func (p *Process) GiveUp(pid int) { endChild(p.PID(), pid) }

// FirstToDie makes the system end a child process before the browser, and before us, where memory
// runs out and the system has such an order.
func (p *Process) FirstToDie(pid int) { firstToDie(p.PID(), pid) }

// Memory returns what the browser and its processes take together, in bytes: their proportional set
// size, and of a process that does not show it what Usage says. It is 0 where that is not known.
func (p *Process) Memory() uint64 { return memoryOf(p.PID()) }

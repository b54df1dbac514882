package cdp

import (
	"os"
	"testing"
)

// Windows stops no process, and says not which browser one belongs to.
const sigKill, sigStop, sigCont = 9, 19, 18

func signal(t *testing.T, s int, pids ...int) {
	t.Helper()
	if s != sigKill {
		t.Skip("no process can be stopped here")
	}
	for _, pid := range pids {
		if p, err := os.FindProcess(pid); err == nil {
			_ = p.Kill()
		}
	}
}

func isIn(int, int) bool { return false }

func lives(pid int) bool {
	p, err := os.FindProcess(pid)
	return err == nil && p.Release() == nil
}

package app

import (
	"context"
	"os/exec"
	"syscall"
)

// shell returns a command of the shell, which is not started. The shell reads its line by rules of
// its own, so that no word of it is quoted.
func shell(ctx context.Context, command string) *exec.Cmd {
	c := exec.CommandContext(ctx, "cmd")
	c.SysProcAttr = &syscall.SysProcAttr{CmdLine: `cmd /D /S /C "` + command + `"`}
	return c
}

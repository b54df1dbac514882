//go:build unix

package app

import (
	"context"
	"os/exec"
)

// shell returns a command of the shell, which is not started.
func shell(ctx context.Context, command string) *exec.Cmd {
	return exec.CommandContext(ctx, "sh", "-c", command) //nolint:gosec // the tester wrote it
}

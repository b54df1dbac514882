//go:build !linux

package postgrestest

import (
	"os"
	"os/exec"
	"os/user"
)

// immediately is the signal at which a server ends.
var immediately = os.Kill

// as does nothing: root is asked for on Linux only.
func as(*exec.Cmd, *user.User) {}

package postgrestest

import (
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// immediately is the signal at which a server ends and writes nothing.
const immediately = syscall.SIGQUIT

// as makes the process one of the user, and has it end with the test's process, however that ends.
func as(cmd *exec.Cmd, owner *user.User) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}
	if owner != nil {
		uid, _ := strconv.ParseUint(owner.Uid, 10, 32)
		gid, _ := strconv.ParseUint(owner.Gid, 10, 32)
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
}
